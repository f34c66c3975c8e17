"""What the two kinds of hit-and-run step share: rule and state, directions, tilings, records."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from zonodpp._types import Floats, Integers, Rng
from zonodpp.chains.bases import BASIS_COUNTERS, STEPS
from zonodpp.chains.columns import UnitColumns, multiply
from zonodpp.chains.tracking import Recording, TrackedSets
from zonodpp.numerics.arguments import floats_at, integers_at
from zonodpp.numerics.compiled import forceinline, inline_source

COUNTERS = (*BASIS_COUNTERS, "moved", "tiles", "lost tiles")
MOVED, TILES, LOST_TILES = range(len(BASIS_COUNTERS), len(COUNTERS))
# A chain keeps three tiles in one stack: that of its point, the one at which a walk has arrived,
# and the one that was picked. These are NumPy integers: for each literal integer that it is given,
# numba would compile a function once more.
HOME, WALKER, PICKED = np.arange(3)
# The entries of ``progress``: the draw, its step, the half of the line (0 ahead, 1 back).
DRAW, STEP, HALF = range(3)
BEGUN = 0.5  # "tiles visited" of a half that is still in its first tile
# Why a kernel returns: all draws are done, or T of the tile HOME or WALKER is to be computed anew,
# or rounding errors have led so far astray that the tile of the point is to be found again, or the
# walk along one line takes long and goes on in the next call, or rounding hides a tile that may
# have weight. UNCERTAIN stays within kernels: an item outside the pool may be the next to enter.
DONE, OLD_HOME, OLD_WALKER, LOST, PAUSED, HIDDEN, UNCERTAIN = range(7)
# A walk along one line pauses after so many multiplications, some 0.05 seconds of work, but not
# before it has crossed so many tiles for each item of a basis: ordinary steps do not pause.
_LONG_WORK, _LONG_PER_ITEM, _LONG = 10**8, 100, 500_000
# How far a log density may lie above the log of the unit of weights. A higher one becomes that log,
# and all weights are rescaled. exp(200) is 7e86: sums and quotients of weights stay finite.
HUGE = 200.0


class Rule(NamedTuple):
    """The options of a step, and the density of tiles."""

    factor: Floats  # (r, r) lower triangular: directions are factor z, z on the unit sphere
    metric: Floats  # (r, r) factor factor', in which directions are isotropic
    # A tile has the log density exponent * log |det E_B| + the sum of log_mass over B.
    log_mass: Floats  # (n,)
    exponent: float
    window: float  # the length of a line, in units of alpha, or infinity for whole chords
    gibbs: bool  # else metropolis
    fresh: bool  # whether each step draws a new tiling; else a chain keeps one
    long_steps: bool  # whether steps jump by linear programs; else they walk
    reflect: bool  # whether walks are reflected at the boundary; else they end there
    # Whether a tile behind a small entry of the tableau may have weight: its probability over that
    # of the tile before is entry^(exponent + 1), times exp(log_weight) of the item that enters over
    # that of the item that leaves.
    careful: bool
    log_weight: Floats  # (n,)


class Line(NamedTuple):
    """A line through the point, and what has been seen on it."""

    d: Floats  # (r,) the direction
    along: Floats  # (r,) the direction at the present point of the walk
    tally: Floats  # (TALLY,) sums over the tiles of the line, see `zonodpp.zonotope.step`
    starts: Integers  # tracked set k is items[starts[k]:starts[k + 1]]
    items: Integers
    in_sets: Floats  # (n,) 1 if the item is in any tracked set, else 0
    inside: Floats  # (sets,) 1 if the tracked set is in the present tile, else 0
    share: Floats  # (sets,) see `follow_sets`
    # With a pool, items are known to the walk by their places there. All entries are empty without.
    names: Integers  # the item in each place of the pool
    dual: Floats  # how far the multipliers are from those of the pool, see `zonodpp.zonotope.pool`


TALLY = 13  # entries of ``tally``


class ZonotopeChain(NamedTuple):
    """All that the steps of a chain read and write."""

    columns: UnitColumns
    rule: Rule
    stack: Floats  # the tiles HOME, WALKER and PICKED, a row for each
    scratch: Floats
    line: Floats  # what `line_at` takes
    x: Floats  # (r,) the point, carried when tilings are fixed
    c: Floats  # (n,) the costs of the present tiling, for unit columns
    record: Recording
    progress: Integers  # DRAW, STEP and HALF: where to go on
    counts: Integers
    patience: int  # tiles of one line after which a call pauses


def patience_for(r: int, n: int) -> int:
    """Return the tiles of one line after which a call pauses."""
    return max(_LONG_PER_ITEM * r, min(_LONG_WORK // (r * n), _LONG))


def line_memory(r: int, n: int, sets: TrackedSets) -> Floats:
    """Allocate what `line_at` takes."""
    memory = np.zeros(2 * r + TALLY + n + 2 * sets.size)
    memory[2 * r + TALLY :][sets.items] = 1.0
    return memory


def line_at(memory: Floats, r: int, n: int, starts: Integers, items: Integers) -> Line:
    """Return a line: views of the memory."""
    sets = starts.shape[0] - 1
    seen = 2 * r + TALLY + n
    return Line(
        floats_at(memory, 0, (r,)),
        floats_at(memory, r, (r,)),
        floats_at(memory, 2 * r, (TALLY,)),
        starts,
        items,
        floats_at(memory, 2 * r + TALLY, (n,)),
        floats_at(memory, seen, (sets,)),
        floats_at(memory, seen + sets, (sets,)),
        integers_at(memory, 0, (0,)),
        floats_at(memory, 0, (0,)),
    )


line_in_kernel = forceinline(line_at)


@forceinline
def draw_point(rng: Rng, u: Floats, reach: Floats) -> None:
    """Draw a uniform point of a tile."""
    for p in range(u.shape[0]):
        u[p] = rng.random() * reach[p]


@forceinline
def draw_direction(rng: Rng, factor: Floats, z: Floats, d: Floats) -> None:
    """Set d = factor z / |z| for z standard normal: z / |z| is uniform on the unit sphere."""
    square = 0.0
    for i in range(z.shape[0]):
        z[i] = rng.standard_normal()
        square += z[i] * z[i]
    for i in range(z.shape[0]):
        z[i] /= math.sqrt(square)
    multiply(factor, z, d)


@forceinline
def draw_costs(seed: float, c: Floats) -> None:
    """Fill c with numbers that follow from a seed between 0 and 1, by the hash of SplitMix64."""
    first = np.uint64(np.int64(seed * 2.0**53))
    for j in range(c.shape[0]):
        z = first + np.uint64(j + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        c[j] = np.float64(np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(11)))


@forceinline
def log_change(
    log_mass: Floats, exponent: float, entered: int, left: int, det_ratio: float
) -> float:
    """Return the log of a tile's density over that of the tile before it.

    ``det_ratio`` is |det E_B| of the new basis over that of the old one.
    """
    change: float = log_mass[entered] - log_mass[left]
    if exponent != 0.0:
        change += exponent * math.log(det_ratio)
    return change


@inline_source
def chance_to_move(rule: Rule, old: Integers, new: Integers, log_det: float) -> float:
    """Return the probability to accept a new basis; log |det E_B| has grown by ``log_det``."""
    log_ratio = rule.exponent * log_det
    for p in range(old.shape[0]):
        log_ratio += rule.log_mass[new[p]] - rule.log_mass[old[p]]
    return math.exp(min(0.0, log_ratio))


@forceinline
def follow_sets(line: Line, side: Floats, before: float) -> None:
    """Note which tracked sets are in a tile, after tiles whose weights add up to ``before``.

    The weight of all tiles so far that hold set s is share[s] + inside[s] * before. So share
    changes only where a set enters the basis or leaves it. Items of the basis have the side 0.
    """
    for s in range(line.inside.shape[0]):
        present = 1.0
        for k in range(line.starts[s], line.starts[s + 1]):
            if side[line.items[k]] != 0.0:
                present = 0.0
        line.share[s] += (line.inside[s] - present) * before
        line.inside[s] = present


@forceinline
def copy_tile(stack: Floats, source: int, to: int) -> None:
    """Copy a tile of the stack over another."""
    for k in range(stack.shape[1]):
        stack[to, k] = stack[source, k]


@inline_source
def finish_step(chain: ZonotopeChain, basis: Integers, line: Line, total: float) -> None:
    """Add to what is tracked; after a draw's last step, write the basis.

    ``inside`` is that of the tile in which the step began. If the weights of all tiles add up to
    less than ``total``, the difference is the weight of staying in that tile.
    """
    progress, k = chain.progress, chain.progress[DRAW]
    chain.counts[STEPS] += 1
    for s in range(line.share.shape[0]):
        chain.record.tracked[k, s] += line.inside[s] + line.share[s] / total
        line.share[s] = 0.0
    progress[HALF] = 0
    progress[STEP] += 1
    if progress[STEP] == chain.record.thin:
        progress[STEP] = 0
        progress[DRAW] += 1
        for p in range(basis.shape[0]):
            chain.record.subsets[k, p] = basis[p]
