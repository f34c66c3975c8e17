"""Coordinates in which floating-point numbers hold the law of A and its item weights.

P(B) is proportional to |det A_B|^p prod q_B. The law does not change when A is multiplied by an
invertible matrix from the left, nor when weights are multiplied by one number, and a column's
length may go over to its weight. So sizes from 1e-300 to 1e300 and rows that are nearly dependent
are no obstacle, provided that they are taken out first. Here is the one place that does it.

Where A and the weights are of ordinary size and well conditioned, nothing is changed. Otherwise let
H be a heavy basis: items picked one by one, each with the largest product of its weight and its
distance from the span of those before. Then T = A_H^{-1} A has the identity in the columns of H,
and with s = q^{1/p} the matrix M = S_H^{-1} T S has entries of about one at most, because an item j
with T_kj != 0 could take the place of item k in H, and would have been picked if it were heavier.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from zonodpp._types import Floats, Integers, Matrix
from zonodpp.arguments import check_finite
from zonodpp.linalg.dense import column_chunks, largest_entry, split_rows, to_dense
from zonodpp.linalg.gram import DenseGram, RankError, factorise, factorise_by_cholesky
from zonodpp.linalg.greedy import Items, pick_greedily
from zonodpp.linalg.products import accurate_product

LEAST_SCALE = 2.0**-250  # smallest column factor, relative to the largest, that is ordinary
_ORDINARY = 2.0**200  # sizes up to this, and down to its inverse, whose squares are safe
_HEAVIER = np.log(1e6)  # ratio of weights beyond which rounding of dependent columns would show
_EPS = float(np.finfo(float).eps)
_LOG_2 = float(np.log(2.0))
_ZERO = -(2**20)  # exponent that stands for an entry of zero: below all others


@dataclass(frozen=True)
class Coordinates:
    """|det A_B| prod q_B^{1/p} is exp(log_factor) times |det (matrix * scale)_B|, for each basis B.

    Attributes
    ----------
    matrix : (r, n) array or sparse matrix
        A itself, or A in other coordinates.
    scale : (n,) array or None
        Column factors, at most one; None if all are one.
    gram : DenseGram
        Of matrix * scale.
    log_factor : float
    plain : (r, n) array or None
        The matrix T, whose columns have not been multiplied by weights; None if matrix has not.
    log_scale : (n,) array or None
        Logs of the column factors that go with ``plain``, or with ``matrix`` if that is None.
    """

    matrix: Matrix
    scale: Floats | None
    gram: DenseGram
    log_factor: float
    plain: Floats | None = None
    log_scale: Floats | None = None

    def weighted(self, items: Integers) -> Floats:
        """Return columns of matrix * scale as a dense array."""
        block = to_dense(self.matrix[:, items])
        return block if self.scale is None else np.asarray(block * self.scale[items])

    def unweighted(self, items: Integers) -> Floats:
        """Return columns, without their factors, in coordinates that show dependent ones."""
        if self.plain is not None:
            return np.asarray(self.plain[:, items])
        return np.asarray(self.gram.W @ to_dense(self.matrix[:, items]))

    def log_factors(self, bases: Integers) -> Floats:
        """Return what to add to log |det| of `unweighted` bases for columns that are whitened."""
        logs = np.zeros(len(bases))
        if self.log_scale is not None:
            logs = self.log_scale[bases].sum(axis=1)
        return logs if self.plain is None else logs - self.gram.logdet / 2


def coordinates_of(
    A: Matrix, weights: Floats | None, power: float, basis: Integers | None = None
) -> Coordinates:
    """Choose coordinates; ``basis`` is the heaviest spanning tree if A is a graph's.

    Raises
    ------
    RankError
        When the numerical rank is below the number of rows.
    """
    scale, log_unit = column_factors(weights, power)
    matrix, exponent = _of_ordinary_size(A)
    with np.errstate(divide="ignore"):
        if scale is None or scale[scale > 0].min() > LEAST_SCALE:
            gram = factorise_by_cholesky(matrix, scale)
            if gram is not None:
                log_factor = A.shape[0] * (log_unit + exponent * _LOG_2)
                logs = None if scale is None else np.log(scale)
                return Coordinates(matrix, scale, gram, log_factor, None, logs)
        check_finite(A, "A")
        log_weights = 0.0 if weights is None else np.log(weights) / power
    return _about_heavy_basis(to_dense(A), log_weights, basis)


def column_factors(weights: Floats | None, power: float) -> tuple[Floats | None, float]:
    """Return q^{1/p} divided by a power of two that makes the largest about one, and its log.

    Positive weights may become zero where they span more than floating-point numbers do.
    """
    if weights is None:
        return None, 0.0
    shift = int(np.frexp(weights.max())[1])
    if power < 1:
        with np.errstate(under="ignore"):
            return np.ldexp(weights, -shift) ** (1.0 / power), shift * _LOG_2 / power
    roots: Floats = weights ** (1.0 / power)  # takes half of all orders, or more, before the shift
    shift = int(np.frexp(roots.max())[1])
    return np.ldexp(roots, -shift), shift * _LOG_2


def _of_ordinary_size(A: Matrix) -> tuple[Matrix, int]:
    """Divide A by a power of two if its largest entry is huge or tiny; return its exponent."""
    size = largest_entry(A)
    if 1.0 / _ORDINARY < size < _ORDINARY or size == 0 or not np.isfinite(size):
        return A, 0
    exponent = max(int(np.frexp(size)[1]), -1000)  # so that its inverse does not overflow
    return A * np.ldexp(1.0, -exponent), exponent


def _about_heavy_basis(
    A: Floats, log_weights: Floats | float, basis: Integers | None
) -> Coordinates:
    """Return M = S_H^{-1} T S and T = A_H^{-1} A for a heavy basis H."""
    U, heights, widths = _equilibrated(A)
    logs = np.asarray(widths * _LOG_2 + log_weights, dtype=np.float64)
    logs[~U.any(axis=0)] = -np.inf
    if basis is None:
        H = _heavy_basis(U, logs)
        T, log_det = _relative_to(H, U, logs)
    else:
        H = basis
        T, log_det = _relative_to_tree(H, U)
    ratios = logs - logs[H][:, None]
    matrix = np.zeros_like(T)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        np.multiply(T, np.exp(ratios), out=matrix, where=T != 0)
    log_factor = log_det + _LOG_2 * float(heights.sum()) + float(logs[H].sum())
    gram = factorise(matrix, None)
    return Coordinates(matrix, None, gram, log_factor, T, logs - logs[H].sum() / len(H))


def _equilibrated(A: Floats) -> tuple[Floats, Integers, Integers]:
    """Return U with A_ij = 2^(heights_i + widths_j) U_ij, rows and columns of about size one."""
    exponents = np.where(A == 0, 2 * _ZERO, np.frexp(A)[1])
    heights = exponents.max(axis=1)
    heights[heights < _ZERO] = 0
    widths = (exponents - heights[:, None]).max(axis=0)
    widths[widths < _ZERO] = 0
    with np.errstate(under="ignore"):
        return np.ldexp(A, -(heights[:, None] + widths)), heights, widths


def _heavy_basis(U: Floats, logs: Floats) -> Integers:
    """Pick r items, each with the largest exp(logs) times distance from the span of those before.

    A distance that rounding explains counts as zero.
    """
    unit, log_lengths = split_rows(U.T)
    items = Items(np.asarray(unit), np.zeros(len(unit)), 2 * (log_lengths + logs))
    picks = pick_greedily(items, len(U))
    if picks.size < len(U):
        raise RankError(picks.size)
    return picks


def _relative_to(H: Integers, U: Floats, logs: Floats) -> tuple[Floats, float]:
    """Return T = U_H^{-1} U and log |det U_H|."""
    W = np.asarray(np.linalg.inv(U[:, H]))
    T = _refined(W, U, H)
    # An item that is heavier than item k of H depends on those picked before, but for rounding.
    heavier = logs - logs[H][:, None] > _HEAVIER
    if heavier.any():
        noise = 8 * len(U) * _EPS * np.outer(np.linalg.norm(W, axis=1), np.linalg.norm(U, axis=0))
        T[heavier & (np.abs(T) <= noise)] = 0.0
    return T, float(np.linalg.slogdet(U[:, H])[1])


def _relative_to_tree(H: Integers, U: Floats) -> tuple[Floats, float]:
    """`_relative_to` for the edges H of a tree in a graph, whose elimination is sparse.

    It is also exact: every minor of an incidence matrix is -1, 0 or 1, here times a power of two.
    """
    factor = splu(sp.csc_array(U[:, H]))
    return factor.solve(U), float(np.log(np.abs(factor.U.diagonal())).sum())


def _refined(W: Floats, U: Floats, H: Integers) -> Floats:
    """Return U_H^{-1} U to full accuracy, W being close to U_H^{-1}.

    Any W spans the same rows. With W U computed to more than double precision, W U_H = I + E for a
    small E, and multiplying by I - E leaves I - E^2, and so on.
    """
    identity = np.eye(len(H))
    block, _ = accurate_product(W, U[:, H])
    correction = identity
    for _ in range(4):
        E = block - identity
        block = block - E @ block
        correction = correction - E @ correction
    T = np.empty_like(U)
    for span, chunk in column_chunks(U):
        product, error = accurate_product(W, chunk)
        product = correction @ product
        product[np.abs(product) <= error] = 0.0
        T[:, span] = product
    T[:, H] = identity
    return T
