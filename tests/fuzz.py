"""Damaged files for every reader of the package: run ``python tests/fuzz.py --files 10000``.

With ``--tables 10000`` as many tables as other programs write them are read as well, and what was
read is compared with what was written; see fuzz_tables.py.

Small valid files and hostile ones are changed at random: bits flipped, bytes inserted and cut out,
numbers exchanged. Each file is read in a forked process of its own. The process must not crash, run
longer than 20 seconds, take more than 1 GiB, or end in a traceback or an "unexpected" error. The
files of a failure are kept, and the same seed makes the same files.
"""

import argparse
import contextlib
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from itertools import chain
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported: threads do not survive a fork

import numpy as np
from fuzz_files import call, crafted, damaged, seeds
from fuzz_tables import run_tables

SECONDS = 20  # a file that takes longer hangs; most take a twentieth of a second
MEMORY = 2**30  # bytes that reading a file may take
BAD_WORDS = ("Traceback", "unexpected", "MemoryError", "llocate", "nterrupted")


def judge(work, seconds=SECONDS):
    """Run ``work`` in a forked process; return what went wrong, or an empty string."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    with tempfile.TemporaryFile() as output:
        sys.stdout.flush()
        with warnings.catch_warnings():
            # The only other threads are those of Arrow, which starts new ones in a child.
            warnings.filterwarnings("ignore", ".*multi-threaded", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _read_in_child(work, output.fileno(), pages * resource.getpagesize() + 4 * MEMORY)
        until = time.monotonic() + seconds
        ended, status, usage = os.wait4(child, os.WNOHANG)
        while not ended and time.monotonic() < until:
            time.sleep(0.002)
            ended, status, usage = os.wait4(child, os.WNOHANG)
        if not ended:
            os.kill(child, signal.SIGKILL)
            os.wait4(child, 0)
            return f"no end after {seconds} s"
        output.seek(0)
        text = output.read().decode(errors="replace")
    if os.WIFSIGNALED(status):
        return f"ended by signal {os.WTERMSIG(status)}"
    code = os.WEXITSTATUS(status)
    bad = [word for word in BAD_WORDS if word in text]
    if bad or code not in (0, 2) or (code == 2 and not text.startswith("zonodpp: ")):
        return f"exit {code}: {text[-2000:]}"
    taken = usage.ru_maxrss * 1024 - _resident()
    return f"took {taken >> 20} MiB" if taken > MEMORY else ""


def _resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _read_in_child(work, output, limit):
    os.dup2(output, 1)
    os.dup2(output, 2)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    code = 1
    try:
        code = work()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code or 0)


def read(case, path):
    """Read the file of a case as its reader does."""
    Path(path).write_bytes(case.data)
    return case.read(path) if callable(case.read) else call(case.read, path)


@contextlib.contextmanager
def silence():
    """Send the standard output of commands nowhere."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def run(files, seed, keep):
    """Read so many damaged files, and all crafted ones; return the number of failures."""
    rng = np.random.default_rng(seed)
    failures = 0
    with silence():  # in this process, so that imports and compilation are done before any fork
        valid = seeds()
        refused = [case.name for case in valid if read(case, f"warm-{case.name}")]
    if refused:
        raise SystemExit(f"valid files are refused: {', '.join(refused)}")
    hostile = crafted()
    cases = chain(hostile, (damaged(valid[k % len(valid)], rng) for k in range(files)))
    for number, case in enumerate(cases):
        wrong = judge(lambda case=case: read(case, case.name))
        if wrong:
            failures += 1
            path = keep / f"{number}-{case.name}"
            path.write_bytes(case.data)
            print(f"{path}: {case.read}: {wrong}", flush=True)
    print(f"{len(hostile) + files} files, {failures} failures")
    return failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=300, help="damaged files to make")
    parser.add_argument("--tables", type=int, default=0, help="tables to write and read")
    parser.add_argument("--seed", type=int, default=0, help="the same seed makes the same files")
    parser.add_argument("--keep", type=Path, help="the folder for files that failed")
    words = parser.parse_args()
    keep = (words.keep or Path(tempfile.mkdtemp(prefix="fuzz-"))).absolute()
    keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        failures = run_tables(words.tables, words.seed, keep) if words.tables else 0
        failures += run(words.files, words.seed, keep) if words.files else 0
        sys.exit(failures > 0)
