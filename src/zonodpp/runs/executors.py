"""Slices of all groups on an executor: submitted in turn, collected, made again when lost."""

from __future__ import annotations

import contextlib
import copy
import pickle
import sys
import time
import traceback
import uuid
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Executor
from typing import NamedTuple

from zonodpp.chains.contract import Block, Sampler
from zonodpp.chains.tracking import TrackedSets
from zonodpp.numerics.arrays import refreeze
from zonodpp.runs.groups import SLICE, Group, Run, Slice, advance, empty_rows, row_bytes

REMOTE_SLICE = 0.5  # seconds of a slice in a process or on a cluster, where a task has to travel
_RETRIES = 3  # times that a slice which the executor has lost is made again
_REMOTE_BYTES = 2**26  # of draws that a slice elsewhere makes at most
_MOST_KNOWN = 4  # samplers that a process of an executor keeps

_known: dict[str, Sampler] = {}  # samplers that have travelled to this process, by their keys

AfterSlice = Callable[[], None] | None  # is called when slices have been stored
Outcome = Slice | Exception | None  # of a task: None if its process does not have the sampler


class Parcel(NamedTuple):
    """A sampler on its way to the processes of an executor: it travels to each of them once."""

    key: str
    content: bytes | Sampler | None  # None if the process should know the sampler by its key

    @classmethod
    def of(cls, sampler: Sampler) -> Parcel:
        """Pack a sampler as bytes, or as it is if it cannot be pickled here.

        The executor may then pickle it in a way of its own. Cloudpickle, which Dask loads, also
        takes classes that workers cannot import.
        """
        dumps: Callable[[Sampler], bytes] = sys.modules.get("cloudpickle", pickle).dumps
        key = uuid.uuid4().hex
        try:
            return cls(key, dumps(sampler))
        except Exception:  # pickling objects of other packages may raise anything
            return cls(key, sampler)

    def unpack(self) -> Sampler | None:
        """Return the sampler, which this process then knows by its key; None if it does not."""
        if self.content is None:
            return _known.get(self.key)
        content = self.content
        sampler: Sampler = pickle.loads(content) if isinstance(content, bytes) else content
        refreeze(sampler)
        _known[self.key] = sampler
        while len(_known) > _MOST_KNOWN:
            _known.pop(next(iter(_known)), None)
        return sampler


class Work(NamedTuple):
    """What a slice elsewhere is to do."""

    group: Group
    sets: TrackedSets
    draws: int | None
    thin: int
    seconds: float
    attempt: int  # makes a slice differ from one that was lost: Dask does equal tasks only once


def _advance_elsewhere(parcel: Parcel, work: Work) -> Outcome:
    """`advance` for an executor that is not ours, perhaps in another process.

    The group passed in is left as it is, so that a slice that is lost can be made again. Errors of
    the sampler are returned, not raised: if the task raises one, the executor has failed.
    """
    try:
        sampler = parcel.unpack()
        if sampler is None:
            return None
        group, sets = copy.deepcopy(work.group), work.sets
        rows = max(1, _REMOTE_BYTES // (group.chains * row_bytes(sampler, sets)))
        if work.draws is not None:
            rows = min(rows, work.draws - group.drawn)
        block = Block(*empty_rows(sampler, sets, group.chains, rows), work.thin)
        made = advance(sampler, group, block, sets, work.seconds)
        return Slice(group, block.subsets[:, :made], block.tracked[:, :made])
    except Exception as error:
        error.add_note(f"In a task of the executor:\n{traceback.format_exc()}")
        return error


class LostWorkers(Exception):  # noqa: N818 - the run ends early, and what was drawn is kept
    """The executor does no more work; slices that were collected before are stored."""


class _Tasks:
    """The slices under way on an executor, one for each group that is not done.

    Parameters
    ----------
    length : float
        Seconds that a slice takes, about.
    parcel : Parcel or None
        The sampler for the processes of the executor; None for a pool of threads of our own, which
        change the groups in place.
    """

    def __init__(
        self, run: Run, executor: Executor, length: float, parcel: Parcel | None = None
    ) -> None:
        self.run, self.executor, self.length, self.parcel = run, executor, length, parcel
        self.under_way: dict[futures.Future[Outcome], int] = {}
        self.stopping = False
        self._lost = [0] * len(run.groups)  # slices of each group lost in a row
        self._needed = [True] * len(run.groups)  # whether the sampler travels with the next slice

    def submit(self, index: int) -> None:
        """Begin the next slice of a group, unless the group is done or the run is to stop."""
        run, group = self.run, self.run.groups[index]
        if group.drawn == run.draws or self.stopping:
            return
        if self.parcel is None:
            task: futures.Future[Outcome] = self.executor.submit(run.advance, index, self.length)
        else:
            parcel = self.parcel if self._needed[index] else Parcel(self.parcel.key, None)
            lost = self._lost[index]
            work = Work(group, run.sets, run.draws, run.thin, self.length, attempt=lost)
            try:
                task = self.executor.submit(_advance_elsewhere, parcel, work)
            except Exception as error:
                raise LostWorkers(f"the executor takes no more work ({error})") from error
        self.under_way[task] = index

    def collect(self, task: futures.Future[Outcome]) -> int:
        """Store what a slice has drawn; return its group."""
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
            self.run.store(index, found)
        return index

    def stop(self, *, at_once: bool = False) -> None:
        """Submit no more slices, and cancel those that have not begun.

        The first slice of a group is cancelled only with ``at_once``.
        """
        self.stopping = True
        for task, index in self.under_way.items():
            if at_once or self.run.groups[index].seconds:
                task.cancel()


def run_on_threads(
    run: Run, threads: int, short: float, deadline: float, after_slice: AfterSlice
) -> None:
    """Advance all groups on threads until they are done or the time is up; store their draws.

    Slices take at most ``short`` seconds; ``after_slice`` is called whenever some are stored.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, once the slices under way have been stored.
    """
    with futures.ThreadPoolExecutor(threads) as executor:
        _take_turns(_Tasks(run, executor, min(SLICE, short)), deadline, after_slice)


def run_elsewhere(
    run: Run, executor: Executor, short: float, deadline: float, after_slice: AfterSlice
) -> None:
    """Do as `run_on_threads`, on an executor that is not ours.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, once the slices under way have been stored.
    LostWorkers
        If the executor is broken, or has lost too many slices of one group in a row.
    """
    tasks = _Tasks(run, executor, min(REMOTE_SLICE, short), Parcel.of(run.sampler))
    _take_turns(tasks, deadline, after_slice)


def _take_turns(tasks: _Tasks, deadline: float, after_slice: AfterSlice) -> None:
    """Submit and collect slices of all groups until no slice is under way."""
    try:
        for index in range(len(tasks.run.groups)):
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
            if after_slice is not None:
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
