"""A step of hit-and-run that walks the line, tile by tile.

It visits every tile of the chord, or of a window of it, and picks one as it goes: with the exact
conditional probability, length times density (``gibbs``), or by length alone and then a Metropolis
test, which is Algorithm 4 of the paper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import inlined, lean, spliced
from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns
from zonodpp.samplers.lines import (
    ACCEPTED,
    HUGE,
    MOVED,
    ROOT,
    STEPS,
    TILES,
    Rule,
    Watch,
    Work,
    draw_direction,
    finish_step,
    look,
    refresh,
    renew,
)
from zonodpp.tiles.pivots import (
    REFRESH,
    TileScratch,
    TileState,
    copy_basis,
    copy_bounds,
    cross,
    next_break,
    price,
    set_speed,
)

ENDLESS = 10_000_000  # a walk over more tiles, which would take seconds, has gone astray
# The entries of ``work.tally``: what has been seen on the line so far.
(
    STAY,  # weight of the first tile
    OTHERS,  # weight of all other tiles
    THRESHOLD,  # the weight of all other tiles at which the next one is picked
    PASSED,  # the part of all weight that a Metropolis test lets pass
    TOP,  # weights are in units of HUGE**TOP
    PICKED_ALPHA,  # where the picked point lies on the line
    PICKED_RATIO,  # density of the picked tile over that of the first
    FIRST_AHEAD,  # length of the first tile's part of the line, ahead
    FIRST_BACK,  # and back
) = range(9)
TALLY = 9


@lean
def run_by_walk(
    rng: np.random.Generator,
    columns: UnitColumns,
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
            if tile.age[0] >= REFRESH and not refresh(columns, rule, work, counts):
                return False
            if rule.fresh:  # given B the point is uniform in its tile, whatever the costs are
                draw_costs(rng, work.c)
                price(columns, tile, work.c, work.scratch)
                for p in range(tile.u.shape[0]):
                    tile.u[p] = rng.random() * tile.reach[p]
            draw_direction(rng, rule.factor, work.z, work.d)
            set_speed(tile, work.d)
            look(watch, tile, work.before)
            if not walk_line(rng, columns, rule, watch, work, counts):
                return False
            finish_step(work, subsets, tracked, progress, thin)
        progress[0] += 1
        progress[1] = 0
    return True


@spliced
def draw_costs(rng: np.random.Generator, c: Floats) -> None:
    """Draw new costs from one number of the generator, by the hash of SplitMix64.

    The law holds for any costs that know nothing of the basis, so they may be cheap.
    """
    seed = np.uint64(np.int64(rng.random() * 2.0**53))
    for j in range(c.shape[0]):
        z = seed + np.uint64(j + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        c[j] = np.float64(np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(11)))


@spliced
def walk_line(
    rng: np.random.Generator,
    columns: UnitColumns,
    rule: Rule,
    watch: Watch,
    work: Work,
    counts: Integers,
) -> bool:
    """Walk the window both ways from the point, pick a tile on the way, and go there.

    False: the walk does not end, so the tile was lost.
    """
    for k in range(work.tally.shape[0]):
        work.tally[k] = 0.0
    for s in range(work.share.shape[0]):
        work.share[s] = 0.0
    ahead = rule.window
    if ahead < np.inf:
        ahead *= rng.random()
    for half in range(2):
        limit = ahead
        if half == 1:
            limit = rule.window - ahead if rule.window < np.inf else np.inf
        tiles = walk_half(rng, columns, rule, watch, work, 1.0 - 2.0 * half, limit, counts)
        if tiles > ENDLESS:
            return False
        counts[TILES] += tiles
    counts[STEPS] += 1
    go_to_pick(rng, rule, work, counts)
    return True


@spliced
def walk_half(
    rng: np.random.Generator,
    columns: UnitColumns,
    rule: Rule,
    watch: Watch,
    work: Work,
    forward: float,
    limit: float,
    counts: Integers,
) -> int:
    """Show every tile along forward * d, up to the limit or the boundary, to `weigh_tile`.

    Returns the number of tiles. The density of a tile, relative to that of the first, is
    density * HUGE**level.
    """
    tile, inside = work.walker, work.inside
    u, v, basis = tile.u, tile.v, tile.basis
    r = u.shape[0]
    copy_basis(work.tile, tile)
    copy_bounds(work.tile, tile)
    for p in range(r):
        v[p] *= forward
        work.along[p] = forward * work.d[p]
    for s in range(inside.shape[0]):
        inside[s] = work.before[s]
    density = 1.0
    level = 0
    gone = 0.0
    tiles = 0
    while tiles <= ENDLESS:
        length, p = next_break(tile)
        last = gone + length >= limit
        if last:
            length = limit - gone
        weigh_tile(rng, rule, work, tiles == 0, forward, gone, length, density, level)
        tiles += 1
        if last:
            break
        for k in range(r):
            u[k] += length * v[k]
        gone += length
        size, left = cross(columns, tile, p, work.scratch)
        if size == 0.0:
            if not rule.reflect:
                break
            reflect_line(rule, tile, p, work.along, work.scratch)
            continue
        entered = basis[p]
        density *= density_ratio(rule, entered, left, size)
        level += rule.level[entered] - rule.level[left]
        while density > ROOT:
            density /= HUGE
            level += 1
        while density < 1.0 / ROOT:
            density *= HUGE
            level -= 1
        if watch.watched[left] or watch.watched[entered]:
            look(watch, tile, inside)
        if tile.age[0] >= REFRESH:
            renew(columns, tile, work.scratch, counts)
            set_speed(tile, work.along)
    return tiles


@inlined
def density_ratio(rule: Rule, entered: int, left: int, size: float) -> float:
    """Return the density of a tile over that of the tile before, up to HUGE**level.

    ``size`` is |det E_B| of the new basis over that of the old one.
    """
    ratio: float = rule.mass[entered] / rule.mass[left]
    if rule.exponent == 1.0:
        ratio *= size
    elif rule.exponent != 0.0:
        ratio *= size**rule.exponent
    return ratio


@inlined
def tile_weight(
    rule: Rule, length: float, density: float, level: int, top: float
) -> tuple[float, float]:
    """Return the weight with which a tile is picked, and the part that a test lets pass.

    The Gibbs rule picks by length times density, in units of HUGE**top, and all of it passes.
    Metropolis picks by length alone and accepts with the ratio of densities.
    """
    if rule.gibbs:
        weight = 0.0  # more than one level below the top a tile does not count
        if level == top:
            weight = length * density
        elif level == top - 1.0:
            weight = length * (density / HUGE)
        return weight, weight
    if level == 0:
        return length, length * min(1.0, density)
    return length, length if level > 0 else 0.0


@spliced
def weigh_tile(
    rng: np.random.Generator,
    rule: Rule,
    work: Work,
    first: bool,
    forward: float,
    gone: float,
    length: float,
    density: float,
    level: int,
) -> None:
    """Add a tile to the sums, and perhaps pick it.

    The pick is a reservoir of one among the tiles other than the first: a new tile replaces it with
    probability its weight over that of all seen, which next happens when their weight exceeds
    (weight at the last pick) / U. So nothing is stored but the pick.
    """
    tally, share, tile, chosen = work.tally, work.share, work.walker, work.chosen
    sets = share.shape[0]
    while rule.gibbs and level > tally[TOP]:
        tally[TOP] += 1.0
        tally[STAY] /= HUGE
        tally[OTHERS] /= HUGE
        tally[THRESHOLD] /= HUGE
        for s in range(sets):
            share[s] /= HUGE
    weight, passed = tile_weight(rule, length, density, level, tally[TOP])
    tally[PASSED] += passed
    for s in range(sets):
        if work.inside[s]:
            share[s] += passed
    if first:
        tally[STAY] += weight
        tally[FIRST_AHEAD if forward > 0.0 else FIRST_BACK] = length
        return
    tally[OTHERS] += weight
    if tally[OTHERS] > tally[THRESHOLD]:
        tally[THRESHOLD] = tally[OTHERS] / (1.0 - rng.random())
        tally[PICKED_RATIO] = density if level == 0 else (np.inf if level > 0 else 0.0)
        copy_basis(tile, chosen)
        if not rule.fresh:
            copy_bounds(tile, chosen)
            part = length * rng.random()
            tally[PICKED_ALPHA] = forward * (gone + part)
            for k in range(chosen.u.shape[0]):
                chosen.u[k] += part * tile.v[k]


@spliced
def go_to_pick(rng: np.random.Generator, rule: Rule, work: Work, counts: Integers) -> None:
    """Decide between the first tile and the pick, and set tile, point and averages accordingly."""
    home, chosen, tally, share = work.tile, work.chosen, work.tally, work.share
    r = home.u.shape[0]
    total = tally[STAY] + tally[OTHERS]
    for s in range(share.shape[0]):
        if work.before[s] and not rule.gibbs:  # what the test rejects stays in the first tile
            share[s] += total - tally[PASSED]
        share[s] /= total
    alpha = 0.0
    moves = rng.random() * total >= tally[STAY] and tally[OTHERS] > 0.0
    accepted = rule.gibbs or not moves or rng.random() < tally[PICKED_RATIO]
    counts[ACCEPTED] += 1 if accepted else 0
    if moves and accepted:
        counts[MOVED] += 1
        copy_basis(chosen, home)
        if not rule.fresh:
            copy_bounds(chosen, home)
            alpha = tally[PICKED_ALPHA]
    elif not (moves or rule.fresh):  # a uniform point of the first tile's part of the line
        back = tally[FIRST_BACK]
        alpha = (tally[FIRST_AHEAD] + back) * rng.random() - back
        for k in range(r):
            home.u[k] += alpha * home.v[k]
    if not rule.fresh:
        for i in range(r):
            work.x[i] += alpha * work.d[i]


@inlined
def reflect_line(rule: Rule, tile: TileState, p: int, along: Floats, scratch: TileScratch) -> None:
    """Turn back from the boundary, where coordinate p has met its bound: a mirror at the facet.

    Its normal is row p of T. In the metric of the directions the mirror keeps lengths, so that it
    keeps the law of directions, and with it that of the point.
    """
    T, v, metric, image = tile.T, tile.v, rule.metric, scratch.far
    r = v.shape[0]
    size = 0.0
    for i in range(r):
        total = 0.0
        for k in range(r):
            total += metric[i, k] * T[p, k]
        image[i] = total
        size += total * T[p, i]
    size = 2.0 * v[p] / size
    for k in range(r):
        total = 0.0
        for i in range(r):
            total += T[k, i] * image[i]
        v[k] -= size * total
    for i in range(r):
        along[i] -= size * image[i]
