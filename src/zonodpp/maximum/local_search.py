"""Exchanges that make a determinant larger, until none does.

What an exchange multiplies det L_S by is a principal minor of the tableau of S, the principal pivot
transform of L. One pass over all items finds the best partner of each member of S; the exchanges
among these few are then done on their own small tableau, at O(k^2) each, and the next pass starts
from a fresh factor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from zonodpp._types import Floats, Integers
from zonodpp.linalg.dense import row_chunks
from zonodpp.linalg.greedy import STALE, Items, Span

_TOLERANCE = 1e-9  # a step must raise log det by more, so ties cannot go round in circles
_SMALL_PIVOT = 1e-6  # a tableau is made anew before a step whose minor is smaller
_ENTRIES = 2**20  # of the tableau over all items that are computed at a time
_FEW = 4  # the most promising items are searched first if all items are so many times more
_ADDITIONS = 32  # at most so many items of a chunk are tried as additions


class Factor(NamedTuple):
    """L_S, on the scale of one, as R'R with R from a QR of features and ridge."""

    span: Span
    inverse: Floats  # R^{-1}
    log_det: float  # of L_S, with its scale

    def tableau(self, unit: Floats) -> Floats:
        """Return T = L_S^{-1} L_{S,j} for rows of features, one column for each."""
        return np.asarray((self.inverse @ self.span.shared) @ unit.T)

    def left_over(self, unit: Floats, noise: Floats) -> Floats:
        """Return the share of items that the span of S does not explain."""
        k, m = self.span.shared.shape
        if k == m and not noise.any():
            return np.zeros(len(unit))
        along = unit @ self.span.shared.T
        share = np.einsum("ij,ij->i", unit, unit) - np.einsum("ij,ij->i", along, along) + noise
        stale = np.flatnonzero(share < STALE)
        share[stale] = self.span.share_outside(unit[stale]) + noise[stale]
        return np.asarray(share)


def factor_of(items: Items, members: Integers) -> Factor:
    """Factorise L_S without squaring its condition number."""
    m = items.unit.shape[1]
    stack = np.vstack([items.unit[members].T, np.diag(np.sqrt(items.noise[members]))])
    Q, R = np.linalg.qr(stack)
    with np.errstate(divide="ignore"):
        log_det = 2 * np.log(np.abs(np.diagonal(R))).sum() + items.log_scale[members].sum()
    inverse = scipy.linalg.solve_triangular(R, np.eye(len(R)), check_finite=False)
    span = Span(np.ascontiguousarray(Q[:m].T), np.ascontiguousarray(Q[m:].T))
    return Factor(span, inverse, float(log_det))


class Climb(NamedTuple):
    """Where a search ended.

    If settled, no exchange of a member for another item raises log det by more than 1e-9.
    Otherwise rounding errors promised an exchange that does not.
    """

    members: Integers
    log_det: float
    steps: int
    settled: bool


def climb(items: Items, members: Integers, *, free_size: bool) -> Climb:
    """Exchange one item at a time, and add or drop one if the size is free, while log det grows."""
    steps = 0
    if not members.size:
        return Climb(members, 0.0, steps, settled=True)
    factor = factor_of(items, members)
    while True:
        partners, promise = _scan(items, members, factor, free_size)
        pool = np.concatenate([members, partners])
        inside = np.arange(pool.size) < members.size
        taken = _climb_in_tableau(items, pool, inside, factor, free_size)
        if not taken:
            return Climb(members, factor.log_det, steps, settled=True)
        changed = pool[inside]
        if not changed.size:
            return Climb(changed, 0.0, steps + taken, settled=True)
        promising = np.argsort(promise)[-max(1000, 16 * changed.size) :]
        active = np.union1d(changed, promising)
        if _FEW * active.size < promise.size:
            found = climb(
                Items(*(part[active] for part in items)),
                np.searchsorted(active, changed),
                free_size=free_size,
            )
            changed, taken = active[found.members], taken + found.steps
        fresh = factor_of(items, changed)
        if not fresh.log_det > factor.log_det:
            return Climb(members, factor.log_det, steps, settled=False)
        members, factor, steps = changed, fresh, steps + taken


