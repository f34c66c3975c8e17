"""The two ends of a chord, equation (11): how far a line goes inside the zonotope.

The direction takes a place in the basis and the dual simplex does the rest. What makes it cheap is
the start: seen as an ellipsoid the zonotope tells about where, and through which facet, a line
leaves it, and the items nearest to that facet make the first basis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zonodpp._jit import inlined, lean, spliced
from zonodpp._types import Floats
from zonodpp.basis.columns import (
    UnitColumns,
    matrix_of,
    sum_columns,
    tableau_column,
    tableau_row,
)
from zonodpp.linalg.columns import frozen
from zonodpp.tiles.long_step import locate, settle
from zonodpp.tiles.pivots import TileScratch, TileState, first_minimum, pivot


class Ellipsoid(NamedTuple):
    """The zonotope seen as an ellipsoid, to guess where a line leaves it."""

    centre: Floats  # (r,)
    whitener: Floats  # (r, r): the ellipsoid is |whitener (x - centre)| <= radius
    radius: float


def ellipsoid_of(columns: UnitColumns, W: Floats) -> Ellipsoid:
    """Fit radius to the mean width over directions; W whitens the columns l_j e_j."""
    rows = matrix_of(columns)
    r = len(W)
    spread = np.linalg.norm((W @ rows) * columns.lengths, axis=0).sum()
    return Ellipsoid(
        centre=frozen(rows @ columns.lengths / 2),
        whitener=frozen(W),
        radius=float(spread / np.sqrt(2 * np.pi * r)),
    )


@spliced
def guess_normal(
    columns: UnitColumns,
    ellipsoid: Ellipsoid,
    x: Floats,
    d: Floats,
    sign: float,
    normal: Floats,
    scratch: TileScratch,
) -> None:
    """Guess the normal of the facet where x + alpha sign d leaves the zonotope.

    The ellipsoid's normal there, then one correction: the point of the zonotope that lies furthest
    along this normal should be on the line, and by how much it is off it tells where to turn.
    """
    W, centre, radius = ellipsoid.whitener, ellipsoid.centre, ellipsoid.radius
    at, along, far, row = scratch.column, scratch.weights, scratch.far, scratch.row
    r = x.shape[0]
    aa = 0.0
    ab = 0.0
    bb = 0.0
    for i in range(r):
        at[i] = 0.0
        along[i] = 0.0
        for k in range(i + 1):
            at[i] += W[i, k] * (x[k] - centre[k])
            along[i] += W[i, k] * sign * d[k]
        aa += along[i] * along[i]
        ab += along[i] * at[i]
        bb += at[i] * at[i]
    alpha = (np.sqrt(max(ab * ab - aa * (bb - radius * radius), 0.0)) - ab) / aa
    for i in range(r):
        far[i] = at[i] + alpha * along[i]
    back_transform(W, far, normal)
    tableau_row(columns, normal, row, scratch.touched)
    for j in range(row.shape[0]):
        row[j] = columns.lengths[j] if row[j] > 0.0 else 0.0
    sum_columns(columns, row, normal)
    alpha = 0.0
    size = 0.0
    length = 0.0
    for i in range(r):
        total = 0.0
        for k in range(i + 1):
            total += W[i, k] * (normal[k] - centre[k])
        scratch.reached[i] = total
        alpha += (total - at[i]) * along[i]
        size += total * total
        length += far[i] * far[i]
    alpha /= aa
    for i in range(r):
        off = at[i] + alpha * along[i] - scratch.reached[i]
        far[i] += off * np.sqrt(length / size)
    back_transform(W, far, normal)


@inlined
def back_transform(W: Floats, direction: Floats, normal: Floats) -> None:
    """Set normal = W' direction, for lower triangular W."""
    r = direction.shape[0]
    for i in range(r):
        normal[i] = 0.0
    for k in range(r):
        for i in range(k + 1):
            normal[i] += W[k, i] * direction[k]


