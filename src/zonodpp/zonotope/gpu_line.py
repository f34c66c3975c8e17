"""The walk over one half of a line on the device, tile by tile, see `zonodpp.zonotope.step`.

Each lane of a chain computes single numbers (lengths, weights, the pick) for itself.
"""

from __future__ import annotations

import math

from zonodpp._types import Floats
from zonodpp.chains.gpu_inverses import copier, inverse_functions, places_for, turns
from zonodpp.chains.gpu_rows import ItemShares
from zonodpp.chains.gpu_state import (
    ChainMemory,
    Geometry,
    LineState,
    Records,
    Tiles,
    ZonotopeArrays,
    holds_set,
)
from zonodpp.numerics.gpu_compile import Function, Index, inlined, of_processor
from zonodpp.numerics.gpu_philox import PICK, uniforms
from zonodpp.numerics.gpu_warps import any_thread, wait
from zonodpp.zonotope import line as lines
from zonodpp.zonotope.gpu_tile import INFINITE, REFRESH, crossing, facet_functions
from zonodpp.zonotope.line import HUGE
from zonodpp.zonotope.step import (
    AHEAD,
    DENSITY,
    ENDLESS,
    FIRST_AHEAD,
    FIRST_BACK,
    GONE,
    OTHERS,
    STAY,
    THRESHOLD,
    TOP,
    VISITED,
)

# Entries of ``tally`` beyond those of `zonodpp.zonotope.step`: the part of the window that
# lies back, the part of all weight that a Metropolis test lets pass, and the log of the density of
# the picked tile over that of the first.
BACK, PASSED, PICKED_RATIO = range(lines.TALLY, lines.TALLY + 3)
TALLY = lines.TALLY + 3
# The entries of ``marks``: pivots since T of the tile was computed, and since that of the picked
# tile was; how often a tile was picked; whether the walk has gone astray.
AGE, PICKED_AGE, PICKS, LOST = range(4)


@inlined
def place_window(tally: Floats, window: float, number: float) -> None:
    """Place the window uniformly around the point, and set all sums to zero."""
    for k in range(TALLY):
        tally[k] = 0.0
    tally[AHEAD] = window * number if window < INFINITE else window
    tally[BACK] = window - tally[AHEAD] if window < INFINITE else window


def _tally_functions(gibbs: bool, exponent: float) -> tuple[Function, Function]:
    """Compile the functions that add up what is seen on a line, as the processor does."""
    log_change = of_processor(lines.log_change)

    @inlined
    def add_tile(tally: Floats, half: int, length: float) -> tuple[float, float]:
        """Add the weight of a tile; return its part that a Metropolis test passes, and a factor.

        Earlier weights are to be multiplied by the factor, which is 1 unless densities overflow.
        """
        unit = 1.0
        if gibbs and tally[DENSITY] > tally[TOP] + HUGE:
            unit = math.exp(tally[TOP] - tally[DENSITY])
            tally[TOP] = tally[DENSITY]
            tally[STAY] *= unit
            tally[OTHERS] *= unit
            tally[THRESHOLD] *= unit
        scale = tally[DENSITY] - tally[TOP] if gibbs else min(tally[DENSITY], 0.0)
        passed = length * math.exp(scale)
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
        tally: Floats, geometry: Geometry, entered: int, left: int, det_ratio: float
    ) -> None:
        """Set the log density of the tile behind a facet, relative to the first."""
        tally[DENSITY] += log_change(geometry.log_mass, exponent, entered, left, det_ratio)

    return add_tile, change_density


def _line_start(r: int, items: ItemShares) -> Function:
    """Compile the beginning of the walk over one half of a line."""
    lanes, each, own = items.lanes, items.each, turns(r, items.lanes)
    _, _, _, basis, _, _, u, v, reach, d = places_for(r)
    copy, inverse = copier(r, lanes), inverse_functions(r, lanes)
    load, multiply = inverse.load, inverse.multiply

    @inlined
    def start(half: int, chain: ChainMemory, arrays: ZonotopeArrays, line: LineState) -> None:
        """Go to the point of the chain."""
        memory, at, number, home = chain.memory, chain.at, Index(chain.number), arrays.home
        if half == 1:
            load(chain, home.inverses, home.bases)
            wait()
        copy(home.points[number], 0, memory, at + u, chain.lane)
        for turn in range(own):
            p = turn * lanes + chain.lane
            if p < r:
                item = chain.whole[Index(2 * at + basis + p)]
                memory[Index(at + reach + p)] = arrays.geometry.lengths[Index(item)]
        for k in range(each):
            line.reduced[k] = home.reduced[number, Index(k * lanes + chain.lane)]
        multiply(chain, d, 1.0 - 2.0 * half, v)
        tally = line.tally
        tally[GONE], tally[DENSITY], tally[VISITED] = 0.0, 0.0, 0.0
        wait()

    return start


