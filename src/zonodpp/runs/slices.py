"""A slice of work on one chain, between which Python has control.

A chain is its generator and its state. One task advances one chain for a slice of time and returns
what it drew; chains take turns, so that all of them are about equally long at any moment. Draws do
not depend on how their steps are cut into slices, nor on where the slices run. A slice may end in
the middle of the ``thin`` steps to a draw: the chain then carries the steps made so far. It may
also end in the middle of an independent draw that takes long: the chain's state carries that one.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonodpp._types import Floats
from zonodpp.arguments import physical_memory
from zonodpp.samplers import Sampler, State

BLOCK = 0.01  # seconds aimed at for one call of compiled code
CHAIN_BYTES = 4096  # memory of a generator and the objects around it, measured and rounded up


@dataclass
class Chain:
    """One chain: everything needed to go on with it, here or in another process."""

    rng: np.random.Generator
    state: State
    burn_in: int  # steps still to be thrown away
    drawn: int = 0
    seconds: float = 0.0
    taken: int = 0  # steps made towards the next draw
    sums: Floats = field(default_factory=lambda: np.zeros(0))  # of what was tracked in these steps

    def position(self, thin: int) -> int:
        """Count the steps made, from ``-burn_in`` on: draw k is finished at ``k * thin``."""
        return self.drawn * thin + self.taken - self.burn_in


@dataclass(frozen=True)
class Plan:
    """What each chain is to do."""

    draws: int | None  # None: as many as the time allows
    thin: int
    width: int  # the most items of a draw
    tracked: int


@dataclass
class Store:
    """The draws of all chains, in arrays that grow only when the number of draws is open."""

    plan: Plan
    chains: int
    subsets: NDArray[np.int32] = field(init=False)
    tracked: Floats = field(init=False)
    filled: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        room = 1024 if self.plan.draws is None else self.plan.draws
        size = CHAIN_BYTES + room * (4 * self.plan.width + 8 * self.plan.tracked)
        need_memory(self.chains * size, f"{self.chains:,} chains of {room:,} draws")
        self.filled = np.zeros(self.chains, np.int64)
        self.subsets = np.empty((self.chains, room, self.plan.width), np.int32)
        self.tracked = np.empty((self.chains, room, self.plan.tracked))

    def add(self, chain: int, subsets: NDArray[np.int32], tracked: Floats) -> None:
        """Append a block of draws to a chain."""
        start = int(self.filled[chain])
        stop = start + len(subsets)
        self.filled[chain] = stop
        if np.may_share_memory(subsets, self.subsets):  # made in place
            return
        if stop > self.subsets.shape[1]:
            room = max(stop, 2 * self.subsets.shape[1])
            self.subsets = _longer(self.subsets, room)
            self.tracked = _longer(self.tracked, room)
        self.subsets[chain, start:stop] = subsets
        self.tracked[chain, start:stop] = tracked

    def room(self, chain: int) -> tuple[NDArray[np.int32], Floats] | None:
        """Return the arrays that a chain has yet to fill, or None if their length is open."""
        if self.plan.draws is None:
            return None
        start = int(self.filled[chain])
        return self.subsets[chain, start:], self.tracked[chain, start:]

    def cut(self) -> tuple[NDArray[np.int32], Floats]:
        """Return all chains cut to the length of the shortest."""
        length = int(self.filled.min())
        if length == self.subsets.shape[1]:
            return self.subsets, self.tracked
        return self.subsets[:, :length].copy(), self.tracked[:, :length].copy()


def need_memory(size: int, what: str) -> None:
    """Raise MemoryError if something takes more bytes than this machine has."""
    memory = physical_memory()
    if size > memory:
        raise MemoryError(
            f"{what} take about {size / 2**30:,.0f} GiB, and this machine has "
            f"{memory / 2**30:,.0f} GiB of memory; ask for fewer chains or draws"
        )


def _longer(array: NDArray[Any], room: int) -> NDArray[Any]:
    longer = np.empty((array.shape[0], room, array.shape[2]), array.dtype)
    longer[:, : array.shape[1]] = array
    return longer


def advance(
    sampler: Sampler,
    chain: Chain,
    plan: Plan,
    seconds: float,
    stop: threading.Event | None = None,
    room: tuple[NDArray[np.int32], Floats] | None = None,
) -> tuple[Chain, NDArray[np.int32], Floats]:
    """Advance one chain for about ``seconds``; return it with its new draws.

    With ``room``, the rest of the chain's place in the store, draws are made right there.
    """
    begun = time.perf_counter()
    first = chain.drawn
    blocks = [(np.empty((0, plan.width), np.int32), np.empty((0, plan.tracked)))]
    steps = 1  # of the next call of compiled code
    while True:
        before, position = time.perf_counter(), chain.position(plan.thin)
        count = 1 if chain.burn_in else max(1, steps // plan.thin)
        if plan.draws is not None:
            count = min(count, plan.draws - chain.drawn)
        if room is None or chain.burn_in:
            subsets = np.empty((count, plan.width), np.int32)
            tracked = np.empty((count, plan.tracked))
        else:
            here = slice(chain.drawn - first, chain.drawn - first + count)
            subsets, tracked = room[0][here], room[1][here]
        made = _make_steps(sampler, chain, plan.thin, steps, subsets, tracked)
        chain.drawn += made
        if room is None:
            blocks.append((subsets[:made], tracked[:made]))
        now = time.perf_counter()
        if chain.drawn == plan.draws or now - begun >= seconds or (stop and stop.is_set()):
            break
        taken = chain.position(plan.thin) - position
        ahead = min(BLOCK, begun + seconds - now)
        most = max(1, 4 * taken)  # a call may end within a draw that takes long
        steps = int(np.clip(taken * ahead / max(now - before, 1e-7), 1, most))
    chain.seconds += now - begun
    if room is not None:
        return chain, room[0][: chain.drawn - first], room[1][: chain.drawn - first]
    return chain, np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])


def _make_steps(
    sampler: Sampler,
    chain: Chain,
    thin: int,
    steps: int,
    subsets: NDArray[np.int32],
    tracked: Floats,
) -> int:
    """Make ``steps`` steps, or fewer; return how many draws they have finished.

    A draw that they do not finish stays with the chain. What is tracked is summed up step by step
    and divided at the end, so that averages do not depend on where the steps are cut.
    """
    if chain.burn_in:
        part = min(steps, chain.burn_in)
        sampler.advance(chain.state, chain.rng, subsets[:1], np.zeros((1, tracked.shape[1])), part)
        chain.burn_in -= part
        return 0
    if chain.taken == 0 and steps >= thin:
        tracked[:] = 0.0
        made = sampler.advance(chain.state, chain.rng, subsets, tracked, thin)
        tracked /= thin
        return len(subsets) if made is None else made
    part = min(steps, thin - chain.taken)
    sampler.advance(chain.state, chain.rng, subsets[:1], chain.sums[None, :], part)
    chain.taken += part
    if chain.taken < thin:
        return 0
    tracked[0] = chain.sums / thin
    chain.sums[:] = 0.0
    chain.taken = 0
    return 1
