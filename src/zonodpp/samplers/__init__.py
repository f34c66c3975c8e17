"""One file for each algorithm: a method object that holds the options, and what it prepares.

The protocols `Method` and `Sampler` say what `zonodpp.runs` needs of both.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp._threads import one_thread
from zonodpp._types import Floats, Rng, Subsets
from zonodpp.targets.target import Target

if TYPE_CHECKING:
    from zonodpp.samplers.tracking import SetTracker

State = dict[str, NDArray[Any]]
Sets = Sequence[Sequence[int]] | None  # tracked sets of item numbers
Made = TypeVar("Made")

_MOST_REMEMBERED = 8  # prepared objects kept for one target, by methods with their options
_STARTS = 64  # states in which chains start: so many that few of a run's chains share one
_START_SEED = (0x7A6F6E6F, 0x64707022)  # arbitrary, and used for nothing else
SMALL_STATE = 2**18  # bytes up to which the state of a start is remembered
LINE = 64  # bytes in a line of the cache
_remembered: WeakKeyDictionary[Target, dict[Hashable, Any]] = WeakKeyDictionary()


class Sampler(Protocol):
    """What a method prepares for a target; it never changes, and it can be pickled.

    Attributes
    ----------
    counters : tuple of str
        Names of the numbers counted along the way, in the order of ``state["counts"]``.
    independent : bool
        True when draws are independent, so that burn-in and thinning have nothing to do.
    tracker : SetTracker
        The tracked sets; its ``size`` is their number.
    width : int
        The most items that a draw may have: the length of a row of ``subsets``.

    See Also
    --------
    Method : Prepares a sampler.

    Examples
    --------
    >>> from zonodpp import Exact, ProjectionDPP
    >>> sampler = Exact().prepare(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]))
    >>> sampler.width, sampler.independent
    (2, True)
    """

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of what is counted."""

    @property
    def independent(self) -> bool:
        """Whether draws are independent."""

    @property
    def tracker(self) -> SetTracker:
        """The tracked sets."""

    @property
    def width(self) -> int:
        """The most items of a draw."""

    def start(self, rng: Rng, init: ArrayLike | None) -> State:
        """Return the state of a fresh chain.

        Parameters
        ----------
        rng : numpy Generator
            The generator of the chain.
        init : array_like of int or None
            The basis to start from, if one was given.

        Returns
        -------
        dict of arrays
            All that the next step needs.
        """

    def advance(
        self, state: State, rng: Rng, subsets: Subsets, tracked: Floats, thin: int
    ) -> int | None:
        """Make the next draws, and update the state in place.

        How steps are cut into calls changes neither draws nor sums, so that a draw may also be made
        by several calls of fewer steps.

        Parameters
        ----------
        state : dict of arrays
            What `start` returned.
        rng : numpy Generator
            The generator of the chain.
        subsets : (draws, width) array of int32, or int64 for 2**31 items or more
            Receives the draws, each ascending and filled up with -1.
        tracked : (draws, tracker.size) array
            To row k is added, for each tracked set, its presence summed over the steps to draw k.
        thin : int
            Steps from one draw to the next.

        Returns
        -------
        int or None
            None means that all draws are finished. A sampler of independent draws, one of which may
            take longer than a slice, may return the number of finished ones instead, which may be
            zero; the state then holds the unfinished one.
        """

    def check(self, state: State) -> None:
        """Raise ValueError if this cannot be a state of this sampler.

        Compiled code trusts its indices, and a state that was read from a file may hold anything.

        Parameters
        ----------
        state : dict of arrays
            Arrays with the names, types and shapes of those of a fresh state.
        """


class Method(Protocol):
    """A way to draw: a name, and how to prepare a sampler for a target.

    Attributes
    ----------
    name : str
        What `Samples.method` says.

    See Also
    --------
    Sampler : What a method prepares.

    Examples
    --------
    >>> from zonodpp import Exact
    >>> Exact().name
    'exact'
    """

    @property
    def name(self) -> str:
        """What `Samples.method` says."""

    def prepare(self, target: Target, track: Sets = None) -> Sampler:
        """Do all work that draws share.

        Parameters
        ----------
        target : Target
            What to draw from.
        track : list of lists of int, optional
            Sets of items whose presence is recorded.

        Returns
        -------
        Sampler
            What then draws.
        """


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
    """A state in one block of memory, in which each array begins with a line of the cache."""

    memory: NDArray[np.uint8]
    parts: list[tuple[str, tuple[int, ...], np.dtype[np.generic], int]]  # int: the first byte


def packed(state: State) -> PackedState:
    """Copy a state into one block; a record of NumPy could not be larger than 2 GiB."""
    parts, size = [], 0
    for name, array in state.items():
        parts.append((name, array.shape, array.dtype, size))
        size += array.nbytes + -array.nbytes % LINE
    memory = np.empty(size, np.uint8)
    for name, shape, dtype, place in parts:
        np.ndarray(shape, dtype, memory, place)[...] = state[name]
    return PackedState(memory, parts)


def unpacked(state: PackedState) -> State:
    """Return a state whose arrays are views of a new copy of the block.

    Updates of an inverse that begins with a line of the cache are faster by a third, and threads
    that write to lines of their own do not wait for one another.
    """
    size = state.memory.size
    memory = np.empty(size + LINE, np.uint8)
    first = -memory.ctypes.data % LINE
    memory[first : first + size] = state.memory
    return {
        name: np.ndarray(shape, dtype, memory, first + place)
        for name, shape, dtype, place in state.parts
    }


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


def need_between(array: NDArray[Any], least: int, most: int, name: str) -> None:
    """Raise ValueError unless all entries lie between two bounds, both included."""
    if array.size and not (least <= array.min() and array.max() <= most):
        raise ValueError(
            f"{name} must lie between {least} and {most}, "
            f"got values from {array.min()} to {array.max()}"
        )
