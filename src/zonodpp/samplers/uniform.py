"""Uniform points of a zonotope: Algorithm 2, and whole tiles drawn one after another."""

from __future__ import annotations

import numpy as np

from zonodpp._jit import no_refcount
from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns, matrix_of
from zonodpp.linalg.columns import frozen
from zonodpp.samplers.jump_line import draw_on_chord
from zonodpp.tiles.chord import Ellipsoid
from zonodpp.tiles.frame import Frame
from zonodpp.tiles.long_step import FEASIBLE, order_scratch
from zonodpp.tiles.pivots import TileScratch, TileState, put_tile, tile_scratch, tile_stack
from zonodpp.tiles.start import any_basis, bare_tile, point_of, tile_from_basis


@no_refcount
def run_uniform(
    rng: np.random.Generator,
    columns: UnitColumns,
    ellipsoid: Ellipsoid,
    factor: Floats,
    tolerance: float,
    walker: TileState,
    stack: Floats,
    x: Floats,
    d: Floats,
    scratch: TileScratch,
    order: Integers,
    space: Floats,
    thin: int,
    points: Floats,
) -> bool:
    """Algorithm 2: a uniform point of the chord at each step, thin steps for each point kept."""
    for k in range(points.shape[0]):
        for _ in range(thin):
            alpha, pivots = draw_on_chord(
                rng,
                columns,
                ellipsoid,
                factor,
                tolerance,
                walker,
                stack,
                x,
                d,
                scratch,
                order,
                space,
            )
            if pivots < 0:
                return False
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
    stack, (home, walker) = tile_stack(r, n, 2)
    put_tile(home, bare_tile(columns, any_basis(columns)))
    factor = frozen(np.linalg.inv(frame.whitener))
    x = np.ascontiguousarray(matrix_of(columns) @ (columns.lengths * rng.random(n)))
    tolerance = FEASIBLE * float(columns.lengths.max())
    shared = (rng, columns, frame.ellipsoid, factor, tolerance, walker, stack, x, np.empty(r))
    scratch = (tile_scratch(r, n), order_scratch(n), np.empty((4, r)))
    points = np.empty((size, r))
    for steps, kept in ((burn_in, points[:1]), (thin, points)):
        if steps and not run_uniform(*shared, *scratch, steps, kept):
            raise ArithmeticError("a chord could not be found: A is close to singular")
    return frame.map_back(points)


def points_in_tiles(frame: Frame, bases: Integers, c: Floats, rng: np.random.Generator) -> Floats:
    """Draw a uniform point in the tile of each basis, in the tiling of the costs c."""
    points = np.empty(bases.shape)
    for k, basis in enumerate(bases):
        tile = tile_from_basis(frame.columns, basis, c)
        tile.u[:] = rng.random(len(basis)) * tile.reach
        points[k] = point_of(frame.columns, tile)
    return frame.map_back(points)
