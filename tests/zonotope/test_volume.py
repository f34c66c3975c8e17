"""Volumes: exact sums against geometry, estimates against exact sums."""

from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from cases import hard_matrices, matrices
from law import assert_law, assert_not_law
from scipy.spatial import ConvexHull

from zonodpp import ProjectionDPP, VolumeSampling, Zonotope
from zonodpp.zonotope import annealing, volume
from zonodpp.zonotope.annealing import Annealed, lewis_position
from zonodpp.zonotope.volume import estimate_volume, exact_volume, independent_bases

REPEATS = 40


def clustered(r, n, clusters, spread):
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(r, clusters))
    return centres[:, rng.integers(clusters, size=n)] + spread * rng.normal(size=(r, n))


def incidence(graph):
    return ProjectionDPP.from_graph(graph).A


def skewed():
    """Name -> A, still small enough for the exact sum."""
    rng = np.random.default_rng(11)
    return {
        "gaussian": rng.normal(size=(4, 14)),
        "lognormal lengths": rng.normal(size=(4, 16)) * rng.lognormal(sigma=1.5, size=16),
        "cauchy": rng.standard_cauchy(size=(5, 30)),
        "graph": incidence(nx.gnm_random_graph(8, 16, seed=3)),
        "clustered": clustered(4, 24, 4, 0.03),
        "tight clusters": clustered(4, 24, 4, 0.003),
    }


def covers(estimates, log_volume):
    """Tell whether estimates and their errors agree with the volume.

    95% of intervals of two standard errors should cover; of 40, fewer than 33 would with
    probability 1e-3. Four standard deviations are allowed for the mean of standardised errors.
    """
    ratios = np.exp([e.log_value - log_volume for e in estimates])
    errors = (ratios - 1) / (ratios * [e.relative for e in estimates])
    inside = np.sum(np.abs(errors) < 2)
    return inside >= 33 and abs(errors.mean()) < 4 / np.sqrt(len(errors))


# The exact sum


def test_cubes_and_hexagons():
    for A, expected in (
        (np.eye(3), 1),
        (np.diag([2.0, -3.0, 0.5]), 3),
        ([[1, 0, 1], [0, 1, 1]], 3),
        ([[1, 2, 0, -1], [0, 1, 2, 1]], 13),
        ([[3.0, -1.0, 0.0]], 4),
    ):
        assert Zonotope(A).volume("exact").value == pytest.approx(expected, rel=1e-14)


def test_a_graph_has_as_many_trees_as_its_zonotope_has_volume():
    found = Zonotope(incidence(nx.complete_graph(6))).volume("exact")
    assert found.value == pytest.approx(6**4, rel=1e-12)
    assert found.stderr == 0


@pytest.mark.parametrize(("r", "n"), [(2, 9), (3, 7)])
def test_exact_sum_is_the_volume_of_the_convex_hull(r, n):
    A = np.random.default_rng(n).normal(size=(r, n))
    corners = np.array(list(product([0, 1], repeat=n))) @ A.T
    assert Zonotope(A).volume("exact").value == pytest.approx(ConvexHull(corners).volume, rel=1e-10)


def test_exact_sum_in_chunks_and_sparse():
    A = np.random.default_rng(0).normal(size=(3, 11))
    dets = [abs(np.linalg.det(A[:, basis])) for basis in combinations(range(11), 3)]
    value, stderr = Zonotope(sp.csr_array(A)).volume("exact")
    assert value == pytest.approx(sum(dets), rel=1e-12)
    assert stderr == 0
    big = np.random.default_rng(0).normal(size=(40, 42))  # two chunks
    dets = [np.linalg.slogdet(big[:, basis])[1] for basis in combinations(range(42), 40)]
    found = Zonotope(big).volume("exact").log_value
    assert found == pytest.approx(np.logaddexp.reduce(dets), abs=1e-9)


def test_exact_sum_has_limits():
    with pytest.raises(ValueError, match=r"1\.73e\+13; use method=.estimate"):
        Zonotope(np.random.default_rng(0).normal(size=(10, 100))).volume("exact")
    with pytest.raises(ValueError, match=r"but there are 1\.98e\+352; use method='estimate'"):
        Zonotope(np.random.default_rng(0).normal(size=(350, 1500))).volume("exact")


@pytest.mark.parametrize("function", [exact_volume, estimate_volume, lewis_position])
def test_flat_zonotopes_are_refused(function):
    for A in ([[1.0, 2, 3], [2, 4, 6]], np.ones((3, 2)), np.zeros((2, 3))):
        with pytest.raises(ValueError, match="flat"):
            function(A)
    with pytest.raises(ValueError, match="NaN"):
        function([[1.0, np.nan]])


