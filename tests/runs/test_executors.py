"""The same draws from one thread, many threads, processes and a Dask cluster."""

import os
import signal
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from typing import Any

import networkx as nx
import numpy as np
import pytest

from zonodpp import HitAndRun, ProjectionDPP, sample
from zonodpp.runs import executors as tasks

CALLS = {
    "exact": {"method": "exact"},
    "trees": {"method": "trees"},
    "zonotope": {"method": "zonotope", "track": [[0, 1]]},
    "exchange": {"method": "exchange", "rule": "barker"},
}


@pytest.fixture(scope="module")
def target():
    return ProjectionDPP.from_graph(nx.wheel_graph(6))


@pytest.fixture(scope="module")
def alone(target):
    return {name: run(target, name, workers=1) for name in CALLS}


def run(target, name, **where):
    return sample(target, 300, chains=4, rng=11, thin=2, burn_in=5, **CALLS[name], **where)


def check(found, expected):
    assert np.array_equal(found.subsets, expected.subsets)
    assert np.array_equal(found.tracked, expected.tracked)


@pytest.mark.parametrize("name", CALLS)
def test_threads(target, alone, name):
    check(run(target, name, workers=4), alone[name])


def test_processes(target, alone):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        for name in CALLS:
            check(run(target, name, executor=executor), alone[name])


# Executors that lose work.


class Losing(Executor):
    """Does tasks at once, and then loses some: as Dask does when a worker is killed."""

    def __init__(self, from_task=0, always=False):
        self.from_task = from_task
        self.always = always
        self.count = 0
        self.seen = set()

    def submit(self, function, /, parcel, work):
        task = Future()
        self.count += 1
        result = function(parcel, work)
        group = work.group
        here = (str(group.rngs[0].bit_generator.state), group.drawn, group.taken)
        if self.count < self.from_task or (here in self.seen and not self.always):
            task.set_result(result)
        elif self.count % 4 == 0:
            task.cancel()
            task.set_running_or_notify_cancel()
        else:
            text = "'numpy.ndarray' object has no attribute 'with_traceback'"
            task.set_exception(AttributeError(text))
        self.seen.add(here)
        return task


@pytest.fixture
def short_slices(monkeypatch):
    monkeypatch.setattr(tasks, "REMOTE_SLICE", 1e-9)


@pytest.mark.parametrize("name", CALLS)
def test_lost_slices_are_made_again(short_slices, target, alone, name):
    pool = Losing()  # every slice once
    check(run(target, name, executor=pool), alone[name])
    assert pool.count == 2 * len(pool.seen)


def test_workers_that_are_gone_leave_the_draws(short_slices, target, alone, tmp_path):
    pool = Losing(from_task=100, always=True)
    with pytest.warns(RuntimeWarning, match=r"has lost its workers .*: returning the \d+ draws"):
        found = run(target, "exchange", executor=pool, checkpoint=tmp_path / "run")
    drawn = found.subsets.shape[1]
    assert 0 < drawn < 300
    assert np.array_equal(found.subsets, alone["exchange"].subsets[:, :drawn])
    check(run(target, "exchange", checkpoint=tmp_path / "run"), alone["exchange"])


def test_an_executor_that_does_nothing(target):
    with pytest.raises(RuntimeError, match=r"lost its workers .* before every chain had a draw"):
        run(target, "exchange", executor=Losing(always=True))
    pool = ProcessPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError, match=r"takes no more work .*shutdown"):
        run(target, "exchange", executor=pool)


def test_processes_that_are_killed_leave_the_draws(target):
    reports = []

    def kill(progress):
        reports.append(progress)
        if len(reports) > 1:  # both chains have had their turn
            for child in active_children():
                child.kill()

    call = {"chains": 2, "rng": 3, "method": "exchange", "burn_in": 0}
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.warns(RuntimeWarning, match="lost its workers .BrokenProcessPool"),
    ):
        found = sample(target, 10**7, executor=pool, progress=kill, **call)
    drawn = found.subsets.shape[1]
    assert np.array_equal(found.subsets[:, :500], sample(target, min(drawn, 500), **call).subsets)


@dataclass(frozen=True)
class Fatal:
    """A sampler that kills its process when it is first used."""

    inner: Any
    marker: str
    independent = False
    batch = 1

    @property
    def counters(self):
        return self.inner.counters

    @property
    def n(self):
        return self.inner.n

    @property
    def width(self):
        return self.inner.width

    def start(self, *arguments):
        return self.inner.start(*arguments)

    def advance(self, *arguments):
        try:
            open(self.marker, "x").close()  # one process alone succeeds
        except FileExistsError:
            return self.inner.advance(*arguments)
        else:
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.filterwarnings("ignore")  # what distributed and its parts warn about is not ours
def test_a_dask_cluster_of_processes_one_of_which_is_killed(target, alone, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    import cloudpickle
    import dask

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    prepare = HitAndRun.prepare

    def fatal(*arguments):
        return Fatal(prepare(*arguments), str(tmp_path / "killed"))

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),  # Dask itself gives up
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = client.get_executor()
        for name in CALLS:
            check(run(target, name, executor=executor), alone[name])
        monkeypatch.setattr(HitAndRun, "prepare", fatal)
        check(run(target, "zonotope", executor=executor), alone["zonotope"])
    assert (tmp_path / "killed").exists()


class Counting(Executor):
    """Does tasks at once, as a process that is restarted before every fifth one would."""

    def __init__(self):
        self.sizes = []

    def submit(self, function, /, parcel, work):
        if len(self.sizes) % 5 == 4:
            tasks._known.clear()
        self.sizes.append(0 if parcel.content is None else len(parcel.content))
        task = Future()
        task.set_result(function(parcel, work))
        return task


def test_a_sampler_travels_to_a_process_once(short_slices, target):
    pool = Counting()
    call = {"chains": 1, "rng": 3, "method": "exchange"}
    found = sample(target, 2000, executor=pool, **call)
    assert np.array_equal(found.subsets, sample(target, 2000, **call).subsets)
    assert len(pool.sizes) > 20  # a short slice has a few steps, however fast the machine is
    sent = np.array(pool.sizes) > 0
    assert sent[0]
    assert sent.mean() < 0.4  # the first time, and once after each restart
