"""What samplers on the device share: their state there, and the layout of walks on bases.

A sampler on the device advances all chains of a run in one call. Arrays of its state have one row
for each chain; they stay on the device from call to call, and come back to the host where they hold
counts, or where a checkpoint may need them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numba import cuda

from zonodpp._types import Floats, Integers, Rng
from zonodpp.chains.columns import UnitColumns, matrix_of
from zonodpp.chains.contract import Block, State, need_between
from zonodpp.chains.inverse import given_basis
from zonodpp.chains.tracking import TrackedSets
from zonodpp.numerics.alias import alias_table
from zonodpp.numerics.arrays import to_dense
from zonodpp.numerics.gpu import launch, shared_limit, to_device

WITHOUT = "leave device out"  # kernels take small entries of the tableau as zero
RESERVED = 1024  # bytes of shared memory that every block takes for itself

OnDevice = dict[str, Any]  # the arrays of a state, on the device


def need_shared(size: int, what: str) -> None:
    """Raise an error that says what fits, if a block cannot have so many bytes."""
    limit = shared_limit() - RESERVED
    if size > limit:
        raise ValueError(
            f"{what} takes {size:,} bytes of shared memory, and a block of this GPU has {limit:,}; "
            "run without device='cuda'"
        )


class SetsOnDevice:
    """Tracked sets, copied to the device."""

    def __init__(self, sets: TrackedSets) -> None:
        self.size = sets.size
        self.starts, self.items = to_device(sets.starts), to_device(sets.items)


class DeviceChains:
    """All chains of a run on the device: the part of a sampler that all algorithms share.

    ``changing`` names the arrays that a call changes, ``counted`` the arrays of counts among them.
    """

    batch: ClassVar[int | None] = None
    independent: ClassVar[bool] = False
    counted: ClassVar[tuple[str, ...]] = ("counts",)
    changing: ClassVar[tuple[str, ...]] = ("counts",)

    def __init__(self, n: int, width: int, counters: tuple[str, ...], checkpointed: bool) -> None:
        self.n, self.width, self.counters = n, width, counters
        self.checkpointed = checkpointed
        self._resident: OnDevice = {}
        self._sets: SetsOnDevice | None = None

    def start(self, rngs: Sequence[Rng], init: Integers | None, sets: TrackedSets) -> State:
        """Draw a key for each chain from its generator, and start all."""
        keys = np.array([rng.integers(2**64, dtype=np.uint64) for rng in rngs])
        self._resident.clear()
        self._sets = SetsOnDevice(sets)
        return {
            "keys": keys,
            "position": np.zeros(len(keys), np.int64),
            "counts": np.zeros((len(keys), len(self.counters)), np.int64),
            **self.fresh(keys, init),
        }

    def advance(self, state: State, rngs: Sequence[Rng], block: Block, sets: TrackedSets) -> int:
        """Advance all chains."""
        chains, draws, _ = block.subsets.shape
        held = self._resident
        if not held:
            held |= {name: to_device(array) for name, array in state.items()}
        if self._sets is None or self._sets.size != sets.size:
            self._sets = SetsOnDevice(sets)
        made = cuda.device_array((draws, chains, self.width), np.int32)
        sums = to_device(np.zeros((draws, chains, sets.size)))
        self.fill(held, int(state["position"][0]), made, sums, block.thin, self._sets)
        block.subsets[:] = made.copy_to_host().swapaxes(0, 1)
        if sets.size and not self.independent:
            block.tracked[:] += sums.copy_to_host().swapaxes(0, 1)
        state["position"] += draws * block.thin
        for name in self.changing if self.checkpointed else self.counted:
            state[name][...] = held[name].copy_to_host()
        return int(draws)

    def check(self, state: State) -> None:
        """Check the bases of a state that was read from a file."""
        self._resident.clear()
        if len(set(state["position"].tolist())) != 1:
            raise ValueError("chains on a device must all have made as many steps")
        if "bases" in state:
            need_between(state["bases"], 0, self.n - 1, "the basis")

    def fresh(self, keys: Integers, init: Integers | None) -> State:
        """Return what is in the states of fresh chains beside keys and counts, on the host."""
        raise NotImplementedError

    def fill(
        self, state: OnDevice, first: int, subsets: Any, tracked: Any, thin: int, sets: SetsOnDevice
    ) -> None:
        """Fill subsets (draws, chains, width) on the device, from draw or step ``first`` on."""
        raise NotImplementedError


class WalkOnBases(Protocol):
    """What the device needs of a walk on bases that was prepared for the processor."""

    @property
    def columns(self) -> UnitColumns:
        """The columns."""

    @property
    def elements(self) -> int:
        """How many of them may be in a basis."""

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of what is counted."""

    @property
    def sizes_vary(self) -> bool:
        """Whether draws differ in size."""


class BasesOnDevice(DeviceChains):
    """What walks on bases share: the columns on the device, and the layout of blocks."""

    chains: int  # of a block
    kernel: Any
    threads: int  # of a block
    shared: int  # bytes

    def __init__(self, walk: WalkOnBases, masses: Floats, checkpointed: bool) -> None:
        if walk.sizes_vary:
            raise ValueError(
                "device='cuda' has no chains for DPPs, whose draws vary in size; pass "
                "method='exact', or leave device out"
            )
        self.columns = walk.columns
        super().__init__(walk.elements, len(self.columns.rows), walk.counters, checkpointed)
        # Padding, which only the processor needs, is left out.
        self.unit = to_dense(matrix_of(self.columns))[:, : self.n]
        self.vectors = to_device(self.unit.T)
        self.table = to_device(alias_table(masses))

    def padded_rows(self, total: int) -> Any:
        """Return the unit vectors by rows, one after another, with zeros for items beyond n."""
        return to_device(np.pad(self.unit, ((0, 0), (0, total - self.n))).ravel())

    def given_bases(self, init: Integers) -> Integers:
        """Check the bases to start from, one for each chain."""
        for basis in np.unique(init, axis=0):
            given_basis(basis, self.columns, self.n)
        return np.ascontiguousarray(init, np.int32)

    def launch(self, chains: int, *arguments: Any) -> None:
        """Run the kernel, with as many blocks as hold so many chains."""
        launch(self.kernel, -(-chains // self.chains), self.threads, self.shared, *arguments)
