"""The most likely subset, as nearly as it can be found: greedy picks, then exchanges.

The exact answer is NP-hard in general. It is exact for spanning trees, where it is the tree of
greatest weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from zonodpp._types import Floats, Integers
from zonodpp.arguments import as_count, as_matrix, check_finite
from zonodpp.linalg.gram import column_chunks
from zonodpp.maximum.greedy import items_of, pick_greedily, require_rank
from zonodpp.maximum.local_search import climb, factor_of
from zonodpp.targets.determinants import heaviest_tree
from zonodpp.targets.family import VolumeSampling
from zonodpp.targets.spectral import SpectralTarget

SURE = 1e7  # how much larger than all others a direction is that every draw needs


@dataclass(frozen=True)
class Maximum:
    """A subset of high probability, and how it was reached.

    Attributes
    ----------
    subset : (k,) array of int
        The items, ascending.
    log_weight : float
        The logarithm of what was maximised, without normalisation: ``log det (L + ridge I)_S``, or
        ``power * log |det A_B| + sum(log q_B)``.
    swaps : int
        How many exchanges (for a free size also additions and removals) improved the greedy set.
    optimal : str
        What is known: ``"global"`` (no subset is more likely), ``"swaps"`` (no subset with one item
        exchanged is), ``"greedy"`` (exchanges were not tried) or ``"rounding"`` (they were, as far
        as floating-point numbers tell one from another).
    """

    subset: Integers
    log_weight: float
    swaps: int
    optimal: str


def find_map(
    target: Any, *, k: int | None = None, ridge: float = 0.0, swaps: bool = True
) -> Maximum:
    """Find a subset of high probability: MAP inference by greedy picks and exchanges.

    Items are picked one at a time, each the best addition (Chen, Zhang and Zhou, 2018). Then one
    item at a time is exchanged for a better one, until no exchange makes the subset more likely.
    Every exchange raises the probability, so the search ends. For a graph the answer is the
    spanning tree of greatest weight, which is exact.

    Parameters
    ----------
    target : ProjectionDPP, VolumeSampling, DPP or KDPP
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

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, find_map
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> find_map(target).subset
    array([1, 2])
    """
    ridge = _as_ridge(ridge)
    if isinstance(target, VolumeSampling):
        if k is not None and k != target.r:
            raise ValueError(f"every draw of this target has r = {target.r} items, got k = {k}")
        if ridge:
            raise ValueError(
                "a ridge is for DPP and KDPP: it would change which sets of r items are possible; "
                "leave it out"
            )
        if target.graph is not None:
            tree = heaviest_tree(target.graph, target.weights)  # determinants of trees are +-1
            logs = 0.0 if target.weights is None else np.log(target.weights[tree]).sum()
            return Maximum(tree, float(logs), 0, "global")
        found = maximise(_whitened(target), k=target.r, swaps=swaps)
        log_weight = target.power / 2 * (found.log_weight + target.log_normaliser)
        return Maximum(found.subset, log_weight, found.swaps, found.optimal)
    if not isinstance(target, SpectralTarget):
        raise TypeError(
            "find_map expects a target (ProjectionDPP, VolumeSampling, DPP, KDPP), got "
            f"{type(target).__name__}; make one with DPP.from_features(Phi) or DPP(L=L)"
        )
    fixed = getattr(target, "k", None)
    if fixed is not None and k is not None and k != fixed:
        raise ValueError(f"every draw of this target has k = {fixed} items, got k = {k}")
    return _spectral(target, k if fixed is None else fixed, ridge, swaps)


def maximise(Phi: Any, *, k: int | None = None, ridge: float = 0.0, swaps: bool = True) -> Maximum:
    """Find a set S with large det (Phi Phi' + ridge I)_S; items are rows of Phi.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.maximum.search import maximise
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> maximise(X, k=20, ridge=0.1).subset.size  # more items than features
    20
    """
    matrix = as_matrix(Phi, "Phi")
    check_finite(matrix, "Phi")
    if k is not None:
        k = as_count(k, "k", 0)
        if k > matrix.shape[0]:
            raise ValueError(f"k = {k} items asked for, but there are {matrix.shape[0]}")
    items = items_of(matrix.toarray() if sp.issparse(matrix) else matrix, _as_ridge(ridge))
    picks = pick_greedily(items, k)
    if k is not None:
        require_rank(picks, k)
    if swaps:
        members, log_det, steps, settled = climb(items, picks, free_size=k is None)
        return Maximum(np.sort(members), log_det, steps, "swaps" if settled else "rounding")
    log_det = factor_of(items, picks).log_det if picks.size else 0.0
    return Maximum(np.sort(picks), log_det, 0, "greedy")


def _spectral(target: SpectralTarget, k: int | None, ridge: float, swaps: bool) -> Maximum:
    """Maximise for a kernel given by eigenvectors, some perhaps of infinite eigenvalue."""
    finite = target.log_eigenvalues[np.isfinite(target.log_eigenvalues)]
    sure = target.r - finite.size
    if k is not None and k < sure:
        raise ValueError(f"{sure} items are in every draw of this target, got k = {k}")
    if k == target.r and not ridge:  # determinants of all features differ by one factor alone
        Phi, log_factor = target.vectors, float(finite.sum())
    else:
        # Infinity is a factor far above all others; its own size is taken off again.
        size = max(float(np.linalg.norm(target.phi, axis=1).max(initial=0.0)), np.sqrt(ridge))
        # A free size goes on as long as items raise the determinant, as infinite ones must.
        large = SURE * (max(size, 1.0) if k is None else size or 1.0)
        Phi = np.column_stack([large * target.sure, target.phi])
        log_factor = -2 * sure * float(np.log(large))
    # Items without features are impossible, perhaps by a condition, whatever the ridge.
    possible = np.flatnonzero(Phi.any(axis=1))
    found = maximise(Phi[possible], k=k, ridge=ridge, swaps=swaps)
    log_weight = found.log_weight + log_factor
    return Maximum(possible[found.subset], log_weight, found.swaps, found.optimal)


def _whitened(target: VolumeSampling) -> Floats:
    """Return the whitened columns as rows: a change of A's coordinates moves no maximum."""
    W, where = target.whitening.W, target.coordinates
    rows = np.empty((target.n, target.r))
    for span, chunk in column_chunks(where.matrix, where.scale):
        rows[span] = (W @ chunk).T
    return rows


def _as_ridge(ridge: Any) -> float:
    try:
        value = float(ridge)
    except (TypeError, ValueError):
        raise TypeError(f"ridge must be a number, got {ridge!r}") from None
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"ridge must be a finite number, zero or more, got {value:g}")
    return value
