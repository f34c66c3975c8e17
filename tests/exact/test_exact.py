"""Exact draws follow the law, and the check that says so rejects broken twins."""

import dataclasses
import gc
import weakref

import numpy as np
import one_chain
import pytest
import scipy.sparse as sp
from cases import extreme_matrices, hard_targets, targets
from law import assert_exact_law, assert_law, assert_not_law

from zonodpp import Exact, ProjectionDPP, VolumeSampling, sample
from zonodpp.exact import picks
from zonodpp.exact import projection as exact
from zonodpp.numerics.arrays import frozen

DRAWS = 20_000
ALGORITHMS = ("rejection", "chain-rule")
TARGETS = targets() | hard_targets()


def draw(sampler, r, draws=DRAWS, rng=0):
    """Draw from a prepared (and perhaps altered) sampler, without `sample`."""
    generator = np.random.default_rng(rng)
    subsets = np.empty((draws, r), np.int32)
    state = one_chain.start(sampler, generator)
    one_chain.advance(sampler, state, generator, subsets)
    return subsets


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", TARGETS)
def test_draws_follow_the_law(name, algorithm):
    samples = sample(TARGETS[name], DRAWS, rng=20230101, algorithm=algorithm, method="exact")
    assert samples.method == "exact"
    assert_law(samples.subsets, TARGETS[name])


@pytest.mark.parametrize("name", ["gaussian", "sparse, weighted", "condition 1e10"])
def test_both_algorithms_draw_alike_without_sample(name):
    for algorithm in ALGORITHMS:
        assert_law(draw(Exact(algorithm).prepare(TARGETS[name]), TARGETS[name].r), TARGETS[name])


# Broken twins: each changes one thing.


def changed(sampler, **arrays):
    return dataclasses.replace(sampler, **{name: frozen(array) for name, array in arrays.items()})


def always_accept(sampler):
    return changed(sampler, lengths=np.zeros_like(sampler.lengths))


def propose_uniformly(sampler):
    table = exact.alias_table(np.ones(len(sampler.lengths)))
    return changed(sampler, alias=table)


def one_length_wrong(sampler):
    lengths = sampler.lengths.copy()
    lengths[np.argmax(sampler.leverages)] *= 1.5
    return changed(sampler, lengths=lengths)


def no_whitening(sampler):
    return changed(sampler, whitening=np.eye(len(sampler.whitening)))


def never_update(sampler):
    return changed(sampler, lengths=np.full_like(sampler.lengths, np.inf))


def half_the_power(sampler):
    return changed(sampler, leverages=np.sqrt(sampler.leverages))


TWINS = [
    ("rejection", always_accept),
    ("rejection", propose_uniformly),
    ("rejection", one_length_wrong),
    ("chain-rule", never_update),
    ("chain-rule", half_the_power),
    ("chain-rule", no_whitening),
]


@pytest.mark.parametrize(("algorithm", "breakage"), TWINS)
@pytest.mark.parametrize("name", ["gaussian", "weighted", "duplicates", "graph wheel", "sparse"])
def test_broken_twin_is_rejected(name, algorithm, breakage):
    twin = breakage(Exact(algorithm).prepare(TARGETS[name]))
    assert_not_law(draw(twin, TARGETS[name].r), TARGETS[name])


def test_reflection_left_out_is_rejected(monkeypatch):
    """A chain rule that forgets earlier picks, in plain Python."""
    for function in ("outside", "outside_sparse", "outside_item", "reflect"):
        monkeypatch.setattr(picks, function, getattr(picks, function).py_func)
    monkeypatch.setattr(exact, "draw_by_chain_rule", exact.draw_by_chain_rule.py_func)
    for module, function in ((exact, "address_of"), (picks, "generator_at")):
        monkeypatch.setattr(module, function, lambda rng: rng)
    target = TARGETS["gaussian"]
    sampler = Exact("chain-rule").prepare(target)
    assert_law(draw(sampler, target.r, 2000), target)

    def forget(N, m, r, c, length, row):
        row[:] = 0.0

    monkeypatch.setattr(picks, "reflect", forget)
    assert_not_law(draw(sampler, target.r, 2000), target)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_another_law_is_rejected(algorithm):
    """Wrong power, wrong weights, wrong matrix: the check tells them all apart."""
    target = TARGETS["weighted"]
    draws = sample(target, DRAWS, rng=0, algorithm=algorithm, method="exact").subsets
    assert_not_law(draws, VolumeSampling(target.A, power=1, weights=target.weights))
    assert_not_law(draws, ProjectionDPP(target.A))
    assert_not_law(draws, ProjectionDPP(target.A, weights=target.weights**1.2))
    assert_not_law(draws, ProjectionDPP(target.A + 0.2 * np.eye(3, 8), weights=target.weights))


