"""Hit-and-run on the zonotope on the device; the step is that of `zonodpp.samplers.walk_line`.

A group of threads of one warp works on a chain, so that no barrier is wider than a warp. Single
numbers (lengths, weights, the pick) are computed by each lane alike. The chains of a warp go
through the tiles of their lines side by side, and wait for the longest of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import cuda, float64, int32

from zonodpp._types import Floats, Integers
from zonodpp.cuda.compile import Function, Index, inlined, kernel_with
from zonodpp.cuda.half_lines import (
    AGE,
    LOST,
    PASSED,
    PICKED_AGE,
    PICKED_RATIO,
    PICKS,
    TALLY,
    ChainMemory,
    Geometry,
    Records,
    Tiles,
    count_renewal,
    half_walk,
    tally_functions,
)
from zonodpp.cuda.inverses import (
    holds_set,
    inverse_functions,
    inverse_size,
    padded_length,
    turns,
    write_sorted,
)
from zonodpp.cuda.philox import PLACE, POINT, uniforms
from zonodpp.cuda.rows import ItemShares
from zonodpp.cuda.step_starts import step_beginnings
from zonodpp.cuda.tiles import REFRESH, tile_size
from zonodpp.cuda.warps import WARP, group_functions
from zonodpp.samplers import lines
from zonodpp.samplers.chains import ACCEPTED, STEPS
from zonodpp.samplers.walk_line import (
    FIRST_AHEAD,
    FIRST_BACK,
    OTHERS,
    STAY,
    VISITED,
)

NEW = 2 * REFRESH  # the age of a chain that has a basis and nothing else
FEW_REGISTERS = 80
OWN_MEMORY = 8192  # bytes of shared memory for each warp with which a multiprocessor is not full


def registers_for(r: int, lanes: int) -> int:
    """Return the registers of a thread at most, 0 for any number, as was the fastest on an H200.

    Few registers let more warps run at once, unless shared memory allows few of them anyway.
    """
    return FEW_REGISTERS if 8 * WARP // lanes * tile_size(r, lanes) <= OWN_MEMORY else 0


def step_ending(gibbs: bool, fresh: bool, r: int, items: ItemShares) -> Function:
    """Compile the choice between the first tile and the pick."""
    lanes, each = items.lanes, items.each
    pitch = padded_length(r)
    own, entries = turns(r, lanes), turns(r * pitch, lanes)
    d = inverse_size(r) + 3 * r

    @inlined
    def record(
        draw: int, chain: ChainMemory, bases: Integers, records: Records, tally: Floats
    ) -> None:
        """Add the shares of the tracked sets in this step to those of the draw."""
        weight = tally[STAY] + tally[OTHERS]
        number = chain.number
        s = chain.lane
        while s < records.starts.shape[0] - 1:
            share = records.shares[number, s]
            if not gibbs and holds_set(bases[number], 0, r, records.starts, records.members, s):
                share += weight - tally[PASSED]
            if chain.exists:
                records.tracked[draw, number, s] += share / weight
                records.shares[number, s] = 0.0
            s += lanes

    @inlined
    def end(
        draw: int,
        memory: Floats,
        chain: ChainMemory,
        home: Tiles,
        picked: Tiles,
        records: Records,
        tally: Floats,
        marks: Integers,
        choosing: float,
        testing: float,
        within: float,
    ) -> tuple[bool, bool]:
        """Set the tile and the point of the chain; return whether it moved, and was accepted."""
        number, lane = chain.number, chain.lane
        record(draw, chain, home.bases, records, tally)
        weight = tally[STAY] + tally[OTHERS]
        moves = choosing * weight >= tally[STAY] and tally[OTHERS] > 0.0 and marks[LOST] == 0
        accepted = gibbs or not moves or testing < tally[PICKED_RATIO]
        if chain.exists and moves and accepted:
            for turn in range(entries):
                k = turn * lanes + lane
                if k < r * pitch:
                    home.inverses[Index(number), Index(k)] = picked.inverses[
                        Index(number), Index(k)
                    ]
            for turn in range(own):
                p = turn * lanes + lane
                if p < r:
                    home.bases[Index(number), Index(p)] = picked.bases[Index(number), Index(p)]
                    if not fresh:
                        home.points[Index(number), Index(p)] = picked.points[
                            Index(number), Index(p)
                        ]
            if not fresh:
                for turn in range(each):
                    k = turn * lanes + lane
                    home.reduced[Index(number), Index(k)] = picked.reduced[Index(number), Index(k)]
        elif chain.exists and not (moves or fresh or marks[LOST] != 0):
            back = tally[FIRST_BACK]
            alpha = (tally[FIRST_AHEAD] + back) * within - back
            for turn in range(own):
                p = turn * lanes + lane
                if p < r:
                    velocity = 0.0
                    for i in range(r):
                        entry = home.inverses[Index(number), Index(p * pitch + i)]
                        velocity += entry * memory[Index(chain.at + d + i)]
                    home.points[Index(number), Index(p)] += alpha * velocity
        return moves and accepted, accepted

    return end


@lru_cache(maxsize=32)
def zonotope_kernel(
    gibbs: bool, fresh: bool, exponent: float, r: int, items: ItemShares, registers: int
) -> Any:
    """Compile the kernel for a rule and a size, with at most so many registers for a thread."""
    lanes, each, part, own = items.lanes, items.each, items.part, turns(r, items.lanes)
    chains = WARP // lanes
    size = tile_size(r, lanes)
    basis = 2 * (inverse_size(r) - r)
    wait, _, _, _, any_thread, _ = group_functions(lanes)
    load, save, _, _, renew = inverse_functions(r, lanes)
    draw_tiling, draw_direction = step_beginnings(fresh, r, items)
    place_window = tally_functions(gibbs, exponent)[0]
    walk_half = half_walk(gibbs, fresh, exponent, r, items)
    end_step = step_ending(gibbs, fresh, r, items)

    @inlined
    def begin_step(
        age: int,
        memory: Floats,
        whole: Integers,
        chain: ChainMemory,
        step: int,
        geometry: Geometry,
        home: Tiles,
        records: Records,
        products: Floats,
    ) -> int:
        """Load the tile of the chain, complete it, and draw the direction; return its new age."""
        at, number, lane = chain.at, chain.number, chain.lane
        load(memory, whole, at, home.inverses, home.bases, number, lane)
        wait()
        new, old = age >= NEW, age >= REFRESH
        if any_thread(old):
            drifted = renew(old, memory, whole, at, geometry.vectors, lane)
            if old:
                age = 0
                if chain.exists:
                    save(memory, whole, at, home.inverses, home.bases, number, lane)
                if not new:
                    count_renewal(records.counts, chain, drifted)
        if fresh or any_thread(old):
            wanted = chain.exists and (fresh or old)
            draw_tiling(wanted, memory, whole, chain, step, geometry, home.reduced, products)
        if chain.exists and (fresh or new):
            for turn in range(own):
                p = turn * lanes + lane
                if p < r:
                    share, _ = uniforms(chain.keys[chain.number], step, p, POINT)
                    length = geometry.lengths[Index(whole[Index(2 * at + basis + p)])]
                    home.points[Index(number), Index(p)] = share * length
        draw_direction(memory, chain, step, geometry.factor)
        return age

    @kernel_with(registers)
    def walk(
        geometry: Geometry,
        keys: Any,
        ages: Integers,
        home: Tiles,
        picked: Tiles,
        records: Records,
        first_step: int,
        thin: int,
    ) -> None:
        """Fill records.subsets, ``thin`` steps apart; add to records.tracked."""
        memory = cuda.shared.array(0, float64)
        whole = cuda.shared.array(0, int32)
        tally = cuda.local.array(TALLY, float64)
        marks = cuda.local.array(4, int32)
        reduced = cuda.local.array(each, float64)
        drops = cuda.local.array(each, float64)
        products = cuda.local.array(part, float64)
        slot, lane = cuda.threadIdx.x // lanes, cuda.threadIdx.x & (lanes - 1)
        total = home.bases.shape[0]
        begin = cuda.blockIdx.x * chains
        while begin < total:
            number = min(begin + slot, total - 1)
            chain = ChainMemory(slot * size, number, begin + slot < total, lane, keys)
            age = ages[number]
            for done in range(records.subsets.shape[0] * thin):
                step, draw = first_step + done, done // thin
                age = begin_step(age, memory, whole, chain, step, geometry, home, records, products)
                placing, choosing = uniforms(chain.keys[chain.number], step, 0, PLACE)
                testing, within = uniforms(chain.keys[chain.number], step, 1, PLACE)
                place_window(tally, geometry.window, placing)
                marks[PICKS], marks[LOST], tiles = 0, 0, 0
                for half in range(2):
                    marks[AGE] = age
                    walk_half(
                        *(half, memory, whole, chain, step, geometry, home, picked, records),
                        *(tally, marks, reduced, drops, products),
                    )
                    tiles += int(tally[VISITED])
                moved, accepted = end_step(
                    draw,
                    memory,
                    chain,
                    home,
                    picked,
                    records,
                    tally,
                    marks,
                    choosing,
                    testing,
                    within,
                )
                age = marks[PICKED_AGE] if moved else age
                age = REFRESH if marks[LOST] != 0 else age
                wait()
                if chain.exists and lane == 0:
                    records.counts[number, STEPS] += 1
                    records.counts[number, ACCEPTED] += 1 if accepted else 0
                    records.counts[number, lines.MOVED] += 1 if moved else 0
                    records.counts[number, lines.TILES] += tiles
                    records.counts[number, lines.LOST_TILES] += marks[LOST]
                if chain.exists and (done + 1) % thin == 0:
                    to = records.subsets[draw, number]
                    write_sorted(home.bases[number], 0, r, to, lane, lanes)
            if chain.exists and lane == 0:
                ages[number] = age
            begin += cuda.gridDim.x * chains

    return walk
