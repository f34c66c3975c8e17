"""Exchanges that make the determinant of a kernel larger, until none does.

With T = L_S^{-1} L_{S,j} and d_i = (L_S^{-1})_ii, an exchange of member i for item j multiplies
det L_S by T_ij^2 + d_i s_j, where s_j is the part of L_jj that S does not explain. One pass over
all items finds the best exchange. A pass over many items takes long. So before the next pass, the
items with the best exchanges are searched on their own, until no exchange among them helps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.numerics.arrays import row_chunks
from zonodpp.numerics.determinant import STALE, Items, share_outside

TOLERANCE = 1e-9  # a step must raise log det by more, so ties cannot go round in circles
ENTRIES = 2**20  # of the tableau over all items that are computed at a time
SHARE = 1 / 8  # of all items, those with the best exchanges, are searched on their own
FEW = 1000  # items that are not divided further: a pass over them takes milliseconds


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

    ``optimal`` is "swaps" if no exchange of one member raises log det by more than 1e-9, "rounding"
    if rounding errors promised a gain that an exchange did not bring, "greedy" without exchanges,
    "limit" if there were as many exchanges as allowed.
    """

    members: Integers
    log_det: float
    steps: int
    optimal: str


def climb(
    items: Items,
    members: Integers,
    *,
    free_size: bool,
    swaps: bool = True,
    most: float = np.inf,
) -> Climb:
    """Exchange one item at a time, and add or drop one if the size is free, while log det grows.

    There are at most ``most`` exchanges, additions and removals.
    """
    steps = 0
    factor = _factor_of(items, members)
    while swaps and members.size:
        if steps >= most:
            return Climb(members, factor.log_det, steps, "limit")
        changed, gains = _best_move(items, members, factor, free_size)
        if changed is None:
            return Climb(members, factor.log_det, steps, "swaps")
        taken = 1
        active = promising(gains, members)
        if 2 * active.size < gains.size:
            few = Items(*(part[active] for part in items))
            found = climb(
                few, np.searchsorted(active, members), free_size=free_size, most=most - steps
            )
            changed, taken = active[found.members], found.steps
        fresh = _factor_of(items, changed)
        if not fresh.log_det > factor.log_det:
            return Climb(members, factor.log_det, steps, "rounding")
        members, factor, steps = changed, fresh, steps + taken
    return Climb(members, factor.log_det, steps, "swaps" if swaps else "greedy")


def promising(gains: Floats, members: Integers) -> Integers:
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
    least = int(np.argmin(loss))
    T = factor.inverse @ factor.directions[:, : items.unit.shape[1]]
    if free_size:  # an addition is an exchange in which no member leaves
        T = np.vstack([T, np.zeros(T.shape[1])])
        diagonal, loss = np.append(diagonal, 1.0), np.append(loss, 0.0)
    gains, leaving = np.empty(len(items.unit)), np.empty(len(items.unit), dtype=np.int64)
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
            gains[span] = gain.max(axis=1) + items.log_scale[span]
    gains[members] = -np.inf
    item = int(np.argmax(gains))
    if free_size and -loss[least] > max(gains[item], TOLERANCE):
        return np.delete(members, least), gains
    if not gains[item] > TOLERANCE:
        return None, gains
    kept = members[np.arange(members.size) != leaving[item]]
    return np.append(kept, item), gains
