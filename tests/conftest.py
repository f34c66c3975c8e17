"""Threads, the cache of compiled code, and fixtures that run a command line in this process."""

import gc
import hashlib
import io
import os
import pathlib
import sys

import pytest

# There is a process for each core already; more threads would only wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Compiled code is cached under a hash of all sources, since numba does not see a changed helper in
# another file, and of the settings that change the code.

_root = pathlib.Path(__file__).parents[1]
_hash = hashlib.sha256()
for _path in sorted((_root / "src").rglob("*.py")):
    _hash.update(_path.read_bytes())
for _setting in ("NUMBA_CPU_NAME", "NUMBA_BOUNDSCHECK"):
    _hash.update(f"{_setting}={os.environ.get(_setting)}".encode())
_cache = _root / ".numba_cache" / _hash.hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", str(_cache))

# For the processes of test_cuda.py.
collect_ignore = ["cuda_cases.py", "cuda_groups.py", "cuda_simulated.py"]


def pytest_collection_finish():
    gc.freeze()  # what is there by now stays: to search it for garbage again takes half a second


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    """Run a command line in this process; return its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    from zonodpp.cli import main

    def run(*words, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        return end.value.code, out, err

    return run


@pytest.fixture
def fails(call):
    """Run a command line that has to fail with one line; return the line."""

    def run(*words, stdin=b""):
        code, out, err = call(*words, stdin=stdin)
        assert code == 2
        assert out == ""
        assert err.startswith("zonodpp: ")
        assert err.count("\n") == 1
        return err

    return run
