"""What every method promises, whoever wrote it: see `zonodpp.chains`."""

from dataclasses import dataclass
from itertools import combinations

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
    sample,
)
from zonodpp.diagnostics import check_sampler

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


THIN, BURN_IN = 12, 100  # steps of a walk


@pytest.mark.parametrize("name", CASES)
def test_every_method_keeps_the_promises_of_samplers_and_draws_by_its_law(name):
    method, target = CASES[name]
    check_sampler(method.prepare(target), target, draws=2000, thin=THIN, burn_in=BURN_IN)


def test_tracked_sets_of_independent_draws_are_counted_by_runs():
    for name in ("exact", "exact, DPP", "exact, design", "wilson"):
        method, target = CASES[name]
        samples = sample(target, DRAWS, method=method, chains=2, rng=0, track=TRACK)
        held = [
            [np.isin(S, row).all() for S in TRACK]
            for row in samples.subsets.reshape(-1, samples.subsets.shape[2])
        ]
        assert np.array_equal(samples.tracked.reshape(-1, len(TRACK)), held)


@dataclass(frozen=True)
class Listed:
    """Draws from a list of all pairs of five items; ``fault`` names one promise that it breaks."""

    fault: str = ""
    n: int = 5
    width: int = 2
    counters: tuple[str, ...] = ("draws",)
    independent: bool = True
    batch: int | None = 1

    def start(self, rngs, init, sets):
        counts = np.zeros((len(rngs), 1), np.int64)
        state = {"counts": counts[0] if self.fault == "no axis" else counts}
        return state | {"list": [1]} if self.fault == "list" else state

    def advance(self, state, rngs, block, sets):
        pairs = np.array(list(combinations(range(5), 2)))
        for chain, rng in zip(block.subsets, rngs, strict=True):
            if self.fault == "cuts":  # the first draw of a call is another one
                rng.random()
            picks = rng.random(len(chain)) * (9 if self.fault == "law" else 10)
            chain[:] = pairs[picks.astype(int)]
            if self.fault == "order":
                chain[:] = chain[:, ::-1]
            if self.fault == "item":
                chain[0, 1] = 5
        if self.fault == "tracked":
            block.tracked[:] += 1.0
        if self.fault != "counts":
            state["counts"] += block.subsets.shape[1]
        return None if self.fault == "none" else block.subsets.shape[1]

    def check(self, state):
        if self.fault == "check":
            raise ValueError("no state is good enough")


def all_alike(sets):
    return np.zeros(len(sets))


@pytest.mark.parametrize("batch", [1, None])
def test_a_sound_sampler_passes(batch):
    check_sampler(Listed(batch=batch), law=all_alike)


@pytest.mark.parametrize(
    ("fault", "promise"),
    [
        ("no axis", "integers of shape"),
        ("list", "must be an array"),
        ("cuts", "change when they are made by calls"),
        ("order", "must ascend"),
        ("item", "from 0 to 4"),
        ("tracked", "leave tracked sets to the caller"),
        ("counts", "first counter"),
        ("none", "how many draws are finished"),
        ("law", "do not follow the law"),
    ],
)
def test_a_broken_sampler_is_refused_by_the_promise_that_it_breaks(fault, promise):
    with pytest.raises(AssertionError, match=promise):
        check_sampler(Listed(fault), law=all_alike)
    if fault == "law":
        check_sampler(Listed(fault))  # the promises alone are kept


def test_a_state_that_its_own_sampler_refuses():
    with pytest.raises(ValueError, match="good enough"):
        check_sampler(Listed("check"))


def test_a_law_with_sets_that_cannot_be_drawn():
    with pytest.raises(AssertionError, match=r"\[0, 1\] was drawn, whose probability is zero"):
        check_sampler(Listed(), law=lambda sets: np.where(sets[:, 1] == 1, -np.inf, 0.0))


@pytest.mark.parametrize("target", [PROJECTION, VOLUME, GRAPH, GENERAL, SIZED, DESIGN], ids=repr)
def test_every_target_names_methods_that_draw_from_it(target):
    from zonodpp.chains.methods import best_method, method_class

    assert best_method(target) in target.methods
    for name in target.methods:
        sampler = method_class(name)().prepare(target)
        assert sampler.n == target.n
        assert sample(target, 3, method=name, rng=0).subsets.max() < target.n


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
