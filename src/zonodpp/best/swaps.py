"""Exchanges after the picks: the items of a local maximum of the determinant, in greedy order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zonodpp._types import Floats
from zonodpp.best.arrays import Array, eps_of, indices_like, on_host
from zonodpp.best.exchanges import climb
from zonodpp.best.items import FeatureItems, Items
from zonodpp.best.volume import pick_by_volume
from zonodpp.numerics.determinant import items_of
from zonodpp.numerics.kernel import pivoted_factor


def exchanged(
    items: Items, picks: Sequence[int], given: Sequence[int], ridge: float, most: int
) -> tuple[list[int], list[Array]]:
    """Exchange picks while the determinant grows, at most so many; order what is left greedily."""
    Phi = _features_of(items)
    there = np.array(given, dtype=np.int64)
    left = np.delete(np.arange(len(Phi)), there)
    rows = _outside(Phi[left], Phi[there], ridge)
    members = np.searchsorted(left, np.sort(picks))
    found = climb(items_of(rows, ridge), members, free_size=False, most=most)
    few = np.append(there, np.sort(left[found.members]))
    kept = _renumbered(items.take(indices_like(items.diagonal, few.tolist())))
    order, gains = pick_by_volume(kept, len(picks), range(len(there)), ridge)
    return few[order].tolist(), gains


def _renumbered(items: Items) -> Items:
    """Return items as all there are."""
    if isinstance(items, FeatureItems):
        return replace(items, index=None)
    return replace(items, index=None, all=None)


def _features_of(items: Items) -> Floats:
    """Return Phi with L = Phi Phi' as float64."""
    if isinstance(items, FeatureItems):
        rows = on_host(items.rows)
        return rows if items.scale is None else rows * on_host(items.scale)[:, None]
    everything = indices_like(items.diagonal, range(items.diagonal.shape[0]))
    return pivoted_factor(on_host(items.rows_of_kernel(everything)), eps_of(items.diagonal))


def _outside(rows: Floats, given: Floats, ridge: float) -> Floats:
    """Return rows with the kernel of the others given some: Phi (I - G'(GG' + ridge I)^-1 G)^1/2.

    With G = U S V' the matrix in brackets has the eigenvalue ridge / (s^2 + ridge) in the direction
    of each column of V, and one elsewhere.
    """
    if not len(given):
        return rows
    _, s, Vt = np.linalg.svd(given, full_matrices=False)
    noise = s[0] * max(given.shape) * np.finfo(float).eps
    shrink = np.where(s > noise, np.sqrt(ridge / (s**2 + ridge + noise**2)) if ridge else 0.0, 1.0)
    return np.asarray(rows - (rows @ Vt.T * (1 - shrink)) @ Vt)
