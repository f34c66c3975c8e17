"""Small entries of the tableau: some are real, others are rounding errors.

An exchange whose entry of the tableau is T_p . e_j multiplies |det E_B| by the size of that entry,
and the probability of the basis by its power p. For p = 2 an entry of 1e-9 can be left out: a
billionth squared is nothing. For p = 0.05 it is a third. So small entries are judged by an estimate
of their own rounding error. T is the inverse of a matrix whose columns are off by about eps, so
that T_p . e_j has an error of about eps |T_p| (sum_q |T_q . e_j| + |e_j|), in sums of sizes. An
entry above its error counts; an entry below it counts as zero; and where an entry of the size of
its error could carry probability, walks say that they cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonodpp._types import Floats, Integers, Matrix
from zonodpp.chains.columns import UnitColumns, dot, matrix_of, tableau_entry, unit_vectors
from zonodpp.chains.inverse import inverse_of, random_basis, row_length
from zonodpp.numerics.arrays import EPS, frozen, to_dense
from zonodpp.numerics.compiled import forceinline
from zonodpp.numerics.hidden import LOG_NEGLIGIBLE, hidden_sets

NOISE = 16.0 * EPS  # rounding error of an entry, in units of the sum that bounds it
TINY = 1e-9  # entries below this, relative to their row of T, are judged with a T that is fresh
_LEAST_SHARE = 1e-4  # of probability in thin tiles, below which no count of draws shows it
_SEED = (0x7A6F6E6F, 0x64707023)  # arbitrary but fixed: a target is refused each time or never
# Random bases that are looked at before a chain is prepared, and the size of their tableaus.
_ENTRIES_SEEN, _ITEMS_SEEN, _LEAST_BASES, _MOST_BASES = 100_000, 10_000, 8, 64
_NEAR = 1e-14  # distance of unit vectors along a random direction below which they are compared


@forceinline
def rounding_weights(T: Floats, p: int, total: Floats) -> float:
    """Set total_i = |T_p| sum_q |T_qi|; return the error that no entry of row p exceeds."""
    r, size = T.shape[0], row_length(T, p)
    for i in range(r):
        total[i] = 0.0
    for q in range(r):
        for i in range(r):
            total[i] += abs(T[q, i])
    for i in range(r):
        total[i] *= size
    return NOISE * math.sqrt(r * dot(total, total))  # |e_j| is at most sqrt(r), if A is sparse


@forceinline
def rounding_error(
    columns: UnitColumns, T: Floats, p: int, total: Floats, item: int, entry: float
) -> float:
    """Return the rounding error of the entry of an item, given `rounding_weights` of its row.

    A large bound, which takes r operations, is enough for an entry above it. Others get the sharp
    one, which takes r^2.
    """
    dense, indices, data = columns.dense, columns.indices, columns.data
    error, length = 0.0, 0.0
    if dense.shape[0] > 0:
        for i in range(total.shape[0]):
            error += total[i] * abs(dense[item, i])
            length += abs(dense[item, i])
    else:
        for k in range(columns.indptr[item], columns.indptr[item + 1]):
            error += total[indices[k]] * abs(data[k])
            length += abs(data[k])
    if abs(entry) <= NOISE * error:
        column = 0.0
        for q in range(T.shape[0]):
            column += abs(tableau_entry(columns, T[q], item))
        error = min(error, row_length(T, p) * (column + length))
    return NOISE * error


@forceinline
def is_copy(columns: UnitColumns, basis: Integers, p: int, item: int) -> bool:
    """Tell whether the column of an item is that of an item of the basis at another place than p.

    Its entry at p is zero then. Columns are equal, up to sign, after `equal_copies`. Products with
    sparse columns are exact where they are zero.
    """
    dense, found = columns.dense, False
    if dense.shape[0] > 0:
        for q in range(basis.shape[0]):
            apart, opposed = 0.0, 0.0
            for i in range(dense.shape[1]):
                apart = max(apart, abs(dense[item, i] - dense[basis[q], i]))
                opposed = max(opposed, abs(dense[item, i] + dense[basis[q], i]))
            found = found or (q != p and min(apart, opposed) == 0.0)
    return found


def equal_copies(columns: UnitColumns, A: Matrix) -> UnitColumns:
    """Give columns of A that are multiples of one another, up to rounding, equal vectors e_j.

    In other coordinates rounding would make them differ, as columns do that are really different.
    """
    if not columns.dense.shape[0]:
        return columns
    A = to_dense(A)
    unit = unit_vectors(A)[0]
    largest = np.argmax(np.abs(unit), axis=0)
    signs = np.sign(np.take_along_axis(unit, largest[None], axis=0))[0]
    heights = np.random.default_rng(_SEED).standard_normal(len(A)) @ (unit * signs)
    order = np.argsort(heights)
    leader, dense = int(order[0]), columns.dense.copy()
    for j in order[1:].tolist():
        if heights[j] - heights[leader] <= _NEAR and largest[j] == largest[leader]:
            factor = A[largest[j], j] / (A[largest[j], leader] or 1.0)
            if np.all(np.abs(A[:, j] - factor * A[:, leader]) <= 2.0 * EPS * np.abs(A[:, j])):
                dense[j] = np.sign(factor) * dense[leader]
                continue
        leader = j
    rows = np.ascontiguousarray(dense.T) if columns.rows.shape[1] else columns.rows
    return columns._replace(dense=frozen(dense), rows=frozen(rows))


def needs_care(log_weight: Floats, power: float, least: float) -> bool:
    """Tell whether an exchange whose entry is at most ``least`` may be likely.

    Its probability over that of the basis is entry^power times exp(log_weight) of the item that
    enters over that of the item that leaves.
    """
    return bool(power * math.log(least) + np.ptp(log_weight) > LOG_NEGLIGIBLE)


def refuse_hidden(columns: UnitColumns, log_weight: Floats, power: float) -> None:
    """Raise an error if rounding hides entries of the tableau whose exchanges may be likely."""
    least, item = 0.0, -1
    for k, ordinary in enumerate(_random_tableaus(columns)):
        place = k % len(ordinary.basis)
        for seen in (ordinary, _thin_neighbour(columns, ordinary, place, log_weight, power)):
            places, some = np.nonzero(seen.hidden & (seen.entries > 0.0))
            bounds = np.log(seen.errors[places, some])
            heaviest = seen.log_weights(log_weight, power).max(axis=1)
            rise = log_weight[seen.items[some]] - heaviest[places]
            likely = np.flatnonzero(power * bounds + rise > LOG_NEGLIGIBLE)
            likely = likely[~_are_copies(columns, seen.basis, seen.items[some[likely]])]
            powers = (rise[likely] - LOG_NEGLIGIBLE) / -np.minimum(bounds[likely], -1.0)
            if powers.size and powers.max() > least:
                least = float(powers.max())
                item = int(seen.items[some[likely[powers.argmax()]]])
    if item >= 0:
        raise ValueError(hidden_sets(power, item, least))


def thin_share(columns: UnitColumns, log_weight: Floats, power: float, most: float) -> float:
    """Return the share of the weights of exchanges whose entries are at most ``most``.

    It is the mean over all rows of the tableaus of some random bases. Entries that are not above
    their rounding error do not count.
    """
    shares = []
    for seen in _random_tableaus(columns):
        logs = seen.log_weights(log_weight, power)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        thin = seen.entries <= most * seen.sizes
        shares.append(np.mean((weights * thin).sum(axis=1) / weights.sum(axis=1)))
    return float(np.mean(shares))


def waiting_time(columns: UnitColumns, log_weight: Floats, power: float) -> float:
    """Return how many steps a walk that picks by volume takes to find a tile that has weight.

    A tile whose volume is tau times that of the largest neighbour is found in one of 1 / tau steps.
    The mean is over exchanges by their weights, for all rows of the tableaus of some random bases.
    """
    times = []
    for seen in _random_tableaus(columns):
        logs = seen.log_weights(log_weight, power)
        found = logs > -np.inf
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        volumes = seen.entries * columns.lengths[seen.items]
        waits = volumes.max(axis=1, keepdims=True) / np.where(found, volumes, 1.0)
        times.append(np.mean((weights * found * waits).sum(axis=1) / weights.sum(axis=1)))
    return float(np.mean(times))


class _Tableau(NamedTuple):
    """Part of the tableau of a random basis."""

    basis: Integers
    items: Integers  # the columns that are in it
    entries: Floats  # sizes
    errors: Floats  # rounding errors of the entries
    sizes: Floats  # (r, 1) lengths of the rows of T

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Entries that are not above their rounding error; none of them is in the basis."""
        return self.entries <= self.errors

    def log_weights(self, log_weight: Floats, power: float) -> Floats:
        """Return the logs of the weights of exchanges; hidden entries count as zero."""
        with np.errstate(divide="ignore"):
            logs = power * np.log(np.where(self.hidden, 0.0, self.entries))
        return np.asarray(logs + log_weight[self.items])


