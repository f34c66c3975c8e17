import functools
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse as sp
from law import THRESHOLD, p_value
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from zonodpp.apps import LandmarkSelector
from zonodpp.apps.landmarks import features as landmark_features
from zonodpp.apps.landmarks import search as landmark_search
from zonodpp.apps.landmarks.features import kernel_features, principal_axes
from zonodpp.apps.landmarks.rows import DistinctRows, merge, row_keys
from zonodpp.apps.landmarks.search import (
    FeatureResidual,
    _leading_features,
    random_pivots,
    search,
    search_rows,
)
from zonodpp.apps.landmarks.sweep import SweptKernel, is_well_conditioned
from zonodpp.datasets import mnist_ones


@pytest.fixture(scope="module", name="X")
def gaussian():
    return np.random.default_rng(0).normal(size=(200, 12))


ESTIMATORS = [
    LandmarkSelector(),
    LandmarkSelector(3, method="rp-cholesky"),
    LandmarkSelector(3, transformer="pca"),
    LandmarkSelector(3, transformer="kernel", n_draws=20),
]
CHECKS = [pair for estimator in ESTIMATORS for pair in estimator_checks_generator(estimator)]


@pytest.mark.filterwarnings("ignore:n_landmarks=")
@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=[f"{each}-{check.func.__name__}" for each, check in CHECKS]
)
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def simplex_law(X, weights, m):
    """All sets of m rows and their probabilities, from the volumes of simplices."""
    from itertools import combinations

    mean = np.average(X, axis=0, weights=weights)
    scatter = ((X - mean) * weights[:, None]).T @ (X - mean)
    leading = np.linalg.eigh(scatter)[1][:, ::-1][:, : m - 1]
    corners = np.column_stack([np.ones(len(X)), (X - mean) @ leading])
    left_out = ((X - mean) ** 2).sum(axis=1) - (corners[:, 1:] ** 2).sum(axis=1)
    bases = np.array(list(combinations(range(len(X)), m)))
    chance = np.linalg.det(corners[bases]) ** 2 * weights[bases].prod(axis=1)
    return bases, chance, left_out


def picks(X, weights, count, **settings):
    state = np.random.RandomState(5)
    return [
        np.sort(
            LandmarkSelector(3, transformer="pca", random_state=state, **settings)
            .fit(X, None, weights)
            .indices_
        )
        for _ in range(count)
    ]


def test_law_of_the_simplex():
    rng = np.random.default_rng(3)
    X, weights = rng.normal(size=(7, 5)), rng.uniform(0.2, 3, 7)
    bases, chance, left_out = simplex_law(X, weights, 3)
    draws = picks(X, weights, 300, downweight_outliers=False)
    assert p_value(draws, bases, chance / chance.sum()) > THRESHOLD

    noise = left_out / np.average(left_out, weights=weights) + 0.01
    damped = chance / noise[bases].prod(axis=1)
    damped /= damped.sum()
    assert p_value(picks(X, weights, 300), bases, damped) > THRESHOLD
    # Broken twins: outliers not damped, weights forgotten.
    assert p_value(draws, bases, damped) < THRESHOLD
    assert p_value(picks(X, None, 300), bases, damped) < THRESHOLD


@pytest.mark.parametrize(("n", "m"), [(20, 15), (20, 20), (3, 2), (2, 2), (1, 1)])
def test_more_landmarks_than_isomap_has_coordinates(n, m):
    rows = np.random.default_rng(0).normal(size=(n, 5))
    found = LandmarkSelector(m, transformer="isomap", random_state=0).fit(rows)
    assert len(set(found.indices_)) == m


@pytest.mark.parametrize("transformer", ["isomap", TruncatedSVD(3, random_state=0)])
def test_rounding_errors_are_no_outliers(X, transformer):
    """Three coordinates leave nothing out: with four landmarks all rows weigh the same."""
    for _ in range(2):
        selector = LandmarkSelector(4, transformer=transformer, random_state=0)
        plain = clone(selector).set_params(downweight_outliers=False)
        assert_array_equal(selector.fit(X).indices_, plain.fit(X).indices_)
        X, transformer = X[:, :3], "pca"


