"""Tiles and pivots: the compiled parts of a walk through the zonotope.

A tile is a basis B and, for every other item, the bound at which it rests: 0 where the reduced cost
cbar_j = c_j - c_B T e_j is positive, and its length where that is negative. Here T = E_B^{-1}, and
the linear program is P_x(A, c) of the paper (equation 9). One pivot leads into a neighbouring tile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.chains.columns import UnitColumns, tableau_column, tableau_row
from zonodpp.chains.inverse import LARGE, replace_item, row_length
from zonodpp.numerics.arguments import floats_at, integers_at
from zonodpp.numerics.compiled import forceinline, inline_source

PIVOT = 1e-9  # tableau entries below this, relative to their row of T, are taken as zero
OLDEST = 20_000  # pivots after which T is computed anew: so rarely that its time does not matter
_LINE = 8  # numbers in a cache line
BOUNDARY = -1  # in place of an item that enters: there is none


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
    column: Floats  # (r,)
    vector: Floats  # (r,)
    order: Integers  # (n + 1,) the items that a long step passes
    space: Floats  # (4, r) more vectors


def tile_at(row: Floats, r: int, n: int) -> TileState:
    """Return the tile that is stored in one array: its fields are views of parts of the array.

    So one loop copies a tile. The first 2 n entries are gap and side. Integer fields are views too.
    """
    after = 2 * n + r * r
    return TileState(
        integers_at(row, after + 3 * r, (r,)),
        floats_at(row, 2 * n, (r, r)),
        floats_at(row, after, (r,)),
        floats_at(row, after + r, (r,)),
        floats_at(row, after + 2 * r, (r,)),
        floats_at(row, 0, (n,)),
        floats_at(row, n, (n,)),
        integers_at(row, after + 4 * r, (1,)),
    )


tile_in_kernel = forceinline(tile_at)


def tile_rows(r: int, n: int, count: int) -> Floats:
    """Allocate an array of tiles, a row for each; the rows are whole cache lines."""
    size = 2 * n + r * r + 4 * r + 1
    return np.zeros((count, size + -size % _LINE))


def put_tile(tile: TileState, other: TileState) -> None:
    """Overwrite a tile by another."""
    for array, values in zip(tile, other, strict=True):
        array[...] = values


def copy_of(tile: TileState) -> TileState:
    """Return a copy of a tile, with arrays of its own."""
    return TileState._make(array.copy() for array in tile)


def scratch_size(r: int, n: int) -> int:
    """Return how many numbers `TileScratch` takes."""
    return 3 * n + 6 * r + 1


def tile_scratch(r: int, n: int) -> TileScratch:
    """Allocate scratch."""
    return _scratch_at(np.empty(scratch_size(r, n)), r, n)


def _scratch_at(memory: Floats, r: int, n: int) -> TileScratch:
    """Return scratch as views of the first numbers of an array."""
    after = 2 * n + 2 * r
    return TileScratch(
        floats_at(memory, 0, (n,)),
        floats_at(memory, n, (n,)),
        floats_at(memory, 2 * n, (r,)),
        floats_at(memory, 2 * n + r, (r,)),
        integers_at(memory, after, (n + 1,)),
        floats_at(memory, after + n + 1, (4, r)),
    )


scratch_in_kernel = forceinline(_scratch_at)


@forceinline
def next_break(u: Floats, v: Floats, reach: Floats) -> tuple[float, int]:
    """Return how far the point can go along the line, and which coordinate meets its bound."""
    nearest = np.inf
    leaving = -1
    for p in range(u.shape[0]):
        # No branches: what does not move meets no bound, and NaN compares as false.
        speed = v[p] + 0.0
        bound = reach[p] if speed >= 0.0 else 0.0
        distance = (bound - u[p]) / speed
        nearer = distance < nearest and speed != 0.0
        nearest = distance if nearer else nearest
        leaving = p if nearer else leaving
    return max(nearest, 0.0), leaving


@forceinline
def pivot(T: Floats, v: Floats, p: int, column: Floats, row: Floats) -> int:
    """Put the item with ``column`` = T e_item into place p: T and the speeds, O(r^2).

    ``row`` is scratch. Returns what to add to the age of T: OLDEST after a very small pivot, and
    after a very large one, which leads out of a thin tile, so that T is computed anew.
    """
    inverse = 1.0 / column[p]
    speed = v[p] * inverse
    for k in range(column.shape[0]):
        v[k] -= column[k] * speed
    v[p] = speed
    replace_item(T, p, column, row)
    return 1 if 1.0 < LARGE * abs(inverse) < LARGE * LARGE else OLDEST


@forceinline
def find_ratios(
    row: Floats, gap: Floats, side: Floats, upward: float, least: float, ratio: Floats
) -> None:
    """Set ratio_j to the dual step at which reduced cost j is zero: infinite if it does not fall.

    ``row`` becomes the amount by which each |reduced cost| falls for a unit of the dual step.
    """
    for j in range(row.shape[0]):
        drop = upward * side[j] * row[j]
        row[j] = drop
        ratio[j] = gap[j] / drop if drop > least else np.inf


@inline_source
def ratio_test(
    columns: UnitColumns, tile: TileState, p: int, upward: float, least: float, scratch: TileScratch
) -> None:
    """Set row and ratio, as `find_ratios` does, when coordinate p leaves.

    ``upward`` is 1 if it leaves at its length, -1 if at 0. Entries up to ``least`` count as zero.
    """
    tableau_row(columns, tile.T[p], scratch.row)
    find_ratios(scratch.row, tile.gap, tile.side, upward, least, scratch.ratio)


@forceinline
def first_minimum(values: Floats) -> int:
    """Return the index of the smallest of non-negative numbers.

    Their bits, read as integers, are in the same order, and a minimum of integers vectorises
    without an assumption on NaN.
    """
    bits = integers_at(values, 0, values.shape)
    smallest = bits[0]
    for j in range(1, bits.shape[0]):
        smallest = min(smallest, bits[j])
    first = 0
    while bits[first] != smallest:
        first += 1
    return first


@forceinline
def lower_gaps(gap: Floats, row: Floats, theta: float) -> None:
    """Make a dual step: |reduced costs| fall by theta * row, and rise again beyond zero."""
    for j in range(row.shape[0]):
        gap[j] = abs(gap[j] - theta * row[j])


@inline_source
def swap_items(
    columns: UnitColumns, tile: TileState, p: int, item: int, upward: float, scratch: TileScratch
) -> float:
    """Make the dual step ratio[item], at which the item takes place p; return the factor of |det|.

    The new coordinate is that of the bound where the item rested; the other coordinates stay.
    ``column`` of the scratch becomes T e_item.
    """
    basis, T, u, v, reach, gap, side, age = tile
    theta, length, column = scratch.ratio[item], columns.lengths[item], scratch.column
    lower_gaps(gap, scratch.row, theta)
    left = basis[p]
    gap[left] = theta
    side[left] = -upward
    u[p] = 0.0 if side[item] > 0.0 else length
    reach[p] = length
    gap[item] = 0.0
    side[item] = 0.0
    tableau_column(columns, T, item, column)
    age[0] += pivot(T, v, p, column, scratch.vector)
    basis[p] = item
    det_ratio: float = abs(column[p])
    return det_ratio


@inline_source
def entering_item(
    columns: UnitColumns, tile: TileState, p: int, upward: float, scratch: TileScratch
) -> int:
    """Return the item that enters where coordinate p meets its bound; ``ratio`` is set for it.

    It is the one whose reduced cost reaches zero first, so that the new basis is optimal for the
    same costs. BOUNDARY: no item can enter, that is the boundary of the zonotope.
    """
    ratio_test(columns, tile, p, upward, PIVOT * row_length(tile.T, p), scratch)
    entering = first_minimum(scratch.ratio)
    return entering if scratch.ratio[entering] < np.inf else BOUNDARY
