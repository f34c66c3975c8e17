"""The first tile: of a point, from any basis, or from a basis that the user gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from zonodpp._jit import lean
from zonodpp.columns import Floats, Integers
from zonodpp.inputs import as_items
from zonodpp.zonotope.factor import refactorise
from zonodpp.zonotope.long_step import FEASIBLE, OUTSIDE, locate, settle
from zonodpp.zonotope.pivots import Scratch, Tile, empty_tile, price, scratch_for
from zonodpp.zonotope.products import Engine, unit_columns


class OutsideError(ValueError):
    """The point is not in the zonotope."""


@lean
def _set_basis(engine: Engine, tile: Tile, c: Floats, scratch: Scratch) -> bool:
    if not refactorise(engine, tile, scratch):
        return False
    price(engine, tile, c, scratch)
    return True


@lean
def _find(engine: Engine, tile: Tile, x: Floats, tolerance: float, scratch: Scratch) -> int:
    locate(engine, tile, x, scratch)
    pivots, _ = settle(engine, tile, -1, tolerance, scratch)
    return pivots


def any_basis(engine: Engine) -> Integers:
    """Return r independent columns, well conditioned (QR with column pivoting)."""
    unit = unit_columns(engine)
    dense = unit.toarray() if sp.issparse(unit) else unit
    _, _, order = scipy.linalg.qr(dense, mode="economic", pivoting=True)
    return np.asarray(order[: len(dense)], dtype=np.int64)


def checked_basis(init: Any, engine: Engine) -> Integers:
    """Check that a user's starting basis is one."""
    r, n = engine.rows.shape[0], engine.lengths.size
    basis = as_items(init, n, "init")
    if basis.shape != (r,):
        raise ValueError(f"init must hold r = {r} items, got {basis.shape}")
    unit = unit_columns(engine)[:, basis]
    unit = unit.toarray() if sp.issparse(unit) else unit
    smallest = np.linalg.svd(unit, compute_uv=False)[-1]
    if smallest < 1e-12:
        raise ValueError(
            f"init = {basis.tolist()} is not a basis: its columns are dependent (or have weight "
            "zero); leave init out to start from a random one"
        )
    return basis


def tile_from_basis(engine: Engine, basis: Integers, c: Floats) -> Tile:
    """Return the tile of a basis in the tiling of the costs c; its point is left at zero."""
    r, n = len(basis), engine.lengths.size
    tile = empty_tile(r, n)
    tile.basis[:] = basis
    tile.reach[:] = engine.lengths[basis]
    if not _set_basis(engine, tile, c, scratch_for(r, n)):
        raise ArithmeticError("the starting basis is numerically singular")
    return tile


def find_tile(engine: Engine, x: Floats, c: Floats, basis: Integers | None = None) -> Tile:
    """Return the tile that holds x (Algorithm 3), by the dual simplex from any basis."""
    tile = tile_from_basis(engine, any_basis(engine) if basis is None else basis, c)
    tolerance = FEASIBLE * float(engine.lengths.max())
    scratch = scratch_for(len(tile.basis), engine.lengths.size)
    pivots = _find(engine, tile, np.ascontiguousarray(x, dtype=np.float64), tolerance, scratch)
    if pivots == OUTSIDE:
        raise OutsideError("the point lies outside the zonotope")
    if pivots < 0:
        raise ArithmeticError("the tile of the point could not be found: A is close to singular")
    return tile