def test_picks_distinct_rows_and_keeps_them(X):
    selector = LandmarkSelector(7, transformer="pca", random_state=0).fit(X)
    assert len(set(selector.indices_.tolist())) == 7
    assert_array_equal(selector.landmarks_, X[selector.indices_])
    assert (np.diff(selector.landmarks_[:, 0]) > 0).all()
    assert selector.log_prob_ < 0


def test_the_best_of_many_draws_is_more_likely(X):
    drawn = LandmarkSelector(5, transformer="pca", random_state=1)
    found = [clone(drawn).set_params(n_draws=n).fit(X).log_prob_ for n in (1, 50, 2000)]
    assert found[0] < found[1] < found[2]


def test_the_same_rows_whatever_they_come_in(X):
    expected = LandmarkSelector(6, random_state=0).fit(X)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)])
    for same in (np.asfortranarray(X), X[::-1][::-1], X.tolist(), frame, sp.csr_array(X)):
        found = LandmarkSelector(6, random_state=0).fit(same)
        assert_array_equal(found.indices_, expected.indices_)
        assert_allclose(found.transform(same), expected.transform(X), atol=1e-9)
    sparse = LandmarkSelector(6, random_state=0).fit(sp.csc_matrix(X))
    assert sp.issparse(sparse.landmarks_)
    assert_array_equal(sparse.landmarks_.toarray(), expected.landmarks_)


@pytest.mark.parametrize("transformer", ["pca", "kernel"])
def test_weights_count_as_repetitions(X, transformer):
    counts = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = LandmarkSelector(6, transformer=transformer, random_state=3)
    weighted.fit(X, sample_weight=counts)
    order = np.random.default_rng(2).permutation(counts.sum())
    repeated = clone(weighted).fit(X.repeat(counts, axis=0)[order])
    assert_allclose(weighted.landmarks_, repeated.landmarks_)
    assert (counts[weighted.indices_] > 0).all()


def test_rows_of_no_weight_are_never_picked(X):
    weights = np.zeros(len(X))
    weights[:9] = 1.0
    for seed in range(10):
        selector = LandmarkSelector(5, random_state=seed).fit(X, sample_weight=weights)
        assert selector.indices_.max() < 9


def test_more_landmarks_than_features():
    line = np.random.default_rng(0).uniform(size=(400, 1))
    for transformer in ("pca", StandardScaler()):
        found = LandmarkSelector(40, transformer=transformer, random_state=0).fit(line)
        gaps = np.diff(np.sort(found.landmarks_.ravel()))
        assert gaps.max() < 0.08  # of forty uniform points the largest gap is about 0.1
    plane = np.random.default_rng(0).normal(size=(30, 2))
    assert_array_equal(np.sort(LandmarkSelector(30).fit(plane).indices_), np.arange(30))
    assert LandmarkSelector(1, random_state=0).fit(plane).indices_.shape == (1,)


def test_many_rows_are_extended_from_a_subset(monkeypatch):
    monkeypatch.setattr(landmark_features, "SUBSET", 400)
    Z = np.random.default_rng(0).normal(size=(1200, 3))
    found = [LandmarkSelector(30, random_state=0).fit(Z).indices_ for _ in range(2)]
    assert_array_equal(*found)
    rng = np.random.default_rng(0)
    features = kernel_features(Z, np.ones(1200), 8, lambda a, b: rbf_kernel(a, b, gamma=0.2), rng)
    exact = np.linalg.eigvalsh(rbf_kernel(Z, gamma=0.2))[-8:].sum()
    assert (features.values**2).sum() == pytest.approx(exact, rel=0.03)


