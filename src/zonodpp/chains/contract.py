"""What `zonodpp.runs` needs of methods and samplers: the protocols `Method` and `Sampler`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp._types import Floats, Rng, Subsets
from zonodpp.targets.base import Target

if TYPE_CHECKING:
    from zonodpp.chains.tracking import SetTracker

State = dict[str, NDArray[Any]]
Sets = Sequence[Sequence[int]] | None  # tracked sets of item numbers


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
            None means that all steps are made. A sampler that has steps, or independent draws, that
            may take longer than a slice may return the number of those that it has finished, which
            may be zero; the state then holds the unfinished one, and the next call goes on with it.
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


def make_draw(sampler: Sampler, state: State, rng: Rng, subset: Subsets, steps: int) -> None:
    """Make one draw, the row of ``subset``, by as many calls as its steps take."""
    nothing = np.empty((1, sampler.tracker.size))
    left: int = 1 if sampler.independent else steps
    while left > 0:
        made = sampler.advance(state, rng, subset, nothing, left)
        left -= left if made is None else made


def need_between(array: NDArray[Any], least: int, most: int, name: str) -> None:
    """Raise ValueError unless all entries lie between two bounds, both included."""
    if array.size and not (least <= array.min() and array.max() <= most):
        raise ValueError(
            f"{name} must lie between {least} and {most}, "
            f"got values from {array.min()} to {array.max()}"
        )
