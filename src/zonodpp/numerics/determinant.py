"""The greedy set of largest determinant: one item at a time, each the best addition.

The kernel is L = Phi Phi' + ridge I, with items as the rows of Phi. The ridge is the inner product
of coordinates that no two items share, so both parts are one Gram-Schmidt process: what an item
adds to log det is the log of the squared length of its part outside the span of those picked. A
step costs one product with Phi, O(n m) for m features, however many items were picked (the fast
greedy algorithm of Chen, Zhang and Zhou, 2018, in terms of features). Without a ridge this is QR
with column pivoting, for columns whose lengths may differ by hundreds of orders of magnitude. So
gains are compared by their logs, and this loop stays apart from the picks of `best/volume.py`,
which compare plain numbers, of single precision too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.numerics.arrays import EPS, split_rows

# A share that has fallen below this part of its last accurate value is computed anew: the
# differences that led to it have lost too many digits.
STALE = 1e-6


class Items(NamedTuple):
    """Items on one scale: L_ij = exp((log_scale_i + log_scale_j) / 2) (u_i'u_j + [i=j] ridge_i).

    The second factor has a diagonal of ones, so lengths and weights over hundreds of orders of
    magnitude do no harm.
    """

    unit: Floats  # (n, m), the rows u_i
    ridge: Floats  # (n,), the ridge's share of the diagonal
    log_scale: Floats  # (n,), log L_ii; -inf for a zero row without ridge: never picked


def items_of(Phi: Floats, ridge: float = 0.0) -> Items:
    """Bring the rows of Phi, an (n, m) array, to one scale."""
    unit, log_lengths = split_rows(Phi)
    log_scale, own = 2 * log_lengths, np.zeros(len(Phi))
    if ridge > 0:
        with np.errstate(under="ignore"):
            log_scale = np.logaddexp(log_scale, np.log(ridge))
            own = np.exp(np.log(ridge) - log_scale)
            unit = unit * np.exp(log_lengths - log_scale / 2)[:, None]
    return Items(np.asarray(unit), own, log_scale)


def _part_outside(directions: Floats, unit: Floats) -> Floats:
    """Return what rows of m features have outside the span of orthonormal directions.

    The first m coordinates of directions are features. Each further one belongs to the ridge of one
    of the items picked. Rows are projected twice: the second time removes the rounding errors of
    the first.
    """
    left = np.pad(unit, ((0, 0), (0, directions.shape[1] - unit.shape[1])))
    for _ in range(2):
        left -= (left @ directions.T) @ directions
    return left


def share_outside(directions: Floats, unit: Floats) -> Floats:
    """Return the squared lengths of the parts of rows outside the span of directions.

    Lengths that are mere rounding errors become zero.
    """
    left = _part_outside(directions, unit)
    share = np.einsum("ij,ij->i", left, left)
    rounding = 16 * EPS * np.sqrt(len(directions) + unit.shape[1])
    share[share <= rounding**2] = 0.0
    return np.asarray(share)


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
    >>> from zonodpp.numerics.determinant import items_of, pick_greedily
    >>> Phi = np.array([[3.0, 0.0], [3.1, 0.1], [0.0, 2.0], [0.0, 0.0]])
    >>> pick_greedily(items_of(Phi), 2)
    array([1, 2])
    """
    n, m = items.unit.shape
    most = n if k is None else k
    if not items.ridge.any():
        most = min(most, m)
    directions = np.zeros((0, m))
    share = np.einsum("ij,ij->i", items.unit, items.unit)
    sound = share + items.ridge  # the last values that were computed to all digits
    free = np.isfinite(items.log_scale)
    picks: list[int] = []
    while len(picks) < most:
        with np.errstate(divide="ignore"):
            gain = np.where(free, items.log_scale + np.log(items.ridge + share), -np.inf)
        best = int(np.argmax(gain))
        if gain[best] == -np.inf or (k is None and gain[best] <= 0):
            break
        picks.append(best)
        free[best] = False
        new = _part_outside(directions, items.unit[best : best + 1])
        if items.ridge[best] > 0:
            directions = np.pad(directions, ((0, 0), (0, 1)))
            new = np.append(new, [[np.sqrt(items.ridge[best])]], axis=1)
        directions = np.vstack([directions, new / np.linalg.norm(new)])
        along = items.unit @ directions[-1, :m]
        share -= along * along
        stale = np.flatnonzero(free & (share + items.ridge < STALE * sound))
        if stale.size:
            share[stale] = share_outside(directions, items.unit[stale])
            sound[stale] = share[stale] + items.ridge[stale]
        np.maximum(share, 0.0, out=share)
    return np.array(picks, dtype=np.int64)
