"""A step of hit-and-run that walks the line, tile by tile.

It visits every tile of the chord, or of a window of it, and picks one as it goes: with the exact
conditional probability, length times density (``gibbs``), or by length alone and then a Metropolis
test, which is Algorithm 4 of the paper.
"""

from __future__ import annotations

import numpy as np

from zonodpp._jit import forceinline, inline_source, no_refcount
from zonodpp._types import Booleans, Floats, Integers, Subsets
from zonodpp.basis.columns import UnitColumns, tableau_row
from zonodpp.samplers.lines import (
    ACCEPTED,
    BEGUN,
    CHOSEN,
    DONE,
    DRAW,
    HALF,
    HOME,
    HUGE,
    LOST,
    MOVED,
    OLD_HOME,
    OLD_WALKER,
    ROOT,
    TILES,
    WALKER,
    Line,
    Rule,
    TrackedSets,
    copy_basis,
    copy_bounds,
    draw_direction,
    find_tracked,
    finish_step,
)
from zonodpp.tiles.pivots import OLDEST, TileScratch, TileState, cross, multiply, next_break

ENDLESS = 10_000_000  # a walk over more tiles, which would take seconds, has gone astray
# The entries of ``line.tally``: what has been seen on the line so far.
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
    AHEAD,  # length of the window's part ahead of the point
    BACK,  # and back
    GONE,  # where a half of the line is to go on: the length walked,
    DENSITY,  # the density of the tile relative to the first, DENSITY * HUGE**LEVEL,
    LEVEL,
    VISITED,  # and the number of tiles
) = range(15)


@no_refcount
def run_by_walk(
    rng: np.random.Generator,
    columns: UnitColumns,
    rule: Rule,
    sets: TrackedSets,
    tiles: TileState,
    line: Line,
    scratch: TileScratch,
    subsets: Subsets,
    tracked: Floats,
    progress: Integers,
    thin: int,
    counts: Integers,
) -> int:
    """Fill subsets with draws, thin steps apart.

    Returns DONE, or what the caller has to mend before it calls again: OLD_HOME, OLD_WALKER, LOST.
    """
    basis, T, u, v, reach, gap, side, age = tiles
    walker = TileState(
        basis[WALKER],
        T[WALKER],
        u[WALKER],
        v[WALKER],
        reach[WALKER],
        gap[WALKER],
        side[WALKER],
        age[WALKER],
    )
    while progress[DRAW] < subsets.shape[0]:
        if progress[HALF] == 0 and progress[BEGUN] == 0:
            if age[HOME, 0] >= OLDEST:
                return OLD_HOME
            if rule.fresh:
                draw_tiling(rng, columns, tiles, line.c, scratch)
            draw_direction(rng, rule.factor, line.z, line.d)
            multiply(T[HOME], line.d, v[HOME])
            find_tracked(sets.starts, sets.items, side[HOME], line.before)
            place_window(rng, rule.window, line.tally, line.share)
        while progress[HALF] < 2:
            forward = 1.0 - 2.0 * progress[HALF]
            if progress[BEGUN] == 0:
                copy_basis(basis, T, u, v, reach, age, HOME, WALKER)
                copy_bounds(gap, side, HOME, WALKER)
                begin_half(forward, line.d, walker.v, line.along, line.tally)
                for s in range(line.inside.shape[0]):
                    line.inside[s] = line.before[s]
                progress[BEGUN] = 1
            status: int = walk_half(rng, columns, rule, sets, tiles, walker, line, scratch, forward)
            if status != DONE:
                return status
            counts[TILES] += int(line.tally[VISITED])
            progress[BEGUN] = 0
            progress[HALF] += 1
        end_line(rng, rule, tiles, line, counts)
        finish_step(basis[HOME], line.share, subsets, tracked, progress, thin, counts)
    return DONE


@inline_source
def draw_tiling(
    rng: np.random.Generator,
    columns: UnitColumns,
    tiles: TileState,
    c: Floats,
    scratch: TileScratch,
) -> None:
    """Draw new costs c and a new point: given B it is uniform in its tile, whatever the costs are.

    The law holds for any costs that know nothing of the basis, so they may be cheap: they come from
    one number of the generator, by the hash of SplitMix64.
    """
    draw_costs(rng.random(), c)
    weights, row = scratch.weights, scratch.row
    price_basis(tiles.basis, tiles.T, c, weights)
    rows, _, indptr, indices, data, _, _ = columns
    tableau_row(rows, indptr, indices, data, weights, row, scratch.nonzero)
    set_bounds(c, row, tiles.basis, tiles.gap, tiles.side)
    u, reach = tiles.u, tiles.reach
    for p in range(u.shape[1]):
        u[HOME, p] = rng.random() * reach[HOME, p]


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
def price_basis(basis: Integers, T: Floats, c: Floats, multipliers: Floats) -> None:
    """Set the multipliers c_B T of the home tile."""
    for i in range(multipliers.shape[0]):
        multipliers[i] = 0.0
    for p in range(multipliers.shape[0]):
        cost = c[basis[HOME, p]]
        for i in range(multipliers.shape[0]):
            multipliers[i] += cost * T[HOME, p, i]


