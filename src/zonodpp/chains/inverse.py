"""A first basis, and the inverse T of a basis: updated when an item enters, or computed anew."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from zonodpp._arguments import as_items
from zonodpp._types import Floats, Integers, ItemsLike, Rng
from zonodpp.chains.columns import UnitColumns, basis_matrix
from zonodpp.numerics.compiled import forceinline

# Columns have about unit size. A basis whose inverse has a larger entry counts as singular: of the
# 16 digits of that inverse at most two would be right.
_LARGEST_ENTRY = 1e14
# Below the first number a pivot of Gaussian elimination counts as small, and more items are tried,
# so that the basis is well conditioned. Below the second it counts as zero, up to rounding errors.
_SMALL_PIVOT, _SINGULAR_PIVOT = 1e-3, 1e-12
# T is computed anew after a pivot below 1 / LARGE, which magnifies errors by LARGE, and after one
# above LARGE, which leaves errors of a T of that size.
LARGE = 1e5
_SORTED_PER_ITEM = 32  # items that a random order sorts, for each item of a basis
_LARGEST_MATRIX = 2**30  # entries of a dense matrix, 8 GiB


def inverse_of(columns: UnitColumns, basis: Integers, largest: float = _LARGEST_ENTRY) -> Floats:
    """Return the inverse T of the vectors e_j of a basis; ArithmeticError if it is singular.

    A basis counts as singular if an entry of T is larger than ``largest``. A walk that has judged
    the pivot by which it entered a basis sets no limit.
    """
    try:
        T = np.linalg.inv(basis_matrix(columns, basis)).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        T = np.full(2 * basis.shape, np.inf)
    if not np.abs(T).max() < largest:
        raise ArithmeticError("the basis is numerically singular")
    return T


def independent_items(columns: UnitColumns, order: Integers) -> Integers:
    """Return r items with independent columns, from the front of the given order.

    Gaussian elimination with row exchanges is applied to the first 2 r items, then to four times as
    many, and so on, until none of its pivots is small.
    """
    r = columns.rows.shape[0]
    count = 2 * r
    while True:
        head = order[:count]
        if r * head.size > _LARGEST_MATRIX:
            raise ValueError(
                f"a first basis takes a dense matrix of {r:,} x {head.size:,}, which is too large; "
                "use method='trees' for a graph, or method='exact'"
            )
        factors, exchanges, _ = lapack.dgetrf(basis_matrix(columns, head).T)
        enough = _SMALL_PIVOT if count < order.size else _SINGULAR_PIVOT
        if head.size >= r and np.abs(np.diagonal(factors)).min() > enough:
            picked = head.tolist()
            for p, q in enumerate(exchanges):
                picked[p], picked[q] = picked[q], picked[p]
            return np.array(picked[:r], np.int64)
        if count >= order.size:
            raise ArithmeticError("A is too close to singular to find a basis; pass one as init")
        count *= 4


def random_basis(columns: UnitColumns, rng: Rng) -> Integers:
    """Return independent items among the first of a random order.

    The order is that of draws without replacement, in proportion to squared lengths.
    """
    usable = np.flatnonzero(columns.lengths)
    keys = -2.0 * np.log(columns.lengths[usable]) - rng.gumbel(size=usable.size)
    # Hardly ever are more items needed than the first ones, so that only these are sorted.
    few = min(usable.size, _SORTED_PER_ITEM * columns.rows.shape[0])
    order = np.argpartition(keys, few - 1)
    order[:few] = order[:few][np.argsort(keys[order[:few]])]
    return independent_items(columns, usable[order])


def given_basis(init: ItemsLike, columns: UnitColumns, n: int) -> Integers:
    """Check that init holds r of the first n items, with independent columns."""
    hint = "pass a basis, such as a row of earlier subsets, or leave init out"
    r, given = columns.rows.shape[0], as_items(init, n, "init")
    if given.shape != (r,):
        raise ValueError(f"init must hold r = {r} items, got shape {given.shape}; {hint}")
    never = given[columns.lengths[given] == 0].tolist()
    if never:
        raise ValueError(f"init holds items {never}, whose weight or column is zero; {hint}")
    rank = np.linalg.matrix_rank(basis_matrix(columns, given), tol=_SINGULAR_PIVOT)
    if rank < r:
        raise ValueError(
            f"init = {given.tolist()} is not a basis: its {r} columns have rank {rank}; {hint}"
        )
    return given


@forceinline
def replace_item(T: Floats, p: int, column: Floats, row: Floats) -> None:
    """Let an item enter the basis at place p: a rank-one update of T.

    T is the inverse of the basis, or the inverse times E; ``column`` is the inverse times e_item.
    For a graph most entries of ``column`` are zero; their rows of T do not change and are skipped.
    ``row`` is scratch, as long as a row of T.
    """
    width = T.shape[1]
    inverse = 1.0 / column[p]
    for i in range(width):
        row[i] = T[p, i] * inverse
    for k in range(column.shape[0]):
        if k != p and column[k] != 0.0:
            for i in range(width):
                T[k, i] -= column[k] * row[i]
    for i in range(width):
        T[p, i] = row[i]


@forceinline
def row_length(T: Floats, p: int) -> float:
    """Return the Euclidean norm of row p."""
    total = 0.0
    for i in range(T.shape[1]):
        total += T[p, i] * T[p, i]
    return math.sqrt(total)
