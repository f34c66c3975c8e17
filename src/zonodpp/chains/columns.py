"""The columns of A as walks on bases read them, and products with them.

Column s_j a_j is stored as l_j e_j, a length times a vector of about unit size, so that one
tolerance fits every column, however the weights differ. A sparse A stays sparse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from zonodpp._types import Floats, Integers, Matrix
from zonodpp.numerics.arrays import frozen, largest_entries, to_dense
from zonodpp.numerics.compiled import forceinline

# Coordinates of a point may lie this far beyond their bounds, in units of the longest column: far
# more than their rounding errors in a basis that is well conditioned.
_FEASIBLE = 1e-11
# Reading one non-zero of a sparse matrix takes as long as this many entries of a vectorised row.
_SPARSE_COST = 10
_NONE = -(2**20)  # exponent that stands for an entry of zero: below all others


class UnitColumns(NamedTuple):
    """The columns s_j a_j = l_j e_j of an r x n matrix, dense or sparse.

    Dense e_j have Euclidean norm one. The largest entry of a sparse e_j is one in size: so the
    columns of a graph keep entries 0, 1 and -1, with which arithmetic is exact.
    """

    rows: Floats  # (r, n) the vectors e_j by rows, or (r, 0) if they are sparse or not needed
    dense: Floats  # (n, r) the vectors e_j by columns, or (0, r) if they are sparse
    # If they are sparse: column j is entries indptr[j]:indptr[j + 1], row i of the matrix is
    # entries indptr[n + i]:indptr[n + i + 1].
    indptr: Integers
    indices: Integers
    data: Floats
    lengths: Floats  # (n,)
    # (r,) rounding errors that the coordinates of a point E y, 0 <= y <= l, may have. `frame_of`
    # sets them for zonotopes; no other walk reads them, and there they are zero.
    blur: Floats
    tolerance: float  # by which coordinates in a basis may lie beyond their bounds


def even_rows(A: Matrix, scale: Floats | None) -> tuple[Matrix, Integers]:
    """Return the columns s_j a_j with rows divided by 2**heights, so that their maxima are near 1.

    Exponents are added up before anything is multiplied, so that no product overflows.
    """
    mantissas, exponents = np.frexp(np.ones(A.shape[1]) if scale is None else scale)
    if not sp.issparse(A):
        products = A * mantissas
        sizes = np.frexp(products)[1] + exponents
        heights = np.where(products == 0, _NONE, sizes).max(axis=1)
        return np.ldexp(products, exponents - heights[:, None]), heights
    X = sp.csc_array(A, copy=True)
    counts = np.diff(X.indptr)
    exponents = np.repeat(exponents, counts)
    X.data = X.data * np.repeat(mantissas, counts)
    sizes = np.where(X.data == 0, _NONE, np.frexp(X.data)[1] + exponents)
    heights = np.full(A.shape[0], _NONE)
    np.maximum.at(heights, X.indices, sizes)
    X.data = np.ldexp(X.data, exponents - heights[X.indices])
    return X, heights


def unit_vectors(A: Matrix) -> tuple[Matrix, Floats]:
    """Split columns into unit vectors and lengths, see `UnitColumns`.

    Powers of two first bring the largest entry of each dense column close to one and change no
    digit, so that no square overflows or underflows.
    """
    largest = largest_entries(A, axis=0)
    if sp.issparse(A):
        unit = sp.csc_array(A, copy=True)
        unit.data /= np.repeat(np.where(largest > 0, largest, 1.0), np.diff(unit.indptr))
        return unit, largest
    exponents = np.frexp(largest)[1]
    unit = np.ldexp(A, -exponents)
    norms = np.linalg.norm(unit, axis=0)
    return unit / np.where(norms > 0, norms, 1.0), np.ldexp(norms, exponents)


def keep_columns(
    unit: Matrix, lengths: Floats, *, by_rows: bool = True, multiple: int = 1
) -> UnitColumns:
    """Lay out unit vectors with their lengths; a column of length zero becomes zero.

    With ``by_rows=False`` a dense copy by rows is left out. Zero columns, which no basis holds, are
    appended until the number of columns is a multiple of ``multiple``, so that vectorised loops
    have no remainder.
    """
    r, n = unit.shape
    padded = n + -n % multiple
    rows, dense = np.empty((r, 0)), np.empty((0, r))
    indptr, indices, data = np.zeros(1), np.empty(0), np.empty(0)
    if sp.issparse(unit):
        present = np.arange(n)[lengths > 0]
        keep = sp.csc_array((np.ones(present.size), (present, present)), shape=(n, padded))
        unit = by_column = (unit @ keep).tocsc()
        by_column.eliminate_zeros()
        by_row = by_column.tocsr()
        # Columns stay sparse in any case; rows of a small A are faster as plain vectors.
        by_rows = by_rows and by_column.nnz * _SPARSE_COST > r * padded
        indptr = np.append(by_column.indptr, by_column.nnz + by_row.indptr[1:])
        indices = np.append(by_column.indices, by_row.indices)
        data = np.append(by_column.data, by_row.data)
    else:
        dense = np.zeros((padded, r))
        dense[:n] = np.where(lengths > 0, unit, 0.0).T
        unit = dense.T
    if by_rows:
        rows = to_dense(unit)
    return UnitColumns(
        rows=frozen(rows),
        dense=frozen(dense),
        indptr=frozen(indptr, np.int64),
        indices=frozen(indices, np.int64),
        data=frozen(data),
        lengths=frozen(np.append(lengths, np.zeros(padded - n))),
        blur=frozen(np.zeros(r)),
        tolerance=_FEASIBLE * float(lengths.max()),
    )


def matrix_of(columns: UnitColumns) -> Matrix:
    """Return the vectors e_j as an (r, n) array or sparse matrix."""
    if columns.dense.shape[0]:
        return columns.dense.T
    n = columns.lengths.size
    indptr = columns.indptr[: n + 1]
    data, indices = columns.data[: indptr[-1]], columns.indices[: indptr[-1]]
    return sp.csc_array((data, indices, indptr), shape=(columns.rows.shape[0], n))


def basis_matrix(columns: UnitColumns, basis: Integers) -> Floats:
    """Return the vectors e_j of a basis as an (r, r) array."""
    if columns.dense.shape[0]:
        return columns.dense[basis].T
    return to_dense(matrix_of(columns)[:, basis])


@forceinline
def dot(x: Floats, y: Floats) -> float:
    """Return the scalar product."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@forceinline
