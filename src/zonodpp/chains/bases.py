"""What the chains on bases share: their start, accurate inverses, and chains for general DPPs.

A DPP is what a larger projection DPP draws among its items: the target `DPP.on_bases` has a column
for each item and one more for each eigenvector, and the items in its draws follow the DPP. So every
chain on bases gives a chain on sets of varying size, with the right law.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.chains.columns import UnitColumns
from zonodpp.chains.contract import Sampler, Sets, State
from zonodpp.chains.inverse import given_basis, random_basis
from zonodpp.chains.remembered import remember
from zonodpp.chains.tracking import SetTracker, with_sets
from zonodpp.numerics.threads import one_thread
from zonodpp.targets.base import Target

# The first entries of ``counts``.
BASIS_COUNTERS = ("steps", "accepted", "refactorisations", "drifts")
STEPS, ACCEPTED, REFACTORISATIONS, DRIFTS = range(4)
_CACHE_LINE = 64  # bytes
DRIFT = 1e-9  # an error of T, relative to its largest entry, that is counted as drift


@dataclass(frozen=True)
class ChainOnBases:
    """A prepared chain on bases."""

    columns: UnitColumns
    tracker: SetTracker
    # How many columns, the first ones, are items of the target; None if all are. Other columns are
    # left out of the draws.
    items: int | None = field(default=None, kw_only=True)
    independent: bool = field(default=False, kw_only=True)

    @property
    def width(self) -> int:
        """The number of items of every draw."""
        return len(self.columns.rows)

    def start(self, rng: Rng, init: ArrayLike | None) -> State:
        """Start in the given basis, or in a random one."""
        if init is not None:
            if self.items is not None:
                raise ValueError("init is for targets of fixed size; leave it out for a DPP")
            return on_own_lines(self._at(given_basis(init, self.columns, self.tracker.n), rng))
        with one_thread(self.width**3):
            return on_own_lines(self._at(random_basis(self.columns, rng), rng))

    def _at(self, basis: Integers, rng: Rng) -> State:
        """Return the state of a chain at a basis."""
        raise NotImplementedError

    def advance(
        self, state: State, rng: Rng, subsets: Subsets, tracked: Floats, thin: int
    ) -> int | None:
        """Walk ``thin`` steps for each of len(subsets) draws; leave out what is no item."""
        made = self._walk(state, rng, subsets, tracked, thin)
        if self.items is not None:
            subsets[subsets >= self.items] = -1
        return made

    def _walk(
        self, state: State, rng: Rng, subsets: Subsets, tracked: Floats, thin: int
    ) -> int | None:
        """Make the draws, each ascending; return how many steps were made, or None for all."""
        raise NotImplementedError


def line_aligned(size: int) -> NDArray[np.uint8]:
    """Allocate so many bytes that begin with a cache line.

    Updates of an inverse that begins with a cache line are faster by a third, and threads that
    write to cache lines of their own do not wait for one another.
    """
    memory = np.empty(size + _CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE
    return memory[start : start + size]


def on_own_lines(state: State) -> State:
    """Copy a state into one block of memory, in which each array begins with a cache line."""
    sizes = [array.nbytes + -array.nbytes % _CACHE_LINE for array in state.values()]
    memory, first = line_aligned(sum(sizes)), 0
    copied = {}
    for (name, array), size in zip(state.items(), sizes, strict=True):
        copied[name] = np.ndarray(array.shape, array.dtype, memory, first)
        copied[name][...] = array
        first += size
    return copied


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
    target: Target, name: str, key: Hashable, track: Sets, build: Callable[[Any], ChainOnBases]
) -> Sampler:
    """Return the chain of the method ``name`` on the bases that belong to a target.

    It is remembered for the target and ``key``, unless that is None.
    """

    def make() -> ChainOnBases:
        chain = build(target.on_bases(name))
        return replace(chain, items=target.n) if target.sizes_vary else chain

    return with_sets(make() if key is None else remember(target, key, make), track)
