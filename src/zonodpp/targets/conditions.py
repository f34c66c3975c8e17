"""Conditioning on items that must be in the draw and items that must not.

The law stays in the family, with the same items under the same numbers. The column of an item that
must be in gets a direction of its own, so that every basis holds it, and the columns of all others
lose their component along that direction. The weight of an item that must not be in becomes zero.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from zonodpp._arguments import listed
from zonodpp._types import Floats, Integers, Matrix
from zonodpp.numerics.arrays import EPS, column_chunks, to_dense, unit_rows
from zonodpp.numerics.scale import Coordinates

NOISE = 64 * EPS  # relative size up to which features may be rounding alone


class ImpossibleError(ValueError):
    """No draw meets the condition."""


def never_together(items: Integers, why: str) -> ImpossibleError:
    """Return the error for items that are in no draw together."""
    shown = listed(items.tolist())
    return ImpossibleError(f"no draw has the items {shown} (counted from 0) in it: {why}")


def split_off(coordinates: Coordinates, include: Integers) -> Matrix:
    """Return A in other coordinates, with a coordinate for each of the items that must be in.

    Up to a constant, |det| of bases that hold these items is as before; of all others it is zero.
    A sparse A stays sparse. Weights are not in it.
    """
    A, W, T = coordinates.matrix, coordinates.gram.W, coordinates.plain
    (r, n), s = A.shape, include.size
    if s > r:
        raise never_together(include, f"a draw has {r} items, these are {s}")
    if T is not None and coordinates.widths is not None:
        return _eliminate_dense(T.copy(), coordinates.widths, to_dense(A).copy(), include)
    Q, R = scipy.linalg.qr(to_dense(unit_rows(coordinates.whitened(include))).T)
    tiny = 8 * r * EPS
    if np.linalg.svd(R, compute_uv=False)[-1] < tiny:
        raise never_together(include, "their features are linearly dependent, or weigh nothing")
    if sp.issparse(A):
        return _eliminate_sparse(A, include, tiny)
    rest = Q[:, s:].T @ W
    result = np.zeros((r, n), order="F")
    for span, chunk in column_chunks(A, None):
        left = rest @ chunk
        # Of a column within the span of the included ones, only rounding errors are left.
        noise = tiny * np.linalg.norm(W @ chunk, axis=0)
        result[s:, span] = np.where(np.linalg.norm(left, axis=0) <= noise, 0.0, left)
    result[:, include] = np.eye(r, s)
    return result


def _eliminate_dense(T: Floats, widths: Integers, M: Floats, include: Integers) -> Floats:
    """Eliminate the items one by one from T, which has no weights, and give each a unit row.

    Each takes the place of one item of the heavy basis: the lightest one that it can replace, which
    is where its column of M, the weighted matrix, has its largest entry. So all entries of T keep
    their digits, however far the weights of items lie apart. T, its widths and M are those of
    `Coordinates`; T and M are overwritten.
    """
    left, tiny = np.arange(len(T)), 8 * len(T) * EPS
    for item in include:
        k = left[np.argmax(np.abs(M[left, item]))]
        if M[k, item] == 0.0:
            raise never_together(include, "their features are linearly dependent, or weigh nothing")
        left = left[left != k]
        for X in (T, M):
            change = np.outer(X[left, item] / X[k, item], X[k])
            noise = tiny * (np.abs(X[left]) + np.abs(change))
            X[left] = np.where(np.abs(X[left] - change) <= noise, 0.0, X[left] - change)
    rest = np.ldexp(T[left], widths - (widths.max() + widths.min()) // 2)
    rest[:, include] = 0.0
    return np.vstack([np.arange(T.shape[1]) == include[:, None], rest])


def _eliminate_sparse(A: sp.sparray, include: Integers, tiny: float) -> sp.sparray:
    """Eliminate s items from all rows of A but s, and replace those s by a unit row per item.

    The s rows are chosen by pivoting.
    """
    n, s = A.shape[1], include.size
    rows = unit_rows(A)
    block = unit_rows(to_dense(rows[:, include]).T).T
    _, _, order = scipy.linalg.qr(block.T, pivoting=True, mode="economic")
    pivots, others = order[:s], np.sort(order[s:])
    factors = np.linalg.solve(block[pivots].T, block[others].T).T
    factors[np.abs(factors) <= tiny] = 0.0
    factors = sp.csr_array(factors)
    rest = rows[others] - factors @ rows[pivots]
    # Drop rounding errors: of a column within the span of those eliminated, nothing else is left.
    rest = rest * (abs(rest) > tiny * (abs(rows[others]) + abs(factors) @ abs(rows[pivots])))
    rest = rest * ~np.isin(np.arange(n), include)
    own = sp.csr_array((np.ones(s), (np.arange(s), include)), shape=(s, n))
    return sp.vstack([own, rest])


def condition_kernel(
    sure: Floats, phi: Floats, include: Integers, exclude: Integers
) -> tuple[Floats, Floats]:
    """Condition a kernel t sure sure' + phi phi', for t to infinity; return it in the same form.

    The directions of the included items, infinite ones first, are taken out of the features of all
    other items.
    """
    sure, phi = sure.copy(), phi.copy()
    if include.size:
        before = np.linalg.norm(np.column_stack([sure, phi]), axis=1)
        left, sizes, right = np.linalg.svd(sure[include])
        used = int(np.sum(sizes > NOISE * max(sure.shape)))
        rows = left.T @ phi[include]
        phi -= (sure @ right[:used].T / sizes[:used]) @ rows[:used]
        sure = sure @ right[used:].T
        phi = _drop_directions(phi, rows[used:], include)
        sure[np.linalg.norm(sure, axis=1) <= NOISE * max(phi.shape) * before] = 0.0
    gone = np.append(include, exclude)
    phi[gone], sure[gone] = 0.0, 0.0
    if sure.shape[1]:
        if np.linalg.svd(sure, compute_uv=False)[-1] < NOISE * len(sure):
            raise ImpossibleError(
                f"the {exclude.size} excluded items hold a direction that every draw needs; "
                "exclude fewer items"
            )
        sure, _ = np.linalg.qr(sure)
        phi -= sure @ (sure.T @ phi)
        phi[np.abs(sure).max(axis=1) == 1.0] = 0.0
    own = np.arange(len(phi))[:, None] == include
    return np.column_stack([own, sure]), phi


def _drop_directions(phi: Floats, rows: Floats, include: Integers) -> Floats:
    """Return phi without its parts along ``rows``, as features in fewer columns.

    Rotations of neighbouring columns, from the last to the first, gather each row in the first
    column, which is dropped. Columns that are graded, largest first, stay graded, and each keeps
    its digits: a projection would leave rounding errors of the largest column in all of them.
    """
    n = len(phi)
    columns = np.abs(phi).max(axis=0)
    sizes = np.max(np.abs(phi) / np.where(columns > 0, columns, 1.0), axis=1, initial=0.0)
    stack = np.vstack([phi, rows])
    tiny = NOISE * max(phi.shape)
    for t in range(len(rows)):
        row = stack[n + t].copy()
        if (np.abs(row) <= tiny * columns).all():
            raise never_together(include, "their features are linearly dependent")
        for j in range(row.size - 1, 0, -1):
            length = np.hypot(row[j - 1], row[j])
            if row[j] != 0.0:
                c, s = row[j - 1] / length, row[j] / length
                first, second = stack[:, j - 1].copy(), stack[:, j].copy()
                stack[:, j - 1], stack[:, j] = c * first + s * second, c * second - s * first
                row[j - 1] = length
        stack, columns = stack[:, 1:], columns[1:]
    phi = np.ascontiguousarray(stack[:n])
    columns = np.maximum(columns, np.abs(phi).max(axis=0, initial=0.0))
    phi[(np.abs(phi) <= tiny * np.outer(sizes, columns)).all(axis=1)] = 0.0
    return phi