def _scan(
    items: Items, members: Integers, factor: Factor, free_size: bool
) -> tuple[Integers, Floats]:
    """Find, for each member, the item that would best replace it; and the best additions.

    Returns also, for each item, the log of the best ratio that an exchange for it has.
    """
    k = members.size
    diagonal = np.einsum("ij,ij->i", factor.inverse, factor.inverse)
    loss = items.log_scale[members] - np.log(diagonal)  # of log det, without each member
    best = loss + _TOLERANCE
    partner = np.full(k, -1)
    log_scale = items.log_scale.copy()
    log_scale[members] = -np.inf
    promise = np.empty(log_scale.size)
    added = [np.empty(0, dtype=np.int64)]
    for span, unit in row_chunks(items.unit, max(1, _ENTRIES // k)):
        share = factor.left_over(unit, items.noise[span])
        gain = factor.tableau(unit)
        gain *= gain
        gain /= diagonal[:, None]
        gain += share
        with np.errstate(divide="ignore"):
            np.log(gain, out=gain)
            gain += log_scale[span]
            at = np.argmax(gain, axis=1)
            value = gain[np.arange(k), at]
            better = value > best
            best[better] = value[better]
            partner[better] = span.start + at[better]
            gain -= loss[:, None]
            promise[span] = gain.max(axis=0)
            if free_size:
                alone = np.log(share) + log_scale[span]
                most = np.argsort(alone)[-_ADDITIONS:]
                added.append(span.start + most[alone[most] > _TOLERANCE])
    return np.unique(np.concatenate([partner[partner >= 0], *added])), promise


def _climb_in_tableau(
    items: Items, pool: Integers, inside: np.ndarray, factor: Factor, free_size: bool
) -> int:
    """Do exchanges within the pool, the best one first; change ``inside``, return their number."""
    V = _pool_tableau(items, pool, factor)
    scale = items.log_scale[pool]
    steps = 0
    while steps < pool.size:
        members, others = np.flatnonzero(inside), np.flatnonzero(~inside)
        moves = _moves(V, scale, members, others, free_size)
        if not moves:
            break
        gain, flipped = max(moves, key=lambda move: move[0])
        minor = V[np.ix_(flipped, flipped)]
        if not gain > _TOLERANCE or (steps and np.linalg.det(minor) < _SMALL_PIVOT):
            break
        _pivot(V, flipped)
        inside[flipped] ^= True
        steps += 1
    return steps


def _moves(
    V: Floats, scale: Floats, members: Integers, others: Integers, free_size: bool
) -> list[tuple[float, Integers]]:
    """Return the best move of each kind: what it adds to log det, and the items it flips."""
    found: list[tuple[float, Integers]] = []
    diagonal = np.diagonal(V)
    with np.errstate(divide="ignore", invalid="ignore"):
        if members.size and others.size:
            minors = np.outer(diagonal[members], diagonal[others])
            minors -= V[np.ix_(members, others)] * V[np.ix_(others, members)].T
            gains = np.log(np.maximum(minors, 0.0)) + scale[others] - scale[members][:, None]
            i, j = divmod(int(np.argmax(gains)), others.size)
            found.append((float(gains[i, j]), np.array([members[i], others[j]])))
        if free_size:
            signs = ((members, -1.0), (others, 1.0))
            for group, sign in signs:
                if group.size:
                    gains = np.log(np.maximum(diagonal[group], 0.0)) + sign * scale[group]
                    i = int(np.argmax(gains))
                    found.append((float(gains[i]), group[i : i + 1]))
    return found


def _pool_tableau(items: Items, pool: Integers, factor: Factor) -> Floats:
    """Return the principal pivot transform of L over the pool; its members come first."""
    k = len(factor.inverse)
    unit, noise = items.unit[pool[k:]], items.noise[pool[k:]]
    T = factor.tableau(unit)
    left, own = factor.span.outside(unit)
    V = np.empty((pool.size, pool.size))
    V[:k, :k] = factor.inverse @ factor.inverse.T
    V[:k, k:] = -T
    V[k:, :k] = T.T
    V[k:, k:] = left @ left.T + own @ own.T + np.diag(noise)
    return V


def _pivot(V: Floats, flipped: Integers) -> None:
    """Flip one or two items in or out: a principal pivot, in place."""
    rest = np.setdiff1d(np.arange(len(V)), flipped)
    across = np.ix_(flipped, rest)
    down = np.ix_(rest, flipped)
    inverse = np.linalg.inv(V[np.ix_(flipped, flipped)])
    row = inverse @ V[across]
    column = V[down] @ inverse
    V[np.ix_(rest, rest)] -= V[down] @ row
    V[across] = -row
    V[down] = column
    V[np.ix_(flipped, flipped)] = inverse
