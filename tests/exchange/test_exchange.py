import dataclasses
import pickle

import networkx as nx
import numba
import numpy as np
import one_chain
import pytest
import scipy.sparse as sp
from cases import extreme_matrices, graphs, matrices, targets, volume_targets
from law import assert_exact_law, assert_law, assert_not_law, enumerate_law, exact_law

from zonodpp import DPP, Exchange, ProjectionDPP, VolumeSampling, sample
from zonodpp.chains.columns import basis_matrix, tableau_entry
from zonodpp.chains.contract import only_chain
from zonodpp.chains.tracking import NO_SETS, Recording
from zonodpp.exchange import method as exchange
from zonodpp.exchange import walk as exchange_walk
from zonodpp.exchange.method import RULES
from zonodpp.exchange.walk import BARKER, COUNTERS
from zonodpp.numerics.arrays import refreeze

THIN = {"heat-bath": 40, "metropolis": 300, "barker": 600}
NAMED = {
    **{f"power 2, {name}": target for name, target in targets().items()},
    **{f"power 1, {name}": target for name, target in volume_targets(1.0).items()},
    **{f"power 3, {name}": target for name, target in volume_targets(3.0).items()},
    "power 0.2, duplicates": VolumeSampling(matrices()["duplicates"][0], power=0.2),
}


def many_items(power):
    """Enough items for proposals to take the place of row products."""
    rng = np.random.default_rng(5)
    A = rng.normal(size=(2, 45))
    A[:, 7] = 0.0
    A[:, 8] = -2 * A[:, 9]
    return VolumeSampling(A, power=power, weights=10.0 ** rng.uniform(-2, 2, 45))


def run(sampler, draws, thin, seed=0):
    """Draw from a prepared sampler, for those that the public call does not make."""
    rng = np.random.default_rng(seed)
    state = one_chain.start(sampler, rng)
    subsets = np.empty((draws, sampler.width), np.int32)
    one_chain.advance(sampler, state, rng, subsets, thin=thin)
    return subsets


@numba.njit
def acceptance(rule, power, columns, basis, s, t):
    """The probability to accept item t in place s, by the compiled parts of the walk."""
    volume = abs(tableau_entry(columns, basis.tableau[s], t))
    ratio = volume * columns.lengths[t] / columns.lengths[basis.inside[s]]
    return exchange_walk.acceptance(rule, exchange_walk.raised(ratio, power))


def transition_matrix(target, rule):
    """All bases, their probabilities, and the transitions of the rule by its compiled parts."""
    bases, law = enumerate_law(target)
    bases, law = bases[law > 0], law[law > 0]
    index = {tuple(basis): k for k, basis in enumerate(bases.tolist())}
    sampler = Exchange(rule).prepare(target)
    P = np.zeros((len(bases), len(bases)))
    for k, start in enumerate(bases):
        state = only_chain(one_chain.start(sampler, None, start))
        record = Recording(*NO_SETS, np.empty((0, target.r), np.int32), np.empty((0, 0)), 1)
        chain = sampler.chain(state, record)
        basis, weights = chain.basis, chain.scratch.weights
        for s, leaving in enumerate(basis.inside):
            moves = np.zeros(target.n)
            if rule == "heat-bath":
                exchange_walk.entering_weights(chain, s)
                moves[:] = weights[: target.n] / weights.sum()
            else:
                code = RULES.index(rule)
                for t in basis.outside:
                    chance = acceptance(code, target.power, sampler.columns, basis, s, t)
                    moves[t] = chance / len(basis.outside)
                moves *= 0.5 if code == BARKER else 1.0
            moves[leaving] = 0.0
            for t in np.flatnonzero(moves):
                end = tuple(sorted({*start.tolist(), int(t)} - {int(leaving)}))
                if end in index:
                    P[k, index[end]] += moves[t] / target.r
                else:
                    # Rounding noise, which the walk does not enter; powers below one enlarge it.
                    assert moves[t] < 1e-14 ** min(target.power, 1.0)
        P[k, k] += 1 - P[k].sum()
    return bases, law, P


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", NAMED)
def test_draws_follow_the_law(name, rule):
    target = NAMED[name]
    samples = sample(
        target, 3000, method="exchange", rule=rule, burn_in=1000, thin=THIN[rule], rng=1
    )
    assert_law(samples.subsets, target)
    assert samples.stats["drifts"] == 0


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0])
def test_proposals_follow_the_law(power):
    target = many_items(power)
    assert len(Exchange().prepare(target).alias)
    assert_law(sample(target, 5000, method="exchange", thin=20, rng=2).subsets, target)


