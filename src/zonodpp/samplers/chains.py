"""What the chains on bases share: where they start, and how their inverses stay accurate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Integers
from zonodpp.basis.columns import UnitColumns
from zonodpp.basis.inverse import given_basis, has_drifted, random_basis
from zonodpp.samplers import PackedState, State, packed, remembered_start, unpacked
from zonodpp.samplers.tracking import SetTracker

# The first entries of ``counts``.
BASIS_COUNTERS = ("steps", "accepted", "refactorisations", "drifts")
STEPS, ACCEPTED, REFACTORISATIONS, DRIFTS = range(4)


@dataclass(frozen=True)
class ChainOnBases:
    """A prepared chain on bases."""

    columns: UnitColumns
    tracker: SetTracker
    starts: dict[int, PackedState] = field(default_factory=dict, kw_only=True)  # those made so far
    independent: bool = field(default=False, kw_only=True)

    @property
    def width(self) -> int:
        """The number of items of every draw."""
        return len(self.columns.rows)

    def start(self, rng: np.random.Generator, init: ArrayLike | None) -> State:
        """Start in the given basis, or in a random one."""
        if init is not None:
            return unpacked(packed(self._at(given_basis(init, self.columns, self.tracker.n), rng)))
        return remembered_start(self.starts, rng, self._random_start)

    def _random_start(self, rng: np.random.Generator) -> State:
        return self._at(random_basis(self.columns, rng), rng)

    def _at(self, basis: Integers, rng: np.random.Generator) -> State:
        """Return the state of a chain at a basis."""
        raise NotImplementedError


def renew(inverse: Floats, age: Integers, counts: Integers, compute: Callable[[], Floats]) -> None:
    """Compute an inverse anew, in place; count this, and whether updates had led away from it.

    If the basis is singular, which they can have led to as well, the inverse stays as it is.
    """
    counts[REFACTORISATIONS] += 1
    age[0] = 0
    try:
        exact = compute()
    except ArithmeticError:
        counts[DRIFTS] += 1
        return
    counts[DRIFTS] += has_drifted(inverse, exact)
    inverse[:] = exact
