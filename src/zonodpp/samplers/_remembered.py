"""What is prepared once and remembered: samplers for targets, and states in which chains start."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from zonodpp._threads import one_thread
from zonodpp._types import Rng
from zonodpp.samplers._contract import State
from zonodpp.targets._target import Target

Made = TypeVar("Made")

_MOST_REMEMBERED = 8  # prepared objects kept for one target, by methods with their options
_STARTS = 64  # states in which chains start: so many that few of a run's chains share one
_START_SEED = (0x7A6F6E6F, 0x64707022)  # arbitrary, and used for nothing else
SMALL_STATE = 2**18  # bytes of a state that is still remembered: all starts take 16 MiB at most
_CACHE_LINE = 64  # bytes
_remembered: WeakKeyDictionary[Target, dict[Hashable, Any]] = WeakKeyDictionary()


def remember(target: Target, key: Hashable, make: Callable[[], Made]) -> Made:
    """Return what ``make`` returned for this target and key before, or call it now.

    What is made is forgotten together with the target, so it must not refer to the target. For one
    target only the few objects that were used last are kept.
    """
    known = _remembered.setdefault(target, {})
    found: Made | None = known.pop(key, None)
    if found is None:
        with one_thread(target.r**2 * target.n):
            found = make()
    known[key] = found  # in the last place: the first one is forgotten first
    if len(known) > _MOST_REMEMBERED:
        known.pop(next(iter(known)), None)
    return found


class PackedState(NamedTuple):
    """A state in one block of memory, in which each array begins with a cache line."""

    memory: NDArray[np.uint8]
    parts: list[tuple[str, tuple[int, ...], np.dtype[np.generic], int]]  # int: the first byte


def packed(state: State) -> PackedState:
    """Copy a state into one block; a record of NumPy could not be larger than 2 GiB."""
    parts, size = [], 0
    for name, array in state.items():
        parts.append((name, array.shape, array.dtype, size))
        size += array.nbytes + -array.nbytes % _CACHE_LINE
    memory = np.empty(size, np.uint8)
    for name, shape, dtype, first in parts:
        np.ndarray(shape, dtype, memory, first)[...] = state[name]
    return PackedState(memory, parts)


def unpacked(state: PackedState) -> State:
    """Return a state whose arrays are views of a new copy of the block."""
    memory = line_aligned(state.memory.size)
    memory[:] = state.memory
    return {
        name: np.ndarray(shape, dtype, memory, first) for name, shape, dtype, first in state.parts
    }


def line_aligned(size: int) -> NDArray[np.uint8]:
    """Allocate so many bytes that begin with a cache line.

    Updates of an inverse that begins with a cache line are faster by a third, and threads that
    write to cache lines of their own do not wait for one another.
    """
    memory = np.empty(size + _CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE
    return memory[start : start + size]


def remembered_start(
    known: dict[int, PackedState], rng: Rng, make: Callable[[Rng], State]
) -> State:
    """Return the state of a fresh chain: a copy of one of `_STARTS` states, picked at random.

    ``make`` makes each of them when it is first picked, by a generator that belongs to its number,
    so that no draw depends on earlier calls. ``known`` remembers those that are small.
    """
    number = int(rng.random() * _STARTS)
    state = known.get(number)
    if state is None:
        with one_thread():
            state = packed(make(np.random.default_rng((*_START_SEED, number))))
        if state.memory.size <= SMALL_STATE:
            known[number] = state
    return unpacked(state)
