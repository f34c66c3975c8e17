"""Walker's alias table: draws from a discrete law in constant time."""

from __future__ import annotations

import numpy as np

from zonodpp._jit import inlined, jit
from zonodpp._types import Floats


@inlined
def draw_alias(rng: np.random.Generator, table: Floats) -> int:
    """Draw an item by one uniform number: its cell, and the place in the cell."""
    n: int = table.shape[0]
    spot = rng.random() * n
    item = min(int(spot), n - 1)
    if spot - item >= table[item, 0]:
        item = int(table[item, 1])
    return item


@jit
def alias_table(weights: Floats) -> Floats:
    """Walker's alias table: row i holds the share of cell i that is item i, and the other item."""
    n = weights.shape[0]
    table = np.empty((n, 2))
    small = np.empty(n, np.int64)
    large = np.empty(n, np.int64)
    n_small = 0
    n_large = 0
    unit = weights.sum() / n
    for i in range(n):
        table[i, 0] = weights[i] / unit
        table[i, 1] = i
        if table[i, 0] < 1.0:
            small[n_small] = i
            n_small += 1
        else:
            large[n_large] = i
            n_large += 1
    while n_small > 0 and n_large > 0:
        n_small -= 1
        poor = small[n_small]
        rich = large[n_large - 1]
        table[poor, 1] = rich
        table[rich, 0] -= 1.0 - table[poor, 0]
        if table[rich, 0] < 1.0:
            n_large -= 1
            small[n_small] = rich
            n_small += 1
    # What is left differs from 1 by rounding alone.
    for k in range(n_small):
        table[small[k], 0] = 1.0
    for k in range(n_large):
        table[large[k], 0] = 1.0
    return table