def test_giving_up_on_proposals_is_exact(monkeypatch):
    # Nearly all proposals are an item that is already inside, so that most steps give up.
    treat_as("large", monkeypatch)
    weights = np.array([1e12, 1.0, 2.0, 1.0, 3.0, 1.0])
    target = ProjectionDPP(np.random.default_rng(3).normal(size=(2, 6)), weights=weights)
    assert len(Exchange().prepare(target).alias)
    assert_law(sample(target, 5000, method="exchange", thin=20, rng=0).subsets, target)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("power", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("name", ["paper", "weighted", "duplicates", "zero columns", "sparse"])
def test_transitions_are_reversible(name, power, rule):
    bases, law, P = transition_matrix(volume_targets(power)[name], rule)
    assert (P >= -1e-15).all()
    np.testing.assert_allclose(law @ P, law, atol=1e-12)
    flow = law[:, None] * P
    np.testing.assert_allclose(flow, flow.T, atol=1e-12)
    shared = np.array([[len({*a} & {*b}) for b in bases.tolist()] for a in bases.tolist()])
    one_apart = shared == bases.shape[1] - 1
    assert (P[one_apart] > 0).all()  # basis exchange: every neighbour can be reached


@pytest.mark.parametrize("rule", RULES)
def test_high_powers_do_not_overflow(rule):
    A, weights = matrices()["weighted"]
    _, law, P = transition_matrix(VolumeSampling(A, power=400.0, weights=weights), rule)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_allclose(law[:, None] * P, (law[:, None] * P).T, atol=1e-10)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["wheel", "parallel", "bridge"])
def test_transitions_on_graphs_are_reversible(name, rule):
    _, law, P = transition_matrix(ProjectionDPP.from_graph(graphs()[name], weight="w"), rule)
    np.testing.assert_allclose(law @ P, law, atol=1e-12)
    np.testing.assert_allclose(law[:, None] * P, (law[:, None] * P).T, atol=1e-12)


def treat_as(size, monkeypatch):
    """Have any problem treated as a small or a large one."""
    for threshold in ("ITEMS_PER_PROPOSAL", "ITEMS_PER_POWER", "SMALL_TABLEAU"):
        monkeypatch.setattr(exchange, threshold, 10**9 if size == "small" else 0)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("name", ["weighted", "duplicates", "sparse", "sure item"])
def test_small_and_large_problems_have_the_same_transitions(name, power, monkeypatch):
    target = volume_targets(power)[name]
    treat_as("small", monkeypatch)
    small = Exchange().prepare(target)
    assert small.whole != small.careful  # a careful walk judges entries of T
    _, _, whole = transition_matrix(target, "heat-bath")
    treat_as("large", monkeypatch)
    target = volume_targets(power)[name]  # a new one: what was prepared is remembered
    sampler = Exchange().prepare(target)
    assert not sampler.whole
    assert name == "sparse" or sampler.alias.size
    np.testing.assert_allclose(transition_matrix(target, "heat-bath")[2], whole, atol=1e-13)


@pytest.mark.parametrize("name", ["graph wheel", "graph bridge", "graph parallel", "sparse"])
def test_row_products_follow_the_law(name, monkeypatch):
    treat_as("large", monkeypatch)
    target = targets()[name]
    samples = sample(target, 3000, method="exchange", thin=40, rng=1)
    assert_law(samples.subsets, target)


@pytest.mark.parametrize("rule", RULES)
def test_walk_makes_the_transitions_enumerated(rule):
    target = volume_targets(1.0)["weighted"]
    bases, _, P = transition_matrix(target, rule)
    subsets = sample(target, 200_000, method="exchange", rule=rule, rng=4).subsets[0]
    index = {tuple(basis): k for k, basis in enumerate(bases.tolist())}
    at = np.array([index[tuple(row)] for row in subsets.tolist()])
    counts = np.zeros_like(P)
    np.add.at(counts, (at[:-1], at[1:]), 1)
    visits = counts.sum(axis=1, keepdims=True)
    expected = visits * P
    assert not counts[P < 1e-15].any()
    spread = np.sqrt(np.maximum(expected * (1 - P), 1.0))
    assert (np.abs(counts - expected) / spread).max() < 6


@pytest.mark.parametrize("rule", RULES)
def test_wrong_exponent_is_rejected(rule):
    target = targets()["weighted"]
    broken = dataclasses.replace(Exchange(rule).prepare(target), power=1.5)
    assert_not_law(run(broken, 3000, THIN[rule]), target)


def test_uniform_entering_item_is_rejected():
    target = targets()["gaussian"]
    broken = dataclasses.replace(Exchange().prepare(target), power=1e-9)  # all ratios count as one
    assert_not_law(run(broken, 3000, THIN["heat-bath"]), target)


@pytest.mark.parametrize("rule", RULES)
def test_unweighted_walk_is_rejected(rule):
    weighted = targets()["graph wheel"]
    broken = Exchange(rule).prepare(ProjectionDPP.from_graph(graphs()["wheel"]))
    assert_not_law(run(broken, 3000, THIN[rule]), weighted)


