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

from zonodpp._types import Floats, Integers, Rng
from zonodpp.chains.bases import ACCEPTED
from zonodpp.chains.columns import UnitColumns, dot, multiply
from zonodpp.chains.inverse import row_length
from zonodpp.chains.small_pivots import NOISE, TINY
from zonodpp.numerics.arguments import generator_at, integers_at
from zonodpp.numerics.compiled import forceinline, inline_source, no_refcount
from zonodpp.zonotope import line as lines
from zonodpp.zonotope import tile as pivots
from zonodpp.zonotope.chord import Ellipsoid, chord_ends
from zonodpp.zonotope.entering import STALE, UNSURE, item_behind
from zonodpp.zonotope.line import Line, Rule, ZonotopeChain
from zonodpp.zonotope.long_steps import NONE_FREE, QUICK, settle
from zonodpp.zonotope.pool import (
    BEST,
    FAR,
    SURE,
    is_certain,
    move_multipliers,
    price_basis,
    set_bounds,
)
from zonodpp.zonotope.tile import BOUNDARY, TileScratch, TileState

# Tiles of one chord. A chord crosses about n tiles; a walk that does not meet the boundary in so
# many tiles can only come from rounding errors. Reflected walks may be longer.
ENDLESS = 10_000_000
ASK = -4  # what `next_item` returns, beside BOUNDARY, STALE and UNSURE, in place of an item
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
        status: int = walk_half(
            rng, chain, chain.columns, chain.rule.log_weight, walker, walker.side, line, scratch
        )
        if status != lines.DONE:
            return status
        chain.counts[lines.TILES] += int(tally[VISITED])
        tally[VISITED] = 0.0
        progress[lines.HALF] += 1
        if half == 1:
            total: float = end_line(rng, chain, home, home.side, line)
            lines.finish_step(chain, home.basis, line, total)
    return lines.DONE


@inline_source
def _begin_line(
    rng: Generator, chain: ZonotopeChain, home: TileState, line: Line, scratch: TileScratch
) -> None:
    """Draw a line through the point; with fresh tilings, costs and a point, too.

    Given B the point is uniform in its tile, whatever the costs are. Any costs that are independent
    of the basis keep the law, so the cheap ones of `draw_costs` are good enough.
    """
    basis, T, c = home.basis, home.T, chain.c
    if chain.rule.fresh:
        lines.draw_point(rng, home.u, home.reach)
        lines.draw_costs(rng.random(), c)
        price_basis(basis, T, c, scratch.vector)
        set_bounds(chain.columns, scratch.vector, c, basis, home.gap, home.side)
    place_line(rng, chain.rule.factor, T, scratch.vector, line.d, home.v, line.tally)


@forceinline
def place_line(
    rng: Rng, factor: Floats, T: Floats, z: Floats, d: Floats, v: Floats, tally: Floats
) -> None:
    """Draw a direction d and the place of the window; set v = T d, and all sums to zero."""
    lines.draw_direction(rng, factor, z, d)
    multiply(T, d, v)
    for k in range(tally.shape[0]):
        tally[k] = 0.0
    tally[AHEAD] = 1.0 - rng.random()


@inline_source
def next_item(
    columns: UnitColumns,
    rule: Rule,
    log_weight: Floats,
    tile: TileState,
    p: int,
    line: Line,
    scratch: TileScratch,
) -> int:
    """Return the item that enters where coordinate p meets its bound, or BOUNDARY.

    Or what is to be done first: STALE, UNSURE (see `item_behind`), or ASK: with a pool, an item
    outside it may be the one, and the pool has to be made anew or extended.
    """
    dual, r = line.dual, tile.u.shape[0]
    if rule.careful:
        behind: int = item_behind(columns, tile, p, rule.exponent + 1.0, log_weight, scratch)
    else:
        upward = 1.0 if tile.v[p] > 0.0 else -1.0
        behind = pivots.entering_item(columns, tile, p, upward, scratch)
    if dual.shape[0] > 0 and behind != STALE and dual[r + SURE] == 0.0:
        # An item with a small entry may enter only where no other item can, in or out of the pool.
        small = TINY * row_length(tile.T, p)
        if rule.careful:
            small = max(small, NOISE * math.sqrt(r * dot(scratch.vector, scratch.vector)))
        best = FAR
        if behind >= 0 and scratch.row[behind] >= small:
            best = scratch.ratio[behind]
        dual[r + BEST] = best
        behind = behind if is_certain(dual, tile.T, p, best) else ASK
    return behind


@forceinline
def _interruption(age: int, visited: int, pause: int, reflect: bool) -> int:
    """Return the status of a walk that has to stop in a tile, or DONE."""
    status = lines.DONE
    if age >= pivots.OLDEST:
        status = lines.OLD_WALKER
    elif visited > ENDLESS and not reflect:
        status = lines.LOST
    elif visited >= pause:
        status = lines.PAUSED
    return status


@forceinline
def status_of(behind: int) -> int:
    """Return the status of a kernel that cannot go on before something is done."""
    status = lines.UNCERTAIN
    if behind == STALE:
        status = lines.OLD_WALKER
    elif behind == UNSURE:
        status = lines.HIDDEN
    return status


