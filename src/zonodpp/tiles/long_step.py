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

from zonodpp._jit import forceinline, inline_source, no_refcount
from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns, tableau_column
from zonodpp.tiles.pivots import (
    TileScratch,
    TileState,
    first_minimum,
    multiply,
    pivot,
    ratio_test,
)

FEASIBLE = 1e-11  # coordinates may stray this far from [0, reach], in units of the longest column
OUTSIDE, LOST = -1, -2
NONE_FREE = np.int64(-1)  # a NumPy integer: literals would be compiled for separately
# Items that one long step passes before the remaining ones are partitioned: up to about this number
# a vectorised search for the smallest ratio is faster.
ONE_BY_ONE = 12


def order_scratch(n: int) -> Integers:
    """Allocate memory for the items that a long step passes."""
    return np.empty(n + ONE_BY_ONE, np.int64)


@forceinline
def select_by_mass(
    row: Floats, ratio: Floats, lengths: Floats, order: Integers, low: int, slope: float
) -> tuple[int, float]:
    """Find the item at which the masses row_j l_j, in the order of ratios, add up to ``slope``.

    A weighted selection by partitioning; items of infinite ratio do not count. The result is the
    place of the item in ``order``, those before it having smaller ratios, and the slope that
    remains, which is positive if all masses together are less.
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
            return split, 0.0
        else:
            slope -= mass + pivot_mass
            low = split + 1
    return high - 1, slope if high > last_place else 0.0


@inline_source
def long_ratio_test(
    row: Floats,
    ratio: Floats,
    bits: Integers,
    lengths: Floats,
    order: Integers,
    slope: float,
    noise: float,
) -> int:
    """Find where the dual objective stops rising: ``order[:k]`` are passed, ``order[k]`` enters.

    Passing item j at step ratio_j lowers the slope by row_j * l_j. Mostly few items are passed, so
    the smallest ratios are first taken one by one, each in one vectorised pass. Returns k, or -1 if
    the objective rises without bound. A slope that remains at the end and is not above ``noise`` is
    a rounding error. The ratios of passed items are overwritten.
    """
    low = 0
    while low < ONE_BY_ONE:
        j = first_minimum(bits)
        if ratio[j] == np.inf:  # the slope was used up exactly, and rounding hid it; or never
            return low - 1 if slope <= noise else -1
        order[low] = j
        slope -= row[j] * lengths[j]
        if slope <= 0.0:
            return low
        ratio[j] = np.inf
        low += 1
    place, rest = select_by_mass(row, ratio, lengths, order, low, slope)
    return place if rest <= noise else -1


@forceinline
def leaving_place(
    T: Floats, u: Floats, reach: Floats, free: int, tolerance: float
) -> tuple[int, float, float]:
    """Choose where to leave: the violation that is largest for its row of T (dual steepest edge).

    Returns
    -------
    place, violation, upward : int, float, float
        The place, or -1 if no coordinate is beyond its bounds; how far it is beyond; and 1 if its
        coordinate is too large, -1 if it is negative.
    """
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


@inline_source
def flip_passed(
    columns: UnitColumns, tile: TileState, order: Integers, passed: int, scratch: TileScratch
) -> None:
    """Move the items ``order[:passed]`` to their other bounds, and the point of the basis along."""
    u, side, lengths = tile.u, tile.side, columns.lengths
    dense, indptr, indices, data = columns.dense, columns.indptr, columns.indices, columns.data
    shift, product = scratch.weights, scratch.column
    for i in range(u.shape[0]):
        shift[i] = 0.0
    for k in range(passed):
        j = order[k]
        factor = lengths[j] * side[j]
        side[j] = -side[j]
        if dense.shape[0] > 0:
            for i in range(u.shape[0]):
                shift[i] += factor * dense[j, i]
        else:
            for q in range(indptr[j], indptr[j + 1]):
                shift[indices[q]] += factor * data[q]
    multiply(tile.T, shift, product)
    for k in range(u.shape[0]):
        u[k] -= product[k]


@inline_source
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
    basis, T, u, v, reach, gap, side, age = tile
    _, dense, indptr, indices, data, lengths, _ = columns
    row, column = scratch.row, scratch.column
    for j in range(row.shape[0]):
        gap[j] = abs(gap[j] - theta * row[j])
    tableau_column(dense, indptr, indices, data, T, entering, column)
    bound = reach[p] if upward > 0.0 else 0.0
    step = (u[p] - bound) / column[p]
    start = 0.0 if side[entering] > 0.0 else lengths[entering]
    for k in range(u.shape[0]):
        u[k] -= step * column[k]
    left = basis[p]
    gap[left] = theta
    side[left] = -upward
    gap[entering] = 0.0
    side[entering] = 0.0
    size: float = column[p]
    age[0] += pivot(T, v, p, column, scratch.nonzero, scratch.weights)
    basis[p] = entering
    u[p] = start + step
    reach[p] = lengths[entering]
    return size


@no_refcount
def settle(
    columns: UnitColumns,
    tile: TileState,
    free: int,
    tolerance: float,
    scratch: TileScratch,
    order: Integers,
) -> tuple[int, float]:
    """Bring all coordinates into their bounds by dual pivots; place ``free`` has no bounds.

    Returns
    -------
    pivots, log_det : int, float
        The number of pivots, or OUTSIDE if the program has no solution, or LOST if there seems to
        be no end; and the change of log |det E_B|.
    """
    T, u, reach, gap, blur = tile.T, tile.u, tile.reach, tile.gap, columns.blur
    row, ratio = scratch.row, scratch.ratio
    r, n = u.shape[0], row.shape[0]
    log_det = 0.0
    # Runs take about r pivots; far more mean that rounding errors lead in a circle.
    for count in range(50 * (r + 10) + 2 * n):
        p, slope, upward = leaving_place(T, u, reach, free, tolerance)
        if p < 0:
            return count, log_det
        ratio_test(columns, tile, p, upward, scratch)
        noise = 1e3 * tolerance  # an error of the point moves u[p] by its product with T[p]
        for i in range(r):
            noise += abs(T[p, i]) * blur[i]
        passed = long_ratio_test(row, ratio, scratch.bits, columns.lengths, order, slope, noise)
        if passed < 0:
            if slope > noise:
                return OUTSIDE, 0.0
            u[p] = reach[p] if upward > 0.0 else 0.0  # on the boundary, up to rounding
            continue
        entering = order[passed]
        theta = ratio[entering]
        if theta == np.inf:  # the item had been passed, and only rounding made it so
            theta = gap[entering] / row[entering]
        flip_passed(columns, tile, order, passed, scratch)
        log_det += math.log(abs(dual_pivot(columns, tile, p, entering, theta, upward, scratch)))
    return LOST, 0.0
