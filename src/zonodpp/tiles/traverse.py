"""Every tile along a line, written down."""

from __future__ import annotations

import numpy as np

from zonodpp._jit import lean, spliced
from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns
from zonodpp.tiles.pivots import (
    REFRESH,
    TileScratch,
    TileState,
    cross,
    next_break,
    renew_tile,
    set_speed,
    tile_scratch,
)

PARALLEL = 1e-11  # a direction whose cosine with the normal of a facet is smaller is parallel to it


@spliced
def stop_parallel(tile: TileState, d: Floats) -> None:
    """Set to zero the speeds that are rounding errors: the line is parallel to the facet.

    Such a speed would end a walk along the boundary at once, or carry it out of its facet.
    """
    T, v = tile.T, tile.v
    r = v.shape[0]
    length = 0.0
    for i in range(r):
        length += d[i] * d[i]
    for p in range(r):
        size = 0.0
        for i in range(r):
            size += T[p, i] * T[p, i]
        if abs(v[p]) <= PARALLEL * np.sqrt(size) * np.sqrt(length):
            v[p] = 0.0


@lean
def fill_walk(
    columns: UnitColumns,
    tile: TileState,
    d: Floats,
    carry: Floats,
    ends: Floats,
    bases: Integers,
    log_volumes: Floats,
    scratch: TileScratch,
) -> int:
    """Walk along d to the boundary and return the number of tiles, or -1 if the arrays are full.

    ``carry`` holds alpha and the log volume so far; with the tile it says where to go on.
    """
    u, v, basis = tile.u, tile.v, tile.basis
    r = basis.shape[0]
    for k in range(ends.shape[0]):
        for p in range(r):
            bases[k, p] = basis[p]
        log_volumes[k] = carry[1]
        stop_parallel(tile, d)
        length, p = next_break(tile)
        carry[0] += length
        ends[k] = carry[0]
        for i in range(r):
            u[i] += length * v[i]
        size, left = cross(columns, tile, p, scratch)
        if size == 0.0:
            return k + 1
        carry[1] += np.log(size)
        carry[1] += np.log(columns.lengths[basis[p]]) - np.log(columns.lengths[left])
        if tile.age[0] >= REFRESH:
            renew_tile(columns, tile, scratch)
            set_speed(tile, d)
    return -1


def traverse(
    columns: UnitColumns, tile: TileState, d: Floats, log_volume: float
) -> tuple[Floats, Integers, Floats]:
    """Walk from the tile's point along d: where each tile ends, its basis, its log volume."""
    n, r = columns.lengths.size, len(tile.basis)
    scratch = tile_scratch(r, n)
    carry = np.array([0.0, log_volume])
    tile.v[:] = tile.T @ d
    parts: list[tuple[Floats, Integers, Floats]] = []
    count = -1
    while count < 0:
        room = 4 * n
        part = (np.empty(room), np.empty((room, r), np.int64), np.empty(room))
        count = fill_walk(columns, tile, d, carry, *part, scratch)
        kept = room if count < 0 else count
        parts.append((part[0][:kept], part[1][:kept], part[2][:kept]))
    ends, bases, log_volumes = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return ends, np.sort(bases, axis=1), log_volumes
