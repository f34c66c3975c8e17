"""A pool for ratio tests: items with small reduced costs, among which the next one to enter is.

Let y = c_B T be the multipliers of a tile, so that the reduced cost of item j is c_j - y . e_j.
The gap of item j is the absolute value of that. When coordinate p leaves, y moves along T_p, and
item j enters at the dual step ratio_j = gap_j / |T_p . e_j|, if it enters at all. Let no e_j be
longer than L. Two bounds hold:

- ratio_j >= gap_j / (|T_p| L), by Cauchy and Schwarz;
- gap_j changes by at most L |y - y_0| while the multipliers move from y_0 to y.

A pool is made for the multipliers y_0: it holds the basis, and all other items whose gap is below
some number tau. An item that leaves the basis is in the pool, since one enters from the pool only.
So an item outside the pool has a gap of at least tau - L |y - y_0|, and a ratio of at least
(tau - L |y - y_0|) / (|T_p| L). If the least ratio in the pool is no larger than that, then it is
the least of all ratios: the walk goes through the same tiles as with full tests. Otherwise the pool
is made anew, and where that does not help, all items are tested.

A pool is laid out as the columns of a zonotope of its own. So tiles, ratio tests and pivots are
those of `zonodpp.zonotope.tile`, where the place of an item in the pool stands for the item.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.chains.columns import UnitColumns, dot, tableau_row
from zonodpp.numerics.arguments import (
    fixed_floats_at,
    fixed_integers_at,
    floats_at,
    integers_at,
)
from zonodpp.numerics.arrays import EPS
from zonodpp.numerics.compiled import forceinline

# Rounding errors of a reduced cost c_j - y . e_j, in units of r (|c_j| + |y| L). Ratios that are
# nearer than this to the bound above count as beyond it. So a certain test is as certain as a full
# one, whose reduced costs have the same errors.
_ROUNDING = 64.0 * EPS
# What a choice of the pool may take: corrections of the threshold in proportion, then bisections
# of the bits of a number, of which there are at most 63.
_CORRECTIONS, _TRIES = 8, 80
FAR = 1e300  # in place of infinity: all that a chain keeps from step to step has to be finite
_ENOUGH = 20  # tries after which an eighth of the wanted items is enough
_INFINITY = np.array([np.inf]).view(np.int64)[0]  # the bits of infinity

# Entries of ``Dual.facts``.
(
    TAU,  # gaps outside the pool were at least this when it was made; FAR if it holds all items
    SLACK,  # what rounding errors may take from a bound
    LONGEST,  # L, the length of the longest vector e_j
    SURE,  # 1 if the next crossing has been found to be that of the pool; else 0
    FRESH,  # 1 if the multipliers are those for which the pool was made; else 0
    BEST,  # the least ratio in the pool at an uncertain crossing; FAR if there is none
    GUESS,  # the threshold of the last pool, with which the choice of the next one begins
    LARGEST,  # the largest |c_j|
    HOME_TAU,  # TAU of the pool of the tile in which the line begins
    PATH,  # lazy tilings: the length of the path of the multipliers so far
) = range(10)
FACTS = 10


class Pool(NamedTuple):
    """Items with small reduced costs; an item is known by its place in these arrays."""

    columns: UnitColumns  # as those of all items; dense
    names: Integers  # (k,) the item in each place; the first r are the basis it was made for
    cost: Floats  # (k,)
    gap: Floats  # (k,) as in a tile
    side: Floats  # (k,) as in a tile
    log_weight: Floats  # (k,)


def pool_size(r: int, room: int) -> int:
    """Return how many numbers a pool with room for so many items takes."""
    return room * (2 * r + 6)


@forceinline
def pool_in_kernel(memory: Floats, which: int, room: int, count: int, columns: UnitColumns) -> Pool:
    """Return a pool in the memory of pools: views of its first ``count`` places."""
    r = columns.rows.shape[0]
    first = which * room * (2 * r + 6)
    after = first + 2 * r * room
    none = fixed_integers_at(memory, 0, (0,))
    own = UnitColumns(
        fixed_floats_at(memory, first, (r, room)),
        fixed_floats_at(memory, first + r * room, (room, r)),
        none,
        none,
        fixed_floats_at(memory, 0, (0,)),
        fixed_floats_at(memory, after, (count,)),
        columns.blur,
        columns.tolerance,
    )
    return Pool(
        own,
        integers_at(memory, after + room, (count,)),
        floats_at(memory, after + 2 * room, (count,)),
        floats_at(memory, after + 3 * room, (count,)),
        floats_at(memory, after + 4 * room, (count,)),
        fixed_floats_at(memory, after + 5 * room, (count,)),
    )


@forceinline
def _put_item(
    columns: UnitColumns, item: int, place: int, rows: Floats, dense: Floats, lengths: Floats
) -> None:
    """Copy the column of an item to a place of a pool."""
    lengths[place] = columns.lengths[item]
    if columns.dense.shape[0] > 0:
        for i in range(rows.shape[0]):
            dense[place, i] = columns.dense[item, i]
    else:
        for i in range(rows.shape[0]):
            dense[place, i] = 0.0
        for k in range(columns.indptr[item], columns.indptr[item + 1]):
            dense[place, columns.indices[k]] = columns.data[k]
    for i in range(rows.shape[0]):
        rows[i, place] = dense[place, i]


@forceinline
def put_items(
    columns: UnitColumns,
    log_weight: Floats,
    c: Floats,
    basis: Integers,
    order: Integers,
    memory: Floats,
    which: int,
    room: int,
    begin: int,
    count: int,
) -> None:
    """Fill the places of a pool from ``begin`` on: first the basis, then the front of ``order``.

    Gaps and sides are left to the caller.
    """
    r = columns.rows.shape[0]
    first = which * room * (2 * r + 6)
    after = first + 2 * r * room
    rows = floats_at(memory, first, (r, room))
    dense = floats_at(memory, first + r * room, (room, r))
    lengths = floats_at(memory, after, (count,))
    names = integers_at(memory, after + room, (count,))
    cost = floats_at(memory, after + 2 * room, (count,))
    weights = floats_at(memory, after + 5 * room, (count,))
    for place in range(begin, count):
        item = basis[place] if place < r else order[place - r]
        _put_item(columns, item, place, rows, dense, lengths)
        names[place] = item
        cost[place] = c[item]
        weights[place] = log_weight[item]


@forceinline
def price_basis(basis: Integers, T: Floats, c: Floats, multipliers: Floats) -> None:
    """Set the multipliers c_B T of a tile."""
    for i in range(multipliers.shape[0]):
        multipliers[i] = 0.0
    for p in range(multipliers.shape[0]):
        cost = c[basis[p]]
        for i in range(multipliers.shape[0]):
            multipliers[i] += cost * T[p, i]


@forceinline
def set_bounds(
    columns: UnitColumns, multipliers: Floats, c: Floats, basis: Integers, gap: Floats, side: Floats
) -> None:
    """Set the bounds of a tile from its reduced costs c - c_B T E."""
    tableau_row(columns, multipliers, gap)
    for j in range(c.shape[0]):
        reduced = c[j] - gap[j]
        gap[j] = abs(reduced)
        side[j] = 1.0 if reduced >= 0.0 else -1.0
    for p in range(basis.shape[0]):
        gap[basis[p]] = 0.0
        side[basis[p]] = 0.0


@forceinline
def _items_below(gap: Floats, side: Floats, tau: float, order: Integers) -> int:
    """Write to the front of ``order`` the items outside the basis whose gap is below tau."""
    count = 0
    for j in range(gap.shape[0]):
        order[count] = j
        count += 1 if (gap[j] < tau and side[j] != 0.0) else 0
    return count


@forceinline
def choose_items(
    gap: Floats, side: Floats, most: int, guess: float, cell: Floats, order: Integers
) -> tuple[int, float]:
    """Choose tau such that at most, and not far from, ``most`` items outside the basis lie below.

    They are the first of ``order``; returns their number and tau. ``cell`` is scratch.
    """
    bits = integers_at(cell, 0, (1,))
    low, high = 0, _INFINITY
    cell[0] = np.inf if gap.shape[0] <= most else guess
    count = 0
    for tries in range(_TRIES):
        tau = cell[0]
        count = _items_below(gap, side, tau, order)
        if count > most:
            high = bits[0]
        else:
            low = bits[0]
            few = 2 if tries < _ENOUGH else 8
            if few * count >= most or tau == np.inf or high - low <= 1:
                break
        # Gaps near zero are spread evenly, mostly.
        cell[0] = tau * (0.75 * most / max(count, 1))
        if tries >= _CORRECTIONS or not low < bits[0] < high:
            bits[0] = low + (high - low) // 2
    return count, min(cell[0], FAR)


@forceinline
def begin_at(multipliers: Floats, dual: Floats, tau: float) -> None:
    """Note that the pool is that of these multipliers: ``dual`` is y - y_0, then the facts."""
    r = multipliers.shape[0]
    for i in range(r):
        dual[i] = 0.0
    size = dual[r + LARGEST] + dual[r + LONGEST] * math.sqrt(dot(multipliers, multipliers))
    dual[r + TAU] = tau
    dual[r + SLACK] = _ROUNDING * r * size
    dual[r + SURE] = 0.0
    dual[r + FRESH] = 1.0


@forceinline
def is_certain(dual: Floats, T: Floats, p: int, theta: float) -> bool:
    """Tell whether no item outside the pool has a ratio below theta when coordinate p leaves."""
    r = T.shape[0]
    moved = 0.0
    square = 0.0
    for i in range(r):
        moved += dual[i] * dual[i]
        square += T[p, i] * T[p, i]
    longest = dual[r + LONGEST]
    left: float = dual[r + TAU] - longest * math.sqrt(moved) - dual[r + SLACK]
    certain: bool = theta * math.sqrt(square) * longest <= left
    return certain


@forceinline
def move_multipliers(dual: Floats, T: Floats, p: int, step: float) -> None:
    """Note that the multipliers move by step T_p; without a pool ``dual`` is empty."""
    r = T.shape[0]
    if dual.shape[0] > 0:
        for i in range(r):
            dual[i] += step * T[p, i]
        dual[r + SURE] = 0.0
        dual[r + FRESH] = 0.0 if step != 0.0 else dual[r + FRESH]
