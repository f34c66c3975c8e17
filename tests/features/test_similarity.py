"""Similarities, bandwidths, scales, quality, and kernels that need repair."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from zonodpp import DPP
from zonodpp.features import (
    check_psd,
    median_gamma,
    nearest_psd,
    quality_diversity,
    rp_cholesky,
    similarity,
    standardize,
)

X = np.random.default_rng(0).normal(size=(30, 4))


@pytest.mark.parametrize(
    "kernel", ["linear", "cosine", "rbf", "laplacian", "polynomial", "sigmoid"]
)
def test_names_mean_what_they_mean_in_scikit_learn(kernel):
    gamma = {"gamma": 0.4} if kernel not in ("linear", "cosine") else {}
    expected = pairwise_kernels(X, metric=kernel, **gamma)
    assert similarity(X, kernel=kernel, gamma=0.4) == pytest.approx(expected, abs=1e-12)
    across = similarity(X, X[:7], kernel=kernel, gamma=0.4)
    assert across == pytest.approx(expected[:, :7], abs=1e-12)
    sparse = similarity(sp.csr_array(X), kernel=kernel, gamma=0.4)
    assert sparse == pytest.approx(expected, abs=1e-7)
    for one, other in ((X, sp.csr_array(X[:7])), (sp.csr_array(X), X[:7])):
        mixed = similarity(one, other, kernel=kernel, gamma=0.4)
        assert isinstance(mixed, np.ndarray)
        assert mixed == pytest.approx(expected[:, :7], abs=1e-7)


def test_close_neighbours_keep_their_digits():
    far = 1e6 + np.array([[0.0], [1e-6], [1e-3]])
    assert similarity(far, gamma=1e6)[0, 1] == pytest.approx(np.exp(-1e-6), rel=1e-9)
    assert (np.diagonal(similarity(far)) == 1).all()


def test_cosine_of_zero_and_of_huge_rows():
    rows = np.array([[0.0, 0.0], [1e200, 1e200], [1e-200, 0.0]])
    expected = [[0, 0, 0], [0, 1, 0.5**0.5], [0, 0.5**0.5, 1]]
    assert similarity(rows, kernel="cosine") == pytest.approx(np.array(expected))


def test_median_gamma():
    assert median_gamma([[0.0], [2.0]]) == 0.5 / 4
    assert median_gamma([[0.0], [2.0]], kernel="laplacian") == 0.5
    assert median_gamma(np.ones((5, 2))) == 1.0
    mostly_equal = np.zeros((50, 1))
    mostly_equal[0] = 3.0
    assert median_gamma(mostly_equal) == pytest.approx(0.5 / 9)
    many = np.random.default_rng(0).normal(size=(20_000, 2))
    assert median_gamma(many) == pytest.approx(median_gamma(many[:1000]), rel=0.1)
    assert median_gamma(sp.csr_array(many)) == median_gamma(many)
    off_diagonal = similarity(X)[np.triu_indices(30, 1)]
    assert np.median(off_diagonal) == pytest.approx(np.exp(-0.5), rel=1e-3)
    assert np.median(similarity(X, kernel="laplacian")[np.triu_indices(30, 1)]) == pytest.approx(
        np.exp(-1), rel=1e-3
    )


def test_standardize():
    rows = X * np.array([1e200, 1e-200, 1.0, 0.0]) + np.array([0, 0, 1e3, 7])
    scaled = standardize(rows)
    assert scaled.mean(axis=0) == pytest.approx(np.zeros(4), abs=1e-9)
    assert scaled.std(axis=0) == pytest.approx(np.array([1, 1, 1, 0]))
    frame = pd.DataFrame(rows[:, 2:].astype(np.float32))
    assert standardize(frame) == pytest.approx(scaled[:, 2:], abs=1e-3)
    assert standardize(sp.csr_array(X)) == pytest.approx(standardize(X))


# Quality.


def test_quality_times_cosine():
    q = np.linspace(0, 2, 30)
    Phi = quality_diversity(q, X)
    expected = similarity(X, kernel="cosine") * q * q[:, None]
    assert Phi @ Phi.T == pytest.approx(expected)
    sparse = quality_diversity(q, sp.csr_array(X))
    assert sparse.toarray() == pytest.approx(Phi)


def test_strength():
    q = np.array([0.0, 1.0, 3.0])
    lengths = [np.linalg.norm(quality_diversity(q, X[:3], strength=s), axis=1) for s in (0, 1, 2)]
    assert lengths[0] == pytest.approx([0, 1, 1])
    assert lengths[1] == pytest.approx(q)
    assert lengths[2] == pytest.approx(q**2)


def test_better_items_are_drawn_more_often():
    q = np.ones(30)
    before = DPP.from_features(quality_diversity(q, X)).marginals()[4]
    q[4] = 5.0
    assert DPP.from_features(quality_diversity(q, X)).marginals()[4] > 2 * before


@pytest.mark.parametrize(
    ("quality", "strength", "message"),
    [
        (np.ones(4), 1, "one entry for each of the 3"),
        ([1.0, -2.0, 1.0], 1, r"quality\[1\] = -2"),
        ([1.0, np.inf, 1.0], 1, "infinity"),
        ([1.0, 1e200, 1.0], 2, "overflows"),
        (np.ones(3), -1, "zero or more"),
    ],
)
def test_bad_quality(quality, strength, message):
    with pytest.raises(ValueError, match=message):
        quality_diversity(quality, X[:3], strength=strength)


# Repair.


def indefinite(scale=1.0):
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    values = np.array([4.0, 3.0, 1.0, 0.5, -0.25, -1.0])
    K = (Q * values) @ Q.T * scale
    return (K + K.T) / 2, (Q * np.maximum(values, 0)) @ Q.T * scale


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_repair(scale):
    K, nearest = indefinite(scale)
    with pytest.raises(ValueError, match="not positive semidefinite") as caught:
        check_psd(K)
    assert caught.value.smallest == pytest.approx(-scale)
    assert nearest_psd(K) == pytest.approx(nearest, abs=1e-12 * scale)
    shifted = nearest_psd(K, how="shift")
    assert shifted == pytest.approx(K + scale * np.eye(6), abs=1e-12 * scale)
    for repaired in (nearest_psd(K), shifted):
        assert abs(check_psd(repaired)) < 1e-12 * scale
        assert (repaired == repaired.T).all()


def test_sound_kernels_pass_and_stay():
    K = similarity(X)
    assert check_psd(K) == pytest.approx(np.linalg.eigvalsh(K)[0])
    assert (nearest_psd(K) == K).all()
    assert nearest_psd(K) is not K
    assert check_psd(np.zeros((3, 3))) == 0
    rough = (X @ X.T).astype(np.float32)
    assert abs(check_psd(rough)) < 1e-4
    with pytest.raises(ValueError, match="not positive"):
        check_psd(rough.astype(float))
    assert check_psd(rough.astype(float), tol=1e-5) < 0


def test_noise_of_symmetry_is_taken_out():
    K = similarity(X)
    K[0, 1] += 1e-12
    assert (nearest_psd(K) == nearest_psd(K).T).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_psd(X), "n x n"),
        (lambda: check_psd(np.triu(np.ones((3, 3)))), "not symmetric"),
        (lambda: check_psd([[np.nan]]), "NaN"),
        (lambda: nearest_psd(np.eye(2), how="fix"), "must be one of"),
        (lambda: similarity(X, X[:, :2]), "same features"),
        (lambda: similarity(X, gamma=0.0), "positive"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Offsets and units.


def exact_rbf(rows, others, gamma):
    differences = rows[:, None].astype(np.longdouble) - others
    return np.exp(-gamma * (differences**2).sum(axis=2)).astype(float)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("d", [2, 10, 11, 60])
def test_distances_are_accurate_wherever_the_rows_are(d, kind):
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(40, d))
    rows[10:20] += 1e6  # two groups far from each other
    rows[20:25] = rows[:5] + 1e-6 * rng.normal(size=(5, d))
    rows[25] = 1e12
    for gamma in (1e-3, 0.1, 1e4, 1e12):
        for offset in (0.0, 2.0**20):
            moved = rows + offset
            expected = exact_rbf(moved, moved, gamma)
            found = similarity(kind(moved), gamma=gamma)
            assert found == pytest.approx(expected, abs=1e-12)
            assert (np.diagonal(found) == 1).all()
            across = similarity(kind(moved[:30]), kind(moved), gamma=gamma)
            assert across == pytest.approx(expected[:30], abs=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("size", [1e-310, 1e-300, 1e-170, 1e150, 1e300])
def test_similarities_do_not_depend_on_the_unit(kernel, size):
    expected = similarity(X, kernel=kernel)
    tolerance = 1e-9 if size > 1e-308 else 1e-4  # smaller numbers have fewer digits
    assert similarity(X * size, kernel=kernel) == pytest.approx(expected, abs=tolerance)
    constant = np.column_stack([np.ones(30), X * size])
    assert similarity(constant, kernel=kernel) == pytest.approx(expected, abs=tolerance)


def test_features_of_a_kernel_of_any_unit():
    for kernel in ("rbf", "linear"):
        expected, pivots = rp_cholesky(X, 4, kernel=kernel, return_pivots=True, rng=0)
        for size in (1e-300, 1e-160, 1e150):
            Phi, same = rp_cholesky(X * size, 4, kernel=kernel, return_pivots=True, rng=0)
            assert (same == pivots).all()
            unit = size if kernel == "linear" else 1.0
            assert Phi / unit == pytest.approx(expected, abs=1e-9)


def test_standardised_columns_do_not_depend_on_offset_or_unit():
    rows = np.round(X * 2**10) / 2**10
    expected = standardize(rows)
    assert standardize(rows + 2.0**40) == pytest.approx(expected, abs=1e-9)
    assert standardize(rows * 2.0**-1000) == pytest.approx(expected, abs=1e-9)
