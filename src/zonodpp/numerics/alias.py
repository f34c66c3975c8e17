"""Walker's alias table: draws from a discrete law in constant time."""

from __future__ import annotations

import numpy as np

from zonodpp._types import Floats, Integers, Rng
from zonodpp.numerics.arrays import frozen
from zonodpp.numerics.compiled import forceinline, no_refcount


@forceinline
def draw_alias(rng: Rng, table: Floats) -> int:
    """Draw an item by one uniform number, which gives a cell and a place in the cell."""
    n: int = table.shape[0]
    spot = rng.random() * n
    item = min(int(spot), n - 1)
    if spot - item >= table[item, 0]:
        item = int(table[item, 1])
    return item


def alias_table(weights: Floats, indptr: Integers | None = None) -> Floats:
    """Return a table whose row i holds the share of cell i, and the other item.

    Cell i leads to item i with probability its share, and to the other item if not. With ``indptr``
    the weights ``indptr[k]:indptr[k + 1]`` are those of law k, which has these cells for itself.
    """
    bounds = np.array([0, weights.size]) if indptr is None else indptr
    table = np.empty((weights.size, 2))
    _fill_table(frozen(weights), frozen(bounds, np.int64), table, np.empty(weights.size, np.int64))
    return table


@no_refcount
def _fill_table(weights: Floats, indptr: Integers, table: Floats, waiting: Integers) -> None:
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
            table[i, 0] = weights[i] / (total / (end - first))
            table[i, 1] = i
            if table[i, 0] < 1.0:
                waiting[light] = i
                light += 1
            else:
                heavy -= 1
                waiting[heavy] = i
        while light > first and heavy < end:
            light -= 1
            poor, rich = waiting[light], waiting[heavy]
            table[poor, 1] = rich
            table[rich, 0] -= 1.0 - table[poor, 0]
            if table[rich, 0] < 1.0:
                heavy += 1
                waiting[light] = rich
                light += 1
        # Cells that rounding errors leave over lead to their own items: table[i, 1] is i.
