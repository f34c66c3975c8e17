"""Many chains at once: slices of work on an executor, between which Python has control.

A chain is its generator and its state. One task advances one chain for a slice of time and returns
what it drew; chains take turns, so that all of them are about equally long at any moment. Draws do
not depend on how their steps are cut into slices, nor on where the slices run. A slice may end in
the middle of the ``thin`` steps to a draw: the chain then carries the steps made so far. It may
also end in the middle of an independent draw that takes long: the chain's state carries that one.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import os
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonodpp.inputs import physical_memory
from zonodpp.matrices.columns import Floats, refreeze
from zonodpp.samplers import Sampler, State

THREAD_SLICE = 0.05  # seconds a thread works on one chain before it takes the next
REMOTE_SLICE = 0.5  # the same for processes and clusters, where a task has to travel
BLOCK = 0.01  # seconds aimed at for one call of compiled code
RETRIES = 3  # slices of one chain that an executor may lose in a row before the run ends
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


def advance_elsewhere(
    sampler: Sampler, chain: Chain, plan: Plan, seconds: float, attempt: int
) -> tuple[Chain, NDArray[np.int32], Floats] | Exception:
    """`advance` for an executor that is not ours, perhaps in another process.

    The chain passed in is left as it is, so that a slice that is lost can be made again. Errors of
    our own are returned: what the task raises then is a failure of the executor. ``attempt`` makes
    the call differ from one that was lost: Dask gives equal calls one and the same result.
    """
    refreeze(sampler)
    try:
        return advance(sampler, copy.deepcopy(chain), plan, seconds)
    except Exception as error:
        error.add_note(f"In a task of the executor:\n{traceback.format_exc()}")
        return error


class Interrupted(Exception):  # noqa: N818 - a signal, not an error
    """Ctrl-C was pressed; all draws made until then are in the store."""


class LostWorkers(Exception):  # noqa: N818 - the run ends early, and what was drawn is kept
    """The executor does no more work; all draws made until then are in the store."""


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
    LostWorkers
        If the executor is broken, or has lost too many slices of one chain in a row.
    """
    deadline = None if seconds is None else time.perf_counter() + seconds
    stop = threading.Event()
    threads = min(workers or os.cpu_count() or 1, len(chains))
    own = ThreadPoolExecutor(threads) if executor is None else None
    pool: Executor = own or executor  # type: ignore[assignment]
    length = THREAD_SLICE if own else REMOTE_SLICE
    if seconds is not None:  # at least a few turns for every chain
        length = min(length, seconds * (workers or os.cpu_count() or 1) / (8 * len(chains)))
    under_way: dict[Future[Any], int] = {}
    lost = [0] * len(chains)  # slices of each chain lost in a row
    attempts = itertools.count()

    def submit(index: int) -> None:
        task: Future[Any]
        if own is not None:
            room = store.room(index)
            task = own.submit(advance, sampler, chains[index], plan, length, stop, room)
        else:
            try:
                task = pool.submit(
                    advance_elsewhere, sampler, chains[index], plan, length, next(attempts)
                )
            except Exception as error:
                raise LostWorkers(f"the executor takes no more work ({error})") from error
        under_way[task] = index

    def collect(task: Future[Any]) -> int:
        index = under_way.pop(task)
        try:
            found = task.result()
        except Exception as error:
            if stop.is_set() and isinstance(error, CancelledError):
                return index
            if own is not None:
                raise
            lost[index] += 1
            if isinstance(error, BrokenExecutor) or lost[index] > RETRIES:
                raise LostWorkers(
                    f"the executor has lost its workers ({type(error).__name__}: {error})"
                ) from error
            return index
        if isinstance(found, Exception):
            raise found
        lost[index] = 0
        chains[index], subsets, tracked = found
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
                    if chains[index].seconds:  # every chain has its first turn
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
            with contextlib.suppress(Exception, KeyboardInterrupt):
                collect(task)
        raise Interrupted from None
    finally:
        stop.set()
        for task in under_way:
            task.cancel()
        if own is not None:
            own.shutdown(wait=True, cancel_futures=True)
