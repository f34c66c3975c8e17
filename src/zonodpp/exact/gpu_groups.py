"""Vectors held by groups of threads: sums within a group, reflections of all vectors at once.

A group of T neighbouring threads holds a vector in registers: thread q of a group has the entries
q, q + T, q + 2 T, ... So a dot product is a short sum in every thread and a sum over the group by
shuffles. A block holds as many vectors as it has groups, and all functions work on all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from numba import cuda

from zonodpp._types import Floats, Integers
from zonodpp.numerics.gpu_compile import Function, Index, inlined
from zonodpp.numerics.gpu_warps import WARP, group_functions

_LEAST = 1e-300  # no squared length of an accepted vector is smaller


@dataclass(frozen=True)
class Layout:
    """How a block of threads holds pending vectors.

    Attributes
    ----------
    lanes : int
        Threads of a group, a power of two.
    warps : int
        Warps of a block.
    registers : int
        The most that a thread may use; 0 leaves it to the compiler.
    guard : int
        Entries of a vector that one test of the length covers. A larger number means fewer branches
        and more work on numbers beyond the end of a vector.
    """

    lanes: int
    warps: int
    registers: int = 0
    guard: int = 4

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps * WARP

    @property
    def vectors(self) -> int:
        """Vectors that a block holds, one for each group."""
        return self.threads // self.lanes

    def stored_length(self, m: int, entries: int) -> int:
        """Return the room in shared memory of a vector with m numbers: whole guarded parts."""
        whole = self.guard * self.lanes
        return min(-(-m // whole) * whole, entries * self.lanes)


class Board(NamedTuple):
    """What all threads of a block see of a draw."""

    pool: Floats  # the vectors of reflections, and then the matrix N
    betas: Floats  # the factors of reflections
    items: Integers  # that the draw has taken
    chosen: Integers  # the eigenvectors of a mixture
    proposals: Integers  # the item of each group
    levels: Floats  # the level that each has to exceed
    found: Integers  # a number for each warp


class Vectors(NamedTuple):
    """Functions on vectors of so many entries in every thread; see `vector_functions`."""

    length: Function  # in shared memory, of the vector of a reflection with m numbers
    square: Function
    last: Function
    reflect: Function
    store: Function


def vector_functions(layout: Layout, entries: int) -> Vectors:
    """Compile the functions for vectors with ``entries`` numbers in every thread.

    All loops have constant bounds and all indices of registers are constants after they are
    unrolled. Numbers beyond the m that count are finite, and stored vectors are zero there.
    """
    lanes, guard, whole = layout.lanes, layout.guard, layout.guard * layout.lanes
    group = group_functions(lanes)
    group_sum, group_get = group.sum, group.get

    @inlined
    def length(m: int) -> int:
        return min((m + whole - 1) // whole * whole, entries * lanes)

    @inlined
    def square(x: Floats, m: int) -> float:
        """Return the squared length of the first m numbers."""
        total = 0.0
        end = m - cuda.threadIdx.x % lanes
        for k in range(entries):
            number = x[k] if k * lanes < end else 0.0
            total += number * number
        return group_sum(total)

    @inlined
    def last(x: Floats, m: int) -> float:
        """Return number m - 1.

        A test for equality would tell the compiler that it may read x from memory.
        """
        number = 0.0
        for k in range(entries):
            if k // guard * whole < m and k * lanes < m:
                number = x[k]
        return group_get(number, (m - 1) % lanes)

    return Vectors(length, square, last, *_reflections(layout, entries, square))


def _reflections(layout: Layout, entries: int, square: Function) -> tuple[Function, Function]:
    """Compile the functions that apply a reflection 1 - beta h h' and that store one."""
    lanes, guard, whole = layout.lanes, layout.guard, layout.guard * layout.lanes
    group_sum = group_functions(lanes).sum

    @inlined
    def reflect(x: Floats, pool: Floats, at: int, m: int, beta: float) -> float:
        """Apply the reflection whose vector h of m numbers begins at ``at``; return beta h'x."""
        lane = cuda.threadIdx.x % lanes
        total = 0.0
        for k in range(entries):
            if k // guard * whole < m:
                total += pool[Index(at + k * lanes + lane)] * x[k]
        factor = beta * group_sum(total)
        for k in range(entries):
            if k // guard * whole < m:
                x[k] -= factor * pool[Index(at + k * lanes + lane)]
        return factor

    @inlined
    def store(x: Floats, won: bool, m: int, pool: Floats, at: int) -> float:
        """Write the vector h of the reflection 1 - beta h h' that turns x onto number m - 1.

        x is the vector of the one group that has won; it becomes a unit vector first, so that no
        product underflows. Returns beta in one thread, and 0 in all others.
        """
        lane = cuda.threadIdx.x % lanes
        inverse = 1.0 / math.sqrt(max(square(x, m), _LEAST))
        beta = 0.0
        if won:
            for k in range(entries):
                if k // guard * whole < m:
                    number = x[k] * inverse if k * lanes < m - lane else 0.0
                    pool[Index(at + k * lanes + lane)] = number
            if lane == (m - 1) % lanes:
                number = pool[Index(at + m - 1)]
                number += -1.0 if number < 0.0 else 1.0
                pool[Index(at + m - 1)] = number
                beta = 1.0 / abs(number)
        return beta

    return reflect, store