def test_no_acceptance_step_is_rejected():
    target = targets()["gaussian"]
    broken = dataclasses.replace(Exchange("metropolis").prepare(target), power=1e-9)
    assert_not_law(run(broken, 3000, THIN["metropolis"]), target)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["weighted", "many items", "graph wheel"])
def test_cutting_into_blocks_changes_nothing(name, rule):
    target = many_items(2.0) if name == "many items" else targets()[name]
    sampler = dataclasses.replace(Exchange(rule).prepare(target), oldest=100)
    sets = [[0, 1], [2]]
    whole, pieces = [np.empty((600, target.r), np.int32) for _ in range(2)]
    tracked, parts = [np.zeros((600, 2)) for _ in range(2)]
    rng = np.random.default_rng(7)
    state = one_chain.start(sampler, rng)
    one_chain.advance(sampler, state, rng, whole, tracked, 3, sets)
    rng = np.random.default_rng(7)
    state = one_chain.start(sampler, rng)
    # The first draw's three steps are cut as well.
    for begin, end, steps in [(0, 1, 1), (0, 1, 2), (1, 130, 3), (130, 131, 3), (131, 600, 3)]:
        rows = slice(begin, end)
        one_chain.advance(sampler, state, rng, pieces[rows], parts[rows], steps, sets)
        sampler, state, rng = pickle.loads(pickle.dumps((sampler, state, rng)))
        refreeze(sampler)
    np.testing.assert_array_equal(whole, pieces)
    np.testing.assert_array_equal(tracked, parts)
    counts = dict(zip(COUNTERS, state["counts"][0], strict=True))
    assert counts["steps"] == 1800
    assert name != "weighted" or counts["refactorisations"] > 0


@pytest.mark.parametrize("rule", RULES)
def test_tracked_is_the_average_over_steps(rule):
    target = targets()["weighted"]
    track = [[0], [1, 4], []]
    options = {"method": "exchange", "rule": rule, "rng": 3, "track": track}
    every = sample(target, 400, **options)
    np.testing.assert_array_equal(
        every.tracked, np.stack([every.contains(S) for S in track], axis=2)
    )
    fourth = sample(target, 100, thin=4, **options)
    np.testing.assert_array_equal(fourth.subsets, every.subsets[:, 3::4])
    np.testing.assert_allclose(fourth.tracked, every.tracked.reshape(1, 100, 4, 3).mean(axis=2))
    assert fourth.stats["steps"] == 400


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_sparse_and_dense_agree(rule, power):
    A, _ = matrices()["sparse"]
    weights = np.random.default_rng(0).random(9)
    sparse = VolumeSampling(sp.csc_array(A), power=power, weights=weights)
    dense = VolumeSampling(A.toarray(), power=power, weights=weights)
    assert len(Exchange(rule).prepare(sparse).columns.dense) == 0
    for one, other in zip(
        transition_matrix(sparse, rule), transition_matrix(dense, rule), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-13)


@pytest.mark.parametrize("rule", RULES)
def test_long_chain_does_not_drift(rule):
    gaussian = ProjectionDPP(np.random.default_rng(0).normal(size=(11, 64)))
    for target, bound in ((ProjectionDPP.from_graph(nx.complete_graph(10)), 0.0), (gaussian, 1e-9)):
        sampler = Exchange(rule).prepare(target)
        rng = np.random.default_rng(0)
        state = one_chain.start(sampler, rng)
        subsets = np.empty((1, target.r), np.int32)
        one_chain.advance(sampler, state, rng, subsets, thin=1_000_000)
        state = only_chain(state)
        fresh = only_chain(one_chain.start(sampler, None, state["inside"]))
        order = state["place"][fresh["inside"]]
        assert np.abs(state["tableau"][order] - fresh["tableau"]).max() <= bound
        if rule != "heat-bath":  # the tableau is T
            E_B = basis_matrix(sampler.columns, state["inside"])
            error = state["tableau"] @ E_B - np.eye(target.r)
            assert np.abs(error).max() <= bound
        steps, accepted, refactorisations, drifts, tiny = state["counts"]
        assert steps == 1_000_000
        assert refactorisations == accepted // sampler.oldest
        assert drifts == tiny == 0


@pytest.mark.parametrize("rule", RULES)
def test_tiny_pivots_are_counted_and_do_no_harm(rule):
    """Two columns are nearly equal, but in no plane with a third one."""
    A = np.random.default_rng(2).normal(size=(3, 6))
    A[:, 5] = A[:, 4] + 1e-10 * np.random.default_rng(3).normal(size=3)
    target = VolumeSampling(A, power=0.2)
    samples = sample(target, 3000, method="exchange", rule=rule, thin=THIN[rule], rng=0)
    assert samples.stats["tiny pivots"] > 0
    assert_law(samples.subsets, target)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("size", [1, 4])
