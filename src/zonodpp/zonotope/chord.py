"""The two ends of a chord, equation (11) of the paper: how far a line goes inside the zonotope.

The direction takes a place in the basis, and the dual simplex method finds the ends. A good first
basis halves the number of pivots: an ellipsoid close to the zonotope shows about where, and through
which facet, the line leaves it, and the items nearest to that facet form the first basis.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from zonodpp._types import Floats
from zonodpp.chains.columns import (
    UnitColumns,
    add_column,
    dot,
    matrix_of,
    multiply,
    tableau_column,
    tableau_row,
)
from zonodpp.numerics.arrays import frozen
from zonodpp.numerics.compiled import forceinline, inline_source, no_refcount
from zonodpp.zonotope.long_steps import QUICK, settle
from zonodpp.zonotope.tile import TileScratch, TileState, first_minimum, pivot

_SAFE_PIVOT = 1e-3  # items with smaller pivots, which cost digits, do not enter the first basis


class Ellipsoid(NamedTuple):
    """An ellipsoid close to the zonotope, to guess where a line leaves the zonotope."""

    centre: Floats  # (r,)
    whitener: Floats  # (r, r) the ellipsoid is |whitener x - centre| <= radius
    radius: float


def ellipsoid_of(columns: UnitColumns, W: Floats) -> Ellipsoid:
    """Choose the radius by the mean width of the zonotope; W whitens the columns l_j e_j."""
    white = (W @ matrix_of(columns)) * columns.lengths
    radius = np.linalg.norm(white, axis=0).sum() / np.sqrt(2 * np.pi * len(W))
    return Ellipsoid(frozen(white.sum(axis=1) / 2), frozen(W), float(radius))


@forceinline
def _add_above(columns: UnitColumns, numbers: Floats, total: Floats) -> None:
    """Set ``total`` to the sum of the columns l_j e_j whose number is positive.

    The numbers become the factors l_j or 0.
    """
    for j in range(numbers.shape[0]):
        numbers[j] = columns.lengths[j] if numbers[j] > 0.0 else 0.0
    if columns.rows.shape[1] > 0:
        multiply(columns.rows, numbers, total)
        return
    for i in range(total.shape[0]):
        total[i] = 0.0
    for j in range(numbers.shape[0]):
        add_column(columns, j, numbers[j], total)


@inline_source
def _guess_normal(
    columns: UnitColumns,
    ellipsoid: Ellipsoid,
    x: Floats,
    d: Floats,
    sign: float,
    scratch: TileScratch,
) -> None:
    """Set ``vector`` close to the normal of the facet where x + alpha sign d leaves the zonotope.

    The first guess is the normal of the ellipsoid there. It is corrected once: the point of the
    zonotope that lies furthest along the right normal is on the line, so the distance of this point
    from the line shows how to turn the guess.
    """
    centre, W, radius = ellipsoid
    space = scratch.space
    at, along, far, reached = space[0], space[1], space[2], space[3]
    normal, row, r = scratch.vector, scratch.row, x.shape[0]
    multiply(W, x, at)
    multiply(W, d, along)
    for i in range(r):
        at[i] -= centre[i]
        along[i] *= sign
    aa, ab, bb = dot(along, along), dot(along, at), dot(at, at)
    alpha = (math.sqrt(max(ab * ab - aa * (bb - radius * radius), 0.0)) - ab) / aa
    for i in range(r):
        far[i] = at[i] + alpha * along[i]
    multiply(W.T, far, normal)
    tableau_row(columns, normal, row)
    _add_above(columns, row, normal)
    multiply(W, normal, reached)
    for i in range(r):
        reached[i] -= centre[i]
    alpha = (dot(reached, along) - ab) / aa
    turn = math.sqrt(dot(far, far) / dot(reached, reached))
    for i in range(r):
        far[i] += (at[i] + alpha * along[i] - reached[i]) * turn
    multiply(W.T, far, normal)


@inline_source
def _enter_nearest(columns: UnitColumns, tile: TileState, place: int, scratch: TileScratch) -> None:
    """Swap into the basis the items nearest to a facet whose normal is about ``vector``."""
    row, ratio, column = scratch.row, scratch.ratio, scratch.column
    T, basis, lengths, taken = tile.T, tile.basis, columns.lengths, scratch.order
    r = basis.shape[0]
    tableau_row(columns, scratch.vector, row)
    for j in range(row.shape[0]):
        ratio[j] = abs(row[j]) if lengths[j] > 0.0 else np.inf
    for p in range(r):
        taken[p] = 0
    taken[place] = 1
    open_places = r - 1
    for _ in range(2 * r):
        item = first_minimum(ratio)
        if open_places == 0 or ratio[item] == np.inf:
            break
        ratio[item] = np.inf
        tableau_column(columns, T, item, column)
        best = -1
        for p in range(r):
            if basis[p] == item:  # it is there already: a unit vector
                best = p
                break
            if taken[p] == 0 and (best < 0 or abs(column[p]) > abs(column[best])):
                best = p
        if taken[best] == 0 and abs(column[best]) > _SAFE_PIVOT:
            if basis[best] != item:
                pivot(T, tile.v, best, column, scratch.vector)
                basis[best] = item
                tile.reach[best] = lengths[item]
            taken[best] = 1
            open_places -= 1


@inline_source
def _locate(columns: UnitColumns, tile: TileState, x: Floats, scratch: TileScratch) -> None:
    """Set the coordinates u = T (x - E xi) of the point x in the tile's basis."""
    rest, row = scratch.vector, scratch.row
    for j in range(row.shape[0]):
        row[j] = -tile.side[j]
    _add_above(columns, row, rest)
    for i in range(rest.shape[0]):
        rest[i] = x[i] - rest[i]
    multiply(tile.T, rest, tile.u)


