"""General DPPs and k-DPPs: probabilities and draws against enumeration, and hard kernels."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from operator import mul

import numpy as np
import one_chain
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse as sp
from law import determinant, p_value

from zonodpp import DPP, KDPP, Exact, ProjectionDPP, Samples, sample
from zonodpp.diagnostics import relative_error, total_variation
from zonodpp.features import check_psd, nearest_psd, pivoted_cholesky
from zonodpp.targets.kdpp import part_probabilities, symmetric_polynomials
from zonodpp.targets.spectral import poisson_binomial

DRAWS = 6000


def kernels():
    """Name -> L, small enough for all its subsets."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(6, 6))
    turn = np.linalg.qr(X)[0]
    features = rng.normal(size=(7, 3))
    twins = np.vstack([features[:5], features[0], -2 * features[1]])
    return {
        "full rank": 0.3 * X @ X.T,
        "low rank": features @ features.T,
        "twins": twins @ twins.T,
        "diagonal": np.diag([0.1, 1.0, 3.0, 0.0, 10.0]),
        "graded": (turn * np.logspace(-4, 4, 6)) @ turn.T,
        "nearly singular": np.ones((6, 6)) + 1e-9 * np.eye(6),
        "zero item": np.pad(X[:5] @ X[:5].T, ((0, 1), (0, 1))),
    }


def padded(sets, width):
    rows = np.full((len(sets), width), -1)
    for row, items in zip(rows, sets, strict=True):
        row[: len(items)] = items
    return rows


def law_of(L, k=None, include=(), exclude=()):
    """All sets, filled up with -1, and their probabilities from determinants alone."""
    n = len(L)
    sizes = range(n + 1) if k is None else [k]
    sets = [B for size in sizes for B in combinations(range(n), size)]
    dets = np.array([np.linalg.det(L[np.ix_(B, B)]) if B else 1.0 for B in sets])
    dets = np.where(dets > 1e-13 * np.abs(dets).max(), dets, 0.0)
    for j, B in enumerate(sets):
        if not set(include) <= set(B) or set(exclude) & set(B):
            dets[j] = 0.0
    return padded(sets, n), dets / dets.sum()


def law_of_correlation(K):
    """The same for a correlation kernel: P(B) = |det(K - I_C)|, where C is what B leaves out."""
    n = len(K)
    sets = [B for size in range(n + 1) for B in combinations(range(n), size)]
    absent = [np.diag([0.0 if i in B else 1.0 for i in range(n)]) for B in sets]
    return padded(sets, n), np.array([abs(np.linalg.det(K - C)) for C in absent])


def law_value(samples, law):
    chains, draws, width = samples.subsets.shape
    rows = np.full((chains * draws, law[0].shape[1]), -1)
    rows[:, :width] = samples.subsets.reshape(-1, width)
    return p_value(rows, *law)


def every_target():
    for name, L in kernels().items():
        yield f"DPP {name}", DPP(L=L), law_of(L)
        if name != "nearly singular":
            yield f"2-DPP {name}", KDPP(L, 2), law_of(L, 2)
    L = kernels()["low rank"]
    yield "DPP K", DPP(K=L @ np.linalg.inv(L + np.eye(7))), law_of(L)
    yield "3-DPP full", KDPP(L, 3), law_of(L, 3)  # k equal to the rank


CASES = {name: (target, law) for name, target, law in every_target()}


