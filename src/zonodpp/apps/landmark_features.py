"""Features from which landmarks are drawn: made of coordinates, of a kernel, or as given.

Every function for rows in memory treats a row of weight 3 like three equal rows. Rows beyond memory
are read in three passes: for the moments, for the law, for the draw.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.manifold import Isomap
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches
from sklearn.utils.validation import has_fit_parameter

from zonodpp._types import Floats, Matrix, MatrixLike, Rng
from zonodpp.apps.landmark_search import CHUNK, DistinctRows, chunks, variance_of_entries
from zonodpp.features.similarity import KernelFunction
from zonodpp.linalg.dense import to_dense
from zonodpp.linalg.spectrum import leading_directions
from zonodpp.streams.passes import View
from zonodpp.streams.sources import RowSource, source_of
from zonodpp.targets.streamed import StreamedDPP, directions_of_moments, take_moments

SUBSET = 2000  # rows whose kernel matrix is formed; all others are extended from them
_NARROW = 2000  # columns up to which a scatter matrix is formed
_SAFE = 1e-10  # below this share of the largest, eigenvalues of a scatter matrix are only rounding
_ROUNDING = 1e-12  # share of a squared length: smaller differences count as zero
_GUARD = 0.01  # added to relative squared lengths before weights are divided by them


class Features(NamedTuple):
    """Features, one row for each item, and the squared length that they leave out of each."""

    values: Floats
    left_out: Floats


class _PrincipalAxes(NamedTuple):
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
            squares = np.ravel(rows.multiply(rows).sum(axis=1)) - 2 * (rows @ self.mean)
            squares += self.mean @ self.mean
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
        X, fitted = _transformed(transformer, X, weights, m)
    axes = principal_axes(X, weights, m - 1)
    if len(axes.spread) == m - 1:
        batches = gen_batches(len(rows), max(64, CHUNK // X.shape[1]))
        blocks = [axes.simplex(X[rows[some]]) for some in batches]
        return Features(*map(np.concatenate, zip(*blocks, strict=True))), fitted
    spread = np.sqrt(variance_of_entries(X, weights) * X.shape[1]) or 1.0
    features = kernel_features(
        X[rows], merged, m, lambda a, b: np.exp(-euclidean_distances(a, b) / spread), rng
    )
    return features, fitted


def _transformed(
    transformer: str | BaseEstimator, X: Matrix, weights: Floats, m: int
) -> tuple[Matrix, BaseEstimator | None]:
    """Return coordinates of the rows for m landmarks, and the transformer that was fitted.

    Isomap may have fewer coordinates than are asked for, and does not say how many. Two rows are
    too few for it.
    """
    if transformer != "isomap":
        fitted = clone(transformer)
        return _coordinates(fitted, X, weights), fitted
    components = max(1, m - 1) if X.shape[0] > 2 else 0
    while components:
        fitted = Isomap(n_neighbors=min(5, X.shape[0] - 1), n_components=components)
        with contextlib.suppress(ValueError):  # of negative eigenvalues
            return _coordinates(fitted, X, weights), fitted
        components //= 2
    return X, None


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


def principal_axes(X: Matrix, weights: Floats, k: int) -> _PrincipalAxes:
    """Return the k leading principal directions of the weighted rows, fewer if there are fewer.

    If X is not too wide, they are eigenvectors of its scatter matrix. Where rounding would lose
    small directions in that matrix, the triangular factor of X takes its place.
    """
    d = X.shape[1]
    total, root = float(weights.sum()), np.sqrt(weights)
    mean = np.asarray(weights @ X) / total
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
    # Rounding errors from subtracting the mean do not count as a direction.
    largest = max(float(spread[0]), float(np.abs(mean).max()) * float(np.sqrt(total)))
    kept = int(np.sum(spread[:k] > 8 * d * np.finfo(float).eps * largest))
    return _PrincipalAxes(mean, np.ascontiguousarray(vectors[:, :kept]), spread[:kept])


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
        raise ValueError(
            f"n_landmarks={m} but the kernel has numerical rank {kept} on these rows; pass fewer "
            "landmarks, or a narrower kernel (a larger gamma)"
        )
    back = root[:, None] * vectors / np.sqrt(values)
    features, diagonal = np.empty((n, m)), np.empty(n)
    for some in gen_batches(n, max(64, CHUNK // size)):
        features[some] = kernel(X[some], few) @ back
        diagonal[some] = np.diagonal(kernel(X[some], X[some]))
    return Features(features, left_out(diagonal, features))


def left_out(squares: Floats, scores: Floats) -> Floats:
    """Return squared lengths less those of the rows of scores; rounding errors become zero."""
    left = squares - np.einsum("ij,ij->i", scores, scores)
    return np.where(left > _ROUNDING * squares, left, 0.0)


def outlyingness(left: Floats, mean: float) -> Floats:
    """Return the lengths that features leave out, relative to the mean and kept above zero."""
    return np.asarray(left / mean + _GUARD) if mean > 0 else np.ones(len(left))


@dataclass(frozen=True, kw_only=True)
class _SimplexView(View):
    """Rows as a constant and their principal coordinates, scaled to equal spread.

    The weight of a row is divided by the squared length that its coordinates leave out, as in
    `outlyingness`. If ``left_out`` is zero, weights stay as they are.
    """

    axes: _PrincipalAxes
    left_out: float  # the mean of that length over all rows, or zero

    def seen(self, rows: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
        """Return coordinates and weights."""
        features, left = self.axes.simplex(rows)
        factors = 1.0 / outlyingness(left, self.left_out)
        return features, factors if weights is None else weights * factors

    def times(self, W: Floats) -> NoReturn:
        """Raise an error: this view cannot be computed with more digits than float64 has."""
        raise ValueError(
            "under their weights, the rows lie so nearly in a smaller space that their law cannot "
            "be computed in passes; pass fewer landmarks, or downweight_outliers=False"
        )


def rows_beyond_memory(
    X: MatrixLike, weights: ArrayLike | None, transformer: object
) -> RowSource | None:
    """Return X as a source of batches of rows; None if X is, or can be, loaded into memory."""
    found = source_of(X, weights, None, None)
    if found is None or (transformer != "pca" and isinstance(X, np.memmap)):
        return None
    if transformer != "pca":
        raise ValueError(
            "landmarks of rows beyond memory are drawn with transformer='pca'; for all else load "
            "the rows, or some of them, into memory"
        )
    return found[0]


def streamed_target(source: RowSource, m: int, downweight: bool) -> tuple[StreamedDPP, float]:
    """Return the law of m landmarks, and the variance of all entries.

    With ``downweight``, rows far from the principal directions weigh less.
    """
    moments = take_moments(source, View(), centred=True)
    if moments.weight == 0:
        raise ValueError("the weights of all rows are zero: none could ever be picked")
    if not np.isfinite(moments.scatter).all():
        raise ValueError("the squares of entries of X overflow; scale the columns first")
    axes = _PrincipalAxes(
        moments.mean, *directions_of_moments(source, moments, m - 1, weighted=True)
    )
    found = len(axes.spread)
    if found < m - 1:
        raise ValueError(
            f"n_landmarks={m} needs {m - 1} principal directions, and the rows have {found}; "
            f"pass n_landmarks={found + 1} or less, or load the rows into memory"
        )
    scatter = float(np.trace(moments.scatter))
    mean = float(left_out(np.array([scatter]), axes.spread[None])[0]) / moments.weight
    variance = scatter / (moments.weight * moments.mean.size) + float(moments.mean.var())
    return StreamedDPP(source, _SimplexView(axes=axes, left_out=downweight * mean)), variance
