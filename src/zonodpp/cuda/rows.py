"""Products of a vector with all items, which lanes share: the largest part of a step of a walk."""

from __future__ import annotations

from typing import NamedTuple

from zonodpp._types import Floats
from zonodpp.cuda.compile import Function, Index, inlined

PART = 8  # products that a thread sums at once, so that as many numbers are on their way to it


class Items(NamedTuple):
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


def share_items(n: int, lanes: int) -> Items:
    """Return how many items each lane has."""
    each = -(-n // lanes)
    parts = -(-each // PART)
    return Items(lanes, parts, -(-each // parts))


def row_product(r: int, items: Items) -> Function:
    """Compile the function that multiplies r numbers of shared memory with a part of the items.

    ``rows`` holds r rows, one after another, of as many numbers as there are items.
    """
    lanes, part, total = items.lanes, items.part, items.total

    @inlined
    def multiply(
        memory: Floats, weights: int, rows: Floats, c: int, lane: int, products: Floats
    ) -> None:
        for e in range(part):
            products[e] = 0.0
        for i in range(r):
            weight = memory[Index(weights + i)]
            first = i * total + c * part * lanes + lane
            for e in range(part):
                products[e] += weight * rows[Index(first + e * lanes)]

    return multiply