@spliced
def crash(
    columns: UnitColumns, tile: TileState, place: int, normal: Floats, scratch: TileScratch
) -> None:
    """Swap into the basis the items nearest to a facet whose normal is about ``normal``."""
    row, ratio, bits = scratch.row, scratch.ratio, scratch.bits
    column, order = scratch.column, scratch.order
    T, basis, reach, lengths = tile.T, tile.basis, tile.reach, columns.lengths
    r, n = basis.shape[0], row.shape[0]
    tableau_row(columns, normal, row, scratch.touched)
    for j in range(n):
        ratio[j] = abs(row[j]) if lengths[j] > 0.0 else np.inf
    for p in range(r):
        order[p] = 0  # whether the place is settled
    order[place] = 1
    settled = 1
    for _ in range(2 * r):
        if settled == r:
            return
        item = first_minimum(bits)
        if ratio[item] == np.inf:
            return
        ratio[item] = np.inf
        here = -1
        for p in range(r):
            if basis[p] == item:
                here = p
        if here >= 0:
            if order[here] == 0:
                order[here] = 1
                settled += 1
            continue
        tableau_column(columns, T, item, column)
        best = -1
        for p in range(r):
            if order[p] == 0 and (best < 0 or abs(column[p]) > abs(column[best])):
                best = p
        if abs(column[best]) > 1e-3:
            pivot(tile, best, item, scratch)
            reach[best] = lengths[item]
            order[best] = 1
            settled += 1


@spliced
def enter_line(tile: TileState, d: Floats, scratch: TileScratch) -> int:
    """Put -d into the basis, in the place where it is safest; return that place.

    Its coordinate is then alpha in x + alpha d = E y.
    """
    T, column = tile.T, scratch.column
    r = d.shape[0]
    place = 0
    for p in range(r):
        total = 0.0
        for i in range(r):
            total += T[p, i] * d[i]
        column[p] = -total
        if abs(total) > abs(column[place]):
            place = p
    tile.side[tile.basis[place]] = 1.0
    pivot(tile, place, -1, scratch)
    tile.reach[place] = np.inf
    return place


@spliced
def chord_end(
    columns: UnitColumns,
    tile: TileState,
    place: int,
    x: Floats,
    sign: float,
    tolerance: float,
    scratch: TileScratch,
) -> tuple[float, int]:
    """Solve one of the two programs of equation (11): how far x can go along sign * d.

    ``tile`` holds d in the basis at ``place``. Returns alpha and the number of pivots.
    """
    T, gap, side, basis = tile.T, tile.gap, tile.side, tile.basis
    row, weights = scratch.row, scratch.weights
    r, n = basis.shape[0], row.shape[0]
    # The only cost is that of alpha, so reduced costs are its row of the tableau.
    for i in range(r):
        weights[i] = T[place, i]
    tableau_row(columns, weights, row, scratch.touched)
    for j in range(n):
        gap[j] = abs(row[j])
        side[j] = 1.0 if sign * row[j] >= 0.0 else -1.0
    for p in range(r):
        if p != place:
            gap[basis[p]] = 0.0
            side[basis[p]] = 0.0
    locate(columns, tile, x, scratch)
    pivots, _ = settle(columns, tile, place, tolerance, scratch)
    return tile.u[place], pivots


@spliced
def chord_ends(
    columns: UnitColumns,
    ellipsoid: Ellipsoid,
    tile: TileState,
    x: Floats,
    d: Floats,
    tolerance: float,
    scratch: TileScratch,
) -> tuple[float, float, int]:
    """Return the ends alpha_m <= 0 <= alpha_M of the chord x + alpha d, and the number of pivots.

    ``tile`` holds any basis and is overwritten. A negative number of pivots is OUTSIDE or LOST.
    """
    place = enter_line(tile, d, scratch)
    low, high, pivots = 0.0, 0.0, 0
    for half in range(2):
        sign = 1.0 - 2.0 * half
        guess_normal(columns, ellipsoid, x, d, sign, scratch.normal, scratch)
        crash(columns, tile, place, scratch.normal, scratch)
        end, more = chord_end(columns, tile, place, x, sign, tolerance, scratch)
        if more < 0:
            return 0.0, 0.0, more
        pivots += more
        if half == 0:
            high = end
        else:
            low = end
    return low, high, pivots


@lean
def solve_chord(
    columns: UnitColumns,
    ellipsoid: Ellipsoid,
    tile: TileState,
    x: Floats,
    d: Floats,
    tolerance: float,
    scratch: TileScratch,
) -> tuple[float, float, int]:
    """Compiled entry to `chord_ends`."""
    ends: tuple[float, float, int] = chord_ends(columns, ellipsoid, tile, x, d, tolerance, scratch)
    return ends
