"""Proposals of exact draws: the eigenvectors that take part, items, and batches of items.

The items of a batch are read, multiplied, tested and reflected together.
"""

from __future__ import annotations

from numba import cuda

from zonodpp._types import Floats, Integers
from zonodpp.exact.gpu_groups import Board, Layout, Vectors
from zonodpp.exact.mixture import first_above
from zonodpp.numerics.gpu_compile import Function, Index, Word, device, inlined, of_processor
from zonodpp.numerics.gpu_philox import CHOICE, PROPOSAL, uniforms
from zonodpp.numerics.gpu_warps import block_barrier, block_minimum, group_functions

# A proposal whose squared share outside the span is smaller counts as inside: the share is rounding
# error. The proposal would be accepted with no larger probability, so the law hardly changes.
INSIDE = 1e-14
INSIDE_AT_START = 1e-12  # the same for the bases in which walks start


search = of_processor(first_above)


def chooser(width: int) -> Function:
    """Return the function that chooses at most ``width`` eigenvectors, with a whole block."""

    @device
    def choose(
        key: Word,
        draw: int,
        taking: Floats,
        chosen: Integers,
        numbers: Floats,
        size: Integers,
    ) -> int:
        """Choose the eigenvectors that take part; return how many.

        All threads draw uniform numbers, and the first thread compares them with probabilities,
        since those of a k-DPP depend on how many eigenvectors have been taken before.
        """
        thread, threads = cuda.threadIdx.x, cuda.blockDim.x
        total = taking.shape[0]
        attempt = 0
        while True:
            if thread == 0:
                size[0] = 0
            left = taking.shape[1] - 1  # that a k-DPP has yet to take; 0 for a DPP
            for begin in range(0, total, threads):
                cuda.syncthreads()
                j = begin + thread
                if j < total:
                    numbers[thread], _ = uniforms(key, draw, attempt * total + j, CHOICE)
                cuda.syncthreads()
                if thread == 0:
                    for t in range(min(threads, total - begin)):
                        if numbers[t] < taking[begin + t, left]:
                            left -= 1 if left > 0 else 0
                            if size[0] < width:
                                chosen[size[0]] = begin + t
                            size[0] += 1
            cuda.syncthreads()
            count = size[0]
            cuda.syncthreads()
            if count <= width:
                return count
            attempt += 1

    return choose


def proposer(mixture: bool) -> Function:
    """Return the function that proposes an item, and the level it has to exceed.

    The table is the alias table of the leverage scores, or, for a mixture, the running sums of
    the squared entries of each eigenvector.
    """

    @device
    def propose(
        key: Word, draw: int, number: int, table: Floats, chosen: Integers, r: int
    ) -> tuple[int, float]:
        spot, level = uniforms(key, draw, number, PROPOSAL)
        if mixture:
            vector = min(int(spot * r), r - 1)
            item = search(table, chosen[vector], spot * r - vector)
        else:
            spot *= table.shape[0]
            item = min(int(spot), table.shape[0] - 1)
            if spot - item >= table[item, 0]:
                item = int(table[item, 1])
        return item, level

    return propose


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
    group_get = group_functions(lanes).get
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