# Too many bases to enumerate: linear statistics, whose mean and variance the kernel gives.


def largest_z(samples, target, rng=0):
    """Compare the number of items drawn from random sets F with its mean and variance.

    The mean is tr K_F, the variance sum_i K_ii - sum_ij K_ij^2 over F.
    """
    generator = np.random.default_rng(rng)
    Q = target.coordinates.gram.W @ target.coordinates.matrix
    if target.coordinates.scale is not None:
        Q = Q * target.coordinates.scale
    scores = []
    for _ in range(40):
        F = np.sort(generator.choice(target.n, generator.integers(1, target.n // 2), replace=False))
        K = Q[:, F].T @ Q[:, F]
        inside = np.zeros(target.n)
        inside[F] = 1.0
        counts = inside[samples.subsets].sum(axis=2).ravel()
        spread = np.sqrt((np.trace(K) - (K**2).sum()) / counts.size)
        scores.append((counts.mean() - np.trace(K)) / spread)
    return np.abs(scores).max()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_condition_1e10_with_many_items(algorithm):
    """The law is that of the rows' span, so mixing rows badly must not change it."""
    rng = np.random.default_rng(1)
    well = rng.normal(size=(6, 1500)) * rng.lognormal(size=1500)
    left, right = (np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2))
    ill = ProjectionDPP((left * np.logspace(0, -10, 6)) @ right @ well)
    assert np.linalg.cond(ill.A) > 1e9
    well = ProjectionDPP(well)
    assert largest_z(sample(ill, 4000, rng=0, algorithm=algorithm, method="exact"), well) < 4.5
    assert np.allclose(ill.marginals(), well.marginals(), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_larger_targets_by_linear_statistics(algorithm):
    rng = np.random.default_rng(2)
    A = rng.normal(size=(25, 300)) * rng.lognormal(size=300)
    for target in (ProjectionDPP(A), ProjectionDPP(A, weights=10.0 ** rng.uniform(-6, 6, 300))):
        samples = sample(target, 3000, rng=3, algorithm=algorithm, method="exact")
        assert largest_z(samples, target) < 4.5
    assert largest_z(samples, ProjectionDPP(A)) > 10  # weights do matter


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sparse_equals_dense(algorithm):
    """The two layouts hold the same numbers, so the same seed gives the same draws."""
    A = sp.random_array(
        (6, 200), density=0.3, random_state=np.random.default_rng(4)
    ) + sp.eye_array(6, 200)
    q = np.random.default_rng(0).random(200)
    dense, sparse = (
        sample(ProjectionDPP(M, weights=q), 200, rng=5, algorithm=algorithm, method="exact")
        for M in (A.toarray(), A)
    )
    assert np.array_equal(dense.subsets, sparse.subsets)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", ["gaussian", "sparse", "condition 1e10"])
def test_cutting_draws_into_calls_does_not_change_them(name, algorithm):
    target = TARGETS[name]
    sampler = Exact(algorithm).prepare(target)
    whole = draw(sampler, target.r, 300)
    generator = np.random.default_rng(0)
    state = one_chain.start(sampler, generator)
    parts = []
    for size in (1, 0, 2, 97, 200):
        part = np.empty((size, target.r), np.int32)
        one_chain.advance(sampler, state, generator, part)
        parts.append(part)
    assert np.array_equal(np.concatenate(parts), whole)
    assert state["counts"][0, 0] == 300


def test_items_with_probability_zero_or_one():
    target = TARGETS["always and never, mixed"]
    for algorithm in ALGORITHMS:
        samples = sample(target, 5000, rng=0, algorithm=algorithm, method="exact")
        share = samples.marginals()
        assert share[0] == 1.0
        assert (share[7:] == 0.0).all()
        assert share[1] + share[2] == pytest.approx(1.0)
        assert not samples.contains([1, 2]).any()


def test_set_up_is_shared_by_calls_and_goes_with_its_target():
    target = ProjectionDPP(np.random.default_rng(9).normal(size=(3, 8)))
    first = Exact().prepare(target)
    again = Exact("chain-rule").prepare(target)
    assert again.alias is first.alias
    assert again.columns is first.columns
    gone = weakref.ref(first)
    del target, first, again
    gc.collect()
    assert gone() is None


def test_number_of_proposals_is_r_log_r_whatever_n():
    """Sum over m of r / m proposals a draw (Barthelme, Tremblay, Amblard 2023)."""
    rng = np.random.default_rng(6)
    expected = 20 * (1 / np.arange(1, 21)).sum()
    for n in (100, 5000):
        samples = sample(ProjectionDPP(rng.normal(size=(20, n))), 2000, rng=0, method="exact")
        proposals = samples.stats["proposals"][0] / samples.stats["draws"][0]
        assert proposals == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(
    "weights", [[1.0], [0.0, 3.0], [1.0, 1.0, 1.0], [0.0, 1e-12, 1.0, 5.0, 0.0, 2.0]]
)
def test_alias_table_holds_the_weights(weights):
    weights = np.array(weights)
    table = exact.alias_table(weights)
    shares = table[:, 0].copy()
    np.add.at(shares, table[:, 1].astype(int), 1.0 - table[:, 0])
    assert shares / len(weights) == pytest.approx(weights / weights.sum(), abs=1e-15)
    assert (shares[weights == 0] == 0).all()


def test_alias_table_of_very_uneven_weights():
    weights = np.random.default_rng(7).lognormal(sigma=8, size=100_000)
    weights[::3] = 0.0
    table = exact.alias_table(weights)
    shares = table[:, 0].copy()
    np.add.at(shares, table[:, 1].astype(int), 1.0 - table[:, 0])
    assert shares / len(weights) == pytest.approx(weights / weights.sum(), rel=1e-6, abs=1e-12)
    assert (shares[::3] == 0).all()


def test_no_matrix_of_n_by_n():
    """Half a million items would need 2 TB; both algorithms do with a few copies of A."""
    target = ProjectionDPP(np.random.default_rng(8).normal(size=(3, 500_000)))
    for algorithm in ALGORITHMS:
        subsets = sample(target, 5, rng=0, algorithm=algorithm, method="exact").subsets
        assert (np.diff(subsets, axis=2) > 0).all()


def test_tracked_sets_are_recorded():
    target = TARGETS["gaussian"]
    sets = [[0, 1], [2], [], [0, 1, 2, 3]]
    for algorithm in ALGORITHMS:
        samples = sample(
            target, 3000, rng=0, chains=2, track=sets, algorithm=algorithm, method="exact"
        )
        assert samples.tracked.shape == (2, 3000, 4)
        for k, S in enumerate(sets):
            assert np.array_equal(samples.tracked[:, :, k], samples.contains(S))


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_data_that_change_behind_the_target_do_not_hang_it(value):
    X = np.random.default_rng(0).normal(size=(50, 3))
    target = ProjectionDPP.from_features(X)
    sample(target, 1, method="exact", rng=0)
    X[:] = value
    with pytest.raises(ArithmeticError, match="has changed since"):
        sample(target, 100, method="exact", rng=0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", extreme_matrices())
def test_law_at_extreme_sizes(name, algorithm):
    """No product may underflow, in whatever order the compiler takes its factors."""
    A, weights = extreme_matrices()[name]
    target = ProjectionDPP(A, weights=weights)
    samples = sample(target, 3000, method="exact", algorithm=algorithm, rng=1)
    assert_exact_law(samples.subsets, target)


def test_law_at_extreme_sizes_sees_a_wrong_law():
    A, weights = extreme_matrices()["weights of 1e+300"]
    samples = sample(ProjectionDPP(A), 3000, method="exact", rng=1)
    with pytest.raises(AssertionError, match="do not follow the law"):
        assert_exact_law(samples.subsets, ProjectionDPP(A, weights=weights))
