"""Dual simplex with long steps: the tile of a point, warm-started from any basis.

Every basis of a linear program with box constraints is dual feasible once each other item rests at
the bound that its reduced cost asks for. So the method starts from whatever basis is at hand and
has no phase one. When a coordinate leaves, the ratio test does not stop at the first item whose
reduced cost vanishes: it flips that item to its other bound and goes on while the dual objective
rises.
"""

from __future__ import annotations

import numpy as np

from zonodpp._jit import lean, spliced
from zonodpp._types import Floats
from zonodpp.basis.columns import UnitColumns, add_column, sum_columns, tableau_column
from zonodpp.tiles.pivots import TileScratch, TileState, first_minimum, pivot, ratios

FEASIBLE = 1e-11  # coordinates may stray this far from [0, reach], in units of the longest column
OUTSIDE, LOST = -1, -2
# Items that one long step passes before the remaining ones are partitioned: up to about this number
# a vectorised search for the smallest ratio is faster.
ONE_BY_ONE = 12


@spliced
def locate(columns: UnitColumns, tile: TileState, x: Floats, scratch: TileScratch) -> None:
    """Set the coordinates u = T (x - E xi) of the point x in the tile's basis."""
    T, u, side = tile.T, tile.u, tile.side
    rest, row, lengths = scratch.weights, scratch.row, columns.lengths
    r = u.shape[0]
    for j in range(row.shape[0]):
        row[j] = lengths[j] if side[j] < 0.0 else 0.0
    sum_columns(columns, row, rest)
    for i in range(r):
        rest[i] = x[i] - rest[i]
    for p in range(r):
        total = 0.0
        for i in range(r):
            total += T[p, i] * rest[i]
        u[p] = total


@spliced
def long_ratio_test(columns: UnitColumns, scratch: TileScratch, slope: float, noise: float) -> int:
    """Find where the dual objective stops rising: ``order[:k]`` are passed, ``order[k]`` enters.

    Passing item j at step ratio_j lowers the slope by row_j * l_j. Mostly few items are passed, so
    the smallest ratios are first taken one by one, each in one vectorised pass. If more than
    ONE_BY_ONE items are passed, a weighted selection by partitioning finds the rest. Returns k, or
    -1 if the objective rises without bound. A slope that remains at the end and is not above
    ``noise`` is a rounding error. The ratios of passed items are overwritten.
    """
    row, ratio, order, lengths = scratch.row, scratch.ratio, scratch.order, columns.lengths
    low = 0
    while low < ONE_BY_ONE:
        j = first_minimum(scratch.bits)
        if ratio[j] == np.inf:  # the slope was used up exactly, and rounding hid it; or never
            return low - 1 if slope <= noise else -1
        order[low] = j
        slope -= row[j] * lengths[j]
        if slope <= 0.0:
            return low
        ratio[j] = np.inf
        low += 1
    high = low
    for j in range(row.shape[0]):
        order[high] = j
        high += 1 if ratio[j] < np.inf else 0
    count = high
    while low < high:
        last = high - 1
        middle = (low + last) // 2
        order[middle], order[last] = order[last], order[middle]
        j = order[last]
        pivot_ratio = ratio[j]
        pivot_mass = row[j] * lengths[j]
        split = low
        mass = 0.0
        for k in range(low, last):
            j = order[k]
            below = ratio[j] < pivot_ratio
            order[k] = order[split]
            order[split] = j
            split += 1 if below else 0
            mass += row[j] * lengths[j] if below else 0.0
        order[split], order[last] = order[last], order[split]
        if mass >= slope:
            high = split
        elif mass + pivot_mass >= slope:
            return split
        else:
            slope -= mass + pivot_mass
            low = split + 1
    return high - 1 if high < count or slope <= noise else -1


