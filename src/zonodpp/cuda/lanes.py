"""Several chains a block: what the walks on bases share.

A block holds C chains, each worked on by L threads, its lanes. All chains of a block go through the
same phases, with barriers for the whole block between them. Small targets have few lanes for each
chain, so that no thread idles; a large one has a whole block for itself.

The inverse T of the basis lies in shared memory, with rows of odd length, so that lanes that read
different rows, as well as lanes that read different columns, read from different banks.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

from zonodpp._types import Floats, Integers
from zonodpp.cuda.compile import device

ZERO = 1e-12  # a pivot that is smaller, relative to its column, is a rounding error
SMALL = 1e-8  # before a pivot that is smaller, relative to its column, T is computed anew
DRIFT = 1e-9  # an error of T E_B = 1 that is counted as drift


def lanes_for(r: int, n: int) -> int:
    """Return the threads for a chain: about six items of a row product each, 128 at most."""
    lanes = 4
    while lanes < 128 and lanes * 6 < n:
        lanes *= 2
    return lanes


def odd(r: int) -> int:
    """Return the length of a row of T in shared memory."""
    return r | 1


@device
def any_thread(flag: bool) -> bool:
    """Wait for all threads of the block, and tell whether the flag of one of them is set."""
    return cuda.syncthreads_or(np.int32(1 if flag else 0)) != 0


@device
def load_inverse(T: Floats, r: int, pitch: int, source: Floats, lane: int, lanes: int) -> None:
    """Copy an (r, r) matrix into shared memory."""
    for k in range(lane, r * r, lanes):
        T[(k // r) * pitch + k % r] = source[k // r, k % r]


@device
def save_inverse(T: Floats, r: int, pitch: int, to: Floats, lane: int, lanes: int) -> None:
    """Copy an (r, r) matrix out of shared memory."""
    for k in range(lane, r * r, lanes):
        to[k // r, k % r] = T[(k // r) * pitch + k % r]


@device
def inverse_times(
    T: Floats, r: int, pitch: int, vectors: Floats, item: int, to: Floats, lane: int, lanes: int
) -> None:
    """Set to = T e_item; every lane computes its own rows."""
    for k in range(lane, r, lanes):
        total = 0.0
        for i in range(r):
            total += T[k * pitch + i] * vectors[item, i]
        to[k] = total


@device
def replace_item(
    T: Floats, r: int, pitch: int, place: int, column: Floats, lane: int, lanes: int
) -> None:
    """Let an item with column = T e_item take a place; every lane updates its own columns of T."""
    for i in range(lane, r, lanes):
        entering = T[place * pitch + i] / column[place]
        for k in range(r):
            T[k * pitch + i] -= column[k] * entering
        T[place * pitch + i] = entering


@device
def renew_inverse(  # noqa: C901
    active: bool,
    T: Floats,
    r: int,
    pitch: int,
    vectors: Floats,
    basis: Integers,
    column: Floats,
    order: Integers,
    lane: int,
    lanes: int,
) -> bool:
    """Compute T anew from the basis, by Gauss-Jordan elimination; return whether it had drifted.

    All lanes of a block call this; chains that are not active only wait at the barriers.
    """
    drifted = False
    if active:
        for k in range(lane, r, lanes):  # row k of T E_B should be a unit vector
            for j in range(r):
                total = 0.0
                for i in range(r):
                    total += T[k * pitch + i] * vectors[basis[j], i]
                if j == k:
                    total -= 1.0
                drifted = drifted or not abs(total) <= DRIFT
        if lane == 0:
            column[0] = 0.0
    cuda.syncthreads()
    if drifted:
        column[0] = 1.0
    cuda.syncthreads()
    if active:
        drifted = column[0] > 0.0
        for k in range(lane, r * r, lanes):
            T[(k // r) * pitch + k % r] = vectors[basis[k % r], k // r]
    for c in range(r):
        cuda.syncthreads()
        if active and lane == 0:  # the largest entry of the column, among rows not used yet
            best = c
            for k in range(c + 1, r):
                if abs(T[k * pitch + c]) > abs(T[best * pitch + c]):
                    best = k
            order[c] = best
        cuda.syncthreads()
        if active:
            best = order[c]
            for i in range(lane, r, lanes):
                T[best * pitch + i], T[c * pitch + i] = T[c * pitch + i], T[best * pitch + i]
        cuda.syncthreads()
        if active:
            for k in range(lane, r, lanes):
                column[k] = T[k * pitch + c]
        cuda.syncthreads()
        if active:
            for i in range(lane, r, lanes):
                entry = (1.0 if i == c else T[c * pitch + i]) / column[c]
                for k in range(r):
                    before = 0.0 if i == c else T[k * pitch + i]
                    T[k * pitch + i] = before - column[k] * entry
                T[c * pitch + i] = entry
    cuda.syncthreads()
    if active:  # undo the exchanges of rows, which are exchanges of columns of the inverse
        for k in range(lane, r, lanes):
            for back in range(r):
                c = r - 1 - back
                best = order[c]
                T[k * pitch + c], T[k * pitch + best] = T[k * pitch + best], T[k * pitch + c]
    cuda.syncthreads()
    return drifted


@device
def is_inside(basis: Integers, r: int, item: int) -> bool:
    """Tell whether an item is in the basis."""
    found = False
    for k in range(r):
        found = found or basis[k] == item
    return found


@device
def write_sorted(basis: Integers, r: int, to: Integers, lane: int, lanes: int) -> None:
    """Write the items of a basis in ascending order."""
    for k in range(lane, r, lanes):
        rank = 0
        for j in range(r):
            rank += 1 if basis[j] < basis[k] else 0
        to[rank] = basis[k]


@device
def holds_set(basis: Integers, r: int, starts: Integers, members: Integers, s: int) -> bool:
    """Tell whether tracked set s is in the basis."""
    found = True
    for k in range(starts[s], starts[s + 1]):
        found = found and is_inside(basis, r, members[k])
    return found
