"""The greedy set of largest determinant: one item at a time, each the best addition.

The kernel is L = Phi Phi' + ridge I, with items as the rows of Phi. The ridge is the inner product
of coordinates that no two items share, so both parts are one Gram-Schmidt process: what an item
adds to log det is the log squared length of what it has outside the span of those picked. A step
costs one product with Phi, O(n m) for m features, however many items were picked (the fast greedy
algorithm of Chen, Zhang and Zhou, 2018, in terms of features).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zonodpp._types import Floats, Integers

STALE = 1e-6  # of its last sound value: below, a difference has lost too many digits


class Items(NamedTuple):
    """Items on one scale: L_ij = exp((log_scale_i + log_scale_j) / 2) (u_i'u_j + [i=j] noise_i).

    The parts in brackets have a diagonal of ones, so lengths and weights over hundreds of orders of
    magnitude do no harm.
    """

    unit: Floats  # (n, m), the rows u_i
    noise: Floats  # (n,), the ridge's share of the diagonal
    log_scale: Floats  # (n,), log L_ii; -inf for a zero row without ridge: never picked


def items_of(Phi: Floats, ridge: float = 0.0) -> Items:
    """Bring the rows of Phi, an (n, m) array, to one scale."""
    largest = np.maximum(Phi.max(axis=1), -Phi.min(axis=1))
    safe = np.where(largest > 0, largest, 1.0)
    unit = Phi / safe[:, None]
    lengths = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        log_lengths = np.log(lengths) + np.log(safe)
        if ridge > 0:
            log_scale = np.logaddexp(2 * log_lengths, np.log(ridge))
            noise = np.exp(np.log(ridge) - log_scale)
            shrink = np.exp(log_lengths - log_scale / 2)
        else:
            log_scale = 2 * log_lengths
            noise, shrink = np.zeros(len(Phi)), 1.0
        unit *= (shrink / np.where(lengths > 0, lengths, 1.0))[:, None]
    return Items(unit, noise, log_scale)


class Span:
    """Orthonormal directions of the items picked: a part among the features, a part of the ridge.

    Row t of ``shared`` and of ``own`` together is the direction that pick t added; column s of
    ``own`` is the coordinate that pick s has for itself.
    """

    def __init__(self, shared: Floats, own: Floats) -> None:
        self.shared, self.own = shared, own

    @classmethod
    def empty(cls, m: int, room: int) -> Span:
        """Return the span of nothing, with room for so many picks (see `grow`)."""
        return cls(np.zeros((room, m)), np.zeros((room, room)))

    def first(self, t: int) -> Span:
        """Return the span of the first t picks, as a view."""
        return Span(self.shared[:t], self.own[:t, :t])

    def outside(self, unit: Floats) -> tuple[Floats, Floats]:
        """Return what rows of features have outside the span, in both parts.

        Projected off twice: then what is left of a row inside the span is rounding of the row.
        """
        along = unit @ self.shared.T
        left, own = unit - along @ self.shared, -along @ self.own
        along = left @ self.shared.T + own @ self.own.T
        left -= along @ self.shared
        own -= along @ self.own
        return left, own

    def share_outside(self, unit: Floats) -> Floats:
        """Return the squared lengths of what is outside; exact zeros instead of rounding noise."""
        left, own = self.outside(unit)
        share = np.einsum("ij,ij->i", left, left) + np.einsum("ij,ij->i", own, own)
        noise = 16 * np.finfo(float).eps * np.sqrt(sum(self.shared.shape))
        share[share <= noise**2] = 0.0
        return np.asarray(share)

    def grow(self, t: int, unit: Floats, noise: float) -> Floats:
        """Add pick number t, and return the features' part of its direction."""
        left, own = (part[0] for part in self.first(t).outside(unit[None]))
        length = np.sqrt(left @ left + own @ own + noise)
        self.shared[t] = left / length
        self.own[t, :t] = own / length
        self.own[t, t] = np.sqrt(noise) / length
        direction: Floats = self.shared[t]
        return direction


def pick_greedily(items: Items, k: int | None) -> Integers:
    """Return items in the order in which the greedy algorithm picks them.

    Parameters
    ----------
    items : Items
        See `items_of`.
    k : int or None
        How many. None: as long as log det grows. Fewer come back when no item is left outside the
        span of those picked: their number is then the numerical rank.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.maximum.greedy import items_of, pick_greedily
    >>> Phi = np.array([[3.0, 0.0], [3.1, 0.1], [0.0, 2.0], [0.0, 0.0]])
    >>> pick_greedily(items_of(Phi), 2)
    array([1, 2])
    """
    n, m = items.unit.shape
    most = n if k is None else k
    if not items.noise.any():
        most = min(most, m)
    span = Span.empty(m, min(most, 64))
    share = np.einsum("ij,ij->i", items.unit, items.unit)
    sound = share + items.noise
    free = np.isfinite(items.log_scale)
    picks: list[int] = []
    while len(picks) < most:
        with np.errstate(divide="ignore"):
            gain = np.where(free, items.log_scale + np.log(items.noise + share), -np.inf)
        best = int(np.argmax(gain))
        if gain[best] == -np.inf or (k is None and gain[best] <= 0):
            break
        t = len(picks)
        picks.append(best)
        if len(picks) == most:
            break
        free[best] = False
        if t == len(span.shared):
            span = _doubled(span, m)
        along = items.unit @ span.grow(t, items.unit[best], items.noise[best])
        share -= along * along
        stale = np.flatnonzero(free & (share + items.noise < STALE * sound))
        if stale.size:
            share[stale] = span.first(t + 1).share_outside(items.unit[stale])
            sound[stale] = share[stale] + items.noise[stale]
        np.maximum(share, 0.0, out=share)
    return np.array(picks, dtype=np.int64)


def _doubled(span: Span, m: int) -> Span:
    t = len(span.shared)
    larger = Span.empty(m, 2 * t)
    larger.shared[:t] = span.shared
    larger.own[:t, :t] = span.own
    return larger


def require_rank(picks: Integers, k: int) -> None:
    """Raise when fewer than k items could be picked."""
    if picks.size < k:
        raise ValueError(
            f"k = {k} items asked for, but the kernel has numerical rank {picks.size}: every set "
            f"of more items has determinant zero. Pass k={picks.size} or less, or a ridge, such as "
            "ridge=1e-6 times a typical L[i, i]"
        )
