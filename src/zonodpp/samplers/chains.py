"""What the chains on bases share: their start, accurate inverses, and chains for general DPPs.

A DPP is part of a projection DPP: `DPP.on_bases` has the items and one more column for each
eigenvector, and the items of its draws follow the DPP. So every chain on bases gives a chain on
sets of varying size, with the right law.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.basis.columns import UnitColumns
from zonodpp.basis.inverse import given_basis, random_basis
from zonodpp.samplers import (
    PackedState,
    Sampler,
    Sets,
    State,
    packed,
    remember,
    remembered_start,
    unpacked,
)
from zonodpp.samplers.tracking import SetTracker, with_sets

if TYPE_CHECKING:
    from zonodpp.targets.target import Target

# The first entries of ``counts``.
BASIS_COUNTERS = ("steps", "accepted", "refactorisations", "drifts")
STEPS, ACCEPTED, REFACTORISATIONS, DRIFTS = range(4)
DRIFT = 1e-9  # an error of T, relative to its largest entry, that is counted as drift


@dataclass(frozen=True)
class ChainOnBases:
    """A prepared chain on bases."""

    columns: UnitColumns
    tracker: SetTracker
    starts: dict[int, PackedState] = field(default_factory=dict, kw_only=True)  # states by number
    independent: bool = field(default=False, kw_only=True)

    @property
    def width(self) -> int:
        """The number of items of every draw."""
        return len(self.columns.rows)

    def start(self, rng: Rng, init: ArrayLike | None) -> State:
        """Start in the given basis, or in a random one."""
        if init is not None:
            return unpacked(packed(self._at(given_basis(init, self.columns, self.tracker.n), rng)))
        return remembered_start(self.starts, rng, self._random_start)

    def _random_start(self, rng: Rng) -> State:
        return self._at(random_basis(self.columns, rng), rng)

    def _at(self, basis: Integers, rng: Rng) -> State:
        """Return the state of a chain at a basis."""
        raise NotImplementedError


def renew(inverse: Floats, age: Integers, counts: Integers, compute: Callable[[], Floats]) -> None:
    """Compute an inverse anew, in place; count this, and a drift if the old one had large errors.

    If errors have led to a singular basis, the inverse stays as it is, and a drift is counted too.
    """
    counts[REFACTORISATIONS] += 1
    age[0] = 0
    try:
        exact = compute()
    except ArithmeticError:
        counts[DRIFTS] += 1
        return
    counts[DRIFTS] += not np.abs(inverse - exact).max() <= DRIFT * np.abs(exact).max()
    inverse[:] = exact


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
    """A chain on the bases of the larger matrix; only the items of the target are drawn."""

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

    def start(self, rng: Rng, init: ArrayLike | None) -> State:
        """Start the chain on the larger matrix."""
        if init is not None:
            raise ValueError("init is for targets of fixed size; leave it out for a DPP")
        return self.inner.start(rng, None)

    def advance(self, state: State, rng: Rng, subsets: Subsets, tracked: Floats, thin: int) -> None:
        """Advance the chain; the columns after the items are left out."""
        bases = np.empty((len(subsets), self.inner.width), np.int32)
        self.inner.advance(state, rng, bases, tracked, thin)
        subsets[:] = np.where(bases < self.n, bases, -1)[:, : self.width]

    def check(self, state: State) -> None:
        """Check the state of the chain on the larger matrix."""
        self.inner.check(state)
