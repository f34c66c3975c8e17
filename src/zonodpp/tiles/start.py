"""The first tile: of a point, from any basis, or from a basis that the user gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from zonodpp._jit import lean
from zonodpp._types import Floats, Integers
from zonodpp.arguments import as_items
from zonodpp.basis.columns import UnitColumns, basis_matrix, matrix_of
from zonodpp.linalg.columns import frozen
from zonodpp.linalg.dense import to_dense
from zonodpp.tiles.long_step import FEASIBLE, OUTSIDE, locate, settle
from zonodpp.tiles.pivots import (
    TileScratch,
    TileState,
    empty_tile,
    price,
    renew_tile,
    tile_scratch,
)

SINGULAR_BASIS = -3  # returned in place of a number of pivots, like OUTSIDE and LOST
LARGEST = 2**30  # entries of a dense matrix, 8 GiB


class OutsideError(ValueError):
    """The point is not in the zonotope."""


@lean
def _begin(
    columns: UnitColumns,
    tile: TileState,
    c: Floats,
    x: Floats,
    tolerance: float,
    scratch: TileScratch,
) -> int:
    """Set up the tile of a basis; if x is given (not empty), go on to the tile that holds it."""
    if renew_tile(columns, tile, scratch) == np.inf:
        return SINGULAR_BASIS
    price(columns, tile, c, scratch)
    if x.shape[0] == 0:
        return 0
    locate(columns, tile, x, scratch)
    result = settle(columns, tile, -1, tolerance, scratch)
    return int(result[0])


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
    dense = to_dense(unit)
    if scale is not None:
        dense = dense * scale
    order = scipy.linalg.qr(dense, mode="r", pivoting=True)[-1]
    return np.asarray(order[: len(dense)], dtype=np.int64)


def checked_basis(init: Any, columns: UnitColumns, n: int) -> Integers:
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
    tile.T[:] = np.linalg.inv(basis_matrix(columns, basis))
    return tile


def tile_from_basis(
    columns: UnitColumns, basis: Integers, c: Floats, x: Floats | None = None
) -> TileState:
    """Return the tile of a basis in the tiling of the costs c, or go on from it to that of x."""
    r, n = len(basis), columns.lengths.size
    tile = empty_tile(r, n)
    tile.basis[:] = basis
    tile.reach[:] = columns.lengths[basis]
    tolerance = FEASIBLE * float(columns.lengths.max())
    point = np.empty(0) if x is None else np.array(x, dtype=np.float64)
    pivots = _begin(columns, tile, frozen(c), point, tolerance, tile_scratch(r, n))
    if pivots == SINGULAR_BASIS:
        raise ArithmeticError("the starting basis is numerically singular")
    if pivots == OUTSIDE:
        raise OutsideError("the point lies outside the zonotope")
    if pivots < 0:
        raise ArithmeticError("the tile of the point could not be found: A is close to singular")
    return tile


def find_tile(
    columns: UnitColumns, x: Floats, c: Floats, basis: Integers | None = None
) -> TileState:
    """Return the tile that holds x (Algorithm 3), by the dual simplex from any basis."""
    return tile_from_basis(columns, any_basis(columns) if basis is None else basis, c, x)
