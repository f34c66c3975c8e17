"""The item that enters a basis when a walk leaves its tile; rounding errors judge small entries."""

from __future__ import annotations

import math

import numpy as np

from zonodpp._types import Floats
from zonodpp.chains.columns import UnitColumns
from zonodpp.chains.inverse import row_length
from zonodpp.chains.small_pivots import (
    TINY,
    is_copy,
    rounding_error,
    rounding_weights,
)
from zonodpp.numerics.compiled import inline_source
from zonodpp.numerics.hidden import LOG_NEGLIGIBLE
from zonodpp.zonotope.tile import BOUNDARY, TileScratch, TileState, first_minimum, ratio_test

# Where the bound of rounding errors, relative to the row of T, is larger, the basis is thin,
# and the bound may be far above the errors: each entry is judged by itself.
COARSE = 1e-9
STALE, UNSURE = -2, -3  # what `item_behind` returns, beside BOUNDARY, in place of an item


@inline_source
def item_behind(
    columns: UnitColumns,
    tile: TileState,
    p: int,
    power: float,
    log_weight: Floats,
    scratch: TileScratch,
) -> int:
    """Return the item that enters where coordinate p meets its bound; ``ratio`` is set for it.

    BOUNDARY: there is none. STALE: a small entry decides, and T is not fresh. UNSURE: an entry that
    is not above its rounding error would decide, and its tile may have weight: its entry to the
    ``power``, times exp(log_weight) of the item over that of the item at p.
    """
    T, gap, total, row, ratio = tile.T, tile.gap, scratch.vector, scratch.row, scratch.ratio
    upward = 1.0 if tile.v[p] > 0.0 else -1.0
    least = rounding_weights(T, p, total)
    ratio_test(columns, tile, p, upward, least, scratch)
    entering = first_minimum(ratio)
    found, unsure = BOUNDARY, False
    if ratio[entering] < np.inf and least <= COARSE * row_length(T, p):
        found = entering
    else:  # small entries count only here: they let reduced costs fall so slowly
        nearest = np.inf
        for j in range(row.shape[0]):
            if row[j] > 0.0:
                error = rounding_error(columns, T, p, total, j, row[j])
                if row[j] > error and gap[j] < nearest * row[j]:
                    nearest = gap[j] / row[j]
                    found = j
                elif row[j] <= error:
                    rise = log_weight[j] - log_weight[tile.basis[p]]
                    if power * math.log(error) + rise > LOG_NEGLIGIBLE:
                        unsure = unsure or not is_copy(columns, tile.basis, p, j)
        if found >= 0:
            ratio[found] = nearest
    small = unsure or (found >= 0 and row[found] < TINY * row_length(T, p))
    if small and tile.age[0] > 0:
        return STALE
    return UNSURE if unsure else found
