"""Small entries of the tableau: some are real, others are rounding errors.

An exchange whose entry of the tableau is T_p . e_j multiplies |det E_B| by the size of that entry,
and the probability of the basis by its power p. For p = 2 an entry of 1e-9 can be left out: a
billionth squared is nothing. For p = 0.05 it is a third. So small entries are judged by an estimate
of their own rounding error. Column i of T solves a linear system with an error of about eps in each
column of E_B, so that T_pi has an error of about eps |T_p| sum_q |T_qi|. An entry above its error
counts; an entry below it counts as zero; and where an entry of the size of its error could carry
probability, walks say that they cannot tell.
"""

from __future__ import annotations

import math

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.chains.columns import UnitColumns, dot, matrix_of
from zonodpp.chains.inverse import inverse_of, random_basis, row_length
from zonodpp.numerics.arrays import EPS, to_dense
from zonodpp.numerics.compiled import forceinline

NOISE = 16.0 * EPS  # rounding error of an entry, in units of the sum that bounds it
TINY = 1e-9  # entries below this, relative to their row of T, are judged with a T that is fresh
# Probability, relative to that of the basis, which is not worth an answer.
NEGLIGIBLE = 1e-5
_LEAST_SHARE = 1e-4  # of probability in thin tiles, below which no count of draws shows it
LOG_NEGLIGIBLE = math.log(NEGLIGIBLE)
_SEED = (0x7A6F6E6F, 0x64707023)  # arbitrary but fixed: a target is refused each time or never
_ENTRIES_SEEN, _MOST_BASES, _ITEMS_SEEN = 100_000, 64, 10_000  # by `thin_share`


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
def rounding_error(columns: UnitColumns, total: Floats, item: int) -> float:
    """Return the rounding error of the entry of an item, given `rounding_weights` of its row."""
    dense, indices, data = columns.dense, columns.indices, columns.data
    error = 0.0
    if dense.shape[0] > 0:
        for i in range(total.shape[0]):
            error += total[i] * abs(dense[item, i])
    else:
        for k in range(columns.indptr[item], columns.indptr[item + 1]):
            error += total[indices[k]] * abs(data[k])
    return NOISE * error


@forceinline
def is_copy(columns: UnitColumns, basis: Integers, p: int, item: int) -> bool:
    """Tell whether the column of an item is that of an item of the basis at another place than p.

    Its entry at p is zero then. Columns are compared up to the rounding of each entry, and up to
    sign. Products with sparse columns are exact where they are zero.
    """
    dense, found = columns.dense, False
    if dense.shape[0] > 0:
        for q in range(basis.shape[0]):
            apart, opposed = 0.0, 0.0
            for i in range(dense.shape[1]):
                apart = max(apart, abs(dense[item, i] - dense[basis[q], i]))
                opposed = max(opposed, abs(dense[item, i] + dense[basis[q], i]))
            found = found or (q != p and min(apart, opposed) <= 2.0 * EPS)
    return found


def thin_share(columns: UnitColumns, log_weight: Floats, power: float, most: float) -> float:
    """Return the share of the weights of exchanges whose entries are at most ``most``.

    It is the mean over all rows of the tableaus of some random bases. Entries that are not above
    their rounding error do not count.
    """
    rng, r = np.random.default_rng(_SEED), columns.rows.shape[0]
    usable = np.flatnonzero(columns.lengths)
    some = usable[:: -(-usable.size // _ITEMS_SEEN)]
    count = int(np.clip(_ENTRIES_SEEN // (r * some.size), 8, _MOST_BASES))
    shares = np.zeros(count)
    for k in range(count):
        basis = random_basis(columns, rng)
        T, items = inverse_of(columns, basis), np.union1d(some, basis)
        E = to_dense(matrix_of(columns)[:, items])
        entries = np.abs(T @ E)
        sizes = np.linalg.norm(T, axis=1, keepdims=True)
        entries[entries <= NOISE * sizes * (np.abs(T).sum(axis=0) @ np.abs(E))] = 0.0
        inside = np.searchsorted(items, basis)
        entries[:, inside] = np.eye(r)
        with np.errstate(divide="ignore"):
            logs = power * np.log(entries) + log_weight[items]
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        thin = entries <= most * sizes
        shares[k] = np.mean((weights * thin).sum(axis=1) / weights.sum(axis=1))
    return float(shares.mean())


def refuse_thin(
    columns: UnitColumns, log_weight: Floats, power: float, most: float, instead: str
) -> None:
    """Raise an error if exchanges whose entries are at most ``most`` carry probability."""
    share = thin_share(columns, log_weight, power, most)
    if share > _LEAST_SHARE:
        raise ValueError(
            f"with power={power:g}, sets of nearly dependent columns are likely (about {share:.1g} "
            "of all exchanges lead to them), and such a chain hardly ever meets their thin tiles; "
            f"use method='exchange', or {instead}"
        )
