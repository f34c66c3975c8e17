"""The distinct rows of a data set, with weights that count as repetitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import jit
from zonodpp._types import Floats, Integers, Matrix
from zonodpp.linalg.dense import row_chunks

Bits = NDArray[np.uint64]

CHUNK = 2**17  # entries of X in one block: temporary arrays are no larger than a block


class DistinctRows(NamedTuple):
    """The rows of X to pick from, and the weight of each, which counts as repetitions."""

    X: Matrix
    rows: Integers
    weights: Floats


def merge(X: Matrix, weights: Floats) -> DistinctRows:
    """Return the first of each set of equal rows, and the summed weights of the set.

    Rows without weight are left out. The order depends on the rows alone, not on their places, so
    that repeated and shuffled rows give the same draw. Rows are told apart by a 64-bit hash: should
    two of a million collide (odds of one in thirty million), one of them could not be picked.
    """
    rows = np.flatnonzero(weights > 0).astype(np.int64)
    _, first, group = np.unique(row_keys(X)[rows], return_index=True, return_inverse=True)
    return DistinctRows(X, rows[first], np.bincount(group, weights[rows]).astype(np.float64))


def row_keys(X: Matrix) -> Bits:
    """Return a 64-bit hash of each row, of its non-zero entries and their columns."""
    d = X.shape[1]
    keys = np.zeros(X.shape[0], np.uint64)
    if not isinstance(X, np.ndarray):
        _add_hashes(_bits(X.data), X.indices.astype(np.int64), X.indptr.astype(np.int64), keys)
        return keys
    columns = np.tile(np.arange(d), max(64, CHUNK // d))  # as many rows as a block has
    for span, rows in chunks(X):
        _add_hashes(_bits(rows).ravel(), columns, np.arange(0, rows.size + 1, d), keys[span])
    return keys


def _bits(entries: Floats) -> Bits:
    bits = np.ascontiguousarray(entries).view(np.uint64)
    bits.flags.writeable = False  # so that numba compiles one signature only
    return bits


@jit
def _add_hashes(bits: Bits, columns: Integers, starts: Integers, keys: Bits) -> None:
    """Add the hashes of entries and their columns (splitmix64) to the key of their row.

    Zeros of either sign are left out, so that sparse and dense rows have the same key.
    """
    for i in range(len(keys)):
        for k in range(starts[i], starts[i + 1]):
            if bits[k] << np.uint64(1) != np.uint64(0):
                x = bits[k] + np.uint64(columns[k] + 1) * np.uint64(0x9E3779B97F4A7C15)
                x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                keys[i] += x ^ (x >> np.uint64(31))


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
