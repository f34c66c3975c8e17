"""Uniform points of a zonotope: Algorithm 2, and whole tiles drawn one after another."""

from __future__ import annotations

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.samplers.hit_and_run import HitAndRun
from zonodpp.targets.family import VolumeSampling
from zonodpp.tiles.frame import Frame
from zonodpp.tiles.tilings import point_of, tile_from_basis


def hit_and_run_points(
    target: VolumeSampling, frame: Frame, size: int, rng: np.random.Generator, thin: int
) -> Floats:
    """Draw points by Algorithm 2, with whitened directions.

    It is the chain for power 1, whose density is the same in all tiles: every proposal is accepted.
    """
    walk = HitAndRun(preset="paper", directions="whitened").prepare(target)
    state = walk.start(rng, None)
    points, basis = np.empty((size, target.r)), np.empty((1, target.r), np.int32)
    burn_in = 10 * target.r
    for k in range(size):
        walk.advance(state, rng, basis, np.empty((1, 0)), thin if k else burn_in)
        points[k] = state["x"]
    return frame.map_back(points)


def points_in_tiles(frame: Frame, bases: Integers, c: Floats, rng: np.random.Generator) -> Floats:
    """Draw a uniform point in the tile of each basis, in the tiling of the costs c."""
    points = np.empty(bases.shape)
    for k, basis in enumerate(bases):
        tile = tile_from_basis(frame.columns, basis, c)
        tile.u[:] = rng.random(len(basis)) * tile.reach
        points[k] = point_of(frame.columns, tile)
    return frame.map_back(points)
