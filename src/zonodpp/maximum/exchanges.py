"""Exchanges that make a determinant larger, until none does: for kernels, and for designs.

With T = L_S^{-1} L_{S,j} and d_i = (L_S^{-1})_ii, an exchange of member i for item j multiplies
det L_S by T_ij^2 + d_i s_j, where s_j is the part of L_jj that S does not explain. One pass over
all items finds the best exchange. A pass over many items takes long. So before the next pass, the
items with the best exchanges are searched on their own, until no exchange among them helps.

D-optimal designs are k rows, at least as many as features, with the largest det(X_S' X_S). With
l_ij = x_i' (X_S' X_S)^{-1} x_j, an exchange of row i of S for row j multiplies the determinant by
(1 + l_jj)(1 - l_ii) + l_ij^2 (Fedorov, 1972). Here the search among the best rows also tries
excursions: a few rows added one by one and as many dropped, or the other way round (Mitchell,
1974). Passes and searches take turns until neither makes the determinant larger. The first search
also begins with a few random designs, for the greedy one may lead to a poor local maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from zonodpp._threads import one_thread
from zonodpp._types import Floats, Integers, Rng
from zonodpp.linalg.dense import row_chunks
from zonodpp.linalg.greedy import STALE, Items, items_of, pick_greedily, share_outside

TOLERANCE = 1e-9  # a step must raise log det by more, so ties cannot go round in circles
ENTRIES = 2**20  # of the tableau over all items that are computed at a time
SHARE = 1 / 8  # of all items, those with the best exchanges, are searched on their own
FEW = 1000  # items that are not divided further: a pass over them takes milliseconds
_STARTS = 2  # random designs from which to climb too; more gain little (docs/designs.md)
_FIRST = 1e4  # added to log lengths of rows to take first: more than logs of floats can differ
_LONGEST = 6  # rows that an excursion adds or drops; Mitchell's DETMAX takes the same number


class Factor(NamedTuple):
    """L_S, scaled to a diagonal of ones, as R'R with R from a QR of features and ridge."""

    directions: Floats  # of S, orthonormal, as rows: features, then the ridge of each member
    inverse: Floats  # R^{-1}
    log_det: float  # of L_S, with its scale

    def left_over(self, unit: Floats, ridge: Floats) -> Floats:
        """Return the share of each item that the span of S does not explain."""
        m = unit.shape[1]
        if len(self.inverse) == m and not ridge.any():
            return np.zeros(len(unit))
        along = unit @ self.directions[:, :m].T
        share = np.einsum("ij,ij->i", unit, unit) - np.einsum("ij,ij->i", along, along) + ridge
        stale = np.flatnonzero(share < STALE)
        share[stale] = share_outside(self.directions, unit[stale]) + ridge[stale]
        return np.asarray(share)


def _factor_of(items: Items, members: Integers) -> Factor:
    """Factorise L_S without squaring its condition number."""
    stack = np.vstack([items.unit[members].T, np.diag(np.sqrt(items.ridge[members]))])
    Q, R = np.linalg.qr(stack)
    with np.errstate(divide="ignore"):
        log_det = 2 * np.log(np.abs(np.diagonal(R))).sum() + items.log_scale[members].sum()
    return Factor(np.ascontiguousarray(Q.T), np.linalg.inv(R), float(log_det))


class Climb(NamedTuple):
    """Where a search ended.

    ``settled`` is True if no exchange of one member raises log det by more than 1e-9, False if
    rounding errors promised a gain that an exchange did not bring, and None without exchanges.
    """

    members: Integers
    log_det: float
    steps: int
    settled: bool | None


def climb(items: Items, members: Integers, *, free_size: bool, swaps: bool = True) -> Climb:
    """Exchange one item at a time, and add or drop one if the size is free, while log det grows."""
    steps = 0
    factor = _factor_of(items, members)
    while swaps and members.size:
        changed, gains = _best_move(items, members, factor, free_size)
        if changed is None:
            return Climb(members, factor.log_det, steps, settled=True)
        taken = 1
        active = _promising(gains, members)
        if 2 * active.size < gains.size:
            few = Items(*(part[active] for part in items))
            found = climb(few, np.searchsorted(active, members), free_size=free_size)
            changed, taken = active[found.members], found.steps
        fresh = _factor_of(items, changed)
        if not fresh.log_det > factor.log_det:
            return Climb(members, factor.log_det, steps, settled=False)
        members, factor, steps = changed, fresh, steps + taken
    return Climb(members, factor.log_det, steps, settled=True if swaps else None)


def _promising(gains: Floats, members: Integers) -> Integers:
    """Return the members and the items with the best exchanges, which are searched on their own."""
    count = min(max(FEW, int(SHARE * gains.size)), gains.size)
    return np.union1d(members, np.argpartition(gains, -count)[-count:])


