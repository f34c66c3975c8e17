"""Vectors held by groups of threads: sums within a group, reflections of all vectors at once.

A group of T neighbouring threads holds U vectors in registers: thread q of a group has the entries
q, q + T, q + 2 T, ... of each. So a dot product is a short sum in every thread and a sum over the
group by shuffles, and a number read from shared memory serves U vectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from numba import cuda, int32

from zonodpp._types import Floats, Integers
from zonodpp.cuda.compile import Function, Index, device, inlined
from zonodpp.cuda.warps import ALL, SIMULATED, WARP, block_barrier, group_functions

LEAST = 1e-300  # no squared length of an accepted vector is smaller
GUARD = 4  # entries of a vector that are guarded by one test


@dataclass(frozen=True)
class Layout:
    """How a block of threads holds pending vectors.

    Attributes
    ----------
    lanes : int
        Threads of a group, a power of two.
    slots : int
        Vectors that a group holds, at most as many as it has threads.
    warps : int
        Warps of a block.
    registers : int
        The most that a thread may use; 0 leaves it to the compiler.
    """

    lanes: int
    slots: int
    warps: int
    registers: int = 0

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps * WARP

    @property
    def groups(self) -> int:
        """Groups of a block."""
        return self.threads // self.lanes

    @property
    def vectors(self) -> int:
        """Vectors that a block holds."""
        return self.groups * self.slots


def communication(layout: Layout) -> tuple[Function, ...]:
    """Return the functions wait, group_sum, group_get and block_least for a layout.

    All threads of a block call these functions together.
    """
    warps, threads = layout.warps, layout.threads
    group = group_functions(layout.lanes, threads)

    @inlined
    def block_least(value: int, none: int, found: Integers) -> int:
        """Return the least value of the block; within a warp, values ascend, but for ``none``."""
        voters = cuda.ballot_sync(ALL, value < none)
        least = cuda.shfl_sync(ALL, value, max(cuda.ffs(voters) - 1, 0))
        if warps > 1:
            if cuda.laneid == 0:
                found[cuda.threadIdx.x // WARP] = least
            cuda.syncthreads()
            for warp in range(warps):
                least = min(least, found[warp])
        return least

    @device
    def simulated_least(value: int, none: int, found: Integers) -> int:
        board = cuda.shared.array(threads, int32)
        board[cuda.threadIdx.x] = value
        cuda.syncthreads()
        least = min(board[:threads].tolist())
        cuda.syncthreads()
        return least

    least = simulated_least if SIMULATED else block_least
    return block_barrier(threads), group.sum, group.get, least


@dataclass(frozen=True)
class Vectors:
    """Functions on vectors of so many entries in every thread; see `vector_functions`."""

    clear: Function
    squares: Function
    factors: Function
    lasts: Function
    subtract: Function
    store: Function
    length: Function


def stored_length(m: int, entries: int, lanes: int) -> int:
    """Return the room in shared memory of a vector with m numbers: whole guarded parts."""
    whole = GUARD * lanes
    return min(-(-m // whole) * whole, entries * lanes)


def vector_functions(layout: Layout, entries: int) -> Vectors:  # noqa: C901
    """Compile the functions for vectors with ``entries`` numbers in every thread.

    All loops have constant bounds and all indices of registers are constants after they are
    unrolled. Numbers beyond the m that count are finite, and stored vectors are zero there.
    """
    lanes, slots = layout.lanes, layout.slots
    _, group_sum, group_get, _ = communication(layout)
    parts = -(-entries // GUARD)
    whole = GUARD * lanes

    @inlined
    def length(m: int) -> int:
        return min((m + whole - 1) // whole * whole, entries * lanes)

    @inlined
    def clear(x: Floats) -> None:
        for e in range(slots * entries):
            x[e] = 0.0

    @inlined
    def square(x: Floats, u: int, m: int, lane: int) -> float:
        total = 0.0
        end = m - lane
        for k in range(entries):
            number = x[u * entries + k] if k * lanes < end else 0.0
            total += number * number
        return total

    @inlined
    def squares(x: Floats, m: int, lane: int, to: Floats) -> None:
        """Set to[u] to the squared length of vector u."""
        to[0] = group_sum(square(x, 0, m, lane))
        if slots > 1:
            to[1] = group_sum(square(x, 1, m, lane))
        if slots > 2:
            to[2] = group_sum(square(x, 2, m, lane))
            to[3] = group_sum(square(x, 3, m, lane))

    @inlined
    def factors(
        x: Floats, pool: Floats, at: int, m: int, beta: float, lane: int, to: Floats
    ) -> None:
        """Set to[u] to beta times the product of vector u with a stored one."""
        for u in range(slots):
            to[u] = 0.0
        for part in range(parts):
            if part * whole < m:
                for e in range(GUARD):
                    k = part * GUARD + e
                    if k < entries:
                        h = pool[Index(at + k * lanes + lane)]
                        for u in range(slots):
                            to[u] += h * x[u * entries + k]
        for u in range(slots):
            to[u] = beta * group_sum(to[u])

    @inlined
    def subtract(x: Floats, factor: Floats, pool: Floats, at: int, m: int, lane: int) -> None:
        for part in range(parts):
            if part * whole < m:
                for e in range(GUARD):
                    k = part * GUARD + e
                    if k < entries:
                        h = pool[Index(at + k * lanes + lane)]
                        for u in range(slots):
                            x[u * entries + k] -= factor[u] * h

    @inlined
    def lasts(x: Floats, m: int, to: Floats) -> None:
        """Set to[u] to number m - 1 of vector u.

        A test for equality would tell the compiler that it may read x from memory.
        """
        for u in range(slots):
            to[u] = 0.0
        for part in range(parts):
            if part * whole < m <= (part + 1) * whole:
                for e in range(GUARD):
                    k = part * GUARD + e
                    if k < entries and k * lanes < m:
                        for u in range(slots):
                            to[u] = x[u * entries + k]
        for u in range(slots):
            to[u] = group_get(to[u], (m - 1) % lanes)

    @inlined
    def store_slot(
        x: Floats, u: int, inverse: float, m: int, lane: int, pool: Floats, at: int
    ) -> float:
        end = m - lane
        for part in range(parts):
            if part * whole < m:
                for e in range(GUARD):
                    k = part * GUARD + e
                    if k < entries:
                        number = x[u * entries + k] * inverse if k * lanes < end else 0.0
                        pool[Index(at + k * lanes + lane)] = number
        beta = 0.0
        if lane == (m - 1) % lanes:
            last = pool[Index(at + m - 1)]
            last += -1.0 if last < 0.0 else 1.0
            pool[Index(at + m - 1)] = last
            beta = 1.0 / abs(last)
        return beta

    @inlined
    def store(x: Floats, won: Integers, m: int, lane: int, pool: Floats, at: int) -> float:
        """Write the vector h of the reflection 1 - beta h h' that turns x onto number m - 1.

        x is the vector of the slot with won[u] = 1, in the one group that has such a slot; it
        becomes a unit vector first, so that no product underflows. Returns beta in one thread,
        and 0 in all others.
        """
        total = square(x, 0, m, lane) if won[0] != 0 else 0.0
        if slots > 1:
            total += square(x, 1, m, lane) if won[1] != 0 else 0.0
        if slots > 2:
            total += square(x, 2, m, lane) if won[2] != 0 else 0.0
            total += square(x, 3, m, lane) if won[3] != 0 else 0.0
        inverse = 1.0 / math.sqrt(max(group_sum(total), LEAST))
        beta = 0.0
        if won[0] != 0:
            beta = store_slot(x, 0, inverse, m, lane, pool, at)
        if slots > 1 and won[1] != 0:
            beta = store_slot(x, 1, inverse, m, lane, pool, at)
        if slots > 2 and won[2] != 0:
            beta = store_slot(x, 2, inverse, m, lane, pool, at)
        if slots > 2 and won[3] != 0:
            beta = store_slot(x, 3, inverse, m, lane, pool, at)
        return beta

    return Vectors(clear, squares, factors, lasts, subtract, store, length)
