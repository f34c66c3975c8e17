"""What every method promises, whoever wrote it: see `zonodpp.chains`."""

import pickle

import networkx as nx
import numpy as np
import pytest
from cases import graphs

from zonodpp import (
    DPP,
    KDPP,
    Design,
    Exact,
    Exchange,
    HitAndRun,
    ProjectionDPP,
    Trees,
    VolumeSampling,
)

A = np.random.default_rng(0).normal(size=(3, 9))
PROJECTION = ProjectionDPP(A, weights=np.linspace(0.5, 2.0, 9))
VOLUME = VolumeSampling(A)
GRAPH = ProjectionDPP.from_graph(graphs()["wheel"])
GENERAL = DPP(L=A.T @ A)
SIZED = KDPP(A.T @ A + np.eye(9), 3)
DESIGN = Design(A.T, 6)
CASES = {
    "exact": (Exact(), PROJECTION),
    "exact, chain rule": (Exact(algorithm="chain-rule"), PROJECTION),
    "exact, DPP": (Exact(), GENERAL),
    "exact, k-DPP": (Exact(), SIZED),
    "exact, design": (Exact(), DESIGN),
    "heat-bath": (Exchange(), VOLUME),
    "metropolis": (Exchange(rule="metropolis"), PROJECTION),
    "barker": (Exchange(rule="barker"), GRAPH),
    "heat-bath, DPP": (Exchange(), GENERAL),
    "zonotope": (HitAndRun(), VOLUME),
    "zonotope, paper": (HitAndRun(preset="paper"), PROJECTION),
    "zonotope, DPP": (HitAndRun(), GENERAL),
    "wilson": (Trees(), GRAPH),
    "aldous-broder": (Trees(algorithm="aldous-broder"), GRAPH),
}
TRACK = [[0, 1], [2]]
DRAWS = 40


@pytest.fixture(params=CASES)
def case(request):
    method, target = CASES[request.param]
    return method.prepare(target, TRACK), target


def begin(sampler, seed=3):
    rng = np.random.default_rng(seed)
    return sampler.start(rng, None), rng


def draw(sampler, state, rng, sizes, thin=1):
    """Make draws by one call for each of the sizes."""
    subsets, tracked = [], []
    for size in sizes:
        subsets.append(np.full((size, sampler.width), -7, np.int32))
        tracked.append(np.zeros((size, len(TRACK))))
        sampler.advance(state, rng, subsets[-1], tracked[-1], thin)
    return np.concatenate(subsets), np.concatenate(tracked)


def test_a_state_is_a_dict_of_arrays_that_its_sampler_accepts(case):
    sampler, _ = case
    state, rng = begin(sampler)
    draw(sampler, state, rng, [DRAWS])
    assert all(isinstance(array, np.ndarray) for array in state.values())
    assert state["counts"].shape == (len(sampler.counters),)
    assert state["counts"][0] == DRAWS
    sampler.check(state)


def test_draws_are_sets_of_items_in_ascending_order(case):
    sampler, target = case
    subsets, _ = draw(sampler, *begin(sampler), [DRAWS])
    for row in subsets:
        size = int((row >= 0).sum())
        assert target.sizes_vary or size in target.sizes
        assert (np.diff(row[:size]) > 0).all()
        assert (row[:size] < target.n).all()
        assert (row[size:] == -1).all()
        assert target.log_prob(row[:size]) > -np.inf


def test_how_draws_are_cut_into_calls_does_not_change_them(case):
    sampler, _ = case
    whole = draw(sampler, *begin(sampler), [DRAWS])
    for sizes in ([1] * DRAWS, [7, 1, 25, 7]):
        parts = draw(sampler, *begin(sampler), sizes)
        assert np.array_equal(whole[0], parts[0])
        assert np.array_equal(whole[1], parts[1])


def test_a_sampler_and_a_state_can_go_elsewhere(case):
    sampler, _ = case
    whole, _ = draw(sampler, *begin(sampler), [DRAWS])
    state, rng = begin(sampler)
    first, _ = draw(sampler, state, rng, [10])
    sampler, state, rng = pickle.loads(pickle.dumps((sampler, state, rng)))
    rest, _ = draw(sampler, state, rng, [DRAWS - 10])
    assert np.array_equal(whole, np.concatenate([first, rest]))


def test_tracked_sets_are_added_up(case):
    sampler, _ = case
    state, rng = begin(sampler)
    subsets = np.empty((DRAWS, sampler.width), np.int32)
    tracked = np.full((DRAWS, len(TRACK)), 100.0)
    sampler.advance(state, rng, subsets, tracked, 1)
    share = tracked - 100.0
    assert ((share > -1e-9) & (share < 1 + 1e-9)).all()
    if sampler.independent:
        held = [np.isin(S, row).all() for row in subsets for S in TRACK]
        assert np.array_equal(share.ravel(), np.array(held, dtype=float))


@pytest.mark.parametrize("target", [PROJECTION, VOLUME, GRAPH, GENERAL, SIZED, DESIGN], ids=repr)
def test_every_target_names_methods_that_draw_from_it(target):
    from zonodpp.chains.methods import best_method, method_class

    assert best_method(target) in target.methods
    for name in target.methods:
        sampler = method_class(name)().prepare(target)
        subsets = np.empty((3, sampler.width), np.int32)
        sampler.advance(*begin(sampler), subsets, np.zeros((3, 0)), 1)
        assert subsets.max() < target.n


def test_methods_refuse_targets_that_they_cannot_draw_from():
    for method, target in (
        (Exact(), VOLUME),
        (Exchange(), SIZED),
        (HitAndRun(), SIZED),
        (Exchange(), DESIGN),
        (Trees(), PROJECTION),
        (Trees(), GENERAL),
    ):
        with pytest.raises(ValueError, match="method="):
            method.prepare(target)
    assert isinstance(ProjectionDPP.from_graph(nx.complete_graph(4)).methods, tuple)
