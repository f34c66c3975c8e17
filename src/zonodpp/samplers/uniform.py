"""Uniform points of a zonotope: Algorithm 2, and whole tiles drawn one after another."""

from __future__ import annotations

import numpy as np

from zonodpp._jit import no_refcount
from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns, matrix_of
from zonodpp.linalg.columns import frozen
from zonodpp.samplers.lines import HOME, WALKER, copy_basis, draw_direction
from zonodpp.tiles.chord import Ellipsoid, chord_ends
from zonodpp.tiles.frame import Frame
from zonodpp.tiles.long_step import FEASIBLE, order_scratch
from zonodpp.tiles.pivots import TileScratch, TileState, empty_tile, tile_scratch
from zonodpp.tiles.start import any_basis, bare_tile, put_tile, tile_from_basis


@no_refcount
def run_uniform(
    rng: np.random.Generator,
    columns: UnitColumns,
    ellipsoid: Ellipsoid,
    factor: Floats,
    tiles: TileState,
    x: Floats,
    d: Floats,
    tolerance: float,
    thin: int,
    points: Floats,
    scratch: TileScratch,
    order: Integers,
    space: Floats,
) -> bool:
    """Algorithm 2: a uniform point of the chord at each step, thin steps for each point kept."""
    basis, T, u, v, reach, gap, side, age = tiles
    walker = TileState(
        basis[WALKER],
        T[WALKER],
        u[WALKER],
        v[WALKER],
        reach[WALKER],
        gap[WALKER],
        side[WALKER],
        age[WALKER],
    )
    for k in range(points.shape[0]):
        for _ in range(thin):
            draw_direction(rng, factor, scratch.weights, d)
            copy_basis(basis, T, u, v, reach, age, HOME, WALKER)
            low, high, pivots = chord_ends(
                columns, ellipsoid, walker, x, d, tolerance, scratch, order, space
            )
            if pivots < 0:
                return False
            alpha = low + (high - low) * rng.random()
            for i in range(x.shape[0]):
                x[i] += alpha * d[i]
        for i in range(x.shape[0]):
            points[k, i] = x[i]
    return True


def hit_and_run_points(
    frame: Frame, size: int, rng: np.random.Generator, *, thin: int, burn_in: int
) -> Floats:
    """Draw points by Algorithm 2, with whitened directions, from x0 = A u."""
    columns = frame.columns
    r, n = columns.rows.shape[0], columns.lengths.size
    tiles = empty_tile(r, n, 2)
    put_tile(tiles, HOME, bare_tile(columns, any_basis(columns)))
    factor = frozen(np.linalg.inv(frame.whitener))
    x = np.ascontiguousarray(matrix_of(columns) @ (columns.lengths * rng.random(n)))
    shared = (rng, columns, frame.ellipsoid, factor, tiles, x, np.empty(r))
    scratch = (tile_scratch(r, n), order_scratch(n), np.empty((4, r)))
    tolerance = FEASIBLE * float(columns.lengths.max())
    points = np.empty((size, r))
    for steps, kept in ((burn_in, points[:1]), (thin, points)):
        if steps and not run_uniform(*shared, tolerance, steps, kept, *scratch):
            raise ArithmeticError("a chord could not be found: A is close to singular")
    return frame.map_back(points)


def points_in_tiles(frame: Frame, bases: Integers, c: Floats, rng: np.random.Generator) -> Floats:
    """Draw a uniform point in the tile of each basis, in the tiling of the costs c."""
    columns = frame.columns
    unit = matrix_of(columns)
    points = np.empty(bases.shape)
    for k, basis in enumerate(bases):
        tile = tile_from_basis(columns, basis, c)
        rest = np.where(tile.side < 0, columns.lengths, 0.0)
        rest[basis] = rng.random(len(basis)) * columns.lengths[basis]
        points[k] = unit @ rest
    return frame.map_back(points)
