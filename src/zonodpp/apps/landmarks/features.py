"""Features from which landmarks are drawn: made of coordinates, of a kernel, or as given.

Every function treats a row of weight 3 like three equal rows.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.manifold import Isomap
from sklearn.utils import gen_batches
from sklearn.utils.validation import has_fit_parameter

from zonodpp._arguments import as_reals
from zonodpp._types import Floats, Matrix, Rng
from zonodpp.apps.landmarks.rows import CHUNK, DistinctRows, chunks
from zonodpp.features.kernels import kernel_columns
from zonodpp.numerics.arrays import to_dense
from zonodpp.numerics.kernel_function import (
    KernelFunction,
    Units,
    exponential,
    spread_of,
    squares_about,
    weighted_mean,
)
from zonodpp.numerics.spectrum import leading_directions

SUBSET = 2000  # rows whose kernel matrix is formed; all others are extended from them
_NARROW = 2000  # columns up to which a scatter matrix is formed
_SAFE = 1e-10  # below this share of the largest, eigenvalues of a scatter matrix are only rounding
_ROUNDING = 1e-12  # share of a squared length: smaller differences count as zero
_GUARD = 0.01  # added to relative squared lengths before weights are divided by them


class Features(NamedTuple):
    """Features, one row for each item, and the squared length that they leave out of each."""

    values: Floats
    left_out: Floats


class PrincipalAxes(NamedTuple):
    """The mean of rows, their leading principal directions (as columns), the spread along them."""

    mean: Floats
    vectors: Floats
    spread: Floats

    def simplex(self, rows: Matrix) -> Features:
        """Return a constant and the principal coordinates of rows, scaled to equal spread.

        The determinant of r such rows is proportional to the volume of the simplex that has these
        r points as corners.
        """
        if isinstance(rows, np.ndarray):
            centred = rows - self.mean
            scores, squares = centred @ self.vectors, np.einsum("ij,ij->i", centred, centred)
        else:  # centred rows would not be sparse
            scores = rows @ self.vectors - self.mean @ self.vectors
            squares = squares_about(rows, self.mean)
        values = np.column_stack([np.ones(len(scores)), scores / self.spread])
        return Features(values, left_out(squares, scores))


def features_for_draws(
    given: DistinctRows,
    weights: Floats,
    m: int,
    transformer: str | BaseEstimator | None,
    kernel: KernelFunction,
    rng: Rng,
) -> tuple[Features, BaseEstimator | None]:
    """Return m features for each distinct row, and the transformer if one was fitted."""
    X, rows, merged = given
    if transformer == "precomputed":
        if X.shape[1] != m:
            needed = f"takes X as the features, one for each of the {m} landmarks"
            found = f"X has {X.shape[1]} columns"
            advice = f"pass n_landmarks={X.shape[1]}, or transformer='pca' for other numbers"
            raise ValueError(f"transformer='precomputed' {needed}, but {found}; {advice}")
        return Features(to_dense(X[rows]), np.zeros(len(rows))), None
    if transformer == "kernel":
        return kernel_features(X[rows], merged, m, kernel, rng), None
    fitted = None
    if transformer not in (None, "pca"):
        X, fitted = _transformed(transformer, X, weights, m)
    X = Units.of(X).place(X)  # the law does not depend on the unit
    axes = principal_axes(X, weights, m - 1)
    if len(axes.spread) == m - 1:
        batches = gen_batches(len(rows), max(64, CHUNK // X.shape[1]))
        blocks = [axes.simplex(X[rows[some]]) for some in batches]
        return Features(*map(np.concatenate, zip(*blocks, strict=True))), fitted
    spread = spread_of(X, weights)
    features = kernel_features(X[rows], merged, m, partial(exponential, spread=spread), rng)
    return features, fitted


def _transformed(
    transformer: str | BaseEstimator, X: Matrix, weights: Floats, m: int
) -> tuple[Matrix, BaseEstimator | None]:
    """Return coordinates of the rows for m landmarks, and the transformer that was fitted.

    Isomap may have fewer coordinates than are asked for, and does not say how many. Of a single row
    it has none.
    """
    if transformer == "isomap":
        X = Units.of(X).place(X)
    else:
        return _coordinates(clone(transformer), X, weights)
    components = max(1, m - 1)
    while components:
        isomap = Isomap(n_neighbors=min(5, X.shape[0] - 1), n_components=components)
        with contextlib.suppress(ValueError):  # of negative eigenvalues, or of one row
            return _coordinates(isomap, X, weights)
        components //= 2
    return X, None


def _coordinates(
    transformer: BaseEstimator, X: Matrix, weights: Floats
) -> tuple[Matrix, BaseEstimator]:
    """Return the coordinates of the rows that the transformer computes, and the transformer."""
    weighted = has_fit_parameter(transformer, "sample_weight")
    Z = transformer.fit_transform(X, **({"sample_weight": weights} if weighted else {}))
    Z = Z.tocsr().astype(np.float64) if sp.issparse(Z) else as_reals(Z, "the transformer's result")
    if Z.ndim != 2 or Z.shape[0] != X.shape[0] or not Z.shape[1]:
        needed = f"one row of coordinates for each of the {X.shape[0]} rows"
        raise ValueError(f"the transformer must give {needed}, got an array of shape {Z.shape}")
    return Z, transformer


def principal_axes(X: Matrix, weights: Floats, k: int) -> PrincipalAxes:
    """Return the k leading principal directions of the weighted rows, fewer if there are fewer.

    If X is not too wide, they are eigenvectors of its scatter matrix. Where rounding would lose
    small directions in that matrix, the triangular factor of X takes its place.
    """
    d = X.shape[1]
    total, root = float(weights.sum()), np.sqrt(weights)
    mean = weighted_mean(X, weights)
    most = max(1, min(k, *X.shape))
    values = np.zeros(most)
    if d <= _NARROW:
        scatter = np.zeros((d, d))
        for span, rows in chunks(X):
            # The weighted mean is subtracted: rows of weight zero may lie anywhere.
            centred = (rows - mean) * root[span, None]
            scatter += centred.T @ centred
        values, vectors = (part[..., ::-1] for part in scipy.linalg.eigh(scatter))
    if values[most - 1] > _SAFE * values[0]:
        spread = np.sqrt(values[:most])
    else:
        vectors, spread = leading_directions(X, most, mean, root)
    # Rounding errors of the entries, such as those of columns with a large mean, do not count as a
    # direction.
    largest = np.maximum(spread[0], np.sqrt(total) * (np.abs(mean) @ np.abs(vectors[:, :most])))
    sound = spread[:k] > 8 * d * np.finfo(float).eps * largest[:k]
    kept = int(sound.cumprod().sum())
    return PrincipalAxes(mean, np.ascontiguousarray(vectors[:, :kept]), spread[:kept])


def kernel_features(
    X: Matrix, weights: Floats, m: int, kernel: KernelFunction, rng: Rng
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
    leading = [max(0, size - m), size - 1]
    values, vectors = scipy.linalg.eigh((block + block.T) / 2, subset_by_index=leading)
    kept = int(np.sum(values > 8 * size * np.finfo(float).eps * values[-1]))
    if kept < m:
        found = f"the kernel has numerical rank {kept} on these rows"
        advice = "pass fewer landmarks, or a narrower kernel (a larger gamma)"
        raise ValueError(f"n_landmarks={m} but {found}; {advice}")
    back = root[:, None] * vectors / np.sqrt(values)
    blocks = gen_batches(n, max(64, CHUNK // size))
    features = np.concatenate([kernel(X[some], few) @ back for some in blocks])
    return Features(features, left_out(kernel_columns(X, kernel).diagonal, features))


def left_out(squares: Floats, scores: Floats) -> Floats:
    """Return squared lengths less those of the rows of scores; rounding errors become zero."""
    left = squares - np.einsum("ij,ij->i", scores, scores)
    return np.where(left > _ROUNDING * squares, left, 0.0)


def outlyingness(left: Floats, mean: float) -> Floats:
    """Return the lengths that features leave out, relative to the mean and kept above zero."""
    return np.asarray(left / mean + _GUARD) if mean > 0 else np.ones(len(left))
