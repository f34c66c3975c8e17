"""Features of rows for the choice of landmarks, with weights that count as repetitions.

Every function here gives the same for a row of weight 3 as for three equal rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from zonodpp._jit import jit
from zonodpp._types import Floats, Integers, Matrix
from zonodpp.linalg.dense import row_chunks
from zonodpp.linalg.reduction import leading_directions

Bits = NDArray[np.uint64]

CHUNK = 2**17  # entries of X in one block: temporary arrays are no larger than a block
_NARROW = 2000  # features up to which their covariance matrix is formed
SUBSET = 2000  # rows whose kernel matrix is formed; all others are extended from them
GUARD = 0.01  # added to the relative variance, by which weights are divided
_SAFE = 1e-10  # eigenvalues of a covariance that are smaller, relative to the first, are rounding


class DistinctRows(NamedTuple):
    """The rows of X to pick from, and the weight of each, which counts as repetitions."""

    X: Matrix
    rows: Integers
    weights: Floats


class Features(NamedTuple):
    """One row for each item, and the squared length that the features leave out."""

    values: Floats
    left_out: Floats


class PrincipalAxes(NamedTuple):
    """The mean of X, its leading principal directions (as columns) and the spread along them."""

    mean: Floats
    vectors: Floats
    spread: Floats


def merge(X: Matrix, weights: Floats) -> tuple[Integers, Floats]:
    """Return the first of each set of equal rows, and the summed weights of the set.

    Rows without weight are left out. The order depends on the rows alone, not on their places, so
    that repeated and shuffled rows give the same draw. Rows are told apart by a 64-bit hash: should
    two of a million collide (odds of one in thirty million), one of them could not be picked.
    """
    rows = np.flatnonzero(weights > 0).astype(np.int64)
    _, first, group = np.unique(row_keys(X)[rows], return_index=True, return_inverse=True)
    return rows[first], np.bincount(group, weights[rows]).astype(np.float64)


def row_keys(X: Matrix) -> Bits:
    """Return a 64-bit hash of each row, of its non-zero entries and their columns."""
    keys = np.zeros(X.shape[0], np.uint64)
    if not isinstance(X, np.ndarray):
        bits = np.ascontiguousarray(X.data).view(np.uint64)
        _hash_sparse(bits, X.indices.astype(np.int64), X.indptr.astype(np.int64), keys)
        return keys
    for span, rows in chunks(X):
        bits = np.ascontiguousarray(rows).view(np.uint64)
        bits.flags.writeable = False  # so that numba compiles one signature only
        _hash_dense(bits, keys[span])
    return keys


@jit
def _mix(bits: np.uint64, column: np.int64) -> np.uint64:
    """Scramble an entry and its column (splitmix64); zero of either sign gives zero."""
    if bits << np.uint64(1) == np.uint64(0):
        return np.uint64(0)
    bits += np.uint64(column + 1) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@jit
def _hash_dense(bits: Bits, keys: Bits) -> None:
    """Add up the scrambled entries of each row."""
    for i in range(bits.shape[0]):
        total = np.uint64(0)
        for j in range(bits.shape[1]):
            total += _mix(bits[i, j], j)
        keys[i] = total


@jit
def _hash_sparse(bits: Bits, indices: Integers, indptr: Integers, keys: Bits) -> None:
    """Add up the scrambled entries of each row of a CSR matrix."""
    for i in range(len(keys)):
        for k in range(indptr[i], indptr[i + 1]):
            keys[i] += _mix(bits[k], indices[k])


def chunks(X: Matrix) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of rows of X as dense arrays, each with its range of rows."""
    return row_chunks(X, max(64, CHUNK // X.shape[1]))


def variance_of_entries(X: Matrix, weights: Floats) -> float:
    """Return the variance of all entries of the weighted rows."""
    first = second = 0.0
    if isinstance(X, np.ndarray):
        shift = X[:1000].mean()  # removes a large common offset
        for span, rows in chunks(X):
            centred = rows - shift
            first += float(weights[span] @ centred.sum(axis=1))
            second += float(weights[span] @ np.einsum("ij,ij->i", centred, centred))
    else:
        first, second = float((weights @ X).sum()), float((weights @ X.multiply(X)).sum())
    count = float(weights.sum()) * X.shape[1]
    return float(max(0.0, second / count - (first / count) ** 2))


class Moments(NamedTuple):
    """Mean and scatter matrix (of a narrow X) of weighted rows, and variance of all entries."""

    mean: Floats
    scatter: Floats | None
    variance: float

    @classmethod
    def of(cls, X: Matrix, weights: Floats) -> Moments:
        """Compute the moments in one pass over X."""
        d = X.shape[1]
        total = float(weights.sum())
        if d > _NARROW:
            mean = np.asarray(weights @ X) / total
            return cls(mean, None, variance_of_entries(X, weights))
        shift = np.asarray(X[:1000].mean(axis=0)).ravel()  # removes a large common offset
        root = np.sqrt(weights)[:, None]
        sums, scatter = np.zeros(d), np.zeros((d, d))
        for span, rows in chunks(X):
            centred = rows - shift
            sums += weights[span] @ centred
            centred *= root[span]
            scatter += centred.T @ centred
        away = sums / total
        mean = shift + away
        scatter -= total * np.outer(away, away)
        return cls(mean, scatter, float(np.trace(scatter)) / (total * d) + float(mean.var()))


def principal_directions(X: Matrix, weights: Floats, k: int, moments: Moments) -> PrincipalAxes:
    """Return the k leading principal directions of the weighted rows, fewer if there are fewer.

    Where the scatter matrix would lose small directions to rounding, the triangular factor of X is
    taken instead.
    """
    n, d = X.shape
    mean, scatter, _ = moments
    k = min(k, n, d)
    if k == 0:
        return PrincipalAxes(mean, np.zeros((d, 0)), np.zeros(0))
    values, vectors = np.zeros(k), np.zeros((d, k))
    if scatter is not None:
        values, vectors = scipy.linalg.eigh(scatter)
        values, vectors = values[::-1], vectors[:, ::-1]
    if values[k - 1] > _SAFE * values[0]:
        spread = np.sqrt(values[:k])
    else:
        vectors, spread = leading_directions(X, k, mean, np.sqrt(weights))
    # Rounding errors from subtracting the mean do not count as a direction.
    largest = max(float(spread[0]), float(np.abs(mean).max()) * float(np.sqrt(weights.sum())))
    kept = int(np.sum(spread[:k] > 8 * d * np.finfo(float).eps * largest))
    return PrincipalAxes(mean, np.ascontiguousarray(vectors[:, :kept]), spread[:kept])


def simplex_features(X: Matrix, axes: PrincipalAxes) -> Features:
    """Return a constant and the principal coordinates, scaled to equal spread.

    The determinant of r such rows is proportional to the volume of the simplex that has these r
    points as corners.
    """
    mean, vectors, spread = axes
    n, k = X.shape[0], vectors.shape[1]
    values, left_out = np.empty((n, k + 1)), np.empty(n)
    values[:, 0] = 1.0
    if not isinstance(X, np.ndarray):
        values[:, 1:] = X @ vectors - mean @ vectors
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() - 2 * (X @ mean) + mean @ mean
        left_out[:] = squares - np.einsum("ij,ij->i", values[:, 1:], values[:, 1:])
    else:
        for span, rows in chunks(X):
            centred = rows - mean
            scores = centred @ vectors
            values[span, 1:] = scores
            left_out[span] = np.einsum("ij,ij->i", centred, centred)
            left_out[span] -= np.einsum("ij,ij->i", scores, scores)
    values[:, 1:] /= spread
    return Features(values, np.maximum(left_out, 0.0))


def kernel_features(
    X: Matrix,
    weights: Floats,
    m: int,
    kernel: Callable[[Matrix, Matrix], Floats],
    rng: np.random.Generator,
) -> Features:
    """Return the m leading eigenfunctions of a kernel.

    Rows must be distinct. Beyond `SUBSET` rows the eigenfunctions are those of a random subset,
    extended to all rows.
    """
    n = X.shape[0]
    if n > SUBSET:
        chosen = np.sort(rng.choice(n, SUBSET, replace=False, p=weights / weights.sum()))
        few, root = X[chosen], np.ones(SUBSET)
    else:
        few, root = X, np.sqrt(weights / weights.max())
    size = len(root)
    block = kernel(few, few) * np.outer(root, root)
    values, vectors = scipy.linalg.eigh(
        (block + block.T) / 2, subset_by_index=[max(0, size - m), size - 1]
    )
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = int(np.sum(values > 8 * size * np.finfo(float).eps * values[0]))
    if kept < m:
        raise ValueError(
            f"n_landmarks={m} but the kernel has numerical rank {kept} on these rows; pass fewer "
            "landmarks, or a narrower kernel (a larger gamma)"
        )
    back = root[:, None] * vectors[:, :kept] / np.sqrt(values[:kept])
    features, left_out = np.empty((n, kept)), np.empty(n)
    step = max(64, CHUNK // size)
    for start in range(0, n, step):
        span = slice(start, min(start + step, n))
        rows = X[span]
        features[span] = kernel(rows, few) @ back
        left_out[span] = np.diagonal(kernel(rows, rows))
    left_out -= np.einsum("ij,ij->i", features, features)
    return Features(features, np.maximum(left_out, 0.0))


def outlyingness(features: Features, weights: Floats) -> Floats:
    """Return what features leave out of each row, relative to the mean, kept away from zero."""
    mean = float(np.average(features.left_out, weights=weights))
    if mean <= np.finfo(float).tiny:
        return np.ones(len(weights))
    return np.asarray(features.left_out / mean + GUARD)
