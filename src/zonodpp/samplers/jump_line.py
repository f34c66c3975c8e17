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
    DONE,
    DRAW,
    HOME,
    HUGE,
    LOST,
    MOVED,
    OLD_HOME,
    TILES,
    WALKER,
    Line,
    Rule,
    TrackedSets,
    copy_tile,
    draw_direction,
    finish_step,
    follow_sets,
)
from zonodpp.tiles.chord import Ellipsoid, chord_ends
from zonodpp.tiles.long_step import NONE_FREE, settle
from zonodpp.tiles.pivots import OLDEST, TileScratch, TileState, multiply


@inline_source
def draw_on_chord(
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
) -> tuple[float, int]:
    """Draw a direction d and a uniform point x + alpha d of the chord.

    Returns alpha and the number of pivots, which is negative if the chord was not found.
    ``walker`` becomes the basis from which the ends are found, at first that of the home tile.
    """
    draw_direction(rng, factor, scratch.weights, d)
    copy_tile(stack, HOME, WALKER)
    low, high, pivots = chord_ends(
        columns, ellipsoid, walker, x, d, tolerance, scratch, order, space
    )
    alpha = low + (high - low) * rng.random()
    return alpha, pivots


@no_refcount
def run_by_long_steps(
    rng: np.random.Generator,
    columns: UnitColumns,
    rule: Rule,
    ellipsoid: Ellipsoid,
    sets: TrackedSets,
    order: Integers,
    space: Floats,
    home: TileState,
    walker: TileState,
    stack: Floats,
    line: Line,
    scratch: TileScratch,
    subsets: Subsets,
    tracked: Floats,
    progress: Integers,
    thin: int,
    counts: Integers,
) -> int:
    """Do as `run_by_walk`, by long steps."""
    x, d, inside, share = line.x, line.d, line.inside, line.share
    starts, items = sets.starts, sets.items
    tolerance = rule.tolerance
    while progress[DRAW] < subsets.shape[0]:
        if home.age[0] >= OLDEST:
            return OLD_HOME
        alpha, pivots = draw_on_chord(
            rng,
            columns,
            ellipsoid,
            rule.factor,
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
            return LOST
        copy_tile(stack, HOME, WALKER)
        multiply(home.T, d, home.v)
        for p in range(x.shape[0]):
            walker.u[p] += alpha * home.v[p]
        more, log_det = settle(columns, walker, NONE_FREE, tolerance, scratch, order)
        if more < 0:
            return LOST
        counts[TILES] += pivots + more
        chance = chance_to_move(rule, home.basis, walker.basis, log_det)
        follow_sets(starts, items, home.side, 0.0, inside, share)
        follow_sets(starts, items, walker.side, 1.0 - chance, inside, share)
        follow_sets(starts, items, home.side, 1.0, inside, share)
        if rng.random() < chance:
            counts[ACCEPTED] += 1
            counts[MOVED] += 1 if more > 0 else 0
            copy_tile(stack, WALKER, HOME)
            for i in range(x.shape[0]):
                x[i] += alpha * d[i]
        finish_step(home.basis, inside, share, 1.0, subsets, tracked, progress, thin, counts)
    return DONE


@inline_source
def chance_to_move(rule: Rule, old: Integers, new: Integers, log_det: float) -> float:
    """Return the chance to accept a basis, if log |det E_B| is larger by log_det than before."""
    log_ratio = rule.exponent * log_det
    for p in range(old.shape[0]):
        log_ratio += math.log(rule.mass[new[p]]) - math.log(rule.mass[old[p]])
        log_ratio += math.log(HUGE) * (rule.level[new[p]] - rule.level[old[p]])
    return math.exp(min(0.0, log_ratio))
