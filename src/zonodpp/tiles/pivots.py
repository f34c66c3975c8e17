"""Tiles and pivots: the compiled parts of a walk through the zonotope.

A tile is a basis B with, for every other item, the bound at which it rests; that bound is the sign
of the reduced cost cbar_j = c_j - c_B T e_j, T = E_B^{-1}, of the linear program P_x(A, c) of the
paper (equation 9). One pivot leads into a neighbouring tile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from zonodpp._jit import inlined, spliced
from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns, tableau_column, tableau_row
from zonodpp.basis.inverse import InverseScratch, inverse_scratch, renew_inverse, replace_item

PIVOT = 1e-9  # tableau entries below this, relative to their row of T, are taken as zero
REFRESH = 1000  # pivots after which T is computed anew, which costs as much as about r pivots
LARGE = 1e5  # after a pivot below 1 / LARGE, which magnifies errors so much, T is computed anew
SINGULAR = 1e-14  # a column with a smaller share outside the span of the others is dependent


class TileState(NamedTuple):
    """A tile, a point in it, and a direction; all arrays are changed in place."""

    basis: Integers  # (r,)
    T: Floats  # (r, r), the inverse of the basis' unit columns
    u: Floats  # (r,) coordinates of the point, 0 <= u <= reach
    v: Floats  # (r,) their speed along the line
    reach: Floats  # (r,) lengths of the basis' columns
    gap: Floats  # (n,) |reduced cost|
    side: Floats  # (n,) +1: rests at 0, -1: rests at its length, 0: in the basis
    age: Integers  # (1,) pivots since T was computed from the basis


class TileScratch(NamedTuple):
    """Memory for rows, ratio tests and columns, so that compiled code allocates nothing."""

    row: Floats  # (n,)
    ratio: Floats  # (n,)
    bits: Integers  # (n,) the same memory as ratio
    column: Floats  # (r,)
    weights: Floats  # (r,)
    order: Integers  # (n + 16,), of which a long ratio test uses n and at most 12 more
    normal: Floats  # (r,)
    far: Floats  # (r,)
    reached: Floats  # (r,)
    touched: Integers  # (r,)
    inverse: InverseScratch


def empty_tile(r: int, n: int) -> TileState:
    """Allocate a tile."""
    return TileState(
        basis=np.zeros(r, np.int64),
        T=np.zeros((r, r)),
        u=np.zeros(r),
        v=np.zeros(r),
        reach=np.zeros(r),
        gap=np.zeros(n),
        side=np.ones(n),
        age=np.zeros(1, np.int64),
    )


def copy_of(tile: TileState) -> TileState:
    """Return a tile of its own."""
    arrays: Any = (array.copy() for array in tile)
    return TileState(*arrays)


def tile_scratch(r: int, n: int) -> TileScratch:
    """Allocate scratch."""
    ratio = np.empty(n)
    return TileScratch(
        row=np.empty(n),
        ratio=ratio,
        bits=ratio.view(np.int64),
        column=np.empty(r),
        weights=np.empty(r),
        order=np.empty(n + 16, np.int64),
        normal=np.empty(r),
        far=np.empty(r),
        reached=np.empty(r),
        touched=np.empty(r, np.int64),
        inverse=inverse_scratch(r),
    )


@inlined
def copy_basis(source: TileState, to: TileState) -> None:
    """Copy the basis, its inverse and the point; not the bounds of the other items."""
    r = source.basis.shape[0]
    basis, T, u, v, reach = source.basis, source.T, source.u, source.v, source.reach
    to_basis, to_T, to_u, to_v, to_reach = to.basis, to.T, to.u, to.v, to.reach
    to.age[0] = source.age[0]
    for p in range(r):
        to_basis[p] = basis[p]
        to_u[p] = u[p]
        to_v[p] = v[p]
        to_reach[p] = reach[p]
    for p in range(r):
        for i in range(r):
            to_T[p, i] = T[p, i]


@inlined
def copy_bounds(source: TileState, to: TileState) -> None:
    """Copy the reduced costs: the bounds of the other items."""
    gap, side, to_gap, to_side = source.gap, source.side, to.gap, to.side
    for j in range(gap.shape[0]):
        to_gap[j] = gap[j]
        to_side[j] = side[j]


@spliced
def price(columns: UnitColumns, tile: TileState, c: Floats, scratch: TileScratch) -> None:
    """Set gap and side from the costs c: reduced costs c_j - (c_B T) e_j."""
    basis, T, gap, side = tile.basis, tile.T, tile.gap, tile.side
    row, multipliers = scratch.row, scratch.weights
    r = basis.shape[0]
    for i in range(r):
        multipliers[i] = 0.0
    for p in range(r):
        cost = c[basis[p]]
        for i in range(r):
            multipliers[i] += cost * T[p, i]
    tableau_row(columns, multipliers, row, scratch.touched)
    for j in range(row.shape[0]):
        reduced = c[j] - row[j]
        gap[j] = abs(reduced)
        side[j] = 1.0 if reduced >= 0.0 else -1.0
    for p in range(r):
        gap[basis[p]] = 0.0
        side[basis[p]] = 0.0


@inlined
def next_break(tile: TileState) -> tuple[float, int]:
    """How far the point can go along the line, and which coordinate then meets its bound."""
    u, v, lengths = tile.u, tile.v, tile.reach
    nearest = np.inf
    leaving = -1
    for p in range(u.shape[0]):
        # No branches: what does not move meets no bound, and NaN compares as false.
        speed = v[p] + 0.0
        bound = lengths[p] if speed >= 0.0 else 0.0
        distance = (bound - u[p]) / speed
        nearer = distance < nearest and speed != 0.0
        nearest = distance if nearer else nearest
        leaving = p if nearer else leaving
    return max(nearest, 0.0), leaving


@inlined
def pivot(tile: TileState, p: int, item: int, scratch: TileScratch) -> None:
    """Put an item into place p of the basis: T and the speeds, O(r^2).

    ``scratch.column`` is T e_item.
    """
    v, column = tile.v, scratch.column
    inverse = 1.0 / column[p]
    speed = v[p] * inverse
    for k in range(column.shape[0]):
        v[k] -= column[k] * speed
    v[p] = speed
    replace_item(tile.T, p, column, -1, scratch.touched)
    tile.basis[p] = item
    tile.age[0] += 1 if abs(inverse) < LARGE else REFRESH


@inlined
def set_speed(tile: TileState, d: Floats) -> None:
    """Set v = T d, the speed of the coordinates along the direction d."""
    T, v = tile.T, tile.v
    for p in range(v.shape[0]):
        total = 0.0
        for i in range(v.shape[0]):
            total += T[p, i] * d[i]
        v[p] = total


@spliced
def renew_tile(columns: UnitColumns, tile: TileState, scratch: TileScratch) -> float:
    """Compute T anew from the basis; return how far it had drifted, infinity if singular."""
    drift: float
    drift, _ = renew_inverse(columns, tile.basis, tile.T, SINGULAR, scratch.inverse)
    tile.age[0] = 0
    return drift


@inlined
def ratios(
    columns: UnitColumns, tile: TileState, p: int, upward: float, scratch: TileScratch
) -> None:
    """Ratio test when coordinate p leaves (upward: at its length, else at 0).

    Sets row_j, by which the |reduced cost| of item j falls for each unit of the dual step, and
    ratio_j, the step at which it is zero: infinite where it does not fall.
    """
    T, gap, side = tile.T, tile.gap, tile.side
    row, ratio, weights = scratch.row, scratch.ratio, scratch.weights
    size = 0.0
    for i in range(weights.shape[0]):
        weights[i] = T[p, i]
        size += weights[i] * weights[i]
    least = PIVOT * np.sqrt(size)
    tableau_row(columns, weights, row, scratch.touched)
    for j in range(row.shape[0]):
        drop = upward * side[j] * row[j]
        row[j] = drop
        ratio[j] = gap[j] / drop if drop > least else np.inf


@inlined
def first_minimum(bits: Integers) -> int:
    """Index of the smallest of non-negative floats, seen as integers.

    They compare alike, and integer minima vectorise with no assumption about NaN.
    """
    smallest = bits[0]
    for j in range(1, bits.shape[0]):
        smallest = min(smallest, bits[j])
    first = 0
    while bits[first] != smallest:
        first += 1
    return first


@spliced
def cross(columns: UnitColumns, tile: TileState, p: int, scratch: TileScratch) -> tuple[float, int]:
    """Cross the facet where coordinate p has met its bound, into the neighbouring tile.

    The entering item is the one whose reduced cost reaches zero first, so that the new basis is
    optimal for the same costs.

    Returns
    -------
    pivot, left : float, int
        |det| of the new basis over that of the old one, and the item that left. The pivot is zero,
        and nothing has changed, when no item can enter: that is the boundary of the zonotope.
    """
    gap, side, lengths = tile.gap, tile.side, columns.lengths
    row, ratio, column = scratch.row, scratch.ratio, scratch.column
    upward = 1.0 if tile.v[p] > 0.0 else -1.0
    ratios(columns, tile, p, upward, scratch)
    entering = first_minimum(scratch.bits)
    theta = ratio[entering]
    if theta == np.inf:
        return 0.0, -1
    for j in range(row.shape[0]):
        gap[j] = max(0.0, gap[j] - theta * row[j])
    left = tile.basis[p]
    gap[left] = theta
    side[left] = -upward
    tile.u[p] = 0.0 if side[entering] > 0.0 else lengths[entering]
    tile.reach[p] = lengths[entering]
    gap[entering] = 0.0
    side[entering] = 0.0
    tableau_column(columns, tile.T, entering, column)
    size = abs(column[p])
    pivot(tile, p, entering, scratch)
    return size, left