@forceinline
def set_bounds(c: Floats, row: Floats, basis: Integers, gap: Floats, side: Floats) -> None:
    """Set the bounds of the home tile from its reduced costs c - row."""
    for j in range(row.shape[0]):
        reduced = c[j] - row[j]
        gap[HOME, j] = abs(reduced)
        side[HOME, j] = 1.0 if reduced >= 0.0 else -1.0
    for p in range(basis.shape[1]):
        gap[HOME, basis[HOME, p]] = 0.0
        side[HOME, basis[HOME, p]] = 0.0


@forceinline
def place_window(rng: np.random.Generator, window: float, tally: Floats, share: Floats) -> None:
    """Place the window uniformly around the point, and set all sums to zero."""
    for k in range(tally.shape[0]):
        tally[k] = 0.0
    for s in range(share.shape[0]):
        share[s] = 0.0
    ahead = window
    if window < np.inf:
        ahead *= rng.random()
    tally[AHEAD] = ahead
    tally[BACK] = window - ahead if window < np.inf else np.inf


@forceinline
def begin_half(forward: float, d: Floats, v: Floats, along: Floats, tally: Floats) -> None:
    """Start from the point in one direction of the line."""
    for p in range(v.shape[0]):
        v[p] *= forward
        along[p] = forward * d[p]
    tally[GONE] = 0.0
    tally[DENSITY] = 1.0
    tally[LEVEL] = 0.0
    tally[VISITED] = 0.0


@inline_source
def walk_half(
    rng: np.random.Generator,
    columns: UnitColumns,
    rule: Rule,
    sets: TrackedSets,
    tiles: TileState,
    tile: TileState,
    line: Line,
    scratch: TileScratch,
    forward: float,
) -> int:
    """Visit every tile along forward * d, up to the limit or the boundary, and perhaps pick it.

    The pick is a reservoir of one among the tiles other than the first: a new tile replaces it with
    probability its weight over that of all seen, which next happens when their weight exceeds
    (weight at the last pick) / U. So nothing is stored but the pick.
    """
    basis, T, u, v, reach, _, side, age = tile
    tally = line.tally
    limit = tally[AHEAD] if forward > 0.0 else tally[BACK]
    gone, density = tally[GONE], tally[DENSITY]
    level, visited = int(tally[LEVEL]), int(tally[VISITED])
    status = LOST
    while visited <= ENDLESS:
        if age[0] >= OLDEST:
            status = OLD_WALKER
            break
        length, p = next_break(u, v, reach)
        last = gone + length >= limit
        if last:
            length = limit - gone
        if rule.gibbs and level > tally[TOP]:
            rescale(tally, line.share, level)
        weight, passed = tile_weight(rule.gibbs, length, density, level, tally[TOP])
        tally[PASSED] += passed
        add_to_share(passed, line.share, line.inside)
        if visited == 0:
            tally[STAY] += weight
            tally[FIRST_AHEAD if forward > 0.0 else FIRST_BACK] = length
        else:
            tally[OTHERS] += weight
            if tally[OTHERS] > tally[THRESHOLD]:
                tally[THRESHOLD] = tally[OTHERS] / (1.0 - rng.random())
                tally[PICKED_RATIO] = density if level == 0 else (np.inf if level > 0 else 0.0)
                tally[PICKED_ALPHA] = pick_tile(rng, tiles, rule.fresh, length, forward, gone)
        visited += 1
        if last:
            status = DONE
            break
        for k in range(u.shape[0]):
            u[k] += length * v[k]
        gone += length
        size, left = cross(columns, tile, p, scratch)
        if size > 0.0:
            entered = basis[p]
            density *= density_ratio(rule.mass, rule.exponent, entered, left, size)
            level += rule.level[entered] - rule.level[left]
            while density > ROOT:
                density /= HUGE
                level += 1
            while density < 1.0 / ROOT:
                density *= HUGE
                level -= 1
            if sets.tracked[left] or sets.tracked[entered]:
                find_tracked(sets.starts, sets.items, side, line.inside)
        elif rule.reflect:
            reflect_line(rule.metric, T, v, p, line.along, scratch.weights)
        else:
            status = DONE
            break
    tally[GONE] = gone
    tally[DENSITY] = density
    tally[LEVEL] = level
    tally[VISITED] = visited
    return status


