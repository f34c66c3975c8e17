"""Lazy tilings: costs that are drawn where the walk meets them.

If the costs c_j of a tiling are independent and uniform on [-1, 1], they need not be drawn before
the walk meets them. The multipliers y = c_B T of the present tile are a vertex of the arrangement
of the hyperplanes {y : y . e_j = c_j}: r of these, those of the basis, meet there. Where coordinate
p leaves, y moves along the edge of direction w = T_p / |T_p|, up or down, on which the other r - 1
hyperplanes stay, and the item that enters is the one whose hyperplane is met first.

The path of y over all tiles of a line is connected, so that y . e_j has swept an interval S_j. An
item has been met if and only if its c_j lies in S_j. So the cost of an item that has not been met
is uniform on what of [-1, 1] lies outside S_j, whatever the walk has seen and done. While y moves
by ds along w, it is met with probability |w . e_j| ds / (2 - |S_j|), where |S_j| is the length of
what of S_j lies in [-1, 1], if y . e_j is in [-1, 1] and outside S_j. That is the rate of a Poisson
process, independent for each item, and the first event of all is drawn by thinning: with L the
length of the longest e_j, and a path of the length l, |S_j| is at most L l and a rate at most
L / (2 - L l). Events of n times this rate come at exponential distances, each picks an item
uniformly, and counts with the probability of the item's rate over that bound.

Once L l exceeds SWEPT, all costs are drawn from what is known.
"""

from __future__ import annotations

import math

from zonodpp._types import Floats, Integers, Rng
from zonodpp.chains.columns import UnitColumns, tableau_entry
from zonodpp.numerics.compiled import forceinline

# How much of [-1, 1] the path may sweep for an item. With more, more events are drawn in vain; with
# less, more lines need all costs. Few lines do with either.
SWEPT = 1.0
# How much of it the path may sweep until the bound of the rates is taken anew: so little that the
# bound is close, and so much that an item is nearly always met before.
STRETCH = 0.1
NONE_MET = -1  # in place of the item that is met


@forceinline
def swept_by(columns: UnitColumns, path: Floats, corners: int, item: int) -> tuple[float, float]:
    """Return the least and the largest y . e_item over the corners of the path so far."""
    low, high = math.inf, -math.inf
    for k in range(corners):
        at = tableau_entry(columns, path[k], item)
        low = min(low, at)
        high = max(high, at)
    return low, high


@forceinline
def meet(
    rng: Rng,
    columns: UnitColumns,
    names: Integers,
    path: Floats,
    corners: int,
    y: Floats,
    w: Floats,
    most: float,
    length: float,
    longest: float,
    least: float,
) -> tuple[int, float, float]:
    """Return the first item with an unknown cost that is met from y along w, and how far on.

    Its cost comes third. NONE_MET: there is none within the distance ``most``. ``names`` are the
    items whose costs are known, ``length`` is that of the path so far, and |w . e_j| of at most
    ``least`` counts as zero.
    """
    n = columns.lengths.shape[0]
    distance, until, share, rate = 0.0, 0.0, 0.0, 1.0
    while True:
        distance -= math.log(1.0 - rng.random()) / rate
        if not distance < until:
            if until >= most:
                return NONE_MET, most, 0.0
            distance = until  # a Poisson process has no memory
            until = min(most, until + STRETCH / longest)
            share = longest * (length + until)
            rate = n * longest / (2.0 - share)
            continue
        item = int(rng.random() * n)
        number = rng.random() * longest
        speed = tableau_entry(columns, w, item)
        if number >= abs(speed) or abs(speed) <= least:
            continue
        cost = tableau_entry(columns, y, item) + distance * speed
        known = 0
        for k in range(names.shape[0]):
            known += names[k] == item
        if known > 0 or not -1.0 <= cost <= 1.0:
            continue
        low, high = swept_by(columns, path, corners, item)
        if low <= cost <= high:
            continue
        swept = min(1.0, max(high, cost)) - max(-1.0, min(low, cost))
        if number * (2.0 - swept) < abs(speed) * (2.0 - share):
            return item, distance, cost


@forceinline
def draw_unknown(
    rng: Rng,
    columns: UnitColumns,
    names: Integers,
    cost: Floats,
    path: Floats,
    corners: int,
    longest: float,
    c: Floats,
) -> None:
    """Draw the costs of all items that were not met, given the path; copy those that are known."""
    reach = 0.0  # no corner is further from the first one
    for k in range(1, corners):
        square = 0.0
        for i in range(path.shape[1]):
            square += (path[k, i] - path[0, i]) ** 2
        reach = max(reach, square)
    reach = longest * math.sqrt(reach)
    for j in range(c.shape[0]):
        first = tableau_entry(columns, path[0], j)
        while True:
            c[j] = 2.0 * rng.random() - 1.0
            if abs(c[j] - first) > reach:  # it cannot have been swept
                break
            low, high = swept_by(columns, path, corners, j)
            if not low <= c[j] <= high:
                break
    for k in range(names.shape[0]):
        c[names[k]] = cost[k]
