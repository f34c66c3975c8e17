"""What the kernels of exact draws share: eigenvectors that take part, and items proposed."""

from __future__ import annotations

from numba import cuda

from zonodpp._types import Floats, Integers
from zonodpp.cuda.compile import Function, Word, device
from zonodpp.cuda.philox import CHOICE, PROPOSAL, uniforms

# A proposal whose squared share outside the span is smaller is taken as inside: rounding errors.
# Such a proposal would be accepted with this probability, so the law does not notice.
INSIDE = 1e-14
INSIDE_AT_START = 1e-12


def chooser(width: int) -> Function:
    """Return the function that chooses at most ``width`` eigenvectors, with a whole block."""

    @device
    def choose(
        key: Word,
        draw: int,
        chances: Floats,
        taking: Floats,
        chosen: Integers,
        numbers: Floats,
        size: Integers,
    ) -> int:
        """Choose the eigenvectors that take part; return how many.

        All threads draw uniform numbers, and the first goes through them, since for a k-DPP every
        chance depends on how many have been taken before.
        """
        thread, threads = cuda.threadIdx.x, cuda.blockDim.x
        total = chances.shape[0]
        k = taking.shape[1] - 1  # -1 for a DPP
        attempt = 0
        while True:
            if thread == 0:
                size[0] = 0
            left = k
            for begin in range(0, total, threads):
                cuda.syncthreads()
                j = begin + thread
                if j < total:
                    numbers[thread], _ = uniforms(key, draw, attempt * total + j, CHOICE)
                cuda.syncthreads()
                if thread == 0:
                    for t in range(min(threads, total - begin)):
                        j = begin + t
                        if k < 0:
                            take = numbers[t] < chances[j]
                        else:
                            # The table begins with the smallest eigenvalue.
                            take = left > 0 and numbers[t] < taking[total - 1 - j, left]
                            left -= 1 if take else 0
                        if take:
                            if size[0] < width:
                                chosen[size[0]] = j
                            size[0] += 1
            cuda.syncthreads()
            count = size[0]
            cuda.syncthreads()
            if count <= width:
                return count
            attempt += 1

    return choose


@device
def search(cumulative: Floats, row: int, level: float) -> int:
    """Return the first item whose running sum exceeds level."""
    low, high = 0, cumulative.shape[1] - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[row, middle] > level:
            high = middle
        else:
            low = middle + 1
    return low


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