def test_volumes_beyond_floating_point_numbers_have_logarithms():
    A = np.random.default_rng(0).normal(size=(3, 8))
    base = Zonotope(A).volume("exact").log_value
    for factor in (1e150, 1e-150):
        scaled = Zonotope(A * factor)
        for found in (scaled.volume("exact"), scaled.volume("estimate", draws=500, rng=0)):
            assert found.value in (0.0, np.inf)
            assert found.log_value == pytest.approx(base + 3 * np.log(factor), abs=0.1)


# Lewis weights


def lewis_weights(A):
    columns, _, items = lewis_position(A)
    weights = np.zeros(A.shape[1])
    weights[items] = columns.lengths
    return weights


@pytest.mark.parametrize("name", [*matrices(), *hard_matrices()])
def test_lewis_weights_are_a_fixed_point(name):
    A, _ = (matrices() | hard_matrices())[name]
    A = A.toarray() if sp.issparse(A) else A
    w = lewis_weights(A)
    assert np.array_equal(w == 0, ~A.any(axis=0))
    assert w.sum() == pytest.approx(len(A), abs=1e-9)
    kept = w > 0
    # Weights depend on the row space alone: an orthonormal basis of it is safe to invert.
    Q = np.linalg.qr((A / np.abs(A).max(axis=1, keepdims=True)).T)[0].T[:, kept]
    G = (Q / w[kept]) @ Q.T
    again = np.sqrt(np.einsum("ij,ij->j", Q, np.linalg.solve(G, Q)))
    assert again == pytest.approx(w[kept], rel=1e-4 if "condition" in name else 1e-7)


def test_lewis_weights_of_parallel_columns_add_up():
    A = np.random.default_rng(1).normal(size=(3, 7))
    split = np.column_stack([0.3 * A[:, 0], A[:, 1:], -0.7 * A[:, 0]])
    w, parts = lewis_weights(A), lewis_weights(split)
    assert parts[0] + parts[-1] == pytest.approx(w[0], rel=1e-9)
    assert parts[1:-1] == pytest.approx(w[1:], rel=1e-9)


def test_lewis_position_keeps_determinants():
    A = np.random.default_rng(2).normal(size=(4, 9)) * 10.0 ** np.arange(-4, 5)
    A[:, 5] = 0
    columns, log_scale, items = lewis_position(A)
    E, w = columns.rows, columns.lengths
    assert items.tolist() == [0, 1, 2, 3, 4, 6, 7, 8]
    for basis in ([0, 1, 2, 3], [1, 3, 5, 7]):
        expected = np.linalg.slogdet(A[:, items[basis]])[1]
        found = np.linalg.slogdet(E[:, basis])[1] + np.log(w[basis]).sum() + log_scale
        assert found == pytest.approx(expected, abs=1e-8)
    assert (E * w) @ E.T == pytest.approx(np.eye(4), abs=1e-9)


# The estimate


@pytest.mark.parametrize("name", skewed())
def test_estimates_cover_the_exact_volume(name):
    A = skewed()[name]
    estimates = [Zonotope(A).volume("estimate", draws=400, rng=seed) for seed in range(REPEATS)]
    assert covers(estimates, Zonotope(A).volume("exact").log_value)


def wrong_powers(monkeypatch):
    """Exchanges that stay at power 2 and never go to 1."""
    monkeypatch.setattr(Annealed, "_powers", lambda self: np.full(self.moves, 2.0))


def weights_ignored(monkeypatch):
    """The mean of logarithms instead of that of weights."""
    monkeypatch.setattr(volume, "log_mean", lambda logs: float(logs.mean()))


def uniform_proposals(monkeypatch):
    """Subsets drawn uniformly and taken for draws from the projection DPP."""

    class Uniform:
        def __init__(self, sampler):
            self.alias, self.start = sampler.alias, sampler.start

        def advance(self, state, rngs, block, sets):
            n = len(self.alias)
            for row in block.subsets[0]:
                row[:] = np.sort(rngs[0].permutation(n)[: row.size])

    prepare = annealing.prepare_projection
    monkeypatch.setattr(annealing, "prepare_projection", lambda target: Uniform(prepare(target)))


@pytest.mark.parametrize("twin", [wrong_powers, weights_ignored, uniform_proposals])
def test_the_check_rejects_broken_estimates(twin, monkeypatch):
    A = skewed()["cauchy"]
    log_volume = Zonotope(A).volume("exact").log_value
    twin(monkeypatch)
    estimates = [estimate_volume(A, draws=400, moves=10, rng=seed) for seed in range(REPEATS)]
    assert not covers(estimates, log_volume)


@pytest.mark.parametrize("name", [*matrices(), *hard_matrices()])
def test_estimates_of_hard_matrices(name):
    A, _ = (matrices() | hard_matrices())[name]
    found, expected = Zonotope(A).volume("estimate", draws=400, rng=1), Zonotope(A).volume("exact")
    assert abs(found.log_value - expected.log_value) < 5 * found.relative
    assert found.effective_share > 0.6


