"""What the kernels of walks on bases are given, and what they leave behind."""

from __future__ import annotations

from typing import NamedTuple

from zonodpp._types import Floats, Integers, Subsets
from zonodpp.numerics.gpu_compile import Index, Words, inlined


class ChainMemory(NamedTuple):
    """A chain in shared memory, and the thread that works on it."""

    memory: Floats  # all shared memory of the block
    whole: Integers  # the same memory as 32-bit integers
    at: int  # where the memory of the chain begins
    lane: int
    number: int  # of the chain
    exists: bool  # if not, the thread repeats the work of the last chain, and writes nothing
    keys: Words  # of all chains; reading one again is faster than keeping its parts


class Records(NamedTuple):
    """What a call leaves behind."""

    subsets: Subsets  # (draws, chains, r)
    tracked: Floats  # (draws, chains, sets)
    shares: Floats  # (chains, sets) of a step on the zonotope
    starts: Integers
    members: Integers
    counts: Integers  # (chains, counters)


class Geometry(NamedTuple):
    """The target on the device."""

    rows: Floats  # (r * items,) the unit vectors, one coordinate after another
    vectors: Floats  # (n, r) the unit vectors
    lengths: Floats  # (n,)
    log_mass: Floats  # (n,) see `zonodpp.zonotope.line.Rule`
    factor: Floats  # (r, r) the transpose of that of the rule
    costs: Floats  # (n,) of the one tiling, or (0,)
    window: float


class Tiles(NamedTuple):
    """A tile and a point for each chain."""

    bases: Integers  # (chains, r)
    inverses: Floats  # (chains, r * pitch)
    points: Floats  # (chains, r)
    reduced: Floats  # (chains, items) the reduced costs


class ZonotopeArrays(NamedTuple):
    """All that a walk on the zonotope works with."""

    geometry: Geometry
    home: Tiles  # where chains are
    picked: Tiles  # where they may go to
    records: Records


class LineState(NamedTuple):
    """What a thread holds of the line of its chain, in registers."""

    tally: Floats
    marks: Integers
    reduced: Floats  # costs of the lane's items
    drops: Floats  # how fast their sizes fall
    products: Floats


@inlined
def is_inside(basis: Integers, first: int, r: int, item: int) -> bool:
    """Tell whether an item is among the r of a basis that begins at ``first``."""
    found = False
    for k in range(r):
        found = found or basis[Index(first + k)] == item
    return found


@inlined
def holds_set(basis: Integers, first: int, r: int, records: Records, s: int) -> bool:
    """Tell whether tracked set s is in the basis that begins at ``first``."""
    found = True
    for k in range(records.starts[s], records.starts[s + 1]):
        found = found and is_inside(basis, first, r, records.members[k])
    return found


@inlined
def write_sorted(basis: Integers, first: int, r: int, to: Subsets, lane: int, lanes: int) -> None:
    """Write the items of a basis in ascending order."""
    for turn in range((r + lanes - 1) // lanes):
        k = turn * lanes + lane
        if k < r:
            rank = 0
            for j in range(r):
                rank += 1 if basis[Index(first + j)] < basis[Index(first + k)] else 0
            to[rank] = basis[Index(first + k)]
