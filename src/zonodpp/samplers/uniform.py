"""Uniform points of a zonotope: Algorithm 2, and whole tiles drawn one after another."""

from __future__ import annotations

import numpy as np

from zonodpp._jit import announce_compilation, lean
from zonodpp.matrices.columns import Floats, Integers, frozen
from zonodpp.zonotope.chord import Ellipsoid, chord_ends
from zonodpp.zonotope.frame import Frame
from zonodpp.zonotope.long_step import FEASIBLE
from zonodpp.zonotope.pivots import Scratch, Tile, copy_basis, empty_tile, scratch_for
from zonodpp.zonotope.products import Engine, unit_columns
from zonodpp.zonotope.start import any_basis, tile_from_basis


@lean
def run_uniform(
    rng: np.random.Generator,
    engine: Engine,
    ellipsoid: Ellipsoid,
    factor: Floats,
    tile: Tile,
    line: Tile,
    x: Floats,
    d: Floats,
    z: Floats,
    tolerance: float,
    thin: int,
    points: Floats,
    scratch: Scratch,
) -> bool:
    """Algorithm 2: a uniform point of the chord at each step, thin steps for each point kept."""
    r = x.shape[0]
    for k in range(points.shape[0]):
        for _ in range(thin):
            size = 0.0
            for i in range(r):
                z[i] = rng.standard_normal()
                size += z[i] * z[i]
            for i in range(r):
                total = 0.0
                for j in range(i + 1):
                    total += factor[i, j] * z[j]
                d[i] = total / np.sqrt(size)
            copy_basis(tile, line)
            low, high, pivots = chord_ends(engine, ellipsoid, line, x, d, tolerance, scratch)
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
    engine = frame.engine
    r, n = engine.rows.shape[0], engine.lengths.size
    x = unit_columns(engine) @ (engine.lengths * rng.random(n))
    tile = tile_from_basis(engine, any_basis(engine), np.zeros(n))
    points = np.empty((size, r))
    factor = frozen(np.linalg.inv(frame.whitener))
    tolerance = FEASIBLE * float(engine.lengths.max())
    work = (np.ascontiguousarray(x), np.empty(r), np.empty(r), tolerance)
    line, scratch = empty_tile(r, n), scratch_for(r, n)
    with announce_compilation():
        for steps, kept in ((burn_in, points[:1]), (thin, points)):
            if steps and not run_uniform(
                rng, engine, frame.ellipsoid, factor, tile, line, *work, steps, kept, scratch
            ):
                raise ArithmeticError("a chord could not be found: A is close to singular")
    return frame.map_back(points)


def points_in_tiles(frame: Frame, bases: Integers, c: Floats, rng: np.random.Generator) -> Floats:
    """Draw a uniform point in the tile of each basis, in the tiling of the costs c."""
    engine = frame.engine
    unit = unit_columns(engine)
    points = np.empty(bases.shape)
    for k, basis in enumerate(bases):
        tile = tile_from_basis(engine, basis, c)
        rest = np.where(tile.side < 0, engine.lengths, 0.0)
        rest[basis] = rng.random(len(basis)) * engine.lengths[basis]
        points[k] = unit @ rest
    return frame.map_back(points)
