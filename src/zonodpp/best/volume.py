"""Volume: the greedy maximum of det L_S, for L = diag(q) S diag(q) + ridge I.

What an item gains is the factor by which it multiplies the determinant: the squared length of its
part outside the span of the items before it, in coordinates of which each item has one of its own,
for the ridge.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence

from zonodpp.best.arrays import Array, eps_of, namespace_of, put
from zonodpp.best.greedy import TIE, Level, pick_items
from zonodpp.best.items import FeatureItems, Items, KernelItems, Key
from zonodpp.numerics.gram import RankError

# A gain that has fallen below this share of its last accurate value, times the root of the rounding
# unit, is computed anew: the differences that led to it have lost half of their digits.
_STALE = 64.0
# With a ridge above this many roundings of the largest diagonal entry, gains never get so small.
_SOUND = 2.0**14


def too_many_picks(rank: int) -> RankError:
    """Return the error for a kernel that has a lower rank than items are to be picked."""
    return RankError(
        rank,
        f"the kernel has numerical rank {rank}: with more items the determinant is zero. Pass "
        f"k={rank} or less, or a larger ridge; the default ridge suits any k",
    )


class VolumeOfFeatures:
    """Gram-Schmidt in the coordinates of features (Chen, Zhang and Zhou 2018, algorithm 1).

    The direction of pick s is W_s = (f_s - sum_{u<s} (f_s . W_u) W_u) / sqrt(gain_s), and the gain
    of item j is L_jj - sum_s (f_j . W_s)^2. If the ridge is so small that gains may lose their
    digits, directions have coordinates E for the ridges of picks too, and are orthonormal.

    Rows come like the array ``like``; ``largest`` is the largest diagonal entry of the kernel.
    """

    def __init__(self, like: Array, most: int, ridge: float, largest: float) -> None:
        xp = namespace_of(like)
        self.ridge, self.count = ridge, 0
        kind = {"dtype": like.dtype, "device": like.device}
        self.W = xp.zeros((most, like.shape[1]), **kind)
        self.eps = eps_of(like)
        self.sound = ridge > _SOUND * self.eps * largest
        self.E = xp.zeros((most, 0 if self.sound or ridge == 0 else most), **kind)

    def first_level(self, items: Items) -> Level:
        """Return items; their gains are the diagonal of L."""
        gains = items.diagonal + self.ridge
        return Level(items, gains, gains + 0.0, TIE * self.eps)

    def add(self, level: Level, place: int) -> Array:
        """Append the direction of an item."""
        assert isinstance(level.items, FeatureItems)
        xp = namespace_of(self.W)
        f, t = level.items.key(place), self.count
        W = self.W[:t, :]
        if self.sound:
            along = W @ f
            gain = level.items.diagonal[place] + self.ridge - along @ along
            direction, own = f - along @ W, None
        else:
            rows, own = self._outside(f[None, :])
            gain = self._squares(rows, own, f[None, :])[0] + self.ridge
            direction = rows[0, :]
        if not gain > 0:
            raise too_many_picks(t)
        root = xp.sqrt(gain)
        self.W = put(self.W, t, direction / root)
        if own is not None and self.E.shape[1]:
            self.E = put(self.E, t, put(own[0, :], t, math.sqrt(self.ridge)) / root)
        self.count += 1
        return gain

    def condition(self, level: Level, place: int) -> None:
        """Append the direction of a given item, unless it is in the span of others."""
        with contextlib.suppress(RankError):
            self.add(level, place)

    def lower(self, level: Level) -> None:
        """Subtract the squares along new directions; gains that lose digits are computed anew."""
        assert isinstance(level.items, FeatureItems)
        xp = namespace_of(self.W)
        if level.seen == self.count:
            return
        if level.seen + 1 == self.count:
            along = level.items.along(self.W[level.seen, :])
            level.gains = level.gains - along * along
        else:
            fresh = self.W[level.seen : self.count, :]
            squares = [xp.vecdot(block, block) for _, block in level.items.products(fresh)]
            level.gains = level.gains - (squares[0] if len(squares) == 1 else xp.concat(squares))
        level.seen = self.count
        if not self.sound:
            self._renew(level)

    def _renew(self, level: Level) -> None:
        xp = namespace_of(self.W)
        least, share = -float("inf"), _STALE * math.sqrt(self.eps)
        stale = xp.nonzero((level.gains > least) & (level.gains < share * level.sizes))[0]
        if stale.shape[0] == 0:
            return
        items = level.items.take(stale)
        assert isinstance(items, FeatureItems)
        gains = self._squares(*self._outside(items.rows), items.rows) + self.ridge
        level.gains = put(level.gains, stale, gains)
        level.sizes = put(level.sizes + 0.0, stale, gains)

    def _outside(self, rows: Array) -> tuple[Array, Array]:
        """Return the parts of rows outside the span of the directions, and in the ridges' places.

        Rows are projected twice: the second time removes the rounding errors of the first.
        """
        xp = namespace_of(rows)
        W, E = self.W[: self.count, :], self.E[: self.count, :]
        own = xp.zeros((rows.shape[0], E.shape[1]), dtype=rows.dtype, device=rows.device)
        for _ in range(2):
            along = rows @ W.T + own @ E.T
            rows, own = rows - along @ W, own - along @ E
        return rows, own

    def _squares(self, rows: Array, own: Array, whole: Array) -> Array:
        """Return the squared lengths of what is left of rows; mere rounding errors become zero."""
        xp = namespace_of(rows)
        left = xp.vecdot(rows, rows) + xp.vecdot(own, own)
        rounding = 16 * self.eps * math.sqrt(self.count + rows.shape[1])
        noise = rounding**2 * xp.vecdot(whole, whole)
        return xp.where(left > noise, left, xp.zeros_like(left))


class VolumeOfKernel:
    """The Cholesky factor of L_S, row by row, from columns of the kernel.

    Row s of ``parts`` holds c_sj = (L_sj - sum_{u<s} T_su c_uj) / T_ss for the items j of a level,
    where T_su = c_us and T_ss is the root of the gain of pick s.
    """

    def __init__(self, items: KernelItems, most: int, ridge: float) -> None:
        self.ridge, self.most = ridge, most
        self.picks: list[Key] = []
        self.T: list[tuple[Array, Array]] = []  # for each pick: (T_s1, ..., T_s,s-1) and T_ss
        self.eps = eps_of(items.diagonal)

    def first_level(self, items: Items) -> Level:
        """Return items; their gains are the diagonal of L."""
        xp = namespace_of(items.diagonal)
        gains = items.diagonal + self.ridge
        shape = (self.most, gains.shape[0])
        parts = xp.zeros(shape, dtype=gains.dtype, device=gains.device)
        return Level(items, gains, gains + 0.0, TIE * self.eps, parts=parts)

    def add(self, level: Level, place: int) -> Array:
        """Append the row of an item to T."""
        xp = namespace_of(level.gains)
        self.lower(level)
        assert level.parts is not None
        t = len(self.picks)
        row = level.parts[:t, place] + 0.0
        own = level.items.diagonal[place]
        gain = own + self.ridge - row @ row
        if float(gain) > self.ridge / 2 + TIE * self.eps * float(own):
            self.picks.append(level.items.key(place))
            self.T.append((row, xp.sqrt(gain)))
            return gain
        raise too_many_picks(t)

    def condition(self, level: Level, place: int) -> None:
        """Append the row of a given item, unless others determine it."""
        with contextlib.suppress(RankError):
            self.add(level, place)

    def lower(self, level: Level) -> None:
        """Compute the rows of new picks for the items of a level, and subtract their squares."""
        seen, stop = level.seen, len(self.picks)
        if seen == stop:
            return
        assert level.parts is not None
        xp = namespace_of(level.gains)
        block = level.items.columns(self.picks[seen:]).T
        if seen:
            old = xp.stack([row[:seen] for row, _ in self.T[seen:]])
            block = block - old @ level.parts[:seen, :]
        for s in range(seen, stop):
            row, root = self.T[s]
            part = block[s - seen, :]
            if s > seen:
                part = part - row[seen:] @ level.parts[seen:s, :]
            level.parts = put(level.parts, s, part / root)
        fresh = level.parts[seen:stop, :]
        level.gains = level.gains - xp.sum(fresh * fresh, axis=0)
        level.seen = stop
        self._check(level)

    def _check(self, level: Level) -> None:
        """Raise if an entry of the kernel is larger than the diagonal allows."""
        xp = namespace_of(level.gains)
        allowed = -(1e-8 + 100 * self.most * self.eps) * level.sizes
        negative = (level.gains - self.ridge < allowed) & (level.gains > -float("inf"))
        if bool(xp.any(negative)):
            raise ValueError(
                "the kernel is not positive semidefinite: an entry is larger than the diagonal "
                "allows; zonodpp.features.nearest_psd(K) repairs a kernel matrix"
            )


def pick_by_volume(
    items: Items, k: int, given: Sequence[int], ridge: float
) -> tuple[list[int], list[Array]]:
    """Pick k items of a kernel with a ridge, given some."""
    most = k + len(given)
    if isinstance(items, FeatureItems):
        largest = float(namespace_of(items.rows).max(items.diagonal))
        features = VolumeOfFeatures(items.rows, most, ridge, largest)
        return pick_items(features, features.first_level(items), k, given)
    kernel = VolumeOfKernel(items, most, ridge)
    return pick_items(kernel, kernel.first_level(items), k, given)
