"""Every tile along a line, written down."""

from __future__ import annotations

import math

import numpy as np

from zonodpp._jit import inline_source, no_refcount
from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns
from zonodpp.basis.inverse import inverse_of, row_length
from zonodpp.tiles.pivots import OLDEST, TileScratch, TileState, cross, next_break, tile_scratch

PARALLEL = 1e-11  # a direction whose cosine with the normal of a facet is smaller is parallel to it


@inline_source
def stop_parallel(T: Floats, v: Floats, d: Floats) -> None:
    """Set to zero the speeds that are rounding errors: the line is parallel to the facet.

    Such a speed would end a walk along the boundary at once, or carry it out of its facet.
    """
    length = 0.0
    for i in range(d.shape[0]):
        length += d[i] * d[i]
    for p in range(d.shape[0]):
        if abs(v[p]) <= PARALLEL * row_length(T, p) * math.sqrt(length):
            v[p] = 0.0


@no_refcount
def fill_walk(
    columns: UnitColumns,
    tile: TileState,
    d: Floats,
    scratch: TileScratch,
    bases: Integers,
    steps: Floats,
) -> tuple[int, bool]:
    """Walk along d and return the number of tiles, and whether the boundary was reached.

    It ends before that when the arrays are full or T is to be computed anew. ``steps[k]`` is the
    length of the line in tile k, and by how much the log volume of the next tile is larger.
    """
    u, v, basis, lengths = tile.u, tile.v, tile.basis, columns.lengths
    r = basis.shape[0]
    for k in range(bases.shape[0]):
        if tile.age[0] >= OLDEST:
            return k, False
        for p in range(r):
            bases[k, p] = basis[p]
        stop_parallel(tile.T, v, d)
        length, p = next_break(u, v, tile.reach)
        steps[k, 0] = length
        for i in range(r):
            u[i] += length * v[i]
        size, left = cross(columns, tile, p, scratch)
        if size == 0.0:
            return k + 1, True
        steps[k, 1] = math.log(size) + math.log(lengths[basis[p]]) - math.log(lengths[left])
    return bases.shape[0], False


def traverse(
    columns: UnitColumns, tile: TileState, d: Floats, log_volume: float
) -> tuple[Floats, Integers, Floats]:
    """Walk from the tile's point along d: where each tile ends, its basis, its log volume."""
    n, r = columns.lengths.size, len(tile.basis)
    scratch = tile_scratch(r, n)
    parts: list[tuple[Integers, Floats]] = []
    finished = False
    while not finished:
        tile.T[:] = inverse_of(columns, tile.basis)
        tile.v[:] = tile.T @ d
        tile.age[0] = 0
        bases, steps = np.empty((4 * n, r), np.int64), np.zeros((4 * n, 2))
        count, finished = fill_walk(columns, tile, d, scratch, bases, steps)
        parts.append((bases[:count], steps[:count]))
    bases, steps = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    ends, changes = np.cumsum(steps, axis=0).T
    return ends, np.sort(bases, axis=1), log_volume + changes - steps[:, 1]
