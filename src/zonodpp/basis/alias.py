"""Walker's alias table: draws from a discrete law in constant time."""

from __future__ import annotations

import numpy as np

from zonodpp._jit import forceinline, no_refcount
from zonodpp._types import Floats, Integers
from zonodpp.linalg.columns import frozen


@forceinline
def draw_alias(rng: np.random.Generator, table: Floats) -> int:
    """Draw an item by one uniform number: its cell, and the place in the cell."""
    n: int = table.shape[0]
    spot = rng.random() * n
    item = min(int(spot), n - 1)
    if spot - item >= table[item, 0]:
        item = int(table[item, 1])
    return item


def alias_table(weights: Floats) -> Floats:
    """Return the table of one law; row i holds the share of cell i, and the other item."""
    return np.column_stack(alias_tables(weights, np.array([0, weights.size])))


def alias_tables(weights: Floats, indptr: Integers) -> tuple[Floats, Integers]:
    """Build one table for each law: the weights ``indptr[k]:indptr[k + 1]`` are those of law k.

    Cell i leads to item i with probability ``share[i]``, and to ``other[i]`` otherwise.
    """
    share, other = np.empty(weights.size), np.arange(weights.size)
    waiting = np.empty(weights.size, np.int64)
    fill_tables(frozen(weights), frozen(indptr, np.int64), share, other, waiting)
    return share, other


@no_refcount
def fill_tables(
    weights: Floats, indptr: Integers, share: Floats, other: Integers, waiting: Integers
) -> None:
    """Fill the cells of items below the mean weight up from items above it (Walker, Vose).

    ``waiting`` is scratch: light items are stacked up from its front, heavy ones from its end.
    """
    for k in range(indptr.shape[0] - 1):
        first, end = indptr[k], indptr[k + 1]
        total = 0.0
        for i in range(first, end):
            total += weights[i]
        light, heavy = first, end  # the first free place, and the last one that is taken
        for i in range(first, end):
            share[i] = weights[i] / (total / (end - first))
            if share[i] < 1.0:
                waiting[light] = i
                light += 1
            else:
                heavy -= 1
                waiting[heavy] = i
        while light > first and heavy < end:
            light -= 1
            poor, rich = waiting[light], waiting[heavy]
            other[poor] = rich
            share[rich] -= 1.0 - share[poor]
            if share[rich] < 1.0:
                heavy += 1
                waiting[light] = rich
                light += 1
        # What is left differs from 1 by rounding alone.
        for i in range(first, light):
            share[waiting[i]] = 1.0
        for i in range(heavy, end):
            share[waiting[i]] = 1.0
