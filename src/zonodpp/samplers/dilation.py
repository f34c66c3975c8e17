"""Markov chains for general DPPs: a DPP is part of a projection DPP.

With mu_j and v_j the eigenvalues and eigenvectors of K, the matrix whose row j is
(sqrt(mu_j) v_j', sqrt(1 - mu_j) e_j') has orthonormal rows. Its projection DPP has the items and
one more column for each eigenvector; the items of its draws follow the DPP, by the formula of
Cauchy and Binet. So every chain on bases gives a chain on sets of varying size, with the right law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonodpp.matrices.columns import Floats
from zonodpp.samplers import State
from zonodpp.targets import ProjectionDPP
from zonodpp.targets.dpp import DPP


@dataclass(frozen=True)
class Dilation:
    """A chain on the bases of the larger matrix, of which the items are kept."""

    inner: Any
    n: int
    width: int
    rank: int
    independent: bool = False

    @property
    def counters(self) -> tuple[str, ...]:
        """What the chain counts."""
        names: tuple[str, ...] = self.inner.counters
        return names

    @property
    def tracker(self) -> Any:
        """Sets of items are sets of the larger matrix too."""
        return self.inner.tracker

    def start(self, rng: np.random.Generator, init: Any) -> State:
        """Start the chain on the larger matrix."""
        if init is not None:
            raise ValueError("init is for targets of fixed size; leave it out for a DPP")
        state: State = self.inner.start(rng, None)
        return state

    def advance(
        self,
        state: State,
        rng: np.random.Generator,
        subsets: NDArray[np.int32],
        tracked: Floats,
        thin: int,
    ) -> None:
        """Advance the chain; the columns after the items are left out."""
        bases = np.empty((len(subsets), self.rank), np.int32)
        self.inner.advance(state, rng, bases, tracked, thin)
        subsets[:] = np.where(bases < self.n, bases, -1)[:, : self.width]

    def check(self, state: State) -> None:
        """Check the state of the chain on the larger matrix."""
        self.inner.check(state)


def prepare(target: DPP, inner: Callable[[ProjectionDPP], Any]) -> Dilation:
    """Prepare the chain, by ``inner``, for the projection DPP that holds this DPP."""
    taking_part = np.sqrt(target.chances)[:, None] * target.vectors.T
    A = np.column_stack([taking_part, np.diag(np.sqrt(1.0 - target.chances))])
    return Dilation(inner(ProjectionDPP(A)), target.n, min(target.n, target.r), target.r)
