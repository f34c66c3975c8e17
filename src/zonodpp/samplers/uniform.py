"""Uniform points of a zonotope: Algorithm 2, and whole tiles drawn one after another."""

from __future__ import annotations

import numpy as np

from zonodpp._jit import lean
from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns, matrix_of
from zonodpp.linalg.columns import frozen
from zonodpp.samplers.lines import draw_direction
from zonodpp.tiles.chord import Ellipsoid, chord_ends
from zonodpp.tiles.frame import Frame
from zonodpp.tiles.long_step import FEASIBLE
from zonodpp.tiles.pivots import TileScratch, TileState, copy_basis, empty_tile, tile_scratch
from zonodpp.tiles.start import any_basis, tile_from_basis


@lean
def run_uniform(
    rng: np.random.Generator,
    columns: UnitColumns,
    ellipsoid: Ellipsoid,
    factor: Floats,
    tile: TileState,
    line: TileState,
    x: Floats,
    d: Floats,
    z: Floats,
    tolerance: float,
    thin: int,
    points: Floats,
    scratch: TileScratch,
) -> bool:
    """Algorithm 2: a uniform point of the chord at each step, thin steps for each point kept."""
    r = x.shape[0]
    for k in range(points.shape[0]):
        for _ in range(thin):
            draw_direction(rng, factor, z, d)
            copy_basis(tile, line)
            low, high, pivots = chord_ends(columns, ellipsoid, line, x, d, tolerance, scratch)
            if pivots < 0:
                return False
            alpha = low + (high - low) * rng.random()
            for i in range(r):
                x[i] += alpha * d[i]
        for i in range(r):
            points[k, i] = x[i]
    return True


def hit_and_run_points(
    frame: Frame, size: int, rng: np.random.Generator, *, thin: int, burn_in: int
) -> Floats:
    """Draw points by Algorithm 2, with whitened directions, from x0 = A u."""
    columns = frame.columns
    r, n = columns.rows.shape[0], columns.lengths.size
    x = matrix_of(columns) @ (columns.lengths * rng.random(n))
    tile = tile_from_basis(columns, any_basis(columns), np.zeros(n))
    points = np.empty((size, r))
    factor = frozen(np.linalg.inv(frame.whitener))
    tolerance = FEASIBLE * float(columns.lengths.max())
    work = (np.ascontiguousarray(x), np.empty(r), np.empty(r), tolerance)
    line, scratch = empty_tile(r, n), tile_scratch(r, n)
    for steps, kept in ((burn_in, points[:1]), (thin, points)):
        if steps and not run_uniform(
            rng, columns, frame.ellipsoid, factor, tile, line, *work, steps, kept, scratch
        ):
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