@pytest.mark.parametrize("name", CASES)
class TestAgainstEnumeration:
    def test_log_prob(self, name):
        target, (sets, probabilities) = CASES[name]
        np.testing.assert_allclose(np.exp(target.log_prob(sets)), probabilities, atol=2e-7)

    def test_inclusion_and_marginals(self, name):
        target, (sets, probabilities) = CASES[name]
        for S in ([0], [1, 2], [0, 2, 4], [4]):
            holds = np.array([set(S) <= set(B) for B in sets.tolist()])
            assert target.inclusion(S) == pytest.approx(probabilities[holds].sum(), abs=1e-6)
        each = [probabilities[(sets == i).any(axis=1)].sum() for i in range(target.n)]
        np.testing.assert_allclose(target.marginals(), each, atol=1e-6)
        size = (probabilities * (sets >= 0).sum(axis=1)).sum()
        assert target.expected_size == pytest.approx(size, abs=1e-6)

    @pytest.mark.parametrize("algorithm", ["rejection", "chain-rule"])
    def test_exact_draws(self, name, algorithm):
        target, law = CASES[name]
        assert law_value(sample(target, DRAWS, algorithm=algorithm, rng=2), law) > 1e-4

    def test_condition(self, name):
        target, (sets, probabilities) = CASES[name]
        rng = np.random.default_rng(6)
        for _ in range(4):
            B = sets[rng.choice(len(sets), p=probabilities)]
            B = rng.permutation(B[B >= 0])
            include = B[: rng.integers(0, len(B) + 1)].tolist()
            others = np.setdiff1d(np.arange(target.n), B)
            exclude = others[: rng.integers(0, len(others) // 2 + 1)].tolist()
            meets = np.array([set(include) <= set(B) for B in sets.tolist()])
            meets &= np.array([not set(exclude) & set(B) for B in sets.tolist()])
            expected = np.where(meets, probabilities, 0.0) / probabilities[meets].sum()
            if name.endswith("nearly singular") and len(include) > 1:
                continue  # such sets have probability 1e-9: digits are gone
            found = target.condition(include, exclude)
            np.testing.assert_allclose(np.exp(found.log_prob(sets)), expected, atol=1e-6)


class TestChains:
    @pytest.mark.parametrize("method", ["zonotope", "exchange"])
    @pytest.mark.parametrize("name", ["DPP full rank", "DPP twins", "DPP diagonal", "DPP K"])
    def test_law_of_dpp(self, name, method):
        target, law = CASES[name]
        samples = sample(target, DRAWS, method=method, thin=8, rng=3, track=[[0, 1]])
        assert law_value(samples, law) > 1e-4
        assert samples.tracked.mean() == pytest.approx(target.inclusion([0, 1]), abs=0.02)

    @pytest.mark.parametrize("method", ["zonotope", "exchange"])
    @pytest.mark.parametrize(
        "K",
        [
            np.diag([0.5, 0.2, 0.9, 0.7]),
            np.diag([0.5, 0.0, 1.0, 0.7, 0.3]),
            scipy.linalg.block_diag([[0.5, 0.3], [0.3, 0.5]], [[0.6, -0.4], [-0.4, 0.6]], 1.0),
        ],
        ids=["diagonal", "eigenvalues 0 and 1", "blocks"],
    )
    def test_items_that_do_not_interact(self, K, method):
        """No chain may get stuck where eigenvectors are items, or stay within blocks of items."""
        samples = sample(DPP(K=K), DRAWS, method=method, thin=8, rng=3)
        assert law_value(samples, law_of_correlation(K)) > 1e-4

    @pytest.mark.parametrize("method", ["zonotope", "exchange"])
    @pytest.mark.parametrize("L", [np.eye(5), kernels()["full rank"]], ids=["identity", "full"])
    def test_none_for_a_kdpp(self, L, method):
        with pytest.raises(ValueError, match=rf"method='{method}' .* KDPP.*method='exact'"):
            sample(KDPP(L, 2), 10, method=method, rng=0)

    def test_conditioned(self):
        L = kernels()["full rank"]
        law = law_of(L, include=[1], exclude=[4])
        for target in (DPP(L=L), KDPP(L, 3)):
            conditioned = target.condition([1], [4])
            law = law_of(L, getattr(target, "k", None), [1], [4])
            assert law_value(sample(conditioned, DRAWS, rng=0), law) > 1e-4
        conditioned = DPP(L=L).condition([1], [4])
        chain = sample(conditioned, DRAWS, method="exchange", thin=4, rng=0)
        assert law_value(chain, law_of(L, None, [1], [4])) > 1e-4

    def test_start(self):
        with pytest.raises(ValueError, match="fixed size"):
            sample(CASES["DPP K"][0], 1, method="exchange", init=[0, 1], rng=0)


class TestBrokenTwins:
    """Each differs from the sampler in one thing, and the same check sees it."""

    @staticmethod
    def draws(sampler, width):
        rng = np.random.default_rng(0)
        subsets = np.empty((1, DRAWS, width), np.int32)
        one_chain.advance(sampler, one_chain.start(sampler, rng), rng, subsets[0])
        return Samples(subsets, CASES["DPP full rank"][0], "exact")

    def test_wrong_eigenvector_weights(self):
        target, law = CASES["DPP full rank"]
        sampler = Exact().prepare(target)
        assert law_value(self.draws(sampler, sampler.width), law) > 1e-4
        wrong = np.minimum(1.0, np.exp(target.log_eigenvalues))  # lambda, not lambda/(1 + lambda)
        broken = replace(sampler, taking=wrong[:, None])
        assert law_value(self.draws(broken, target.r), law) < 1e-4

    def test_symmetric_polynomials_off_by_one(self):
        target, law = CASES["2-DPP full rank"]
        sampler = Exact().prepare(target)
        assert law_value(self.draws(sampler, 2), law) > 1e-4
        broken = replace(sampler, taking=np.roll(sampler.taking, 1, axis=0))
        assert law_value(self.draws(broken, 2), law) < 1e-4

    @pytest.mark.parametrize("method", ["zonotope", "exchange"])
    def test_dilation_with_columns_of_length_one(self, method):
        """The columns that stand for absent eigenvectors must have length sqrt(1 - mu)."""
        target, law = CASES["DPP full rank"]
        A = np.column_stack([np.sqrt(target.chances)[:, None] * target.vectors.T, np.eye(target.r)])
        bases = sample(ProjectionDPP(A), DRAWS, method=method, thin=8, rng=3).subsets
        broken = np.where(bases < target.n, bases, -1)
        assert law_value(Samples(broken, target, method), law) < 1e-4

    def test_no_rejection(self):
        """Items from the leverage scores alone are not diverse enough."""
        target, law = CASES["2-DPP full rank"]
        rng = np.random.default_rng(0)
        items = rng.choice(6, p=target.marginals() / 2, size=(3 * DRAWS, 2))
        items = np.sort(items[items[:, 0] != items[:, 1]], axis=1)[None].astype(np.int32)
        assert law_value(Samples(items, target, "exact"), law) < 1e-4


class TestSymmetricPolynomials:
    def test_against_coefficients(self):
        values = np.random.default_rng(0).exponential(size=12)
        expected = np.abs(np.poly(values))
        np.testing.assert_allclose(np.exp(symmetric_polynomials(np.log(values), 12)[0]), expected)

    def test_large(self):
        """n = 10,000 and k = 1,000: equal eigenvalues give binomial coefficients."""
        from scipy.special import gammaln

        logs = np.full(10_000, 300.0)
        found = symmetric_polynomials(logs, 1000)[0][1000]
        expected = gammaln(10_001) - gammaln(1001) - gammaln(9001) + 1000 * 300.0
        assert found == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(
            part_probabilities(symmetric_polynomials(logs, 1000)[1]), 0.1, rtol=1e-9
        )

    def test_wild_eigenvalues(self):
        logs = np.log(10) * np.linspace(-300, 300, 2000)
        chances = symmetric_polynomials(logs, 500)[1]
        assert np.isfinite(chances).all()
        probabilities = part_probabilities(chances)
        assert probabilities.sum() == pytest.approx(500, rel=1e-10)
        assert (np.diff(probabilities) >= -1e-12).all()

    def test_sizes(self):
        chances = np.random.default_rng(0).random(50)
        law = poisson_binomial(chances)
        assert law.sum() == pytest.approx(1.0)
        assert law @ np.arange(51) == pytest.approx(chances.sum())


class TestHardKernels:
    def test_eigenvalues_over_six_hundred_orders(self):
        values = np.logspace(-300, 300, 7)
        target = DPP(L=np.diag(values))
        np.testing.assert_allclose(np.sort(target.log_eigenvalues), np.log(values))
        drawn = sample(target, 200, rng=0)
        assert (drawn.marginals()[4:] == 1).all()
        assert (drawn.marginals()[:3] == 0).all()
        assert 0 < drawn.marginals()[3] < 1
        ordered = KDPP(np.diag(values), 3)
        assert sample(ordered, 20, rng=0).unique()[0].tolist() == [[4, 5, 6]]

    def test_features_of_all_sizes(self):
        rng = np.random.default_rng(0)
        Phi = rng.normal(size=(40, 6)) * np.logspace(-150, 150, 6)
        target = KDPP.from_features(Phi, 6)
        flat = ProjectionDPP.from_features(rng.permutation(Phi, axis=1) / np.logspace(-150, 150, 6))
        assert target.r == 6
        basis = sample(target, 1, rng=0).subsets[0, 0]
        assert np.isfinite(target.log_prob(basis))
        np.testing.assert_allclose(np.abs(target.vectors.T @ target.vectors), np.eye(6), atol=1e-12)
        assert flat.r == 6

    def test_low_rank_kernel_of_many_items(self):
        X = np.random.default_rng(1).normal(size=(3_000, 12)).astype(np.float32)
        target = KDPP(X @ X.T, 12)
        assert target.r == 12
        again = KDPP.from_features(X.astype(np.float64), 12)
        np.testing.assert_allclose(target.marginals(), again.marginals(), atol=1e-5)
        assert sample(target, 50, rng=0).sizes.tolist() == [[12] * 50]

    def test_many_items_many_eigenvectors(self):
        """Such draws ended in the error 'probabilities do not sum to 1', or in an underflow."""
        x = np.linspace(0, 1, 600)[:, None]
        L = np.exp(-((x - x.T) ** 2) / (2 * 0.01**2))
        target = KDPP(L, 40)
        drawn = sample(target, 20, rng=0)
        assert (np.diff(drawn.subsets, axis=2) > 0).all()
        assert np.isfinite(target.log_prob(drawn.subsets)).all()
        flat = KDPP(1e-200 * L, 40)  # its determinants underflow
        np.testing.assert_array_equal(sample(flat, 20, rng=0).subsets.shape, (1, 20, 40))
        assert np.isfinite(flat.log_prob(drawn.subsets)).all()

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_rank_of_rounded_kernels(self, dtype):
        X = np.random.default_rng(3).normal(size=(80, 5)).astype(dtype)
        assert DPP(L=X @ X.T).r == 5
        with pytest.raises(ValueError, match="numerical rank 5"):
            KDPP(X @ X.T, 6)
        with pytest.raises(ValueError, match="numerical rank 5"):
            KDPP.from_features(np.column_stack([X, X[:, 0] + X[:, 1]]), 6)

    def test_wide_and_sparse_features(self):
        Phi = np.random.default_rng(4).normal(size=(5, 40)) / 6
        law = law_of(Phi @ Phi.T)
        for features in (Phi, sp.csr_array(Phi), pd.DataFrame(Phi, index=list("abcde"))):
            target = DPP.from_features(features)
            np.testing.assert_allclose(np.exp(target.log_prob(law[0])), law[1], atol=1e-12)
        assert target.labels == list("abcde")

    def test_projection_kernel_is_a_dpp_of_fixed_size(self):
        X = np.linalg.qr(np.random.default_rng(5).normal(size=(8, 3)))[0]
        target = DPP(K=X @ X.T)
        projection = ProjectionDPP.from_features(X)
        assert sample(target, 100, rng=0).sizes.tolist() == [[3] * 100]
        sets = list(combinations(range(8), 3))
        np.testing.assert_allclose(target.log_prob(sets), projection.log_prob(sets), atol=1e-8)
        found = target.condition([1], [2]).log_prob(sets)
        expected = projection.condition([1], [2]).log_prob(sets)
        np.testing.assert_allclose(np.exp(found), np.exp(expected), atol=1e-10)


class TestErrors:
    def test_not_positive_semidefinite(self):
        L = np.array([[1.0, 2.0], [2.0, 1.0]])
        with pytest.raises(ValueError, match="smallest eigenvalue is -1"):
            DPP(L=L)
        with pytest.raises(ValueError, match="smallest eigenvalue"):
            KDPP(np.diag([1.0, -1e-3, 2.0]), 1)

    def test_shape_and_symmetry(self):
        with pytest.raises(ValueError, match="from_features"):
            DPP(L=np.ones((3, 2)))
        with pytest.raises(ValueError, match="not symmetric"):
            DPP(L=[[1.0, 0.5], [0.0, 1.0]])
        with pytest.raises(ValueError, match="NaN"):
            DPP(L=[[1.0, np.nan], [np.nan, 1.0]])
        with pytest.raises(TypeError, match="one kernel"):
            DPP()
        with pytest.raises(ValueError, match="every draw would be empty"):
            DPP(L=np.zeros((3, 3)))

    def test_correlation_kernel(self):
        with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5"):
            DPP(K=np.diag([0.5, 1.5]))

    def test_k(self):
        with pytest.raises(ValueError, match="numerical rank 3"):
            KDPP(np.eye(3), 4)
        with pytest.raises(ValueError, match="at least 1"):
            KDPP(np.eye(3), 0)

    def test_conditions(self):
        target = KDPP(kernels()["twins"], 2)
        with pytest.raises(ValueError, match="no draw has the items 0, 5"):
            target.condition([0, 5])
        with pytest.raises(ValueError, match="fewer items"):
            target.condition([0, 1, 2])
        with pytest.raises(ValueError, match="exclude fewer"):
            DPP(L=np.eye(2)).condition(exclude=[0, 1])

    def test_methods(self):
        with pytest.raises(ValueError, match="from_graph"):
            sample(DPP(L=np.eye(2)), 1, method="trees")
        with pytest.raises(ValueError, match="no starting point"):
            sample(DPP(L=np.eye(2)), 1, init=[0])
        with pytest.raises(AttributeError, match="immutable"):
            DPP(L=np.eye(2)).n = 3


@pytest.fixture(scope="module")
def samples():
    return sample(CASES["DPP full rank"][0], 2000, chains=2, rng=0, track=[[0], [5]])


class TestDownstream:
    def test_rows_are_filled_up(self, samples):
        inside = samples.subsets >= 0
        np.testing.assert_array_equal(samples.sizes, inside.sum(axis=2))
        assert (np.diff(inside.astype(int), axis=2) <= 0).all()
        assert (samples.subsets[~inside] == -1).all()
        np.testing.assert_array_equal(samples.tracked[:, :, 1], samples.contains([5]))

    def test_estimates(self, samples):
        np.testing.assert_allclose(samples.marginals(), samples.target.marginals(), atol=0.05)
        assert total_variation(samples) < 0.1
        assert relative_error(samples, [0])[:, -1].max() < 0.2
        assert samples.rhat([0]) < 1.05
        best = samples.best()
        every = samples.target.log_prob(samples.unique()[0])
        assert samples.target.log_prob(best) == every.max()
        assert samples.to_arviz(items=[0]).posterior["items"].shape == (2, 2000, 1)
        assert " to " in repr(samples)
        assert "exact" in samples._repr_html_()

    def test_thinned(self, samples):
        fewer = samples.thinned(1.0, rng=0)
        assert fewer.sizes.mean() == pytest.approx(1.0, abs=0.1)
        assert not fewer.whole

    @pytest.mark.parametrize("name", ["DPP K", "2-DPP twins"])
    def test_save_and_load(self, name, tmp_path):
        samples = sample(CASES[name][0], 30, rng=0)
        samples.save(tmp_path / "run")
        again = Samples.load(tmp_path / "run")
        np.testing.assert_array_equal(again.subsets, samples.subsets)
        assert repr(again) == repr(samples)
        np.testing.assert_array_equal(again.target.marginals(), samples.target.marginals())
        more = sample(again.target, 30, rng=0)
        np.testing.assert_array_equal(more.subsets, samples.subsets)

    def test_checkpoint_goes_on(self, tmp_path):
        target = CASES["DPP full rank"][0]
        sample(target, 50, rng=0, checkpoint=tmp_path / "c")
        longer = sample(target, 200, rng=0, checkpoint=tmp_path / "c")
        np.testing.assert_array_equal(longer.subsets, sample(target, 200, rng=0).subsets)

    def test_scaled(self):
        target = CASES["DPP graded"][0].scaled(2.5)
        assert target.expected_size == pytest.approx(2.5)
        with pytest.raises(ValueError, match="between 0 and the rank 6"):
            target.scaled(6)


def test_marginals_are_at_most_one():
    for seed in range(20):
        Phi = np.random.default_rng(seed).normal(size=(5, 5))
        assert KDPP.from_features(Phi, 5).marginals().max() <= 1.0


def test_small_eigenvalues_of_a_large_float32_kernel_count():
    target = DPP(K=0.01 * np.eye(2000, dtype=np.float32))
    assert target.expected_size == pytest.approx(20, rel=1e-5)


def test_log_prob_reads_sets_and_says_how_to_fill_up():
    target = DPP(L=np.eye(3))
    assert target.log_prob({0, 1}) == target.log_prob([0, 1])
    assert KDPP(np.eye(3), 2).log_prob({0, 1}) == pytest.approx(np.log(1 / 3))
    with pytest.raises(ValueError, match="fill smaller sets up with -1"):
        target.log_prob([[0, 1], [2]])


@pytest.mark.parametrize("method", ["exact", "exchange", "zonotope"])
def test_only_items_of_the_target_are_tracked(method):
    for target in (DPP(L=np.eye(3)), KDPP(np.eye(3), 2)):
        with pytest.raises(ValueError, match="from 0 to 2"):
            sample(target, 10, method=method, track=[[4]])


def exact_weights(Phi, sets):
    """Return det (Phi Phi')_B of sets in rational arithmetic, divided by their sum."""
    rows = [[Fraction(value) for value in row] for row in Phi.tolist()]

    def weight(B):
        minors = combinations(range(Phi.shape[1]), len(B))
        return sum(determinant([[rows[i][j] for j in J] for i in B]) ** 2 for J in minors)

    weights = [weight(B) for B in sets]
    return np.array([float(w / sum(weights)) for w in weights])


@pytest.mark.parametrize("orders", [10, 60, 140])
def test_items_of_very_different_size_keep_every_eigenvalue(orders):
    """L = D C D with C well conditioned: det L = det C * prod D^2, whatever the order of items."""
    rng = np.random.default_rng(orders)
    X = rng.normal(size=(40, 60))
    C = X @ X.T / 60
    logs = rng.uniform(-orders, orders, 40) * np.log(10)
    sizes = np.exp(logs)
    target = DPP(L=C * sizes * sizes[:, None])
    assert target.r == 40
    expected = np.linalg.slogdet(C)[1] + 2 * logs.sum()
    assert target.log_eigenvalues.sum() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("orders", [0, 40, 60, 200])
class TestEigenvaluesFarApart:
    """Eigenvalues of L over many orders of magnitude, in no special position."""

    @staticmethod
    def features(orders):
        rng = np.random.default_rng(orders)
        return rng.normal(size=(6, 5)) * 10.0 ** np.linspace(orders / 4, -orders / 4, 5)

    def test_kdpp(self, orders):
        Phi = self.features(orders)
        target, sets = KDPP.from_features(Phi, 3), list(combinations(range(6), 3))
        expected = exact_weights(Phi, sets)
        np.testing.assert_allclose(np.exp(target.log_prob(sets)), expected, atol=1e-12)
        for size in range(1, 4):
            parts = list(combinations(range(6), size))
            sums = [expected[[set(S) <= set(B) for B in sets]].sum() for S in parts]
            np.testing.assert_allclose(target.inclusion(parts), sums, atol=1e-12)
        assert target.inclusion([0, 1, 2, 3]) == 0.0

    @pytest.mark.parametrize(("include", "exclude"), [([0], []), ([0, 1], []), ([2], [3])])
    def test_condition(self, orders, include, exclude):
        Phi = self.features(orders)
        for k in (None, 3):
            sizes = range(7) if k is None else [k]
            sets = [B for size in sizes for B in combinations(range(6), size)]
            weights = exact_weights(Phi, sets)
            meets = [set(include) <= set(B) and not set(exclude) & set(B) for B in sets]
            expected = np.where(meets, weights, 0.0) / weights[meets].sum()
            target = DPP.from_features(Phi) if k is None else KDPP.from_features(Phi, k)
            found = target.condition(include, exclude)
            np.testing.assert_allclose(np.exp(found.log_prob(padded(sets, 6))), expected, atol=1e-9)


def low_rank_kernels(n, rng):
    """Yield kernels of n items, of rank below n, and their ranks."""
    r = int(rng.integers(1, n))
    X = rng.normal(size=(n, r))
    Q = np.linalg.qr(X)[0]
    yield X @ X.T, r
    yield Q @ Q.T, r
    whole = rng.integers(-2, 3, size=(n, r)).astype(float)
    if whole.any():
        yield whole @ whole.T, np.linalg.matrix_rank(whole)
    points = 2 * rng.normal(size=(r, 2))[[*range(r), *rng.integers(r, size=n - r)]]
    yield np.exp(-5 * ((points[:, None] - points) ** 2).sum(axis=2)), r
    for orders in (2, 12):  # items of different size
        sizes = 10 ** rng.uniform(-orders, orders, n)
        yield Q @ Q.T * sizes * sizes[:, None], r


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 8, 10, 20])
def test_rank_of_small_kernels(n):
    rng = np.random.default_rng(n)
    for _ in range(40):
        for L, rank in low_rank_kernels(n, rng):
            L = (L + L.T) / 2
            assert DPP(L=L).r == rank
            check_psd(L)
            with pytest.raises(ValueError, match="rank"):
                KDPP(L, rank + 1)


