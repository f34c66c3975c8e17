"""The most likely subset, as nearly as it can be found: greedy picks, then exchanges.

To find the most likely subset is NP-hard in general. For spanning trees the answer is exact: the
tree of greatest weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zonodpp._arguments import as_count, as_positive
from zonodpp._types import Floats, Integers
from zonodpp.best.designs import best_design
from zonodpp.best.exchanges import Climb, climb
from zonodpp.numerics.determinant import items_of, pick_greedily
from zonodpp.targets.base import Target


@dataclass(frozen=True)
class Maximum:
    """A subset of high probability, and how it was reached.

    Attributes
    ----------
    subset : (k,) array of int
        The items, ascending.
    log_weight : float
        The logarithm of what was maximised, without normalisation: ``log det (L + ridge I)_S``,
        ``power * log |det A_B| + sum(log q_B)``, or ``log det(X_S' X_S)`` for a `Design`.
    swaps : int
        How many exchanges (for a free size also additions and removals) improved the greedy set.
    optimal : str
        What is known: ``"global"`` (no subset is more likely), ``"swaps"`` (no subset with one item
        exchanged is), ``"greedy"`` (exchanges were not tried) or ``"rounding"`` (no exchange helps,
        as far as floating-point numbers can tell).

    See Also
    --------
    zonodpp.find_map : The function that makes it.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, find_map
    >>> best = find_map(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]))
    >>> best.subset, best.optimal
    (array([1, 2]), 'swaps')
    """

    subset: Integers
    log_weight: float
    swaps: int
    optimal: str


def find_map(
    target: Target, *, k: int | None = None, ridge: float = 0.0, swaps: bool = True
) -> Maximum:
    """Find a subset of high probability: MAP inference by greedy picks and exchanges.

    Items are picked one at a time, each the best addition. Then one item at a time is exchanged for
    a better one, until no exchange makes the subset more likely. Every exchange raises the
    probability, so the search ends. For a graph the answer is the spanning tree of greatest weight,
    which is exact. For a `Design` the search is one for D-optimal designs, by the exchanges of
    Fedorov and the excursions of Mitchell's DETMAX.

    Parameters
    ----------
    target : ProjectionDPP, VolumeSampling, DPP, KDPP or Design
        What to maximise. `target.condition` fixes items that must be in or out.
    k : int, optional
        How many items, for a DPP. None: as many as make it most likely. All other targets fix it.
    ridge : float, default 0
        For a DPP or KDPP: use L + ridge I instead of L, so that k may exceed the rank of L. Items
        whose features are zero (excluded ones) stay impossible.
    swaps : bool, default True
        Whether to go on to exchanges after the greedy picks.

    Returns
    -------
    Maximum
        With ``subset``, ``log_weight``, ``swaps`` and ``optimal``.

    Raises
    ------
    ValueError
        When k is not the size that the target fixes, or is larger than the rank allows.

    See Also
    --------
    sample : Random subsets.
    zonodpp.Samples.best : The likeliest subset among draws.

    References
    ----------
    L. Chen, G. Zhang, E. Zhou, "Fast greedy MAP inference for determinantal point process to
    improve recommendation diversity", NeurIPS 2018, algorithm 1.

    V. V. Fedorov, "Theory of Optimal Experiments", Academic Press (1972).

    T. J. Mitchell, "An algorithm for the construction of D-optimal experimental designs",
    Technometrics 16 (1974).

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, find_map
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> find_map(target).subset
    array([1, 2])
    """
    if not isinstance(target, Target):
        raise TypeError(
            "find_map expects a target (ProjectionDPP, VolumeSampling, DPP, KDPP), got "
            f"{type(target).__name__}; make one with DPP.from_features(Phi) or DPP(L=L)"
        )
    ridge = as_positive(ridge, "ridge", or_zero=True)
    k = target.size_to_maximise(k, ridge)
    known = target.known_maximum()
    if known is not None:
        return Maximum(*known, 0, "global")
    features, log_factor, power, of_features = target.objective(k, ridge)
    if of_features:
        assert k is not None
        return _maximum(best_design(features, k, swaps=swaps), log_factor)
    # Items without features are impossible, perhaps by a condition, whatever the ridge.
    possible = np.flatnonzero(features.any(axis=1))
    found = maximise(features[possible], k=k, ridge=ridge, swaps=swaps)
    log_weight = power / 2 * (found.log_weight + log_factor)
    return Maximum(possible[found.subset], log_weight, found.swaps, found.optimal)


def maximise(
    Phi: Floats, *, k: int | None = None, ridge: float = 0.0, swaps: bool = True
) -> Maximum:
    """Find a set S with large det (Phi Phi' + ridge I)_S; items are rows of Phi.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.best.search import maximise
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> maximise(X, k=20, ridge=0.1).subset.size  # more items than features
    20
    """
    if k is not None and as_count(k, "k", 0) > len(Phi):
        raise ValueError(f"k = {k} items asked for, but there are {len(Phi)}")
    items = items_of(Phi, ridge)
    picks = pick_greedily(items, k)
    if k is not None and picks.size < k:
        raise ValueError(
            f"k = {k} items asked for, but the kernel has numerical rank {picks.size}: every set "
            f"of more items has determinant zero. Pass k={picks.size} or less, or a ridge, such as "
            "ridge=1e-6 times a typical L[i, i]"
        )
    return _maximum(climb(items, picks, free_size=k is None, swaps=swaps))


def _maximum(found: Climb, log_factor: float = 0.0) -> Maximum:
    return Maximum(np.sort(found.members), found.log_det + log_factor, found.steps, found.optimal)
