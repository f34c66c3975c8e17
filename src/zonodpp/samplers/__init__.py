"""One file for each algorithm, with the same parts in the same order.

``prepare(target, track=None, **options)``
    Checks the options and does all work that draws share. Its result, the sampler, is immutable
    and picklable, and knows

    ``counters``
        names of the numbers counted along the way, in the order of ``state["counts"]``;
    ``independent``
        True when draws are independent, so that burn-in and thinning have nothing to do;
    ``tracker``
        the tracked sets; its ``size`` is their number;
    ``width``
        the most items that a draw may have, only where sizes vary;
    ``start(rng, init)``
        the state of a fresh chain: a dict of arrays that holds all the next step needs;
    ``advance(state, rng, subsets, tracked, thin)``
        fills ``subsets`` with the next draws, ``thin`` steps apart, and updates the state in
        place. How draws are cut into calls does not change them.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zonodpp.matrices.columns import Floats

State = dict[str, NDArray[Any]]


class Sampler(Protocol):
    """What `prepare` returns; see the module's page."""

    counters: tuple[str, ...]
    independent: bool
    tracker: Any

    def start(self, rng: np.random.Generator, init: Any) -> State:
        """Return the state of a fresh chain."""

    def advance(
        self,
        state: State,
        rng: np.random.Generator,
        subsets: NDArray[np.int32],
        tracked: Floats,
        thin: int,
    ) -> None:
        """Fill subsets and tracked with the next draws."""


def refuse_init(init: Any) -> None:
    """Say that independent draws need no starting point, if one was given."""
    if init is not None:
        raise ValueError("init is for Markov chains; exact draws need no starting point")
