"""The kernels for a GPU, in numba's simulator: laws, broken twins, and what `sample` does there.

With ZONODPP_CUDA_DEVICE=1 all of it runs on a real one, with millions of draws for each law:

    ZONODPP_CUDA_DEVICE=1 python -m pytest -rP tests/runs/test_cuda.py
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
ON_DEVICE = os.environ.get("ZONODPP_CUDA_DEVICE") == "1"
CASES = (
    "known_numbers",
    "blocks",
    "exact",
    "mixtures",
    "exchange_walks",
    "exact_lines",
    "paper_lines",
    "any_grid",
    "runs",
    "refusals",
)


def run_python(code, **variables):
    paths = [str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | variables
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.skipif(
    not ON_DEVICE and importlib.util.find_spec("numba.cuda.simulator") is None,
    reason="this numba has no simulator of a GPU; numba-cuda has one",
)
@pytest.mark.parametrize("case", CASES)
def test_kernels(case):
    first = "" if ON_DEVICE else "import cuda_simulated; "
    code = f"{first}import cuda_cases; cuda_cases.{case}()"
    done = run_python(code, NUMBA_ENABLE_CUDASIM="0" if ON_DEVICE else "1")
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-3000:]


def test_without_a_gpu_the_error_says_what_is_missing():
    code = """
from zonodpp import ProjectionDPP, sample
try:
    sample(ProjectionDPP([[1, 2, 3]]), 1, device="cuda")
except (ImportError, RuntimeError) as error:
    print(error)
"""
    done = run_python(code, NUMBA_ENABLE_CUDASIM="0", CUDA_VISIBLE_DEVICES="")
    assert "zonodpp[cuda]" in done.stdout or "needs an NVIDIA GPU" in done.stdout, done.stderr


@pytest.mark.skipif(ON_DEVICE, reason="kernels run here")
def test_versions_that_do_not_go_together_are_named(monkeypatch):
    from zonodpp import ProjectionDPP, sample
    from zonodpp.numerics import gpu_versions as versions

    def stand_in(module):
        assert module == "numba.cuda.np.arrayobj"
        raise AttributeError("module 'numpy' has no attribute 'row_stack'")

    monkeypatch.setattr(versions, "on_use", stand_in)
    monkeypatch.setattr(versions, "version", {"numba-cuda": "0.30.4"}.get)
    words = r"numba-cuda 0\.30\.4 and NumPy .* do not go together .*'row_stack'.*zonodpp\[cuda\]"
    with pytest.raises(ImportError, match=words):
        sample(ProjectionDPP([[1, 2, 0], [0, 1, 2]]), 1, device="cuda")
