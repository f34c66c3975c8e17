"""Exchange walks on the device; the rules are those of `zonodpp.samplers.exchange`.

A group of threads of one warp works on a chain; for the heat-bath rule, all threads of a block
compute products together (`zonodpp.cuda.entering`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import cuda, float64, int32

from zonodpp._types import Floats, Integers, Subsets
from zonodpp.cuda.compile import Function, Index, inlined, kernel_with
from zonodpp.cuda.entering import BlockShape, heat_bath, proposal
from zonodpp.cuda.inverses import (
    SMALL,
    ZERO,
    holds_set,
    inverse_functions,
    inverse_size,
    padded_length,
    turns,
    write_sorted,
)
from zonodpp.cuda.warps import block_barrier, group_functions
from zonodpp.samplers.chains import ACCEPTED, DRIFTS, REFACTORISATIONS, STEPS
from zonodpp.samplers.exchange_walk import HEAT_BATH, TINY_PIVOTS

REFRESH = 50  # steps for each item of a basis after which T is computed anew


def replacement(r: int, blocks: BlockShape) -> Function:
    """Compile the exchange itself."""
    lanes, own = blocks.lanes, turns(r, blocks.lanes)
    column = r * padded_length(r)
    basis = 2 * (column + 2 * r)
    _, group_sum, _, _, any_thread, _ = group_functions(lanes, blocks.threads)
    _, _, times, replace, renew = inverse_functions(r, lanes, blocks.threads)

    @inlined
    def exceeds(bound: float, memory: Floats, at: int, s: int, lane: int) -> bool:
        """Tell whether the pivot is larger than ``bound``, relative to its column."""
        total = 0.0
        for turn in range(own):
            k = turn * lanes + lane
            if k < r:
                total += memory[Index(at + column + k)] * memory[Index(at + column + k)]
        pivot = memory[Index(at + column + s)]
        return pivot * pivot > bound * bound * group_sum(total)

    @inlined
    def exchange(
        moves: bool,
        memory: Floats,
        whole: Integers,
        at: int,
        s: int,
        t: int,
        vectors: Floats,
        lane: int,
    ) -> tuple[bool, bool, bool]:
        """Let item t take place s; return whether it did, had a tiny pivot, and T had drifted."""
        times(memory, at, vectors, t, lane)
        tiny = not exceeds(SMALL, memory, at, s, lane) and moves
        drifted = False
        if any_thread(tiny):
            drifted = renew(tiny, memory, whole, at, vectors, lane)
            times(memory, at, vectors, t, lane)
            moves = exceeds(ZERO, memory, at, s, lane) and moves
        if moves:
            replace(memory, at, s, lane)
            if lane == 0:
                whole[Index(2 * at + basis + s)] = t
        return moves, tiny, drifted

    return exchange


@inlined
def note_renewal(counts: Integers, chain: int, tiny: int, drifted: bool) -> None:
    """Count that T was computed anew, for a tiny pivot or not, and whether it had drifted."""
    counts[chain, TINY_PIVOTS] += tiny
    counts[chain, REFACTORISATIONS] += 1
    counts[chain, DRIFTS] += 1 if drifted else 0


@lru_cache(maxsize=32)
def exchange_kernel(
    rule: int, power: float, r: int, n: int, blocks: BlockShape, registers: int = 0
) -> Any:
    """Compile the kernel for a rule, a power and a size, with at most so many registers."""
    lanes, chains, threads, products_shared = blocks
    size, total = blocks.size(r, n), blocks.items(n).total
    basis, end = 2 * (inverse_size(r) - r), inverse_size(r) + 1
    spare = chains * lanes < threads
    wait, _, _, _, any_thread, _ = group_functions(lanes, threads)
    wait_for_all = block_barrier(threads)
    load, save, _, _, renew = inverse_functions(r, lanes, threads)
    draw_level, multiply, chosen_item = heat_bath(power, r, n, blocks)
    propose, exchange = proposal(rule, power, r, n, blocks), replacement(r, blocks)

    @kernel_with(registers)
    def walk(
        rows: Floats,
        vectors: Floats,
        masses: Floats,
        keys: Any,
        first_step: int,
        bases: Integers,
        inverses: Floats,
        scratch: Floats,
        starts: Integers,
        members: Integers,
        subsets: Subsets,
        tracked: Floats,
        thin: int,
        counts: Integers,
    ) -> None:
        """Fill subsets (draws, chains, r), ``thin`` steps apart; add to tracked the presence.

        ``rows`` are the unit vectors e_j by rows, ``vectors`` by columns (n, r), ``masses`` their
        lengths to the power p.
        """
        memory = cuda.shared.array(0, float64)
        whole = cuda.shared.array(0, int32)
        thread = cuda.threadIdx.x
        slot, lane = thread // lanes, thread & (lanes - 1)
        busy = not spare or slot < chains
        at = slot * size
        products = memory if products_shared else scratch
        begin_products = end if products_shared else cuda.blockIdx.x * chains * total
        own_products = begin_products + slot * (size if products_shared else total)
        begin = cuda.blockIdx.x * chains
        while begin < bases.shape[0]:
            chain = min(begin + slot, bases.shape[0] - 1)
            exists = busy and begin + slot < bases.shape[0]
            if busy:
                load(memory, whole, at, inverses, bases, chain, lane)
                wait()
            accepted, step, level = 0, first_step, 0.0
            until_renewal = (REFRESH * r - first_step % (REFRESH * r)) % (REFRESH * r)
            for draw in range(subsets.shape[0]):
                for _ in range(thin):
                    if busy and until_renewal == 0:
                        drifted = renew(True, memory, whole, at, vectors, lane)
                        if exists and lane == 0 and step > 0:  # before, there is nothing yet
                            note_renewal(counts, chain, 0, drifted)
                    until_renewal = (until_renewal if until_renewal > 0 else REFRESH * r) - 1
                    if rule == HEAT_BATH:
                        if busy:
                            level = draw_level(keys[chain], step, whole, at, lane)
                        wait_for_all()
                        multiply(memory, whole, rows, products, begin_products, thread)
                        wait_for_all()
                    if busy:
                        if rule == HEAT_BATH:
                            s, t = chosen_item(
                                level, memory, whole, at, products, own_products, masses, lane
                            )
                        else:
                            s, t = propose(
                                keys[chain], step, memory, whole, at, vectors, masses, lane
                            )
                        moves = exists and t >= 0 and t != whole[Index(2 * at + basis + s)]
                        if any_thread(moves):
                            moves, tiny, drifted = exchange(
                                moves, memory, whole, at, s, max(t, 0), vectors, lane
                            )
                            accepted += 1 if moves else 0
                            if tiny and lane == 0:
                                note_renewal(counts, chain, 1, drifted)
                            wait()
                        for j in range(lane, starts.shape[0] - 1, lanes):
                            if exists and holds_set(whole, 2 * at + basis, r, starts, members, j):
                                tracked[draw, chain, j] += 1.0
                    step += 1
                if exists:
                    write_sorted(whole, 2 * at + basis, r, subsets[draw, chain], lane, lanes)
            if exists:
                save(memory, whole, at, inverses, bases, chain, lane)
                if lane == 0:
                    counts[chain, STEPS] += subsets.shape[0] * thin
                    counts[chain, ACCEPTED] += accepted
            if busy:
                wait()
            begin += cuda.gridDim.x * chains

    return walk
