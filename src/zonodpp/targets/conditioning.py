"""Conditioning on items that must be in the draw and items that must not.

The law stays in the family, with the same items under the same numbers. An item that must be in
becomes a column of its own direction, so every basis holds it, and all others lose what they have
along it. An item that must not be in loses its weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from zonodpp._types import Floats, Integers, ItemsLike, Matrix
from zonodpp.linalg.dense import column_chunks, to_dense
from zonodpp.targets.labels import Naming


class Condition(NamedTuple):
    """Items that must be in the draw, and items that must not; checked."""

    include: Integers
    exclude: Integers

    @classmethod
    def of(cls, include: ItemsLike, exclude: ItemsLike, naming: Naming) -> Condition:
        """Check two sets of items, given by number or label."""
        condition = cls(
            naming.numbers(include, "include").ravel(), naming.numbers(exclude, "exclude").ravel()
        )
        both = np.intersect1d(*condition)
        if both.size:
            raise ValueError(
                f"item {both[0]} (counted from 0) is to be in the draw and not in it; choose one"
            )
        return condition


class ImpossibleError(ValueError):
    """No draw meets the condition."""


def never_together(items: Integers, why: str) -> ImpossibleError:
    """Return the error for items that are in no draw together."""
    shown = ", ".join(map(str, items[:10].tolist())) + (", ..." if items.size > 10 else "")
    return ImpossibleError(f"no draw has the items {shown} (counted from 0) in it: {why}")


def split_off(A: Matrix, W: Floats, include: Integers, scale: Floats | None) -> Matrix:
    """Return A in other coordinates, with a coordinate for each of the items that must be in.

    Up to a constant, |det| of bases that hold these items is as before; of all others it is zero.
    ``W`` whitens the columns of A times ``scale``. A sparse A stays sparse.
    """
    r = A.shape[0]
    if include.size > r:
        raise never_together(include, f"a draw has {r} items, these are {include.size}")
    block = to_dense(A[:, include])
    white = W @ (block if scale is None else block * scale[include])
    lengths = np.linalg.norm(white, axis=0)
    white = white / np.where(lengths > 0, lengths, 1.0)
    Q, R = scipy.linalg.qr(white)
    if np.linalg.svd(R, compute_uv=False)[-1] < 8 * r * np.finfo(float).eps:
        raise never_together(include, "their features are linearly dependent, or weigh nothing")
    if sp.issparse(A):
        return _split_off_sparse(A, block, include)
    s = include.size
    rest = Q[:, s:].T @ W
    result = np.zeros((r, A.shape[1]), order="F")
    for span, chunk in column_chunks(A, None):
        result[s:, span] = _without_noise(rest @ chunk, W @ chunk, r)
    result[:, include] = np.eye(r, s)
    return result


def _without_noise(left: Floats, before: Floats, r: int) -> Floats:
    """Set columns to zero that lie within the span of what was taken off, but for rounding."""
    noise = 8 * r * np.finfo(float).eps * np.linalg.norm(before, axis=0)
    left[:, np.linalg.norm(left, axis=0) <= noise] = 0.0
    return left


def _split_off_sparse(A: sp.sparray, block: Floats, include: Integers) -> sp.csc_array:
    """Eliminate the columns from all but as many rows, chosen by pivoting; those rows go."""
    r, s = block.shape
    _, _, order = scipy.linalg.qr(block.T, pivoting=True, mode="economic")
    pivots, others = order[:s], np.sort(order[s:])
    factors = np.linalg.solve(block[pivots].T, block[others].T).T
    factors[np.abs(factors) <= 8 * r * np.finfo(float).eps] = 0.0
    rows = sp.csr_array(A)
    taken = sp.csr_array(factors) @ rows[pivots]
    rest = (rows[others] - taken).tocoo()
    size = (abs(rows[others]) + abs(taken)).tocsr()
    noise = 8 * r * np.finfo(float).eps * np.asarray(size[rest.row, rest.col]).ravel()
    kept = (np.abs(rest.data) > noise) & ~np.isin(rest.col, include)
    data = np.concatenate([np.ones(s), rest.data[kept]])
    row = np.concatenate([np.arange(s), s + rest.row[kept]])
    column = np.concatenate([include, rest.col[kept]])
    return sp.csc_array((data, (row, column)), shape=A.shape)


def without(weights: Floats | None, exclude: Integers, n: int) -> Floats | None:
    """Take all weight from the items that must not be in the draw."""
    if not exclude.size:
        return weights
    result = np.ones(n) if weights is None else weights.copy()
    result[exclude] = 0.0
    return result
