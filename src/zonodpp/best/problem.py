"""One problem, checked: what `pick` is given becomes items with a kernel, and relevance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from zonodpp._arguments import as_positive
from zonodpp.best.arrays import (
    Array,
    eps_of,
    indices_like,
    is_foreign,
    namespace_of,
    on_host,
    rows_at,
)
from zonodpp.best.items import FeatureItems, Items, KernelItems
from zonodpp.features.kernels import kernel_columns
from zonodpp.features.similarity import kernel_for, median_gamma
from zonodpp.numerics.arrays import unit_rows
from zonodpp.numerics.kernel_function import KernelLike

_MEDIAN_ROWS = 1000  # rows that give the bandwidth for another library, as many as for NumPy
_ASYMMETRY = 1e-5  # of a kernel matrix relative to its diagonal: what single precision may show
_DIAGONAL_BLOCK = 64  # rows of a block of a kernel function, of which the diagonal is taken


@dataclass(frozen=True)
class Problem:
    """Items with the kernel S of their features, and their relevance over its largest value."""

    items: Items  # without relevance
    relevance: Array | None
    top: float  # the largest relevance

    def weighted(self) -> Items:
        """Return the items with the kernel diag(q) S diag(q)."""
        if self.relevance is None:
            return self.items
        xp, items = namespace_of(self.relevance), self.items
        scale = self.relevance if items.scale is None else items.scale * self.relevance
        diagonal = items.diagonal * xp.square(self.relevance)
        if isinstance(items, FeatureItems):
            return FeatureItems(items.rows, scale, diagonal)
        return KernelItems(items.rows, items.kernel, scale, diagonal)


def problem_of(X: Any, relevance: Array | None, kernel: KernelLike, gamma: float | None) -> Problem:
    """Check one problem, an array of two dimensions with the relevance of its rows."""
    if relevance is None:
        return Problem(_items_of(X, kernel, gamma), None, 1.0)
    return Problem(_items_of(X, kernel, gamma), *unit_relevance(relevance))


def unit_relevance(relevance: Array) -> tuple[Array, float]:
    """Return relevance over its largest value, and this value."""
    xp = namespace_of(relevance)
    lowest, top = float(xp.min(relevance)), float(xp.max(relevance))
    if not (lowest >= 0 and top < float("inf")):
        raise ValueError(
            f"relevance must be finite and not negative, got values from {lowest:g} to {top:g}; "
            "scores that can be negative become relevance by exp"
        )
    if top == 0:
        raise ValueError("relevance is zero for all items: none is worth a pick")
    return relevance / top, top


def _items_of(X: Any, kernel: KernelLike, gamma: float | None) -> Items:
    if gamma is not None:
        gamma = as_positive(gamma, "gamma")
    if not callable(kernel) and not isinstance(kernel, str):
        raise TypeError(f"kernel must be a name or a function of two arrays, got {kernel!r}")
    if kernel == "precomputed":
        return _precomputed(X)
    if hasattr(X, "tocsr"):
        return _sparse_items(X, kernel, gamma)
    if kernel == "linear" or kernel == "cosine":
        return feature_items(X, kernel)
    squares = namespace_of(X).vecdot(X, X)
    _check_squares(X, squares)
    if is_foreign(X):
        return _foreign_kernel(X, kernel, gamma)
    return _numpy_kernel(X, kernel, gamma)


def _check_squares(X: Array, squares: Array) -> bool:
    """Raise if an entry is NaN or infinite; tell whether squares of finite entries overflow."""
    xp = namespace_of(squares)
    if bool(xp.all(xp.isfinite(squares))):
        return False
    bad = xp.nonzero(~xp.all(xp.isfinite(X), axis=1))[0]
    if bad.shape[0]:
        raise ValueError(
            f"features have NaN or infinity in {bad.shape[0]} of its rows, the first is row "
            f"{int(bad[0])} (counted from 0); impute or drop them first"
        )
    return True


def feature_items(X: Array, kernel: str) -> FeatureItems:
    """Return rows as items; an entry that is not finite is an error."""
    xp = namespace_of(X)
    squares = xp.vecdot(X, X)
    overflow = _check_squares(X, squares)
    if kernel == "linear":
        if overflow:
            raise ValueError(
                "squares of features overflow; divide them by their largest entry first"
            )
        return FeatureItems(X, None, squares)
    small = float(xp.finfo(X.dtype).smallest_normal) / eps_of(X)
    if overflow or bool(xp.any(squares < small)):  # rows of zeros, or entries such as 1e-200
        largest = xp.max(xp.abs(X), axis=1)
        X = X / xp.where(largest > 0, largest, xp.ones_like(largest))[:, None]
        squares = xp.vecdot(X, X)
    positive = squares > 0
    lengths = xp.sqrt(xp.where(positive, squares, xp.ones_like(squares)))
    return FeatureItems(X, 1.0 / lengths, xp.astype(positive, X.dtype))


def _precomputed(K: Any) -> KernelItems:
    if hasattr(K, "tocsr"):
        K = K.toarray()
    n = K.shape[0]
    if K.shape != (n, n):
        raise ValueError(
            f"with kernel='precomputed' features are a kernel matrix, n x n, got {n} x "
            f"{K.shape[1]}; for rows name a kernel, such as kernel='cosine'"
        )
    xp = namespace_of(K)
    finite = xp.isfinite(K)
    if not bool(xp.all(finite)):
        bad = xp.nonzero(~finite)
        raise ValueError(
            f"features have NaN or infinity in {bad[0].shape[0]} of its entries, the first at "
            f"[{int(bad[0][0])}, {int(bad[1][0])}] (counted from 0); impute or drop them first"
        )
    diagonal = xp.linalg.diagonal(K) + 0.0
    if float(xp.min(diagonal)) < 0:
        place = int(xp.argmin(diagonal))
        raise ValueError(
            f"features is not positive semidefinite: its entry [{place}, {place}] is negative; "
            f"zonodpp.features.nearest_psd(features) repairs it"
        )
    numbers = xp.arange(n, device=diagonal.device)
    return KernelItems(numbers, partial(_entries, K, float(xp.max(diagonal))), None, diagonal)


def _entries(K: Array, size: float, items: Array, picks: Array) -> Array:
    """Return the entries of a kernel matrix, which must be symmetric where it is read."""
    xp = namespace_of(K)
    columns = xp.take(K, picks, axis=1)
    rows = xp.take(K, picks, axis=0).T
    apart = float(xp.max(xp.abs(columns - rows)))
    if apart > _ASYMMETRY * size:
        raise ValueError(
            f"the kernel matrix is not symmetric: entries [i, j] and [j, i] differ by up to "
            f"{apart:.3g}; pass (K + K.T) / 2 if that is only noise"
        )
    return rows if items.shape[0] == K.shape[0] else xp.take(rows, items, axis=0)


def _sparse_items(X: Any, kernel: KernelLike, gamma: float | None) -> KernelItems:
    if kernel == "cosine":
        X, kernel = unit_rows(X), "linear"
    block = kernel_for(X, kernel, gamma)
    if kernel == "linear":
        diagonal = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    else:
        diagonal = np.asarray(kernel_columns(X, block).diagonal)
    return KernelItems(X, block, None, diagonal)


def _numpy_kernel(X: Array, kernel: KernelLike, gamma: float | None) -> KernelItems:
    block = partial(_cast_block, kernel_for(X, kernel, gamma), X.dtype)
    if kernel == "rbf":
        diagonal = np.ones(len(X), dtype=X.dtype)
    else:
        diagonal = _block_diagonal(X, block)
    return KernelItems(X, block, None, diagonal)


def _cast_block(block: Any, dtype: Any, X: Array, Y: Array) -> Array:
    return np.asarray(block(X, Y), dtype=dtype)


def _block_diagonal(X: Array, block: Any) -> Array:
    xp = namespace_of(X)
    n = X.shape[0]
    starts = range(0, n, _DIAGONAL_BLOCK)
    parts = [X[start : min(start + _DIAGONAL_BLOCK, n), :] for start in starts]
    return xp.concat([xp.linalg.diagonal(block(part, part)) for part in parts])


def _foreign_kernel(X: Array, kernel: KernelLike, gamma: float | None) -> KernelItems:
    if callable(kernel):
        block = partial(_foreign_block, kernel)
        return KernelItems(X, block, None, _block_diagonal(X, block))
    if kernel != "rbf":
        raise ValueError(
            f"kernel {kernel!r} is for NumPy arrays; of other arrays there are 'cosine', 'linear', "
            "'rbf', 'precomputed' and your own function"
        )
    if gamma is None:
        n = X.shape[0]
        few = np.linspace(0, n - 1, min(n, _MEDIAN_ROWS)).astype(int).tolist()
        gamma = median_gamma(on_host(rows_at(X, indices_like(X, few))))
    ones = namespace_of(X).ones_like(X[:, 0])
    return KernelItems(X, partial(_rbf_block, math.sqrt(gamma)), None, ones)


def _foreign_block(kernel: Any, X: Array, Y: Array) -> Array:
    block, expected = kernel(X, Y), (X.shape[0], Y.shape[0])
    if tuple(block.shape) != expected:
        raise ValueError(
            f"kernel(X, Y) must return an array of shape {expected}, one entry for each pair of "
            f"rows, got {tuple(block.shape)}"
        )
    return block


def _rbf_block(root: float, X: Array, Y: Array) -> Array:
    """Return exp(-|root (x - y)|^2), with the root of gamma.

    Squares of differences, and not expanded ones, so that an offset of all rows changes nothing;
    and differences in the unit of gamma, so that their squares neither overflow nor vanish.
    """
    xp = namespace_of(X)
    apart = [(X - Y[row, :]) * root for row in range(Y.shape[0])]
    return xp.exp(-xp.stack([xp.vecdot(rows, rows) for rows in apart], axis=1))