def _best_move(
    items: Items, members: Integers, factor: Factor, free_size: bool
) -> tuple[Integers | None, Floats]:
    """Return the members after the move that raises log det most, None if no move raises it.

    Returns also, for each item, what its best exchange or addition adds to log det.
    """
    diagonal = np.einsum("ij,ij->i", factor.inverse, factor.inverse)
    loss = items.log_scale[members] - np.log(diagonal)  # of log det, without each member
    T = factor.inverse @ factor.directions[:, : items.unit.shape[1]]
    log_scale = items.log_scale.copy()
    log_scale[members] = -np.inf
    gains, leaving = np.empty(log_scale.size), np.empty(log_scale.size, dtype=np.int64)
    with np.errstate(divide="ignore"):
        for span, unit in row_chunks(items.unit, max(1, ENTRIES // members.size)):
            share = factor.left_over(unit, items.ridge[span])
            gain = unit @ T.T  # a row for each item
            gain *= gain
            gain /= diagonal
            gain += share[:, None]
            np.log(gain, out=gain)
            gain -= loss
            leaving[span] = np.argmax(gain, axis=1)
            gains[span] = gain.max(axis=1) + log_scale[span]
            if free_size:
                alone = np.log(share) + log_scale[span]
                leaving[span][alone > gains[span]] = -1
                np.maximum(gains[span], alone, out=gains[span])
    item, least = int(np.argmax(gains)), int(np.argmin(loss))
    if free_size and -loss[least] > max(gains[item], TOLERANCE):
        return np.delete(members, least), gains
    if not gains[item] > TOLERANCE:
        return None, gains
    kept = members if leaving[item] < 0 else np.delete(members, leaving[item])
    return np.append(kept, item), gains


def best_design(rows: Floats, k: int, *, swaps: bool) -> Climb:
    """Find k rows with a large determinant: greedily, then by exchanges and excursions."""
    with one_thread():  # products this small gain nothing from more
        members = pick_greedily(items_of(rows), rows.shape[1])
        members = _excursion(rows, members, [1] * (k - members.size))
        best = Climb(members, _factor(rows[members])[1], 0, settled=None)
        while swaps:
            gains, _ = _exchanges(rows, best.members, _factor(rows[best.members])[0])
            active = _promising(gains, best.members)
            starts = _STARTS if best.steps == 0 else 0
            found = _search(rows[active], np.searchsorted(active, best.members), starts)
            if not found.log_det > best.log_det + TOLERANCE:
                return best._replace(settled=bool(gains.max() <= 1.0 + TOLERANCE))
            best = Climb(active[found.members], found.log_det, best.steps + found.steps, None)
        return best


def _search(rows: Floats, members: Integers, starts: int) -> Climb:
    """Exchange rows until nothing helps, then try excursions, the short ones first.

    Exchanges begin with the members, and again with ``starts`` random designs.
    """
    spare, room = members.size - rows.shape[1], len(rows) - members.size
    rng = np.random.default_rng(0)
    others = [_random_design(rows, members.size, rng) for _ in range(starts)]
    best = max((_climb(rows, begin) for begin in [members, *others]), key=lambda c: c.log_det)
    length = 2  # an excursion of one row is an exchange
    while length <= _LONGEST:
        there, back = [1] * length, [-1] * length
        tried = [
            _climb(rows, _excursion(rows, best.members, moves))
            for moves, possible in ((there + back, length <= room), (back + there, length <= spare))
            if possible
        ]
        found = max(tried, key=lambda climb: climb.log_det, default=best)
        length += 1
        if found.log_det > best.log_det + TOLERANCE:
            best, length = found._replace(steps=best.steps + found.steps + 1), 2
    return best


def _random_design(rows: Floats, k: int, rng: Rng) -> Integers:
    """Draw k rows; if they do not span the space, others take the place of some of them."""
    drawn = rng.choice(len(rows), k, replace=False)
    items = items_of(rows)
    items.log_scale[drawn] += _FIRST
    basis = pick_greedily(items, rows.shape[1])
    return np.append(basis, drawn[~np.isin(drawn, basis)])[:k]


def _climb(rows: Floats, members: Integers) -> Climb:
    """Make the best exchange, again and again, while the determinant grows."""
    inverse, log_det = _factor(rows[members])
    steps = 0
    while True:
        gains, leaving = _exchanges(rows, members, inverse)
        item = int(np.argmax(gains))
        if not gains[item] > 1.0 + TOLERANCE:
            return Climb(members, log_det, steps, settled=True)
        changed = members.copy()
        changed[leaving[item]] = item
        inverse, fresh = _factor(rows[changed])
        if not fresh > log_det:
            return Climb(members, log_det, steps, settled=False)
        members, log_det, steps = changed, fresh, steps + 1


def _factor(members: Floats) -> tuple[Floats, float]:
    """Return R^{-1} for the rows' Gram matrix R'R, and the log of its determinant."""
    R = np.linalg.qr(members, mode="r")
    return np.linalg.inv(R), float(2 * np.log(np.abs(np.diagonal(R))).sum())


def _exchanges(rows: Floats, members: Integers, inverse: Floats) -> tuple[Floats, Integers]:
    """Return the largest factor of the determinant for each row, and the member that leaves."""
    inside = rows[members] @ inverse
    slack = 1.0 - np.einsum("ij,ij->i", inside, inside)
    gains, leaving = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)
    for span, chunk in row_chunks(rows, max(1, ENTRIES // members.size)):
        white = chunk @ inverse
        factors = white @ inside.T
        factors *= factors
        factors += (1.0 + np.einsum("ij,ij->i", white, white))[:, None] * slack
        leaving[span] = np.argmax(factors, axis=1)
        gains[span] = factors.max(axis=1)
    gains[members] = 0.0
    return gains, leaving


def _excursion(rows: Floats, members: Integers, moves: Sequence[int]) -> Integers:
    """Add (1) the row that raises the determinant most, or drop (-1) the one it needs least."""
    inverse = _factor(rows[members])[0]
    information = inverse @ inverse.T  # (X_S' X_S)^{-1}, changed by rank-one updates
    white = rows @ inverse
    leverages = np.einsum("ij,ij->i", white, white)
    inside = np.zeros(len(rows), dtype=bool)
    inside[members] = True
    for move in moves:
        item = int(np.argmax(np.where(inside == (move > 0), -np.inf, move * leverages)))
        column = information @ rows[item]
        factor = move / max(1.0 + move * leverages[item], np.finfo(float).eps)
        information -= factor * np.outer(column, column)
        leverages -= factor * (rows @ column) ** 2
        inside[item] = move > 0
    return np.flatnonzero(inside)