def _tile_notes(fresh: bool, r: int, items: ItemShares) -> tuple[Function, Function]:
    """Compile what is noted of a tile: the pick, and the sets that it holds."""
    lanes, each, own, places = items.lanes, items.each, turns(r, items.lanes), places_for(r)
    basis, u, v = places.basis, places.u, places.v
    save = inverse_functions(r, lanes).save

    @inlined
    def pick(length: float, chain: ChainMemory, step: int, picked: Tiles, line: LineState) -> None:
        """Note the tile and a uniform point of its part of the line."""
        memory, at, tally, marks = chain.memory, chain.at, line.tally, line.marks
        chosen = Index(chain.number)
        number, part = uniforms(chain.keys[chain.number], step, marks[PICKS], PICK)
        marks[PICKS] += 1
        marks[PICKED_AGE] = marks[AGE]
        tally[THRESHOLD] = tally[OTHERS] / (1.0 - number)
        tally[PICKED_RATIO] = tally[DENSITY]
        save(chain, picked.inverses, picked.bases)
        if not fresh:
            for turn in range(own):
                p = turn * lanes + chain.lane
                if p < r:
                    picked.points[chosen, Index(p)] = (
                        memory[Index(at + u + p)] + part * length * memory[Index(at + v + p)]
                    )
            for k in range(each):
                picked.reduced[chosen, Index(k * lanes + chain.lane)] = line.reduced[k]

    @inlined
    def record(passed: float, unit: float, chain: ChainMemory, records: Records) -> None:
        """Add the weight of a tile to the shares of the tracked sets that are in it."""
        s = chain.lane
        while s < records.starts.shape[0] - 1:
            share = records.shares[chain.number, s] * unit
            if holds_set(chain.whole, 2 * chain.at + basis, r, records, s):
                share += passed
            records.shares[chain.number, s] = share
            s += lanes

    return pick, record


def half_walk(gibbs: bool, fresh: bool, exponent: float, r: int, items: ItemShares) -> Function:
    """Compile the walk over the tiles of one half of a line."""
    basis, v, d = places_for(r).basis, places_for(r).v, places_for(r).d
    inverse = inverse_functions(r, items.lanes)
    multiply, renew = inverse.multiply, inverse.renew
    nearest_facet, ratio_test = facet_functions(r, items)
    lower_costs, cross = crossing(r, items)
    add_tile, change_density = _tally_functions(gibbs, exponent)
    start, (pick, record) = _line_start(r, items), _tile_notes(fresh, r, items)

    @inlined
    def visit(
        half: int,
        length: float,
        chain: ChainMemory,
        step: int,
        arrays: ZonotopeArrays,
        line: LineState,
    ) -> None:
        """Add a tile to the sums over the line, and pick it if the sums pass the threshold."""
        passed, unit = add_tile(line.tally, half, length)
        record(passed, unit, chain, arrays.records)
        if line.tally[OTHERS] > line.tally[THRESHOLD]:
            pick(length, chain, step, arrays.picked, line)
        if line.tally[VISITED] > ENDLESS:
            line.marks[LOST] = 1

    @inlined
    def walk(
        half: int, chain: ChainMemory, step: int, arrays: ZonotopeArrays, line: LineState
    ) -> None:
        tally, marks, geometry = line.tally, line.marks, arrays.geometry
        start(half, chain, arrays, line)
        limit = tally[AHEAD] if half == 0 else tally[BACK]
        active = chain.exists
        while any_thread(active):
            worn = active and marks[AGE] >= REFRESH
            if any_thread(worn):
                renew(worn, True, chain, geometry.vectors, arrays.records.counts)
                if worn:
                    marks[AGE] = 0
                    multiply(chain, d, 1.0 - 2.0 * half, v)
                wait()
            length, p = nearest_facet(chain)
            last = tally[GONE] + length >= limit
            length = limit - tally[GONE] if last else length
            if active:
                visit(half, length, chain, step, arrays, line)
            going = active and not last and p < r and marks[LOST] == 0
            p = min(p, r - 1)
            left = chain.whole[Index(2 * chain.at + basis + p)]
            upward = 1.0 if chain.memory[Index(chain.at + v + p)] > 0.0 else -1.0
            theta, entering, at_length = ratio_test(chain, p, left, upward, geometry.rows, line)
            active = going and theta < INFINITE  # no item can enter: the boundary
            entering = entering if active else 0
            if active:
                lower_costs(theta, entering, left, upward, line, chain.lane)
            det_ratio, older = cross(active, chain, p, length, entering, at_length, geometry)
            if active:
                marks[AGE] += older
                tally[GONE] += length
                change_density(tally, geometry, entering, left, det_ratio)

    return walk
