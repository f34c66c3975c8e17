"""The tiles of a tiling: that of a basis, that of a point, and every tile along a line."""

from __future__ import annotations

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.chains.columns import UnitColumns, matrix_of
from zonodpp.chains.inverse import inverse_of, row_length
from zonodpp.numerics.compiled import no_refcount
from zonodpp.zonotope import tile as pivots
from zonodpp.zonotope.entering import STALE, item_behind
from zonodpp.zonotope.long_steps import CAREFUL, NONE_FREE, OUTSIDE, STRICT, settle
from zonodpp.zonotope.tile import TileScratch, TileState

# A direction whose cosine with the normal of a facet is smaller is parallel to the facet: rounding
# errors of speeds explain such a cosine.
_PARALLEL = 1e-11
# Runs of the dual simplex for one point. Two are enough unless columns are nearly parallel: each
# very small pivot ends a run.
_RUNS = 50


class OutsideError(ValueError):
    """The point is not in the zonotope."""


def tile_from_basis(columns: UnitColumns, basis: Integers, c: Floats) -> TileState:
    """Return the tile of a basis in the tiling of the costs c; its corner has coordinates zero."""
    r, n = len(basis), columns.lengths.size
    tile = pivots.tile_at(pivots.tile_rows(r, n, 1)[0], r, n)
    tile.basis[:] = basis
    tile.reach[:] = columns.lengths[basis]
    tile.T[:] = inverse_of(columns, basis)
    reduced = c - (c[basis] @ tile.T) @ matrix_of(columns)
    tile.gap[:] = np.abs(reduced)
    tile.side[:] = np.where(reduced >= 0, 1.0, -1.0)
    tile.gap[basis] = tile.side[basis] = 0.0
    return tile


def point_of(columns: UnitColumns, tile: TileState) -> Floats:
    """Return the point of a tile that has the coordinates u."""
    rest = np.where(tile.side < 0, columns.lengths, 0.0)
    rest[tile.basis] = tile.u
    return np.asarray(matrix_of(columns) @ rest)


def find_tile(columns: UnitColumns, x: Floats, c: Floats, corner: TileState) -> TileState:
    """Return the tile that holds x (Algorithm 3), by the dual simplex from the corner of a tile.

    Rounding errors of pivots add up. So a point counts as outside only if a run of the dual simplex
    finds this with a T that was computed anew, with no pivot since. A point may lie beyond the
    boundary by rounding errors, so a first search allows for little and a second one for more.
    """
    scratch, made = pivots.tile_scratch(len(x), len(c)), 0
    for allowed in (STRICT, CAREFUL):
        for _ in range(_RUNS):
            tile = pivots.copy_of(corner)
            tile.u[:] = tile.T @ (x - point_of(columns, tile))  # u was zero; x may be outside it
            made, _ = settle(columns, tile, NONE_FREE, allowed, scratch)
            if made >= 0:
                return tile
            if made == OUTSIDE and tile.age[0] == 0:
                break
            corner = tile_from_basis(columns, tile.basis, c)
    if made == OUTSIDE:
        raise OutsideError("the point lies outside the zonotope")
    raise ArithmeticError("the tile of the point could not be found: A is close to singular")


@no_refcount
def _fill_walk(
    columns: UnitColumns,
    tile: TileState,
    least: float,
    scratch: TileScratch,
    bases: Integers,
    lengths: Floats,
) -> tuple[int, bool]:
    """Walk along the line; return the number of tiles, and whether the boundary was reached.

    It ends before that when the arrays are full or T is to be computed anew. ``lengths[k]`` is the
    length of the line in tile k. A speed of at most ``least`` times the length of its row of T
    counts as zero.
    """
    u, v, basis = tile.u, tile.v, tile.basis
    r = basis.shape[0]
    for k in range(bases.shape[0]):
        if tile.age[0] >= pivots.OLDEST:
            return k, False
        for p in range(r):
            bases[k, p] = basis[p]
            # The line is parallel to the facet, and its speed is a rounding error, which would end
            # a walk along the boundary at once, or carry it out of its facet.
            if abs(v[p]) <= least * row_length(tile.T, p):
                v[p] = 0.0
        length, p = pivots.next_break(u, v, tile.reach)
        item = item_behind(columns, tile, p, np.inf, columns.lengths, scratch)
        if item == STALE:
            return k, False
        lengths[k] = length
        if item < 0:
            return k + 1, True
        for i in range(r):
            u[i] += length * v[i]
        upward = 1.0 if v[p] > 0.0 else -1.0
        pivots.swap_items(columns, tile, p, item, upward, scratch)
    return bases.shape[0], False


def traverse(columns: UnitColumns, tile: TileState, d: Floats) -> tuple[Floats, Integers]:
    """Walk from the tile's point along d: where each tile ends, and its basis."""
    n, r = columns.lengths.size, len(tile.basis)
    scratch, least = pivots.tile_scratch(r, n), _PARALLEL * float(np.linalg.norm(d))
    parts: list[tuple[Integers, Floats]] = []
    finished = False
    while not finished:
        tile.T[:] = inverse_of(columns, tile.basis, np.inf)
        tile.v[:] = tile.T @ d
        tile.age[0] = 0
        # A chord crosses about n tiles, so this is room enough for nearly all of them.
        bases, lengths = np.empty((4 * n, r), np.int64), np.zeros(4 * n)
        count, finished = _fill_walk(columns, tile, least, scratch, bases, lengths)
        parts.append((bases[:count], lengths[:count]))
    bases, lengths = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return np.cumsum(lengths), np.sort(bases, axis=1)