def test_nothing_to_exchange(rule, size):
    target = ProjectionDPP(np.random.default_rng(0).normal(size=(size, size)))
    samples = sample(target, 50, method="exchange", rule=rule, rng=0)
    np.testing.assert_array_equal(samples.subsets, [[range(size)] * 50])
    assert samples.stats["accepted"] == 0


def test_starts_are_random_bases():
    target = targets()["graph wheel"]
    firsts = sample(target, 1, method="exchange", rule="barker", chains=20, rng=0).subsets
    assert np.isfinite(target.log_prob(firsts)).all()
    assert len(np.unique(firsts[:, 0], axis=0)) > 5


def test_given_start():
    target = targets()["weighted"]
    [inside] = one_chain.start(Exchange().prepare(target), None, [5, 0, 3])["inside"]
    assert sorted(inside) == [0, 3, 5]
    samples = sample(target, 10, method="exchange", init=[[0, 1, 2], [5, 0, 3]], chains=2, rng=0)
    assert samples.subsets.shape == (2, 10, 3)


@pytest.mark.parametrize(
    ("name", "init", "message"),
    [
        ("gaussian", [0, 1], r"r = 3 items, got shape \(2,\)"),
        ("gaussian", [0, 1, 1], "same item twice"),
        ("gaussian", [0, 1, 8], "from 0 to 7"),
        ("duplicates", [0, 2, 5], r"\[0, 2, 5\] is not a basis: its 3 columns have rank 2"),
        ("zero columns", [0, 1, 6], r"items \[6\], whose weight or column is zero"),
        ("zero weight", [2, 5, 0], r"items \[2, 5\], whose weight or column is zero"),
        ("graph K4", [0, 1, 3], "is not a basis"),
    ],
)
def test_a_start_that_is_no_basis(name, init, message):
    with pytest.raises(ValueError, match=message):
        sample(targets()[name], 5, method="exchange", init=init)


@pytest.mark.parametrize("rule", RULES)
def test_two_items_do_not_take_turns(rule):
    options = {"method": "exchange", "rule": rule, "thin": 20, "rng": 0}
    target = VolumeSampling([[1.0, 1.0]])
    assert_exact_law(sample(target, 4000, **options).subsets, target)
    empty_or_not = sample(DPP(L=[[1.0]]), 4000, **options)
    assert empty_or_not.marginals() == pytest.approx([0.5], abs=0.05)  # six standard errors


def test_unknown_rule():
    with pytest.raises(ValueError, match="'heat-bath', 'metropolis', 'barker'; got 'gibbs'"):
        sample(targets()["gaussian"], 5, method="exchange", rule="gibbs")


@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", extreme_matrices())
def test_law_at_extreme_sizes(name, rule, power):
    A, weights = extreme_matrices()[name]
    target = VolumeSampling(A, power=power, weights=weights)
    options = {"method": "exchange", "rule": rule, "burn_in": 500, "rng": 1}
    samples = sample(target, 2000, thin=40, **options)
    assert_exact_law(samples.subsets, target)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("light", [1.0, 1e-20])  # the weight of an item of every draw
def test_low_powers_make_exchanges_likely_whose_volumes_differ_much(rule, light):
    # q^{1/p} spans 24 orders, so that |det| does too, and its power p is of ordinary size.
    A = np.zeros((4, 7))
    A[:3, :6] = np.random.default_rng(12).normal(size=(3, 6))
    A[3, 6] = 1.0
    weights = np.array([87.0, 1.0, 32.0, 0.35, 0.0, 2.3, light])
    target = VolumeSampling(A, power=0.1, weights=weights)
    samples = sample(target, 5000, method="exchange", rule=rule, thin=150, burn_in=500, rng=0)
    assert_exact_law(samples.subsets, target)
    beyond = VolumeSampling(A, power=0.1, weights=[*weights[:6], 1e-30])
    with pytest.raises(ValueError, match="more than 260 orders of magnitude"):
        sample(beyond, 10, method="exchange", rule=rule)
    zonotope = sample(beyond, 2000, method="zonotope", thin=10, rng=0)
    assert_exact_law(zonotope.subsets, beyond)


@pytest.mark.parametrize("name", ["K4", "wheel"])
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_weights_of_a_graph_at_extreme_sizes(name, size):
    graph = graphs()[name]
    for *_, data in graph.edges(data=True):
        data["w"] *= size
    target = ProjectionDPP.from_graph(graph, weight="w")
    for method in ("exchange", "exact"):
        samples = sample(target, 3000, method=method, thin=20, burn_in=100, rng=1)
        assert_exact_law(samples.subsets, target)
    bases, logs = exact_law(target)
    np.testing.assert_allclose(target.log_prob(bases), logs, atol=1e-9)