@pytest.mark.parametrize("k", [None, 2])
def test_law_of_a_small_laplacian(k):
    """Its eigenvalue zero is computed as several units of rounding."""
    L = 3.0 * np.eye(3) - 1.0
    target, law = (DPP(L=L) if k is None else KDPP(L, k)), law_of(L, k)
    assert target.r == 2
    np.testing.assert_allclose(np.exp(target.log_prob(law[0])), law[1], atol=1e-12)
    assert law_value(sample(target, DRAWS, rng=0), law) > 1e-4


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_rank_of_more_features_than_items(n):
    rng = np.random.default_rng(n)
    for r in range(1, n):
        X = rng.normal(size=(n, r)) @ rng.normal(size=(r, n + 2))
        target = DPP.from_features(X)
        assert target.r == r
        np.testing.assert_allclose(target.phi @ target.phi.T, X @ X.T, atol=1e-12 * n**2)


@pytest.mark.parametrize("how", ["clip", "shift"])
@pytest.mark.parametrize("n", [1, 3, 4, 12])
def test_repaired_kernels_pass_the_check(n, how):
    rng = np.random.default_rng(n)
    for shift in (0.0, -1.0, -1e8):
        for _ in range(100):
            M = rng.normal(size=(n, n)) + shift * np.eye(n)
            repaired = nearest_psd(M + M.T, how=how)
            check_psd(repaired)
            if repaired.any():
                DPP(L=repaired)


