"""Exact draws on the device: one block of threads makes a draw, one thread holds a proposal.

As in `zonodpp.samplers.exact`, items are proposed by their leverage scores and accepted with the
share of their column that lies outside the span of the items taken before. Each thread keeps its
proposal in the coordinates of that outside, a vector x of m numbers in registers. When a proposal
is accepted, a Householder reflection turns it onto the last coordinate, all threads apply the same
reflection to their own vectors, and drop that coordinate. So nothing is computed twice, and no
sums over threads are needed.

When all proposals of a batch have been looked at, the next batch has to be brought to the same
coordinates. The matrix N that does this (m x r) is kept in shared memory. It is updated once for
a batch: one thread holds a column of N and applies the reflections of the batch to it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from numba import cuda, float64, int32

from zonodpp._types import Floats, Integers, Subsets
from zonodpp.cuda.compile import device, kernel
from zonodpp.cuda.proposals import INSIDE, INSIDE_AT_START, chooser, proposer

GROUP = 8  # entries of a vector that are guarded by one test


def threads_for(r: int) -> int:
    """Return the threads of a block: whole warps, and one for each column of N at least."""
    return 32 * max(1, -(-r // 32))


def pool_size(r: int) -> int:
    """Return the doubles of shared memory that N and the reflections of a batch take.

    N takes r (m + 1) at most, and the k reflections of the first batch, each rounded up to a whole
    group, r + (r - 1) + ... : together this is at most r^2 + r + 32, whatever k is.
    """
    return r * r + 2 * r + 10 * GROUP


@lru_cache(maxsize=32)
def exact_kernel(width: int, mixture: bool, start: bool = False) -> Any:
    """Compile the kernel for draws of at most ``width`` items.

    Parameters
    ----------
    mixture : bool
        Whether each draw begins with the choice of eigenvectors (DPPs and k-DPPs).
    start : bool
        Accept every proposal outside the span: the first independent items of a random order, from
        which Markov chains start.
    """
    groups = -(-width // GROUP)
    room = groups * GROUP
    pool_end = pool_size(width) - GROUP
    least = INSIDE_AT_START if start else INSIDE
    choose, propose = chooser(width), proposer(mixture)

    @device
    def dot(x: Floats, pool: Floats, at: int, m: int) -> float:
        total = 0.0
        for g in range(groups):
            if g * GROUP < m:
                part = 0.0
                for e in range(GROUP):
                    part += pool[at + g * GROUP + e] * x[g * GROUP + e]
                total += part
        return total

    @device
    def subtract(x: Floats, factor: float, pool: Floats, at: int, m: int) -> None:
        for g in range(groups):
            if g * GROUP < m:
                for e in range(GROUP):
                    x[g * GROUP + e] -= factor * pool[at + g * GROUP + e]

    @device
    def square(x: Floats, m: int) -> float:
        total = 0.0
        for g in range(groups):
            if g * GROUP < m:
                for e in range(GROUP):
                    if g * GROUP + e < m:
                        total += x[g * GROUP + e] * x[g * GROUP + e]
        return total

    @device
    def entry(x: Floats, place: int) -> float:
        """Return x[place]; every index is a constant, so that x stays in registers.

        A test for equality would tell the compiler that it may read x[place] from memory.
        """
        value = 0.0
        for g in range(groups):
            if g * GROUP <= place < (g + 1) * GROUP:
                for e in range(GROUP):
                    if g * GROUP + e <= place:
                        value = x[g * GROUP + e]
        return value

    @device
    def clear(x: Floats) -> None:
        for e in range(room):
            x[e] = 0.0

    @device
    def add_column(x: Floats, factor: float, pool: Floats, at: int, m: int) -> None:
        subtract(x, -factor, pool, at, m)

    @device
    def store_reflection(x: Floats, m: int, pool: Floats, at: int) -> float:
        """Write the vector h of the reflection 1 - beta h h' that turns x onto entry m - 1.

        x becomes a unit vector first, so that no product underflows. Returns beta.
        """
        inverse = 1.0 / math.sqrt(square(x, m))
        for g in range(groups):
            if g * GROUP < m:
                for e in range(GROUP):
                    inside = g * GROUP + e < m
                    pool[at + g * GROUP + e] = x[g * GROUP + e] * inverse if inside else 0.0
        last = pool[at + m - 1]
        last += -1.0 if last < 0.0 else 1.0
        pool[at + m - 1] = last
        return 1.0 / abs(last)

    @device
    def fill_column(x: Floats, i: int, stored: bool, pool: Floats, at: int, m: int) -> None:
        """Set x to column i of N, which is the identity before the first update."""
        clear(x)
        if stored:
            add_column(x, 1.0, pool, at, m)
        else:
            for e in range(room):
                x[e] = 1.0 if e == i else 0.0

    @device
    def coordinate(rows: Floats, item: int, chosen: Integers, i: int) -> float:
        if mixture:
            return rows[item, chosen[i]]
        return rows[item, i]

    @kernel
    def draw_subsets(
        rows: Floats,
        table: Floats,
        sure: int,
        chances: Floats,
        taking: Floats,
        keys: Any,
        first_draw: int,
        subsets: Subsets,
        tested: Integers,
    ) -> None:
        """Fill subsets (draws, chains, width).

        ``table`` is the alias table of the leverage scores, or, for a mixture, the running sums of
        the squared entries of each eigenvector.
        """
        pool = cuda.shared.array(0, float64)
        items = cuda.shared.array(room, int32)
        chosen = cuda.shared.array(room, int32)
        betas = cuda.shared.array(room, float64)
        first = cuda.shared.array(2, int32)
        size = cuda.shared.array(1, int32)
        x = cuda.local.array(room, float64)
        thread, threads = cuda.threadIdx.x, cuda.blockDim.x
        for k in range(thread, pool_end + GROUP, threads):
            pool[k] = 0.0  # entries beyond a vector's end are read, and must be finite
        chains = subsets.shape[1]
        for place in range(cuda.blockIdx.x, subsets.shape[0] * chains, cuda.gridDim.x):
            chain = place % chains
            key = keys[chain]
            draw = first_draw + place // chains
            r = subsets.shape[2]
            if mixture:
                r = choose(key, draw, sure, chances, taking, chosen, pool, size)
            m = r
            proposed = 0  # before this batch
            looked_at = 0
            stored = False
            base, pitch = pool_end, 0
            if thread == 0:
                first[0] = threads
            turn = 0
            while m > 0:
                # A batch of proposals, one in each thread.
                item, level = propose(key, draw, proposed + thread, table, chosen, r)
                clear(x)
                length = 1.0
                if stored:
                    length = 0.0
                    for i in range(r):
                        value = coordinate(rows, item, chosen, i)
                        length += value * value
                        add_column(x, value, pool, base + i * pitch, m)
                else:
                    for e in range(room):
                        if e < r:
                            x[e] = coordinate(rows, item, chosen, e)
                    length = square(x, r)
                left = square(x, m)
                level = (least if start else max(level, least)) * length
                waiting = True
                at = 0
                begun = m
                while True:
                    cuda.syncthreads()
                    if waiting and level < left:
                        cuda.atomic.min(first, turn, thread)
                    if thread == 0:
                        first[1 - turn] = threads
                    cuda.syncthreads()
                    accepted = first[turn]
                    turn = 1 - turn
                    if accepted == threads:
                        looked_at += threads
                        break
                    if thread == accepted:
                        items[r - m] = item
                        betas[begun - m] = store_reflection(x, m, pool, at)
                    waiting = waiting and thread > accepted
                    cuda.syncthreads()
                    if waiting:
                        factor = betas[begun - m] * dot(x, pool, at, m)
                        dropped = entry(x, m - 1) - factor * pool[at + m - 1]
                        subtract(x, factor, pool, at, m)
                        left -= dropped * dropped
                    at += -(-m // GROUP) * GROUP
                    m -= 1
                    if m == 0 or at + -(-m // GROUP) * GROUP > base:
                        looked_at += accepted + 1
                        break
                proposed += threads
                if m == 0:
                    break
                # Bring N up to date, if anything was accepted.
                if m < begun:
                    if thread < r:
                        fill_column(x, thread, stored, pool, base + thread * pitch, begun)
                        at = 0
                        for q in range(begun, m, -1):
                            factor = betas[begun - q] * dot(x, pool, at, q)
                            subtract(x, factor, pool, at, q)
                            at += -(-q // GROUP) * GROUP
                    pitch = m | 1  # odd, so that columns begin in different banks
                    base = pool_end - r * pitch
                    stored = True
                    cuda.syncthreads()
                    if thread < r:
                        for e in range(room):
                            if e < m:
                                pool[base + thread * pitch + e] = x[e]
                    cuda.syncthreads()
            cuda.syncthreads()
            for k in range(thread, subsets.shape[2], threads):
                if k < r:
                    rank = 0
                    for j in range(r):
                        rank += 1 if items[j] < items[k] else 0
                    subsets[place // chains, chain, rank] = items[k]
                else:
                    subsets[place // chains, chain, k] = -1
            if thread == 0:
                cuda.atomic.add(tested, chain, looked_at)
            cuda.syncthreads()

    return draw_subsets
