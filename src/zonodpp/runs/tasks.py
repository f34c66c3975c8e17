"""Slices of all chains on an executor: submitted in turn, collected, made again when lost."""

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonodpp._types import Floats
from zonodpp.linalg.columns import refreeze
from zonodpp.runs.slices import Chain, Plan, Store, advance
from zonodpp.samplers import Sampler

THREAD_SLICE = 0.05  # seconds a thread works on one chain before it takes the next
REMOTE_SLICE = 0.5  # the same for processes and clusters, where a task has to travel
RETRIES = 3  # times that a slice which the executor has lost is made again


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


class _Tasks:
    """The slices under way, one for each chain that is not done.

    Parameters
    ----------
    length : float
        Seconds that a slice takes, about.
    at_rest : callable or None
        Told of each chain when a slice of it has been stored and the next has not begun.
    """

    def __init__(
        self,
        sampler: Sampler,
        chains: list[Chain],
        plan: Plan,
        store: Store,
        executor: Executor | None,
        threads: int,
        length: float,
        at_rest: Callable[[int, Chain], None] | None,
    ) -> None:
        self.sampler, self.chains, self.plan, self.store = sampler, chains, plan, store
        self.own = ThreadPoolExecutor(threads) if executor is None else None
        self.executor = executor
        self.length, self.at_rest = length, at_rest
        self.stop = threading.Event()
        self.under_way: dict[Future[Any], int] = {}
        self._lost = [0] * len(chains)  # slices of each chain lost in a row
        self._attempts = itertools.count()

    def submit(self, index: int) -> None:
        """Begin the next slice of a chain, unless the chain is done or the run is to stop."""
        chain = self.chains[index]
        if chain.drawn == self.plan.draws or self.stop.is_set():
            return
        task: Future[Any]
        if self.own is not None:
            room = self.store.room(index)
            task = self.own.submit(
                advance, self.sampler, chain, self.plan, self.length, self.stop, room
            )
        else:
            assert self.executor is not None
            try:
                task = self.executor.submit(
                    advance_elsewhere,
                    self.sampler,
                    chain,
                    self.plan,
                    self.length,
                    next(self._attempts),
                )
            except Exception as error:
                raise LostWorkers(f"the executor takes no more work ({error})") from error
        self.under_way[task] = index

    def collect(self, task: Future[Any]) -> int:
        """Store what a slice has drawn; return its chain."""
        index = self.under_way.pop(task)
        try:
            found = task.result()
        except Exception as error:
            self._count_lost(index, error)
            return index
        if isinstance(found, Exception):
            raise found
        self._lost[index] = 0
        self.chains[index], subsets, tracked = found
        self.store.add(index, subsets, tracked)
        if self.at_rest is not None:
            self.at_rest(index, self.chains[index])
        return index

    def _count_lost(self, index: int, error: Exception) -> None:
        """Accept that a slice has no result, or raise the error that ends the run."""
        if self.stop.is_set() and isinstance(error, CancelledError):
            return
        if self.own is not None:
            raise error
        self._lost[index] += 1
        if isinstance(error, BrokenExecutor) or self._lost[index] > RETRIES:
            raise LostWorkers(
                f"the executor has lost its workers ({type(error).__name__}: {error})"
            ) from error

    def end_in_time(self) -> None:
        """Let no slice begin, except the first of each chain."""
        self.stop.set()
        for task, index in self.under_way.items():
            if self.chains[index].seconds:
                task.cancel()

    def interrupt(self) -> None:
        """Wait for the slices that run, and store what they have drawn."""
        self.cancel()
        wait(self.under_way)
        for task in list(self.under_way):
            # Ctrl-C reaches other processes too: what they were at is lost, the rest is not.
            with contextlib.suppress(Exception, KeyboardInterrupt):
                self.collect(task)

    def cancel(self) -> None:
        """Let no slice begin."""
        self.stop.set()
        for task in self.under_way:
            task.cancel()

    def close(self) -> None:
        """Cancel what has not begun, and end our own threads."""
        self.cancel()
        if self.own is not None:
            self.own.shutdown(wait=True, cancel_futures=True)


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
    deadline = float("inf") if seconds is None else time.perf_counter() + seconds
    processors = workers or os.cpu_count() or 1
    length = THREAD_SLICE if executor is None else REMOTE_SLICE
    if seconds is not None:  # at least a few turns for every chain
        length = min(length, seconds * processors / (8 * len(chains)))
    threads = min(processors, len(chains))
    tasks = _Tasks(sampler, chains, plan, store, executor, threads, length, at_rest)
    try:
        for index in range(len(chains)):
            tasks.submit(index)
        while tasks.under_way:
            left = None
            if deadline < float("inf") and not tasks.stop.is_set():
                left = max(0.0, deadline - time.perf_counter())
            done, _ = wait(tasks.under_way, timeout=left, return_when=FIRST_COMPLETED)
            if time.perf_counter() >= deadline and not tasks.stop.is_set():
                tasks.end_in_time()
            for task in done:
                tasks.submit(tasks.collect(task))
            if after_slice is not None:
                after_slice()
    except KeyboardInterrupt:
        tasks.interrupt()
        raise Interrupted from None
    finally:
        tasks.close()
