"""The best list within its limits: exchanges that buy the most distance for the least relevance.

Two items at distance d repel each other with energy d^(-5/4), the distance being one minus the
similarity. The search begins with the most relevant items. It then exchanges one item at a time,
each time the pair with the largest loss of energy for each unit of relevance given up, for as long
as the list stays above the relevance asked for. The energy of a pair grows without bound as its two
items become alike, so low energy means that even the two nearest items are far apart, not only that
the mean distance is large. Larger powers favour the smallest distance, smaller ones the mean.

These are exchanges at a level of relevance, so they share no loop with the greedy picks of `best`:
no exchange is the next pick of an order. The search needs NumPy alone: it computes a row of the
similarity matrix when an item enters.
"""

from __future__ import annotations

import numpy as np

from zonodpp._types import Booleans, Floats, Integers, Matrix
from zonodpp.apps.shortlists.candidates import Candidates
from zonodpp.apps.shortlists.limits import Limits

_ALIKE = 1e-6  # the distance that all closer pairs count with, so that energies stay finite
_DUPLICATES = 1e-7  # the distance that near-duplicates count with: no gain makes up for it
_CHOSEN = 1e100  # energy of items that are in the list already, so that they cannot enter
_EXCHANGES = 1000  # at most, in case rounding errors make the search go round in circles
_TABLE = 64  # candidates whose energies are computed all at once
_PRODUCT = 400_000  # multiplications of a block: BLAS takes several times as long for larger ones
_WORTHWHILE = 0.01  # least gain of an exchange, as a share of the smallest energy of an item
ROUNDING = 1e-9  # losses of relevance, as a share of the most relevant item, that do not count


def most_relevant(items: Candidates, k: int, fixed: int, limits: Limits | None) -> Integers:
    """Return the list that relevance alone gives, without near-duplicates and within the limits.

    The first ``fixed`` items are in it. It has fewer than k items where no more can be picked.
    Under a budget the best list is hard to find (a knapsack): of the lists that begin with the most
    relevant items, and with the most relevant ones for their costs, the better one is returned.
    """
    n = len(items.relevance)
    if limits is None and k < n and (fixed == k or not items.near(slice(0, k), k).any()):
        return np.arange(k)
    conflict = None if limits is None else limits.conflict(fixed, k)
    if conflict:
        raise ValueError(f"no list keeps to the limits: {conflict}")
    included = np.arange(fixed)
    if limits is not None and limits.budget == np.inf:
        found = limits.by_quotas(fixed, k)
        if len(found) and not items.take(found).near(slice(None)).any():
            return found
    found = extended(items, included, k, limits)
    if limits is None:
        return found
    lists = [found]
    if limits.budget < np.inf:
        worth = np.divide(
            items.relevance, limits.costs, where=limits.costs > 0, out=np.full(n, np.inf)
        )
        lists.append(extended(items, included, k, limits, np.argsort(-worth, kind="stable")))
        lists = [
            _by_exchanges(items, chosen, fixed, k, limits)
            for chosen in lists
            if limits.kept(chosen)
        ]
    best = max(lists, key=lambda chosen: float(items.relevance[chosen].sum()), default=found)
    if not limits.kept(best):
        raise ValueError(
            "found no list that keeps to the limits: near-duplicates, which are never picked "
            "together, leave too few items for at_least and the budget; duplicates=None allows them"
        )
    return best


def extended(
    items: Candidates,
    chosen: Integers,
    k: int,
    limits: Limits | None,
    order: Integers | None = None,
    near: Booleans | None = None,
) -> Integers:
    """Add items to a list, the first in ``order`` that may be added each time, until it has k.

    Items in ``near``, by default those that are near-duplicates of chosen ones, are not added.
    """
    found = chosen.tolist()
    order = np.arange(len(items.relevance)) if order is None else order
    free = np.ones(len(order), dtype=bool)  # neither chosen nor near-duplicates of those
    free[found] = False
    if found:
        free &= ~(items.near(chosen).any(axis=0) if near is None else near)
    for scarce in (True, False):  # groups that need items come first
        while len(found) < k:
            admitted = free if limits is None else limits.admitted(found, free, scarce)
            item = int(order[admitted[order].argmax()])
            if not admitted[item]:
                break
            found.append(item)
            free &= ~items.near(slice(item, item + 1))[0]
            free[item] = False
    return np.array(found, dtype=np.int64)


