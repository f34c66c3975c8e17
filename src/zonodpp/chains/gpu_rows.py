"""Products of a vector with all items, which lanes share: the largest part of a step of a walk."""

from __future__ import annotations

from typing import NamedTuple

from numba import cuda, float64

from zonodpp._types import Floats, Integers
from zonodpp.numerics.gpu_compile import Function, Index, inlined
from zonodpp.numerics.gpu_warps import wait

_PART = 8  # products that a thread sums at once
AHEAD = 24  # numbers that a thread reads before it uses them, if there are more than a few rows
FEW = 16  # rows up to which a thread reads nothing ahead


class ItemShares(NamedTuple):
    """How the lanes of a chain share items: lane q has the items q, q + lanes, q + 2 lanes, ..."""

    lanes: int
    parts: int  # of a lane's items
    part: int  # items of a part

    @property
    def each(self) -> int:
        """Items of a lane, with those beyond n."""
        return self.parts * self.part

    @property
    def total(self) -> int:
        """Items of all lanes, with those beyond n."""
        return self.each * self.lanes


def share_items(n: int, lanes: int, part: int = _PART) -> ItemShares:
    """Return how many items each lane has, in parts of at most so many."""
    each = -(-n // lanes)
    parts = -(-each // part)
    return ItemShares(lanes, parts, -(-each // parts))


def row_product(r: int, items: ItemShares, chains: int = 1) -> Function:
    """Compile the products of a part of the items with r numbers in shared memory, for each chain.

    ``rows`` holds r rows, one after another, of as many numbers as there are items. A number that
    is read serves all chains; ``begins`` tells where the numbers of each begin. All threads of a
    warp call this together.
    """
    lanes, part, total = items.lanes, items.part, items.total
    ahead = AHEAD // part if r > FEW else 1
    held, summed, whole_turns = ahead * part, part * chains, r - r % ahead

    @inlined
    def add(memory: Floats, begins: Integers, i: int, e: int, number: float, sums: Floats) -> None:
        for g in range(chains):
            sums[e * chains + g] += memory[Index(begins[g] + i)] * number

    @inlined
    def multiply(
        memory: Floats, begins: Integers, rows: Floats, c: int, lane: int, sums: Floats
    ) -> None:
        """Set sums[e * chains + g] to the product of item e of part c for chain g."""
        numbers = cuda.local.array(held, float64)
        for e in range(summed):
            sums[e] = 0.0
        first = c * part * lanes + lane
        for begin in range(0, whole_turns, ahead):
            for a in range(ahead):
                for e in range(part):
                    place = (begin + a) * total + first + e * lanes
                    numbers[a * part + e] = rows[Index(place)]
            if ahead > 1:
                wait()  # keeps the compiler from reading each number when it is used
            for a in range(ahead):
                for e in range(part):
                    add(memory, begins, begin + a, e, numbers[a * part + e], sums)
        for i in range(whole_turns, r):
            for e in range(part):
                add(memory, begins, i, e, rows[Index(i * total + first + e * lanes)], sums)

    return multiply
