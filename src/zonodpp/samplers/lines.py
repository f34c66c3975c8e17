"""What the two kinds of hit-and-run step share: their rule, their state, directions, records."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from zonodpp._jit import forceinline
from zonodpp._types import Booleans, Floats, Integers, Subsets

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
# A chain keeps three tiles in one stack: that of its point, the one at which a walk has arrived,
# and the one that was picked. (NumPy integers: for literals functions are compiled separately.)
HOME, WALKER, CHOSEN = np.arange(3)
# The entries of ``progress``: the draw, its step, the half of the line.
DRAW, STEP, HALF = range(3)
# Why a kernel returns: all is done, or T is to be computed anew, or the point's tile was lost.
DONE, OLD_HOME, OLD_WALKER, LOST = range(4)
# Densities may overflow. They are kept as density * HUGE**level, 1 / ROOT <= density <= ROOT.
HUGE, ROOT = 1e100, 1e50


class Rule(NamedTuple):
    """What a step does."""

    factor: Floats  # (r, r) lower triangular: directions are factor z, z on the unit sphere
    metric: Floats  # (r, r) factor factor', in which directions are isotropic
    mass: Floats  # (n,) the density of a tile is |det E_B|**exponent times the product over B of
    level: Integers  # (n,) mass * HUGE**level
    exponent: float
    window: float
    tolerance: float
    gibbs: bool  # else metropolis
    fresh: bool
    long_steps: bool
    reflect: bool


class TrackedSets(NamedTuple):
    """Tracked set k is items[starts[k]:starts[k + 1]]."""

    starts: Integers
    items: Integers
    tracked: Booleans  # (n,) whether the item is in any set


class Line(NamedTuple):
    """The point, the line through it, and what has been seen on the line."""

    x: Floats  # (r,) the point, carried when tilings are fixed
    c: Floats  # (n,) the costs of the present tiling, for unit columns
    d: Floats  # (r,) the direction
    along: Floats  # (r,) the direction at the present point of the walk
    z: Floats  # (r,) scratch
    inside: Floats  # (sets,) 1 if the tracked set is in the present tile, else 0
    share: Floats  # (sets,) see `follow_sets`
    tally: Floats  # (TALLY,) sums over the tiles of the line, see `walk_line`


TALLY = 14


def new_line(x: Floats, c: Floats, sets: int) -> Line:
    """Allocate what a line takes, for the point x and the costs c."""
    d, along, z = np.empty((3, len(x)))
    inside, share = np.zeros((2, sets))
    return Line(x, c, d, along, z, inside, share, np.zeros(TALLY))


@forceinline
def draw_direction(rng: np.random.Generator, factor: Floats, z: Floats, d: Floats) -> None:
    """Set d = factor z / |z| for z standard normal: z / |z| is uniform on the unit sphere."""
    r = z.shape[0]
    size = 0.0
    for i in range(r):
        z[i] = rng.standard_normal()
        size += z[i] * z[i]
    size = 1.0 / math.sqrt(size)
    for i in range(r):
        total = 0.0
        for k in range(i + 1):
            total += factor[i, k] * z[k]
        d[i] = total * size


@forceinline
def follow_sets(
    starts: Integers,
    items: Integers,
    side: Floats,
    passed: float,
    inside: Floats,
    share: Floats,
) -> None:
    """Note which tracked sets are in a tile, after tiles whose weights add up to ``passed``.

    The weight of all tiles so far that hold set s is share[s] + inside[s] * passed. So share
    changes only when a set is entered or left. Items of the basis rest at neither bound.
    """
    for s in range(starts.shape[0] - 1):
        present = 1.0
        for k in range(starts[s], starts[s + 1]):
            if side[items[k]] != 0.0:
                present = 0.0
        share[s] += (inside[s] - present) * passed
        inside[s] = present


@forceinline
def copy_tile(stack: Floats, source: int, to: int) -> None:
    """Copy a tile of the stack over another."""
    for k in range(stack.shape[1]):
        stack[to, k] = stack[source, k]


@forceinline
def finish_step(
    basis: Integers,
    inside: Floats,
    share: Floats,
    total: float,
    subsets: Subsets,
    tracked: Floats,
    progress: Integers,
    thin: int,
    counts: Integers,
) -> None:
    """Add to what is tracked; after a draw's last step, write the basis.

    ``inside`` is that of the tile in which the step began. The weight that tiles lack to ``total``
    is that of staying in it.
    """
    k = progress[DRAW]
    counts[STEPS] += 1
    for s in range(share.shape[0]):
        tracked[k, s] += inside[s] + share[s] / total
        share[s] = 0.0
    progress[HALF] = 0
    progress[STEP] += 1
    if progress[STEP] < thin:
        return
    progress[STEP] = 0
    progress[DRAW] += 1
    for p in range(basis.shape[0]):
        subsets[k, p] = basis[p]
