"""Dual simplex with long steps: the tile of a point, warm-started from any basis.

Every basis of a linear program with box constraints is dual feasible once each other item rests at
the bound that its reduced cost asks for. So the method starts from whatever basis is at hand and
has no phase one. When a coordinate leaves, the ratio test does not stop at the first item whose
reduced cost vanishes: it flips that item to its other bound and goes on while the dual objective
rises.
"""

from __future__ import annotations

import math

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.chains.columns import UnitColumns, add_column, multiply
from zonodpp.chains.inverse import row_length
from zonodpp.numerics.compiled import forceinline, inline_source, no_refcount
from zonodpp.zonotope.tile import (
    OLDEST,
    TileScratch,
    TileState,
    first_minimum,
    ratio_test,
    swap_items,
)

OUTSIDE, CYCLED, OLD = -1, -2, -3  # what `settle` returns in place of a number of pivots
# NumPy numbers: for literals, numba would compile once more.
NONE_FREE, QUICK, CAREFUL, STRICT = np.int64(-1), np.int64(0), np.int64(1), np.int64(2)
# Entries below this, relative to their row of T, are taken as zero in the search for the end of a
# chord. In thin tiles the rows are long, and entries that decide where a chord ends are no larger.
THIN_PIVOT = 1e-12
# Items that one long step passes before the remaining ones are partitioned: up to about this number
# a vectorised search for the smallest ratio is faster.
_ONE_BY_ONE = 12


@forceinline
def _select_by_fall(
    row: Floats, ratio: Floats, lengths: Floats, order: Integers, low: int, slope: float
) -> tuple[int, float]:
    """Find the item at which the falls row_j l_j, in the order of ratios, add up to ``slope``.

    A weighted selection by partitioning; items of infinite ratio do not count. Returns the place of
    the item in ``order``, where items of smaller ratios are before it, and the slope that remains:
    it is positive if all falls together are less than ``slope``.
    """
    high = low
    for j in range(row.shape[0]):
        order[high] = j
        high += 1 if ratio[j] < np.inf else 0
    last_place = high - 1
    while low < high:
        last = high - 1
        middle = (low + last) // 2
        order[middle], order[last] = order[last], order[middle]
        j = order[last]
        middle_ratio = ratio[j]
        middle_fall = row[j] * lengths[j]
        split = low
        fall = 0.0
        for k in range(low, last):
            j = order[k]
            below = ratio[j] < middle_ratio
            order[k] = order[split]
            order[split] = j
            split += 1 if below else 0
            fall += row[j] * lengths[j] if below else 0.0
        order[split], order[last] = order[last], order[split]
        if fall >= slope:
            high = split
        elif fall + middle_fall >= slope:
            return split, 0.0
        else:
            slope -= fall + middle_fall
            low = split + 1
    return high - 1, slope if high > last_place else 0.0


@inline_source
def long_ratio_test(lengths: Floats, slope: float, noise: float, scratch: TileScratch) -> int:
    """Find where the dual objective stops rising: ``order[:k]`` are passed, ``order[k]`` enters.

    When the step reaches ratio_j, item j is passed, and the slope of the objective falls by
    row_j * l_j. Mostly few items are passed, so the smallest ratios are first taken one by one,
    each in one vectorised pass; they become infinite. Returns k, or -1 if the objective rises
    without bound. A slope that remains at the end and is not above ``noise`` is a rounding error.
    """
    row, ratio, order = scratch.row, scratch.ratio, scratch.order
    low = 0
    while low < _ONE_BY_ONE:
        j = first_minimum(ratio)
        # No ratio is left: the slope is zero up to rounding, or the objective has no bound.
        if ratio[j] == np.inf:
            return low - 1 if slope <= noise else -1
        order[low] = j
        slope -= row[j] * lengths[j]
        if slope <= 0.0:
            return low
        ratio[j] = np.inf
        low += 1
    place, rest = _select_by_fall(row, ratio, lengths, order, low, slope)
    return place if rest <= noise else -1


