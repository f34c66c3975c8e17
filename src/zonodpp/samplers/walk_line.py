"""A step of hit-and-run that walks the line, tile by tile.

It visits every tile of the chord, or of a window of it, and picks one as it goes: with the exact
conditional probability, length times density (``gibbs``), or by length alone and then a Metropolis
test, which is Algorithm 4 of the paper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import inlined, lean, spliced
from zonodpp.basis.columns import UnitColumns
from zonodpp.matrices.columns import Floats, Integers
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
from zonodpp.zonotope.pivots import (
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

ENDLESS = 10_000_000  # more tiles than any line has that fits into a lifetime


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
    """Walk the window both ways from the point, and pick a tile on the way.

    The pick is a reservoir of one among the tiles other than the first: a new tile replaces it with
    probability its weight over that of all seen, which next happens when their weight exceeds
    (weight at the last pick) / U. So nothing is stored but the pick. Whether to go there at all is
    decided at the end. False: the walk does not end, so the tile was lost.
    """
    home, tile, chosen = work.tile, work.walker, work.chosen
    u, v, basis = tile.u, tile.v, tile.basis
    mass, inside, share = rule.mass, work.inside, work.share
    r, sets = u.shape[0], share.shape[0]
    for s in range(sets):
        share[s] = 0.0
    stay = 0.0  # weight of the first tile
    others = 0.0  # weight of the others
    threshold = 0.0
    passed = 0.0  # what a Metropolis test lets pass
    top = 0  # densities are kept as density * HUGE**level; weights are in units of HUGE**top
    picked_alpha = 0.0
    picked_ratio = 1.0
    ahead = rule.window
    if ahead < np.inf:
        ahead *= rng.random()
    first_ahead = 0.0
    first_back = 0.0
    for half in range(2):
        copy_basis(home, tile)
        copy_bounds(home, tile)
        limit = ahead
        forward = 1.0
        if half == 1:
            limit = rule.window - ahead if rule.window < np.inf else np.inf
            forward = -1.0
        for p in range(r):
            v[p] *= forward
            work.along[p] = forward * work.d[p]
        for s in range(sets):
            inside[s] = work.before[s]
        density = 1.0
        level = 0
        gone = 0.0
        tiles = 0
        while True:
            if tiles > ENDLESS:
                return False
            length, p = next_break(tile)
            last = gone + length >= limit
            if last:
                length = limit - gone
            while level > top:
                top += 1
                if rule.gibbs:
                    stay /= HUGE
                    others /= HUGE
                    threshold /= HUGE
                    for s in range(sets):
                        share[s] /= HUGE
            weight = length
            here = length
            if rule.gibbs:
                weight = 0.0  # more than one level below the top nothing counts
                if level == top:
                    weight = length * density
                elif level == top - 1:
                    weight = length * (density / HUGE)
                here = weight
            elif level < 0:
                here = 0.0
            elif level == 0:
                here = length * min(1.0, density)
            passed += here
            for s in range(sets):
                if inside[s]:
                    share[s] += here
            if tiles == 0:
                stay += weight
                first_ahead = length if half == 0 else first_ahead
                first_back = length
            else:
                others += weight
                if others > threshold:
                    threshold = others / (1.0 - rng.random())
                    picked_ratio = density if level == 0 else (np.inf if level > 0 else 0.0)
                    copy_basis(tile, chosen)
                    if not rule.fresh:
                        copy_bounds(tile, chosen)
                        part = length * rng.random()
                        picked_alpha = forward * (gone + part)
                        for k in range(r):
                            chosen.u[k] += part * v[k]
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
                reflect(rule, tile, p, work.along, work.scratch)
                continue
            entered = basis[p]
            factor = mass[entered] / mass[left]
            if rule.exponent == 1.0:
                factor *= size
            elif rule.exponent != 0.0:
                factor *= size**rule.exponent
            density *= factor
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
        counts[TILES] += tiles
    total = stay + others
    for s in range(sets):
        if work.before[s] and not rule.gibbs:  # what the test rejects stays in the first tile
            share[s] += total - passed
        share[s] /= total
    counts[STEPS] += 1
    moves = rng.random() * total >= stay and others > 0.0
    accepted = rule.gibbs or not moves or rng.random() < picked_ratio
    counts[ACCEPTED] += 1 if accepted else 0
    if moves and accepted:
        counts[MOVED] += 1
        copy_basis(chosen, home)
        if not rule.fresh:
            copy_bounds(chosen, home)
    else:
        picked_alpha = 0.0
        if not (moves or rule.fresh):  # a uniform point of the first tile's part of the line
            picked_alpha = (first_ahead + first_back) * rng.random() - first_back
            for k in range(r):
                home.u[k] += picked_alpha * home.v[k]
    if not rule.fresh:
        for i in range(r):
            work.x[i] += picked_alpha * work.d[i]
    return True


@inlined
def reflect(rule: Rule, tile: TileState, p: int, along: Floats, scratch: TileScratch) -> None:
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
