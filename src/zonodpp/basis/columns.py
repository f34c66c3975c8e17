"""The columns of A as walks on bases read them, and products with them.

Column s_j a_j is stored as l_j e_j, a length times a vector of about unit size, so that one
tolerance fits every column, however the weights differ. A sparse A stays sparse.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from zonodpp._jit import inlined
from zonodpp._types import Floats, Integers
from zonodpp.linalg.columns import Columns, columns_of, frozen
from zonodpp.linalg.dense import largest_entries, to_dense

# Error of a sum, relative to the sum of the sizes of its terms: a few units in the last place.
ROUNDING = 16 * np.finfo(float).eps
# Reading one non-zero of a sparse matrix takes as long as this many entries of a vectorised row.
SPARSE_COST = 10


class UnitColumns(NamedTuple):
    """The columns s_j a_j = l_j e_j.

    Dense e_j have Euclidean norm one. The largest entry of a sparse e_j is one in size: so the
    columns of a graph keep entries 0, 1 and -1, with which arithmetic is exact.
    """

    rows: Floats  # (r, n) the vectors e_j by rows, or (r, 0) if they are sparse or not needed
    by_row: Columns  # the same if they are sparse: entries indptr[i]:indptr[i + 1] are of row i
    by_column: Columns  # the same by columns, sparse if A is
    lengths: Floats  # (n,)
    blur: Floats  # (r,) rounding errors that the coordinates of a point E y, 0 <= y <= l, may have


def unit_columns(A: Any, scale: Floats | None) -> UnitColumns:
    """Split the columns s_j a_j into unit vectors and lengths; zero columns stay zero."""
    unit, lengths = unit_vectors(A)
    return keep_columns(unit, lengths if scale is None else lengths * scale)


def unit_vectors(A: Any) -> tuple[Any, Floats]:
    """Split columns into unit vectors and lengths, without squares that overflow or underflow.

    Powers of two bring the largest entry of each column close to one and change no digit.
    """
    exponents = np.frexp(largest_entries(A, axis=0))[1]
    if sp.issparse(A):
        unit = sp.csc_array(A, copy=True)
        unit.data = np.ldexp(unit.data, -np.repeat(exponents, np.diff(unit.indptr)))
        norms = largest_entries(unit, axis=0)
    else:
        unit = np.ldexp(A, -exponents)
        norms = np.linalg.norm(unit, axis=0)
    divisors = np.where(norms > 0, norms, 1.0)
    if sp.issparse(A):
        unit.data /= np.repeat(divisors, np.diff(unit.indptr))
    else:
        unit = unit / divisors
    return unit, np.ldexp(norms, exponents)


def keep_columns(unit: Any, lengths: Floats, *, by_rows: bool = True) -> UnitColumns:
    """Lay out unit vectors with their lengths; a column of length zero becomes zero.

    With ``by_rows=False`` a dense matrix is kept by columns alone, which takes half the memory.
    """
    blur = frozen(rounding_of(unit, lengths))
    present = (lengths > 0).astype(np.float64)
    if not sp.issparse(unit):
        unit = unit * present
        rows = unit if by_rows else np.empty((unit.shape[0], 0))
        none = columns_of(np.empty((0, 0)))
        return UnitColumns(frozen(rows), none, columns_of(unit), frozen(lengths), blur)
    unit = (unit @ sp.diags_array(present)).tocsc()
    unit.eliminate_zeros()
    # Columns stay sparse in any case; rows of a small A are faster as plain vectors.
    small = unit.nnz * SPARSE_COST > unit.shape[0] * unit.shape[1]
    rows = unit.toarray() if small else np.empty((unit.shape[0], 0))
    by_row = columns_of(unit.T)
    return UnitColumns(frozen(rows), by_row, columns_of(unit), frozen(lengths), blur)


def rounding_of(A: Any, factors: Floats) -> Floats:
    """Bound the rounding errors of the coordinates of a point A y, 0 <= y <= factors."""
    return ROUNDING * np.asarray(abs(A) @ factors)


def pad_columns(columns: UnitColumns, width: int) -> UnitColumns:
    """Add zero columns up to a multiple of ``width``, so that vectorised loops have no remainder.

    They have length zero, and no basis ever holds them.
    """
    missing = -columns.lengths.size % width
    by_column, rows = columns.by_column, columns.rows
    if by_column.dense.shape[0] > 0:
        dense = np.pad(by_column.dense, ((0, missing), (0, 0)))
        by_column = by_column._replace(dense=frozen(dense))
    else:
        indptr = np.pad(by_column.indptr, (0, missing), mode="edge")
        by_column = by_column._replace(indptr=frozen(indptr, np.int64))
    if rows.shape[1] > 0:
        rows = np.pad(rows, ((0, 0), (0, missing)))
    lengths = np.pad(columns.lengths, (0, missing))
    return UnitColumns(frozen(rows), columns.by_row, by_column, frozen(lengths), columns.blur)


def matrix_of(columns: UnitColumns) -> Any:
    """Return the vectors e_j as an (r, n) array or sparse matrix."""
    parts = columns.by_column
    if columns.rows.shape[1]:
        return columns.rows
    if parts.dense.shape[0]:
        return parts.dense.T
    shape = (columns.rows.shape[0], columns.lengths.size)
    return sp.csc_array((parts.data, parts.indices, parts.indptr), shape=shape)


def basis_matrix(columns: UnitColumns, basis: Any) -> Floats:
    """Return the vectors e_j of a basis as an (r, r) array."""
    unit = matrix_of(columns)[:, basis]
    return to_dense(unit)


@inlined
def tableau_row(columns: UnitColumns, weights: Floats, row: Floats, touched: Integers) -> None:
    """Set row_j = weights . e_j for all j: one r x n product, or a sum of sparse rows.

    ``touched`` is scratch. A row of T for a graph is mostly zero, so the rows to add are listed
    first, without branches that a processor could not predict.
    """
    r = weights.shape[0]
    n = row.shape[0]
    rows = columns.rows
    if rows.shape[1] == 0:
        indptr, indices, data = columns.by_row.indptr, columns.by_row.indices, columns.by_row.data
        for j in range(n):
            row[j] = 0.0
        count = 0
        for i in range(r):
            touched[count] = i
            count += 1 if weights[i] != 0.0 else 0
        for q in range(count):
            i = touched[q]
            for k in range(indptr[i], indptr[i + 1]):
                row[indices[k]] += weights[i] * data[k]
        return
    # Four rows at a time: the result is read and written a quarter as often.
    i = r % 4
    if i == 0:
        for j in range(n):
            row[j] = 0.0
    elif i == 1:
        w0 = weights[0]
        for j in range(n):
            row[j] = w0 * rows[0, j]
    elif i == 2:
        w0, w1 = weights[0], weights[1]
        for j in range(n):
            row[j] = w0 * rows[0, j] + w1 * rows[1, j]
    else:
        w0, w1, w2 = weights[0], weights[1], weights[2]
        for j in range(n):
            row[j] = w0 * rows[0, j] + w1 * rows[1, j] + w2 * rows[2, j]
    while i < r:
        w0, w1, w2, w3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for j in range(n):
            row[j] += (w0 * rows[i, j] + w1 * rows[i + 1, j]) + (
                w2 * rows[i + 2, j] + w3 * rows[i + 3, j]
            )
        i += 4


@inlined
def tableau_entry(columns: UnitColumns, T: Floats, p: int, item: int) -> float:
    """Return T_p . e_item: by this |det E_B| changes when the item takes place p."""
    dense = columns.by_column.dense
    total = 0.0
    if dense.shape[0] == 0:
        indptr, indices, data = (
            columns.by_column.indptr,
            columns.by_column.indices,
            columns.by_column.data,
        )
        for k in range(indptr[item], indptr[item + 1]):
            total += T[p, indices[k]] * data[k]
    else:
        for i in range(T.shape[1]):
            total += T[p, i] * dense[item, i]
    return total


@inlined
def tableau_column(columns: UnitColumns, T: Floats, item: int, column: Floats) -> None:
    """Set column = T e_item."""
    r = column.shape[0]
    if columns.by_column.dense.shape[0] > 0:
        for p in range(r):
            column[p] = tableau_entry(columns, T, p, item)
        return
    indptr, indices, data = (
        columns.by_column.indptr,
        columns.by_column.indices,
        columns.by_column.data,
    )
    for p in range(r):
        column[p] = 0.0
    for k in range(indptr[item], indptr[item + 1]):  # a loop over few entries is best outside
        i = indices[k]
        for p in range(r):
            column[p] += T[p, i] * data[k]


@inlined
def add_column(columns: UnitColumns, item: int, factor: float, to: Floats) -> None:
    """Add factor * e_item."""
    dense = columns.by_column.dense
    if dense.shape[0] == 0:
        indptr, indices, data = (
            columns.by_column.indptr,
            columns.by_column.indices,
            columns.by_column.data,
        )
        for k in range(indptr[item], indptr[item + 1]):
            to[indices[k]] += factor * data[k]
    else:
        for i in range(to.shape[0]):
            to[i] += factor * dense[item, i]


@inlined
def sum_columns(columns: UnitColumns, factors: Floats, to: Floats) -> None:
    """Set to = sum_j factors_j e_j."""
    n = factors.shape[0]
    rows = columns.rows
    if rows.shape[1] == 0:
        for i in range(to.shape[0]):
            to[i] = 0.0
        for j in range(n):
            if factors[j] != 0.0:
                add_column(columns, j, factors[j], to)
    else:
        for i in range(to.shape[0]):
            total = 0.0
            for j in range(n):
                total += rows[i, j] * factors[j]
            to[i] = total
