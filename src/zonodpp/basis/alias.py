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
    light, heavy = np.empty((2, weights.size), np.int64)
    fill_tables(frozen(weights), frozen(indptr, np.int64), share, other, light, heavy)
    return share, other


@no_refcount
def fill_tables(
    weights: Floats,
    indptr: Integers,
    share: Floats,
    other: Integers,
    light: Integers,
    heavy: Integers,
) -> None:
    """Fill the cells of items below the mean weight up from items above it (Walker, Vose)."""
    for k in range(indptr.shape[0] - 1):
        total = 0.0
        for i in range(indptr[k], indptr[k + 1]):
            total += weights[i]
        unit = total / (indptr[k + 1] - indptr[k])
        n_light = 0
        n_heavy = 0
        for i in range(indptr[k], indptr[k + 1]):
            share[i] = weights[i] / unit
            if share[i] < 1.0:
                light[n_light] = i
                n_light += 1
            else:
                heavy[n_heavy] = i
                n_heavy += 1
        while n_light > 0 and n_heavy > 0:
            n_light -= 1
            poor = light[n_light]
            rich = heavy[n_heavy - 1]
            other[poor] = rich
            share[rich] -= 1.0 - share[poor]
            if share[rich] < 1.0:
                n_heavy -= 1
                light[n_light] = rich
                n_light += 1
        # What is left differs from 1 by rounding alone.
        for i in range(n_light):
            share[light[i]] = 1.0
        for i in range(n_heavy):
            share[heavy[i]] = 1.0
