"""The bar: on a terminal, for all chains, gone in the end; nothing in a pipe."""

import os
import subprocess
import sys

import numpy as np
import pytest

from zonodpp import ProjectionDPP, sample

pty = pytest.importorskip("pty")

SCRIPT = """
import numpy as np
from zonodpp import ProjectionDPP, sample
A = np.random.default_rng(0).normal(size=(5, 30))
sample(ProjectionDPP(A), 10**7, method="exchange", rule="barker", chains=2, rng=0, seconds=1.5)
"""


@pytest.fixture(autouse=True, scope="module")
def compiled():
    """Leave compiled code in the cache, so that compiling takes no part in the runs below."""
    sample(ProjectionDPP(np.eye(2, 4)), 1, method="exchange", rule="barker", init=[0, 1])
    sample(ProjectionDPP(np.ones((1, 4))), 1, method="exchange", rule="barker")


def run(**streams):
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, stdout=subprocess.DEVNULL, **streams)


def test_a_bar_on_a_terminal():
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as reader:
        run(stderr=theirs)
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = reader.read(65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
    text = shown.decode()
    for words in ("/20,000,000 draws", "steps/s", "% accepted", "s left", "[###"):
        assert words in text
    assert text.endswith("\r\x1b[K")  # the line is left clean


def test_silence_in_a_pipe():
    done = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True)
    assert done.stdout == b""
    assert done.stderr == b""