@forceinline
def density_ratio(mass: Floats, exponent: float, entered: int, left: int, size: float) -> float:
    """Return the density of a tile over that of the tile before, up to HUGE**level.

    ``size`` is |det E_B| of the new basis over that of the old one.
    """
    ratio: float = mass[entered] / mass[left]
    if exponent == 1.0:
        ratio *= size
    elif exponent != 0.0:
        ratio *= size**exponent
    return ratio


@forceinline
def tile_weight(
    gibbs: bool, length: float, density: float, level: int, top: float
) -> tuple[float, float]:
    """Return the weight with which a tile is picked, and the part that a test lets pass.

    The Gibbs rule picks by length times density, in units of HUGE**top, and all of it passes.
    Metropolis picks by length alone and accepts with the ratio of densities.
    """
    if gibbs:
        weight = 0.0  # more than one level below the top a tile does not count
        if level == top:
            weight = length * density
        elif level == top - 1.0:
            weight = length * (density / HUGE)
        return weight, weight
    if level == 0:
        return length, length * min(1.0, density)
    return length, length if level > 0 else 0.0


@forceinline
def add_to_share(passed: float, share: Floats, inside: Booleans) -> None:
    """Add the weight of a tile to the averages of the tracked sets that are in it."""
    for s in range(share.shape[0]):
        if inside[s]:
            share[s] += passed


@inline_source
def pick_tile(
    rng: np.random.Generator,
    tiles: TileState,
    fresh: bool,
    length: float,
    forward: float,
    gone: float,
) -> float:
    """Note the walker's tile and a uniform point of its part of the line; return its alpha."""
    basis, T, u, v, reach, gap, side, age = tiles
    copy_basis(basis, T, u, v, reach, age, WALKER, CHOSEN)
    alpha = 0.0
    if not fresh:
        copy_bounds(gap, side, WALKER, CHOSEN)
        part = length * rng.random()
        alpha = forward * (gone + part)
        for k in range(u.shape[1]):
            u[CHOSEN, k] += part * v[WALKER, k]
    return alpha


@forceinline
def rescale(tally: Floats, share: Floats, level: int) -> None:
    """Express all weights in units of HUGE**level."""
    while level > tally[TOP]:
        tally[TOP] += 1.0
        tally[STAY] /= HUGE
        tally[OTHERS] /= HUGE
        tally[THRESHOLD] /= HUGE
        for s in range(share.shape[0]):
            share[s] /= HUGE


@inline_source
def end_line(
    rng: np.random.Generator, rule: Rule, tiles: TileState, line: Line, counts: Integers
) -> None:
    """Decide between the first tile and the pick, and set tile, point and averages accordingly."""
    basis, T, u, v, reach, gap, side, age = tiles
    tally, share, before = line.tally, line.share, line.before
    total = tally[STAY] + tally[OTHERS]
    for s in range(share.shape[0]):
        if before[s] and not rule.gibbs:  # what the test rejects stays in the first tile
            share[s] += total - tally[PASSED]
        share[s] /= total
    alpha = 0.0
    moves = rng.random() * total >= tally[STAY] and tally[OTHERS] > 0.0
    accepted = rule.gibbs or not moves or rng.random() < tally[PICKED_RATIO]
    counts[ACCEPTED] += 1 if accepted else 0
    if moves and accepted:
        counts[MOVED] += 1
        copy_basis(basis, T, u, v, reach, age, CHOSEN, HOME)
        copy_bounds(gap, side, CHOSEN, HOME)
        alpha = tally[PICKED_ALPHA]
    elif not (moves or rule.fresh):  # a uniform point of the first tile's part of the line
        back = tally[FIRST_BACK]
        alpha = (tally[FIRST_AHEAD] + back) * rng.random() - back
        for k in range(u.shape[1]):
            u[HOME, k] += alpha * v[HOME, k]
    if not rule.fresh:
        for i in range(line.x.shape[0]):
            line.x[i] += alpha * line.d[i]


@forceinline
def reflect_line(
    metric: Floats, T: Floats, v: Floats, p: int, along: Floats, image: Floats
) -> None:
    """Turn back from the boundary, where coordinate p has met its bound: a mirror at the facet.

    Its normal is row p of T. In the metric of the directions the mirror keeps lengths, so that it
    keeps the law of directions, and with it that of the point. ``image`` is scratch.
    """
    r = v.shape[0]
    multiply(metric, T[p], image)
    size = 0.0
    for i in range(r):
        size += image[i] * T[p, i]
    size = 2.0 * v[p] / size
    for k in range(r):
        total = 0.0
        for i in range(r):
            total += T[k, i] * image[i]
        v[k] -= size * total
        along[k] -= size * image[k]
