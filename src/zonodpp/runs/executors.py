"""Slices of all chains on an executor: submitted in turn, collected, made again when lost."""

from __future__ import annotations

import contextlib
import copy
import os
import time
import traceback
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Executor

from zonodpp.runs.parcels import Parcel, pack, unpack
from zonodpp.runs.slices import Chain, Run, Slice, advance, empty_rows, row_bytes

THREAD_SLICE = 0.05  # seconds a thread works on one chain before it takes the next
REMOTE_SLICE = 0.5  # the same for processes and clusters, where a task has to travel
_RETRIES = 3  # times that a slice which the executor has lost is made again
_REMOTE_BYTES = 2**26  # of draws that a slice elsewhere makes at most

Outcome = Slice | Exception | None  # of a task: None if its process does not have the sampler


def _advance_elsewhere(
    parcel: Parcel, chain: Chain, draws: int | None, thin: int, seconds: float, attempt: int
) -> Outcome:
    """`advance` for an executor that is not ours, perhaps in another process.

    The chain passed in is left as it is, so that a slice that is lost can be made again. Errors of
    the sampler are returned, not raised: if the task raises one, the executor has failed.
    ``attempt`` makes the call differ from one that was lost: Dask computes equal calls only once.
    """
    try:
        sampler = unpack(parcel)
        if sampler is None:
            return None
        chain = copy.deepcopy(chain)
        rows = max(1, _REMOTE_BYTES // row_bytes(sampler))
        if draws is not None:
            rows = min(rows, draws - chain.drawn)
        subsets, tracked = empty_rows(sampler, rows)
        made = advance(sampler, chain, subsets, tracked, thin, seconds)
        return chain, subsets[:made], tracked[:made]
    except Exception as error:
        error.add_note(f"In a task of the executor:\n{traceback.format_exc()}")
        return error


class LostWorkers(Exception):  # noqa: N818 - the run ends early, and what was drawn is kept
    """The executor does no more work; slices that were collected before are stored."""


class _Tasks:
    """The slices under way on an executor, one for each chain that is not done.

    Parameters
    ----------
    length : float
        Seconds that a slice takes, about.
    parcel : Parcel or None
        The sampler for the processes of the executor; None for a pool of threads of our own, which
        change the chains in place.
    """

    def __init__(
        self, run: Run, executor: Executor, length: float, parcel: Parcel | None = None
    ) -> None:
        self.run, self.executor, self.length, self.parcel = run, executor, length, parcel
        self.under_way: dict[futures.Future[Outcome], int] = {}
        self.stopping = False
        self._lost = [0] * len(run.chains)  # slices of each chain lost in a row
        self._needed = [True] * len(run.chains)  # whether the sampler travels with the next slice

    def submit(self, index: int) -> None:
        """Begin the next slice of a chain, unless the chain is done or the run is to stop."""
        run, chain = self.run, self.run.chains[index]
        if chain.drawn == run.draws or self.stopping:
            return
        if self.parcel is None:
            task: futures.Future[Outcome] = self.executor.submit(run.advance, index, self.length)
        else:
            parcel = self.parcel if self._needed[index] else (self.parcel[0], None)
            call = parcel, chain, run.draws, run.thin, self.length, self._lost[index]
            try:
                task = self.executor.submit(_advance_elsewhere, *call)
            except Exception as error:
                raise LostWorkers(f"the executor takes no more work ({error})") from error
        self.under_way[task] = index

    def collect(self, task: futures.Future[Outcome]) -> int:
        """Store what a slice has drawn; return its chain."""
        index = self.under_way.pop(task)
        try:
            found = task.result()
        except Exception as error:
            if self.stopping and isinstance(error, futures.CancelledError):
                return index
            if self.parcel is None:
                raise
            self._lost[index] += 1
            if isinstance(error, futures.BrokenExecutor) or self._lost[index] > _RETRIES:
                raise LostWorkers(
                    f"the executor has lost its workers ({type(error).__name__}: {error})"
                ) from error
            return index
        if isinstance(found, Exception):
            raise found
        self._lost[index] = 0
        self._needed[index] = found is None
        if found is not None:
            self.run.store(index, *found)
        return index

    def stop(self, *, at_once: bool = False) -> None:
        """Submit no more slices, and cancel those that have not begun.

        The first slice of a chain is cancelled only with ``at_once``.
        """
        self.stopping = True
        for task, index in self.under_way.items():
            if at_once or self.run.chains[index].seconds:
                task.cancel()


def run_chains(
    run: Run,
    limit: float = float("inf"),
    executor: Executor | None = None,
    workers: int | None = None,
    after_slice: Callable[[], None] = lambda: None,
) -> None:
    """Advance all chains in turn until they are done or the time is up; store their draws.

    The time is ``limit`` seconds. ``after_slice`` is called whenever slices have been stored. If
    one thread is enough, the calling thread makes the slices.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, once the slices under way have been stored.
    LostWorkers
        If the executor is broken, or has lost too many slices of one chain in a row.
    """
    deadline = time.perf_counter() + limit
    chains = len(run.chains)
    processors = 1 if chains == 1 else min(chains, workers or os.cpu_count() or 1)
    short = limit * processors / (8 * chains)  # leaves time for a few turns of every chain
    length = min(THREAD_SLICE if executor is None else REMOTE_SLICE, short)
    if executor is not None:
        _take_turns(_Tasks(run, executor, length, pack(run.sampler)), deadline, after_slice)
    elif processors == 1:
        _take_turns_here(run, length, deadline, after_slice)
    else:
        with futures.ThreadPoolExecutor(processors) as threads:
            _take_turns(_Tasks(run, threads, length), deadline, after_slice)


def _take_turns_here(
    run: Run, length: float, deadline: float, after_slice: Callable[[], None]
) -> None:
    """Make slices of all chains in turn, in this thread."""
    while not run.done:
        for index, chain in enumerate(run.chains):
            left = deadline - time.perf_counter()
            # Every chain has one slice, however short the time.
            if chain.drawn != run.draws and (left > 0 or not chain.seconds):
                run.store(index, *run.advance(index, min(length, left)))
                after_slice()
        if time.perf_counter() >= deadline:
            return


def _take_turns(tasks: _Tasks, deadline: float, after_slice: Callable[[], None]) -> None:
    """Submit and collect slices of all chains until no slice is under way."""
    try:
        for index in range(len(tasks.run.chains)):
            tasks.submit(index)
        while tasks.under_way:
            left = None
            if deadline < float("inf") and not tasks.stopping:
                left = max(0.0, deadline - time.perf_counter())
            done, _ = futures.wait(tasks.under_way, left, futures.FIRST_COMPLETED)
            if time.perf_counter() >= deadline:
                tasks.stop()
            for task in done:
                tasks.submit(tasks.collect(task))
            after_slice()
    except KeyboardInterrupt:
        tasks.stop(at_once=True)
        for task in futures.wait(tasks.under_way).done:
            # Ctrl-C also reaches worker processes: their current slices are lost, others are not.
            with contextlib.suppress(Exception, KeyboardInterrupt):
                tasks.collect(task)
        raise
    finally:
        tasks.stop(at_once=True)
