"""The two kinds of hit-and-run step: one walks the line tile by tile, the other one jumps.

The walk visits every tile of the chord, or of a window of it, and picks one as it goes: with the
exact conditional probability, length times density (``gibbs``), or as Algorithm 4 of the paper does
(``metropolis``): by length alone, and then accepted with the ratio of densities. To pick by length
times min(1, ratio), and to stay with the rest of the chord's length, is the same law.

The jump is Algorithm 4 by three warm-started linear programs: the two ends of the chord, a uniform
point between them, and the tile that holds it. It is cheaper where a chord crosses very many tiles.
"""

from __future__ import annotations

import math

from numpy.random import Generator

from zonodpp._types import Floats
from zonodpp.chains.bases import ACCEPTED
from zonodpp.chains.columns import multiply
from zonodpp.numerics.arguments import generator_at
from zonodpp.numerics.compiled import forceinline, inline_source, no_refcount
from zonodpp.zonotope import line as lines
from zonodpp.zonotope import tile as pivots
from zonodpp.zonotope.chord import Ellipsoid, chord_ends
from zonodpp.zonotope.entering import STALE, UNSURE, item_behind
from zonodpp.zonotope.line import Line, ZonotopeChain
from zonodpp.zonotope.long_steps import NONE_FREE, QUICK, settle
from zonodpp.zonotope.tile import TileScratch, TileState

# Tiles of one chord. A chord crosses about n tiles; a walk that does not meet the boundary in so
# many tiles can only come from rounding errors. Reflected walks may be longer.
ENDLESS = 10_000_000
# The entries of ``line.tally``: what has been seen on the line so far.
(
    STAY,  # weight of the first tile
    OTHERS,  # weight of all other tiles
    THRESHOLD,  # the weight of all other tiles at which the next one is picked
    LENGTH,  # the length of the line
    TOP,  # weights are in units of exp(TOP)
    PICKED_ALPHA,  # alpha of the picked point x + alpha d
    PICKED_PART,  # the length from where the line enters the tile of the picked point to that point
    FIRST_AHEAD,  # the length ahead of the point that lies in the first tile
    FIRST_BACK,  # the length behind the point that lies in the first tile
    AHEAD,  # the part of the window that lies ahead of the point, between 0 and 1
    # Where a half of the line that was interrupted goes on:
    GONE,  # the length walked so far
    DENSITY,  # the log density of the tile reached, relative to that of the first tile
    VISITED,  # the number of tiles visited
) = range(lines.TALLY)


@no_refcount
def run_by_walk(address: int, chain: ZonotopeChain) -> int:
    """Fill subsets with draws, thin steps apart.

    Returns DONE, or what the caller has to mend before it calls again: OLD_HOME, OLD_WALKER, LOST.
    PAUSED asks for nothing but another call; after HIDDEN the walk cannot go on.
    """
    rng = generator_at(address)
    stack, x, c = chain.stack, chain.x, chain.c
    r, n = x.shape[0], c.shape[0]
    home = pivots.tile_in_kernel(stack[lines.HOME], r, n)
    walker = pivots.tile_in_kernel(stack[lines.WALKER], r, n)
    line = lines.line_in_kernel(chain.line, r, n, chain.record.starts, chain.record.items)
    scratch = pivots.scratch_in_kernel(chain.scratch, r, n)
    progress, tally = chain.progress, line.tally
    while progress[lines.DRAW] < chain.record.subsets.shape[0]:
        half = progress[lines.HALF]
        forward = 1.0 - 2.0 * half
        if tally[VISITED] == 0.0:
            if half == 0:
                if home.age[0] >= pivots.OLDEST:
                    return lines.OLD_HOME
                _begin_line(rng, chain, home, line, scratch)
            lines.copy_tile(stack, lines.HOME, lines.WALKER)
            for p in range(line.d.shape[0]):
                walker.v[p] *= forward
                line.along[p] = forward * line.d[p]
            tally[GONE], tally[DENSITY] = 0.0, 0.0
        status: int = walk_half(rng, chain, walker, line, scratch)
        if status != lines.DONE:
            return status
        chain.counts[lines.TILES] += int(tally[VISITED])
        tally[VISITED] = 0.0
        progress[lines.HALF] += 1
        if half == 1:
            total: float = _end_line(rng, chain, home, line)
            lines.finish_step(chain, home.basis, line, total)
    return lines.DONE


