"""The best list within its limits: exchanges that buy the most distance for the least relevance.

Two items at distance d repel each other with energy d^(-5/4), the distance being one minus the
similarity. The search begins with the most relevant items. It then exchanges one item at a time,
each time the pair with the largest loss of energy for each unit of relevance given up, for as long
as the list stays above the relevance asked for. The energy of a pair grows without bound as its two
items become alike, so low energy means that even the two nearest items are far apart, not only that
the mean distance is large. Larger powers favour the smallest distance, smaller ones the mean.

The search needs NumPy alone: it computes a row of the similarity matrix when an item enters.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Booleans, Floats, Integers, Matrix
from zonodpp.arguments import as_count, as_positive, as_scores, check_finite

_ALIKE = 1e-6  # the distance that all closer pairs count with, so that energies stay finite
_DUPLICATES = 1e-7  # the distance that near-duplicates count with: no gain makes up for it
_CHOSEN = 1e100  # energy of items that are in the list already, so that they cannot enter
_EXCHANGES = 1000  # at most, in case rounding errors make the search go round in circles
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

        Rows are scaled to length one in place: pass a copy.
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
        """Tell which items (columns; all, or the first ``stop``) nearly duplicate some (rows)."""
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


class Limits(NamedTuple):
    """A budget for the sum of costs, and the least and most items of each group.

    Costs and groups are those of the items that may be picked, in the order of `Candidates`.
    """

    costs: Floats
    budget: float
    groups: Integers
    least: Integers
    most: Integers
    names: tuple[Hashable, ...]  # of the groups

    @classmethod
    def of(
        cls,
        order: Integers,
        n: int,
        costs: ArrayLike | None,
        budget: float | None,
        groups: Sequence[Hashable] | None,
        at_least: Mapping[Hashable, int],
        at_most: Mapping[Hashable, int] | int | None,
    ) -> Self | None:
        """Check limits of n items; return those of the items in ``order``, None without limits."""
        if (costs is None) != (budget is None):
            raise ValueError("costs and budget come together: pass both or neither")
        quotas = bool(at_least) or at_most is not None
        if groups is None and quotas:
            raise ValueError("at_least and at_most are quotas of groups: pass groups too")
        if budget is None and not quotas:
            return None
        members = [None] * n if groups is None else list(groups)
        if len(members) != n:
            raise ValueError(f"groups must name the group of each of {n} items, got {len(members)}")
        codes = {name: code for code, name in enumerate(dict.fromkeys(members))}
        if at_most is not None and not isinstance(at_most, Mapping):
            at_most = dict.fromkeys(codes, as_count(at_most, "at_most", 0))
        budget = np.inf if budget is None else budget
        return cls(
            np.zeros(len(order)) if costs is None else as_scores(costs, n, "costs")[order],
            budget if budget == np.inf else as_positive(budget, "budget", or_zero=True),
            np.array([codes[name] for name in members])[order],
            _quotas(at_least, "at_least", codes, 0),
            _quotas(at_most or {}, "at_most", codes, n),
            tuple(codes),
        )

    def conflict(self, fixed: int, k: int) -> str | None:
        """Say which limits no list of at most k items keeps to; None if there is such a list.

        The first ``fixed`` items are in every list. Near-duplicates are not considered.
        """
        included = np.bincount(self.groups[:fixed], minlength=len(self.least))
        available = np.bincount(self.groups, minlength=len(self.least))
        numbers = np.column_stack([included, available, self.least, self.most]).tolist()
        for name, (inside, members, least, most) in zip(self.names, numbers, strict=True):
            if inside > most:
                return f"include has {inside} of group {name}, and at_most is {most}"
            if least > most:
                return f"at_least is {least} for group {name}, and at_most is {most}"
            if least > members:
                return f"at_least is {least} for group {name}, and {members} can be picked"
        needed = fixed + int(np.maximum(self.least - included, 0).sum())
        if needed > k:
            return f"include and at_least need {needed} items, and k is {k}"
        free = np.arange(len(self.groups)) >= fixed
        cost = float(self.costs[:fixed].sum()) + self._cheapest(included, free)[0]
        if cost > self.budget:
            return f"include and at_least cost {cost:g} or more, and the budget is {self.budget:g}"
        if not needed and not self.admitted([], free, False).any():
            return "no item is within the budget and in a group that at_most allows"
        return None

    def admitted(self, chosen: list[int], free: Booleans, scarce: bool) -> Booleans:
        """Tell which of the free items may be added to the chosen ones.

        These are items within the budget, of groups below their quota. If ``scarce``, the quota is
        the least number of items and not the most. What is left of the budget must be enough for
        the cheapest items that are then still needed to reach the least numbers.
        """
        counts = np.bincount(self.groups[chosen], minlength=len(self.least))
        spent = float(self.costs[chosen].sum())
        # The item takes the place of the most expensive one that its group would otherwise get.
        cost, dearest = self._cheapest(counts, free)
        replaced = dearest[self.groups]
        affordable = spent + cost - replaced + self.costs <= self.budget
        below_quota = (counts < (self.least if scarce else self.most))[self.groups]
        return np.asarray(free & below_quota & (affordable | (self.costs <= replaced)))

    def _cheapest(self, counts: Integers, free: Booleans) -> tuple[float, Floats]:
        """Return the lowest cost of the free items that are needed for the least numbers.

        ``counts`` are the numbers of chosen items of each group. Also returned is, for each group,
        the cost of the most expensive item that is needed, zero where none is needed.
        """
        total, dearest = 0.0, np.zeros(len(self.least))
        for group in np.flatnonzero(self.least > counts):
            members = np.sort(self.costs[free & (self.groups == group)])
            needed = members[: self.least[group] - counts[group]]
            total += float(needed.sum())
            dearest[group] = needed.max(initial=0.0)
        return total, dearest

    def kept(self, chosen: Integers) -> bool:
        """Tell whether a list has items and keeps to the budget and to the quotas."""
        counts = np.bincount(self.groups[chosen], minlength=len(self.least))
        affordable = self.costs[chosen].sum() <= self.budget
        within = (self.least <= counts) & (counts <= self.most)
        return bool(len(chosen) and affordable and within.all())

    def exchanges(self, chosen: Integers) -> Booleans:
        """Tell which of the chosen items (rows) may make room for which items (columns)."""
        groups = self.groups[chosen]
        counts = np.bincount(groups, minlength=len(self.least))
        same = groups[:, None] == self.groups
        may_leave, may_come = (counts > self.least)[groups], (counts < self.most)[self.groups]
        left = self.budget - float(self.costs[chosen].sum())
        affordable = self.costs - self.costs[chosen][:, None] <= left
        return np.asarray(affordable & (same | (may_leave[:, None] & may_come)))


def _quotas(
    given: Mapping[Hashable, int], name: str, groups: Collection[Hashable], otherwise: int
) -> Integers:
    """Return the quota of each group, ``otherwise`` for groups that none is given for."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} must be a dict from group to number of items, got {given!r}")
    quotas = dict.fromkeys(groups, otherwise)
    for group, quota in given.items():
        if group not in quotas:
            raise ValueError(f"no item is in the group {group!r}, which {name} names")
        quotas[group] = as_count(quota, f"{name}[{group!r}]", 0)
    return np.array(list(quotas.values()), dtype=np.int64)


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
    tiny = _ROUNDING * float(relevance.max() - relevance.min()) or 1.0
    total = repulsion.sum(axis=0)  # of each item with all chosen ones
    own = total[chosen]
    least = _WORTHWHILE * float(own.min())
    own[:fixed] = -_CHOSEN  # no gain is large enough to give these up
    column = own[:, None]
    total += least  # so that only the part of a gain above the least one counts
    total[chosen] = _CHOSEN
    loss = np.subtract.outer(relevance[chosen], relevance)
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