@pytest.mark.parametrize("shift", [1e-14, 1e-10, 1e-6])
def test_one_rule_for_negative_eigenvalues(shift):
    X = np.random.default_rng(0).normal(size=(100, 50))
    K = X @ X.T - shift * np.eye(100)
    if shift < 1e-12:
        check_psd(K)
        assert DPP(L=K).r == 50
        return
    with pytest.raises(ValueError, match="K is not positive semidefinite"):
        check_psd(K)
    with pytest.raises(ValueError, match="L is not positive semidefinite"):
        DPP(L=K)


def test_one_tolerance_for_asymmetric_kernels():
    """An asymmetry that one reader of kernels accepts as noise is accepted by all."""
    X = np.random.default_rng(0).normal(size=(100, 5))
    L, projection = X @ X.T, X @ np.linalg.pinv(X)
    readers = {
        "check": (check_psd, L),
        "repair": (nearest_psd, L),
        "L": (DPP, L),
        "K": (lambda K: DPP(K=K), 0.5 * projection),
        "k": (lambda K: KDPP(K, 3), L),
        "projection": (ProjectionDPP.from_kernel, projection),
        "Cholesky": (lambda K: pivoted_cholesky(K, 3, kernel="precomputed"), L),
    }
    for read, K in readers.values():
        noisy = K.copy()
        noisy[0, 1] += 1e-9 * np.abs(K).max()
        read(noisy)
        noisy[0, 1] += 1e-5 * np.abs(K).max()
        with pytest.raises(ValueError, match="not symmetric"):
            read(noisy)


