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
from zonodpp.matrices.columns import Floats
from zonodpp.zonotope.pivots import Scratch, Tile, first_minimum, pivot, ratios
from zonodpp.zonotope.products import Engine, add_column, sum_columns, tableau_column

FEASIBLE = 1e-11  # coordinates may stray this far from [0, reach], in units of the longest column
OUTSIDE, LOST = -1, -2
ONE_BY_ONE = 12  # items passed in one long step before they are sorted out all together


@spliced
def locate(engine: Engine, tile: Tile, x: Floats, scratch: Scratch) -> None:
    """Set the coordinates u = T (x - E xi) of the point x in the tile's basis."""
    T, u, side = tile.T, tile.u, tile.side
    rest, row, lengths = scratch.weights, scratch.row, engine.lengths
    r = u.shape[0]
    for j in range(row.shape[0]):
        row[j] = lengths[j] if side[j] < 0.0 else 0.0
    sum_columns(engine, row, rest)
    for i in range(r):
        rest[i] = x[i] - rest[i]
    for p in range(r):
        total = 0.0
        for i in range(r):
            total += T[p, i] * rest[i]
        u[p] = total


@spliced
def breakpoint(engine: Engine, scratch: Scratch, slope: float, noise: float) -> int:
    """Find where the dual objective stops rising: ``order[:k]`` are passed, ``order[k]`` enters.

    Passing item j at step ratio_j lowers the slope by row_j * l_j. Mostly few items are passed, so
    the smallest ratios are taken one by one, which is a vectorised pass each; when that goes on for
    long, the rest is a weighted selection, done by partitioning without branches. Returns k, or -1
    if the objective rises for ever. A slope that is left at the end and is not above ``noise`` is a
    rounding error. Ratios of passed items are lost.
    """
    row, ratio, order, lengths = scratch.row, scratch.ratio, scratch.order, engine.lengths
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


@lean
def settle(
    engine: Engine, tile: Tile, free: int, tolerance: float, scratch: Scratch
) -> tuple[int, float]:
    """Bring all coordinates into their bounds by dual pivots; place ``free`` has no bounds.

    Returns
    -------
    pivots, log_det : int, float
        The number of pivots, or OUTSIDE if the program has no solution, or LOST if there seems to
        be no end; and the change of log |det E_B|.
    """
    log_det = 0.0
    T, u, reach, gap, side = tile.T, tile.u, tile.reach, tile.gap, tile.side
    lengths = engine.lengths
    row, ratio, column, weights = scratch.row, scratch.ratio, scratch.column, scratch.weights
    order = scratch.order
    r, n = u.shape[0], row.shape[0]
    for count in range(50 * (r + 10) + 2 * n):
        # Leave where the violation is largest for the length of its row (dual steepest edge).
        p = -1
        worst = 0.0
        slope = 0.0
        upward = 1.0
        for k in range(r):
            over = u[k] - reach[k]
            violation = max(over, -u[k])
            if k != free and violation > tolerance:
                size = 0.0
                for i in range(r):
                    size += T[k, i] * T[k, i]
                if violation * violation > worst * size:
                    worst = violation * violation / size
                    p = k
                    slope = violation
                    upward = 1.0 if over > 0.0 else -1.0
        if p < 0:
            return count, log_det
        ratios(engine, tile, p, upward, scratch)
        noise = 1e3 * tolerance  # an error of the point moves u[p] by its product with T[p]
        for i in range(r):
            noise += abs(T[p, i]) * engine.blur[i]
        passed = breakpoint(engine, scratch, slope, noise)
        if passed < 0:
            if slope > noise:
                return OUTSIDE, 0.0
            u[p] = reach[p] if upward > 0.0 else 0.0  # on the boundary, up to rounding
            continue
        entering = order[passed]
        theta = ratio[entering]
        if theta == np.inf:  # it had been passed, and only rounding made it so
            theta = gap[entering] / row[entering]
        # Passed items flip to their other bound, which moves the point of the basis.
        for i in range(r):
            weights[i] = 0.0
        for k in range(passed):
            j = order[k]
            add_column(engine, j, lengths[j] * side[j], weights)
            side[j] = -side[j]
        for j in range(n):
            gap[j] = abs(gap[j] - theta * row[j])
        if passed > 0:
            for k in range(r):
                total = 0.0
                for i in range(r):
                    total += T[k, i] * weights[i]
                u[k] -= total
        tableau_column(engine, T, entering, column)
        bound = reach[p] if upward > 0.0 else 0.0
        step = (u[p] - bound) / column[p]
        start = 0.0 if side[entering] > 0.0 else lengths[entering]
        for k in range(r):
            u[k] -= step * column[k]
        left = tile.basis[p]
        gap[left] = theta
        side[left] = -upward
        gap[entering] = 0.0
        side[entering] = 0.0
        log_det += np.log(abs(column[p]))
        pivot(tile, p, entering, scratch)
        u[p] = start + step
        reach[p] = lengths[entering]
    return LOST, 0.0