def test_transformers(X):
    given = LandmarkSelector(4, transformer=TruncatedSVD(6, random_state=0), random_state=0).fit(X)
    assert given.transformer_.components_.shape == (6, 12)
    roll = np.random.default_rng(0).uniform(0, 3, size=(120, 1))
    curve = np.column_stack([np.cos(roll), np.sin(roll), roll])
    isomap = LandmarkSelector(3, transformer="isomap", random_state=0).fit(curve)
    assert isomap.transformer_.embedding_.shape == (120, 2)
    precomputed = LandmarkSelector(12, transformer="precomputed", random_state=0).fit(X)
    assert precomputed.indices_.shape == (12,)
    scaled = make_pipeline(StandardScaler(), TruncatedSVD(3, random_state=0))
    assert LandmarkSelector(4, transformer=scaled, random_state=0).fit(X).indices_.shape == (4,)


@pytest.mark.parametrize(
    ("kernel", "gamma", "parameters"),
    [
        ("rbf", 0.05, None),
        ("laplacian", "scale", None),
        ("cosine", "scale", None),
        ("polynomial", None, {"degree": 2}),
        (lambda x, y: float(np.exp(-np.abs(x - y).max())), "scale", None),
    ],
)
def test_transform_is_the_nystroem_map(X, kernel, gamma, parameters):
    selector = LandmarkSelector(
        8, transformer="kernel", kernel=kernel, gamma=gamma, kernel_params=parameters
    )
    Phi = selector.set_params(random_state=0).fit_transform(X)
    approximate = Phi @ Phi.T
    exact = selector._kernel(X, X)
    B = selector.indices_
    assert_allclose(approximate[np.ix_(B, B)], exact[np.ix_(B, B)], atol=1e-7)
    assert_allclose(approximate[B], exact[B], atol=1e-6)
    nystroem = exact[:, B] @ np.linalg.pinv(exact[np.ix_(B, B)]) @ exact[B]
    assert_allclose(approximate, nystroem, atol=1e-6)