def tableau_row(columns: UnitColumns, vector: Floats, row: Floats) -> None:
    """Set row_j = vector . e_j for all j: one r x n product, or a sum of sparse rows.

    The sum skips entries of zero: a row of T for a graph is mostly zero.
    """
    rows, indptr, indices, data = columns.rows, columns.indptr, columns.indices, columns.data
    r, n = vector.shape[0], row.shape[0]
    over = r % 4
    if over == 0 or rows.shape[1] == 0:
        for j in range(n):
            row[j] = 0.0
    if rows.shape[1] == 0:
        for i in range(r):
            if vector[i] != 0.0:
                for k in range(indptr[n + i], indptr[n + i + 1]):
                    row[indices[k]] += vector[i] * data[k]
        return
    # Four rows are added at a time, so that the result is read and written a quarter as often. The
    # r % 4 rows that are left over come first, in one pass.
    if over == 1:
        for j in range(n):
            row[j] = vector[0] * rows[0, j]
    elif over == 2:
        for j in range(n):
            row[j] = vector[0] * rows[0, j] + vector[1] * rows[1, j]
    elif over == 3:
        for j in range(n):
            row[j] = vector[0] * rows[0, j] + vector[1] * rows[1, j] + vector[2] * rows[2, j]
    for i in range(over, r, 4):
        w0, w1, w2, w3 = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        for j in range(n):
            low = w0 * rows[i, j] + w1 * rows[i + 1, j]
            row[j] += low + (w2 * rows[i + 2, j] + w3 * rows[i + 3, j])


@forceinline
def tableau_entry(columns: UnitColumns, vector: Floats, item: int) -> float:
    """Return vector . e_item.

    If the vector is row p of T, its size is the factor of |det E_B| when the item takes place p.
    """
    dense, indices, data = columns.dense, columns.indices, columns.data
    total = 0.0
    if dense.shape[0] == 0:
        for k in range(columns.indptr[item], columns.indptr[item + 1]):
            total += vector[indices[k]] * data[k]
    else:
        for i in range(vector.shape[0]):
            total += vector[i] * dense[item, i]
    return total


@forceinline
def multiply(T: Floats, vector: Floats, product: Floats) -> None:
    """Set product = T vector."""
    for p in range(T.shape[0]):
        product[p] = dot(T[p], vector)


@forceinline
def tableau_column(columns: UnitColumns, T: Floats, item: int, column: Floats) -> None:
    """Set column = T e_item."""
    data, r = columns.data, column.shape[0]
    if columns.dense.shape[0] > 0:
        multiply(T, columns.dense[item], column)
        return
    for p in range(r):
        column[p] = 0.0
    # The outer loop is over the few entries of the column, so that the inner one is longer.
    for k in range(columns.indptr[item], columns.indptr[item + 1]):
        i = columns.indices[k]
        for p in range(r):
            column[p] += T[p, i] * data[k]


@forceinline
def add_column(columns: UnitColumns, item: int, factor: float, total: Floats) -> None:
    """Add factor e_item to ``total``."""
    dense, indices, data = columns.dense, columns.indices, columns.data
    if dense.shape[0] > 0:
        for i in range(total.shape[0]):
            total[i] += factor * dense[item, i]
    else:
        for k in range(columns.indptr[item], columns.indptr[item + 1]):
            total[indices[k]] += factor * data[k]
