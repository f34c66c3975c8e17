"""Sets whose presence is recorded along a run: ``track=[S, ...]``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from zonodpp._arguments import in_one_line
from zonodpp._types import Floats, Integers, ItemsLike, Subsets
from zonodpp.numerics.arrays import frozen
from zonodpp.targets.base import Target


class Recording(NamedTuple):
    """What a compiled walk records: its draws, and the presence of tracked sets."""

    starts: Integers  # tracked set k is items[starts[k]:starts[k + 1]]
    items: Integers
    subsets: Subsets  # (draws, width)
    tracked: Floats  # (draws, sets) presence, added up over the steps of a draw
    thin: int  # the steps of a draw


class TrackedSets(NamedTuple):
    """Tracked sets, one after another: set k is ``items[starts[k]:starts[k + 1]]``.

    Attributes
    ----------
    starts, items : arrays of int
        Where each set starts, and the items of all sets.

    See Also
    --------
    zonodpp.chains.Sampler : Its ``start`` and ``advance`` are handed the tracked sets.

    Examples
    --------
    >>> from zonodpp.chains import TrackedSets
    >>> sets = TrackedSets.of([[0, 3], [1]])
    >>> sets.size, sets.items
    (2, array([0, 3, 1]))
    """

    starts: Integers
    items: Integers

    @classmethod
    def of(cls, sets: Sequence[Sequence[int]]) -> TrackedSets:
        """Lay out sets of item numbers.

        Parameters
        ----------
        sets : list of lists of int
            Item numbers of each set.

        Returns
        -------
        TrackedSets
            The sets, one after another.

        Examples
        --------
        >>> from zonodpp.chains import TrackedSets
        >>> TrackedSets.of([]).size
        0
        """
        starts = np.cumsum([0, *(len(S) for S in sets)])
        items = np.array([item for S in sets for item in S], np.int64)
        return cls(frozen(starts, np.int64), frozen(items, np.int64))

    @property
    def size(self) -> int:
        """The number of tracked sets."""
        return len(self.starts) - 1


NO_SETS = TrackedSets.of([])


def tracked_sets(track: Iterable[ItemsLike] | None, target: Target) -> list[list[int]]:
    """Return ``track`` as item numbers: a list of sets of items, by number or label."""
    if track is None:
        return []
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


def presence(subsets: Subsets, sets: TrackedSets) -> Floats:
    """Return 1 where a draw, a row of ``subsets``, holds all of a set, else 0: (..., sets)."""
    found = np.ones((*subsets.shape[:-1], sets.size))
    present = {i: (subsets == i).any(axis=-1) for i in set(sets.items.tolist())}
    for k in range(sets.size):
        for i in sets.items[sets.starts[k] : sets.starts[k + 1]].tolist():
            found[..., k] *= present[i]
    return found
