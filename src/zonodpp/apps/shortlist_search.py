"""The best list: exchanges that buy the most distance for the least relevance.

Two items at distance d repel each other with energy d^(-5/4), the distance being one minus the
similarity. The search begins with the most relevant items. It then exchanges one item at a time,
each time the pair with the largest loss of energy for each unit of relevance given up, for as long
as the list stays above the relevance asked for. The energy of a pair grows without bound as the two
become alike, so that it keeps the nearest two items apart and not only the average. Larger powers
favour the smallest distance of a list, smaller ones the mean distance.

NumPy is all that is needed: rows of the similarity matrix are computed when an item comes in.
"""

from __future__ import annotations

import importlib
from typing import NamedTuple, Self

import numpy as np

from zonodpp._types import Booleans, Floats, Integers, Matrix
from zonodpp.apps.shortlist_limits import Limits
from zonodpp.arguments import check_finite

_ALIKE = 1e-6  # the distance that all closer pairs count with, so that energies stay finite
_DUPLICATES = 1e-7  # the distance that near-duplicates count with: no gain makes up for it
_CHOSEN = 1e100  # energy of items that are in the list already: they cannot come in
_EXCHANGES = 1000  # ends the search should rounding errors make it go round in circles
_TABLE = 64  # candidates whose energies are computed all at once
_PRODUCT = 400_000  # multiplications of a block: BLAS takes several times as long for larger ones
_WORTHWHILE = 0.01  # least gain of an exchange, as a share of the smallest energy of an item
_ROUNDING = 1e-9  # losses of relevance below this share of its range


