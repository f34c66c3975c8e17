"""One file for each algorithm: a method object that holds the options, and what it prepares.

``Method.prepare(target, track)`` does all work that draws share. Its result, the sampler, is
immutable and picklable, and knows

``counters``
    names of the numbers counted along the way, in the order of ``state["counts"]``;
``independent``
    True when draws are independent, so that burn-in and thinning have nothing to do;
``tracker``
    the tracked sets; its ``size`` is their number;
``width``
    the most items that a draw may have: the length of a row of ``subsets``;
``start(rng, init)``
    the state of a fresh chain: a dict of arrays that holds all the next step needs;
``advance(state, rng, subsets, tracked, thin)``
    fills ``subsets`` with the next draws, ``thin`` steps apart, and updates the state in place.
    Row k of ``tracked`` receives, added to what is there, the presence of each tracked set at every
    step to draw k. How steps are cut into calls changes neither draws nor sums, so that a draw may
    also be made by several calls of fewer steps. A sampler of independent draws, one of which may
    take longer than a slice, may return before all are made: it then returns the number of draws
    that are finished, which may be zero, and the state holds the unfinished one. None means that
    all are finished;
``check(state)``
    raises ValueError if the arrays of a state, which have the names, types and shapes of a fresh
    one, cannot be a state of this sampler. Compiled code trusts its indices, and a state that was
    read from a file may hold anything.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp._threads import one_thread
from zonodpp._types import Floats, Subsets
from zonodpp.arguments import spawn
from zonodpp.targets.target import Target

if TYPE_CHECKING:
    from zonodpp.samplers.tracking import SetTracker

State = dict[str, NDArray[Any]]
Sets = Sequence[Sequence[int]] | None  # tracked sets of item numbers
Made = TypeVar("Made")

MOST_REMEMBERED = 8  # things prepared for one target: methods with their options
STARTS = 64  # states in which chains start: so many that few of a run's chains share one
SMALL_STATE = 2**18  # bytes up to which such a state is remembered
_remembered: WeakKeyDictionary[Target, dict[Hashable, Any]] = WeakKeyDictionary()


class Sampler(Protocol):
    """What a method prepares for a target; the page of this package says what each part does."""

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

    def start(self, rng: np.random.Generator, init: ArrayLike | None) -> State:
        """Return the state of a fresh chain."""

    def advance(
        self, state: State, rng: np.random.Generator, subsets: Subsets, tracked: Floats, thin: int
    ) -> int | None:
        """Fill subsets with the next draws; add to tracked. Return how many, None for all."""

    def check(self, state: State) -> None:
        """Raise ValueError if this cannot be a state of this sampler."""


class Method(Protocol):
    """A way to draw: a name, and how to prepare a sampler for a target."""

    @property
    def name(self) -> str:
        """What `Samples.method` says."""

    def prepare(self, target: Target, track: Sets = None) -> Sampler:
        """Do all work that draws share."""


def remember(target: Target, key: Hashable, make: Callable[[], Made]) -> Made:
    """Return what ``make`` returned for this target and key before, or call it now.

    What is made is forgotten together with the target, so it must not refer to the target. Of one
    target the last few things are kept.
    """
    known = _remembered.setdefault(target, {})
    found: Made | None = known.pop(key, None)
    if found is None:
        with one_thread(target.r**2 * target.n):
            found = make()
    known[key] = found  # in the last place: the first one is forgotten first
    if len(known) > MOST_REMEMBERED:
        known.pop(next(iter(known)), None)
    return found


def remembered_start(
    known: dict[int, State], rng: np.random.Generator, make: Callable[[np.random.Generator], State]
) -> State:
    """Return the state of a fresh chain: a copy of one of `STARTS` states, picked at random.

    ``make`` makes each of them when it is first picked, by a generator that belongs to its number,
    so that no draw depends on earlier calls. ``known`` remembers those that are small.
    """
    number = int(rng.random() * STARTS)
    state = known.get(number)
    if state is None:
        with one_thread():
            state = make(spawn(number, purpose="start of a chain")[0])
        if sum(array.nbytes for array in state.values()) <= SMALL_STATE:
            known[number] = state
    return {name: array.copy() for name, array in state.items()}


def need_between(array: NDArray[Any], least: int, most: int, name: str) -> None:
    """Raise ValueError unless all entries lie between two bounds, both included."""
    if array.size and not (least <= array.min() and array.max() <= most):
        raise ValueError(
            f"{name} must lie between {least} and {most}, "
            f"got values from {array.min()} to {array.max()}"
        )


def refuse_init(init: ArrayLike | None) -> None:
    """Say that independent draws need no starting point, if one was given."""
    if init is not None:
        raise ValueError("init is for Markov chains; exact draws need no starting point")