@inline_source
def _enter_line(tile: TileState, d: Floats, scratch: TileScratch) -> int:
    """Put -d into the basis, in the place where its pivot is largest; return that place.

    Its coordinate is then alpha in x + alpha d = E y.
    """
    column = scratch.column
    multiply(tile.T, d, column)
    place = 0
    for p in range(d.shape[0]):
        column[p] = -column[p]
        if abs(column[p]) > abs(column[place]):
            place = p
    tile.side[tile.basis[place]] = 1.0
    pivot(tile.T, tile.v, place, column, scratch.vector)
    tile.basis[place] = -1
    tile.reach[place] = np.inf
    return place


@no_refcount
def chord_ends(
    columns: UnitColumns,
    ellipsoid: Ellipsoid,
    tile: TileState,
    x: Floats,
    d: Floats,
    scratch: TileScratch,
) -> tuple[float, float, int]:
    """Return the ends alpha_m <= 0 <= alpha_M of the chord x + alpha d, and the number of pivots.

    ``tile`` holds any basis and is overwritten. A negative number of pivots is OUTSIDE or CYCLED.
    """
    T, gap, side, basis = tile.T, tile.gap, tile.side, tile.basis
    row, r = scratch.row, basis.shape[0]
    place = _enter_line(tile, d, scratch)
    low, high, pivots = 0.0, 0.0, 0
    for half in range(2):
        sign = 1.0 - 2.0 * half
        _guess_normal(columns, ellipsoid, x, d, sign, scratch)
        _enter_nearest(columns, tile, place, scratch)
        # The only cost is that of alpha, so reduced costs are its row of the tableau.
        tableau_row(columns, T[place], row)
        for j in range(row.shape[0]):
            gap[j] = abs(row[j])
            side[j] = 1.0 if sign * row[j] >= 0.0 else -1.0
        for p in range(r):
            if p != place:
                gap[basis[p]] = 0.0
                side[basis[p]] = 0.0
        _locate(columns, tile, x, scratch)
        more, _ = settle(columns, tile, place, QUICK, scratch)
        if more < 0:
            return 0.0, 0.0, more
        pivots += more
        if half == 0:
            high = tile.u[place]
        else:
            low = tile.u[place]
    return low, high, pivots
