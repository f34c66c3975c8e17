"""A step of hit-and-run that jumps: Algorithm 4 by three warm-started linear programs.

The two ends of the chord, a uniform point between them, and the tile that holds it. Cheaper than
walking where a chord crosses very many tiles.
"""

from __future__ import annotations

import math

from zonodpp._generators import generator_at
from zonodpp._jit import inline_source, no_refcount
from zonodpp._types import Integers
from zonodpp.samplers.chains import ACCEPTED
from zonodpp.samplers.lines import (
    DONE,
    DRAW,
    HOME,
    HUGE,
    LOST,
    MOVED,
    OLD_HOME,
    TILES,
    WALKER,
    Rule,
    ZonotopeChain,
    copy_tile,
    draw_direction,
    finish_step,
    follow_sets,
    line_in_kernel,
)
from zonodpp.tiles.chord import Ellipsoid, chord_ends
from zonodpp.tiles.long_step import NONE_FREE, settle
from zonodpp.tiles.pivots import OLDEST, multiply, scratch_in_kernel, tile_in_kernel


@no_refcount
def run_by_long_steps(address: int, chain: ZonotopeChain, ellipsoid: Ellipsoid) -> int:
    """Do as `run_by_walk`, by long steps."""
    rng = generator_at(address)
    columns, rule, stack, memory, x, c, starts, items, draws = chain
    r, n = x.shape[0], c.shape[0]
    home = tile_in_kernel(stack[HOME], r, n)
    walker = tile_in_kernel(stack[WALKER], r, n)
    line = line_in_kernel(memory, x, c, starts, items)
    scratch = scratch_in_kernel(memory, r, n)
    d, counts = line.d, draws.counts
    while draws.progress[DRAW] < draws.subsets.shape[0]:
        if home.age[0] >= OLDEST:
            return OLD_HOME
        draw_direction(rng, rule.factor, line.z, d)
        copy_tile(stack, HOME, WALKER)
        low, high, pivots = chord_ends(columns, ellipsoid, walker, x, d, scratch)
        if pivots < 0:
            return LOST
        alpha = low + (high - low) * rng.random()
        copy_tile(stack, HOME, WALKER)
        multiply(home.T, d, home.v)
        for p in range(x.shape[0]):
            walker.u[p] += alpha * home.v[p]
        more, log_det = settle(columns, walker, NONE_FREE, scratch)
        if more < 0:
            return LOST
        counts[TILES] += pivots + more
        chance = chance_to_move(rule, home.basis, walker.basis, log_det)
        follow_sets(line, home.side, 0.0)
        follow_sets(line, walker.side, 1.0 - chance)
        follow_sets(line, home.side, 1.0)
        if rng.random() < chance:
            counts[ACCEPTED] += 1
            counts[MOVED] += 1 if more > 0 else 0
            copy_tile(stack, WALKER, HOME)
            for i in range(x.shape[0]):
                x[i] += alpha * d[i]
        finish_step(home.basis, line, 1.0, draws)
    return DONE


@inline_source
def chance_to_move(rule: Rule, old: Integers, new: Integers, log_det: float) -> float:
    """Return the chance to accept a basis, if log |det E_B| is larger by log_det than before."""
    log_ratio = rule.exponent * log_det
    for p in range(old.shape[0]):
        log_ratio += math.log(rule.mass[new[p]]) - math.log(rule.mass[old[p]])
        log_ratio += math.log(HUGE) * (rule.level[new[p]] - rule.level[old[p]])
    return math.exp(min(0.0, log_ratio))