class Candidates(NamedTuple):
    """Items that may be picked: those that must be picked, then the most relevant first.

    Similarity is ``exp(-distance / spread)`` or, without a spread, the cosine of rows of length
    one. Items closer than ``least_distance`` are never picked together.
    """

    relevance: Floats
    rows: Matrix
    spread: float | None
    least_distance: float

    @classmethod
    def of(cls, rows: Matrix, relevance: Floats, k: int, duplicates: float | None) -> Self:
        """Choose the similarity: the cosine, or for fewer than k columns that of distances.

        Rows are brought to length one where they are: pass a copy.
        """
        if duplicates is not None and not 0.0 < duplicates <= 1.0:
            raise ValueError(f"duplicates must be above 0 and at most 1, got {duplicates}")
        near = -1.0 if duplicates is None else 1.0 - duplicates
        if not isinstance(rows, np.ndarray) or rows.shape[1] >= k:
            return cls(relevance, _unit_length(rows), None, near)
        check_finite(rows, "features")
        spread = float(np.sqrt(rows.var(axis=0).sum())) or 1.0
        return cls(relevance, rows, spread, near)

    def take(self, some: Integers) -> Self:
        """Return some of the items."""
        return self._replace(relevance=self.relevance[some], rows=self.rows[some])

    def similarity(self, rows: Matrix, others: Matrix | None = None) -> Floats:
        """Return how alike the given rows and others (columns) are, by default all items."""
        others = self.rows if others is None else others
        if self.spread is not None:
            distances = np.linalg.norm(rows[:, None] - others, axis=2)
            return np.asarray(np.exp(distances / -self.spread))
        cosines = rows @ others.T
        return cosines if isinstance(cosines, np.ndarray) else np.asarray(cosines.toarray())

    def near(self, some: slice, stop: int | None = None) -> Booleans:
        """Tell which items (columns; all or the first) are near-duplicates of some (rows)."""
        found = 1.0 - self.similarity(self.rows[some], self.rows[:stop]) <= self.least_distance
        found.flat[some.start :: found.shape[1] + 1] = False
        return np.asarray(found)

    def energy(self, rows: Matrix) -> Floats:
        """Return the energies of the given rows with all items."""
        step = max(1, _PRODUCT // rows.shape[1] // len(self.relevance))
        blocks = [self.similarity(rows[i : i + step]) for i in range(0, rows.shape[0], step)]
        alike = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        distance = np.subtract(1.0, alike, dtype=np.float64)
        near = distance <= self.least_distance
        np.maximum(distance, _ALIKE, out=distance)
        np.putmask(distance, near, _DUPLICATES)
        distance *= np.sqrt(np.sqrt(distance))
        return np.reciprocal(distance, out=distance)


def _unit_length(rows: Matrix) -> Matrix:
    """Bring rows to length one, in place and without SciPy if dense and of usual size."""
    if isinstance(rows, np.ndarray):
        squares = np.einsum("ij,ij->i", rows, rows)
        if squares.min() > 0.0 and squares.max() < np.inf:
            rows /= np.sqrt(squares)[:, None]
            return rows
    check_finite(rows, "features")
    dense = importlib.import_module("zonodpp.linalg.dense")
    unit: Matrix = dense.unit_rows(rows)
    return unit


def most_relevant(items: Candidates, k: int, fixed: int, limits: Limits | None) -> Integers:
    """Return the list that relevance alone gives, without near-duplicates and within the limits.

    The first ``fixed`` items are in it. It has fewer than k items where no more can be picked.
    """
    n = len(items.relevance)
    if limits is None and k < n and (fixed == k or not items.near(slice(0, k), k).any()):
        return np.arange(k)
    conflict = None if limits is None else limits.conflict(fixed, k)
    if conflict:
        raise ValueError(f"no list keeps to the limits: {conflict}")
    chosen = list(range(fixed))
    free = np.arange(n) >= fixed  # neither chosen nor a near-duplicate of a chosen item
    free &= ~items.near(slice(0, fixed)).any(axis=0)
    for scarce in (True, False):  # groups that need items come first
        while len(chosen) < k:
            admitted = free if limits is None else limits.admitted(chosen, free, scarce)
            item = int(admitted.argmax())
            if not admitted[item]:
                break
            chosen.append(item)
            free &= ~items.near(slice(item, item + 1))[0]
            free[item] = False
    found = np.array(chosen, dtype=np.int64)
    if limits is not None and not limits.kept(found):
        raise ValueError(
            "found no list that keeps to the limits: near-duplicates, which are never picked "
            "together, leave too few items for at_least and the budget; duplicates=None allows them"
        )
    return found


def diversify(
    items: Candidates, chosen: Integers, fixed: int, allowance: float, limits: Limits | None
) -> Integers:
    """Exchange items of a list, giving up at most ``allowance`` of the sum of their relevance."""
    rows, relevance = items.rows, items.relevance
    n = len(relevance)
    table = items.energy(rows) if n <= _TABLE else None
    repulsion = items.energy(rows[chosen]) if table is None else table[chosen]  # with all items
    repulsion[np.arange(len(chosen)), chosen] = 0.0
    levels = relevance[chosen]
    tiny = _ROUNDING * float(relevance.max() - relevance.min()) or 1.0
    total = repulsion.sum(axis=0)  # of each item with all chosen ones
    own = total[chosen]
    least = _WORTHWHILE * float(own.min())
    own[:fixed] = -_CHOSEN  # no gain is large enough to give these up
    column = own[:, None]
    total += least  # so that gains are those beyond the least one
    total[chosen] = _CHOSEN
    loss = np.subtract.outer(levels, relevance)
    price = np.maximum(loss, tiny)
    gain = np.empty_like(repulsion)
    for _ in range(_EXCHANGES):
        np.subtract(column, total, out=gain)
        gain += repulsion
        gain /= price
        if limits is not None:
            gain *= limits.exchanges(chosen)
        slot, item = divmod(int(gain.argmax()), n)
        if loss[slot, item] > allowance + tiny:
            beyond = loss > allowance + tiny
            price[beyond] = np.inf
            gain[beyond] = 0.0
            slot, item = divmod(int(gain.argmax()), n)
        if gain[slot, item] <= 0.0:
            break
        allowance -= loss[slot, item]
        found = items.energy(rows[item : item + 1])[0] if table is None else table[item]
        change = found - repulsion[slot]
        entering = total[item] - repulsion[slot, item] - least
        total[chosen[slot]] = own[slot] + least
        total += change
        total[item] = _CHOSEN
        own += change[chosen]
        own[slot] = entering
        repulsion[slot] += change
        repulsion[slot, item] = 0.0
        chosen[slot] = item
        np.subtract(relevance[item], relevance, out=loss[slot])
        np.maximum(loss[slot], tiny, out=price[slot])
    return chosen
