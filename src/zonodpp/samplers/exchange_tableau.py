"""The tableau of an exchange walk: its entries, its rank-one changes, and computing it anew.

A part of `zonodpp.samplers.exchange`, where the mathematics is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import inlined, lean
from zonodpp.matrices.columns import Columns, Floats, Integers

DRIFT = 1e-9  # change of T, relative to its largest entry, that does not count when computed anew
BLOCK = 4  # weights summed together; they lie apart, so that sums are taken side by side


class Items(NamedTuple):
    """The items: weighted column j of A is ``factors[j]`` times direction j.

    ``frame`` has all directions, if T D is kept; ``rows`` the rows of sparse directions, laid out
    like columns; ``alias`` the table from which items are proposed. What the walk does not need is
    empty.
    """

    directions: Columns
    rows: Columns
    factors: Floats
    alias: Floats
    frame: Floats


class Basis(NamedTuple):
    """A basis, changed in place.

    Item ``inside[k]`` has ``place`` k and row k of the tableau; ``outside[k]`` has place -1 - k.
    The tableau is T, or all of T D if the items have a frame. That is as large as many rows: of a
    dense one every second change waits for the next, and both are written in one pass.
    """

    inside: Integers
    outside: Integers
    place: Integers
    tableau: Floats
    age: Integers  # (1,) rank-one changes since the tableau was computed from the basis
    late: Integers  # (1,) the place whose change waits, or -1
    late_row: Floats  # what is to be that row
    late_column: Floats  # (r,) how often it is to be taken off the others; zero if none waits


class Scratch(NamedTuple):
    """Room for rows, columns and sums, so that kernels allocate nothing."""

    weights: Floats  # (n filled up,)
    sums: Floats  # (blocks,) running
    matrix: Floats  # like the tableau
    row: Floats  # like a row of it
    column: Floats  # (r,)
    nonzero: Integers  # (r,)
    owner: Integers  # (r,)
    ordered: NDArray[np.int32]  # (r,) the basis, ascending
    others: NDArray[np.int32]  # (r + 1,), -1 in front


def aligned(shape: tuple[int, ...]) -> Floats:
    """Allocate an array that begins with a cache line: rank-one changes are faster by a third."""
    size = math.prod(shape)
    room = np.empty(size + 7)
    first = -room.ctypes.data // 8 % 8
    return room[first : first + size].reshape(shape)


def scratch_for(items: Items) -> Scratch:
    """Allocate scratch."""
    r, filled = items.frame.shape[0], items.factors.shape[0]
    width = items.frame.shape[1] or r
    return Scratch(
        weights=np.zeros(filled),
        sums=np.zeros(filled // BLOCK),
        matrix=np.empty((r, width)),
        row=aligned((width,)),
        column=np.empty(r),
        nonzero=np.empty(r, np.int64),
        owner=np.empty(r, np.int64),
        ordered=np.empty(r, np.int32),
        others=np.full(r + 1, -1, np.int32),
    )


@inlined
def entry(items: Items, tableau: Floats, s: int, t: int) -> float:
    """Return T_s . d_t: by this the determinant of directions changes when t replaces s."""
    directions = items.directions
    total = 0.0
    if items.frame.shape[1] > 0:
        total = tableau[s, t]
    elif directions.dense.shape[0] > 0:
        for i in range(tableau.shape[0]):
            total += tableau[s, i] * directions.dense[t, i]
    else:
        for e in range(directions.indptr[t], directions.indptr[t + 1]):
            total += tableau[s, directions.indices[e]] * directions.data[e]
    return total


@inlined
def tableau_column(items: Items, tableau: Floats, t: int, column: Floats) -> None:
    """Set column = T d_t."""
    directions = items.directions
    r = tableau.shape[0]
    if items.frame.shape[1] > 0:
        for k in range(r):
            column[k] = tableau[k, t]
    elif directions.dense.shape[0] > 0:
        for k in range(r):
            column[k] = entry(items, tableau, k, t)
    else:
        for k in range(r):
            column[k] = 0.0
        for e in range(directions.indptr[t], directions.indptr[t + 1]):
            i = directions.indices[e]
            for k in range(r):
                column[k] += tableau[k, i] * directions.data[e]


@inlined
def frame_row(basis: Basis, s: int, scratch: Scratch) -> None:
    """Set row = T_s D, as it is with the change that waits."""
    tableau, row, late_row = basis.tableau, scratch.row, basis.late_row
    factor = basis.late_column[s]
    if basis.late[0] == s:
        for t in range(row.shape[0]):
            row[t] = late_row[t]
    else:
        for t in range(row.shape[0]):
            row[t] = tableau[s, t] - factor * late_row[t]


@inlined
def current_column(items: Items, basis: Basis, t: int, column: Floats) -> None:
    """Set column = T d_t, as it is with the change that waits."""
    tableau_column(items, basis.tableau, t, column)
    if basis.late[0] >= 0:
        late = basis.late_row[t]
        for k in range(column.shape[0]):
            column[k] -= basis.late_column[k] * late
        column[basis.late[0]] = late


@inlined
def weighted_row(items: Items, tableau: Floats, s: int, scratch: Scratch) -> None:
    """Set weights[t] = T_s . d_t f_t for all items t."""
    rows, factors, weights, nonzero = items.rows, items.factors, scratch.weights, scratch.nonzero
    if items.frame.shape[1] > 0:
        for t in range(weights.shape[0]):
            weights[t] = scratch.row[t] * factors[t]
    elif rows.indptr.shape[0] > 0:
        for t in range(weights.shape[0]):
            weights[t] = 0.0
        active = 0
        for i in range(tableau.shape[0]):  # few in a graph; to find them first saves branches
            nonzero[active] = i
            active += 1 if tableau[s, i] != 0.0 else 0
        for a in range(active):
            i = nonzero[a]
            for e in range(rows.indptr[i], rows.indptr[i + 1]):
                weights[rows.indices[e]] += tableau[s, i] * rows.data[e]
        for t in range(weights.shape[0]):
            weights[t] *= factors[t]
    else:
        for t in range(items.directions.dense.shape[0]):
            weights[t] = entry(items, tableau, s, t) * factors[t]


@inlined
def length(items: Items, tableau: Floats, s: int, scratch: Scratch) -> float:
    """Return the length of row s; with a frame, of the row at hand."""
    total = 0.0
    for i in range(tableau.shape[1]):
        entry = scratch.row[i] if items.frame.shape[1] > 0 else tableau[s, i]
        total += entry * entry
    return math.sqrt(total)


@inlined
def share_of(column: Floats, s: int) -> float:
    """Return the share that entry s has in the squared length of the column."""
    total = 0.0
    for k in range(column.shape[0]):
        total += column[k] * column[k]
    return column[s] * column[s] / total if total > 0.0 else 0.0


@inlined
def pivot(items: Items, tableau: Floats, s: int, t: int, scratch: Scratch) -> None:
    """Let item t take place s, where ``column`` is T d_t: a rank-one change."""
    column, row, nonzero = scratch.column, scratch.row, scratch.nonzero
    r = column.shape[0]
    inverse = 1.0 / column[s]
    for i in range(row.shape[0]):
        row[i] = tableau[s, i] * inverse
    if items.frame.shape[1] > 0:
        row[t] = 1.0
    column[s] = 0.0
    active = 0
    for k in range(r):
        nonzero[active] = k
        active += 1 if column[k] != 0.0 else 0
    if active < r - 1:  # a graph: to find the few first saves branches
        for a in range(active):
            k = nonzero[a]
            factor = column[k]
            for i in range(row.shape[0]):
                tableau[k, i] -= factor * row[i]
    else:
        for k in range(r):
            factor = column[k]
            if k != s:
                for i in range(row.shape[0]):
                    tableau[k, i] -= factor * row[i]
    for i in range(row.shape[0]):
        tableau[s, i] = row[i]


@inlined
def pivot_late(basis: Basis, s: int, t: int, scratch: Scratch) -> None:
    """Let item t take place s: wait, or make this change and the one that waits.

    ``row`` and ``column`` are T_s D and T d_t as they are with the change that waits.
    """
    tableau, late_row, late_column = basis.tableau, basis.late_row, basis.late_column
    column, row = scratch.column, scratch.row
    r = column.shape[0]
    inverse = 1.0 / column[s]
    for i in range(row.shape[0]):
        row[i] *= inverse
    row[t] = 1.0
    column[s] = 0.0
    p = basis.late[0]
    if p < 0:
        for i in range(row.shape[0]):
            late_row[i] = row[i]
        for k in range(r):
            late_column[k] = column[k]
        basis.late[0] = s
        return
    for i in range(row.shape[0]):
        tableau[p, i] = late_row[i]
    late_column[p] = 0.0
    for k in range(r):
        first = late_column[k]
        second = column[k]
        for i in range(row.shape[0]):
            tableau[k, i] -= first * late_row[i] + second * row[i]
        late_column[k] = 0.0
    for i in range(row.shape[0]):
        tableau[s, i] = row[i]
    basis.late[0] = -1


@inlined
def catch_up(basis: Basis) -> None:
    """Make the change that waits."""
    tableau, late_row, late_column = basis.tableau, basis.late_row, basis.late_column
    p = basis.late[0]
    if p < 0:
        return
    for k in range(late_column.shape[0]):
        for i in range(late_row.shape[0]):
            tableau[k, i] -= late_column[k] * late_row[i]
        late_column[k] = 0.0
    for i in range(late_row.shape[0]):
        tableau[p, i] = late_row[i]
    basis.late[0] = -1


@lean
def invert(items: Items, candidates: Integers, least: float, scratch: Scratch) -> int:
    """Set matrix to the tableau of the first r independent candidates: Gauss-Jordan elimination.

    Each takes the free row where its pivot is largest; ``owner`` says who has which. A candidate
    whose pivot is below ``least``, relative to its column, depends on those before. Returns how
    many were found.
    """
    matrix, owner, column = scratch.matrix, scratch.owner, scratch.column
    r = owner.shape[0]
    for k in range(r):
        owner[k] = -1
        for i in range(matrix.shape[1]):
            if items.frame.shape[1] > 0:
                matrix[k, i] = items.frame[k, i]
            else:
                matrix[k, i] = 1.0 if i == k else 0.0
    placed = 0
    for c in range(candidates.shape[0]):
        tableau_column(items, matrix, candidates[c], column)
        best = -1
        for k in range(r):
            if owner[k] < 0 and (best < 0 or abs(column[k]) > abs(column[best])):
                best = k
        if share_of(column, best) > least * least:
            pivot(items, matrix, best, candidates[c], scratch)
            owner[best] = candidates[c]
            placed += 1
            if placed == r:
                break
    return placed


@lean
def refactorise(items: Items, basis: Basis, scratch: Scratch, counts: Integers) -> None:
    """Compute the tableau anew; count it, and whether it had drifted."""
    tableau, matrix = basis.tableau, scratch.matrix
    catch_up(basis)
    counts[2] += 1
    basis.age[0] = 0
    if invert(items, basis.inside, 0.0, scratch) < basis.inside.shape[0]:
        counts[3] += 1
        return
    drift = 0.0
    largest = 0.0
    for i in range(tableau.shape[0]):
        k = basis.place[scratch.owner[i]]
        for j in range(tableau.shape[1]):
            drift = max(drift, abs(matrix[i, j] - tableau[k, j]))
            largest = max(largest, abs(matrix[i, j]))
            tableau[k, j] = matrix[i, j]
    counts[3] += 0 if drift <= DRIFT * largest else 1
