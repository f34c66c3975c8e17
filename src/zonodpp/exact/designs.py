"""Exact draws of designs: a draw of a projection DPP, and other items uniformly from the rest.

`zonodpp.targets.designs` has the law (Derezinski, Warmuth 2018).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.chains.contract import Sampler, State
from zonodpp.chains.tracking import SetTracker


@dataclass(frozen=True)
class DesignDraws:
    """A prepared sampler for a design."""

    base: Sampler
    width: int
    tracker: SetTracker
    independent: bool = True

    @property
    def counters(self) -> tuple[str, ...]:
        """What the projection DPP counts."""
        return self.base.counters

    def start(self, rng: Rng, init: ArrayLike | None) -> State:
        """Return the state of the projection DPP: the other items need no state."""
        return self.base.start(rng, init)

    def advance(self, state: State, rng: Rng, subsets: Subsets, tracked: Floats, thin: int) -> None:
        """Make draws one by one: both parts of a draw take their random numbers in turn."""
        d = self.base.width
        first, nothing = np.empty((1, d), np.int32), np.empty((1, 0))
        for subset in subsets:
            self.base.advance(state, rng, first, nothing, 1)
            subset[:d] = first[0]
            subset[d:] = uniform_others(rng, first[0], self.tracker.n, self.width - d)
        subsets.sort(axis=1)
        self.tracker.fill(subsets, tracked)

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