def test_rounding_errors_of_few_landmarks_are_no_features():
    """A linear kernel of two columns has rank two, whatever the number of landmarks."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 2))
        for m in (4, 5, 6, 8):
            selector = LandmarkSelector(m, kernel="linear", method="rp-cholesky", random_state=0)
            singular = np.linalg.svd(selector.fit(X).normalization_, compute_uv=False)
            assert (singular > 1e-9 * singular[0]).sum() == 2
            far = 1e6 * rng.normal(size=(20, 2))
            features = selector.transform(far)
            assert_allclose(features @ features.T, far @ far.T, atol=1e-12 * np.square(far).max())


def test_gamma(X):
    scale = 1 / X.var(axis=0).sum()
    assert LandmarkSelector(2).fit(X).gamma_ == pytest.approx(scale)
    assert LandmarkSelector(2).fit(sp.csr_array(X)).gamma_ == pytest.approx(scale)
    one_at_an_offset = X + np.where(np.arange(12) == 1, 2.0**30, 0.0)
    assert LandmarkSelector(2).fit(one_at_an_offset).gamma_ == pytest.approx(scale)
    assert LandmarkSelector(2, gamma=0.3).fit(X).gamma_ == 0.3
    assert LandmarkSelector(2, gamma=None).fit(X).gamma_ is None


def test_in_a_pipeline(X):
    y = np.sin(X[:, 0])
    model = make_pipeline(StandardScaler(), LandmarkSelector(50, random_state=0), Ridge(1e-3))
    assert model.fit(X, y).score(X, y) > 0.5
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)])
    selector = LandmarkSelector(3, random_state=0).set_output(transform="pandas").fit(frame)
    found = selector.transform(frame)
    assert list(found.columns) == [f"landmarkselector{j}" for j in range(3)]
    assert list(selector.get_feature_names_out()) == list(found.columns)
    again = pickle.loads(pickle.dumps(selector))
    assert_array_equal(again.transform(frame), found)


def test_random_state(X):
    same = [
        LandmarkSelector(4, transformer="pca", random_state=7).fit(X).indices_ for _ in range(2)
    ]
    assert_array_equal(*same)
    state = np.random.RandomState(7)
    moving = [
        LandmarkSelector(4, transformer="pca", random_state=state).fit(X).indices_ for _ in range(3)
    ]
    assert_array_equal(moving[0], same[0])
    assert any((indices != moving[0]).any() for indices in moving)


def test_another_method(X):
    selector = LandmarkSelector(4, method="exchange", n_draws=50, random_state=0)
    assert selector.fit(X).log_prob_ < 0


def test_hard_numbers(X):
    units = X * np.logspace(0, -9, 12)  # the covariance alone would lose the last directions
    weights = np.ones(len(X))
    assert len(principal_axes(units, weights, 12).spread) == 12
    far = X + 1e7
    found = principal_axes(far, weights, 12)
    assert_allclose(found.spread, np.linalg.svd(X - X.mean(axis=0))[1], rtol=1e-6)
    assert LandmarkSelector(13, random_state=0).fit(units).indices_.shape == (13,)
    few = np.repeat(X[:6], 30, axis=0)  # six distinct rows
    assert_array_equal(np.sort(LandmarkSelector(6).fit(few).indices_), np.arange(0, 180, 30))


@pytest.mark.parametrize("n", [60, 900])
def test_wide_sparse_rows(n):
    wide = sp.random_array(
        (n, 3000), density=0.01, random_state=np.random.default_rng(0), format="csr"
    )
    dense = wide.toarray()
    weights = np.random.default_rng(0).uniform(0.5, 2, n)
    found = principal_axes(wide, weights, 5)
    mean = np.average(dense, axis=0, weights=weights)
    expected = np.linalg.svd((dense - mean) * np.sqrt(weights)[:, None], compute_uv=False)[:5]
    assert_allclose(found.spread, expected, rtol=1e-8)
    sparse = LandmarkSelector(6, random_state=0).fit(wide)
    assert_array_equal(sparse.indices_, LandmarkSelector(6, random_state=0).fit(dense).indices_)


def test_equal_rows_are_merged():
    rng = np.random.default_rng(0)
    grid = rng.integers(-2, 3, size=(3000, 3)).astype(float)
    grid[grid == 0] *= rng.choice([-1.0, 1.0], size=(grid == 0).sum())
    _, rows, weights = merge(grid, np.ones(3000))
    unique, counts = np.unique(grid + 0.0, axis=0, return_counts=True)
    assert len(rows) == len(unique)
    found = {tuple(row): count for row, count in zip(grid[rows] + 0.0, weights, strict=True)}
    assert found == dict(zip(map(tuple, unique), counts, strict=True))
    assert_array_equal(row_keys(grid), row_keys(sp.csr_array(grid)))


def test_fewer_distinct_rows_than_landmarks_warns():
    with pytest.warns(UserWarning, match="n_landmarks=10 but X has 2 distinct"):
        found = LandmarkSelector().fit([[0.0, 1.0], [1.0, 2.0], [0.0, 1.0]])
    assert_array_equal(np.sort(found.indices_), [0, 1])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_landmarks": 0}, ValueError, "n_landmarks must be at least 1"),
        ({"n_landmarks": 2.5}, TypeError, "n_landmarks must be a whole number"),
        ({"n_draws": 0}, ValueError, "n_draws must be at least 1"),
        ({"method": "guess"}, ValueError, "method must be one of"),
        ({"method": "search", "transformer": "pca"}, ValueError, "takes no transformer"),
        ({"transformer": "tsne"}, ValueError, "transformer must be one of"),
        ({"transformer": 3}, TypeError, "fit_transform"),
        ({"transformer": "precomputed"}, ValueError, "X has 12 columns"),
        ({"gamma": -1}, ValueError, "gamma must be a positive"),
        ({"gamma": "auto"}, ValueError, "gamma must be one of 'scale'"),
        ({"transformer": "kernel", "kernel": "linear", "n_landmarks": 20}, ValueError, "rank 12"),
    ],
)
def test_bad_settings(X, settings, error, message):
    with pytest.raises(error, match=message):
        LandmarkSelector(**settings).fit(X)


def test_bad_input(X):
    selector = LandmarkSelector(3)
    with pytest.raises(ValueError, match="must not be negative"):
        selector.fit(X, sample_weight=-np.ones(len(X)))
    with pytest.raises(ValueError, match="sample_weight"):
        selector.fit(X, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="NaN"):
        selector.fit(np.full((20, 3), np.nan))
    with pytest.raises(ValueError, match="features"):
        selector.fit(X).transform(X[:, :5])
    for large in (X * 1e200, -np.abs(X) * 1e160, sp.csr_array(X * 1e200)):
        with pytest.raises(ValueError, match=r"X has entries up to .* scale the columns first"):
            selector.fit(large)
    with pytest.raises(ValueError, match="squares of entries of X overflow; scale"):
        LandmarkSelector(3, transformer="pca").fit(lambda: iter([X * 1e200]))


def nystroem_error(K, B):
    left = K - K[:, B] @ np.linalg.pinv(K[np.ix_(B, B)]) @ K[B]
    return (left**2).sum()


@pytest.mark.parametrize("factor", [1, 4])
def test_nystroem_error_is_below_all_rivals(factor):
    images = mnist_ones().reshape(1000, -1)[:400]
    gamma = factor / (784 * images.var())
    K = rbf_kernel(images, gamma=gamma)

    def centroids(seed):
        found = KMeans(10, n_init=1, random_state=seed).fit(images)
        return found.transform(images).argmin(axis=0)

    def ours(seed, **settings):
        selector = LandmarkSelector(10, gamma=gamma, random_state=seed, **settings)
        return selector.fit(images).indices_

    ways = [
        ours,
        centroids,
        lambda seed: kmeans_plusplus(images, 10, random_state=seed)[1],
        lambda seed: np.random.default_rng(seed).choice(400, 10, replace=False),
        lambda seed: ours(seed, method="rp-cholesky"),
        lambda seed: ours(seed, transformer="kernel"),
    ]
    search, *rivals = [np.mean([nystroem_error(K, way(s)) for s in range(3)]) for way in ways]
    assert search < min(rivals)


def nystroem_trace(K, B):
    factor = np.linalg.cholesky(K[np.ix_(B, B)])
    return np.trace(K) - (np.linalg.solve(factor, K[B]) ** 2).sum()


def features_and_diagonal(seed=0):
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(60, 9))
    return Phi, (Phi**2).sum(axis=1)


def residuals(Phi, diagonal, m):
    """Return what is left of one kernel, by its features and by sweeps of its matrix."""
    least = 2e-12 * diagonal.max()
    K = Phi @ Phi.T
    K.flat[:: len(K) + 1] = diagonal
    return FeatureResidual(Phi, diagonal, m, least), SweptKernel(K, least)


def test_search_knows_the_trace_of_every_exchange():
    Phi, diagonal = features_and_diagonal()
    diagonal[20:40] *= 1.5  # of these items the features leave something out
    K = Phi @ Phi.T
    np.fill_diagonal(K, diagonal)
    for found in residuals(Phi, diagonal, 5):
        for item in [3, 14, 15, 9, 46]:
            found.put(item)
        found.take(15)
        kept = np.array([3, 14, 9, 46])
        assert found.trace() == pytest.approx(nystroem_trace(K, kept))
        others = np.setdiff1d(np.arange(60), kept)
        every = [nystroem_trace(K, np.append(kept, j)) for j in others]
        item = found.best()
        found.put(item)
        assert found.trace() == pytest.approx(min(every))
        assert item == others[np.argmin(every)]


def test_rounds_of_exchanges_do_no_harm():
    for seed in range(5):
        Phi, diagonal = features_and_diagonal(seed)
        for m in (6, 8):
            for greedy, exchanged in zip(
                residuals(Phi, diagonal, m), residuals(Phi, diagonal, m), strict=True
            ):
                search(greedy, m, 0)
                assert len(set(search(exchanged, m, 3))) == m
                assert exchanged.trace() <= greedy.trace() * (1 + 1e-9)


@pytest.mark.parametrize("m", [40, 118, 119])
def test_many_landmarks_are_found_without_solving_anew(m, monkeypatch):
    """Features and sweeps give one trace, and no operation is cubic in the number of landmarks."""
    X = np.random.default_rng(0).normal(size=(120, 10))
    K = rbf_kernel(X, gamma=0.1)
    swept = SweptKernel(K, 2e-12)
    by_features = FeatureResidual(
        _leading_features(K, 120, np.random.default_rng(0)), np.diagonal(K), m, 2e-12
    )
    expected = nystroem_trace(K, search(by_features, m, 3))
    calls = []
    factor = scipy.linalg.cho_factor
    monkeypatch.setattr(
        scipy.linalg, "cho_factor", lambda *a, **b: calls.append(1) or factor(*a, **b)
    )
    items = search(swept, m, 3)
    assert len(set(items)) == m
    assert nystroem_trace(K, items) == pytest.approx(expected, rel=1e-6)
    assert swept.trace() == pytest.approx(nystroem_trace(K, items), rel=1e-6)
    assert len(calls) <= 5


def test_search_is_better_than_random_pivots_on_a_wide_kernel():
    """Landmarks that leave a hundred-millionth of the trace are better than random pivots still."""
    Z = np.random.default_rng(0).normal(size=(300, 3))
    K = rbf_kernel(Z, gamma=0.02)

    def trace(method):
        selector = LandmarkSelector(60, gamma=0.02, method=method, random_state=0)
        return nystroem_trace(K, selector.fit(Z).indices_)

    assert trace("search") < trace("rp-cholesky") < 1e-7 * len(Z)


def test_search_keeps_the_digits_of_updated_numbers(monkeypatch):
    """The twin never computes its numbers anew: rounding errors become all that is left of them.

    The errors are compared, not the landmarks that follow from them: these depend on the processor.
    """
    Z = np.random.default_rng(0).normal(size=(300, 3))
    K = rbf_kernel(Z, gamma=0.02)
    Phi = _leading_features(K, 220, np.random.default_rng(0))

    def relative_error():
        found = FeatureResidual(Phi, np.diagonal(K), 60, 2e-12)
        items = search(found, 60, 0)
        updated = found.square.copy()
        found._compute()
        others = np.setdiff1d(np.arange(300), items)
        return np.max(np.abs(updated / found.square - 1)[others])

    assert relative_error() < 1e-6
    monkeypatch.setattr(landmark_search, "CANCELLED", 0.0)
    assert relative_error() > 1.0
    assert not is_well_conditioned(K)


def test_sweeps_keep_the_digits_of_updated_numbers():
    X = np.random.default_rng(0).normal(size=(150, 6))
    X[::2] = X[1::2] + 0.01  # the smallest eigenvalue is about 1e-5
    K = rbf_kernel(X, gamma=0.2)
    assert is_well_conditioned(K)
    found = SweptKernel(K, 2e-12)
    items = search(found, 140, 3)
    assert found.trace() == pytest.approx(nystroem_trace(K, items), rel=1e-6)
    updated = found.square[140:].copy()
    found._compute()
    assert_allclose(updated, found.square[140:], rtol=0.05)


def test_leading_features_are_near_the_best_of_their_rank(X):
    K = rbf_kernel(X, gamma=0.05)
    values = np.linalg.eigvalsh(K)
    Phi = _leading_features(K, 40, np.random.default_rng(0))
    left = ((K - Phi @ Phi.T) ** 2).sum()
    best = (values[:-40] ** 2).sum()
    assert best <= left * (1 + 1e-9) < 1.5 * best
    assert np.linalg.eigvalsh(K - Phi @ Phi.T)[0] > -1e-9  # a part of K is left


def test_a_sample_of_many_rows_is_searched(monkeypatch):
    monkeypatch.setattr(landmark_search, "_ALL", 300)
    Z = np.random.default_rng(0).normal(size=(1500, 4))
    K = rbf_kernel(Z, gamma=0.25)
    same = [LandmarkSelector(20, gamma=0.25, random_state=0).fit(Z).indices_ for _ in range(2)]
    assert_array_equal(*same)
    uniform = np.random.default_rng(1).choice(1500, 20, replace=False)
    assert nystroem_error(K, same[0]) < nystroem_error(K, uniform)


@pytest.mark.parametrize("method", ["search", "rp-cholesky"])
def test_a_kernel_that_is_used_up(X, method):
    selector = LandmarkSelector(20, method=method, kernel="linear", random_state=0).fit(X)
    assert len(set(selector.indices_.tolist())) == 20
    assert_allclose(selector.transform(X) @ selector.transform(X).T, X @ X.T, atol=1e-6)


def test_more_searches_are_not_worse():
    Z = np.random.default_rng(0).normal(size=(300, 3))
    rows = DistinctRows(Z, np.arange(300), np.ones(300))
    kernel = functools.partial(rbf_kernel, gamma=1.0)
    rng = np.random.default_rng(5)
    errors = [search_rows(rows, 5, kernel, rng)[1] for _ in range(8)]
    assert min(errors) <= errors[0]
    assert LandmarkSelector(5, n_draws=8, random_state=0).fit(Z).indices_.shape == (5,)


def test_law_of_random_pivots():
    rng = np.random.default_rng(3)
    Z, weights = rng.normal(size=(6, 2)), rng.uniform(0.3, 3, 6)
    K = rbf_kernel(Z, gamma=0.5) * np.sqrt(np.outer(weights, weights))
    left = np.array([np.diagonal(K - np.outer(K[:, i], K[i]) / K[i, i]) for i in range(6)])
    chance = np.diagonal(K)[:, None] / np.trace(K) * left / left.sum(axis=1, keepdims=True)
    pairs = np.array(list(itertools.combinations(range(6), 2)))
    law = chance[pairs[:, 0], pairs[:, 1]] + chance[pairs[:, 1], pairs[:, 0]]
    rows = DistinctRows(Z, np.arange(6), weights)
    kernel = functools.partial(rbf_kernel, gamma=0.5)
    draws = [np.sort(random_pivots(rows, 2, kernel, rng)[0]) for _ in range(600)]
    assert p_value(draws, pairs, law) > THRESHOLD
    forgotten = DistinctRows(Z, np.arange(6), np.ones(6))  # a broken twin: no weights
    draws = [np.sort(random_pivots(forgotten, 2, kernel, rng)[0]) for _ in range(600)]
    assert p_value(draws, pairs, law) < THRESHOLD


def test_a_far_row_of_weight_zero_changes_no_principal_direction():
    X = np.random.default_rng(0).normal(size=(2000, 5))
    weights = np.ones(2000)
    weights[7] = 0.0
    expected = principal_axes(np.delete(X, 7, axis=0), np.ones(1999), 3)
    X[7] = -1e12
    found = principal_axes(X, weights, 3)
    assert_allclose(found.spread, expected.spread)
    assert_allclose(np.abs(found.vectors), np.abs(expected.vectors), rtol=1e-6)


# Offsets and units.


WAYS = [
    {},
    {"method": "rp-cholesky"},
    {"transformer": "pca"},
    {"transformer": "kernel"},
    {"kernel": "laplacian", "gamma": None},
]


@pytest.mark.parametrize("settings", WAYS)
@pytest.mark.parametrize("d", [3, 12])  # distances from differences, and from products
def test_an_offset_changes_nothing(settings, d):
    rows = np.round(np.random.default_rng(0).normal(size=(150, d)) * 2**16) / 2**16
    expected = LandmarkSelector(5, random_state=0, **settings).fit(rows)
    features = expected.transform(rows)
    offsets = [2.0**27, -(2.0**30)]
    if not settings:
        offsets.append(1.7e9)  # Unix times
    for offset in offsets:
        found = LandmarkSelector(5, random_state=0, **settings).fit(rows + offset)
        assert_array_equal(found.indices_, expected.indices_)
        assert_allclose(found.transform(rows + offset), features, atol=1e-8)
    one = rows + np.where(np.arange(d) == 1, 2.0**30, 0.0)  # a column with an offset of its own
    found = LandmarkSelector(5, random_state=0, **settings).fit(one)
    assert_allclose(found.transform(one), features, atol=1e-8)


@pytest.mark.parametrize(
    "settings", [{}, WAYS[1], WAYS[2], WAYS[3], {"transformer": "isomap"}, {"kernel": "cosine"}]
)
@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-160, 2.0**-100, 1e149])
def test_landmarks_do_not_depend_on_the_unit(X, settings, size):
    expected = LandmarkSelector(5, random_state=0, **settings).fit(X)
    found = LandmarkSelector(5, random_state=0, **settings).fit(X * size)
    assert_array_equal(found.indices_, expected.indices_)
    assert_allclose(found.transform(X * size), expected.transform(X), atol=1e-8)


def test_a_linear_kernel_of_any_unit(X):
    expected = LandmarkSelector(5, kernel="linear", random_state=0).fit(X)
    for size in (1e-300, 1e-160, 1e149):
        found = LandmarkSelector(5, kernel="linear", random_state=0).fit(X * size)
        assert_array_equal(found.indices_, expected.indices_)
        assert_allclose(found.transform(X * size) / size, expected.transform(X), atol=1e-9)


def test_numbers_of_any_type(X):
    whole = np.round(X * 2**8)  # float16 has all of these
    expected = LandmarkSelector(5, random_state=0).fit(whole)
    times = 1_700_000_000_000_000_000 + whole.astype(np.int64) * 10**9  # nanoseconds
    for same in (whole.astype(np.float32), whole.astype(np.float16), whole.astype(int), times):
        found = LandmarkSelector(5, random_state=0).fit(same)
        assert_array_equal(found.indices_, expected.indices_)
        assert_allclose(found.transform(same), expected.transform(whole), atol=1e-6)


def test_sparse_rows_with_an_offset_in_one_column(X):
    rows = X.copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.5] = 0.0
    rows[:, 3] = 2.0**30 + np.arange(200) % 7
    dense = LandmarkSelector(6, gamma=0.1, random_state=0).fit(rows)
    sparse = LandmarkSelector(6, gamma=0.1, random_state=0).fit(sp.csr_array(rows))
    assert_array_equal(sparse.indices_, dense.indices_)
    assert_allclose(sparse.transform(sp.csr_array(rows)), dense.transform(rows), atol=1e-9)


def test_as_many_landmarks_as_rows_need_no_search(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(300, 4))
    monkeypatch.delattr(landmark_search, "search")
    for method in ("search", "rp-cholesky"):
        found = LandmarkSelector(300, method=method).fit(rows)
        assert_array_equal(np.sort(found.indices_), np.arange(300))
        assert_array_equal(rows[found.indices_], found.landmarks_)


def test_principal_directions_beside_a_column_of_times(X):
    """A column of large numbers has large rounding errors, which are none of the other columns."""
    rows = X[:, :3].copy()
    rows[:, 0] = 1.7e18 + np.round(X[:, 0] * 2**20) * 2.0**20
    found = principal_axes(rows, np.ones(200), 3)
    assert len(found.spread) == 3
    centred = rows - rows[0] - (rows - rows[0]).mean(axis=0)
    expected = np.linalg.svd(centred / [1e12, 1, 1], compute_uv=False)
    assert np.prod(found.spread) / 1e12 == pytest.approx(np.prod(expected), rel=1e-4)


def test_streams_under_an_offset_and_in_small_units():
    rows = np.round(np.random.default_rng(0).normal(size=(120, 4)) * 2**12) / 2**12

    def landmarks(X):
        batches = LandmarkSelector(4, transformer="pca", random_state=0)
        return batches.fit(lambda: iter([X[:50], X[50:]]))

    expected = landmarks(rows)
    for same in (rows + 2.0**27, rows * 2.0**-300, rows * 2.0**300):
        assert_array_equal(landmarks(same).indices_, expected.indices_)
        assert_allclose(landmarks(same).transform(same), expected.transform(rows), atol=1e-8)
    with pytest.raises(ValueError, match="vanish; multiply the columns"):
        landmarks(rows * 1e-160)
