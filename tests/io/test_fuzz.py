"""A few hundred damaged files, read by every reader; see fuzz.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz.py"

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")


def python(*words):
    # A process of its own: pytest has threads, and a process with threads must not fork.
    return subprocess.run(
        [sys.executable, *words], cwd=FUZZ.parent, capture_output=True, text=True, check=False
    )


def test_damaged_files_end_in_a_readable_error():
    pytest.importorskip("networkx")
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    pytest.importorskip("sentencex")
    done = python(FUZZ, "--files", "300", "--tables", "50")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(", 0 failures") == 2


BROKEN = {
    "signal 11": "os.kill(os.getpid(), 11)",
    "no end after 1 s": "time.sleep(60)",
    "took": "len(b'x' * (5 * 2**28)) and 0",
    "MemoryError": "bytes(2**40)",
    "KeyError": "{}['key']",
    "unexpected": "print('zonodpp: unexpected KeyError', file=sys.stderr) or 2",
    "exit 3": "3",
}


def test_broken_readers_are_noticed():
    lines = ["import os, sys, time, fuzz"]
    for work in BROKEN.values():
        lines.append(f"print(fuzz.judge(lambda: {work}, seconds={1 if 'sleep' in work else 60}))")
    lines.append("print(repr(fuzz.judge(lambda: 0)))")
    done = python("-c", "\n".join(lines))
    assert done.returncode == 0, done.stderr
    *found, good = done.stdout.strip().splitlines()
    text = "\n".join(found)
    assert all(sign in text for sign in BROKEN), text
    assert good == "''"
