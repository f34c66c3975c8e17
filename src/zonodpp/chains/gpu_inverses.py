"""The inverse T of a basis in shared memory, for walks on bases.

A chain is worked on by a group of threads of one warp, its lanes. Shared memory holds T, with rows
of odd length, so that lanes that read different rows, as well as lanes that read different columns,
read from different banks; after T come two vectors, and the items of the basis.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from numba import cuda, float64

from zonodpp._types import Floats, Integers
from zonodpp.chains.bases import DRIFTS, REFACTORISATIONS
from zonodpp.chains.gpu_state import ChainMemory
from zonodpp.numerics.gpu_compile import Function, Index, inlined
from zonodpp.numerics.gpu_warps import WARP, group_functions, wait

ZERO = 1e-12  # a pivot that is smaller, relative to its column, is a rounding error
SMALL = 1e-8  # before a pivot that is smaller, relative to its column, T is computed anew
DRIFT = 1e-9  # an error of T E_B = 1 that is counted as drift
_BANKS = 16  # of shared memory, each as wide as a double
CHUNK = 5  # numbers that a thread reads before it uses them


def lanes_for(n: int) -> int:
    """Return the threads for a chain: about six items each, a warp at most."""
    lanes = 4
    while lanes < WARP and lanes * 6 < n:
        lanes *= 2
    return lanes


def spread(size: int, lanes: int) -> int:
    """Return the least number from ``size`` on that puts chains of a warp into other banks."""
    return size + (lanes - size) % _BANKS


def turns(count: int, lanes: int) -> int:
    """Return how many of ``count`` things a lane has at most.

    Loops over what a lane has are written with this constant, so that they can be unrolled: the
    general ``range(lane, count, lanes)`` takes many registers.
    """
    return -(-count // lanes)


class _Places(NamedTuple):
    """Where things lie in the memory of a chain on bases of r items, counted from ``chain.at``.

    The last four are vectors of a walk on the zonotope; they lie behind the others, from ``size``.
    """

    pitch: int  # the length of a row of T
    column: int  # T e of an item e that is to enter
    vector: int  # a vector that T is multiplied by
    basis: int  # the items, in 32-bit integers
    order: int  # the exchanges of rows while T is computed anew, in 32-bit integers
    size: int  # of all these, in doubles
    u: int  # the coordinates of the point
    v: int  # their speed
    reach: int  # the lengths of the items of the basis
    d: int  # the direction


def places_for(r: int) -> _Places:
    """Return where things lie for bases of r items."""
    pitch = r | 1
    column, vector, end = r * pitch, r * pitch + r, r * pitch + 2 * r
    basis, order, size = 2 * end, 2 * end + r, end + r
    vectors = size, size + r, size + 2 * r, size + 3 * r
    return _Places(pitch, column, vector, basis, order, size, *vectors)


def copier(count: int, lanes: int) -> Function:
    """Compile the copy of ``count`` numbers from one place to another, which lanes share."""
    own = turns(count, lanes)

    @inlined
    def copy(
        source: Floats | Integers, first: int, to: Floats | Integers, begin: int, lane: int
    ) -> None:
        for turn in range(own):
            k = turn * lanes + lane
            if k < count:
                to[Index(begin + k)] = source[Index(first + k)]

    return copy


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


class _InverseFunctions(NamedTuple):
    """What walks do with T; all threads of a warp call these functions together."""

    load: Function
    save: Function
    multiply: Function
    times: Function
    replace: Function
    renew: Function


@lru_cache(maxsize=32)
def inverse_functions(r: int, lanes: int) -> _InverseFunctions:
    """Compile the functions for bases of r items."""
    pitch, column, vector, basis = places_for(r)[:4]
    own = turns(r, lanes)
    copy_inverse, copy_vector, dot = copier(r * pitch, lanes), copier(r, lanes), dot_product(r)
    replace = replacement(r, lanes)

    @inlined
    def load(chain: ChainMemory, inverses: Floats, bases: Integers) -> None:
        """Read T and the basis of a chain."""
        at, lane, number = chain.at, chain.lane, Index(chain.number)
        copy_inverse(inverses[number], 0, chain.memory, at, lane)
        copy_vector(bases[number], 0, chain.whole, 2 * at + basis, lane)

    @inlined
    def save(chain: ChainMemory, inverses: Floats, bases: Integers) -> None:
        """Write T and the basis of a chain."""
        at, lane, number = chain.at, chain.lane, Index(chain.number)
        copy_inverse(chain.memory, at, inverses[number], 0, lane)
        copy_vector(chain.whole, 2 * at + basis, bases[number], 0, lane)

    @inlined
    def multiply(chain: ChainMemory, source: int, factor: float, to: int) -> None:
        """Set a vector to a factor times T times another one; every lane computes its own rows."""
        memory, at = chain.memory, chain.at
        for turn in range(own):
            k = turn * lanes + chain.lane
            if k < r:
                memory[Index(at + to + k)] = factor * dot(memory, at + k * pitch, at + source)

    @inlined
    def times(chain: ChainMemory, vectors: Floats, item: int) -> None:
        """Set the column T e_item."""
        copy_vector(vectors[Index(item)], 0, chain.memory, chain.at + vector, chain.lane)
        wait()
        multiply(chain, vector, 1.0, column)
        wait()

    renew = renewal(r, lanes, replace)
    return _InverseFunctions(load, save, multiply, times, replace, renew)


def replacement(r: int, lanes: int) -> Function:
    """Compile the update of T when one item takes the place of another."""
    pitch, column = places_for(r)[:2]
    own, whole_chunks = turns(r, lanes), r - r % CHUNK

    @inlined
    def replace(chain: ChainMemory, place: int) -> None:
        """Put the item of the column at a place; every lane updates its own columns of T."""
        memory, at = chain.memory, chain.at
        numbers = cuda.local.array(CHUNK, float64)
        inverse = 1.0 / memory[Index(at + column + place)]
        for turn in range(own):
            i = turn * lanes + chain.lane
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

    return replace


def _drift_test(r: int, lanes: int) -> Function:
    """Compile the test whether T has ceased to be the inverse of the basis."""
    pitch, basis = places_for(r).pitch, places_for(r).basis
    own, group_sum = turns(r, lanes), group_functions(lanes).sum

    @inlined
    def has_drifted(chain: ChainMemory, vectors: Floats) -> bool:
        """Tell whether T E_B is not the unit matrix; every lane looks at its own rows."""
        memory, at = chain.memory, chain.at
        errors = 0.0
        for turn in range(own):
            k = turn * lanes + chain.lane
            if k < r:
                for j in range(r):
                    item = chain.whole[Index(2 * at + basis + j)]
                    total = -1.0 if j == k else 0.0
                    for i in range(r):
                        total += memory[Index(at + k * pitch + i)] * vectors[Index(item), Index(i)]
                    errors += 0.0 if abs(total) <= DRIFT else 1.0
        return group_sum(errors) > 0.0

    return has_drifted


def elimination(r: int, lanes: int, replace: Function) -> Function:
    """Compile one step of the Gauss-Jordan elimination."""
    pitch, column, _, _, order, *_ = places_for(r)
    own, least = turns(r, lanes), group_functions(lanes).least

    @inlined
    def eliminate(active: bool, chain: ChainMemory, c: int) -> None:
        """Eliminate column c, with the largest entry of the rows not used yet as the pivot."""
        memory, at = chain.memory, chain.at
        largest, best = -1.0, r
        for turn in range(own):
            k = turn * lanes + chain.lane
            if k < r:
                size = abs(memory[Index(at + k * pitch + c)])
                if k >= c and size > largest:
                    largest, best = size, k
        _, best = least(-largest, best)
        for turn in range(own):
            i = turn * lanes + chain.lane
            if active and i < r:
                upper, lower = Index(at + c * pitch + i), Index(at + best * pitch + i)
                memory[upper], memory[lower] = memory[lower], memory[upper]
        if active and chain.lane == 0:
            chain.whole[Index(2 * at + order + c)] = best
        wait()
        for turn in range(own):  # the column is kept, and a unit vector takes its place
            k = turn * lanes + chain.lane
            if active and k < r:
                memory[Index(at + column + k)] = memory[Index(at + k * pitch + c)]
                memory[Index(at + k * pitch + c)] = 1.0 if k == c else 0.0
        wait()
        if active:
            replace(chain, c)
        wait()

    return eliminate


def renewal(r: int, lanes: int, replace: Function) -> Function:
    """Compile the computation of T from the basis."""
    pitch, _, _, basis, order, *_ = places_for(r)
    own, has_drifted = turns(r, lanes), _drift_test(r, lanes)
    eliminate = elimination(r, lanes, replace)

    @inlined
    def renew(
        active: bool, counted: bool, chain: ChainMemory, vectors: Floats, counts: Integers
    ) -> None:
        """Compute T anew by Gauss-Jordan elimination; count it, and whether T had drifted.

        Threads of inactive chains make the same calls, and their T stays as it is.
        """
        memory, whole, at = chain.memory, chain.whole, chain.at
        drifted = has_drifted(chain, vectors)
        wait()
        for p in range(r):
            item = whole[Index(2 * at + basis + p)]
            for turn in range(own):
                i = turn * lanes + chain.lane
                if active and i < r:
                    memory[Index(at + i * pitch + p)] = vectors[Index(item), Index(i)]
        wait()
        for c in range(r):
            eliminate(active, chain, c)
        for turn in range(own):  # undo the exchanges of rows, which are columns of the inverse
            k = turn * lanes + chain.lane
            if active and k < r:
                for back in range(r):
                    c = r - 1 - back
                    best = whole[Index(2 * at + order + c)]
                    one, other = Index(at + k * pitch + c), Index(at + k * pitch + best)
                    memory[one], memory[other] = memory[other], memory[one]
        wait()
        if active and counted and chain.exists and chain.lane == 0:
            counts[chain.number, REFACTORISATIONS] += 1
            counts[chain.number, DRIFTS] += 1 if drifted else 0

    return renew
