"""The same draws from one thread, many threads, processes and a Dask cluster."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import networkx as nx
import numpy as np
import pytest

from zonodpp import ProjectionDPP, sample

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


@pytest.mark.filterwarnings("ignore")  # what distributed and its parts warn about is not ours
def test_a_dask_cluster_of_processes(target, alone):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        for name in CALLS:
            check(run(target, name, executor=client.get_executor()), alone[name])
