"""Batches of proposals for exact draws: how they are read, multiplied, tested and reflected."""

from __future__ import annotations

from numba import cuda, float64

from zonodpp._types import Floats, Integers
from zonodpp.cuda.compile import Function, Index, inlined
from zonodpp.cuda.groups import Layout, Vectors, communication


def reader(mixture: bool) -> Function:
    """Return the function that reads a coordinate of an item, 0 beyond the r that count."""

    @inlined
    def read(rows: Floats, item: int, chosen: Integers, begin: int, lane: int, r: int) -> float:
        if begin >= r - lane:
            return 0.0
        if mixture:
            return rows[Index(item), Index(chosen[Index(begin + lane)])]
        return rows[Index(item), Index(begin + lane)]

    return read


def multiplier(layout: Layout, few: int, used: int, read: Function) -> Function:
    """Return the function z = N y that computes the first ``used`` entries of z in each thread.

    The proposals y are read from the device's memory, two entries ahead of their use.
    """
    lanes, slots = layout.lanes, layout.slots
    pitch = few * lanes
    group_get = communication(layout)[2]

    @inlined
    def multiply(
        z: Floats,
        rows: Floats,
        items: Integers,
        chosen: Integers,
        r: int,
        pool: Floats,
        base: int,
        lane: int,
    ) -> None:
        y = cuda.local.array(slots, float64)
        second = cuda.local.array(slots, float64)
        third = cuda.local.array(slots, float64)
        for u in range(slots):
            second[u] = read(rows, items[u], chosen, 0, lane, r)
            third[u] = read(rows, items[u], chosen, lanes, lane, r)
        for begin in range(0, r, lanes):
            for u in range(slots):
                y[u] = second[u]
                second[u] = third[u]
                third[u] = read(rows, items[u], chosen, begin + 2 * lanes, lane, r)
            for source in range(lanes):
                at = base + (begin + source) * pitch + lane
                for u in range(slots):
                    value = group_get(y[u], source)
                    for e in range(used):
                        z[u * few + e] += pool[Index(at + e * lanes)] * value

    return multiply


def batch_acceptance(layout: Layout, functions: Vectors) -> Function:
    """Return the function that tests a batch, and reflects all of it after each acceptance."""
    slots, vectors = layout.slots, layout.vectors
    wait, _, _, block_least = communication(layout)
    store, factors, lasts = functions.store, functions.factors, functions.lasts
    subtract, length = functions.subtract, functions.length

    @inlined
    def first_accepted(
        group: int, tested: int, level: Floats, left: Floats, won: Integers, found: Integers
    ) -> int:
        """Return the first proposal after ``tested`` that is accepted, or how many there are."""
        mine = vectors
        for back in range(slots):
            u = slots - 1 - back
            if group * slots + u > tested and level[u] < left[u]:
                mine = group * slots + u
        first = block_least(mine, vectors, found)
        for u in range(slots):
            won[u] = 1 if group * slots + u == first else 0
        return first

    @inlined
    def accept(
        x: Floats,
        m: int,
        r: int,
        begun: int,
        at: int,
        group: int,
        lane: int,
        level: Floats,
        left: Floats,
        won: Integers,
        factor: Floats,
        last: Floats,
        pool: Floats,
        betas: Floats,
        items: Integers,
        proposals: Integers,
        found: Integers,
    ) -> tuple[int, int, int]:
        """Return the coordinates left, the last proposal accepted, and where pool is free.

        Reflections of vectors with ``begun`` entries and fewer are kept from the first beta on.
        """
        tested = -1
        while m > 0:
            first = first_accepted(group, tested, level, left, won, found)
            if first == vectors:
                break
            beta = store(x, won, m, lane, pool, at)
            if beta > 0.0:
                betas[Index(begun - m)] = beta
                items[Index(r - m)] = proposals[Index(first)]
            wait()
            factors(x, pool, at, m, betas[Index(begun - m)], lane, factor)
            lasts(x, m, last)
            for u in range(slots):
                dropped = last[u] - factor[u] * pool[Index(at + m - 1)]
                left[u] -= dropped * dropped
            subtract(x, factor, pool, at, m, lane)
            at += length(m)
            tested = first
            m -= 1
        return m, tested, at

    return accept
