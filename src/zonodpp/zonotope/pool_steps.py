"""The walk of `zonodpp.zonotope.step` with a pool of items in place of all, or lazily.

The walk itself is the same: it goes through tiles of the pool. Where an item outside the pool may
be the next to enter, the pool is made anew, or all items are tested. With lazy tilings (see
`zonodpp.zonotope.lazy`) the pool holds the items that were met, and whether another one comes first
is drawn at each facet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from zonodpp._types import Floats, Integers
from zonodpp.chains.columns import tableau_entry
from zonodpp.chains.inverse import row_length
from zonodpp.chains.small_pivots import rounding_weights
from zonodpp.numerics.arguments import floats_at, generator_at, integers_at
from zonodpp.numerics.compiled import forceinline, inline_source, no_refcount
from zonodpp.zonotope import line as lines
from zonodpp.zonotope import pool as pools
from zonodpp.zonotope import tile as pivots
from zonodpp.zonotope.lazy import SWEPT, draw_unknown, meet
from zonodpp.zonotope.line import Line, ZonotopeChain
from zonodpp.zonotope.pool import Pool
from zonodpp.zonotope.step import (
    DENSITY,
    GONE,
    VISITED,
    end_line,
    next_item,
    place_line,
    status_of,
    walk_half,
)
from zonodpp.zonotope.tile import BOUNDARY, PIVOT, TileScratch, TileState

COUNTERS = (*lines.COUNTERS, "refills", "full tests", "completed tilings")
REFILLS, FULL_TESTS, COMPLETED = range(len(lines.COUNTERS), len(COUNTERS))
# The entries of ``places``: which of the two pools the walk uses, how many items each holds,
# whether all costs of a lazy tiling have been drawn, and the number of corners of its path.
WHICH, HELD, _, DRAWN, CORNERS = range(5)
PLACES = 5
# The two pools: that of the tile in which the line begins, and the one made last on the way. NumPy
# integers, for the reason given at `lines.HOME`.
FIRST, LATER = np.arange(2)


class Pools(NamedTuple):
    """What a chain with pools has beside `ZonotopeChain`, whose tiles have neither gap nor side."""

    memory: Floats  # two pools
    room: int  # items that each pool has room for
    most: int  # items outside the basis that a new pool may hold
    dual: Floats  # see `zonodpp.zonotope.pool`
    places: Integers  # WHICH, HELD, ...
    marks: Floats  # (n,) zero for items of the walker's basis; empty if no sets are tracked
    bounds: Floats  # (2 n,) gap and side of all items: scratch
    path: Floats  # (corners, r) of the multipliers, with lazy tilings
    lazy: bool


@no_refcount
def run_by_pool(address: int, chain: ZonotopeChain, own: Pools) -> int:
    """Do as `run_by_walk`: the same tiles, or with lazy tilings others of the same law."""
    rng = generator_at(address)
    stack, x, c, columns = chain.stack, chain.x, chain.c, chain.columns
    r, n, width = x.shape[0], c.shape[0], own.marks.shape[0]
    home = pivots.tile_in_kernel(stack[lines.HOME], r, 0)
    walker = pivots.tile_in_kernel(stack[lines.WALKER], r, 0)
    whole = lines.line_in_kernel(chain.line, r, width, chain.record.starts, chain.record.items)
    scratch = pivots.scratch_in_kernel(chain.scratch, r, n)
    progress, tally, places = chain.progress, whole.tally, own.places
    begun = tally[VISITED]
    while progress[lines.DRAW] < chain.record.subsets.shape[0]:
        half = progress[lines.HALF]
        if tally[VISITED] == 0.0:
            if half == 0 and home.age[0] >= pivots.OLDEST:
                return lines.OLD_HOME
            _begin_half(rng, chain, own, home, walker, whole, scratch)
            begun = 0.0
        held = places[HELD + places[WHICH]]
        pool = pools.pool_in_kernel(own.memory, places[WHICH], own.room, held, columns)
        tile = TileState(
            walker.basis,
            walker.T,
            walker.u,
            walker.v,
            walker.reach,
            pool.gap,
            pool.side,
            walker.age,
        )
        line = Line(
            whole.d,
            whole.along,
            tally,
            whole.starts,
            whole.items,
            whole.in_sets,
            whole.inside,
            whole.share,
            pool.names,
            own.dual,
        )
        near = TileScratch(
            floats_at(chain.scratch, 0, (held,)),
            floats_at(chain.scratch, n, (held,)),
            scratch.column,
            scratch.vector,
            scratch.order,
            scratch.space,
        )
        status: int = walk_half(
            rng, chain, pool.columns, pool.log_weight, tile, own.marks, line, near
        )
        if status == lines.UNCERTAIN:
            if tally[VISITED] - begun >= chain.patience:
                return lines.PAUSED
            status = _ask(rng, chain, own, tile, whole, pool, scratch)
            if status == lines.DONE:
                continue
        if status != lines.DONE:
            own.dual[r + pools.SURE] = 0.0  # what is mended may change what is crossed next
            return status
        chain.counts[lines.TILES] += int(tally[VISITED])
        tally[VISITED] = 0.0
        progress[lines.HALF] += 1
        if half == 1:
            _mark(own.marks, pool.names, walker.basis, 1.0)
            lines.copy_tile(stack, lines.HOME, lines.WALKER)
            _first_places(walker.basis)
            places[WHICH] = FIRST
            _mark(own.marks, home.basis, walker.basis, 0.0)
            total: float = end_line(rng, chain, home, own.marks, whole)
            lines.finish_step(chain, home.basis, whole, total)
    return lines.DONE


@inline_source
def _begin_half(
    rng: Generator,
    chain: ZonotopeChain,
    own: Pools,
    home: TileState,
    walker: TileState,
    line: Line,
    scratch: TileScratch,
) -> None:
    """Go to the point of the chain, with its pool; at the beginning of a step draw a line first."""
    c, dual, places, y = chain.c, own.dual, own.places, scratch.vector
    columns, r, n = chain.columns, y.shape[0], c.shape[0]
    forward = 1.0 - 2.0 * chain.progress[lines.HALF]
    held = places[HELD + places[WHICH]]
    before = pools.pool_in_kernel(own.memory, places[WHICH], own.room, held, columns)
    _mark(own.marks, before.names, walker.basis, 1.0)
    places[WHICH] = FIRST
    make = places[DRAWN] == 1  # in the first half, when the costs of a lazy tiling were drawn
    if forward > 0.0:
        make = not own.lazy
        places[DRAWN] = 0
        if chain.rule.fresh:
            lines.draw_point(rng, home.u, home.reach)
        if own.lazy:
            places[HELD] = r
            for p in range(r):
                c[home.basis[p]] = 2.0 * rng.random() - 1.0
            _fill(chain, own, FIRST, home.basis, scratch.order, 0)
            dual[r + pools.HOME_TAU] = -1.0  # no test is certain
            dual[r + pools.PATH] = 0.0
            places[CORNERS] = 0
        elif chain.rule.fresh:
            lines.draw_costs(rng.random(), c)
        place_line(rng, chain.rule.factor, home.T, y, line.d, home.v, line.tally)
    if make:
        gap, side = floats_at(own.bounds, 0, (n,)), floats_at(own.bounds, n, (n,))
        pools.price_basis(home.basis, home.T, c, y)
        pools.set_bounds(columns, y, c, home.basis, gap, side)
        dual[r + pools.HOME_TAU] = _make_pool(chain, own, FIRST, home.basis, gap, side, scratch)
    lines.copy_tile(chain.stack, lines.HOME, lines.WALKER)
    _first_places(walker.basis)
    for p in range(r):
        walker.v[p] *= forward
        line.along[p] = forward * line.d[p]
    line.tally[GONE], line.tally[DENSITY] = 0.0, 0.0
    pool = pools.pool_in_kernel(own.memory, FIRST, own.room, places[HELD], columns)
    _mark(own.marks, pool.names, walker.basis, 0.0)
    pools.price_basis(walker.basis, walker.T, pool.cost, y)
    pools.set_bounds(pool.columns, y, pool.cost, walker.basis, pool.gap, pool.side)
    pools.begin_at(y, dual, dual[r + pools.HOME_TAU])
    if own.lazy and places[DRAWN] == 0 and places[CORNERS] == 0:
        _add_corner(own.path, places, y, y, 0.0)


@inline_source
def _make_pool(
    chain: ZonotopeChain,
    own: Pools,
    which: int,
    basis: Integers,
    gap: Floats,
    side: Floats,
    scratch: TileScratch,
) -> float:
    """Make a pool of the basis and the items of small gaps; return its tau."""
    dual, r = own.dual, basis.shape[0]
    cell, guess = scratch.column, dual[r + pools.GUESS]
    count, tau = pools.choose_items(gap, side, own.most, guess, cell, scratch.order)
    found: float = tau
    if tau < pools.FAR and count > 0:  # with which the next pool would be full to three quarters
        dual[r + pools.GUESS] = tau * (0.75 * own.most / count)
    own.places[HELD + which] = r + count
    _fill(chain, own, which, basis, scratch.order, 0)
    return found


@inline_source
def _fill(
    chain: ZonotopeChain, own: Pools, which: int, basis: Integers, order: Integers, begin: int
) -> None:
    """Put items into the places of a pool from ``begin`` on."""
    columns, weights, room = chain.columns, chain.rule.log_weight, own.room
    held = own.places[HELD + which]
    pools.put_items(columns, weights, chain.c, basis, order, own.memory, which, room, begin, held)


@forceinline
def _first_places(basis: Integers) -> None:
    """Name the items of a basis by the first places of the pool that was made for it."""
    for p in range(basis.shape[0]):
        basis[p] = p


@forceinline
def _mark(marks: Floats, names: Integers, basis: Integers, mark: float) -> None:
    """Set the marks of the items of a basis."""
    if marks.shape[0] > 0:
        for p in range(basis.shape[0]):
            marks[names[basis[p]]] = mark


@forceinline
def _add_corner(path: Floats, places: Integers, y: Floats, w: Floats, distance: float) -> None:
    """Add to a path the corner y + distance w."""
    for i in range(y.shape[0]):
        path[places[CORNERS], i] = y[i] + distance * w[i]
    places[CORNERS] += 1


@inline_source
def _ask(
    rng: Generator,
    chain: ZonotopeChain,
    own: Pools,
    tile: TileState,
    line: Line,
    pool: Pool,
    scratch: TileScratch,
) -> int:
    """Find out which item enters next, or make the pool anew.

    Returns DONE, or what is to be mended.
    """
    dual, places, y, c = own.dual, own.places, scratch.vector, chain.c
    columns, r, n = chain.columns, y.shape[0], c.shape[0]
    status = lines.DONE
    _, p = pivots.next_break(tile.u, tile.v, tile.reach)
    pools.price_basis(tile.basis, tile.T, pool.cost, y)
    if own.lazy and places[DRAWN] == 0:
        if _meet_next(rng, chain, own, tile, pool, p, scratch):
            return status
        places[DRAWN] = 1
        chain.counts[COMPLETED] += 1
        longest = dual[r + pools.LONGEST]
        draw_unknown(rng, columns, pool.names, pool.cost, own.path, places[CORNERS], longest, c)
        dual[r + pools.FRESH] = 0.0
    basis = integers_at(scratch.space[3], 0, (r,))
    for k in range(r):
        basis[k] = pool.names[tile.basis[k]]
    gap, side = floats_at(own.bounds, 0, (n,)), floats_at(own.bounds, n, (n,))
    pools.set_bounds(columns, y, c, basis, gap, side)
    if dual[r + pools.FRESH] == 0.0:
        tau: float = _make_pool(chain, own, LATER, basis, gap, side, scratch)
        chain.counts[REFILLS] += 1
        places[WHICH] = LATER
        _first_places(tile.basis)
        made = pools.pool_in_kernel(own.memory, LATER, own.room, places[HELD + LATER], columns)
        pools.set_bounds(made.columns, y, made.cost, tile.basis, made.gap, made.side)
        pools.begin_at(y, dual, tau)
        return status
    whole = TileState(basis, tile.T, tile.u, tile.v, tile.reach, gap, side, tile.age)
    item: int = next_item(columns, chain.rule, chain.rule.log_weight, whole, p, line, scratch)
    chain.counts[FULL_TESTS] += 1
    if item < BOUNDARY:
        refused: int = status_of(item)
        return refused
    dual[r + pools.SURE] = 1.0
    if item >= 0 and _place_of(pool.names, item) < 0:
        _extend(chain, own, basis, scratch.order, item, gap[item], side[item])
    return status


@forceinline
def _place_of(names: Integers, item: int) -> int:
    """Return the place of an item in a pool, or -1."""
    place = -1
    for k in range(names.shape[0]):
        place = k if names[k] == item else place
    return place


@inline_source
def _extend(
    chain: ZonotopeChain,
    own: Pools,
    basis: Integers,
    order: Integers,
    item: int,
    gap: float,
    side: float,
) -> None:
    """Add an item to the pool that the walk uses.

    In a full pool it replaces an item that a full test has found before. The walk has come back to
    the tile of the pool since, where all gaps outside the pool are at least tau, also that item's.
    """
    which = own.places[WHICH]
    begin = min(own.places[HELD + which], own.room - 1)
    order[begin - basis.shape[0]] = item
    own.places[HELD + which] = begin + 1
    _fill(chain, own, which, basis, order, begin)
    pool = pools.pool_in_kernel(own.memory, which, own.room, begin + 1, chain.columns)
    pool.gap[begin] = gap
    pool.side[begin] = side


@inline_source
def _meet_next(
    rng: Generator,
    chain: ZonotopeChain,
    own: Pools,
    tile: TileState,
    pool: Pool,
    p: int,
    scratch: TileScratch,
) -> bool:
    """Draw whether the path meets an item before those of the pool; False if it grows too long."""
    dual, places, y, w = own.dual, own.places, scratch.vector, scratch.space[0]
    columns, r = chain.columns, y.shape[0]
    if places[CORNERS] >= own.path.shape[0] or pool.names.shape[0] >= own.room:
        return False
    size, least = row_length(tile.T, p), PIVOT
    if chain.rule.careful:
        least = rounding_weights(tile.T, p, scratch.column) / size
    step = (1.0 if tile.v[p] > 0.0 else -1.0) / size
    for i in range(r):
        w[i] = step * tile.T[p, i]
    longest = dual[r + pools.LONGEST]
    left = SWEPT / longest - dual[r + pools.PATH]
    best = dual[r + pools.BEST] * size
    item, distance, cost = meet(
        rng,
        columns,
        pool.names,
        own.path,
        places[CORNERS],
        y,
        w,
        min(best, left),
        dual[r + pools.PATH],
        longest,
        least,
    )
    _add_corner(own.path, places, y, w, distance)
    dual[r + pools.PATH] += distance
    dual[r + pools.SURE] = 1.0
    if item >= 0:
        chain.c[item] = cost
        reduced = cost - tableau_entry(columns, y, item)
        side = 1.0 if reduced >= 0.0 else -1.0
        _extend(chain, own, tile.basis, scratch.order, item, abs(reduced), side)
    certain: bool = item >= 0 or best <= left
    return certain