@pytest.mark.parametrize("error", [1e-12, 1e-9, 3e-7])
def test_one_tolerance_for_eigenvalues_that_are_probabilities(error):
    """A projection with errors is one for `DPP` and `from_kernel` alike, and the law is right."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(30, 3)))[0]
    other, own = np.linalg.qr(np.column_stack([Q, rng.normal(size=30)]))[0][:, 3], Q[:, 0]
    K = Q @ Q.T + error * (np.outer(own, own) - np.outer(other, other))
    for target in (DPP(K=K), ProjectionDPP.from_kernel(K)):
        assert target.r == 3
        np.testing.assert_allclose(target.kernel(), Q @ Q.T, atol=2 * error + 1e-12)
    assert sample(DPP(K=K), 100, rng=0).sizes.tolist() == [[3] * 100]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_eigenvalues_that_are_no_probabilities_are_shown_with_enough_digits(sign):
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 4)))[0]
    K = (Q * np.array([1.0 + 3e-6, 0.5, 0.25, 1.0])) @ Q.T if sign > 0 else -3e-6 * Q @ Q.T
    with pytest.raises(ValueError, match="got 1.000003;" if sign > 0 else "got -3e-06;"):
        DPP(K=K)
    with pytest.raises(ValueError, match="not an orthogonal projection"):
        ProjectionDPP.from_kernel(K)


def test_asymmetry_of_a_large_projection_is_noise_for_all_readers():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(600, 180)))[0]
    K = Q @ Q.T
    noisy = K + rng.uniform(-1.0, 1.0, size=K.shape) * 2e-7 * np.abs(K).max()
    check_psd(noisy)
    for target in (DPP(K=noisy), ProjectionDPP.from_kernel(noisy)):
        np.testing.assert_allclose(target.marginals(), np.diagonal(K), atol=1e-5)
        assert target.r == 180


@pytest.mark.parametrize("size", [1e3, 1e9, 1e15, 1e17, 1e100])
def test_features_with_rows_of_very_different_length(size):
    Phi = np.random.default_rng(0).normal(size=(5, 3))
    Phi[0] *= size
    rows = [[Fraction(float(x)) for x in row] for row in Phi]
    weights = {(): Fraction(1)}
    for k in (1, 2, 3):
        for S in combinations(range(5), k):
            gram = [[sum(map(mul, rows[i], rows[j])) for j in S] for i in S]
            weights[S] = determinant(gram)
    total = sum(weights.values())
    expected = [float(sum(w for S, w in weights.items() if i in S) / total) for i in range(5)]
    np.testing.assert_allclose(DPP.from_features(Phi).marginals(), expected, rtol=1e-11)
    assert KDPP.from_features(Phi, 3).r == 3


def test_features_of_graded_rows_keep_their_rank():
    Phi = np.random.default_rng(0).normal(size=(4, 4)) * 10.0 ** (-6 * np.arange(4))[:, None]
    assert KDPP.from_features(Phi, 4).log_prob([0, 1, 2, 3]) == pytest.approx(0.0, abs=1e-9)
