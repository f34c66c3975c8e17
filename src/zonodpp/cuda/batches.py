"""Batches of proposals for exact draws: how they are read, multiplied, tested and reflected."""

from __future__ import annotations

from zonodpp._types import Floats, Integers
from zonodpp.cuda.compile import Function, Index, inlined
from zonodpp.cuda.groups import Board, Layout, Vectors
from zonodpp.cuda.warps import block_barrier, block_minimum, group_functions


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


def multiplier(layout: Layout, few: int, used: int, mixture: bool) -> Function:
    """Return the function z = N y that computes the first ``used`` entries of z in each thread.

    The proposal y is read from the device's memory, two entries ahead of their use.
    """
    lanes = layout.lanes
    pitch = few * lanes
    group_get = group_functions(lanes, layout.threads).get
    read = reader(mixture)

    @inlined
    def multiply(
        z: Floats, rows: Floats, item: int, r: int, board: Board, base: int, lane: int
    ) -> None:
        second = read(rows, item, board.chosen, 0, lane, r)
        third = read(rows, item, board.chosen, lanes, lane, r)
        for begin in range(0, r, lanes):
            y, second = second, third
            third = read(rows, item, board.chosen, begin + 2 * lanes, lane, r)
            for source in range(lanes):
                at = base + (begin + source) * pitch + lane
                value = group_get(y, source)
                for e in range(used):
                    z[e] += board.pool[Index(at + e * lanes)] * value

    return multiply


def batch_acceptance(layout: Layout, functions: Vectors) -> Function:
    """Return the function that tests a batch, and reflects all of it after each acceptance."""
    vectors, wait = layout.vectors, block_barrier(layout.threads)
    block_least = block_minimum(layout.threads)
    length, square, last, reflect, store = functions

    @inlined
    def accept(
        x: Floats, m: int, r: int, begun: int, at: int, group: int, level: float, board: Board
    ) -> tuple[int, int, int]:
        """Return the coordinates left, the last proposal accepted, and where pool is free.

        Reflections of vectors with ``begun`` entries and fewer are kept from the first beta on.
        """
        left = square(x, m)
        tested = -1
        while m > 0:
            passes = group > tested and level < left
            first = block_least(group if passes else vectors, vectors, board.found)
            if first == vectors:
                break
            beta = store(x, group == first, m, board.pool, at)
            if beta > 0.0:
                board.betas[Index(begun - m)] = beta
                board.items[Index(r - m)] = board.proposals[Index(first)]
            wait()
            number = last(x, m)  # read before the reflection, so that neither waits for the other
            factor = reflect(x, board.pool, at, m, board.betas[Index(begun - m)])
            dropped = number - factor * board.pool[Index(at + m - 1)]
            left -= dropped * dropped
            at += length(m)
            tested = first
            m -= 1
        return m, tested, at

    return accept
