"""The first tile: that of a basis, or that of a point, from any basis."""

from __future__ import annotations

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns, matrix_of
from zonodpp.basis.inverse import inverse_of
from zonodpp.tiles.long_step import NONE_FREE, OUTSIDE, settle
from zonodpp.tiles.pivots import TileState, empty_tile, tile_scratch


class OutsideError(ValueError):
    """The point is not in the zonotope."""


def bare_tile(columns: UnitColumns, basis: Integers) -> TileState:
    """Return a basis with its inverse, in no particular tiling."""
    tile = empty_tile(len(basis), columns.lengths.size)
    tile.basis[:] = basis
    tile.reach[:] = columns.lengths[basis]
    tile.T[:] = inverse_of(columns, basis)
    return tile


def tile_from_basis(columns: UnitColumns, basis: Integers, c: Floats) -> TileState:
    """Return the tile of a basis in the tiling of the costs c."""
    tile = bare_tile(columns, basis)
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


def tile_with_point(columns: UnitColumns, basis: Integers, c: Floats, x: Floats) -> TileState:
    """Return the tile of a basis with the coordinates of x, which may lie outside the tile."""
    tile = tile_from_basis(columns, basis, c)
    tile.u[:] = tile.T @ (x - point_of(columns, tile))  # from the corner where u = 0
    return tile


def find_tile(columns: UnitColumns, x: Floats, c: Floats, basis: Integers) -> TileState:
    """Return the tile that holds x (Algorithm 3), by the dual simplex from any basis."""
    scratch, pivots = tile_scratch(len(x), len(c)), 0
    for _ in range(2):  # again with a T that is computed anew: rounding errors of pivots add up
        tile = tile_with_point(columns, basis, c, x)
        pivots, _ = settle(columns, tile, NONE_FREE, scratch)
        if pivots >= 0:
            return tile
        basis = tile.basis
    if pivots == OUTSIDE:
        raise OutsideError("the point lies outside the zonotope")
    raise ArithmeticError("the tile of the point could not be found: A is close to singular")
