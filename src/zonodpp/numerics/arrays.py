"""Matrices as arrays: dense, in blocks, or by columns for compiled code.

Also unit rows, determinants of blocks of rows, and a product that is more accurate than float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from zonodpp._types import Floats, Integers, Matrix

_WIDTH = 4096  # columns of a block: r x WIDTH stays in cache, and no second r x n array is made
_ENTRIES = 2**24  # of a block of columns at most (128 MiB): where r is large, blocks are narrower
_DIGITS = 53  # bits of a floating-point number
# From 1 to the next number of float64: twice the largest relative error of one rounding.
EPS = float(np.finfo(float).eps)


def to_dense(X: Matrix) -> Floats:
    """Return X as a dense array."""
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())


def column_chunks(A: Matrix, scale: Floats | None = None) -> Iterator[tuple[slice, Floats]]:
    """Yield the columns s_j a_j a block at a time, as dense arrays."""
    for span, rows in row_chunks(A.T, min(_WIDTH, max(1, _ENTRIES // A.shape[0]))):
        yield span, rows.T if scale is None else rows.T * scale[span]


def row_chunks(X: Matrix, length: int | None = None) -> Iterator[tuple[slice, Floats]]:
    """Yield the rows of X a block at a time, as dense arrays.

    The default length suits a QR factorisation of the block below a triangle of that width.
    """
    rows = X if isinstance(X, np.ndarray) else X.tocsr()
    step = length or max(4096, 2 * X.shape[1])
    for start in range(0, X.shape[0], step):
        span = slice(start, min(start + step, X.shape[0]))
        yield span, to_dense(rows[span])


def largest_entries(X: Matrix, axis: int) -> Floats:
    """Return the largest absolute value of each column (axis 0) or row (axis 1)."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.maximum(X.max(axis=axis, initial=0.0), -X.min(axis=axis, initial=0.0)))
    return to_dense(abs(X).max(axis=axis)).ravel()


def unit_rows(X: Matrix) -> Matrix:
    """Bring rows to length one; zero rows stay zero."""
    return split_rows(X)[0]


def split_rows(X: Matrix) -> tuple[Matrix, Floats]:
    """Split rows into vectors of length one and the logs of their lengths.

    Rows are divided by their largest entry first, so that no square overflows or vanishes. A zero
    row stays zero, and the log of its length is -inf.
    """
    largest = largest_entries(X, axis=1)
    rows = _divided(X, largest)
    squares = rows * rows if isinstance(rows, np.ndarray) else rows.multiply(rows)
    lengths = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    with np.errstate(divide="ignore"):
        logs = np.log(lengths) + np.log(largest)
    return _divided(rows, lengths), logs


def _divided(X: Matrix, divisors: Floats) -> Matrix:
    """Divide each row by its divisor; a row whose divisor is zero stays as it is."""
    divisors = np.where(divisors > 0, divisors, 1.0)
    if isinstance(X, np.ndarray):
        return np.asarray(X / divisors[:, None])
    rows = sp.csr_array(X, copy=True)
    rows.data /= np.repeat(divisors, np.diff(rows.indptr))
    return rows


def log_dets(rows: Floats) -> Floats:
    """Return log |det| of square blocks of rows, (count, r, r)."""
    unit, log_lengths, smallest = unit_blocks(rows)
    with np.errstate(divide="ignore"):
        logs = np.linalg.slogdet(unit)[1] + log_lengths.sum(axis=1)
    logs[smallest < 4 * rows.shape[2] * EPS] = -np.inf
    return np.asarray(logs)


def unit_blocks(rows: Floats) -> tuple[Floats, Floats, Floats]:
    """Bring the rows of blocks, (count, k, m) for k <= m, to length one.

    Returns also the logs of their lengths, (count, k), and the smallest singular value of each
    block of unit rows. For dependent rows it is zero, up to rounding errors.
    """
    unit, logs = split_rows(rows.reshape(-1, rows.shape[2]))
    blocks = np.asarray(unit).reshape(rows.shape)
    smallest = np.linalg.svd(blocks, compute_uv=False).min(axis=1, initial=1.0)
    return blocks, logs.reshape(rows.shape[:2]), smallest


def accurate_product(W: Floats, X: Floats) -> tuple[Floats, Floats]:
    """Return W X as if computed with about 76 bits and then rounded, and a bound of its error.

    Each factor is cut into slices of so few bits that products of slices are exact sums, in
    whatever order they are added up (Ozaki, Ogita, Oishi, Rump, 2012).
    """
    bits = (_DIGITS - 2 - int(np.ceil(np.log2(W.shape[1] + 1)))) // 2
    W1, W2, W3 = _slices(W, bits, axis=1)
    X1, X2, X3 = _slices(X, bits, axis=0)
    rest = W1 @ X3 + W2 @ (X2 + X3) + W3 @ X
    product = W1 @ X1 + ((W1 @ X2 + W2 @ X1) + rest)
    error = W.shape[1] * 2.0 ** (2 - bits - _DIGITS) * (np.abs(W) @ np.abs(X))
    return product, error


def _slices(X: Floats, bits: int, axis: int) -> tuple[Floats, Floats, Floats]:
    """Return X as a sum of three parts: leading bits, the bits after them, and the rest.

    All entries along the axis are cut at the same bits.
    """
    slices = []
    for _ in range(2):
        largest = np.abs(X).max(axis=axis, keepdims=True)
        unit = np.ldexp(1.5, np.frexp(largest)[1] + _DIGITS - 1 - bits)
        high = (X + unit) - unit
        slices.append(high)
        X = X - high
    return slices[0], slices[1], X


class Columns(NamedTuple):
    """Column j of A: ``dense[j]``, or the entries ``indptr[j]:indptr[j + 1]`` of a sparse A.

    The representation that is not used has zero length. All arrays are read-only and contiguous,
    so that kernels are compiled for one signature.
    """

    dense: Floats
    indptr: Integers
    indices: Integers
    data: Floats


def frozen(array: NDArray[Any], dtype: type = np.float64) -> NDArray[Any]:
    """Return a read-only, C-contiguous view (a copy only if the layout or type differs)."""
    view: NDArray[Any] = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def refreeze(value: Any) -> None:
    """Make all arrays of an unpickled sampler read-only again.

    Kernels are compiled for read-only arrays; writable ones would cost a second compilation.
    """
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, tuple):
        for part in value:
            refreeze(part)
    elif is_dataclass(value):
        for part in fields(value):
            refreeze(getattr(value, part.name))


def columns_of(A: Any) -> Columns:
    """Lay out A, an (r, n) array or scipy.sparse matrix, by columns."""
    if sp.issparse(A):
        csc = A.tocsc()
        indptr, indices = frozen(csc.indptr, np.int64), frozen(csc.indices, np.int64)
        return Columns(frozen(np.empty((0, A.shape[0]))), indptr, indices, frozen(csc.data))
    none = frozen(np.empty(0), np.int64)
    return Columns(frozen(A.T), none, none, frozen(np.empty(0)))
