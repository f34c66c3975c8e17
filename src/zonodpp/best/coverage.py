"""Coverage: every item is as similar as can be to the pick that is most similar to it.

Facility location, F(S) = sum_i max(0, max_{s in S} L_is): what item j gains is the sum over all i
of what L_ij has above the largest similarity so far. Gains only fall, so those of earlier picks are
upper bounds, and only items whose bound is above the best gain are computed again (lazy greedy,
Minoux 1978).
"""

from __future__ import annotations

from collections.abc import Sequence

from zonodpp.best.arrays import Array, eps_of, indices_like, largest, namespace_of, put
from zonodpp.best.greedy import TIE
from zonodpp.best.items import Items

_FEW = 8  # gains that are computed again at first; twice as many each time that they do not suffice
_BLOCK = 2**22  # entries of the kernel that are made at a time


def pick_covering(items: Items, k: int, given: Sequence[int]) -> tuple[list[int], list[Array]]:
    """Pick k items one by one, each the best addition to those picked and given."""
    xp = namespace_of(items.diagonal)
    n = items.diagonal.shape[0]
    covered = xp.zeros_like(items.diagonal)
    for item in given:
        covered = xp.maximum(covered, items.columns([items.key(item)])[:, 0])
    step = max(1, _BLOCK // n)
    numbers = xp.arange(n, device=covered.device)
    blocks = [numbers[start : min(start + step, n)] for start in range(0, n, step)]
    bounds = xp.concat([_gains(items, covered, block) for block in blocks])
    slack = TIE * eps_of(bounds) * float(xp.max(bounds) + xp.sum(covered))
    if given:
        bounds = put(bounds, indices_like(bounds, given), -float("inf"))
    picks: list[int] = []
    gains: list[Array] = []
    exact = xp.ones_like(bounds, dtype=xp.bool)
    while len(picks) < k:
        count = _FEW
        while True:
            known = xp.where(exact, bounds, xp.full_like(bounds, -float("inf")))
            least = float(xp.max(known)) - slack
            open_places = xp.nonzero(~exact & (bounds >= least))[0]
            if open_places.shape[0] == 0:
                break
            if open_places.shape[0] > count:
                first, _ = largest(xp.take(bounds, open_places), count)
                open_places = xp.take(open_places, first)
            bounds = put(bounds, open_places, _gains(items, covered, open_places))
            exact = put(exact, open_places, True)
            count *= 2
        item = int(xp.nonzero(known >= least)[0][0])
        picks.append(item)
        gains.append(bounds[item] + 0.0)
        covered = xp.maximum(covered, items.columns([items.key(item)])[:, 0])
        bounds = put(bounds, item, -float("inf"))
        exact = bounds == -float("inf")
    return picks, gains


def _gains(items: Items, covered: Array, block: Array) -> Array:
    xp = namespace_of(covered)
    more = items.columns_at(block) - covered[:, None]
    return xp.sum(xp.where(more > 0, more, xp.zeros_like(more)), axis=0)
