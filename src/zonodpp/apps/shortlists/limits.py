"""Limits of a shortlist: a budget for the sum of costs, and quotas of groups."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import as_count, as_labels, as_positive, as_scores, in_one_line
from zonodpp._types import Booleans, Floats, Integers

_ROUNDED = 1.0 + 1e-12  # so that costs 0.1, 0.1 and 0.1 are within a budget of 0.3


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
        members = [None] * n if groups is None else as_labels(groups, n, "groups")
        strange = [member for member in members if not isinstance(member, Hashable)]
        if strange:
            raise TypeError(
                "groups must hold names, such as text or numbers, one for each item; got "
                f"{in_one_line(strange[0])}"
            )
        codes = {name: code for code, name in enumerate(dict.fromkeys(members))}
        if at_most is not None and not isinstance(at_most, Mapping):
            at_most = dict.fromkeys(codes, as_count(at_most, "at_most", 0))
        budget = np.inf if budget is None else budget
        return cls(
            np.zeros(len(order)) if costs is None else as_scores(costs, n, "costs")[order],
            budget if budget == np.inf else as_positive(budget, "budget", or_zero=True) * _ROUNDED,
            np.array([codes[name] for name in members])[order],
            _quotas(at_least, "at_least", codes, 0),
            _quotas(at_most or {}, "at_most", codes, n),
            tuple(codes),
        )

    def of_first(self, count: int) -> Self:
        """Return the limits with the first items alone."""
        return self._replace(costs=self.costs[:count], groups=self.groups[:count])

    def by_quotas(self, fixed: int, k: int) -> Integers:
        """Return the most relevant list that keeps to the quotas, near-duplicates not considered.

        The first ``fixed`` items are in it, then come those that ``at_least`` needs.
        """
        rank = self._ranks()
        allowed, needed = rank < self.most[self.groups], rank < self.least[self.groups]
        allowed[:fixed] = needed[:fixed] = True
        needed &= allowed
        return np.append(np.flatnonzero(needed), np.flatnonzero(allowed & ~needed))[:k]

    def reach(self, chosen: Integers, times: int) -> int:
        """Return how many items, of the first ones, have ``times`` as many of each group."""
        counts = np.bincount(self.groups[chosen], minlength=len(self.least))
        within = np.flatnonzero(self._ranks() < times * counts[self.groups])
        return int(within[-1]) + 1 if within.size else 0

    def _ranks(self) -> Integers:
        """Return how many items of its group come before each item."""
        by_group = np.argsort(self.groups, kind="stable")
        sizes = np.bincount(self.groups, minlength=len(self.least))
        first = np.repeat(np.cumsum(sizes) - sizes, sizes)
        ranks = np.empty_like(by_group)
        ranks[by_group] = np.arange(len(by_group)) - first
        return ranks

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
