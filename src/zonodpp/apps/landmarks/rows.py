"""Rows to pick landmarks from: equal rows merged, with weights that count as repetitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from zonodpp._types import Floats, Integers, Matrix
from zonodpp.numerics.arrays import row_chunks, to_dense

Bits = NDArray[np.uint64]

CHUNK = 2**17  # entries of X in one block: temporary arrays are no larger than a block
_ORDERING = 3  # columns by which rows are put in order
_HASHED = 2**15  # entries hashed at a time: with temporary arrays they fit into a cache


class DistinctRows(NamedTuple):
    """The rows of X to pick from, and their weights: weight 3 stands for three equal rows."""

    X: Matrix
    rows: Integers
    weights: Floats


def merge(X: Matrix, weights: Floats) -> DistinctRows:
    """Return the first of each set of equal rows, and the summed weights of the set.

    Rows without weight are left out. The order depends on the rows alone, not on their places, so
    that repeated and shuffled rows give the same draw. Rows are told apart by a 64-bit hash: if
    two of a million collide (a chance of one in thirty million), one of them cannot be picked.
    """
    rows = np.flatnonzero(weights > 0).astype(np.int64)
    _, first, group = np.unique(row_keys(X)[rows], return_index=True, return_inverse=True)
    merged = np.bincount(group, weights[rows]).astype(np.float64)
    order = _order_of(X if len(rows) == X.shape[0] else X[rows], first)
    return DistinctRows(X, rows[first[order]], merged[order])


def _order_of(X: Matrix, some: Integers) -> Integers:
    """Order some rows by the first columns that vary; rows that are equal there stay as they are.

    Such an order is the same in other units and with another origin, so that random draws are too.
    """
    extremes = (to_dense(part).ravel() for part in (X.min(axis=0), X.max(axis=0)))
    columns = np.flatnonzero(np.not_equal(*extremes))[:_ORDERING]
    if not columns.size:
        return np.arange(len(some))
    keys = [to_dense(X[:, [column]]).ravel()[some] for column in columns]
    order = np.argsort(keys[0])
    ordered = keys[0][order]
    # One column is often enough, and that is several times as fast.
    return order if (ordered[1:] > ordered[:-1]).all() else np.lexsort(keys[::-1])


def row_keys(X: Matrix) -> Bits:
    """Return a 64-bit hash of each row, of its non-zero entries and their columns."""
    n, d = X.shape
    if not isinstance(X, np.ndarray):
        hashes = sp.csr_array((_hashes(X.data, X.indices), X.indices, X.indptr), shape=(n, d))
        return np.asarray(hashes.sum(axis=1))
    keys, columns = np.empty(n, dtype=np.uint64), np.arange(d)
    for span, rows in row_chunks(X, max(1, _HASHED // d)):
        keys[span] = _hashes(rows, columns).sum(axis=1)
    return keys


def _hashes(entries: Floats, columns: Integers) -> Bits:
    """Return hashes of entries and their columns (splitmix64); those of zeros are zero."""
    x = columns.astype(np.uint64) + np.uint64(1)
    x = x * np.uint64(0x9E3779B97F4A7C15) + np.ascontiguousarray(entries).view(np.uint64)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    x[entries == 0] = 0  # so that sparse and dense rows have the same key
    return x


def chunks(X: Matrix) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of rows of X as dense arrays, each with its range of rows."""
    return row_chunks(X, max(64, CHUNK // X.shape[1]))
