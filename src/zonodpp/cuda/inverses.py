"""The inverse T of a basis in shared memory, for walks on bases.

A chain is worked on by a group of threads of one warp, its lanes. Shared memory holds T, with rows
of odd length, so that lanes that read different rows, as well as lanes that read different columns,
read from different banks; after T come two vectors, and the items of the basis. ``memory`` is all
shared memory of a block, ``whole`` the same as integers, and ``at`` the place where what belongs
to a chain begins.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from numba import cuda, float64

from zonodpp._types import Floats, Integers
from zonodpp.cuda.compile import Function, Index, inlined
from zonodpp.cuda.warps import WARP, group_functions

ZERO = 1e-12  # a pivot that is smaller, relative to its column, is a rounding error
SMALL = 1e-8  # before a pivot that is smaller, relative to its column, T is computed anew
DRIFT = 1e-9  # an error of T E_B = 1 that is counted as drift
BANKS = 16  # of shared memory, each as wide as a double
CHUNK = 5  # numbers that a thread reads before it uses them


def lanes_for(n: int) -> int:
    """Return the threads for a chain: about six items each, a warp at most."""
    lanes = 4
    while lanes < WARP and lanes * 6 < n:
        lanes *= 2
    return lanes


def padded_length(r: int) -> int:
    """Return the length of a row of T."""
    return r | 1


def inverse_size(r: int) -> int:
    """Return the doubles of T, two vectors and the basis."""
    return r * padded_length(r) + 3 * r


def spread(size: int, lanes: int) -> int:
    """Return the least size from ``size`` on that puts the chains of a warp into other banks."""
    return size + (lanes - size) % BANKS


def turns(count: int, lanes: int) -> int:
    """Return how many of ``count`` things a lane has at most.

    Loops over what a lane has are written with this constant, so that they can be unrolled: the
    general ``range(lane, count, lanes)`` takes many registers.
    """
    return -(-count // lanes)


def dot_product(r: int) -> Function:
    """Compile the product of two vectors in shared memory, which begin at two places."""
    whole = r - r % CHUNK

    @inlined
    def dot(memory: Floats, one: int, other: int) -> float:
        total = 0.0
        for begin in range(0, whole, CHUNK):
            for e in range(CHUNK):
                total += memory[Index(one + begin + e)] * memory[Index(other + begin + e)]
        for i in range(whole, r):
            total += memory[Index(one + i)] * memory[Index(other + i)]
        return total

    return dot


class InverseFunctions(NamedTuple):
    """What walks do with T; all threads of a warp call these functions together."""

    load: Function
    save: Function
    times: Function
    replace: Function
    renew: Function


@lru_cache(maxsize=32)
def inverse_functions(  # noqa: C901 - of all together
    r: int, lanes: int, threads: int = WARP
) -> InverseFunctions:
    """Compile the functions for bases of r items, in blocks of so many threads."""
    pitch = padded_length(r)
    column = r * pitch
    vector = column + r
    basis = 2 * (vector + r)
    order = basis + r
    own, entries = turns(r, lanes), turns(r * pitch, lanes)
    wait, group_sum, _, least, *_ = group_functions(lanes, threads)
    dot, whole_chunks = dot_product(r), r - r % CHUNK

    @inlined
    def load(
        memory: Floats,
        whole: Integers,
        at: int,
        inverses: Floats,
        bases: Integers,
        chain: int,
        lane: int,
    ) -> None:
        """Read T and the basis of a chain."""
        for turn in range(entries):
            k = turn * lanes + lane
            if k < r * pitch:
                memory[Index(at + k)] = inverses[Index(chain), Index(k)]
        for turn in range(own):
            p = turn * lanes + lane
            if p < r:
                whole[Index(2 * at + basis + p)] = bases[Index(chain), Index(p)]

    @inlined
    def save(
        memory: Floats,
        whole: Integers,
        at: int,
        inverses: Floats,
        bases: Integers,
        chain: int,
        lane: int,
    ) -> None:
        """Write T and the basis of a chain."""
        for turn in range(entries):
            k = turn * lanes + lane
            if k < r * pitch:
                inverses[Index(chain), Index(k)] = memory[Index(at + k)]
        for turn in range(own):
            p = turn * lanes + lane
            if p < r:
                bases[Index(chain), Index(p)] = whole[Index(2 * at + basis + p)]

    @inlined
    def times(memory: Floats, at: int, vectors: Floats, item: int, lane: int) -> None:
        """Set the column T e_item; every lane computes its own rows."""
        for turn in range(own):
            i = turn * lanes + lane
            if i < r:
                memory[Index(at + vector + i)] = vectors[Index(item), Index(i)]
        wait()
        for turn in range(own):
            k = turn * lanes + lane
            if k < r:
                memory[Index(at + column + k)] = dot(memory, at + k * pitch, at + vector)
        wait()

    @inlined
    def replace(memory: Floats, at: int, place: int, lane: int) -> None:
        """Let the item of the column take a place; every lane updates its own columns of T."""
        numbers = cuda.local.array(CHUNK, float64)
        inverse = 1.0 / memory[Index(at + column + place)]
        for turn in range(own):
            i = turn * lanes + lane
            if i < r:
                entering = memory[Index(at + place * pitch + i)] * inverse
                for begin in range(0, whole_chunks, CHUNK):
                    for e in range(CHUNK):
                        number = memory[Index(at + (begin + e) * pitch + i)]
                        numbers[e] = number - memory[Index(at + column + begin + e)] * entering
                    for e in range(CHUNK):
                        memory[Index(at + (begin + e) * pitch + i)] = numbers[e]
                for k in range(whole_chunks, r):
                    memory[Index(at + k * pitch + i)] -= memory[Index(at + column + k)] * entering
                memory[Index(at + place * pitch + i)] = entering

    @inlined
    def has_drifted(memory: Floats, whole: Integers, at: int, vectors: Floats, lane: int) -> bool:
        """Tell whether T E_B is not the unit matrix; every lane looks at its own rows."""
        errors = 0.0
        for turn in range(own):
            k = turn * lanes + lane
            if k < r:
                for j in range(r):
                    item = whole[Index(2 * at + basis + j)]
                    total = -1.0 if j == k else 0.0
                    for i in range(r):
                        total += memory[Index(at + k * pitch + i)] * vectors[Index(item), Index(i)]
                    errors += 0.0 if abs(total) <= DRIFT else 1.0
        return group_sum(errors) > 0.0

    @inlined
    def eliminate(
        active: bool, memory: Floats, whole: Integers, at: int, c: int, lane: int
    ) -> None:
        """Eliminate column c, with the largest entry of the rows not used yet as the pivot."""
        largest, best = -1.0, r
        for turn in range(own):
            k = turn * lanes + lane
            if k < r:
                size = abs(memory[Index(at + k * pitch + c)])
                if k >= c and size > largest:
                    largest, best = size, k
        _, best = least(-largest, best)
        for turn in range(own):
            i = turn * lanes + lane
            if active and i < r:
                upper, lower = Index(at + c * pitch + i), Index(at + best * pitch + i)
                memory[upper], memory[lower] = memory[lower], memory[upper]
        if active and lane == 0:
            whole[Index(2 * at + order + c)] = best
        wait()
        if active:
            for turn in range(own):
                k = turn * lanes + lane
                if k < r:
                    memory[Index(at + column + k)] = memory[Index(at + k * pitch + c)]
        wait()
        if active:
            inverse = 1.0 / memory[Index(at + column + c)]
            for turn in range(own):
                i = turn * lanes + lane
                if i < r:
                    entry = (1.0 if i == c else memory[Index(at + c * pitch + i)]) * inverse
                    for k in range(r):
                        before = 0.0 if i == c else memory[Index(at + k * pitch + i)]
                        memory[Index(at + k * pitch + i)] = (
                            before - memory[Index(at + column + k)] * entry
                        )
                    memory[Index(at + c * pitch + i)] = entry
        wait()

    @inlined
    def renew(
        active: bool, memory: Floats, whole: Integers, at: int, vectors: Floats, lane: int
    ) -> bool:
        """Compute T anew by Gauss-Jordan elimination; return whether it had drifted.

        Chains that are not active go along, and their T stays as it is.
        """
        drifted = has_drifted(memory, whole, at, vectors, lane)
        wait()
        if active:
            for p in range(r):
                item = whole[Index(2 * at + basis + p)]
                for turn in range(own):
                    i = turn * lanes + lane
                    if i < r:
                        memory[Index(at + i * pitch + p)] = vectors[Index(item), Index(i)]
        wait()
        for c in range(r):
            eliminate(active, memory, whole, at, c, lane)
        if active:  # undo the exchanges of rows, which are exchanges of columns of the inverse
            for turn in range(own):
                k = turn * lanes + lane
                if k < r:
                    for back in range(r):
                        c = r - 1 - back
                        best = whole[Index(2 * at + order + c)]
                        one, other = Index(at + k * pitch + c), Index(at + k * pitch + best)
                        memory[one], memory[other] = memory[other], memory[one]
        wait()
        return drifted

    return InverseFunctions(load, save, times, replace, renew)


@inlined
def is_inside(basis: Integers, first: int, r: int, item: int) -> bool:
    """Tell whether an item is among the r of a basis that begins at ``first``."""
    found = False
    for k in range(r):
        found = found or basis[Index(first + k)] == item
    return found


@inlined
def holds_set(
    basis: Integers, first: int, r: int, starts: Integers, members: Integers, s: int
) -> bool:
    """Tell whether tracked set s is in the basis that begins at ``first``."""
    found = True
    for k in range(starts[s], starts[s + 1]):
        found = found and is_inside(basis, first, r, members[k])
    return found


@inlined
def write_sorted(basis: Integers, first: int, r: int, to: Integers, lane: int, lanes: int) -> None:
    """Write the items of a basis in ascending order."""
    for turn in range((r + lanes - 1) // lanes):
        k = turn * lanes + lane
        if k < r:
            rank = 0
            for j in range(r):
                rank += 1 if basis[Index(first + j)] < basis[Index(first + k)] else 0
            to[rank] = basis[Index(first + k)]
