"""Markov chains on bases, for targets whose draws are bases and for general DPPs.

A DPP is part of a projection DPP: `DPP.on_bases` has the items and one more column for each
eigenvector, and the items of its draws follow the DPP. So every chain on bases gives a chain on
sets of varying size, with the right law.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Subsets
from zonodpp.samplers import Sampler, Sets, State, remember
from zonodpp.samplers.tracking import SetTracker, with_sets

if TYPE_CHECKING:
    from zonodpp.targets.target import Target


def chain_on_bases(
    target: Target, name: str, key: Hashable, track: Sets, build: Callable[[Any], Sampler]
) -> Sampler:
    """Return the chain of the method ``name`` on the bases that belong to a target.

    It is remembered for the target and ``key``, unless that is None.
    """

    def make() -> Sampler:
        return build(target.on_bases(name))

    chain = with_sets(make() if key is None else remember(target, key, make), track)
    return Dilation(chain, target.n, target.r) if target.sizes_vary else chain


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
    def tracker(self) -> SetTracker:
        """Sets of items are sets of the larger matrix too."""
        return self.inner.tracker

    def start(self, rng: np.random.Generator, init: ArrayLike | None) -> State:
        """Start the chain on the larger matrix."""
        if init is not None:
            raise ValueError("init is for targets of fixed size; leave it out for a DPP")
        return self.inner.start(rng, None)

    def advance(
        self, state: State, rng: np.random.Generator, subsets: Subsets, tracked: Floats, thin: int
    ) -> None:
        """Advance the chain; the columns after the items are left out."""
        bases = np.empty((len(subsets), self.inner.width), np.int32)
        self.inner.advance(state, rng, bases, tracked, thin)
        subsets[:] = np.where(bases < self.n, bases, -1)[:, : self.width]

    def check(self, state: State) -> None:
        """Check the state of the chain on the larger matrix."""
        self.inner.check(state)
