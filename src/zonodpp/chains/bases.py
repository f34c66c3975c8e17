"""What the chains on bases share: their start, accurate inverses, and chains for general DPPs.

A DPP is what a larger projection DPP draws among its items: the target `DPP.on_bases` has a column
for each item and one more for each eigenvector, and the items in its draws follow the DPP. So every
chain on bases gives a chain on sets of varying size, with the right law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from zonodpp._types import Floats, Integers, Rng
from zonodpp.chains.columns import UnitColumns
from zonodpp.chains.contract import Block, State
from zonodpp.chains.inverse import given_basis, random_basis
from zonodpp.chains.tracking import Recording, TrackedSets
from zonodpp.numerics.threads import one_thread

# The first entries of ``counts``.
BASIS_COUNTERS = ("steps", "accepted", "refactorisations", "drifts")
STEPS, ACCEPTED, REFACTORISATIONS, DRIFTS = range(4)
_CACHE_LINE = 64  # bytes
DRIFT = 1e-9  # an error of T, relative to its largest entry, that is counted as drift


@dataclass(frozen=True)
class ChainOnBases:
    """A prepared chain on bases."""

    columns: UnitColumns
    elements: int  # columns that may be in a basis; those after them only fill up memory
    n: int  # items of the target: the first elements; the others are left out of the draws
    independent: ClassVar[bool] = False
    batch: ClassVar[int | None] = 1

    @property
    def width(self) -> int:
        """The number of items of every draw."""
        return len(self.columns.rows)

    @property
    def sizes_vary(self) -> bool:
        """Whether some columns are no items, so that draws differ in size."""
        return self.n < self.elements

    def start(self, rngs: Sequence[Rng], init: Integers | None, sets: TrackedSets) -> State:
        """Start in the given basis, or in a random one."""
        [rng] = rngs
        if init is not None:
            if self.sizes_vary:
                raise ValueError("init is for targets of fixed size; leave it out for a DPP")
            basis = given_basis(init[0], self.columns, self.elements)
            return on_own_lines(self._at(basis, rng, sets))
        with one_thread(self.width**3):
            basis = random_basis(self.columns, rng)
            return on_own_lines(self._at(basis, rng, sets))

    def _at(self, basis: Integers, rng: Rng, sets: TrackedSets) -> State:
        """Return the state of a chain at a basis."""
        raise NotImplementedError

    def advance(self, state: State, rngs: Sequence[Rng], block: Block, sets: TrackedSets) -> int:
        """Walk ``thin`` steps for each draw; leave out what is no item."""
        [rng], [subsets], [tracked] = rngs, block.subsets, block.tracked
        chain = {name: array[0] for name, array in state.items()}
        made = self._walk(chain, rng, Recording(*sets, subsets, tracked, block.thin))
        if self.sizes_vary:
            subsets[subsets >= self.n] = -1
        return made

    def _walk(self, state: State, rng: Rng, record: Recording) -> int:
        """Make the draws of one chain, each ascending; return how many are finished."""
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
    """Return the state of a batch of one chain, whose arrays begin with cache lines.

    They lie in one block of memory.
    """
    sizes = [array.nbytes + -array.nbytes % _CACHE_LINE for array in state.values()]
    memory, first = line_aligned(sum(sizes)), 0
    copied = {}
    for (name, array), size in zip(state.items(), sizes, strict=True):
        copied[name] = np.ndarray((1, *array.shape), array.dtype, memory, first)
        copied[name][0] = array
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
