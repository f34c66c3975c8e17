"""Features of rows for draws of landmarks: of coordinates, of a kernel, or as they are given.

Every function here gives the same for a row of weight 3 as for three equal rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.manifold import Isomap
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import has_fit_parameter

from zonodpp._types import Floats, Matrix
from zonodpp.apps.landmark_rows import CHUNK, DistinctRows, chunks, variance_of_entries
from zonodpp.features.similarity import KernelFunction
from zonodpp.linalg.dense import to_dense
from zonodpp.linalg.reduction import leading_directions

SUBSET = 2000  # rows whose kernel matrix is formed; all others are extended from them
_NARROW = 2000  # columns up to which a scatter matrix is formed
_SAFE = 1e-10  # smaller eigenvalues of a scatter matrix, relative to the first, are rounding
_ROUNDING = 1e-12  # of a squared length: differences that are smaller count as zero
_GUARD = 0.01  # added to the relative variance, by which weights are divided


class Features(NamedTuple):
    """One row for each item, and the squared length that the features leave out."""

    values: Floats
    left_out: Floats


class PrincipalAxes(NamedTuple):
    """The mean of rows, their leading principal directions (as columns), the spread along them."""

    mean: Floats
    vectors: Floats
    spread: Floats

    def simplex(self, rows: Floats) -> Features:
        """Return a constant and the principal coordinates of rows, scaled to equal spread.

        The determinant of r such rows is proportional to the volume of the simplex that has these
        r points as corners.
        """
        centred = rows - self.mean
        scores = centred @ self.vectors
        values = np.column_stack([np.ones(len(rows)), scores / self.spread])
        return Features(values, left_out(np.einsum("ij,ij->i", centred, centred), scores))


def features_for_draws(
    given: DistinctRows,
    weights: Floats,
    m: int,
    transformer: str | BaseEstimator | None,
    kernel: KernelFunction,
    rng: np.random.Generator,
) -> tuple[Features, BaseEstimator | None]:
    """Give each distinct row m features; return them, and the transformer that was fitted."""
    X, rows, merged = given
    if transformer == "precomputed":
        if X.shape[1] != m:
            raise ValueError(
                f"transformer='precomputed' takes X as the features, one for each of the "
                f"{m} landmarks, but X has {X.shape[1]} columns; pass "
                f"n_landmarks={X.shape[1]}, or transformer='pca' for other numbers"
            )
        return Features(to_dense(X[rows]), np.zeros(len(rows))), None
    if transformer == "kernel":
        return kernel_features(X[rows], merged, m, kernel, rng), None
    fitted = None
    if transformer not in (None, "pca"):
        isomap = Isomap(n_neighbors=min(5, X.shape[0] - 1), n_components=max(1, m - 1))
        fitted = isomap if transformer == "isomap" else clone(transformer)
        X = _coordinates(fitted, X, weights)
    axes = principal_axes(X, weights, m - 1)
    if len(axes.spread) == m - 1:
        features = _simplex_features(X, axes)
        return Features(features.values.take(rows, axis=0), features.left_out[rows]), fitted
    spread = np.sqrt(variance_of_entries(X, weights) * X.shape[1]) or 1.0
    features = kernel_features(
        X[rows], merged, m, lambda a, b: np.exp(-euclidean_distances(a, b) / spread), rng
    )
    return features, fitted


def _coordinates(transformer: BaseEstimator, X: Matrix, weights: Floats) -> Matrix:
    """Return the coordinates of the rows that the transformer computes."""
    weighted = has_fit_parameter(transformer, "sample_weight")
    Z = transformer.fit_transform(X, **({"sample_weight": weights} if weighted else {}))
    Z = Z.tocsr().astype(np.float64) if sp.issparse(Z) else np.asarray(Z, dtype=np.float64)
    if Z.ndim != 2 or Z.shape[0] != X.shape[0] or not Z.shape[1]:
        raise ValueError(
            f"the transformer must give one row of coordinates for each of the {X.shape[0]} "
            f"rows, got an array of shape {Z.shape}"
        )
    return Z


def principal_axes(X: Matrix, weights: Floats, k: int) -> PrincipalAxes:
    """Return the k leading principal directions of the weighted rows, fewer if there are fewer.

    They are eigenvectors of the scatter matrix, if X is not too wide. Where this would lose small
    directions to rounding, the triangular factor of X is taken instead.
    """
    d = X.shape[1]
    total, root = float(weights.sum()), np.sqrt(weights)
    mean = np.asarray(weights @ X) / total
    most = max(1, min(k, *X.shape))
    values = np.zeros(most)
    if d <= _NARROW:
        scatter = np.zeros((d, d))
        for span, rows in chunks(X):
            centred = rows - mean
            centred *= root[span, None]
            scatter += centred.T @ centred
        values, vectors = (part[..., ::-1] for part in scipy.linalg.eigh(scatter))
    if values[most - 1] > _SAFE * values[0]:
        spread = np.sqrt(values[:most])
    else:
        vectors, spread = leading_directions(X, most, mean, root)
    # Rounding errors from subtracting the mean do not count as a direction.
    largest = max(float(spread[0]), float(np.abs(mean).max()) * float(np.sqrt(total)))
    kept = int(np.sum(spread[: min(k, most)] > 8 * d * np.finfo(float).eps * largest))
    return PrincipalAxes(mean, np.ascontiguousarray(vectors[:, :kept]), spread[:kept])


def _simplex_features(X: Matrix, axes: PrincipalAxes) -> Features:
    """Return the features of `PrincipalAxes.simplex` of all rows; a sparse X stays sparse."""
    if isinstance(X, np.ndarray):
        blocks = zip(*(axes.simplex(rows) for _, rows in chunks(X)), strict=True)
        return Features(*map(np.concatenate, blocks))
    mean, vectors, spread = axes
    scores = X @ vectors - mean @ vectors
    squares = np.ravel(X.multiply(X).sum(axis=1)) - 2 * (X @ mean) + mean @ mean
    values = np.column_stack([np.ones(len(scores)), scores / spread])
    return Features(values, left_out(squares, scores))


def kernel_features(
    X: Matrix, weights: Floats, m: int, kernel: KernelFunction, rng: np.random.Generator
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
    back = root[:, None] * vectors / np.sqrt(values)
    features, diagonal = np.empty((n, m)), np.empty(n)
    step = max(64, CHUNK // size)
    for start in range(0, n, step):
        span = slice(start, min(start + step, n))
        rows = X[span]
        features[span] = kernel(rows, few) @ back
        diagonal[span] = np.diagonal(kernel(rows, rows))
    return Features(features, left_out(diagonal, features))


def left_out(squares: Floats, scores: Floats) -> Floats:
    """Return what scores (rows) leave out of squared lengths, with zeros for rounding errors."""
    left = squares - np.einsum("ij,ij->i", scores, scores)
    return np.where(left > _ROUNDING * squares, left, 0.0)


def outlyingness(left: Floats, mean: float) -> Floats:
    """Return what features leave out of each row, relative to the mean, kept away from zero."""
    return np.asarray(left / mean + _GUARD) if mean > 0 else np.ones(len(left))
