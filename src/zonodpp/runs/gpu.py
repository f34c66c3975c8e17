"""All chains of a run on the device, as one sampler.

A run on the device is, for `zonodpp.runs`, one chain whose draws are the draws of all chains side
by side. So progress, time budgets, checkpoints and interrupts are those of any run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Rng, Subsets
from zonodpp.chains.contract import Method, Sets, State, need_between
from zonodpp.chains.tracking import SetTracker
from zonodpp.numerics.gpu import need_device, to_device
from zonodpp.runs.gpu_engines import Engine, engine_of
from zonodpp.targets.base import Target
from zonodpp.zonotope.method import HitAndRun


def prepare_on_device(
    method: Method, target: Target, track: Sets, chains: int, checkpointed: bool
) -> _DeviceChains:
    """Prepare a sampler for the device; raise an error that names what is missing there."""
    need_device()
    if isinstance(method, HitAndRun) and method.reflect is None:
        method = replace(method, reflect=False)
    return _DeviceChains(engine_of(method.prepare(target, track)), chains, checkpointed)


@dataclass(frozen=True)
class _SetsOfChains(SetTracker):
    """Tracked sets, once for each chain."""

    chains: int

    @property
    def size(self) -> int:
        """The number of tracked sets, of all chains."""
        return self.chains * (len(self.starts) - 1)


class _DeviceChains:
    """All chains of a run; a draw of this sampler is a draw of each of them, side by side.

    ``checkpointed`` tells whether states have to come back to the host after each call.
    ``state["counts"]`` has a row for each chain.
    """

    def __init__(self, engine: Engine, chains: int, checkpointed: bool) -> None:
        self.engine, self.chains, self.checkpointed = engine, chains, checkpointed
        self.counters, self.independent = engine.counters, engine.independent
        sets, self.width = engine.tracker, chains * engine.width
        self.tracker: SetTracker = _SetsOfChains(sets.starts, sets.items, sets.n, chains)
        self._resident: dict[str, Any] = {}  # the state, on the device

    def start(self, rng: Rng, init: ArrayLike | None) -> State:
        """Draw a key for each chain, and start all."""
        keys = rng.integers(2**64, size=self.chains, dtype=np.uint64)
        self._resident.clear()
        return {
            **self.engine.start(keys, init),
            "keys": keys,
            "position": np.zeros(1, np.int64),
            "counts": np.zeros((self.chains, len(self.counters)), np.int64),
        }

    def advance(self, state: State, rng: Rng, subsets: Subsets, tracked: Floats, thin: int) -> None:
        """Advance all chains; row k of subsets holds draw k of each of them."""
        held, sets, draws = self._resident, self.engine.tracker, len(subsets)
        if not held:
            held |= {name: to_device(array) for name, array in state.items()}
        made = cuda.device_array((draws, self.chains, self.engine.width), np.int32)
        sums = to_device(np.zeros((draws, self.chains, sets.size)))
        self.engine.advance(held, int(state["position"][0]), made, sums, thin)
        subsets[:] = made.copy_to_host().reshape(subsets.shape)
        state["position"][0] += draws * thin
        for name in self.engine.changing if self.checkpointed else self.engine.counted:
            state[name][...] = held[name].copy_to_host()
        presence = np.zeros((draws * self.chains, sets.size))
        if sets.size:
            presence[:] = sums.copy_to_host().reshape(presence.shape)
        if self.independent:
            sets.fill(subsets.reshape(-1, self.engine.width), presence)
            state["counts"][:, 0] += draws
            state["counts"][:, 1] = state["tested"]
        tracked += presence.reshape(tracked.shape)

    def check(self, state: State) -> None:
        """Check the bases of a state that was read from a file."""
        self._resident.clear()
        if "bases" in state:
            need_between(state["bases"], 0, self.engine.tracker.n - 1, "the basis")