@pytest.mark.parametrize("name", ["tight clusters", "clustered", "gaussian"])
def test_the_effective_share_counts_the_tail_that_draws_miss(name):
    A = skewed()[name]
    columns = lewis_position(A)[0]
    E, w = columns.rows, columns.lengths
    bases = np.array(list(combinations(range(A.shape[1]), len(A))))
    dets = np.abs(np.linalg.det(np.moveaxis(E[:, bases], 1, 0)))
    products = w[bases].prod(axis=1)
    exact = (dets @ products) ** 2 / products.sum()  # E[W]^2 / E[W^2] for W = 1 / |det E_B|
    found = Annealed(A, 0, np.random.default_rng(0))
    share = 1 / (1 + found.variance(found.draw(400, np.random.default_rng(1))[1]))
    assert exact / 2 < share < exact * 2


def test_draws_of_a_large_zonotope_neither_overflow_nor_underflow():
    A = np.random.default_rng(3).normal(size=(100, 120))
    scale = 2.0**-17  # a power of two, so that both take the same draws
    one, other = (estimate_volume(A * s, draws=100, moves=50, rng=0) for s in (1.0, scale))
    assert np.isfinite(one.log_value)
    assert one.relative < 0.15
    assert other.log_value == pytest.approx(one.log_value + 100 * np.log(scale), abs=1e-6)


def test_draws_go_on_until_the_error_is_small_enough():
    A = np.random.default_rng(4).normal(size=(5, 20))
    found = Zonotope(A).volume("estimate", rel_error=0.005, rng=0)
    assert found.relative < 0.005
    assert 500 < found.draws < 20_000
    assert found == Zonotope(A).volume("estimate", rel_error=0.005, rng=0)
    value, stderr = found
    assert (value, stderr) == (found.value, found.stderr)
    assert stderr == pytest.approx(found.relative * value)


def test_one_basis_or_one_row_needs_no_luck():
    for A in (np.diag([2.0, 3.0, 4.0]), [[1.0, -2.0, 0.0, 4.0]]):
        found = Zonotope(A).volume("estimate", draws=100, rng=0)
        assert found.log_value == pytest.approx(Zonotope(A).volume("exact").log_value, abs=1e-9)


def test_warns_when_the_error_cannot_be_trusted(monkeypatch):
    A = clustered(20, 200, 20, 0.1)
    with pytest.warns(RuntimeWarning, match="cannot be trusted: 1000 draws with 0 moves"):
        estimate_volume(A, draws=1000, moves=0, rng=0)
    with pytest.warns(RuntimeWarning, match="cannot be trusted: 20 draws"):
        Zonotope(skewed()["gaussian"]).volume("estimate", draws=20, rng=0)
    monkeypatch.setattr("zonodpp.zonotope.volume._MOST_DRAWS", 600)
    with pytest.warns(RuntimeWarning, match=r"600 draws .* rel_error=0\.001; pass .* draws"):
        Zonotope(skewed()["gaussian"], rng=0).volume("estimate", rel_error=0.001, rng=0)


def test_clustered_columns_are_annealed_until_no_warning_is_due():
    found = Zonotope(clustered(20, 200, 20, 0.1)).volume("estimate", rel_error=0.03, rng=0)
    assert found.relative < 0.03
    assert found.effective_share > 0.4


@pytest.mark.parametrize("options", [{"draws": 1}, {"rel_error": 0}, {"moves": -1}])
def test_options_are_checked(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        estimate_volume(np.eye(2, 3), **options)


# Independent bases


@pytest.mark.parametrize("name", ["paper", "gaussian", "duplicates", "zero columns", "sparse"])
def test_independent_bases_follow_the_law(name):
    target = VolumeSampling(matrices()[name][0])
    every, acceptance = independent_bases(target.A, 50_000, rng=5)
    bases = every[::5]  # nearly independent
    assert bases.shape == (10_000, target.r)
    assert 0.7 < acceptance <= 1
    assert_law(bases, target)


def test_the_law_needs_the_acceptance():
    A = skewed()["gaussian"]
    annealed = Annealed(A, 0, np.random.default_rng(0))
    proposals = np.sort(annealed.draw(20_000, np.random.default_rng(1))[0], axis=1)
    assert_not_law(proposals, VolumeSampling(A))


def test_bases_are_repeated_where_proposals_are_rejected():
    A = clustered(4, 24, 4, 0.03)
    bases, acceptance = independent_bases(A, 2000, rng=0)
    repeats = np.mean((bases[1:] == bases[:-1]).all(axis=1))
    assert repeats == pytest.approx(1 - acceptance, abs=0.03)
    again, _ = independent_bases(A, 2000, np.random.default_rng(0))
    assert np.array_equal(bases, again)
