"""Many chains at once: slices of work on an executor, between which Python has control.

A chain is its generator and its state. One task advances one chain for a slice of time and returns
what it drew; chains take turns, so that all of them are about equally long at any moment. Draws do
not depend on how they are cut into slices, nor on where the slices run.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonodpp.matrices.columns import Floats, refreeze
from zonodpp.samplers import Sampler, State

THREAD_SLICE = 0.05  # seconds a thread works on one chain before it takes the next
REMOTE_SLICE = 0.5  # the same for processes and clusters, where a task has to travel
BLOCK = 0.01  # seconds aimed at for one call of compiled code


@dataclass
class Chain:
    """One chain: everything needed to go on with it, here or in another process."""

    rng: np.random.Generator
    state: State
    burn_in: int  # steps still to be thrown away
    drawn: int = 0
    seconds: float = 0.0


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
        self.filled = np.zeros(self.chains, np.int64)
        room = 1024 if self.plan.draws is None else self.plan.draws
        try:
            self.subsets = np.empty((self.chains, room, self.plan.width), np.int32)
            self.tracked = np.empty((self.chains, room, self.plan.tracked))
        except MemoryError as error:
            raise MemoryError(f"no room for that many draws ({error}); ask for fewer") from None

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
    blocks: list[tuple[NDArray[np.int32], Floats]] = []
    size = 1
    while True:
        before = time.perf_counter()
        if chain.burn_in:
            steps = min(size, chain.burn_in)
            scratch = np.empty((1, plan.width), np.int32)
            sampler.advance(chain.state, chain.rng, scratch, np.empty((1, plan.tracked)), steps)
            chain.burn_in -= steps
        else:
            left = size if plan.draws is None else min(size, plan.draws - chain.drawn)
            if room is None:
                blocks.append(
                    (np.empty((left, plan.width), np.int32), np.empty((left, plan.tracked)))
                )
                subsets, tracked = blocks[-1]
            else:
                here = slice(chain.drawn - first, chain.drawn - first + left)
                subsets, tracked = room[0][here], room[1][here]
            sampler.advance(chain.state, chain.rng, subsets, tracked, plan.thin)
            chain.drawn += left
        now = time.perf_counter()
        if chain.drawn == plan.draws or now - begun >= seconds or (stop and stop.is_set()):
            break
        took = max(now - before, 1e-7)
        ahead = min(BLOCK, begun + seconds - now)
        size = int(np.clip(size * ahead / took, 1, 4 * size))
    chain.seconds += now - begun
    if room is not None:
        return chain, room[0][: chain.drawn - first], room[1][: chain.drawn - first]
    if not blocks:
        return chain, np.empty((0, plan.width), np.int32), np.empty((0, plan.tracked))
    return chain, np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])


def advance_elsewhere(
    sampler: Sampler, chain: Chain, plan: Plan, seconds: float
) -> tuple[Chain, NDArray[np.int32], Floats]:
    """`advance` for a sampler that may have travelled to another process."""
    refreeze(sampler)
    return advance(sampler, chain, plan, seconds)


class Interrupted(Exception):  # noqa: N818 - a signal, not an error
    """Ctrl-C was pressed; all draws made until then are in the store."""


def run_chains(
    sampler: Sampler,
    chains: list[Chain],
    plan: Plan,
    store: Store,
    *,
    seconds: float | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    at_rest: Callable[[int, Chain], None] | None = None,
    after_slice: Callable[[], None] | None = None,
) -> None:
    """Advance all chains in turn until they are done or the time is up; fill the store.

    ``at_rest`` is told of each chain when a slice of it has been stored and the next has not begun,
    ``after_slice`` after every few of those.

    Raises
    ------
    Interrupted
        After Ctrl-C, once the slices under way have been stored.
    """
    deadline = None if seconds is None else time.perf_counter() + seconds
    stop = threading.Event()
    own = ThreadPoolExecutor(workers or os.cpu_count() or 1) if executor is None else None
    pool: Executor = own or executor  # type: ignore[assignment]
    length = THREAD_SLICE if own else REMOTE_SLICE
    if seconds is not None:  # at least a few turns for every chain
        length = min(length, seconds * (workers or os.cpu_count() or 1) / (8 * len(chains)))
    under_way: dict[Future[Any], int] = {}

    def submit(index: int) -> None:
        if own is not None:
            room = store.room(index)
            task = own.submit(advance, sampler, chains[index], plan, length, stop, room)
        else:
            task = pool.submit(advance_elsewhere, sampler, chains[index], plan, length)
        under_way[task] = index

    def collect(task: Future[Any]) -> int:
        index = under_way.pop(task)
        if not task.cancelled():
            chains[index], subsets, tracked = task.result()
            store.add(index, subsets, tracked)
            if at_rest is not None:
                at_rest(index, chains[index])
        return index

    try:
        for index, chain in enumerate(chains):
            if chain.drawn != plan.draws:
                submit(index)
        while under_way:
            left = None
            if deadline is not None and not stop.is_set():
                left = max(0.0, deadline - time.perf_counter())
            done, _ = wait(under_way, timeout=left, return_when=FIRST_COMPLETED)
            if deadline is not None and time.perf_counter() >= deadline and not stop.is_set():
                stop.set()
                for task, index in under_way.items():
                    if chains[index].drawn:  # every chain has its first turn
                        task.cancel()
            for task in done:
                index = collect(task)
                if chains[index].drawn != plan.draws and not stop.is_set():
                    submit(index)
            if after_slice is not None:
                after_slice()
    except KeyboardInterrupt:
        stop.set()
        for task in under_way:
            task.cancel()
        wait(under_way)
        for task in list(under_way):
            # Ctrl-C reaches other processes too: what they were at is lost, the rest is not.
            if task.cancelled() or task.exception() is None:
                collect(task)
        raise Interrupted from None
    finally:
        stop.set()
        for task in under_way:
            task.cancel()
        if own is not None:
            own.shutdown(wait=True, cancel_futures=True)
