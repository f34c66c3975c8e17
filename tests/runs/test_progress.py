"""The bar: on a terminal, for all chains, gone in the end; nothing in a pipe."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tqdm.auto import tqdm

from zonodpp import Exchange, ProjectionDPP, sample
from zonodpp.runs.groups import Run, start_groups
from zonodpp.runs.progress import Progress, work_done

pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")

SCRIPT = """
import numpy as np
from zonodpp import Exchange, ProjectionDPP, sample
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
    termios.tcsetwinsize(theirs, (40, 120))
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
    for words in ("/20,000,000 draws", "steps/s", "% accepted", "s left"):
        assert words in text
    assert "|#" in text or "|\u2588" in text  # by the encoding of the terminal
    assert text.endswith("\r")
    assert text[:-1].split("\r")[-1].strip() == ""  # the line is left clean


def test_silence_in_a_pipe():
    done = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True)
    assert done.stdout == b""
    assert done.stderr == b""


def test_rates_of_a_run_that_goes_on_are_those_of_this_call():
    sampler = Exchange(rule="barker").prepare(ProjectionDPP(np.eye(2, 4)))
    rngs = np.random.default_rng(0).spawn(2)
    groups = start_groups(sampler, rngs)
    for group in groups:
        group.drawn, group.state["counts"][0, 0] = 900, 9000
    run = Run(sampler, groups, 1000, 10)
    before = work_done(run)
    assert before == (18_000, 18_000)
    for group in groups:  # of this call
        group.drawn += 10
        group.state["counts"][0, 0] += 100
    found = Progress.of(run, 2.0, np.inf, before)
    assert (found.drawn, found.total) == (1820, 2000)
    assert found.steps_per_second == 100
    assert found.remaining == pytest.approx(18.0)


def test_steps_to_an_unfinished_draw_count_as_progress():
    sampler = Exchange(rule="barker").prepare(ProjectionDPP(np.eye(2, 4)))
    [group] = start_groups(sampler, [np.random.default_rng(0)])
    group.taken = 250
    found = Progress.of(Run(sampler, [group], 1, 1000), 2.0, np.inf)
    assert (found.drawn, found.remaining) == (0, pytest.approx(6.0))


class Plain:
    """What some programs put in the place of standard error."""

    def write(self, text):
        raise OSError("nobody is there")


@pytest.mark.parametrize("stream", [None, Plain()])
@pytest.mark.parametrize("progress", [None, True])
def test_a_run_without_standard_error(monkeypatch, stream, progress):
    monkeypatch.setattr(sys, "stderr", stream)
    target = ProjectionDPP(np.random.default_rng(0).normal(size=(3, 8)))
    samples = sample(target, seconds=0.7, rng=0, progress=progress)  # long enough for a bar
    assert samples.subsets.shape[1] > 0
    # A write that fails must not leave the lock of tqdm taken: bars of other threads would hang.
    with ThreadPoolExecutor(1) as another:
        assert another.submit(take_all, tqdm.get_lock().locks).result()


def take_all(locks):
    """Tell whether this thread can take the locks."""
    taken = [lock for lock in locks if lock.acquire(True, 10)]
    for lock in taken:
        lock.release()
    return len(taken) == len(locks)