@forceinline
def _leaving_place(
    T: Floats, u: Floats, reach: Floats, free: int, tolerance: float, blur: Floats, times: float
) -> int:
    """Choose the place that leaves, by dual steepest edge; -1 if all coordinates are in bounds.

    Its violation of a bound, divided by the length of its row of T, is the largest. Violations up
    to ``times`` the rounding errors that ``blur`` makes are allowed.
    """
    place = -1
    worst = 0.0
    for k in range(u.shape[0]):
        violation = max(u[k] - reach[k], -u[k])
        if k != free and violation > tolerance:
            size, allowed = row_length(T, k), 0.0
            for i in range(blur.shape[0]):
                allowed += abs(T[k, i]) * blur[i]
            if violation > worst * size and violation > times * allowed:
                worst = violation / size
                place = k
    return place


@inline_source
def _flip_passed(columns: UnitColumns, tile: TileState, passed: int, scratch: TileScratch) -> None:
    """Move the items ``order[:passed]`` to their other bounds, and the point of the basis along."""
    u, side, lengths = tile.u, tile.side, columns.lengths
    shift, product, order = scratch.vector, scratch.column, scratch.order
    for i in range(u.shape[0]):
        shift[i] = 0.0
    for k in range(passed):
        j = order[k]
        add_column(columns, j, lengths[j] * side[j], shift)
        side[j] = -side[j]
    multiply(tile.T, shift, product)
    for k in range(u.shape[0]):
        u[k] -= product[k]


@no_refcount
def settle(
    columns: UnitColumns, tile: TileState, free: int, careful: int, scratch: TileScratch
) -> tuple[int, float]:
    """Bring all coordinates into their bounds by dual pivots; place ``free`` has no bounds.

    If ``careful`` is not QUICK, it stops when T is to be computed anew. If it is STRICT, the point
    is moved by rounding errors only: what moves it by 1e-8 moves it far in the coordinates of a
    thin tile that may follow, where it would count as outside.

    Returns
    -------
    pivots, log_det : int, float
        The number of pivots, or OUTSIDE if the program has no solution, or CYCLED if there were far
        too many pivots, or OLD; and the change of log |det E_B|.
    """
    T, u, reach = tile.T, tile.u, tile.reach
    lengths, blur, tolerance = columns.lengths, columns.blur, columns.tolerance
    row, ratio, column = scratch.row, scratch.ratio, scratch.column
    r, n = u.shape[0], row.shape[0]
    log_det = 0.0
    allowed = 1.0 if careful == STRICT else 0.0
    # Runs take about r pivots; far more mean that rounding errors make them cycle.
    for count in range(50 * (r + 10) + 2 * n):
        p: int = _leaving_place(T, u, reach, free, tolerance, blur, allowed)
        if p < 0:
            return count, log_det
        if careful != QUICK and tile.age[0] >= OLDEST:
            return OLD, 0.0
        upward = 1.0 if u[p] > reach[p] else -1.0
        bound = reach[p] if upward > 0.0 else 0.0
        slope = abs(u[p] - bound)
        ratio_test(columns, tile, p, upward, THIN_PIVOT * row_length(T, p), scratch)
        # An error of the point moves u[p] by its product with T[p].
        noise = tolerance if careful == STRICT else 1e3 * tolerance
        for i in range(r):
            noise += abs(T[p, i]) * blur[i]
        passed = long_ratio_test(lengths, slope, noise, scratch)
        if passed < 0:
            if slope > noise:
                return OUTSIDE, 0.0
            u[p] = bound  # on the boundary, up to rounding
            continue
        entering = scratch.order[passed]
        if ratio[entering] == np.inf:  # `long_ratio_test` has overwritten it
            ratio[entering] = tile.gap[entering] / row[entering]
        _flip_passed(columns, tile, passed, scratch)
        beyond = u[p] - bound
        det_ratio: float = swap_items(columns, tile, p, entering, upward, scratch)
        log_det += math.log(det_ratio)
        step = beyond / column[p]
        rested = u[p]
        for k in range(r):
            u[k] -= step * column[k]
        u[p] = rested + step
    return CYCLED, 0.0
