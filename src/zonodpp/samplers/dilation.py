"""Markov chains for general DPPs: a DPP is part of a projection DPP.

`DPP.on_bases` has the items and one more column for each eigenvector; the items of its draws follow
the DPP. So every chain on bases gives a chain on sets of varying size, with the right law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonodpp._types import Floats
from zonodpp.samplers import Sampler, State


@dataclass(frozen=True)
class Dilation:
    """A chain on the bases of the larger matrix, of which the items are kept."""

    inner: Sampler
    n: int
    width: int
    independent: bool = False

    @property
    def counters(self) -> tuple[str, ...]:
        """What the chain counts."""
        return self.inner.counters

    @property
    def tracker(self) -> Any:
        """Sets of items are sets of the larger matrix too."""
        return self.inner.tracker

    def start(self, rng: np.random.Generator, init: Any) -> State:
        """Start the chain on the larger matrix."""
        if init is not None:
            raise ValueError("init is for targets of fixed size; leave it out for a DPP")
        return self.inner.start(rng, None)

    def advance(
        self,
        state: State,
        rng: np.random.Generator,
        subsets: NDArray[np.int32],
        tracked: Floats,
        thin: int,
    ) -> None:
        """Advance the chain; the columns after the items are left out."""
        bases = np.empty((len(subsets), self.inner.width), np.int32)
        self.inner.advance(state, rng, bases, tracked, thin)
        subsets[:] = np.where(bases < self.n, bases, -1)[:, : self.width]

    def check(self, state: State) -> None:
        """Check the state of the chain on the larger matrix."""
        self.inner.check(state)
