"""What `zonodpp.runs` needs of methods and samplers: the protocols `Method` and `Sampler`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.chains.tracking import NO_SETS, TrackedSets
from zonodpp.targets.base import Target

State = dict[str, NDArray[Any]]  # arrays, chains first


class Block(NamedTuple):
    """The draws that one call of `Sampler.advance` is to make.

    Attributes
    ----------
    subsets : (chains, draws, width) array of int32, or int64 for 2**31 items or more
        Receives the draws, each ascending and filled up with -1.
    tracked : (chains, draws, sets) array
        To it is added the presence of each tracked set, summed over the steps to a draw.
    thin : int
        Steps from one draw to the next; 1 for independent draws.

    See Also
    --------
    zonodpp.chains.Sampler : What makes the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp import Exact, ProjectionDPP
    >>> from zonodpp.chains import Block, TrackedSets
    >>> sampler = Exact().prepare(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]))
    >>> block = Block(np.empty((1, 3, sampler.width), np.int32), np.zeros((1, 3, 0)), thin=1)
    >>> sets, rngs = TrackedSets.of([]), [np.random.default_rng(0)]
    >>> sampler.advance(sampler.start(rngs, None, sets), rngs, block, sets)
    3
    >>> bool((block.subsets < 4).all())
    True
    """

    subsets: Subsets
    tracked: Floats
    thin: int


class Sampler(Protocol):
    """What a method prepares for a target; it never changes, and it can be pickled.

    Attributes
    ----------
    n : int
        The number of items of the target.
    width : int
        The most items that a draw may have: the length of a row of ``subsets``.
    counters : tuple of str
        Names of the numbers counted along the way, in the order of ``state["counts"]``.
    independent : bool
        True when draws are independent: burn-in and thinning then have nothing to do, and tracked
        sets are counted by the caller.
    batch : int or None
        How many chains one call advances: 1 on a processor, None for all chains of a run.

    See Also
    --------
    Method : Prepares a sampler.
    zonodpp.diagnostics.check_sampler : Tests a sampler of your own.

    Examples
    --------
    >>> from zonodpp import Exact, ProjectionDPP
    >>> sampler = Exact().prepare(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]))
    >>> sampler.width, sampler.independent, sampler.batch
    (2, True, 1)
    """

    @property
    def n(self) -> int:
        """The number of items."""

    @property
    def width(self) -> int:
        """The most items of a draw."""

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of what is counted."""

    @property
    def independent(self) -> bool:
        """Whether draws are independent."""

    @property
    def batch(self) -> int | None:
        """The chains that one call advances, or None for all."""

    def start(self, rngs: Sequence[Rng], init: Integers | None, sets: TrackedSets) -> State:
        """Return the state of fresh chains.

        Parameters
        ----------
        rngs : list of numpy Generators
            One for each chain.
        init : (chains, r) array of int or None
            The bases to start from, if they were given.
        sets : TrackedSets
            Those of all calls of `advance`. A walk that averages along lines keeps room for them.

        Returns
        -------
        dict of arrays, chains first
            All that the next step needs, with ``"counts"``, (chains, counters), among it.
        """

    def advance(self, state: State, rngs: Sequence[Rng], block: Block, sets: TrackedSets) -> int:
        """Make the next draws of all chains, and update the state in place.

        How steps are cut into calls changes neither draws nor sums: a draw may also be made by
        several calls of fewer steps.

        Parameters
        ----------
        state : dict of arrays
            What `start` returned.
        rngs : list of numpy Generators
            Those of the chains.
        block : Block
            What to fill.
        sets : TrackedSets
            Walks add the presence of each set, at every step, to ``block.tracked``. Independent
            draws leave them alone: the caller counts them.

        Returns
        -------
        int
            How many draws are finished, the same for all chains. A sampler whose draws may take
            longer than a slice may return fewer than there is room for, even none. The state then
            holds the unfinished draw, and the next call, with the same ``thin`` and with its sums
            so far in the first row of ``block.tracked``, goes on with it.
        """

    def check(self, state: State) -> None:
        """Raise ValueError if this cannot be a state of this sampler.

        Compiled code trusts its indices, and a state that was read from a file may hold anything.

        Parameters
        ----------
        state : dict of arrays
            Arrays with the names, types and shapes of those of a fresh state.
        """


@runtime_checkable
class HasDevice(Protocol):
    """A sampler that says itself how it runs on a GPU."""

    def on_device(self, checkpointed: bool) -> Sampler:
        """Return the sampler of the same law whose chains run on the device, all at once.

        ``checkpointed`` tells whether states have to come back to the host after each call.
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

    def prepare(self, target: Target) -> Sampler:
        """Do all work that draws share.

        Parameters
        ----------
        target : Target
            What to draw from.

        Returns
        -------
        Sampler
            What then draws.
        """


_NOTHING = np.empty((1, 1, 0))  # what is tracked of one draw where there are no sets


def make_draw(sampler: Sampler, state: State, rng: Rng, subset: Subsets, steps: int) -> None:
    """Make one draw of one chain, the row of ``subset``, by as many calls as its steps take."""
    thin = 1 if sampler.independent else steps
    block, rngs = Block(subset[None], _NOTHING, thin), [rng]
    while not sampler.advance(state, rngs, block, NO_SETS):
        pass


def with_chains(chain: State) -> State:
    """Return the state of one chain as that of a batch of one."""
    return {name: array[None] for name, array in chain.items()}


def only_chain(state: State) -> State:
    """Return the state of the only chain of a batch, as views."""
    return {name: array[0] for name, array in state.items()}


def need_between(array: NDArray[Any], least: int, most: int, name: str) -> None:
    """Raise ValueError unless all entries lie between two bounds, both included."""
    if array.size and not (least <= array.min() and array.max() <= most):
        raise ValueError(
            f"{name} must lie between {least} and {most}, "
            f"got values from {array.min()} to {array.max()}"
        )
