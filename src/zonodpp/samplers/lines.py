"""What the two kinds of hit-and-run step share: their rule, their state, and keeping it sound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import inlined, lean, spliced
from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns
from zonodpp.tiles.long_step import locate
from zonodpp.tiles.pivots import TileScratch, TileState, price, renew_tile

# The names of the entries of `counts`, in the order of the constants below.
COUNTERS = (
    "steps",
    "accepted",
    "moved",
    "tiles",
    "refactorisations",
    "drifts",
    "lost tiles",
)
STEPS, ACCEPTED, MOVED, TILES, REFACTORISATIONS, DRIFTS, LOST_TILES = range(7)
# Densities may overflow. They are kept as density * HUGE**level, 1 / ROOT <= density <= ROOT.
HUGE, ROOT = 1e100, 1e50
DRIFT = 1e-9  # an error of T beyond this is counted as drift when T is computed anew


class Rule(NamedTuple):
    """What a step does."""

    factor: Floats  # (r, r) lower triangular: directions are factor z, z on the unit sphere
    mass: Floats  # (n,) the density of a tile is |det E_B|**exponent times the product over B of
    level: Integers  # (n,) mass * HUGE**level
    exponent: float
    window: float
    tolerance: float
    gibbs: bool  # else metropolis
    fresh: bool
    long_steps: bool
    reflect: bool
    metric: Floats  # (r, r) factor factor', in which directions are isotropic


class Watch(NamedTuple):
    """Tracked sets: set k is items[starts[k]:starts[k + 1]]."""

    starts: Integers
    items: Integers
    watched: NDArray[np.bool_]  # (n,) whether the item is in any set


class Work(NamedTuple):
    """The state of a chain and its scratch."""

    tile: TileState
    walker: TileState
    chosen: TileState
    scratch: TileScratch
    x: Floats  # (r,) the point, carried when tilings are fixed
    c: Floats  # (n,) the costs of the present tiling, for unit columns
    d: Floats  # (r,)
    along: Floats  # (r,) the direction at the present point of the walk
    z: Floats  # (r,)
    inside: NDArray[np.bool_]  # which tracked sets are in the tile
    before: NDArray[np.bool_]  # which were at the start of the step
    share: Floats  # (sets,) the chance of each set in this step
    tally: Floats  # (TALLY,) sums over the tiles of a line, see `walk_line`


@spliced
def draw_direction(rng: np.random.Generator, factor: Floats, z: Floats, d: Floats) -> None:
    """Set d = factor z / |z| for z standard normal: z / |z| is uniform on the unit sphere."""
    r = z.shape[0]
    size = 0.0
    for i in range(r):
        z[i] = rng.standard_normal()
        size += z[i] * z[i]
    size = 1.0 / np.sqrt(size)
    for i in range(r):
        total = 0.0
        for k in range(i + 1):
            total += factor[i, k] * z[k]
        d[i] = total * size


@inlined
def look(watch: Watch, tile: TileState, inside: NDArray[np.bool_]) -> None:
    """Tell which tracked sets are in the tile: items of the basis rest at neither bound."""
    starts, items, side = watch.starts, watch.items, tile.side
    for s in range(starts.shape[0] - 1):
        inside[s] = True
        for k in range(starts[s], starts[s + 1]):
            if side[items[k]] != 0.0:
                inside[s] = False


@spliced
def finish_step(
    work: Work, subsets: NDArray[np.int32], tracked: Floats, progress: Integers, thin: int
) -> None:
    """Add to what is tracked; after a draw's last step, write the basis in ascending order."""
    basis, share, k = work.tile.basis, work.share, progress[0]
    for s in range(share.shape[0]):
        tracked[k, s] += share[s]
    progress[1] += 1
    if progress[1] < thin:
        return
    for p in range(basis.shape[0]):  # insertion sort: rows are short
        item = basis[p]
        q = p
        while q > 0 and subsets[k, q - 1] > item:
            subsets[k, q] = subsets[k, q - 1]
            q -= 1
        subsets[k, q] = item


@lean
def renew(columns: UnitColumns, tile: TileState, scratch: TileScratch, counts: Integers) -> None:
    """Compute T anew from the basis; count this, and whether T had drifted."""
    counts[REFACTORISATIONS] += 1
    if not renew_tile(columns, tile, scratch) <= DRIFT:
        counts[DRIFTS] += 1


@lean
def refresh(columns: UnitColumns, rule: Rule, work: Work, counts: Integers) -> bool:
    """Compute everything anew from the basis and the point; False if the tile was lost."""
    tile, scratch = work.tile, work.scratch
    renew(columns, tile, scratch, counts)
    if rule.fresh:
        return True
    price(columns, tile, work.c, scratch)
    locate(columns, tile, work.x, scratch)
    worst = 0.0
    for p in range(tile.u.shape[0]):
        worst = max(worst, -tile.u[p], tile.u[p] - tile.reach[p])
    return worst <= 100.0 * rule.tolerance
