"""The first tile: of a point, from any basis, or from a basis that the user gives."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from zonodpp._threads import one_thread
from zonodpp._types import Floats, Integers, ItemsLike
from zonodpp.arguments import as_items
from zonodpp.basis.columns import UnitColumns, basis_matrix, matrix_of
from zonodpp.basis.inverse import inverse_of
from zonodpp.linalg.dense import to_dense
from zonodpp.tiles.long_step import FEASIBLE, NONE_FREE, OUTSIDE, order_scratch, settle
from zonodpp.tiles.pivots import TileState, empty_tile, tile_scratch

LARGEST = 2**30  # entries of a dense matrix, 8 GiB


class OutsideError(ValueError):
    """The point is not in the zonotope."""


def any_basis(columns: UnitColumns, scale: Floats | None = None) -> Integers:
    """Return r independent columns (QR with column pivoting), by preference those of large scale.

    Without scale they are about as well conditioned as any.
    """
    unit = matrix_of(columns)
    if sp.issparse(unit) and math.prod(unit.shape) > LARGEST:
        raise ValueError(
            f"a first basis takes a dense matrix of {unit.shape[0]:,} x {unit.shape[1]:,}, which "
            "is too large; use method='trees' for a graph, or method='exact'"
        )
    with one_thread(unit.shape[0] * math.prod(unit.shape)):
        dense = to_dense(unit) if scale is None else to_dense(unit) * scale
        order = scipy.linalg.qr(dense, mode="r", pivoting=True)[-1]
    return np.asarray(order[: unit.shape[0]], dtype=np.int64)


def checked_basis(init: ItemsLike, columns: UnitColumns, n: int) -> Integers:
    """Check that a user's starting basis is one, of the first n items."""
    r = columns.rows.shape[0]
    basis = as_items(init, n, "init")
    if basis.shape != (r,):
        raise ValueError(f"init must hold r = {r} items, got {basis.shape}")
    smallest = np.linalg.svd(basis_matrix(columns, basis), compute_uv=False)[-1]
    if smallest < 1e-12:
        raise ValueError(
            f"init = {basis.tolist()} is not a basis: its columns are dependent (or have weight "
            "zero); leave init out to start from a random one"
        )
    return basis


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


def find_tile(
    columns: UnitColumns, x: Floats, c: Floats, basis: Integers | None = None
) -> TileState:
    """Return the tile that holds x (Algorithm 3), by the dual simplex from any basis."""
    tile = tile_with_point(columns, any_basis(columns) if basis is None else basis, c, x)
    r, n = len(x), len(c)
    tolerance = FEASIBLE * float(columns.lengths.max())
    pivots, _ = settle(columns, tile, NONE_FREE, tolerance, tile_scratch(r, n), order_scratch(n))
    if pivots == OUTSIDE:
        raise OutsideError("the point lies outside the zonotope")
    if pivots < 0:
        raise ArithmeticError("the tile of the point could not be found: A is close to singular")
    return tile
