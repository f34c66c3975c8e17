"""A step of hit-and-run that jumps: Algorithm 4 by three warm-started linear programs.

The two ends of the chord, a uniform point between them, and the tile that holds it. Cheaper than
walking where a chord crosses very many tiles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import lean, spliced
from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns
from zonodpp.samplers.lines import (
    ACCEPTED,
    HUGE,
    MOVED,
    STEPS,
    TILES,
    Rule,
    Watch,
    Work,
    draw_direction,
    finish_step,
    look,
    refresh,
)
from zonodpp.tiles.chord import Ellipsoid, chord_ends
from zonodpp.tiles.long_step import settle
from zonodpp.tiles.pivots import REFRESH, copy_basis, copy_bounds, set_speed


@lean
def run_by_long_steps(
    rng: np.random.Generator,
    columns: UnitColumns,
    rule: Rule,
    ellipsoid: Ellipsoid,
    watch: Watch,
    work: Work,
    subsets: NDArray[np.int32],
    tracked: Floats,
    progress: Integers,
    thin: int,
    counts: Integers,
) -> bool:
    """Do as `run_by_walk`, by long steps."""
    tile = work.tile
    while progress[0] < subsets.shape[0]:
        while progress[1] < thin:
            if tile.age[0] >= REFRESH and not refresh(columns, rule, work, counts):
                return False
            draw_direction(rng, rule.factor, work.z, work.d)
            set_speed(tile, work.d)
            look(watch, tile, work.before)
            if not step_long(rng, columns, rule, ellipsoid, watch, work, counts):
                return False
            counts[STEPS] += 1
            finish_step(work, subsets, tracked, progress, thin)
        progress[0] += 1
        progress[1] = 0
    return True


@spliced
def step_long(
    rng: np.random.Generator,
    columns: UnitColumns,
    rule: Rule,
    ellipsoid: Ellipsoid,
    watch: Watch,
    work: Work,
    counts: Integers,
) -> bool:
    """Make one step; False if the point's tile was lost."""
    tile, chosen, share = work.tile, work.chosen, work.share
    r, sets = tile.u.shape[0], share.shape[0]
    copy_basis(tile, chosen)
    low, high, pivots = chord_ends(
        columns, ellipsoid, chosen, work.x, work.d, rule.tolerance, work.scratch
    )
    if pivots < 0:
        return False
    alpha = low + (high - low) * rng.random()
    copy_basis(tile, chosen)
    copy_bounds(tile, chosen)
    for p in range(r):
        chosen.u[p] += alpha * tile.v[p]
    more, log_ratio = settle(columns, chosen, -1, rule.tolerance, work.scratch)
    if more < 0:
        return False
    counts[TILES] += pivots + more
    log_ratio *= rule.exponent
    for p in range(r):
        new, old = chosen.basis[p], tile.basis[p]
        log_ratio += np.log(rule.mass[new]) - np.log(rule.mass[old])
        log_ratio += np.log(HUGE) * (rule.level[new] - rule.level[old])
    chance = np.exp(min(0.0, log_ratio))
    look(watch, chosen, work.inside)
    for s in range(sets):
        share[s] = chance if work.inside[s] else 0.0
        share[s] += 1.0 - chance if work.before[s] else 0.0
    if rng.random() < chance:
        counts[ACCEPTED] += 1
        counts[MOVED] += 1 if more > 0 else 0
        copy_basis(chosen, tile)
        copy_bounds(chosen, tile)
        for i in range(r):
            work.x[i] += alpha * work.d[i]
    return True
