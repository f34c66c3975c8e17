"""Exact draws of designs: a draw of a projection DPP, and other items uniformly from the rest.

`zonodpp.targets.designs` has the law (Derezinski, Warmuth 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zonodpp._types import Integers, Rng, Subsets
from zonodpp.chains.contract import Block, Sampler, State, make_draw
from zonodpp.chains.tracking import TrackedSets


@dataclass(frozen=True)
class DesignDraws:
    """A prepared sampler for a design."""

    base: Sampler
    width: int
    n: int
    independent: ClassVar[bool] = True
    batch: ClassVar[int | None] = 1

    @property
    def counters(self) -> tuple[str, ...]:
        """What the projection DPP counts."""
        return self.base.counters

    def start(self, rngs: Sequence[Rng], init: Integers | None, sets: TrackedSets) -> State:
        """Return the state of the projection DPP: the other items need no state."""
        return self.base.start(rngs, init, sets)

    def advance(self, state: State, rngs: Sequence[Rng], block: Block, sets: TrackedSets) -> int:
        """Make draws one by one: both parts of a draw take their random numbers in turn."""
        [rng], [subsets] = rngs, block.subsets
        d = self.base.width
        first = np.empty((1, d), np.int32)
        for subset in subsets:
            make_draw(self.base, state, rng, first, 1)
            subset[:d] = first[0]
            subset[d:] = uniform_others(rng, first[0], self.n, self.width - d)
        subsets.sort(axis=1)
        return len(subsets)

    def check(self, state: State) -> None:
        """Check the state of the projection DPP."""
        self.base.check(state)


def uniform_others(rng: Rng, items: Subsets, n: int, count: int) -> Integers:
    """Draw ``count`` of the n items uniformly, none of those given, which ascend.

    The others are numbered from 0 first. Before item t of those given there are items[t] - t of
    them, so other number m is item m + t for the t of those given that come before it.
    """
    numbers = rng.choice(n - len(items), count, replace=False, shuffle=False)
    before = items - np.arange(len(items))
    return np.asarray(numbers + np.searchsorted(before, numbers, side="right"))
