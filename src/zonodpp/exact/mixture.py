"""Exact, independent draws from general DPPs and k-DPPs.

First the eigenvectors that take part are drawn: each by itself for a DPP, k of them for a k-DPP.
Then the projection DPP of these eigenvectors is drawn as in `zonodpp.exact.projection`, with one
difference: leverage scores now change from draw to draw. They are never computed. To draw an item
from them, pick eigenvector j uniformly among those that take part, then item i with probability
v_ij^2. So n matters only for the number of eigenvectors, a search in log n steps, and cache misses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zonodpp._imports import on_use
from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.chains.contract import Block, Sampler, State
from zonodpp.chains.tracking import TrackedSets
from zonodpp.exact.picks import draw_by_chain_rule, outside, reflect
from zonodpp.numerics.arguments import address_of, generator_at
from zonodpp.numerics.arrays import columns_of, frozen
from zonodpp.numerics.compiled import forceinline, inline_source, no_refcount
from zonodpp.targets.dpp import DPP
from zonodpp.targets.kdpp import KDPP

COUNTERS = ("draws", "proposals")
DRAWS, PROPOSALS = range(2)  # the entries of ``counts``, also of `zonodpp.exact.projection`
_NEVER = 1e-18  # the chance of draws too large for a row; eigenvectors are then chosen again
_NO_ITEM = np.iinfo(np.int32).max  # fills up rows until they are sorted


@dataclass(frozen=True)
class Mixture:
    """A prepared exact sampler for a DPP or k-DPP."""

    algorithm: str
    vectors: Floats
    cumulative: Floats  # (r, n): for each eigenvector, running sums of its squared entries
    taking: Floats  # chances of eigenvectors, (r, 1) for a DPP, (r, k + 1) for a k-DPP
    width: int
    counters: ClassVar[tuple[str, ...]] = COUNTERS
    independent: ClassVar[bool] = True
    batch: ClassVar[int | None] = 1

    @property
    def n(self) -> int:
        """The number of items."""
        return len(self.vectors)

    def start(self, rngs: Sequence[Rng], init: Integers | None, sets: TrackedSets) -> State:
        """Return the counts alone: independent draws need no other state."""
        return {"counts": np.zeros((1, len(self.counters)), np.int64)}

    def advance(self, state: State, rngs: Sequence[Rng], block: Block, sets: TrackedSets) -> int:
        """Draw sets; rows end in -1 where a draw has fewer items than others may."""
        [rng], [subsets], [counts] = rngs, block.subsets, state["counts"]
        chosen = np.empty(len(self.taking), np.int64)
        subsets[:] = _NO_ITEM
        if self.algorithm == "rejection":
            tables = self.vectors, self.cumulative, self.taking
            scratch = chosen, np.empty((self.width, self.width)), np.empty((3, self.width))
            _draw_mixture(address_of(rng), *tables, subsets, counts, *scratch)
        else:
            address = address_of(rng)
            for subset in subsets:
                size = _choose_once(address, self.taking, len(subset), chosen)
                columns = columns_of(self.vectors[:, chosen[:size]].T)
                squares = frozen((columns.dense**2).sum(axis=1))
                rows = subset[None, :size]
                draw_by_chain_rule(address, columns, frozen(np.eye(size)), squares, squares, rows)
                counts += 1, size
        subsets.sort(axis=1)
        subsets[subsets == _NO_ITEM] = -1
        return len(subsets)

    def on_device(self, checkpointed: bool) -> Sampler:
        """Draw on a GPU."""
        found: Sampler = on_use("zonodpp.exact.gpu").mixture_on_device(self, checkpointed)
        return found

    def check(self, state: State) -> None:
        """Accept any state: counts are not used as indices."""


def prepare_mixture(target: DPP | KDPP) -> Mixture:
    """Tabulate the eigenvectors' squares, and find how much room draws need."""
    cumulative = np.cumsum(np.square(target.vectors.T), axis=1)
    cumulative /= cumulative[:, -1:]
    tail = np.cumsum(target.size_law()[::-1])[::-1]
    width = max(1, int(np.sum(tail > _NEVER)) - 1)
    tables = target.vectors, frozen(cumulative), target.taking
    return Mixture("rejection", *tables, width)


@inline_source
def choose(rng: Rng, taking: Floats, most: int, chosen: Integers) -> int:
    """Choose the eigenvectors of one draw, at most ``most``; return how many were chosen.

    The index of a column of ``taking`` is the number of eigenvectors that a k-DPP has yet to take.
    """
    while True:
        count = 0
        left = taking.shape[1] - 1
        for j in range(taking.shape[0]):
            if taking[j, left] >= 1.0 or rng.random() < taking[j, left]:
                chosen[count] = j
                count += 1
                left -= int(left > 0)
        if count <= most:
            break
    return count


@no_refcount
def _choose_once(address: int, taking: Floats, most: int, chosen: Integers) -> int:
    """`choose` for callers in Python."""
    rng = generator_at(address)
    count: int = choose(rng, taking, most, chosen)
    return count


@forceinline
def first_above(cumulative: Floats, row: int, level: float) -> int:
    """Return the first item whose running sum, in a row of the table, exceeds the level."""
    low = 0
    high = cumulative.shape[1] - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[row, middle] > level:
            high = middle
        else:
            low = middle + 1
    return low


@no_refcount
def _draw_mixture(
    address: int,
    vectors: Floats,
    cumulative: Floats,
    taking: Floats,
    subsets: Subsets,
    counts: Integers,
    chosen: Integers,
    N: Floats,
    scratch: Floats,
) -> None:
    """Fill subsets with draws, by proposals until one is accepted.

    A proposal is an item drawn in proportion to its leverage score, the squared length of its
    column.
    """
    rng = generator_at(address)
    for k in range(subsets.shape[0]):
        size = choose(rng, taking, subsets.shape[1], chosen)
        column, residual, row = scratch[0, :size], scratch[1], scratch[2]
        for j in range(size):
            for i in range(size):
                N[j, i] = 1.0 if i == j else 0.0
        for m in range(size, 0, -1):
            while True:
                j = chosen[min(int(rng.random() * size), size - 1)]
                item = first_above(cumulative, j, rng.random())
                length = 0.0
                for i in range(size):
                    column[i] = vectors[item, chosen[i]]
                    length += column[i] * column[i]
                remaining = outside(N, m, size, column, residual)
                counts[PROPOSALS] += 1
                if rng.random() * length < remaining:
                    break
            subsets[k, size - m] = item
            reflect(N, m, size, residual, math.sqrt(remaining), row)
        counts[DRAWS] += 1
