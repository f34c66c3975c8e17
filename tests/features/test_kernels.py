"""Feature builders that approximate a kernel: exact where they can be, closer with more columns."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_approximation import Nystroem

from zonodpp import DPP, ProjectionDPP
from zonodpp.features import (
    check_psd,
    median_gamma,
    pivoted_cholesky,
    rp_cholesky,
    similarity,
)

X = np.random.default_rng(0).normal(size=(150, 3))
K = similarity(X, gamma=0.3)
BUILDERS = {
    "pivoted_cholesky": lambda m: pivoted_cholesky(X, m, gamma=0.3),
    "pivoted_cholesky, precomputed": lambda m: pivoted_cholesky(K, m, kernel="precomputed"),
    "rp_cholesky": lambda m: rp_cholesky(X, m, gamma=0.3, rng=1),
    "rp_cholesky, function": lambda m: rp_cholesky(X, m, kernel=RBF(0.6**-0.5), rng=1),
}
PRECOMPUTED = [
    lambda K: pivoted_cholesky(K, kernel="precomputed"),
    lambda K: rp_cholesky(K, len(K), kernel="precomputed", rng=1),
]


def error(Phi, K):
    """Sum of absolute eigenvalues of the difference, as a share of the trace."""
    return float(np.abs(np.linalg.eigvalsh(Phi @ Phi.T - K)).sum() / np.trace(K))


# Approximation.


@pytest.mark.parametrize("name", BUILDERS)
def test_more_columns_come_closer(name):
    errors = [error(BUILDERS[name](m), K) for m in (5, 20, 60)]
    assert errors[0] > 1.5 * errors[1] > 2 * errors[2]
    assert errors[2] < 0.03


def best_error(kernel, rank):
    """The error of the leading eigenvectors: no approximation of this rank does better."""
    return np.linalg.eigvalsh(kernel)[:-rank].sum() / np.trace(kernel)


@pytest.mark.parametrize("name", BUILDERS)
def test_no_approximation_beats_the_principal_one(name):
    assert error(BUILDERS[name](20), K) >= best_error(K, 20) - 1e-12


@pytest.mark.parametrize("builder", [pivoted_cholesky, rp_cholesky])
def test_a_part_of_the_kernel_is_what_is_left(builder):
    left = K - (Phi := builder(K, 30, kernel="precomputed")) @ Phi.T
    assert np.linalg.eigvalsh(left)[0] > -1e-12
    assert (np.abs(np.diagonal(left)) < 1e-14).sum() >= 30


def nystrom(data, rank, seed):
    return Nystroem(gamma=0.05, n_components=rank, random_state=seed).fit_transform(data)


def test_random_pivots_are_near_the_best_rank():
    clusters = np.repeat(np.random.default_rng(1).normal(size=(15, 2)) * 20, 10, axis=0)
    data = clusters + np.random.default_rng(2).normal(size=clusters.shape)
    kernel = similarity(data, gamma=0.05)
    best = best_error(kernel, 40)
    drawn = np.mean([error(rp_cholesky(data, 40, gamma=0.05, rng=k), kernel) for k in range(5)])
    uniform = np.mean([error(nystrom(data, 40, k), kernel) for k in range(5)])
    assert best < drawn < 4 * best
    assert drawn < uniform


@pytest.mark.parametrize("builder", [pivoted_cholesky, rp_cholesky])
def test_exact_at_full_rank(builder):
    small = similarity(X[:40], gamma=5.0)
    Phi = builder(small, 40, kernel="precomputed", tol=0.0)
    assert Phi.shape == (40, 40)
    assert Phi @ Phi.T == pytest.approx(small, abs=1e-13)


@pytest.mark.parametrize("builder", [pivoted_cholesky, rp_cholesky])
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_low_rank_is_found_whatever_the_scale(builder, scale):
    root = np.random.default_rng(3).normal(size=(80, 6)) * np.sqrt(scale)
    Phi = builder(root @ root.T, 40, kernel="precomputed")
    assert Phi.shape == (80, 6)
    assert Phi @ Phi.T == pytest.approx(root @ root.T, rel=1e-9, abs=1e-12 * scale)


def test_items_of_very_different_size():
    sizes = 10.0 ** np.linspace(-150, 150, 12)
    unit = similarity(X[:12], gamma=1.0)
    wild = unit * sizes * sizes[:, None]
    Phi = pivoted_cholesky(wild, kernel="precomputed", tol=0.0)
    assert Phi.shape == (12, 12)
    assert (Phi / sizes[:, None]) @ (Phi / sizes[:, None]).T == pytest.approx(unit, abs=1e-12)
    assert pivoted_cholesky(wild, kernel="precomputed").shape == (12, 1)


def test_nearly_singular_kernels_stop_at_what_is_there():
    close = np.repeat(X[:10], 5, axis=0) + 1e-9 * np.random.default_rng(0).normal(size=(50, 3))
    Phi = pivoted_cholesky(close, gamma=0.3)
    assert Phi.shape[1] <= 11
    assert Phi @ Phi.T == pytest.approx(similarity(close, gamma=0.3), abs=1e-8)
    twice = np.repeat(X[:10], 2, axis=0)
    assert pivoted_cholesky(twice, gamma=5.0, tol=0.0).shape == (20, 10)


def test_zero_items_get_zero_rows():
    kernel = np.zeros((4, 4))
    kernel[:2, :2] = [[2.0, 1.0], [1.0, 2.0]]
    Phi = pivoted_cholesky(kernel, kernel="precomputed")
    assert not Phi[2:].any()
    assert Phi @ Phi.T == pytest.approx(kernel)


@pytest.mark.parametrize("entry", [-1e-17, -3e-15, -1e-13])
@pytest.mark.parametrize("read", [check_psd, lambda K: DPP(L=K), *PRECOMPUTED])
def test_one_rule_for_negative_diagonal_entries(read, entry):
    few = np.append(X[:5, :2], np.zeros((1, 2)), axis=0)
    kernel = few @ few.T
    kernel[5, 5] = entry * np.linalg.norm(kernel, 2)
    if entry > -1e-14:
        read(kernel)
    else:
        with pytest.raises(ValueError, match="not positive semidefinite"):
            read(kernel)


@pytest.mark.parametrize("read", [check_psd, lambda K: DPP(L=K), *PRECOMPUTED])
@pytest.mark.parametrize("off", [0.5, 1e-3])
def test_entries_beside_a_zero_of_the_diagonal_are_refused(read, off):
    for kernel in ([[1.0, off], [off, 0.0]], [[1.0, off, 0.0], [off, 0.0, 0.0], [0.0, 0.0, 2.0]]):
        with pytest.raises(ValueError, match="not positive semidefinite"):
            read(1e10 * np.array(kernel))


def test_tolerance_bounds_the_trace():
    for tol in (0.5, 0.1, 1e-3):
        Phi = pivoted_cholesky(K, kernel="precomputed", tol=tol)
        left = 1 - (Phi**2).sum() / np.trace(K)
        assert left <= tol
        assert 1 - (Phi[:, :-1] ** 2).sum() / np.trace(K) > tol


def test_many_columns_without_a_rank():
    eye = np.eye(200)
    assert pivoted_cholesky(eye, kernel="precomputed") @ eye[:, :1] == pytest.approx(eye[:, :1])


# What comes in, and where it goes.


def test_float32():
    Phi = pivoted_cholesky(X.astype(np.float32), 20, gamma=0.3)
    assert Phi.dtype == np.float64
    assert Phi == pytest.approx(pivoted_cholesky(X.astype(np.float32).astype(float), 20, gamma=0.3))
    low = X @ X.T
    assert pivoted_cholesky(low.astype(np.float32), kernel="precomputed", tol=0.0).shape[1] == 3
    rough = pivoted_cholesky(X, kernel=lambda a, b: (a @ b.T).astype(np.float32), tol=0.0)
    assert rough.shape[1] == 3


@pytest.mark.parametrize("kernel", ["linear", "cosine", "rbf", "laplacian", "polynomial"])
def test_frames_and_sparse_rows_agree_with_arrays(kernel):
    rows = np.maximum(X, 0)
    expected = pivoted_cholesky(rows, 10, kernel=kernel, gamma=0.5)
    for given in (pd.DataFrame(rows), sp.csr_array(rows), sp.coo_matrix(rows)):
        Phi = pivoted_cholesky(given, 10, kernel=kernel, gamma=0.5)
        assert Phi @ Phi.T == pytest.approx(expected @ expected.T, abs=1e-6)


def test_functions_and_names_agree():
    by_name = rp_cholesky(X, 10, gamma=0.3, rng=5)
    by_function = rp_cholesky(X, 10, kernel=lambda a, b: similarity(a, b, gamma=0.3), rng=5)
    assert by_name == pytest.approx(by_function)


def test_seeds():
    first = rp_cholesky(X, 10, rng=3)
    assert (first == rp_cholesky(X, 10, rng=np.random.default_rng(3))).all()
    assert (first != rp_cholesky(X, 10, rng=4)).any()


@pytest.mark.parametrize("name", BUILDERS)
def test_features_make_targets(name):
    Phi = BUILDERS[name](6)
    assert ProjectionDPP.from_features(Phi).marginals().sum() == pytest.approx(6)
    exact = DPP(L=Phi @ Phi.T).marginals()
    assert DPP.from_features(Phi).marginals() == pytest.approx(exact)


# Bad input.


INDEFINITE = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 5.0]])


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: pivoted_cholesky(INDEFINITE, kernel="precomputed"), ValueError, "value is -1"),
        (lambda: pivoted_cholesky(-np.eye(2), kernel="precomputed"), ValueError, "value is -1"),
        (lambda: pivoted_cholesky(X, kernel="precomputed"), ValueError, "n x n"),
        (lambda: pivoted_cholesky(np.triu(K), kernel="precomputed"), ValueError, "not symmetric"),
        (lambda: pivoted_cholesky(np.zeros((3, 3)), kernel="precomputed"), ValueError, "is zero"),
        (lambda: pivoted_cholesky(X, 0), ValueError, "at least 1"),
        (lambda: pivoted_cholesky(X, gamma=-1.0), ValueError, "positive"),
        (lambda: pivoted_cholesky(X, kernel="rfb"), ValueError, "no kernel is named 'rfb'"),
        (lambda: pivoted_cholesky(X, kernel=3), TypeError, "name or a function"),
        (lambda: pivoted_cholesky(X, kernel=lambda a, b: a), ValueError, "one entry for each"),
        (lambda: pivoted_cholesky([[np.nan]]), ValueError, "NaN"),
    ],
)
def test_bad_input(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_a_large_indefinite_kernel_is_reported_without_its_eigenvalues(monkeypatch):
    monkeypatch.setattr("zonodpp.numerics.kernel._EXPLAIN", 2)
    with pytest.raises(ValueError, match="larger than the diagonal allows"):
        pivoted_cholesky(INDEFINITE, kernel="precomputed")


def test_missing_scikit_learn(monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ImportError, match=r"zonodpp\[ml\]"):
        similarity(X, kernel="polynomial")
    assert rp_cholesky(X, 5, gamma=median_gamma(X), rng=0).shape == (150, 5)


def test_random_pivots_are_drawn_in_proportion_to_what_is_left():
    few = similarity(X[:5], gamma=0.3)
    rng = np.random.default_rng(0)
    found = [
        rp_cholesky(few, 3, kernel="precomputed", return_pivots=True, rng=rng)[1]
        for _ in range(3000)
    ]
    first, second = np.array(found)[:, :2].T
    seen = np.zeros((5, 5))
    np.add.at(seen, (first, second), 1)
    left = np.array([np.diagonal(few - np.outer(few[i], few[i]) / few[i, i]) for i in range(5)])
    law = np.maximum(left, 0) / left.sum(axis=1, keepdims=True) / 5
    expected = 3000 * law[law > 1e-12]
    assert (seen[law <= 1e-12] == 0).all()
    statistic = ((seen[law > 1e-12] - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, expected.size - 1) > 1e-4
    uniform = 3000 / expected.size  # a broken twin: any other item, whatever is left of it
    wrong = ((seen[law > 1e-12] - uniform) ** 2 / uniform).sum()
    assert stats.chi2.sf(wrong, expected.size - 1) < 1e-4


@pytest.mark.parametrize("rank", [1, 31, 33, 120])
def test_features_agree_with_the_kernel_at_pivots(rank):
    Phi, pivots = rp_cholesky(X, rank, gamma=3.0, return_pivots=True, rng=2)
    assert len(set(pivots.tolist())) == len(pivots) == Phi.shape[1] == rank
    assert Phi @ Phi[pivots].T == pytest.approx(similarity(X, X[pivots], gamma=3.0), abs=1e-9)
