"""Compiled code: its cache on disk, and the notice that a first call compiles."""

import importlib.util
import io
import subprocess
import sys
import warnings

import numba
import pytest

from zonodpp.numerics import compiled as _jit

SOURCE = """
from zonodpp.numerics.compiled import jit

@jit
def double(x):
    return 2.0 * x
"""


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Load a fresh copy of a compiled function whose cache is in a folder of its own."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(_jit, "_warned", False)
    path = tmp_path / "kernel.py"
    path.write_text(SOURCE)

    def load(name="zonodpp.kernel"):
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.double

    return load


def compiled_anew(function):
    assert function(1.5) == 3.0
    return sum(function.stats.cache_misses.values()) > 0


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_damaged_cache_is_written_anew(kernel, tmp_path, suffix):
    assert compiled_anew(kernel())
    assert not compiled_anew(kernel())
    damaged = list((tmp_path / "cache").rglob(f"*.{suffix}"))
    assert damaged
    for path in damaged:
        path.write_bytes(path.read_bytes()[:20])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled_anew(kernel())
    assert not compiled_anew(kernel())


def test_without_a_cache_all_works_and_one_warning_says_so():
    script = (
        "from numba.core.caching import CacheImpl; CacheImpl._locator_classes = []; "  # no folder
        "import numpy as np; from zonodpp import ProjectionDPP, sample; "
        "print(sample(ProjectionDPP(np.eye(2, 3) + 1), 2, rng=0).subsets.shape)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "(1, 2, 2)"
    assert done.stderr.count("set NUMBA_CACHE_DIR to a folder that can be written to") == 1


def test_a_full_disk_costs_the_cache_alone(kernel, monkeypatch):
    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_jit.FunctionCache, "save_overload", fail)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert compiled_anew(kernel())


@pytest.mark.parametrize("place", ["terminal", "notebook"])
def test_a_person_is_told_once_that_code_is_compiled(kernel, monkeypatch, place):
    stream = Terminal() if place == "terminal" else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    if place == "notebook":
        monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setattr(_jit, "PAUSE", -1.0)  # another test may have compiled a moment ago
    kernel()(1.0)
    assert stream.getvalue() == "zonodpp: compiling (once; then cached) ...\n"
    kernel()(1.0)
    assert stream.getvalue().count("\n") == 1  # from the cache


def test_nobody_is_told_in_a_pipe_or_of_the_code_of_others(kernel, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(_jit, "PAUSE", -1.0)
    kernel()(1.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    kernel("another.kernel")(1)
    assert stream.getvalue() == sys.stderr.getvalue() == ""


@pytest.mark.parametrize("stream", [None, object()])
def test_a_process_may_have_no_stderr(kernel, monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    assert compiled_anew(kernel())
