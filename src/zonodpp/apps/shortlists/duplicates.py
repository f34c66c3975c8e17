"""A report of near-duplicates, which says whether a diverse list can help at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import as_column
from zonodpp._types import Integers, MatrixLike
from zonodpp.apps.shortlists.candidates import Candidates
from zonodpp.apps.shortlists.shortlist import Shortlist, as_rows, shortlist

_SHARES = (0.05, 0.1, 0.2, 0.4)  # values of ``diversity`` at which lists are compared
_ROWS = 256  # items whose similarities are computed at once
_NOTABLE = 1.05  # ratio of mean distances from which a list counts as more diverse


@dataclass(frozen=True)
class DuplicateReport:
    """Near-duplicates among items, and what a diverse list would change.

    Attributes
    ----------
    pairs : (p, 2) array of int
        Pairs of items whose similarity is at least the threshold.
    repeated : int
        How many of the k most relevant items are near-duplicates of more relevant ones.
    top : Shortlist
        The k most relevant items.
    lists : dict from float to Shortlist
        The lists that `shortlist` makes, by the value of ``diversity``.

    See Also
    --------
    near_duplicates : The function that makes it.

    Examples
    --------
    >>> from zonodpp.apps import near_duplicates
    >>> report = near_duplicates([3, 2, 1], [[1, 0], [1, 0.1], [0, 1]], 2)
    >>> print(report)
    near-duplicates: 1 pairs, 2 items
    1 of the 2 most relevant repeat a more relevant item
    ...
    diversity helps
    """

    pairs: Integers
    repeated: int
    top: Shortlist
    lists: dict[float, Shortlist]

    @property
    def helps(self) -> bool:
        """Whether the top repeats items, or the list of diversity=0.1 is notably more diverse."""
        gained = self.lists[0.1].diversity > _NOTABLE * self.top.diversity
        return gained or self.repeated > 0

    def __str__(self) -> str:
        named = {"the most relevant": self.top}
        named |= {f"diversity={share:g}": found for share, found in self.lists.items()}
        lines = [
            f"near-duplicates: {len(self.pairs)} pairs, {len(np.unique(self.pairs))} items",
            f"{self.repeated} of the {len(self.top)} most relevant repeat a more relevant item",
        ]
        for name, found in named.items():
            distances = f"mean distance {found.diversity:.3f}, smallest {found.nearest:.3f}"
            lines.append(f"{name}: {distances}")
        return "\n".join([*lines, "diversity " + ("helps" if self.helps else "changes little")])


def near_duplicates(
    relevance: ArrayLike, features: MatrixLike, k: int = 10, *, threshold: float = 0.97
) -> DuplicateReport:
    """Report items that are nearly the same, and whether a diverse list would differ.

    Parameters
    ----------
    relevance : (n,) array_like
        How good each item is: any scores, higher is better.
    features : (n, d) array_like, DataFrame or scipy.sparse matrix
        Features that tell how alike items are, one row for each, as in `shortlist`.
    k : int, default 10
        The length of the lists that are compared.
    threshold : float, default 0.97
        The similarity from which two items are near-duplicates.

    Returns
    -------
    DuplicateReport
        ``print(report)`` shows it; ``report.helps`` tells whether a diverse list helps.

    See Also
    --------
    shortlist : A list without near-duplicates.

    Examples
    --------
    >>> from zonodpp.apps import near_duplicates
    >>> report = near_duplicates([3, 2, 1], [[1, 0], [1, 0.1], [0, 1]], 2)
    >>> report.pairs.tolist(), report.repeated, report.helps
    ([[0, 1]], 1, True)
    """
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"threshold must be above 0 and at most 1, got {threshold}")
    rows = as_rows(features)
    n = rows.shape[0]
    relevance = as_column(relevance, n, "relevance")
    items = Candidates.of(rows, np.arange(n), np.zeros(n), k, threshold)
    blocks = []
    for start in range(0, n, _ROWS):
        first, second = np.nonzero(items.near(slice(start, min(start + _ROWS, n))))
        blocks.append(np.column_stack([first + start, second])[second > first + start])
    pairs = np.concatenate(blocks)

    def best(share: float, limit: float | None) -> Shortlist:
        found = shortlist(relevance, rows, k, diversity=share, duplicates=limit)
        assert isinstance(found, Shortlist)
        return found

    top = best(0.0, None)
    alike = 1.0 - top.similarity <= items.least_distance
    repeated = int(np.triu(alike, 1).any(axis=0).sum())
    return DuplicateReport(pairs, repeated, top, {s: best(s, threshold) for s in _SHARES})
