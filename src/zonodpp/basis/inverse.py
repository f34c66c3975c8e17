"""The inverse T of a basis: updated when one item replaces another, and computed anew."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from zonodpp._jit import inlined, lean
from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns, tableau_column


class InverseScratch(NamedTuple):
    """Memory for `invert` and `renew_inverse`, so that compiled code allocates nothing."""

    matrix: Floats  # (r, r)
    owner: Integers  # (r,) row k of matrix belongs to candidate owner[k], or to none if -1
    column: Floats  # (r,)
    touched: Integers  # (r,)


def inverse_scratch(r: int) -> InverseScratch:
    """Allocate memory for a basis of r items."""
    return InverseScratch(
        matrix=np.empty((r, r)),
        owner=np.empty(r, np.int64),
        column=np.empty(r),
        touched=np.empty(r, np.int64),
    )


@inlined
def replace_item(T: Floats, p: int, column: Floats, item: int, touched: Integers) -> None:
    """Let an item enter the basis at place p: a rank-one update of T.

    T is the inverse of the basis, and ``item`` is -1; or it is the inverse times E, and column
    ``item`` of it, which becomes a unit vector, is set without rounding errors. ``column`` is the
    inverse times e_item; ``touched`` is scratch. The columns of a graph leave most of ``column``
    zero, so the rows to update are listed first, without branches that a processor could not
    predict.
    """
    r = column.shape[0]
    width = T.shape[1]
    inverse = 1.0 / column[p]
    for i in range(width):
        T[p, i] *= inverse
    if item >= 0:
        T[p, item] = 1.0
    count = 0
    for k in range(r):
        touched[count] = k
        count += 1 if (column[k] != 0.0) & (k != p) else 0
    q = 0
    while q + 1 < count:  # two rows at a time: row p is read half as often
        k, m = touched[q], touched[q + 1]
        factor, other = column[k], column[m]
        for i in range(width):
            T[k, i] -= factor * T[p, i]
            T[m, i] -= other * T[p, i]
        q += 2
    if q < count:
        k = touched[q]
        factor = column[k]
        for i in range(width):
            T[k, i] -= factor * T[p, i]


@inlined
def share_of(column: Floats, p: int) -> float:
    """Return the share that entry p has in the squared length of the column."""
    total = 0.0
    for k in range(column.shape[0]):
        total += column[k] * column[k]
    return column[p] * column[p] / total if total > 0.0 else 0.0


@lean
def invert(
    columns: UnitColumns, candidates: Integers, least: float, scratch: InverseScratch
) -> tuple[int, float]:
    """Set matrix to the inverse of the first r independent candidates: Gauss-Jordan elimination.

    Each candidate takes the free row of the matrix in which its entry is largest; row k belongs to
    ``candidates[owner[k]]``. A candidate whose entry is at most ``least`` times the length of its
    column counts as dependent on those before it.

    Returns
    -------
    placed, log_det : int, float
        The number of independent candidates, and log |det| of their vectors e_j if there are r.
    """
    matrix, owner, column = scratch.matrix, scratch.owner, scratch.column
    r = owner.shape[0]
    for k in range(r):
        owner[k] = -1
        for i in range(r):
            matrix[k, i] = 1.0 if i == k else 0.0
    placed = 0
    log_det = 0.0
    for c in range(candidates.shape[0]):
        tableau_column(columns, matrix, candidates[c], column)
        best = -1
        for k in range(r):
            if owner[k] < 0 and (best < 0 or abs(column[k]) > abs(column[best])):
                best = k
        if share_of(column, best) > least * least:
            log_det += math.log(abs(column[best]))
            replace_item(matrix, best, column, -1, scratch.touched)
            owner[best] = c
            placed += 1
            if placed == r:
                break
    return placed, log_det


@lean
def renew_inverse(
    columns: UnitColumns, basis: Integers, T: Floats, least: float, scratch: InverseScratch
) -> tuple[float, float]:
    """Compute T anew from the basis, and measure how far its updates had drifted.

    Returns
    -------
    drift, log_det : float, float
        The largest change of an entry, relative to the largest entry, and log |det E_B|. If the
        basis is singular, drift is infinite, log_det is minus infinity, and T stays as it was.
    """
    matrix, owner = scratch.matrix, scratch.owner
    placed, log_det = invert(columns, basis, least, scratch)
    if placed < basis.shape[0]:
        return np.inf, -np.inf
    change = 0.0
    largest = 0.0
    for i in range(T.shape[0]):
        p = owner[i]
        for k in range(T.shape[1]):
            change = max(change, abs(matrix[i, k] - T[p, k]))
            largest = max(largest, abs(matrix[i, k]))
            T[p, k] = matrix[i, k]
    return change / largest, log_det