def _by_exchanges(
    items: Candidates, chosen: Integers, fixed: int, k: int, limits: Limits
) -> Integers:
    """Exchange items for more relevant ones, or as relevant ones that cost less, and add others."""
    relevance, costs = items.relevance, limits.costs
    near = items.near(chosen)
    for _ in range(_EXCHANGES):
        allowed = limits.exchanges(chosen) & (near.sum(axis=0) == near)  # near the leaving one only
        allowed[:fixed] = False
        allowed[:, chosen] = False
        rise = np.where(allowed, relevance - relevance[chosen, None], -np.inf)
        saving = np.where(rise == rise.max(), costs[chosen, None] - costs, -np.inf)
        slot, item = divmod(int(saving.argmax()), len(relevance))
        if not (rise[slot, item] > 0 or (rise[slot, item] == 0 and saving[slot, item] > 0)):
            break
        chosen[slot], near[slot] = item, items.near(slice(item, item + 1))[0]
        longer = extended(items, chosen, k, limits, near=np.any(near, axis=0))
        if len(longer) > len(chosen):
            near = np.concatenate([near, items.near(longer[len(chosen) :])])
            chosen = longer
    return chosen


def diversify(
    items: Candidates, chosen: Integers, fixed: int, allowance: float, limits: Limits | None
) -> Integers:
    """Exchange items of a list, giving up at most ``allowance`` of the sum of their relevance.

    Losses are relative to the most relevant of the items that may leave. Items more relevant than
    that one, which are beyond the limits for instance, count as it does.
    """
    size = float(items.relevance[chosen[fixed:]].max(initial=0.0)) or 1.0
    relevance = np.minimum(items.relevance, size) / size
    rows, allowance = items.rows, allowance / size
    n = len(relevance)
    table = _energy(items, rows) if n <= _TABLE else None
    repulsion = _energy(items, rows[chosen]) if table is None else table[chosen]  # with all items
    repulsion[np.arange(len(chosen)), chosen] = 0.0
    total = repulsion.sum(axis=0)  # of each item with all chosen ones, and those shown before
    if items.shown is not None:
        total += _energy(items, items.shown).sum(axis=0)
    own = total[chosen]
    least = _WORTHWHILE * float(own.min())
    own[:fixed] = -_CHOSEN  # no gain is large enough to give these up
    column = own[:, None]
    total += least  # so that only the part of a gain above the least one counts
    total[chosen] = _CHOSEN
    loss = np.subtract.outer(relevance[chosen], relevance)
    price = np.maximum(loss, ROUNDING)
    gain = np.empty_like(repulsion)
    for _ in range(_EXCHANGES):
        np.subtract(column, total, out=gain)
        gain += repulsion
        gain /= price
        if limits is not None:
            gain[~limits.exchanges(chosen)] = 0.0
        slot, item = divmod(int(gain.argmax()), n)
        if loss[slot, item] > allowance + ROUNDING:
            beyond = loss > allowance + ROUNDING
            price[beyond] = np.inf
            gain[beyond] = 0.0
            slot, item = divmod(int(gain.argmax()), n)
        if gain[slot, item] <= 0.0:
            break
        allowance -= loss[slot, item]
        found = _energy(items, rows[item : item + 1])[0] if table is None else table[item]
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
        np.maximum(loss[slot], ROUNDING, out=price[slot])
    return chosen


def _energy(items: Candidates, rows: Matrix) -> Floats:
    """Return the energies of the given rows with all items."""
    step = max(1, _PRODUCT // rows.shape[1] // len(items.relevance))
    blocks = [items.similarity(rows[i : i + step]) for i in range(0, rows.shape[0], step)]
    alike = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    distance = np.subtract(1.0, alike, dtype=np.float64)
    near = distance <= items.least_distance
    np.maximum(distance, _ALIKE, out=distance)
    np.putmask(distance, near, _DUPLICATES)
    distance *= np.sqrt(np.sqrt(distance))
    return np.reciprocal(distance, out=distance)
