"""Slices of work on chains; between two slices Python has control.

A chain is its generator and its state. One task advances one chain for a slice of time; chains take
turns, so that all of them have about equally many draws at any moment. Draws do not depend on how
their steps are cut into slices, nor on where the slices run. A slice may end in the middle of the
``thin`` steps to a draw: the chain then carries the steps made so far. A slice may also end in the
middle of an independent draw that takes long: the chain's state then holds the unfinished draw.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp._arguments import available_memory, physical_memory
from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.chains.contract import Sampler, State

BLOCK = 0.01  # seconds aimed at for one call of compiled code
# Multiplications of the first call of a slice, if a step takes r^2 n: walks take about as many.
_FIRST_WORK = 100_000
# A call makes at most so many times the steps of the last one: few steps measure the pace poorly.
_STEPS_GROWTH = 16
_CHAIN_BYTES = 4096  # memory of a generator and the objects around it, measured and rounded up
_ALWAYS_THERE = 2**20  # bytes that every machine has
_FIRST_ROOM = 1024  # draws for which arrays have room at first, if the number of draws is open
_GROWTH = 2  # factor by which this room grows when it is full

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass
class Chain:
    """One chain: everything needed to go on with it, here or in another process."""

    rng: Rng
    state: State
    taken: int  # steps made towards the next draw; if negative, -taken steps of burn-in are left
    drawn: int = 0
    seconds: float = 0.0
    sums: Floats = field(default_factory=lambda: np.zeros(0))  # of what was tracked in these steps
    steps: int = 0  # that one call of compiled code makes in about BLOCK seconds; 0: not known yet

    def position(self, thin: int) -> int:
        """Count the steps made, from ``-burn_in`` on: draw k is finished at ``k * thin``."""
        return self.drawn * thin + self.taken


Slice = tuple[Chain, Subsets, Floats]  # a chain with what a slice has drawn


@dataclass
class Run:
    """The chains of one call of `sample`, and their draws.

    The arrays of draws have room for all of them, or grow if their number is open. Threads write
    into them directly, and a chain counts a draw once it is there.
    """

    sampler: Sampler
    chains: list[Chain]
    draws: int | None  # of each chain; None: as many as the time allows
    thin: int
    abreast: int = 1  # chains that each `Chain` stands for: 1, or on a GPU all chains of the run
    # For checkpoints: copies of the chains as their last slices have left them, or nothing.
    rested: list[Chain] = field(default_factory=list)
    full: bool = field(
        default=False, init=False
    )  # whether memory has ended an open number of draws
    subsets: Subsets = field(init=False)
    tracked: Floats = field(init=False)

    def __post_init__(self) -> None:
        room = _FIRST_ROOM if self.draws is None else self.draws
        self.subsets, self.tracked = empty_rows(self.sampler, len(self.chains), room)

    @property
    def done(self) -> bool:
        """Whether all chains have all their draws."""
        return self.length == self.draws

    @property
    def length(self) -> int:
        """The draws of the shortest chain."""
        return min([chain.drawn for chain in self.chains])

    @property
    def counts(self) -> Integers:
        """What has been counted, (chains, counters)."""
        counts = np.array([chain.state["counts"] for chain in self.chains])
        return counts.reshape(-1, len(self.sampler.counters))

    def advance(self, index: int, seconds: float) -> Slice:
        """Advance one chain for about ``seconds``; its draws go into the arrays at once."""
        chain = self.chains[index]
        subsets, tracked = self.subsets[index, chain.drawn :], self.tracked[index, chain.drawn :]
        made = advance(self.sampler, chain, subsets, tracked, self.thin, seconds)
        return chain, subsets[:made], tracked[:made]

    def store(self, index: int, chain: Chain, subsets: Subsets, tracked: Floats) -> None:
        """Take over a chain as a slice has left it, with the draws of that slice."""
        end = chain.drawn
        # A checkpoint may hold more draws than are asked for, which is an error that comes later.
        open_ended = self.draws is None or end > self.draws
        if open_ended and end >= self.subsets.shape[1] and not self._grow(end):
            self.full, self.draws = True, self.subsets.shape[1]
            if end > self.draws:  # the slice came from elsewhere; a shorter one is made instead
                return
        if subsets.base is not self.subsets:  # made elsewhere, or before the arrays grew
            self.subsets[index, end - len(subsets) : end] = subsets
            self.tracked[index, end - len(subsets) : end] = tracked
        self.chains[index] = chain  # last: Ctrl-C before this line leaves no counted draw unstored
        if self.rested:
            self.rested[index] = copy.deepcopy(chain)  # threads change the chain itself in place

    def _grow(self, end: int) -> bool:
        """Make room for more draws than ``end``; False if memory has no room for them.

        The arrays may be copied twice: now, and when the draws are cut to the shortest chain.
        """
        chains, room = self.subsets.shape[:2]
        larger = _GROWTH * max(end, room)
        held = chains * room * row_bytes(self.sampler)
        if 2 * chains * larger * row_bytes(self.sampler) - held > available_memory():
            return False
        try:
            subsets, tracked = empty_rows(self.sampler, chains, larger)
        except MemoryError:
            return False
        subsets[:, :room], tracked[:, :room] = self.subsets, self.tracked
        self.subsets, self.tracked = subsets, tracked
        return True

    def cut(self) -> tuple[Subsets, Floats]:
        """Return the draws of all chains, cut to the length of the shortest chain."""
        length = self.length
        if length == self.subsets.shape[1] and self.abreast == 1:
            return self.subsets, self.tracked
        subsets, tracked = self.subsets[:, :length], self.tracked[:, :length]
        subsets, tracked = self.apart(subsets), self.apart(tracked)
        try:
            return subsets.copy(), tracked.copy()
        except MemoryError:  # views keep the larger arrays alive
            return subsets, tracked

    def apart(self, rows: NDArray[Scalar]) -> NDArray[Scalar]:
        """Split rows, (chains, draws, width), into those of the chains that each one stands for."""
        chains, draws, width = rows.shape
        split = rows.reshape(chains, draws, self.abreast, width // self.abreast)
        return split.swapaxes(1, 2).reshape(chains * self.abreast, draws, width // self.abreast)


def empty_rows(sampler: Sampler, *shape: int) -> tuple[Subsets, Floats]:
    """Return arrays for draws and for what is tracked; memory is used once it is written."""
    item = np.int32 if sampler.tracker.n < 2**31 else np.int64
    subsets = np.empty((*shape, sampler.width), item)
    return subsets, np.zeros((*shape, sampler.tracker.size))


def row_bytes(sampler: Sampler) -> int:
    """Return the bytes that one draw takes."""
    return 4 * sampler.width + 8 * sampler.tracker.size


def _need_memory(size: int, what: str) -> None:
    """Raise MemoryError if something takes more bytes than this machine has."""
    if size > (memory := physical_memory()):
        raise MemoryError(
            f"{what} take about {size / 2**30:,.0f} GiB, and this machine has "
            f"{memory / 2**30:,.0f} GiB of memory; ask for fewer chains or draws"
        )


def need_room(sampler: Sampler, chains: int, draws: int | None) -> None:
    """Raise MemoryError if so many draws do not fit into memory."""
    room = _FIRST_ROOM if draws is None else draws
    size = chains * (_CHAIN_BYTES + room * row_bytes(sampler))
    if size > _ALWAYS_THERE:  # else no check is needed
        _need_memory(size, f"{chains:,} chains of {room:,} draws")


def start_chains(
    sampler: Sampler, generators: list[Rng], starts: Iterable[ArrayLike | None], burn_in: int
) -> list[Chain]:
    """Start one chain for each generator and starting point."""
    chains: list[Chain] = []
    for generator, init in zip(generators, starts, strict=True):
        state = sampler.start(generator, init)
        if len(generators) > 1 and not chains:
            size = len(generators) * sum(array.nbytes for array in state.values())
            _need_memory(size, f"the states of {len(generators):,} chains")
        chains.append(Chain(generator, state, -burn_in, sums=np.zeros(sampler.tracker.size)))
    return chains


def advance(
    sampler: Sampler, chain: Chain, subsets: Subsets, tracked: Floats, thin: int, seconds: float
) -> int:
    """Advance one chain for about ``seconds``, or until the arrays are full.

    Return the number of new draws, which are the first rows of the arrays. ``tracked`` holds zeros.
    """
    before = begun = time.perf_counter()
    made = 0
    guess = _FIRST_WORK // (sampler.width**2 * sampler.tracker.n)
    steps = int(chain.steps * min(1.0, seconds / BLOCK)) or min(max(1, guess), _STEPS_GROWTH)
    while True:
        position = chain.position(thin)
        rows = slice(made, min(made + max(1, steps // thin), len(subsets)))
        new = _make_steps(sampler, chain, thin, steps, subsets[rows], tracked[rows])
        now = time.perf_counter()
        made += new
        chain.drawn += new
        chain.seconds += now - before
        if made == len(subsets) or now - begun >= seconds:
            return made
        taken = max(1, chain.position(thin) - position)  # a draw that takes long counts as a step
        pace = taken / max(now - before, 1e-7)
        chain.steps = max(1, int(min(pace * BLOCK, _STEPS_GROWTH * taken)))
        steps = max(1, int(min(chain.steps, pace * (begun + seconds - now))))
        before = now


def _make_steps(
    sampler: Sampler, chain: Chain, thin: int, steps: int, subsets: Subsets, tracked: Floats
) -> int:
    """Make ``steps`` steps, or fewer; return how many draws they have finished.

    A draw that they do not finish stays with the chain. What is tracked is summed up step by step
    and divided at the end, so that averages do not depend on where the steps are cut.
    """
    if chain.taken == 0 and steps >= thin:
        made = sampler.advance(chain.state, chain.rng, subsets, tracked, thin)
        draws, chain.taken = (len(subsets), 0) if made is None else divmod(made, thin)
        if draws < len(subsets):  # the next draw has begun, or not even that
            chain.sums[:] = tracked[draws]
            tracked[draws] = 0.0
        if thin > 1:
            tracked[:draws] /= thin
        return draws
    # Sums are not kept during burn-in, which ends when ``taken`` is zero.
    sums, goal = (np.zeros_like(chain.sums), 0) if chain.taken < 0 else (chain.sums, thin)
    part = min(steps, goal - chain.taken)
    made = sampler.advance(chain.state, chain.rng, subsets[:1], sums[None, :], part)
    chain.taken += part if made is None else made
    if chain.taken < thin:
        return 0
    tracked[0] = chain.sums / thin
    chain.sums[:] = 0.0
    chain.taken = 0
    return 1