@inline_source
def walk_half(
    rng: Generator,
    chain: ZonotopeChain,
    columns: UnitColumns,
    log_weight: Floats,
    tile: TileState,
    marks: Floats,
    line: Line,
    scratch: TileScratch,
) -> int:
    """Visit every tile of a half of the line, up to the limit or the boundary.

    ``columns``, ``log_weight`` and the tile are those of all items or of a pool. ``marks`` are zero
    for the items of the basis.
    """
    basis, T, u, v, reach, _, _, age = tile
    rule, tally, names = chain.rule, line.tally, line.names
    forward = 1.0 - 2.0 * chain.progress[lines.HALF]
    # If an infinite window lies ahead as a whole, the limit back is inf * 0 = NaN: no limit at all.
    limit = rule.window * (tally[AHEAD] if forward > 0.0 else 1.0 - tally[AHEAD])
    gone, density, visited = tally[GONE], tally[DENSITY], int(tally[VISITED])
    changed = True  # whether tracked items may have come or gone
    pause = visited + chain.patience
    while True:
        status = _interruption(age[0], visited, pause, rule.reflect)
        if status != lines.DONE:
            break
        length, p = pivots.next_break(u, v, reach)
        last = gone + length >= limit
        behind = BOUNDARY
        if last:
            length = limit - gone
        else:
            behind = next_item(columns, rule, log_weight, tile, p, line, scratch)
            if behind < BOUNDARY:
                status = status_of(behind)
                break
        if rule.gibbs and density > tally[TOP] + lines.HUGE:
            rescale(tally, line.share, density)
        if changed:
            lines.follow_sets(line, marks, tally[STAY] + tally[OTHERS])
        scale = density - tally[TOP] if rule.gibbs else min(density, 0.0)
        tally[LENGTH] += length
        if visited == 0:
            tally[STAY] += length * math.exp(scale)
            tally[FIRST_AHEAD if forward > 0.0 else FIRST_BACK] = length
        elif _becomes_pick(rng, tally, length * math.exp(scale)):
            tally[PICKED_PART] = length * rng.random()
            tally[PICKED_ALPHA] = forward * (gone + tally[PICKED_PART])
            lines.copy_tile(chain.stack, lines.WALKER, lines.PICKED)
            _name_items(chain.stack[lines.PICKED], basis, names)
        visited += 1
        if last:
            status = lines.DONE
            break
        for k in range(u.shape[0]):
            u[k] += length * v[k]
        gone += length
        if behind >= 0:
            upward = 1.0 if v[p] > 0.0 else -1.0
            move_multipliers(line.dual, T, p, upward * scratch.ratio[behind])
            left = basis[p]
            det_ratio: float = pivots.swap_items(columns, tile, p, behind, upward, scratch)
            entered, left = _items_of(names, behind, left)
            density += lines.log_change(rule.log_mass, rule.exponent, entered, left, det_ratio)
            changed = _mark_swap(line.in_sets, marks, names, entered, left)
        elif rule.reflect:
            _reflect_line(rule.metric, T, v, p, line.along, scratch.vector, scratch.column)
            move_multipliers(line.dual, T, p, 0.0)
        else:
            status = lines.DONE
            break
    tally[GONE], tally[DENSITY] = gone, density
    # The half of the line has begun, also if it is interrupted in its first tile.
    tally[VISITED] = max(float(visited), lines.BEGUN)
    found: int = status
    return found


@forceinline
def _name_items(row: Floats, basis: Integers, names: Integers) -> None:
    """Write to a tile of the stack the items that the walk knows by their places in a pool."""
    r = basis.shape[0]
    if names.shape[0] > 0:
        named = integers_at(row, r * r + 3 * r, (r,))  # see `pivots.tile_at`, without gap and side
        for p in range(r):
            named[p] = names[basis[p]]


@forceinline
def _items_of(names: Integers, entered: int, left: int) -> tuple[int, int]:
    """Return the items that the walk knows by these numbers."""
    if names.shape[0] > 0:
        entered = names[entered]
        left = names[left]
    return entered, left


@forceinline
def _mark_swap(in_sets: Floats, marks: Floats, names: Integers, entered: int, left: int) -> bool:
    """Return whether a tracked set may have come or gone; with a pool, keep the marks up to date.

    Without a pool the marks are the sides of the tile.
    """
    changed = False
    if in_sets.shape[0] > 0:
        changed = in_sets[left] + in_sets[entered] > 0.0
        if names.shape[0] > 0:
            marks[left] = 1.0
            marks[entered] = 0.0
    return changed


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
def end_line(
    rng: Generator, chain: ZonotopeChain, home: TileState, marks: Floats, line: Line
) -> float:
    """Go to the first tile's part of the line, or to the pick, or stay; return the total weight.

    ``marks`` are zero for the items of the first tile's basis.
    """
    u, v, x, d, tally = home.u, home.v, chain.x, line.d, line.tally
    rule, counts = chain.rule, chain.counts
    stay, back = tally[STAY], tally[FIRST_BACK]
    weight = stay + tally[OTHERS]
    lines.follow_sets(line, marks, weight)
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
