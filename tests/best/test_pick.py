"""The best subset: every route is compared with the plain greedy loop in float64."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from zonodpp import find_map, pick
from zonodpp.best import coverage, greedy
from zonodpp.best.coverage import Coverage
from zonodpp.best.volume import VolumeOfFeatures
from zonodpp.features import similarity
from zonodpp.targets import DPP

TIE = 1e-10  # relative: gains that differ by less are equal in the plain loops


def first_of_best(gains, taken, scale=1.0):
    gains = np.where(np.isin(np.arange(len(gains)), taken), -np.inf, gains)
    return int(np.flatnonzero(gains >= gains.max() - TIE * scale)[0])


def plain_volume(L, k, shown=(), window=None):
    """Greedy picks by the definition: the Schur complement of each item, computed anew."""
    taken, gains = list(shown), []
    for _ in range(k):
        S = taken if window is None else taken[-window:]
        explained = np.linalg.pinv(L[np.ix_(S, S)], rcond=1e-12) @ L[S] if S else 0.0
        left = L.diagonal() - (np.sum(L[S] * explained, axis=0) if S else 0.0)
        taken.append(first_of_best(left, taken, L.diagonal().max()))
        gains.append(left[taken[-1]])
    return taken[len(shown) :], gains


def plain_farthest(S, q, k, shown=(), window=None):
    taken = list(shown)
    D = S.diagonal()[:, None] + S.diagonal() - 2 * S
    for _ in range(k):
        near = taken if window is None else taken[-window:]
        least = D[:, near].min(axis=1) if near else np.ones(len(S))
        taken.append(first_of_best(q**2 * least, taken, D.max()))
    return taken[len(shown) :]


def plain_coverage(L, k, shown=()):
    taken = list(shown)
    for _ in range(k):
        best = np.maximum(L[:, taken].max(axis=1, initial=0.0), 0.0)
        gains = np.maximum(L - best[:, None], 0.0).sum(axis=0)
        taken.append(first_of_best(gains, taken, np.abs(L).sum()))
    return taken[len(shown) :]


def cosines(X):
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    unit = X / np.where(lengths > 0, lengths, 1.0)
    return unit @ unit.T


def hard_features(seed, n, d):
    """Rows with duplicates, zero rows and a rank below the number of features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, max(1, d - 1))) @ rng.normal(size=(max(1, d - 1), d))
    copies = rng.integers(n, size=(2, n // 4))
    X[copies[0]] = X[copies[1]]
    X[rng.integers(n, size=2)] = 0.0
    return X


def relevance_with_zeros(seed, n):
    rng = np.random.default_rng([seed, 1])
    q = rng.uniform(0.2, 1.0, size=n)
    q[rng.integers(n, size=2)] = 0.0
    return q


@pytest.fixture(params=[2**20, 1], ids=["one level", "levels"])
def levels(request, monkeypatch):
    """Problems are small: let levels have few items, so that there are many of them."""
    monkeypatch.setattr(greedy, "_SMALL", request.param)
    monkeypatch.setattr(greedy, "_SHARE", 0.4)


problems = given(
    st.integers(0, 10**6), st.integers(6, 40), st.integers(1, 8), st.booleans(), st.booleans()
)


@problems
@settings(max_examples=40, deadline=None)
def test_volume_is_the_plain_loop(seed, n, d, with_relevance, linear):
    X = hard_features(seed, n, d)
    q = relevance_with_zeros(seed, n) if with_relevance else None
    S = X @ X.T if linear else cosines(X)
    L = S if q is None else S * np.outer(q, q)
    ridge = 0.1 * L.diagonal().mean()
    k = n if seed % 3 == 0 else n // 2
    if not ridge > 0:
        return
    expected, gains = plain_volume(L + ridge * np.eye(n), k)
    kernel = "linear" if linear else "cosine"
    for small in (2**20, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(greedy, "_SMALL", small)
            patch.setattr(greedy, "_SHARE", 0.4)
            found, ours = pick(X, k, relevance=q, kernel=kernel, return_gains=True)
            assert found.tolist() == expected
            assert_allclose(ours, gains, rtol=1e-8)
            found = pick(S, k, relevance=q, kernel="precomputed")
            assert found.tolist() == expected


@problems
@settings(max_examples=25, deadline=None)
def test_other_objectives_are_the_plain_loops(seed, n, d, with_relevance, precomputed):
    X = hard_features(seed, n, d)
    q = relevance_with_zeros(seed, n) if with_relevance else np.ones(n)
    S = cosines(X)
    L = S * np.outer(q, q)
    shown = [seed % n, (seed // 7) % n] if seed % 2 else []
    shown = list(dict.fromkeys(shown))
    k = n // 2
    how = {"relevance": q, "given": shown, "kernel": "precomputed" if precomputed else "cosine"}
    data = S if precomputed else X
    ridge = 0.1 * L.diagonal().mean()
    if not ridge > 0:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(greedy, "_SMALL", 1)
        patch.setattr(greedy, "_SHARE", 0.4)
        assert pick(data, k, **how).tolist() == plain_volume(L + ridge * np.eye(n), k, shown)[0]
        found = pick(data, k, objective="farthest", **how)
        assert found.tolist() == plain_farthest(S, q, k, shown)
        found = pick(data, k, objective="coverage", **how)
        assert found.tolist() == plain_coverage(L, k, shown)
        found = pick(data, k, objective="farthest", window=3, **how)
        assert found.tolist() == plain_farthest(S, q, k, shown, 3)
        found = pick(data, k, window=3, **how)
        assert found.tolist() == plain_volume(L + ridge * np.eye(n), k, shown, 3)[0]


class NeverRefreshed(VolumeOfFeatures):
    """The broken twin: bounds of the first level are not refreshed."""

    def lower(self, level):
        if level.items.index is None:
            level.seen = self.count
        else:
            super().lower(level)


def test_the_check_rejects_stale_gains(levels, monkeypatch):
    X = np.random.default_rng(3).normal(size=(60, 5))
    expected, _ = plain_volume(cosines(X) + 0.1 * np.eye(60), 20)
    assert pick(X, 20).tolist() == expected
    monkeypatch.setattr("zonodpp.best.volume.VolumeOfFeatures", NeverRefreshed)
    assert pick(X, 20).tolist() != expected


class NeverCovered(Coverage):
    """The broken twin: picks do not lower the gains of others."""

    def add(self, item):
        covered = self.covered
        super().add(item)
        self.covered = covered


@pytest.mark.parametrize("kept", [2**31, 0], ids=["kernel in memory", "kernel in parts"])
def test_coverage_in_parts(kept, monkeypatch):
    monkeypatch.setattr(coverage, "_KEPT", kept)
    monkeypatch.setattr(coverage, "_BLOCK", 150)
    monkeypatch.setattr(coverage, "_CACHED", 100)
    rng = np.random.default_rng(5)
    rows = np.repeat(rng.normal(size=(12, 7)), 4, axis=0) + 0.3 * rng.normal(size=(48, 7))
    expected = plain_coverage(cosines(rows), 30, [2, 7])
    assert pick(rows, 30, objective="coverage", given=[2, 7]).tolist() == expected
    single = pick(rows.astype(np.float32), 30, objective="coverage", given=[2, 7])
    assert single.tolist() == expected
    monkeypatch.setattr(coverage, "Coverage", NeverCovered)
    assert pick(rows, 30, objective="coverage", given=[2, 7]).tolist() != expected


def test_coverage_when_all_is_covered():
    rows = np.repeat(np.eye(3), 5, axis=0)
    found, gains = pick(rows, 15, objective="coverage", return_gains=True)
    assert found.tolist() == [0, 5, 10, 1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14]
    assert gains.tolist() == [5.0] * 3 + [0.0] * 12


def test_gains_multiply_to_the_determinant():
    X = np.random.default_rng(0).normal(size=(50, 8))
    q = np.random.default_rng(1).uniform(0, 5, size=50)
    picks, gains = pick(X, 20, relevance=q, ridge=0.3, given=[4, 5], return_gains=True)
    L = cosines(X) * np.outer(q, q) + 0.3 * np.eye(50)
    log_det = [np.linalg.slogdet(L[np.ix_(S, S)])[1] for S in ([4, 5, *picks], [4, 5])]
    assert_allclose(np.log(gains).sum(), log_det[0] - log_det[1], rtol=1e-10)


def test_the_beginning_is_the_shorter_list():
    X = np.random.default_rng(0).normal(size=(80, 6))
    for objective in ("volume", "farthest", "coverage"):
        long = pick(X, 30, objective=objective)
        assert_array_equal(long[:7], pick(X, 7, objective=objective))


def test_small_ridges_and_none_keep_their_digits():
    """Gains of near-duplicates are 1e-12 of the diagonal: differences alone would be noise."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(6, 10))
    near = np.repeat(base, 5, axis=0) + 1e-6 * rng.normal(size=(30, 10))
    near[:, -1] = 0.0
    exact = near @ near.T
    for ridge in (0.0, 1e-16):
        picks, gains = pick(near, 9, kernel="linear", ridge=ridge, return_gains=True)
        Q = np.linalg.qr(near[picks].T, mode="r")
        assert_allclose(gains, np.diagonal(Q) ** 2 + ridge, rtol=1e-3)
        assert gains[6] < 1e-9 * exact.max()
    with pytest.raises(ValueError, match="numerical rank 9"):
        pick(near, 10, kernel="linear", ridge=0)
    assert len(set(pick(near, 30, kernel="linear", ridge=1e-16).tolist())) == 30


def test_float32_gains_keep_their_digits():
    rng = np.random.default_rng(0)
    near = np.repeat(rng.normal(size=(6, 10)), 5, axis=0) + 1e-3 * rng.normal(size=(30, 10))
    near = near.astype(np.float32)
    picks, gains = pick(near, 10, kernel="linear", ridge=0, return_gains=True)
    assert gains.dtype == np.float32
    R = np.linalg.qr(near[picks].astype(float).T, mode="r")
    assert_allclose(gains, np.diagonal(R) ** 2, rtol=1e-3)
    assert gains[6] < 1e-4 * gains[0]


def test_as_find_map_without_exchanges():
    X = np.random.default_rng(5).normal(size=(300, 12))
    for k, ridge in ((8, 0.0), (40, 0.5)):
        best = find_map(DPP.from_features(X), k=k, ridge=ridge, swaps=False)
        assert_array_equal(np.sort(pick(X, k, kernel="linear", ridge=ridge)), best.subset)


def test_swaps_raise_the_determinant_and_stay_in_greedy_order():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4))
    S = X @ X.T
    for data, kernel in ((X, "linear"), (S, "precomputed")):
        greedy_gains = pick(data, 4, kernel=kernel, ridge=0.01, return_gains=True)[1]
        picks, gains = pick(data, 4, kernel=kernel, ridge=0.01, swaps=100, return_gains=True)
        assert np.log(gains).sum() > np.log(greedy_gains).sum() + 1e-6
        best = find_map(DPP.from_features(X), k=4, ridge=0.01)
        assert_array_equal(np.sort(picks), best.subset)
        order = pick(
            data[picks] if kernel == "linear" else S[np.ix_(picks, picks)],
            4,
            kernel=kernel,
            ridge=0.01,
        )
        assert_array_equal(order, np.arange(4))
    one = pick(X, 4, kernel="linear", ridge=0.01, swaps=1)
    assert len(np.setdiff1d(one, pick(X, 4, kernel="linear", ridge=0.01))) <= 1


@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_swaps_keep_what_is_given(ridge):
    X = np.random.default_rng(2).normal(size=(40, 6))
    shown = [3, 9]
    L = X @ X.T + ridge * np.eye(40)
    picks, gains = pick(
        X, 3, kernel="linear", ridge=ridge, given=shown, swaps=50, return_gains=True
    )
    assert not set(picks.tolist()) & set(shown)
    log_det = [np.linalg.slogdet(L[np.ix_(S, S)])[1] for S in ([*shown, *picks], shown)]
    assert_allclose(np.log(gains).sum(), log_det[0] - log_det[1], rtol=1e-8)
    for out in range(3):  # no exchange is better
        for item in set(range(40)) - set(shown) - set(picks.tolist()):
            S = [*shown, *np.delete(picks, out), item]
            assert np.linalg.slogdet(L[np.ix_(S, S)])[1] <= log_det[0] + 1e-6


def test_batches_are_single_calls():
    rng = np.random.default_rng(0)
    X, q = rng.normal(size=(3, 30, 5)), rng.uniform(size=(3, 30))
    shown = np.array([[1, 2], [3, -1], [4, 5]])
    single = [
        pick(X[b], 7, relevance=q[b], given=shown[b][shown[b] >= 0], return_gains=True)
        for b in range(3)
    ]
    found, gains = pick(X, 7, relevance=q, given=shown, return_gains=True)
    assert_array_equal(found, [picks for picks, _ in single])
    assert_array_equal(gains, [each for _, each in single])
    shared = pick(X[0], 7, relevance=q)
    assert_array_equal(shared, [pick(X[0], 7, relevance=each) for each in q])
    K = np.stack([cosines(each) for each in X])
    for objective in ("volume", "farthest", "coverage"):
        found = pick(K, 7, kernel="precomputed", objective=objective)
        expected = [pick(each, 7, kernel="precomputed", objective=objective) for each in K]
        assert_array_equal(found, expected)
    assert pick(X, 0).shape == (3, 0)


def test_kinds_of_input():
    X = np.random.default_rng(0).poisson(1.0, size=(40, 12)).astype(float)
    expected = pick(X, 9).tolist()
    frame = pd.DataFrame(X, index=[f"row {i}" for i in range(40)])
    for same in (frame, X.tolist(), X.astype(int), np.asfortranarray(X), sp.csr_array(X)):
        assert pick(same, 9).tolist() == expected
    assert pick(np.repeat(X, 2, axis=0)[::2], 9).tolist() == expected
    halves = [pick(X.astype(kind), 9, return_gains=True)[1].dtype for kind in ("f2", "f4", "f8")]
    assert halves == [np.float32, np.float32, np.float64]
    assert (
        pick(sp.csr_array(X), 9, kernel="linear").tolist() == pick(X, 9, kernel="linear").tolist()
    )


def test_kernels_by_name_and_function():
    X = np.random.default_rng(0).normal(size=(60, 3))
    for kernel in ("rbf", "laplacian"):
        expected = plain_volume(similarity(X, kernel=kernel) + 0.1 * np.eye(60), 20)[0]
        assert pick(X, 20, kernel=kernel).tolist() == expected
    gamma = 0.7
    K = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
    expected = pick(K, 20, kernel="precomputed").tolist()
    assert pick(X, 20, kernel="rbf", gamma=gamma).tolist() == expected

    def own(A, B):
        return np.exp(-gamma * cdist(A, B, "sqeuclidean"))

    assert pick(X, 20, kernel=own).tolist() == expected
    assert pick(X.astype(np.float32), 5, kernel="rbf", return_gains=True)[1].dtype == np.float32


def test_sizes_of_numbers_do_no_harm():
    X = np.random.default_rng(0).normal(size=(40, 5))
    expected = pick(X, 12).tolist()
    for scale in (1e-200, 1e200):
        assert pick(X * scale, 12).tolist() == expected
    scales = 10.0 ** np.random.default_rng(1).uniform(-300, 300, size=(40, 1))
    assert pick(X * scales, 12).tolist() == expected
    q = np.random.default_rng(2).uniform(size=40)
    assert pick(X, 12, relevance=1e250 * q).tolist() == pick(X, 12, relevance=q).tolist()
    small = X.astype(np.float32) * np.float32(1e-25)
    assert pick(small, 12).tolist() == pick(X.astype(np.float32), 12).tolist()


BAD = [
    ((np.ones((3, 2)), 4), {}, ValueError, "there are 3 items"),
    ((np.ones((3, 2)), 3), {"given": [0]}, ValueError, "2 items that are not given"),
    ((np.array([[1.0, np.nan], [0, 1]]), 1), {}, ValueError, "NaN or infinity .* first is row 0"),
    ((np.array([[1.0, np.inf], [0, 1]]), 1), {"kernel": "rbf"}, ValueError, "NaN or infinity"),
    ((np.ones((2, 2)) * 1j, 1), {}, TypeError, "real numbers"),
    ((np.ma.masked_array(np.ones((2, 2)), [[1, 0], [0, 0]]), 1), {}, ValueError, "masked"),
    (([["a", "b"], ["c", "d"]], 1), {}, TypeError, "real numbers"),
    (([np.ones((2, 2)), np.ones((3, 2))], 1), {}, TypeError, "one at a time"),
    ((np.ones(3), 1), {}, ValueError, "2 dimensions"),
    ((np.ones((0, 3)), 0), {}, ValueError, "not be empty"),
    ((np.ones((3, 2)), -1), {}, ValueError, "k must be at least 0"),
    ((np.ones((3, 2)), 1), {"relevance": [1, -1, 0]}, ValueError, "not negative"),
    ((np.ones((3, 2)), 1), {"relevance": [1, np.nan, 0]}, ValueError, "finite"),
    ((np.ones((3, 2)), 1), {"relevance": [0, 0, 0]}, ValueError, "zero for all"),
    ((np.ones((3, 2)), 1), {"relevance": [1, 2]}, ValueError, "one entry for each of the 3"),
    ((np.ones((2, 3, 2)), 1), {"relevance": np.ones((3, 3))}, ValueError, "each of the 2 problems"),
    ((np.ones((3, 2)), 1), {"given": [3]}, ValueError, "from 0 to 2"),
    ((np.ones((3, 2)), 1), {"given": [-1]}, ValueError, "from 0 to 2"),
    ((np.ones((3, 2)), 1), {"given": [0, 0]}, ValueError, "same item twice"),
    ((np.ones((3, 2)), 1), {"given": ["a"]}, TypeError, "item numbers"),
    ((np.ones((3, 2)), 1), {"given": [[0]]}, ValueError, "one row for each problem"),
    ((np.ones((3, 2)), 1), {"objective": "size"}, ValueError, "'volume', 'coverage', 'farthest'"),
    ((np.ones((3, 2)), 1), {"objective": "farthest", "ridge": 1}, ValueError, "leave it out"),
    ((np.ones((3, 2)), 1), {"objective": "coverage", "window": 1}, ValueError, "leave it out"),
    ((np.ones((3, 2)), 1), {"window": 2, "swaps": 1}, ValueError, "leave it out"),
    ((np.ones((3, 2)), 1), {"window": 0}, ValueError, "at least 1"),
    ((np.ones((3, 2)), 1), {"ridge": -1}, ValueError, "zero or more"),
    ((np.ones((3, 2)), 1), {"kernel": 3}, TypeError, "name or a function"),
    ((np.ones((3, 2)), 1), {"kernel": "precomputed"}, ValueError, "n x n, got 3 x 2"),
    ((np.full((2, 2), np.nan), 1), {"kernel": "precomputed"}, ValueError, r"first at \[0, 0\]"),
    ((-np.eye(2), 1), {"kernel": "precomputed"}, ValueError, "positive semidefinite"),
    (([[1.0, 2.0], [2.0, 1.0]], 1), {"kernel": "precomputed", "given": [0]}, ValueError, "semidef"),
    (([[1.0, 0.5], [0.0, 1.0]], 2), {"kernel": "precomputed"}, ValueError, "not symmetric"),
    ((np.full((3, 2), 1e200), 1), {"kernel": "linear"}, ValueError, "overflow"),
    ((np.ones((3, 2)), 2), {"ridge": 0}, ValueError, "numerical rank 1"),
    ((np.ones((3, 3)), 2), {"ridge": 0, "kernel": "precomputed"}, ValueError, "rank 1"),
    ((np.ones((3, 2)), 2), {"ridge": 0, "window": 2}, ValueError, "rank 1"),
    ((np.ones((3, 2)), 1), {"kernel": lambda X, Y: np.ones(3)}, ValueError, "the shape"),
]


@pytest.mark.parametrize(("arguments", "options", "error", "words"), BAD)
def test_bad_input_is_a_sentence(arguments, options, error, words):
    with pytest.raises(error, match=words) as found:
        pick(*arguments, **options)
    assert "\n" not in str(found.value)
