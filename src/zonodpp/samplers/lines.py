"""One step of hit-and-run: kernels for `zonodpp.samplers.hit_and_run`.

A step draws a direction and moves along the chord through the present point. By walking, it visits
every tile of the chord (or of a window of it) and picks one as it goes: with the exact conditional
probability, length times density (``gibbs``), or by length alone and then a Metropolis test, which
is Algorithm 4 of the paper. By long steps it finds the two ends and the tile of one uniform point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import inlined, lean, spliced
from zonodpp.columns import Floats, Integers
from zonodpp.zonotope.chord import Ellipsoid, chord_ends
from zonodpp.zonotope.factor import drift_of, refactorise, set_speed
from zonodpp.zonotope.long_step import locate, settle
from zonodpp.zonotope.pivots import (
    REFRESH,
    Scratch,
    Tile,
    copy_basis,
    copy_bounds,
    cross,
    next_break,
    price,
)
from zonodpp.zonotope.products import Engine

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
DRIFT = 1e-9  # an error of T beyond this is counted as drift when T is computed anew
HUGE = 1e100


class Rule(NamedTuple):
    """What a step does."""

    factor: Floats  # (r, r) lower triangular: directions are factor z, z on the unit sphere
    mass: Floats  # (n,) the density of a tile is |det E_B|**exponent * prod of mass over B
    exponent: float
    window: float
    tolerance: float
    gibbs: bool
    fresh: bool
    long_steps: bool


class Watch(NamedTuple):
    """Tracked sets: set k is items[starts[k]:starts[k + 1]]."""

    starts: Integers
    items: Integers
    watched: NDArray[np.bool_]  # (n,) whether the item is in any set


class Work(NamedTuple):
    """The state of a chain and its scratch."""

    tile: Tile
    start: Tile
    chosen: Tile
    scratch: Scratch
    x: Floats  # (r,) the point, carried when tilings are fixed
    c: Floats  # (n,) the costs of the present tiling, for unit columns
    d: Floats  # (r,)
    z: Floats  # (r,)
    inside: NDArray[np.bool_]  # which tracked sets are in the tile
    before: NDArray[np.bool_]  # which were at the start of the step
    share: Floats  # (sets,) the chance of each set in this step


@lean
def run_by_walk(
    rng: np.random.Generator,
    engine: Engine,
    rule: Rule,
    watch: Watch,
    work: Work,
    subsets: NDArray[np.int32],
    tracked: Floats,
    progress: Integers,
    thin: int,
    counts: Integers,
) -> bool:
    """Fill subsets with draws, thin steps apart; False if the point's tile was lost on the way.

    ``progress`` holds the draw and the step in it to go on with, so that the caller can mend the
    tile and call again.
    """
    tile = work.tile
    while progress[0] < subsets.shape[0]:
        while progress[1] < thin:
            if tile.age[0] >= REFRESH and not refresh(engine, rule, work, counts):
                return False
            counts[STEPS] += 1
            if rule.fresh:  # given B the point is uniform in its tile, whatever the costs are
                for j in range(work.c.shape[0]):
                    work.c[j] = rng.random()
                price(engine, tile, work.c, work.scratch)
                for p in range(tile.u.shape[0]):
                    tile.u[p] = rng.random() * tile.reach[p]
            draw_direction(rng, rule, work)
            set_speed(tile, work.d)
            look(watch, tile, work.before)
            walk_line(rng, engine, rule, watch, work, counts)
            finish_step(work, subsets, tracked, progress, thin)
        progress[0] += 1
        progress[1] = 0
    return True


@lean
def run_by_long_steps(
    rng: np.random.Generator,
    engine: Engine,
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
            if tile.age[0] >= REFRESH and not refresh(engine, rule, work, counts):
                return False
            draw_direction(rng, rule, work)
            set_speed(tile, work.d)
            look(watch, tile, work.before)
            if not step_long(rng, engine, rule, ellipsoid, watch, work, counts):
                return False
            counts[STEPS] += 1
            finish_step(work, subsets, tracked, progress, thin)
        progress[0] += 1
        progress[1] = 0
    return True


@spliced
def finish_step(
    work: Work, subsets: NDArray[np.int32], tracked: Floats, progress: Integers, thin: int
) -> None:
    """Add to the averages; after the last step of a draw, write the basis in ascending order."""
    basis, share, k = work.tile.basis, work.share, progress[0]
    for s in range(share.shape[0]):
        if progress[1] == 0:
            tracked[k, s] = 0.0
        tracked[k, s] += share[s] / thin
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


@spliced
def draw_direction(rng: np.random.Generator, rule: Rule, work: Work) -> None:
    """Draw z uniformly on the unit sphere and set d = factor z."""
    z, d, factor = work.z, work.d, rule.factor
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
def look(watch: Watch, tile: Tile, inside: NDArray[np.bool_]) -> None:
    """Tell which tracked sets are in the tile: items of the basis rest at neither bound."""
    starts, items, side = watch.starts, watch.items, tile.side
    for s in range(starts.shape[0] - 1):
        inside[s] = True
        for k in range(starts[s], starts[s + 1]):
            if side[items[k]] != 0.0:
                inside[s] = False


@spliced
def walk_line(
    rng: np.random.Generator, engine: Engine, rule: Rule, watch: Watch, work: Work, counts: Integers
) -> None:
    """Walk the window both ways from the point, and pick a tile on the way.

    The pick is a reservoir of size one: a new segment replaces it with probability its weight over
    the total so far, which first happens when the total exceeds (total at the last pick) / U. So
    nothing is stored but the pick.
    """
    tile, start, chosen = work.tile, work.start, work.chosen
    u, v, basis = tile.u, tile.v, tile.basis
    mass, inside, share = rule.mass, work.inside, work.share
    r, sets = u.shape[0], share.shape[0]
    copy_basis(tile, start)
    copy_bounds(tile, start)
    for s in range(sets):
        share[s] = 0.0
    total = 0.0  # weight of all segments seen, for the pick
    threshold = 0.0
    moving = 0.0  # the same for the shares: with a Metropolis test a part of it stays
    top = 0  # densities are kept as density * HUGE**level; totals are in units of HUGE**top
    picked_start = True
    picked_alpha = 0.0
    picked_ratio = 1.0
    ahead = rule.window
    if ahead < np.inf:
        ahead *= rng.random()
    for half in range(2):
        limit = ahead
        forward = 1.0
        if half == 1:
            limit = rule.window - ahead if rule.window < np.inf else np.inf
            forward = -1.0
            copy_basis(start, tile)
            copy_bounds(start, tile)
            for p in range(r):
                v[p] = -v[p]
        for s in range(sets):
            inside[s] = work.before[s]
        density = 1.0
        level = 0
        gone = 0.0
        first = True
        while True:
            length, p = next_break(tile)
            last = gone + length >= limit
            if last:
                length = limit - gone
            counts[TILES] += 1
            while level > top:
                top += 1
                if rule.gibbs:
                    total /= HUGE
                    threshold /= HUGE
                    moving /= HUGE
                    for s in range(sets):
                        share[s] /= HUGE
            weight = length
            here = length
            if rule.gibbs:
                weight = length * density if level == top else 0.0
                here = weight
            elif level < 0:
                here = 0.0
            elif level == 0:
                here = length * min(1.0, density)
            total += weight
            moving += here
            for s in range(sets):
                if inside[s]:
                    share[s] += here
            if total > threshold:
                threshold = total / (1.0 - rng.random())
                picked_start = first
                picked_ratio = density if level == 0 else (np.inf if level > 0 else 0.0)
                if not (first and rule.fresh):
                    copy_basis(tile, chosen)
                if not rule.fresh:
                    copy_bounds(tile, chosen)
                    part = length * rng.random()
                    picked_alpha = forward * (gone + part)
                    for k in range(r):
                        chosen.u[k] += part * v[k]
            if last:
                break
            for k in range(r):
                u[k] += length * v[k]
            gone += length
            size, left = cross(engine, tile, p, work.scratch)
            if size == 0.0:
                break
            first = False
            entered = basis[p]
            factor = mass[entered] / mass[left]
            if rule.exponent == 1.0:
                factor *= size
            elif rule.exponent != 0.0:
                factor *= size**rule.exponent
            density *= factor
            if density > HUGE:
                density /= HUGE
                level += 1
            elif density < 1.0 / HUGE:
                density *= HUGE
                level -= 1
            if watch.watched[left] or watch.watched[entered]:
                look(watch, tile, inside)
            if tile.age[0] >= REFRESH:
                renew(engine, tile, work.scratch, counts)
                set_speed(tile, work.d)
                for k in range(r):
                    v[k] *= forward
    # What a Metropolis test would reject stays in the first tile.
    for s in range(sets):
        if work.before[s]:
            share[s] += max(0.0, total - moving)
        share[s] /= total
    accepted = rule.gibbs or rng.random() < picked_ratio
    if accepted:
        counts[ACCEPTED] += 1
        counts[MOVED] += 0 if picked_start else 1
    if not accepted or (picked_start and rule.fresh):
        copy_basis(start, tile)
        if not rule.fresh:
            copy_bounds(start, tile)
        return
    copy_basis(chosen, tile)
    if not rule.fresh:
        copy_bounds(chosen, tile)
        for i in range(r):
            work.x[i] += picked_alpha * work.d[i]


@spliced
def step_long(
    rng: np.random.Generator,
    engine: Engine,
    rule: Rule,
    ellipsoid: Ellipsoid,
    watch: Watch,
    work: Work,
    counts: Integers,
) -> bool:
    """Algorithm 4 by three warm-started programs; False if the point's tile was lost."""
    tile, chosen, share = work.tile, work.chosen, work.share
    r, sets = tile.u.shape[0], share.shape[0]
    copy_basis(tile, chosen)
    low, high, pivots = chord_ends(
        engine, ellipsoid, chosen, work.x, work.d, rule.tolerance, work.scratch
    )
    if pivots < 0:
        return False
    alpha = low + (high - low) * rng.random()
    copy_basis(tile, chosen)
    copy_bounds(tile, chosen)
    for p in range(r):
        chosen.u[p] += alpha * tile.v[p]
    more, log_ratio = settle(engine, chosen, -1, rule.tolerance, work.scratch)
    if more < 0:
        return False
    counts[TILES] += pivots + more
    log_ratio *= rule.exponent
    for p in range(r):
        log_ratio += np.log(rule.mass[chosen.basis[p]] / rule.mass[tile.basis[p]])
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


@lean
def renew(engine: Engine, tile: Tile, scratch: Scratch, counts: Integers) -> None:
    """Compute T anew from the basis, and count it, and what it had drifted."""
    counts[REFACTORISATIONS] += 1
    if drift_of(engine, tile, scratch) > DRIFT:
        counts[DRIFTS] += 1
    tile.age[0] = 0
    refactorise(engine, tile, scratch)


@lean
def refresh(engine: Engine, rule: Rule, work: Work, counts: Integers) -> bool:
    """Compute everything anew from the basis and the point; False if the tile was lost."""
    tile, scratch = work.tile, work.scratch
    renew(engine, tile, scratch, counts)
    if rule.fresh:
        return True
    price(engine, tile, work.c, scratch)
    locate(engine, tile, work.x, scratch)
    worst = 0.0
    for p in range(tile.u.shape[0]):
        worst = max(worst, -tile.u[p], tile.u[p] - tile.reach[p])
    return worst <= 100.0 * rule.tolerance
