"""Sets whose presence is recorded along a run: ``track=[S, ...]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import jit
from zonodpp._types import Floats, Integers
from zonodpp.arguments import as_items
from zonodpp.linalg.columns import frozen
from zonodpp.targets.target import Target


def tracked_sets(track: Any, target: Target) -> list[list[int]] | None:
    """Return ``track`` as item numbers: a list of sets of items, by number or label, or None."""
    if track is None:
        return None
    try:
        if any(isinstance(S, int | np.integer) for S in track):
            raise TypeError
        return [target.items(S, "track").ravel().tolist() for S in track]
    except TypeError:
        raise TypeError(
            "track must be a list of sets of items, such as [[0, 3], [1, 2]]; an item is its "
            f"number, from 0, or its label; got {track!r}"
        ) from None


@dataclass(frozen=True)
class SetTracker:
    """Tracked sets, flattened: set k is ``items[starts[k]:starts[k + 1]]``."""

    starts: Integers
    items: Integers
    n: int

    @classmethod
    def of(cls, track: Any, n: int) -> SetTracker:
        """Lay out ``track``, a list of sets of item numbers (or None)."""
        sets = [] if track is None else [as_items(list(S), n, "track") for S in track]
        starts = np.cumsum([0, *(len(S) for S in sets)])
        items = np.concatenate([np.zeros(0, np.int64), *sets])
        return cls(frozen(starts, np.int64), frozen(items, np.int64), n)

    @property
    def size(self) -> int:
        """The number of tracked sets."""
        return len(self.starts) - 1

    def fill(self, subsets: NDArray[np.int32], tracked: Floats) -> None:
        """Add 1 to tracked[k, j] where draw k holds all of set j."""
        if self.size:
            record_presence(subsets, self.starts, self.items, self.n, tracked)


@jit
def record_presence(
    subsets: NDArray[np.int32], starts: Integers, items: Integers, n: int, tracked: Floats
) -> None:
    """Add 1 to tracked[k, j] where row k of subsets holds all of set j."""
    present = np.zeros(n, np.bool_)
    for k in range(subsets.shape[0]):
        for i in subsets[k]:
            if i >= 0:  # -1 fills up the rows of smaller draws
                present[i] = True
        for j in range(starts.shape[0] - 1):
            inside = 1.0
            for s in range(starts[j], starts[j + 1]):
                if not present[items[s]]:
                    inside = 0.0
                    break
            tracked[k, j] += inside
        for i in subsets[k]:
            if i >= 0:
                present[i] = False
