"""Generators go into compiled kernels by their address: a kernel never keeps one alive."""

import importlib
import inspect
import pkgutil
import sys

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import zonodpp
from zonodpp import (
    DPP,
    KDPP,
    Exact,
    Exchange,
    HitAndRun,
    ProjectionDPP,
    Trees,
    VolumeSampling,
    prepare,
)
from zonodpp.zonotope.annealing import Annealed

X = np.random.default_rng(0).normal(size=(12, 3))
ROWS = ProjectionDPP.from_features(X)
GENERAL = DPP(L=X @ X.T + np.eye(12))
COMPLETE = ProjectionDPP.from_graph(sp.csr_array(np.ones((5, 5)) - np.eye(5)))
BATCHES = ProjectionDPP.from_features(lambda: iter([X[:7], X[7:]]))
# For each kernel that takes the address of a generator, a call that ends in it.
CALLS = {
    "exact.projection.draw_by_rejection": prepare(ROWS, Exact()).draw,
    "exchange.walk.walk": prepare(ROWS, Exchange()).draw,
    "zonotope.step.run_by_long_steps": prepare(
        VolumeSampling(np.random.default_rng(1).normal(size=(2, 120))), HitAndRun(preset="paper")
    ).draw,
    "zonotope.step.run_by_walk": prepare(ROWS, HitAndRun()).draw,
    "exact.mixture._choose_once": prepare(GENERAL, Exact(algorithm="chain-rule")).draw,
    "exact.mixture._draw_mixture": prepare(KDPP(X @ X.T + np.eye(12), 3), Exact()).draw,
    "exact.picks.draw_by_chain_rule": prepare(ROWS, Exact(algorithm="chain-rule")).draw,
    "exact.stream._draw_from_pool": prepare(BATCHES).draw,
    "zonotope.pool_steps.run_by_pool": prepare(ROWS, HitAndRun(pricing="pool")).draw,
    "trees.walks.draw_trees": prepare(COMPLETE, Trees()).draw,
    "zonotope.annealing._anneal": lambda rng: Annealed(X.T.copy(), 2, rng),
}


def kernels():
    """Return all functions that Python can call and numba compiles, by module and name."""
    found = {}
    for module in pkgutil.walk_packages(zonodpp.__path__, "zonodpp."):
        if ".gpu" in module.name or "__main__" in module.name:
            continue  # a GPU has generators of its own
        for name, thing in vars(importlib.import_module(module.name)).items():
            compiled = isinstance(thing, numba.core.dispatcher.Dispatcher)
            if compiled and thing.py_func.__module__ == module.name:
                options = thing.targetoptions
                if not options.get("forceinline") and options.get("inline") != "always":
                    found[f"{module.name.removeprefix('zonodpp.')}.{name}"] = thing
    return found


def test_generators_go_into_kernels_by_address():
    parameters = {name: inspect.signature(k.py_func).parameters for name, k in kernels().items()}
    assert not [name for name, given in parameters.items() if "rng" in given]
    assert {name for name, given in parameters.items() if "address" in given} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_no_kernel_keeps_a_generator(name):
    call, kernel = CALLS[name], kernels()[name]
    rng = np.random.default_rng(0)
    call(rng)  # a stream keeps the last generator, so that its draws go on
    assert kernel.signatures
    before = sys.getrefcount(rng)
    for _ in range(3):
        call(rng)
    assert sys.getrefcount(rng) == before


def test_a_kernel_without_reference_counts_keeps_a_boxed_generator():
    """The broken twin: the check above sees it."""

    @numba.njit(_nrt=False)
    def draw(rng):
        return rng.random()

    rng = np.random.default_rng(0)
    draw(rng)
    before = sys.getrefcount(rng)
    draw(rng)
    assert sys.getrefcount(rng) > before
