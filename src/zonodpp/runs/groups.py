"""Groups of chains, and slices of work on them; between two slices Python has control.

A group is the chains that one call of the sampler advances: one chain on a processor, all chains of
the run on a device. Groups take turns, a slice of time each, so that all of them have about equally
many draws at any moment. Draws do not depend on how their steps are cut into slices, nor on where
the slices run. A slice may end in the middle of the ``thin`` steps to a draw: the group then
carries the steps made so far. It may also end within a draw, or within steps, that the sampler has
left unfinished: the state then holds what is left, and the next call goes on with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np

from zonodpp._arguments import available_memory, physical_memory
from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.chains.contract import Block, Sampler, State
from zonodpp.chains.tracking import NO_SETS, TrackedSets
from zonodpp.targets.base import Arrays

SLICE = 0.05  # seconds that a thread works on one group before it takes the next
BLOCK = 0.01  # seconds aimed at for one call of compiled code
# Multiplications of the first call of a slice, if a step takes r^2 n: walks take about as many.
_FIRST_WORK = 100_000
# A call makes at most so many times the steps of the last one: few steps measure the pace poorly.
_STEPS_GROWTH = 16
# Types of items in draws; they have one type in annotations.
_SHORT, _LONG = np.dtype(np.int32), cast("np.dtype[np.int32]", np.dtype(np.int64))
_CHAIN_BYTES = 4096  # memory of a generator and the objects around it, measured and rounded up
_ALWAYS_THERE = 2**20  # bytes that every machine has
_FIRST_ROOM = 1024  # draws for which arrays have room at first, if the number of draws is open
_GROWTH = 2  # factor by which this room grows when it is full


@dataclass
class Group:
    """Chains that advance together: everything needed to go on with them, here or elsewhere."""

    span: slice  # of the chains of the run
    rngs: list[Rng]
    state: State
    sums: Floats  # (chains, sets) of what was tracked in the steps towards the next draw
    taken: int  # steps made towards the next draw; if negative, -taken steps of burn-in are left
    unfinished: int = 0  # the ``thin`` of a call that left a draw in the state; 0 if there is none
    drawn: int = 0
    seconds: float = 0.0
    steps: int = 0  # that one call of compiled code makes in about BLOCK seconds; 0: not known yet

    @property
    def chains(self) -> int:
        """The number of chains."""
        return len(self.rngs)

    def position(self, thin: int) -> int:
        """Count the steps made, from ``-burn_in`` on: draw k is finished at ``k * thin``."""
        return self.drawn * thin + self.taken

    def at_rest(self) -> Rested:
        """Return a copy of what a checkpoint holds."""
        counted = np.array([self.drawn, self.taken, self.unfinished])
        run = {"steps": counted, "sums": self.sums.copy(), "seconds": np.array([self.seconds])}
        state = {name: array.copy() for name, array in self.state.items()}
        return Rested(self.drawn, run, state, [rng.bit_generator.state for rng in self.rngs])


class Rested(NamedTuple):
    """A group as its last slice has left it."""

    drawn: int
    run: Arrays  # what the run knows of it
    state: Arrays
    generators: list[Mapping[str, Any]]


class Slice(NamedTuple):
    """A group as a slice of work has left it, and what it has drawn."""

    group: Group
    subsets: Subsets  # (chains, draws, width)
    tracked: Floats  # (chains, draws, sets)


@dataclass
class Run:
    """The chains of one call of `sample`, in groups, and their draws.

    The arrays of draws have room for all of them, or grow if their number is open. Threads write
    into them directly, and a group counts a draw once it is there.
    """

    sampler: Sampler
    groups: list[Group]
    draws: int | None  # of each chain; None: as many as the time allows
    thin: int
    sets: TrackedSets = NO_SETS  # those that the sampler adds up
    # For checkpoints: the groups as their last slices have left them, or nothing.
    rested: list[Rested] = field(default_factory=list)
    # Whether memory has ended an open number of draws.
    full: bool = field(default=False, init=False)
    subsets: Subsets = field(init=False)
    tracked: Floats = field(init=False)

    def __post_init__(self) -> None:
        room = _FIRST_ROOM if self.draws is None else self.draws
        self.subsets, self.tracked = empty_rows(self.sampler, self.sets, self.chains, room)

    @property
    def chains(self) -> int:
        """The number of chains."""
        return sum(group.chains for group in self.groups)

    @property
    def done(self) -> bool:
        """Whether all chains have all their draws."""
        return self.length == self.draws

    @property
    def length(self) -> int:
        """The draws of the shortest chain."""
        return min([group.drawn for group in self.groups])

    @property
    def counts(self) -> Integers:
        """What has been counted, (chains, counters)."""
        return np.concatenate([group.state["counts"] for group in self.groups])

    def advance(self, index: int, seconds: float) -> Slice:
        """Advance one group for about ``seconds``; its draws go into the arrays at once."""
        group = self.groups[index]
        rows = group.span, slice(group.drawn, None)
        block = Block(self.subsets[rows], self.tracked[rows], self.thin)
        made = advance(self.sampler, group, block, self.sets, seconds)
        return Slice(group, block.subsets[:, :made], block.tracked[:, :made])

    def store(self, index: int, done: Slice) -> None:
        """Take over a group as a slice has left it, with the draws of that slice."""
        group, subsets, tracked = done
        end = group.drawn
        # A checkpoint may hold more draws than are asked for, which is an error that comes later.
        open_ended = self.draws is None or end > self.draws
        if open_ended and end >= self.subsets.shape[1] and not self._grow(end):
            self.full, self.draws = True, self.subsets.shape[1]
            if end > self.draws:  # the slice came from elsewhere; a shorter one is made instead
                return
        if subsets.base is not self.subsets:  # made elsewhere, or before the arrays grew
            rows = group.span, slice(end - subsets.shape[1], end)
            self.subsets[rows], self.tracked[rows] = subsets, tracked
        self.groups[index] = group  # last: Ctrl-C before this line leaves no counted draw unstored
        if self.rested:
            self.rested[index] = group.at_rest()  # threads change the group itself in place

    def _grow(self, end: int) -> bool:
        """Make room for more draws than ``end``; False if memory has no room for them.

        The arrays may be copied twice: now, and when the draws are cut to the shortest chain.
        """
        chains, room = self.subsets.shape[:2]
        larger = _GROWTH * max(end, room)
        row = row_bytes(self.sampler, self.sets)
        if chains * (2 * larger - room) * row > available_memory():
            return False
        try:
            subsets, tracked = empty_rows(self.sampler, self.sets, chains, larger)
        except MemoryError:
            return False
        subsets[:, :room], tracked[:, :room] = self.subsets, self.tracked
        self.subsets, self.tracked = subsets, tracked
        return True

    def cut(self) -> tuple[Subsets, Floats]:
        """Return the draws of all chains, cut to the length of the shortest chain."""
        length = self.length
        if length == self.subsets.shape[1]:
            return self.subsets, self.tracked
        subsets, tracked = self.subsets[:, :length], self.tracked[:, :length]
        try:
            return subsets.copy(), tracked.copy()
        except MemoryError:  # views keep the larger arrays alive
            return subsets, tracked


def empty_rows(
    sampler: Sampler, sets: TrackedSets, chains: int, draws: int
) -> tuple[Subsets, Floats]:
    """Return arrays for draws and for what is tracked; memory is used once it is written."""
    subsets = np.empty((chains, draws, sampler.width), item_type(sampler))
    return subsets, np.zeros((chains, draws, sets.size))


def item_type(sampler: Sampler) -> np.dtype[np.int32]:
    """Return the type of the items in draws."""
    return _SHORT if sampler.n < 2**31 else _LONG


def row_bytes(sampler: Sampler, sets: TrackedSets) -> int:
    """Return the bytes that one draw takes."""
    return 4 * sampler.width + 8 * sets.size


def _need_memory(size: int, what: str) -> None:
    """Raise MemoryError if something takes more bytes than this machine has."""
    if size > (memory := physical_memory()):
        raise MemoryError(
            f"{what} take about {size / 2**30:,.0f} GiB, and this machine has "
            f"{memory / 2**30:,.0f} GiB of memory; ask for fewer chains or draws"
        )


def need_room(sampler: Sampler, sets: TrackedSets, chains: int, draws: int | None) -> None:
    """Raise MemoryError if so many draws do not fit into memory."""
    room = _FIRST_ROOM if draws is None else draws
    size = chains * (_CHAIN_BYTES + room * row_bytes(sampler, sets))
    if size > _ALWAYS_THERE:  # else no check is needed
        _need_memory(size, f"{chains:,} chains of {room:,} draws")


def start_groups(
    sampler: Sampler,
    rngs: list[Rng],
    init: Integers | None = None,
    burn_in: int = 0,
    sets: TrackedSets = NO_SETS,
) -> list[Group]:
    """Start one chain for each generator, at its row of ``init``, and group the chains."""
    groups: list[Group] = []
    chains = len(rngs)
    batch = sampler.batch or chains
    for first in range(0, chains, batch):
        span = slice(first, min(first + batch, chains))
        own = rngs[span]
        state = sampler.start(own, None if init is None else init[span], sets)
        if not groups and chains > 1:
            size = sum(array.nbytes for array in state.values()) * chains // len(own)
            _need_memory(size, f"the states of {chains:,} chains")
        groups.append(Group(span, own, state, np.zeros((len(own), sets.size)), -burn_in))
    return groups


def take_turns(
    run: Run, short: float, deadline: float, after_slice: Callable[[], None] | None
) -> None:
    """Make slices of all groups in turn, in this thread, until they are done or the time is up.

    Slices take at most ``short`` seconds; ``after_slice`` is called after each.
    """
    length = min(SLICE, short)
    while not run.done:
        for index, group in enumerate(run.groups):
            left = deadline - time.perf_counter()
            # Every group has one slice, however short the time.
            if group.drawn != run.draws and (left > 0 or not group.seconds):
                run.store(index, run.advance(index, min(length, left)))
                if after_slice is not None:
                    after_slice()
        if time.perf_counter() >= deadline:
            return


def advance(sampler: Sampler, group: Group, block: Block, sets: TrackedSets, seconds: float) -> int:
    """Advance a group for about ``seconds``, or until the block is full.

    Return the number of new draws, which are the first rows of the block. Its ``tracked`` holds
    zeros.
    """
    before = begun = time.perf_counter()
    made, (_, room, width), thin = 0, block.subsets.shape, block.thin
    guess = _FIRST_WORK // (width**2 * sampler.n)
    steps = int(group.steps * min(1.0, seconds / BLOCK)) or min(max(1, guess), _STEPS_GROWTH)
    while True:
        position = group.position(thin)
        rows = slice(made, min(made + max(1, steps // thin), room))
        part = Block(block.subsets[:, rows], block.tracked[:, rows], thin)
        new = _make_steps(sampler, group, part, sets, steps)
        now = time.perf_counter()
        made += new
        group.drawn += new
        group.seconds += now - before
        if made == room or now - begun >= seconds:
            return made
        taken = max(1, group.position(thin) - position)  # a draw that takes long counts as a step
        pace = taken / max(now - before, 1e-7)
        group.steps = max(1, int(min(pace * BLOCK, _STEPS_GROWTH * taken)))
        steps = max(1, int(min(group.steps, pace * (begun + seconds - now))))
        before = now


def _make_steps(sampler: Sampler, group: Group, block: Block, sets: TrackedSets, steps: int) -> int:
    """Make ``steps`` steps, or fewer; return how many draws they have finished.

    A draw that they do not finish stays with the group. What is tracked is summed up step by step
    and divided at the end, so that averages do not depend on where the steps are cut.
    """
    subsets, tracked, thin = block
    rows, sums = subsets.shape[1], group.sums
    if group.taken == 0 and (group.unfinished or steps) >= thin:
        if group.unfinished:
            tracked[:, 0], sums[:], group.unfinished = sums, 0.0, 0
        made = sampler.advance(group.state, group.rngs, block, sets)
        if made < rows:
            sums[:], tracked[:, made], group.unfinished = tracked[:, made], 0.0, thin
        if thin > 1:
            tracked[:, :made] /= thin
        return made
    # Sums are not kept during burn-in, which ends when ``taken`` is zero.
    sums, goal = (np.zeros_like(sums), 0) if group.taken < 0 else (sums, thin)
    part = group.unfinished or min(steps, goal - group.taken)
    row = Block(subsets[:, :1], sums[:, None], part)
    group.unfinished = 0 if sampler.advance(group.state, group.rngs, row, sets) else part
    if not group.unfinished:
        group.taken += part
    if group.taken < thin:
        return 0
    tracked[:, 0] = group.sums / thin
    group.sums[:] = 0.0
    group.taken = 0
    return 1
