"""The walk over one half of a line on the device, tile by tile, see `zonodpp.samplers.walk_line`.

Single numbers (lengths, weights, the pick) are computed by each lane of a chain alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from zonodpp._types import Floats, Integers, Subsets
from zonodpp.cuda.compile import Function, Index, inlined, of_processor
from zonodpp.cuda.inverses import holds_set, inverse_functions, inverse_size, turns
from zonodpp.cuda.philox import PICK, uniforms
from zonodpp.cuda.rows import ItemShares
from zonodpp.cuda.tiles import INFINITE, REFRESH, tile_functions
from zonodpp.cuda.warps import group_functions
from zonodpp.samplers import lines, walk_line
from zonodpp.samplers.chains import DRIFTS, REFACTORISATIONS
from zonodpp.samplers.lines import HUGE, ROOT
from zonodpp.samplers.walk_line import (
    AHEAD,
    DENSITY,
    ENDLESS,
    FIRST_AHEAD,
    FIRST_BACK,
    GONE,
    LEVEL,
    OTHERS,
    STAY,
    THRESHOLD,
    TOP,
    VISITED,
)

# Entries of ``tally`` beyond those of `walk_line`: the window's part back, the part of
# all weight that a Metropolis test lets pass, and the density of the picked tile over the first's.
BACK, PASSED, PICKED_RATIO = range(lines.TALLY, lines.TALLY + 3)
TALLY = lines.TALLY + 3
# The entries of ``marks``: pivots since T of the tile was computed, and since that of the picked
# tile was; how often a tile was picked; whether the walk has gone astray.
AGE, PICKED_AGE, PICKS, LOST = range(4)


class Geometry(NamedTuple):
    """The target on the device."""

    rows: Floats  # (r * items,) the unit vectors, one coordinate after another
    vectors: Floats  # (n, r) the unit vectors
    lengths: Floats  # (n,)
    mass: Floats  # (n,) see `zonodpp.samplers.lines.Rule`
    level: Integers  # (n,)
    factor: Floats  # (r, r) the transpose of that of the rule
    costs: Floats  # (n,) of the one tiling, or (0,)
    window: float


class Tiles(NamedTuple):
    """A tile and a point for each chain."""

    bases: Integers  # (chains, r)
    inverses: Floats  # (chains, r * padded_length(r))
    points: Floats  # (chains, r)
    reduced: Floats  # (chains, items) the reduced costs


class Records(NamedTuple):
    """What a call leaves behind."""

    subsets: Subsets  # (draws, chains, r)
    tracked: Floats  # (draws, chains, sets)
    shares: Floats  # (chains, sets) of the step
    starts: Integers
    members: Integers
    counts: Integers  # (chains, counters)


class ChainMemory(NamedTuple):
    """A chain and the thread that works on it."""

    at: int  # where its shared memory begins
    number: int
    exists: bool  # if not, the thread goes along with the last chain, and writes nothing
    lane: int
    keys: Any  # of all chains; to read one again is faster than to hold what follows from it


def tally_functions(gibbs: bool, exponent: float) -> tuple[Function, Function, Function]:
    """Compile the functions that add up what is seen on a line, see `walk_line`."""
    scaled_density = of_processor(walk_line.scaled_density)
    density_ratio = of_processor(walk_line.density_ratio)

    @inlined
    def place_window(tally: Floats, window: float, number: float) -> None:
        """Place the window uniformly around the point, and set all sums to zero."""
        for k in range(TALLY):
            tally[k] = 0.0
        tally[AHEAD] = window * number if window < INFINITE else window
        tally[BACK] = window - tally[AHEAD] if window < INFINITE else window

    @inlined
    def add_tile(tally: Floats, half: int, length: float) -> tuple[float, float]:
        """Add the weight of a tile; return its part that a test lets pass, and a unit.

        All weights before are in terms of the unit, which is 1 but when densities overflow.
        """
        unit = 1.0
        while gibbs and tally[LEVEL] > tally[TOP]:
            tally[TOP] += 1.0
            tally[STAY] /= HUGE
            tally[OTHERS] /= HUGE
            tally[THRESHOLD] /= HUGE
            unit /= HUGE
        passed = length * scaled_density(gibbs, tally[DENSITY], tally[LEVEL] - tally[TOP])
        weight = passed if gibbs else length
        tally[PASSED] += passed
        if tally[VISITED] > 0.0:
            tally[OTHERS] += weight
        else:
            tally[STAY] += weight
            if half == 0:
                tally[FIRST_AHEAD] = length
            else:
                tally[FIRST_BACK] = length
        tally[VISITED] += 1.0
        return passed, unit

    @inlined
    def change_density(
        tally: Floats, mass: Floats, level: Integers, entered: int, left: int, size: float
    ) -> None:
        """Set the density of the tile behind a facet, relative to the first."""
        density = tally[DENSITY] * density_ratio(mass, exponent, entered, left, size)
        tally[LEVEL] += level[entered] - level[left]
        while density > ROOT:
            density /= HUGE
            tally[LEVEL] += 1.0
        while density < 1.0 / ROOT:
            density *= HUGE
            tally[LEVEL] -= 1.0
        tally[DENSITY] = density

    return place_window, add_tile, change_density


def half_walk(  # noqa: C901 - of all together
    gibbs: bool, fresh: bool, exponent: float, r: int, items: ItemShares
) -> Function:
    """Compile the walk over the tiles of one half of a line."""
    lanes, each, own = items.lanes, items.each, turns(r, items.lanes)
    wait, _, _, _, any_thread, _ = group_functions(lanes)
    basis = 2 * (inverse_size(r) - r)
    u = inverse_size(r)
    v, reach = u + r, u + 2 * r
    load, save, _, _, renew = inverse_functions(r, lanes)
    set_speed, nearest_facet, ratio_test, lower_costs, cross = tile_functions(r, items)
    _, add_tile, change_density = tally_functions(gibbs, exponent)

    @inlined
    def start(
        half: int,
        memory: Floats,
        whole: Integers,
        chain: ChainMemory,
        lengths: Floats,
        home: Tiles,
        tally: Floats,
        reduced: Floats,
    ) -> None:
        """Go to the point of the chain."""
        at, number, lane = chain.at, chain.number, chain.lane
        if half == 1:
            load(memory, whole, at, home.inverses, home.bases, number, lane)
            wait()
        for turn in range(own):
            p = turn * lanes + lane
            if p < r:
                memory[Index(at + u + p)] = home.points[Index(number), Index(p)]
                memory[Index(at + reach + p)] = lengths[Index(whole[Index(2 * at + basis + p)])]
        for k in range(each):
            reduced[k] = home.reduced[Index(number), Index(k * lanes + lane)]
        set_speed(memory, at, 1.0 - 2.0 * half, lane)
        tally[GONE], tally[DENSITY], tally[LEVEL], tally[VISITED] = 0.0, 1.0, 0.0, 0.0
        wait()

    @inlined
    def pick(
        length: float,
        memory: Floats,
        whole: Integers,
        chain: ChainMemory,
        step: int,
        picked: Tiles,
        tally: Floats,
        marks: Integers,
        reduced: Floats,
    ) -> None:
        """Note the tile and a uniform point of its part of the line."""
        at, chosen, lane = chain.at, chain.number, chain.lane
        number, part = uniforms(chain.keys[chain.number], step, marks[PICKS], PICK)
        marks[PICKS] += 1
        marks[PICKED_AGE] = marks[AGE]
        tally[THRESHOLD] = tally[OTHERS] / (1.0 - number)
        tally[PICKED_RATIO] = tally[DENSITY]
        if tally[LEVEL] != 0.0:
            tally[PICKED_RATIO] = INFINITE if tally[LEVEL] > 0.0 else 0.0
        save(memory, whole, at, picked.inverses, picked.bases, chosen, lane)
        if not fresh:
            for turn in range(own):
                p = turn * lanes + lane
                if p < r:
                    picked.points[Index(chosen), Index(p)] = (
                        memory[Index(at + u + p)] + part * length * memory[Index(at + v + p)]
                    )
            for k in range(each):
                picked.reduced[Index(chosen), Index(k * lanes + lane)] = reduced[k]

    @inlined
    def record(
        passed: float, unit: float, whole: Integers, chain: ChainMemory, records: Records
    ) -> None:
        """Add the weight of a tile to the shares of the tracked sets that are in it."""
        s = chain.lane
        while s < records.starts.shape[0] - 1:
            share = records.shares[chain.number, s] * unit
            if holds_set(whole, 2 * chain.at + basis, r, records.starts, records.members, s):
                share += passed
            records.shares[chain.number, s] = share
            s += lanes

    @inlined
    def walk(
        half: int,
        memory: Floats,
        whole: Integers,
        chain: ChainMemory,
        step: int,
        geometry: Geometry,
        home: Tiles,
        picked: Tiles,
        records: Records,
        tally: Floats,
        marks: Integers,
        reduced: Floats,
        drops: Floats,
        products: Floats,
    ) -> None:
        at, lane = chain.at, chain.lane
        start(half, memory, whole, chain, geometry.lengths, home, tally, reduced)
        limit = tally[AHEAD] if half == 0 else tally[BACK]
        active = chain.exists
        while any_thread(active):
            worn = active and marks[AGE] >= REFRESH
            if any_thread(worn):
                drifted = renew(worn, memory, whole, at, geometry.vectors, lane)
                if worn:
                    marks[AGE] = 0
                    count_renewal(records.counts, chain, drifted)
                    set_speed(memory, at, 1.0 - 2.0 * half, lane)
                wait()
            length, p = nearest_facet(memory, at, lane)
            last = tally[GONE] + length >= limit
            length = limit - tally[GONE] if last else length
            if active:
                passed, unit = add_tile(tally, half, length)
                record(passed, unit, whole, chain, records)
                if tally[OTHERS] > tally[THRESHOLD]:
                    pick(length, memory, whole, chain, step, picked, tally, marks, reduced)
                if tally[VISITED] > ENDLESS:
                    marks[LOST] = 1
            going = active and not last and p < r and marks[LOST] == 0
            p = min(p, r - 1)
            left = whole[Index(2 * at + basis + p)]
            upward = 1.0 if memory[Index(at + v + p)] > 0.0 else -1.0
            theta, entering, at_length = ratio_test(
                memory, at, p, left, upward, geometry.rows, reduced, drops, products, lane
            )
            active = going and theta < INFINITE  # no item can enter: the boundary
            entering = entering if active else 0
            if active:
                lower_costs(theta, entering, left, upward, reduced, drops, lane)
            size, older = cross(
                active,
                *(memory, whole, at, p, length, entering, at_length),
                *(geometry.vectors, geometry.lengths, lane),
            )
            if active:
                marks[AGE] += older
                tally[GONE] += length
                change_density(tally, geometry.mass, geometry.level, entering, left, size)

    return walk


@inlined
def count_renewal(counts: Integers, chain: ChainMemory, drifted: bool) -> None:
    """Count that T was computed anew, and whether it had drifted."""
    if chain.exists and chain.lane == 0:
        counts[chain.number, REFACTORISATIONS] += 1
        counts[chain.number, DRIFTS] += 1 if drifted else 0
