"""A step of hit-and-run that walks the line, tile by tile.

It visits every tile of the chord, or of a window of it, and picks one as it goes: with the exact
conditional probability, length times density (``gibbs``), or as Algorithm 4 of the paper does
(``metropolis``): by length alone, and then accepted with the ratio of densities. To pick by length
times min(1, ratio), and to stay with the rest of the chord's length, is the same law.
"""

from __future__ import annotations

from numpy.random import Generator

from zonodpp._generators import generator_at
from zonodpp._jit import forceinline, inline_source, no_refcount
from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns
from zonodpp.samplers.chains import ACCEPTED
from zonodpp.samplers.lines import (
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
    ZonotopeChain,
    copy_tile,
    draw_direction,
    finish_step,
    follow_sets,
    line_in_kernel,
)
from zonodpp.samplers.tilings import draw_costs, draw_point, price_basis, set_bounds
from zonodpp.tiles.pivots import (
    OLDEST,
    TileScratch,
    TileState,
    cross,
    multiply,
    next_break,
    scratch_in_kernel,
    tile_in_kernel,
)

ENDLESS = 10_000_000  # a walk over more tiles, which would take seconds, has gone astray
# The entries of ``line.tally``: what has been seen on the line so far.
(
    STAY,  # weight of the first tile
    OTHERS,  # weight of all other tiles
    THRESHOLD,  # the weight of all other tiles at which the next one is picked
    LENGTH,  # the length of the line
    TOP,  # weights are in units of HUGE**TOP
    PICKED_ALPHA,  # where the picked point lies on the line,
    PICKED_PART,  # and how far from where the line enters its tile
    FIRST_AHEAD,  # length of the first tile's part of the line, ahead
    FIRST_BACK,  # and back
    AHEAD,  # the part of the window that lies ahead of the point, between 0 and 1
    GONE,  # where a half of the line is to go on: the length walked,
    DENSITY,  # the density of the tile relative to the first, DENSITY * HUGE**LEVEL,
    LEVEL,
    VISITED,  # and the number of tiles
) = range(14)


@no_refcount
def run_by_walk(address: int, chain: ZonotopeChain) -> int:
    """Fill subsets with draws, thin steps apart.

    Returns DONE, or what the caller has to mend before it calls again: OLD_HOME, OLD_WALKER, LOST.
    """
    rng = generator_at(address)
    columns, rule, stack, memory, x, c, starts, items, draws = chain
    r, n = x.shape[0], c.shape[0]
    home = tile_in_kernel(stack[HOME], r, n)
    walker = tile_in_kernel(stack[WALKER], r, n)
    line = line_in_kernel(memory, x, c, starts, items)
    scratch = scratch_in_kernel(memory, r, n)
    progress, tally = draws.progress, line.tally
    while progress[DRAW] < draws.subsets.shape[0]:
        half = progress[HALF]
        forward = 1.0 - 2.0 * half
        if tally[VISITED] == 0.0:
            if half == 0:
                if home.age[0] >= OLDEST:
                    return OLD_HOME
                begin_line(rng, columns, rule, home, line, scratch.weights)
            copy_tile(stack, HOME, WALKER)
            for p in range(line.d.shape[0]):
                walker.v[p] *= forward
                line.along[p] = forward * line.d[p]
            tally[GONE], tally[DENSITY], tally[LEVEL] = 0.0, 1.0, 0.0
        status: int = walk_half(rng, columns, rule, stack, walker, line, scratch, forward)
        if status != DONE:
            return status
        draws.counts[TILES] += int(tally[VISITED])
        tally[VISITED] = 0.0
        progress[HALF] += 1
        if half == 1:
            total: float = end_line(rng, rule, home, stack, line, draws.counts)
            finish_step(home.basis, line, total, draws)
    return DONE


@inline_source
def begin_line(
    rng: Generator, columns: UnitColumns, rule: Rule, home: TileState, line: Line, weights: Floats
) -> None:
    """Draw a direction and the place of the window; with fresh tilings, costs and a point, too.

    Given B the point is uniform in its tile, whatever the costs are. The law holds for any costs
    that know nothing of the basis, so they may be cheap. ``weights`` is scratch.
    """
    basis, T, c, tally = home.basis, home.T, line.c, line.tally
    if rule.fresh:
        draw_point(rng, home.reach, home.u)
        draw_costs(rng.random(), c)
        price_basis(basis, T, c, weights)
        set_bounds(columns, weights, c, basis, home.gap, home.side)
    draw_direction(rng, rule.factor, line.z, line.d)
    multiply(T, line.d, home.v)
    for k in range(tally.shape[0]):
        tally[k] = 0.0
    tally[AHEAD] = 1.0 - rng.random()


@inline_source
def walk_half(
    rng: Generator,
    columns: UnitColumns,
    rule: Rule,
    stack: Floats,
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
    tally, share = line.tally, line.share
    # An infinite window may lie ahead as a whole: its other part is then NaN, which limits nothing.
    limit = rule.window * (tally[AHEAD] if forward > 0.0 else 1.0 - tally[AHEAD])
    gone, density = tally[GONE], tally[DENSITY]
    level, visited = int(tally[LEVEL]), int(tally[VISITED])
    changed = True  # whether tracked items may have come or gone
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
            rescale(tally, share, level)
        if changed:
            follow_sets(line, side, tally[STAY] + tally[OTHERS])
        weight = length * scaled_density(rule.gibbs, density, level - tally[TOP])
        tally[LENGTH] += length
        if visited == 0:
            tally[STAY] += weight
            tally[FIRST_AHEAD if forward > 0.0 else FIRST_BACK] = length
        else:
            tally[OTHERS] += weight
            if tally[OTHERS] > tally[THRESHOLD]:
                tally[THRESHOLD] = tally[OTHERS] / (1.0 - rng.random())
                tally[PICKED_PART] = length * rng.random()
                tally[PICKED_ALPHA] = forward * (gone + tally[PICKED_PART])
                copy_tile(stack, WALKER, CHOSEN)
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
            changed = line.in_sets[left] + line.in_sets[entered] > 0.0
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
def scaled_density(gibbs: bool, density: float, level: float) -> float:
    """Return density * HUGE**level, for level <= 0 if the rule is Gibbs; else at most 1."""
    if level < 0.0:
        density = density / HUGE if level == -1.0 else 0.0  # what is smaller does not count
    if gibbs or (level <= 0.0 and density < 1.0):
        return density
    return 1.0


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
    rng: Generator, rule: Rule, home: TileState, stack: Floats, line: Line, counts: Integers
) -> float:
    """Go to the first tile's part of the line, or to the pick, or stay; return the total weight."""
    u, v, x, d, tally = home.u, home.v, line.x, line.d, line.tally
    stay, back = tally[STAY], tally[FIRST_BACK]
    passed = stay + tally[OTHERS]
    follow_sets(line, home.side, passed)
    total: float = passed if rule.gibbs else tally[LENGTH]
    spot = rng.random() * total
    alpha = 0.0
    part = 0.0
    if spot < stay:  # a uniform point of the first tile's part of the line
        alpha = (tally[FIRST_AHEAD] + back) * rng.random() - back
        part = alpha
    elif spot < passed:
        counts[MOVED] += 1
        alpha = tally[PICKED_ALPHA]
        part = tally[PICKED_PART]
        copy_tile(stack, CHOSEN, HOME)
    counts[ACCEPTED] += 1 if spot < passed else 0
    if not rule.fresh:
        for i in range(x.shape[0]):
            u[i] += part * v[i]
            x[i] += alpha * d[i]
    return total


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
