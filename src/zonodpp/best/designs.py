"""D-optimal designs: exchanges and excursions that make a determinant larger, until none does.

A D-optimal design is k rows, at least as many as features, with the largest det(X_S' X_S). With
l_ij = x_i' (X_S' X_S)^{-1} x_j, an exchange of row i of S for row j multiplies the determinant by
(1 + l_jj)(1 - l_ii) + l_ij^2 (Fedorov, 1972). Here the search among the best rows also tries
excursions: a few rows added one by one and as many dropped, or the other way round (Mitchell,
1974). Passes and searches take turns until neither makes the determinant larger. The first search
also begins with a few random designs, for the greedy one may lead to a poor local maximum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zonodpp._types import Floats, Integers, Rng
from zonodpp.best.exchanges import ENTRIES, TOLERANCE, Climb, promising
from zonodpp.numerics.arrays import row_chunks
from zonodpp.numerics.determinant import items_of, pick_greedily
from zonodpp.numerics.threads import one_thread

_STARTS = 2  # random designs from which to climb too; more gain little (docs/designs.md)
_FIRST = 1e4  # added to log lengths of rows to take first: more than logs of floats can differ
_LONGEST = 6  # rows that an excursion adds or drops; Mitchell's DETMAX takes the same number


def best_design(rows: Floats, k: int, *, swaps: bool) -> Climb:
    """Find k rows with a large determinant: greedily, then by exchanges and excursions."""
    with one_thread():  # products this small gain nothing from more
        members = pick_greedily(items_of(rows), rows.shape[1])
        members = _excursion(rows, members, [1] * (k - members.size))
        best = Climb(members, _factor(rows[members])[1], 0, "greedy")
        while swaps:
            gains, _ = _exchanges(rows, best.members, _factor(rows[best.members])[0])
            active = promising(gains, best.members)
            starts = _STARTS if best.steps == 0 else 0
            found = _search(rows[active], np.searchsorted(active, best.members), starts)
            if not found.log_det > best.log_det + TOLERANCE:
                settled = gains.max() <= 1.0 + TOLERANCE
                return best._replace(optimal="swaps" if settled else "rounding")
            best = found._replace(members=active[found.members], steps=best.steps + found.steps)
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
        found = max(tried, key=lambda c: c.log_det, default=best)
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
            return Climb(members, log_det, steps, "swaps")
        changed = members.copy()
        changed[leaving[item]] = item
        inverse, fresh = _factor(rows[changed])
        if not fresh > log_det:
            return Climb(members, log_det, steps, "rounding")
        members, log_det, steps = changed, fresh, steps + 1


def _factor(design: Floats) -> tuple[Floats, float]:
    """Return R^{-1} for the Gram matrix R'R of some rows, and the log of its determinant."""
    R = np.linalg.qr(design, mode="r")
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
