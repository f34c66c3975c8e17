"""Random lists, for exploration: draws from the k-DPP of relevance times similarity."""

from __future__ import annotations

from functools import partial

import numpy as np

from zonodpp._types import Floats, Integers, SeedLike
from zonodpp.apps.shortlist_search import Candidates
from zonodpp.arguments import as_count
from zonodpp.linalg.dense import unit_rows
from zonodpp.runs.sampling import sample
from zonodpp.targets.kdpp import KDPP

_CLOSE = 0.005  # of the range of relevance, within which its expectation is that asked for
_STEPS = 40
_SMALLEST = -300.0  # log of the smallest factor of an item: its square is a positive number


def draw(
    items: Candidates, k: int, fixed: int, level: float, n_draws: int, rng: SeedLike
) -> tuple[Integers, float]:
    """Return a list and its log probability; of several draws the most probable one.

    A set B is drawn with probability proportional to
    ``det(similarity_B) * exp(2 * strength * sum(relevance_B))``. The strength is such that the
    expected sum of relevance is ``level``. An item that is a near-duplicate of a more relevant one
    is left out.
    """
    n_draws = as_count(n_draws, "n_draws", 1)
    kept = _first_of_near_duplicates(items, fixed)
    target = _target_of_level(items.take(kept), k, fixed, level)
    subset = sample(target, n_draws, rng=rng, progress=False).best()
    return kept[subset], min(0.0, float(target.log_prob(subset)))


def _first_of_near_duplicates(items: Candidates, fixed: int) -> Integers:
    """Return the items that are no near-duplicates of earlier ones; the fixed ones all stay."""
    blocked = np.zeros(len(items.relevance), dtype=bool)
    for item in range(len(blocked)):
        if item < fixed or not blocked[item]:
            later = 1.0 - items.similarity(slice(item, item + 1))[0] <= items.least_distance
            later[: max(item + 1, fixed)] = False
            blocked |= later
    return np.flatnonzero(~blocked).astype(np.int64)


def _target_of_level(items: Candidates, k: int, fixed: int, level: float) -> KDPP:
    """Find the strength of relevance at which a draw is expected to reach the level."""
    n = len(items.relevance)
    size = float(np.ptp(items.relevance)) or 1.0
    logs = (items.relevance - items.relevance.max()) / size
    if items.scale is None:
        kernel = items.similarity(slice(0, n))
        make = partial(_of_kernel, kernel, k)
    else:
        make = partial(_of_features, np.asarray(unit_rows(items.rows)), k)

    def expected(strength: float) -> tuple[KDPP, float]:
        factors = np.exp(np.maximum(strength * logs, _SMALLEST))
        target = make(factors)
        target = target.condition(include=range(fixed)) if fixed else target
        return target, float(target.marginals() @ items.relevance)

    low, high = 0.0, 1.0
    target, value = expected(low)
    if value >= level:
        return target
    while (found := expected(high))[1] < level - _CLOSE * size and high < -2.0 * _SMALLEST:
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        target, value = found
        if abs(value - level) <= _CLOSE * size:
            break
        middle = (low + high) / 2.0
        found = expected(middle)
        low, high = (middle, high) if found[1] < level else (low, middle)
    return target


def _of_features(unit: Floats, k: int, factors: Floats) -> KDPP:
    return KDPP.from_features(unit * factors[:, None], k)


def _of_kernel(kernel: Floats, k: int, factors: Floats) -> KDPP:
    return KDPP(kernel * np.outer(factors, factors), k)
