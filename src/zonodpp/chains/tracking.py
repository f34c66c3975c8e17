"""Sets whose presence is recorded along a run: ``track=[S, ...]``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from zonodpp._arguments import as_items, in_one_line
from zonodpp._types import Floats, Integers, ItemsLike, Subsets
from zonodpp.chains.contract import Sampler, Sets
from zonodpp.numerics.arrays import frozen
from zonodpp.targets.base import Target


class Recording(NamedTuple):
    """What a compiled walk records: its draws, and the presence of tracked sets."""

    starts: Integers  # tracked set k is items[starts[k]:starts[k + 1]]
    items: Integers
    subsets: Subsets  # (draws, width)
    tracked: Floats  # (draws, sets) presence, added up over the steps of a draw
    thin: int  # the steps of a draw


def tracked_sets(track: Iterable[ItemsLike] | None, target: Target) -> list[list[int]] | None:
    """Return ``track`` as item numbers: a list of sets of items, by number or label, or None."""
    if track is None:
        return None
    try:
        given = list(track)
        sets = [target.items(S, "track") for S in given]
        if any(isinstance(S, int | np.integer) for S in given) or any(S.ndim > 1 for S in sets):
            raise TypeError
        return [S.ravel().tolist() for S in sets]
    except TypeError:
        raise TypeError(
            "track must be a list of sets of items, such as [[0, 3], [1, 2]]; an item is its "
            f"number, from 0, or its label; got {in_one_line(repr(track))}"
        ) from None


@dataclass(frozen=True)
class SetTracker:
    """Tracked sets, flattened: set k is ``items[starts[k]:starts[k + 1]]``.

    Attributes
    ----------
    starts, items : arrays of int
        Where each set starts, and the items of all sets.
    n : int
        The number of items of the target.

    See Also
    --------
    zonodpp.chains.Sampler : Has one as its ``tracker``.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.chains import SetTracker
    >>> tracker = SetTracker.of([[0, 3], [1]], n=5)
    >>> tracked = np.zeros((2, 2))
    >>> tracker.fill(np.array([[0, 3], [1, 2]], np.int32), tracked)
    >>> tracked
    array([[1., 0.],
           [0., 1.]])
    """

    starts: Integers
    items: Integers
    n: int

    @classmethod
    def of(cls, track: Sets, n: int) -> SetTracker:
        """Lay out sets of items.

        Parameters
        ----------
        track : list of lists of int, or None
            Sets of item numbers.
        n : int
            The number of items of the target.

        Returns
        -------
        SetTracker
            The sets, flattened.

        Examples
        --------
        >>> from zonodpp.chains import SetTracker
        >>> SetTracker.of(None, n=5).size
        0
        """
        sets = [] if track is None else [as_items(list(S), n, "track") for S in track]
        starts = np.cumsum([0, *(len(S) for S in sets)])
        items = np.concatenate([np.zeros(0, np.int64), *sets])
        return cls(frozen(starts, np.int64), frozen(items, np.int64), n)

    @property
    def size(self) -> int:
        """The number of tracked sets."""
        return len(self.starts) - 1

    def fill(self, subsets: Subsets, tracked: Floats) -> None:
        """Add 1 to tracked[k, j] where draw k holds all of set j.

        Parameters
        ----------
        subsets : (draws, width) array of int
            Draws.
        tracked : (at least draws, size) array
            The array to add to.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp.chains import SetTracker
        >>> tracked = np.zeros((1, 1))
        >>> SetTracker.of([[3]], n=5).fill(np.array([[0, 3]], np.int32), tracked)
        >>> tracked
        array([[1.]])
        """
        if not self.size:
            return
        present = {i: (subsets == i).any(axis=1) for i in set(self.items.tolist())}
        for j in range(self.size):
            held = [present[i] for i in self.items[self.starts[j] : self.starts[j + 1]].tolist()]
            tracked[: len(subsets), j] += np.logical_and.reduce(held)


def with_sets(sampler: Any, track: Sets) -> Sampler:
    """Return a copy of a sampler that tracks these sets; if there are none, the sampler itself."""
    if track is not None:
        sampler = replace(sampler, tracker=SetTracker.of(track, sampler.tracker.n))
    found: Sampler = sampler
    return found