@spliced
def leaving_place(tile: TileState, free: int, tolerance: float) -> tuple[int, float, float]:
    """Choose where to leave: the violation that is largest for its row of T (dual steepest edge).

    Returns
    -------
    place, violation, upward : int, float, float
        The place, or -1 if no coordinate is beyond its bounds; how far it is beyond; and 1 if its
        coordinate is too large, -1 if it is negative.
    """
    T, u, reach = tile.T, tile.u, tile.reach
    place = -1
    worst = 0.0
    found = 0.0
    upward = 1.0
    for k in range(u.shape[0]):
        over = u[k] - reach[k]
        violation = max(over, -u[k])
        if k != free and violation > tolerance:
            size = 0.0
            for i in range(T.shape[1]):
                size += T[k, i] * T[k, i]
            if violation * violation > worst * size:
                worst = violation * violation / size
                place = k
                found = violation
                upward = 1.0 if over > 0.0 else -1.0
    return place, found, upward


@spliced
def flip_passed(columns: UnitColumns, tile: TileState, passed: int, scratch: TileScratch) -> None:
    """Move the items ``order[:passed]`` to their other bounds, and the point of the basis along."""
    T, u, side, lengths = tile.T, tile.u, tile.side, columns.lengths
    order, shift = scratch.order, scratch.weights
    r = u.shape[0]
    for i in range(r):
        shift[i] = 0.0
    for k in range(passed):
        j = order[k]
        add_column(columns, j, lengths[j] * side[j], shift)
        side[j] = -side[j]
    if passed > 0:
        for k in range(r):
            total = 0.0
            for i in range(r):
                total += T[k, i] * shift[i]
            u[k] -= total


@spliced
def dual_pivot(
    columns: UnitColumns,
    tile: TileState,
    p: int,
    entering: int,
    theta: float,
    upward: float,
    scratch: TileScratch,
) -> float:
    """Let an item enter at place p, whose coordinate goes to its bound; return the pivot."""
    u, reach, gap, side = tile.u, tile.reach, tile.gap, tile.side
    row, column, lengths = scratch.row, scratch.column, columns.lengths
    for j in range(row.shape[0]):
        gap[j] = abs(gap[j] - theta * row[j])
    tableau_column(columns, tile.T, entering, column)
    bound = reach[p] if upward > 0.0 else 0.0
    step = (u[p] - bound) / column[p]
    start = 0.0 if side[entering] > 0.0 else lengths[entering]
    for k in range(u.shape[0]):
        u[k] -= step * column[k]
    left = tile.basis[p]
    gap[left] = theta
    side[left] = -upward
    gap[entering] = 0.0
    side[entering] = 0.0
    pivot(tile, p, entering, scratch)
    u[p] = start + step
    reach[p] = lengths[entering]
    size: float = column[p]
    return size


@lean
def settle(
    columns: UnitColumns, tile: TileState, free: int, tolerance: float, scratch: TileScratch
) -> tuple[int, float]:
    """Bring all coordinates into their bounds by dual pivots; place ``free`` has no bounds.

    Returns
    -------
    pivots, log_det : int, float
        The number of pivots, or OUTSIDE if the program has no solution, or LOST if there seems to
        be no end; and the change of log |det E_B|.
    """
    log_det = 0.0
    T, u, reach, gap = tile.T, tile.u, tile.reach, tile.gap
    row, ratio, order = scratch.row, scratch.ratio, scratch.order
    r, n = u.shape[0], row.shape[0]
    # Runs take about r pivots; far more mean that rounding errors lead in a circle.
    for count in range(50 * (r + 10) + 2 * n):
        p, slope, upward = leaving_place(tile, free, tolerance)
        if p < 0:
            return count, log_det
        ratios(columns, tile, p, upward, scratch)
        noise = 1e3 * tolerance  # an error of the point moves u[p] by its product with T[p]
        for i in range(r):
            noise += abs(T[p, i]) * columns.blur[i]
        passed = long_ratio_test(columns, scratch, slope, noise)
        if passed < 0:
            if slope > noise:
                return OUTSIDE, 0.0
            u[p] = reach[p] if upward > 0.0 else 0.0  # on the boundary, up to rounding
            continue
        entering = order[passed]
        theta = ratio[entering]
        if theta == np.inf:  # the item had been passed, and only rounding made it so
            theta = gap[entering] / row[entering]
        flip_passed(columns, tile, passed, scratch)
        log_det += np.log(abs(dual_pivot(columns, tile, p, entering, theta, upward, scratch)))
    return LOST, 0.0
