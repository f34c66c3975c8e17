"""Exact draws on the device: a block of threads makes a draw, groups of threads hold proposals.

As in `zonodpp.samplers.exact`, items are proposed by their leverage scores and accepted with the
share of their column that lies outside the span of the items taken before. Pending proposals are
kept in the coordinates of that outside. When one is accepted, a Householder reflection turns it
onto the last coordinate, the same reflection is applied to all pending proposals, and the
coordinate is dropped. So nothing is computed twice. A vector is spread over the registers of a
group of threads (`zonodpp.cuda.groups`), so that a thread needs few of them, and the device holds
many blocks.

At first the reflections themselves are kept, and a batch of proposals goes through all of them.
When few coordinates are left, the reflections are multiplied out to the matrix N that brings a
proposal to the coordinates left (m x r), from the last reflection to the first, so that only the
rows that are left are computed. From then on, a batch is multiplied by N, and the reflections of
the batch are applied to N after it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import cuda, float64, int32

from zonodpp._types import Floats, Integers, Subsets
from zonodpp.cuda.batches import batch_acceptance, multiplier, reader
from zonodpp.cuda.compile import Index, inlined, kernel_with
from zonodpp.cuda.groups import (
    Layout,
    communication,
    stored_length,
    vector_functions,
)
from zonodpp.cuda.proposals import INSIDE, INSIDE_AT_START, chooser, proposer


def layout_for(r: int) -> Layout:
    """Return the layout that was the fastest for about this r on an H200, see docs/gpu.md."""
    if r <= 12:
        return Layout(1, 1, 1)
    if r <= 32:
        return Layout(4, 2, 1)
    if r <= 64:
        return Layout(4, 2, 1, 128)
    if r <= 128:
        return Layout(8, 2, 4, 128)
    return Layout(16, 2, 8, 128)


def entries_for(r: int, layout: Layout) -> tuple[int, int]:
    """Return the numbers of a vector in a thread, before N is formed and after."""
    entries = -(-r // layout.lanes)
    return entries, min(max(1, entries // 4), layout.vectors // layout.lanes)


def pool_size(r: int, layout: Layout) -> int:
    """Return the doubles of shared memory for reflections and N."""
    entries, few = entries_for(r, layout)
    pitch = few * layout.lanes
    first = sum(stored_length(m, entries, layout.lanes) for m in range(1, r + 1))
    return max(first, entries * layout.lanes * pitch + pitch * pitch, layout.threads)


@lru_cache(maxsize=64)
def exact_kernel(  # noqa: C901
    width: int, mixture: bool, start: bool, layout: Layout
) -> Any:
    """Compile the kernel for draws of at most ``width`` items.

    Parameters
    ----------
    mixture : bool
        Whether each draw begins with the choice of eigenvectors (DPPs and k-DPPs).
    start : bool
        Accept every proposal outside the span: the first independent items of a random order, from
        which Markov chains start.
    """
    lanes, slots, vectors, groups = layout.lanes, layout.slots, layout.vectors, layout.groups
    warps = layout.warps
    entries, few = entries_for(width, layout)
    room, pitch = entries * lanes, few * lanes
    numbers, few_numbers = slots * entries, slots * few
    total_pool = pool_size(width, layout)
    base = total_pool - room * pitch
    least = INSIDE_AT_START if start else INSIDE
    wait = communication(layout)[0]
    long, short = vector_functions(layout, entries), vector_functions(layout, few)
    read = reader(mixture)
    multiply_one = multiplier(layout, few, 1, read)
    multiply_all = multiplier(layout, few, few, read)
    choose, propose = chooser(width), proposer(mixture)
    clear_short = short.clear
    squares_long, squares_short = long.squares, short.squares
    factors_long, factors_short = long.factors, short.factors
    subtract_long, subtract_short = long.subtract, short.subtract
    length_long, length_short = long.length, short.length
    accept_long, accept_short = batch_acceptance(layout, long), batch_acceptance(layout, short)

    @inlined
    def load(x: Floats, rows: Floats, items: Integers, chosen: Integers, r: int, lane: int) -> None:
        """Load the proposals of a group."""
        for k in range(entries):
            for u in range(slots):
                x[u * entries + k] = read(rows, items[u], chosen, k * lanes, lane, r)

    @inlined
    def unit_rows(x: Floats, lane: int, group: int) -> None:
        """Set vector u to the unit vector of the row that it becomes."""
        place = group - lane
        for k in range(entries):
            for u in range(slots):
                x[u * entries + k] = 1.0 if k * lanes - u * groups == place else 0.0

    @inlined
    def write_row(x: Floats, u: int, pool: Floats, row: int, lane: int) -> None:
        for k in range(entries):
            pool[Index(base + (k * lanes + lane) * pitch + row)] = x[u * entries + k]

    @kernel_with(layout.registers)
    def draw_subsets(  # noqa: C901
        rows: Floats,
        table: Floats,
        sure: int,
        chances: Floats,
        taking: Floats,
        keys: Any,
        first_draw: int,
        subsets: Subsets,
        looked_at: Integers,
    ) -> None:
        """Fill subsets (draws, chains, width); rows are unit vectors, unless for a mixture."""
        pool = cuda.shared.array(0, float64)
        items = cuda.shared.array(room, int32)
        chosen = cuda.shared.array(room, int32)
        betas = cuda.shared.array(room, float64)
        proposals = cuda.shared.array(vectors, int32)
        levels = cuda.shared.array(vectors, float64)
        found = cuda.shared.array(warps, int32)
        size = cuda.shared.array(1, int32)
        x = cuda.local.array(numbers, float64)
        z = cuda.local.array(few_numbers, float64)
        level = cuda.local.array(slots, float64)
        left = cuda.local.array(slots, float64)
        factor = cuda.local.array(slots, float64)
        last = cuda.local.array(slots, float64)
        pending = cuda.local.array(slots, int32)
        won = cuda.local.array(slots, int32)
        thread, threads = cuda.threadIdx.x, cuda.blockDim.x
        group, lane = thread // lanes, thread % lanes
        for k in range(thread, total_pool, threads):
            pool[k] = 0.0  # entries beyond a vector's end are read, and must be finite
        wait()
        chains = subsets.shape[1]
        for place in range(cuda.blockIdx.x, subsets.shape[0] * chains, cuda.gridDim.x):
            chain = place % chains
            key = keys[chain]
            draw = first_draw + place // chains
            r = width
            if mixture:
                r = choose(key, draw, sure, chances, taking, chosen, pool, size)
            m = r
            proposed = 0  # before this batch
            count = 0
            stored = False
            at = 0  # where the next reflection goes
            while m > 0:
                if thread < vectors:
                    item, chance = propose(key, draw, proposed + thread, table, chosen, r)
                    proposals[thread] = item
                    levels[thread] = chance
                wait()
                for u in range(slots):
                    pending[u] = proposals[Index(group * slots + u)]
                    chance = levels[Index(group * slots + u)]
                    level[u] = least if start else max(chance, least)
                begun = m
                if not stored:
                    load(x, rows, pending, chosen, r, lane)
                    if mixture:
                        squares_long(x, r, lane, left)
                        for u in range(slots):
                            level[u] *= left[u]
                    at = 0
                    for q in range(r, m, -1):
                        factors_long(x, pool, at, q, betas[Index(r - q)], lane, factor)
                        subtract_long(x, factor, pool, at, q, lane)
                        at += length_long(q)
                    squares_long(x, m, lane, left)
                    m, tested, at = accept_long(
                        *(x, m, r, r, at, group, lane, level, left, won, factor, last),
                        *(pool, betas, items, proposals, found),
                    )
                else:
                    if mixture:
                        load(x, rows, pending, chosen, r, lane)
                        squares_long(x, r, lane, left)
                        for u in range(slots):
                            level[u] *= left[u]
                    clear_short(z)
                    if m > lanes:
                        multiply_all(z, rows, pending, chosen, r, pool, base, lane)
                    else:
                        multiply_one(z, rows, pending, chosen, r, pool, base, lane)
                    squares_short(z, m, lane, left)
                    at = 0
                    m, tested, at = accept_short(
                        *(z, m, r, begun, at, group, lane, level, left, won, factor, last),
                        *(pool, betas, items, proposals, found),
                    )
                proposed += vectors
                count += vectors if m > 0 else tested + 1
                if m == 0:
                    break
                wait()
                if not stored and m <= pitch:
                    # Rows of N: unit vectors, to which all reflections are applied.
                    unit_rows(x, lane, group)
                    for q in range(m + 1, r + 1):
                        at -= length_long(q)
                        factors_long(x, pool, at, q, betas[Index(r - q)], lane, factor)
                        subtract_long(x, factor, pool, at, q, lane)
                    wait()
                    if group < m:
                        write_row(x, 0, pool, group, lane)
                    if slots > 1 and groups + group < m:
                        write_row(x, 1, pool, groups + group, lane)
                    if slots > 2 and 2 * groups + group < m:
                        write_row(x, 2, pool, 2 * groups + group, lane)
                    if slots > 2 and 3 * groups + group < m:
                        write_row(x, 3, pool, 3 * groups + group, lane)
                    stored = True
                elif stored and m < begun:
                    for begin in range(0, r, vectors):
                        for u in range(slots):
                            column = begin + u * groups + group
                            for e in range(few):
                                if column < r:
                                    z[u * few + e] = pool[
                                        Index(base + column * pitch + e * lanes + lane)
                                    ]
                        at = 0
                        for q in range(begun, m, -1):
                            factors_short(z, pool, at, q, betas[Index(begun - q)], lane, factor)
                            subtract_short(z, factor, pool, at, q, lane)
                            at += length_short(q)
                        for u in range(slots):
                            column = begin + u * groups + group
                            for e in range(few):
                                if column < r:
                                    pool[Index(base + column * pitch + e * lanes + lane)] = z[
                                        u * few + e
                                    ]
                wait()
            wait()
            for k in range(thread, subsets.shape[2], threads):
                if k < r:
                    rank = 0
                    for j in range(r):
                        rank += 1 if items[j] < items[k] else 0
                    subsets[place // chains, chain, rank] = items[k]
                else:
                    subsets[place // chains, chain, k] = -1
            if thread == 0:
                cuda.atomic.add(looked_at, chain, count)
            wait()

    return draw_subsets