@inline_source
def _begin_line(
    rng: Generator, chain: ZonotopeChain, home: TileState, line: Line, scratch: TileScratch
) -> None:
    """Draw a direction and the place of the window; with fresh tilings, costs and a point, too.

    Given B the point is uniform in its tile, whatever the costs are. Any costs that are independent
    of the basis keep the law, so the cheap ones of `draw_costs` are good enough.
    """
    basis, T, c, tally = home.basis, home.T, chain.c, line.tally
    if chain.rule.fresh:
        for p in range(basis.shape[0]):
            home.u[p] = rng.random() * home.reach[p]
        lines.draw_costs(rng.random(), c)
        lines.price_basis(basis, T, c, scratch.vector)
        lines.set_bounds(chain.columns, scratch.vector, c, basis, home.gap, home.side)
    lines.draw_direction(rng, chain.rule.factor, scratch.vector, line.d)
    multiply(T, line.d, home.v)
    for k in range(tally.shape[0]):
        tally[k] = 0.0
    tally[AHEAD] = 1.0 - rng.random()


@inline_source
def walk_half(
    rng: Generator, chain: ZonotopeChain, tile: TileState, line: Line, scratch: TileScratch
) -> int:
    """Visit every tile of a half of the line, up to the limit or the boundary."""
    basis, T, u, v, reach, _, side, age = tile
    rule, tally = chain.rule, line.tally
    forward = 1.0 - 2.0 * chain.progress[lines.HALF]
    # If an infinite window lies ahead as a whole, the limit back is inf * 0 = NaN: no limit at all.
    limit = rule.window * (tally[AHEAD] if forward > 0.0 else 1.0 - tally[AHEAD])
    gone, density, visited = tally[GONE], tally[DENSITY], int(tally[VISITED])
    changed = True  # whether tracked items may have come or gone
    pause = visited + chain.patience
    while True:
        if age[0] >= pivots.OLDEST:
            status = lines.OLD_WALKER
            break
        if visited > ENDLESS and not rule.reflect:
            status = lines.LOST
            break
        if visited >= pause:
            status = lines.PAUSED
            break
        length, p = pivots.next_break(u, v, reach)
        last = gone + length >= limit
        behind = 0
        if last:
            length = limit - gone
        elif rule.careful:
            power = rule.exponent + 1.0
            behind = item_behind(chain.columns, tile, p, power, rule.log_weight, scratch)
            if behind in (STALE, UNSURE):
                status = lines.OLD_WALKER if behind == STALE else lines.HIDDEN
                break
        if rule.gibbs and density > tally[TOP] + lines.HUGE:
            rescale(tally, line.share, density)
        if changed:
            lines.follow_sets(line, side, tally[STAY] + tally[OTHERS])
        scale = density - tally[TOP] if rule.gibbs else min(density, 0.0)
        tally[LENGTH] += length
        if visited == 0:
            tally[STAY] += length * math.exp(scale)
            tally[FIRST_AHEAD if forward > 0.0 else FIRST_BACK] = length
        elif _becomes_pick(rng, tally, length * math.exp(scale)):
            tally[PICKED_PART] = length * rng.random()
            tally[PICKED_ALPHA] = forward * (gone + tally[PICKED_PART])
            lines.copy_tile(chain.stack, lines.WALKER, lines.PICKED)
        visited += 1
        if last:
            status = lines.DONE
            break
        for k in range(u.shape[0]):
            u[k] += length * v[k]
        gone += length
        det_ratio, left = 0.0, basis[p]
        if not rule.careful:
            det_ratio, left = pivots.cross(chain.columns, tile, p, scratch)
        elif behind >= 0:
            upward = 1.0 if v[p] > 0.0 else -1.0
            det_ratio = pivots.swap_items(chain.columns, tile, p, behind, upward, scratch)
        if det_ratio > 0.0:
            entered = basis[p]
            density += lines.log_change(rule.log_mass, rule.exponent, entered, left, det_ratio)
            changed = line.in_sets[left] + line.in_sets[entered] > 0.0
        elif rule.reflect:
            _reflect_line(rule.metric, T, v, p, line.along, scratch.vector, scratch.column)
        else:
            status = lines.DONE
            break
    tally[GONE], tally[DENSITY] = gone, density
    # The half of the line has begun, also if it is interrupted in its first tile.
    tally[VISITED] = max(float(visited), lines.BEGUN)
    return status


@inline_source
def _becomes_pick(rng: Generator, tally: Floats, weight: float) -> bool:
    """Add the weight of a tile other than the first; return whether the tile becomes the pick.

    The pick is a reservoir of one: a new tile replaces it with probability w / W, its weight over
    the weight of all tiles so far but the first. If W was W_0 at the last pick, the next one is
    where W exceeds W_0 / U, with U uniform in (0, 1]. So one tile is stored, and one number is
    drawn for each pick.
    """
    tally[OTHERS] += weight
    picked: bool = tally[OTHERS] > tally[THRESHOLD]
    if picked:
        tally[THRESHOLD] = tally[OTHERS] / (1.0 - rng.random())
    return picked