def _random_tableaus(columns: UnitColumns) -> Iterator[_Tableau]:
    """Yield tableaus of some random bases, with not more than _ITEMS_SEEN other items."""
    rng, r = np.random.default_rng(_SEED), columns.rows.shape[0]
    usable = np.flatnonzero(columns.lengths)
    some = usable[:: -(-usable.size // _ITEMS_SEEN)]
    for _ in range(int(np.clip(_ENTRIES_SEEN // (r * some.size), _LEAST_BASES, _MOST_BASES))):
        yield _tableau_at(columns, random_basis(columns, rng), some)


def _tableau_at(columns: UnitColumns, basis: Integers, some: Integers) -> _Tableau:
    """Return the tableau of a basis for some items and those of the basis."""
    T, items = inverse_of(columns, basis, np.inf), np.union1d(some, basis)
    E = to_dense(matrix_of(columns)[:, items])
    entries, sizes = np.abs(T @ E), np.linalg.norm(T, axis=1, keepdims=True)
    errors = NOISE * sizes * (entries.sum(axis=0) + np.abs(E).sum(axis=0))
    inside = np.searchsorted(items, basis)
    entries[:, inside], errors[:, inside] = np.eye(len(basis)), -1.0
    return _Tableau(basis, items, entries, errors, sizes)


def _thin_neighbour(
    columns: UnitColumns, seen: _Tableau, place: int, log_weight: Floats, power: float
) -> _Tableau:
    """Return the tableau behind the smallest entry of a row that may be likely."""
    logs = seen.log_weights(log_weight, power)[place]
    entries = np.where(logs - logs.max() > LOG_NEGLIGIBLE, seen.entries[place], np.inf)
    basis = seen.basis.copy()
    basis[place] = seen.items[np.argmin(entries)]
    return _tableau_at(columns, basis, seen.items)


def _are_copies(columns: UnitColumns, basis: Integers, items: Integers) -> NDArray[np.bool_]:
    """Tell for each item whether its column is that of an item of the basis, as `is_copy` does."""
    copies = np.zeros(items.size, bool)
    if columns.dense.shape[0]:
        some, place = np.unique(items, return_inverse=True)
        ahead = columns.dense[some] @ columns.dense[basis].T  # cosines
        nearest = basis[np.argmax(np.abs(ahead), axis=1)]
        signs = np.sign(ahead[np.arange(some.size), np.argmax(np.abs(ahead), axis=1)])
        apart = np.abs(columns.dense[some] - signs[:, None] * columns.dense[nearest])
        copies = (apart.max(axis=1, initial=0.0) == 0.0)[place.ravel()]
    return copies


def refuse_thin(
    columns: UnitColumns, log_weight: Floats, power: float, most: float, instead: str
) -> None:
    """Raise an error if exchanges whose entries are at most ``most`` carry probability."""
    share = thin_share(columns, log_weight, power, most)
    if share > _LEAST_SHARE:
        raise ValueError(
            f"with power={power:g}, sets of nearly dependent columns are likely (about {share:.1g} "
            "of all exchanges lead to them), and such a chain never meets their thin tiles; use "
            f"method='exchange', or {instead}"
        )
