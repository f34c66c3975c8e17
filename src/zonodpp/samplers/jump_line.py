"""A step of hit-and-run that jumps: Algorithm 4 by three warm-started linear programs.

The two ends of the chord, a uniform point between them, and the tile that holds it. Cheaper than
walking where a chord crosses very many tiles.
"""

from __future__ import annotations

import math

import numpy as np

from zonodpp._jit import inline_source, no_refcount
from zonodpp._types import Floats, Integers, Subsets
from zonodpp.basis.columns import UnitColumns
from zonodpp.samplers.lines import (
    ACCEPTED,
    CHOSEN,
    DONE,
    DRAW,
    HOME,
    HUGE,
    LOST,
    MOVED,
    OLD_HOME,
    TILES,
    Line,
    Rule,
    TrackedSets,
    copy_basis,
    copy_bounds,
    draw_direction,
    find_tracked,
    finish_step,
)
from zonodpp.tiles.chord import Ellipsoid, chord_ends
from zonodpp.tiles.long_step import NONE_FREE, settle
from zonodpp.tiles.pivots import OLDEST, TileScratch, TileState, multiply


@no_refcount
def run_by_long_steps(
    rng: np.random.Generator,
    columns: UnitColumns,
    rule: Rule,
    ellipsoid: Ellipsoid,
    sets: TrackedSets,
    order: Integers,
    space: Floats,
    tiles: TileState,
    line: Line,
    scratch: TileScratch,
    subsets: Subsets,
    tracked: Floats,
    progress: Integers,
    thin: int,
    counts: Integers,
) -> int:
    """Do as `run_by_walk`, by long steps."""
    basis, T, u, v, reach, gap, side, age = tiles
    chosen = TileState(
        basis[CHOSEN],
        T[CHOSEN],
        u[CHOSEN],
        v[CHOSEN],
        reach[CHOSEN],
        gap[CHOSEN],
        side[CHOSEN],
        age[CHOSEN],
    )
    x, d = line.x, line.d
    while progress[DRAW] < subsets.shape[0]:
        if age[HOME, 0] >= OLDEST:
            return OLD_HOME
        draw_direction(rng, rule.factor, line.z, d)
        multiply(T[HOME], d, v[HOME])
        find_tracked(sets.starts, sets.items, side[HOME], line.before)
        copy_basis(basis, T, u, v, reach, age, HOME, CHOSEN)
        low, high, pivots = chord_ends(
            columns, ellipsoid, chosen, x, d, rule.tolerance, scratch, order, space
        )
        if pivots < 0:
            return LOST
        alpha = low + (high - low) * rng.random()
        copy_basis(basis, T, u, v, reach, age, HOME, CHOSEN)
        copy_bounds(gap, side, HOME, CHOSEN)
        for p in range(x.shape[0]):
            u[CHOSEN, p] += alpha * v[HOME, p]
        more, log_det = settle(columns, chosen, NONE_FREE, rule.tolerance, scratch, order)
        if more < 0:
            return LOST
        counts[TILES] += pivots + more
        chance = acceptance(rule, basis, log_det)
        find_tracked(sets.starts, sets.items, side[CHOSEN], line.inside)
        for s in range(line.share.shape[0]):
            line.share[s] = chance if line.inside[s] else 0.0
            line.share[s] += 1.0 - chance if line.before[s] else 0.0
        if rng.random() < chance:
            counts[ACCEPTED] += 1
            counts[MOVED] += 1 if more > 0 else 0
            copy_basis(basis, T, u, v, reach, age, CHOSEN, HOME)
            copy_bounds(gap, side, CHOSEN, HOME)
            for i in range(x.shape[0]):
                x[i] += alpha * d[i]
        finish_step(basis[HOME], line.share, subsets, tracked, progress, thin, counts)
    return DONE


@inline_source
def acceptance(rule: Rule, basis: Integers, log_det: float) -> float:
    """Return the chance to accept the chosen tile; log_det is by how much log |det E_B| rises."""
    log_ratio = rule.exponent * log_det
    for p in range(basis.shape[1]):
        new, old = basis[CHOSEN, p], basis[HOME, p]
        log_ratio += math.log(rule.mass[new]) - math.log(rule.mass[old])
        log_ratio += math.log(HUGE) * (rule.level[new] - rule.level[old])
    return math.exp(min(0.0, log_ratio))