@forceinline
def rescale(tally: Floats, share: Floats, top: float) -> None:
    """Express all weights in units of exp(top)."""
    factor = math.exp(tally[TOP] - top)
    tally[TOP] = top
    tally[STAY] *= factor
    tally[OTHERS] *= factor
    tally[THRESHOLD] *= factor
    for s in range(share.shape[0]):
        share[s] *= factor


@inline_source
def _end_line(rng: Generator, chain: ZonotopeChain, home: TileState, line: Line) -> float:
    """Go to the first tile's part of the line, or to the pick, or stay; return the total weight."""
    u, v, x, d, tally = home.u, home.v, chain.x, line.d, line.tally
    rule, counts = chain.rule, chain.counts
    stay, back = tally[STAY], tally[FIRST_BACK]
    weight = stay + tally[OTHERS]
    lines.follow_sets(line, home.side, weight)
    total: float = weight if rule.gibbs else tally[LENGTH]
    spot = rng.random() * total
    alpha = 0.0
    part = 0.0
    if spot < stay:  # a uniform point of the first tile's part of the line
        alpha = (tally[FIRST_AHEAD] + back) * rng.random() - back
        part = alpha
    elif spot < weight:
        counts[lines.MOVED] += 1
        alpha = tally[PICKED_ALPHA]
        part = tally[PICKED_PART]
        lines.copy_tile(chain.stack, lines.PICKED, lines.HOME)
    counts[ACCEPTED] += 1 if spot < weight else 0
    if not rule.fresh:
        for i in range(x.shape[0]):
            u[i] += part * v[i]
            x[i] += alpha * d[i]
    return total


@forceinline
def _reflect_line(
    metric: Floats, T: Floats, v: Floats, p: int, along: Floats, image: Floats, speeds: Floats
) -> None:
    """Reflect the walk at the facet of the boundary where coordinate p has met its bound.

    The normal of the facet is row p of T. The reflection keeps lengths in the metric of the
    directions, and so it keeps the law of directions and the law of the point. ``image`` and
    ``speeds`` are scratch.
    """
    multiply(metric, T[p], image)
    multiply(T, image, speeds)
    factor = 2.0 * v[p] / speeds[p]
    for k in range(v.shape[0]):
        v[k] -= factor * speeds[k]
        along[k] -= factor * image[k]


@no_refcount
def run_by_long_steps(address: int, chain: ZonotopeChain, ellipsoid: Ellipsoid) -> int:
    """Do as `run_by_walk`, by jumps: linear programs that are solved by long steps."""
    rng = generator_at(address)
    stack, x, c = chain.stack, chain.x, chain.c
    r, n = x.shape[0], c.shape[0]
    home = pivots.tile_in_kernel(stack[lines.HOME], r, n)
    walker = pivots.tile_in_kernel(stack[lines.WALKER], r, n)
    line = lines.line_in_kernel(chain.line, r, n, chain.record.starts, chain.record.items)
    scratch = pivots.scratch_in_kernel(chain.scratch, r, n)
    d, counts = line.d, chain.counts
    while chain.progress[lines.DRAW] < chain.record.subsets.shape[0]:
        if home.age[0] >= pivots.OLDEST:
            return lines.OLD_HOME
        lines.draw_direction(rng, chain.rule.factor, scratch.vector, d)
        lines.copy_tile(stack, lines.HOME, lines.WALKER)
        low, high, made = chord_ends(chain.columns, ellipsoid, walker, x, d, scratch)
        if made < 0:
            return lines.LOST
        alpha = low + (high - low) * rng.random()
        lines.copy_tile(stack, lines.HOME, lines.WALKER)
        multiply(home.T, d, home.v)
        for p in range(x.shape[0]):
            walker.u[p] += alpha * home.v[p]
        more, log_det = settle(chain.columns, walker, NONE_FREE, QUICK, scratch)
        if more < 0:
            return lines.LOST
        counts[lines.TILES] += made + more
        chance = lines.chance_to_move(chain.rule, home.basis, walker.basis, log_det)
        lines.follow_sets(line, home.side, 0.0)
        lines.follow_sets(line, walker.side, 1.0 - chance)
        lines.follow_sets(line, home.side, 1.0)
        if rng.random() < chance:
            counts[ACCEPTED] += 1
            counts[lines.MOVED] += 1 if more > 0 else 0
            lines.copy_tile(stack, lines.WALKER, lines.HOME)
            for i in range(x.shape[0]):
                x[i] += alpha * d[i]
        lines.finish_step(chain, home.basis, line, 1.0)
    return lines.DONE
