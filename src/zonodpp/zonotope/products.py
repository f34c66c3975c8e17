"""A as the kernels read it, and the products with it: a row, a column, a sum of columns.

Columns are stored as unit vectors with lengths: Z(A) = { sum_j y_j e_j : 0 <= y_j <= l_j }. Then
one tolerance fits every column, however the weights differ. A sparse A stays sparse.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from zonodpp._jit import VECTOR, inlined
from zonodpp.matrices.columns import Columns, Floats, columns_of, frozen

ROUNDING = 16 * np.finfo(float).eps  # of a sum, relative to the sum of its terms' sizes
SPARSE_COST = 10  # a gathered non-zero takes as long as this many entries of a vectorised row


class Engine(NamedTuple):
    """The columns s_j a_j = l_j e_j."""

    rows: Floats  # (r, n), unit columns e_j; (r, 0) if sparse
    columns: Columns  # the same by columns, sparse if A is
    lengths: Floats  # (n,)
    blur: Floats  # (r,) rounding errors that the coordinates of a point A y may have


def make_engine(A: Any, scale: Floats | None) -> Engine:
    """Split the columns s_j a_j into unit vectors and lengths; zero columns stay zero."""
    unit, norms = unit_vectors(A)
    lengths = norms if scale is None else norms * scale
    blur = frozen(rounding_of(unit, lengths))
    present = (lengths > 0).astype(np.float64)  # a column of weight zero becomes zero, too
    if not sp.issparse(unit):
        unit = unit * present
        return Engine(frozen(unit), columns_of(unit), frozen(lengths), blur)
    unit = (unit @ sp.diags_array(present)).tocsc()
    unit.eliminate_zeros()
    # Columns stay sparse in any case; rows of a small A are faster as plain vectors.
    rows = np.empty((A.shape[0], 0))
    if unit.nnz * SPARSE_COST > A.shape[0] * A.shape[1]:
        rows = unit.toarray()
    return Engine(frozen(rows), columns_of(unit), frozen(lengths), blur)


def unit_vectors(A: Any) -> tuple[Any, Floats]:
    """Split columns into unit vectors and lengths, without squares that overflow or underflow.

    Powers of two bring the largest entry of each column close to one and change no digit.
    """
    sizes = abs(A).max(axis=0)
    exponents = np.frexp(sizes.toarray().ravel() if sp.issparse(A) else sizes)[1]
    if sp.issparse(A):
        unit = sp.csc_array(A, copy=True)
        unit.data = np.ldexp(unit.data, -np.repeat(exponents, np.diff(unit.indptr)))
        norms = np.sqrt(np.asarray(unit.multiply(unit).sum(axis=0)).ravel())
    else:
        unit = np.ldexp(A, -exponents)
        norms = np.linalg.norm(unit, axis=0)
    factors = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    unit = unit @ sp.diags_array(factors) if sp.issparse(A) else unit * factors
    return unit, np.ldexp(norms, exponents)


def rounding_of(A: Any, factors: Floats) -> Floats:
    """Bound the rounding errors of the coordinates of a point A y, 0 <= y <= factors."""
    return ROUNDING * np.asarray(abs(A) @ factors)


def filled_up(engine: Engine) -> Engine:
    """Add zero columns up to a multiple of what one instruction takes; no tile ever holds them."""
    r, n = engine.rows.shape
    missing = -n % VECTOR
    if missing == 0:  # also where rows are sparse
        return engine
    columns = engine.columns
    if columns.dense.shape[0] > 0:
        dense = np.concatenate([columns.dense, np.zeros((missing, r))])
        columns = columns._replace(dense=frozen(dense))
    else:
        indptr = np.concatenate([columns.indptr, np.full(missing, columns.indptr[-1])])
        columns = columns._replace(indptr=frozen(indptr, np.int64))
    rows = np.concatenate([engine.rows, np.zeros((r, missing))], axis=1)
    lengths = np.concatenate([engine.lengths, np.zeros(missing)])
    return Engine(frozen(rows), columns, frozen(lengths), engine.blur)


def unit_columns(engine: Engine) -> Any:
    """Return the unit columns as an (r, n) array or sparse matrix."""
    if engine.rows.shape[1]:
        return engine.rows
    parts = engine.columns
    shape = (engine.rows.shape[0], engine.lengths.size)
    return sp.csc_array((parts.data, parts.indices, parts.indptr), shape=shape)


@inlined
def tableau_row(engine: Engine, weights: Floats, row: Floats) -> None:
    """Set row_j = weights . e_j for all j: one r x n product, or one pass over the non-zeros."""
    r = weights.shape[0]
    n = row.shape[0]
    rows = engine.rows
    if rows.shape[1] == 0:
        indptr, indices, data = (
            engine.columns.indptr,
            engine.columns.indices,
            engine.columns.data,
        )
        k = 0
        for j in range(n):
            total = 0.0
            end = indptr[j + 1]
            while k < end:
                total += weights[indices[k]] * data[k]
                k += 1
            row[j] = total
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
def tableau_column(engine: Engine, T: Floats, item: int, column: Floats) -> None:
    """Set column = T e_item."""
    r = T.shape[0]
    if engine.columns.dense.shape[0] == 0:
        indptr, indices, data = (
            engine.columns.indptr,
            engine.columns.indices,
            engine.columns.data,
        )
        for p in range(r):
            total = 0.0
            for k in range(indptr[item], indptr[item + 1]):
                total += T[p, indices[k]] * data[k]
            column[p] = total
    else:
        dense = engine.columns.dense
        for p in range(r):
            total = 0.0
            for i in range(r):
                total += T[p, i] * dense[item, i]
            column[p] = total


@inlined
def add_column(engine: Engine, item: int, factor: float, to: Floats) -> None:
    """Add factor * e_item."""
    if engine.columns.dense.shape[0] == 0:
        indptr, indices, data = engine.columns.indptr, engine.columns.indices, engine.columns.data
        for k in range(indptr[item], indptr[item + 1]):
            to[indices[k]] += factor * data[k]
    else:
        dense = engine.columns.dense
        for i in range(to.shape[0]):
            to[i] += factor * dense[item, i]


@inlined
def sum_columns(engine: Engine, factors: Floats, to: Floats) -> None:
    """Set to = sum_j factors_j e_j."""
    n = factors.shape[0]
    rows = engine.rows
    if rows.shape[1] == 0:
        for i in range(to.shape[0]):
            to[i] = 0.0
        for j in range(n):
            if factors[j] != 0.0:
                add_column(engine, j, factors[j], to)
    else:
        for i in range(to.shape[0]):
            total = 0.0
            for j in range(n):
                total += rows[i, j] * factors[j]
            to[i] = total
