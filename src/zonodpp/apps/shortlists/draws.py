"""Random lists, for exploration: draws from the k-DPP of relevance times similarity."""

from __future__ import annotations

import numpy as np

from zonodpp._arguments import as_count
from zonodpp._types import Integers, SeedLike
from zonodpp.apps.shortlists.candidates import Candidates
from zonodpp.apps.shortlists.search import most_relevant
from zonodpp.numerics.arrays import to_dense
from zonodpp.runs.sample import sample
from zonodpp.targets.kdpp import KDPP

_CLOSE = 0.005  # error allowed in the expected relevance, as a share of its range
_STEPS = 40  # strengths tried at most; bisection needs 10 to 20
_SMALLEST = -300.0  # log of the smallest factor of an item: its square is a positive number
_STRONGEST = -2.0 * _SMALLEST  # beyond it, the less relevant half of the range has that factor


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
    kept = most_relevant(items, len(items.relevance), fixed, None)
    target = _target_of_level(items.take(kept), k, fixed, level)
    subset = sample(target, n_draws, rng=rng, progress=False).best()
    return kept[subset], min(0.0, float(target.log_prob(subset)))


def _target_of_level(items: Candidates, k: int, fixed: int, level: float) -> KDPP:
    """Find the strength of relevance at which a draw is expected to reach the level."""
    size = float(np.ptp(items.relevance)) or 1.0
    logs = (items.relevance - items.relevance.max()) / size
    logs[:fixed] = 0.0  # items that are in every list: the law of the others does not depend on it
    by_distance = items.spread is not None
    base = items.similarity(items.rows) if by_distance else to_dense(items.rows)
    strength, low, high = 0.0, 0.0, np.inf
    for _ in range(_STEPS):
        factors = np.exp(np.maximum(strength * logs, _SMALLEST))[:, None]
        scaled = factors * base
        target = KDPP(scaled * factors.T, k) if by_distance else KDPP.from_features(scaled, k)
        target = target.condition(include=range(fixed)) if fixed else target
        excess = float(target.marginals() @ items.relevance) - level
        if abs(excess) <= _CLOSE * size or (excess > 0 and strength == 0) or strength > _STRONGEST:
            break
        low, high = (low, strength) if excess > 0 else (strength, high)
        strength = (low + high) / 2 if np.isfinite(high) else max(1.0, 2 * low)
    return target
