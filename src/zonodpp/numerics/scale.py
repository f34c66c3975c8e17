"""Coordinates in which floating-point numbers hold the law of A and its item weights.

P(B) is proportional to |det A_B|^p prod q_B. The law does not change when A is multiplied by an
invertible matrix from the left, nor when all weights are multiplied by one number, nor when a
factor of a column is moved into its weight. So entries from 1e-300 to 1e300 and nearly dependent
rows do no harm, provided that A and the weights are rescaled first. Only this file does so.

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
from zonodpp.numerics.arrays import EPS, accurate_product, column_chunks, log_dets, to_dense
from zonodpp.numerics.determinant import items_of, pick_greedily
from zonodpp.numerics.gram import DenseGram, RankError, factorise, factorise_by_cholesky
from zonodpp.numerics.hidden import LOG_NEGLIGIBLE, hidden_sets

LEAST_SCALE = 2.0**-250  # smallest column factor, relative to the largest, that is ordinary
# The same for a dense A. Whitening mixes its rows, which makes rounding errors larger, up to the
# inverse of this number. A sparse A has the lower limit: in other coordinates it would be dense.
_EVEN_SCALE = 1e-9
_HEAVIER = np.log(1e6)  # log ratio of weights beyond which errors of dependent columns matter
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
        The Gram matrix of matrix * scale.
    log_factor : float
    log_scale : (n,) array
        Logs of the column factors of ``plain``, or of ``matrix`` if ``plain`` is None.
    plain : (r, n) array or None
        The matrix T, without the weights; None if ``matrix`` itself is without them.
    widths : (n,) array of int or None
        Column j of T is that of A_H^{-1} A divided by 2**widths_j.
    """

    matrix: Matrix
    scale: Floats | None
    gram: DenseGram
    log_factor: float
    log_scale: Floats
    plain: Floats | None = None
    widths: Integers | None = None

    def whitened(self, items: Integers) -> Floats:
        """Return whitened columns of matrix * scale, as rows, for an array of items."""
        block = to_dense(self.matrix[:, items.ravel()])
        block = block if self.scale is None else block * self.scale[items.ravel()]
        return np.asarray((self.gram.W @ block).T.reshape(*items.shape, len(block)))

    def log_volumes(self, bases: Integers) -> Floats:
        """Return log |det| of `whitened` bases, (count, r).

        Determinants are those of columns without their factors, in coordinates that show whether
        columns are dependent; the logs of the factors are added.
        """
        logs = self.log_scale[bases].sum(axis=1)
        if self.plain is None:
            block = self.gram.W @ to_dense(self.matrix[:, bases.ravel()])
        else:
            block, logs = self.plain[:, bases.ravel()], logs - self.gram.logdet / 2
        return np.asarray(log_dets(block.T.reshape(*bases.shape, len(block))) + logs)


def coordinates_of(
    A: Matrix, weights: Floats | None, power: float, basis: Integers | None = None
) -> Coordinates:
    """Choose coordinates; ``basis`` is the heaviest spanning tree if A is a graph's.

    Raises
    ------
    RankError
        When the numerical rank is below the number of rows.
    """
    scale, log_weights = column_factors(weights, power, A.shape[1])
    log_unit = float(log_weights.max())
    least = LEAST_SCALE if sp.issparse(A) else _EVEN_SCALE
    if log_weights[log_weights > -np.inf].min() - log_unit > np.log(least):
        gram = factorise_by_cholesky(A, scale)
        if gram is not None:
            return Coordinates(A, scale, gram, A.shape[0] * log_unit, log_weights - log_unit)
    return _about_heavy_basis(to_dense(A), log_weights, power, basis)


def plain_coordinates(
    A: Matrix, weights: Floats | None, power: float, found: Coordinates
) -> tuple[Floats, Floats]:
    """Return T = A_H^{-1} A for a heavy basis H, without weights, and the logs of its factors."""
    if found.plain is None:
        log_weights = column_factors(weights, power, A.shape[1])[1]
        found = _about_heavy_basis(to_dense(A), log_weights, power, None)
    assert found.plain is not None
    return found.plain, found.log_scale


def column_factors(weights: Floats | None, power: float, n: int) -> tuple[Floats | None, Floats]:
    """Return q^{1/p} divided by the largest, None if all are one, and the n logs of q^{1/p}.

    Positive weights may become zero where they span more than floating-point numbers do.
    """
    if weights is None:
        return None, np.zeros(n)
    with np.errstate(divide="ignore", under="ignore"):
        logs = np.log(weights) / power
        return np.exp(logs - logs.max()), logs


def _about_heavy_basis(
    A: Floats, log_weights: Floats, power: float, basis: Integers | None
) -> Coordinates:
    """Return M = S_H^{-1} T S and T = A_H^{-1} A for a heavy basis H."""
    U, heights, widths = _equilibrated(A)
    logs = np.where(U.any(axis=0), widths * _LOG_2 + log_weights, -np.inf)
    H = _heavy_basis(U, logs) if basis is None else basis
    if basis is None:
        T, log_det = _relative_to(H, U, logs, power), float(np.linalg.slogdet(U[:, H])[1])
    else:  # elimination is exact: minors of an incidence matrix are -1, 0 or 1, times powers of two
        factor = splu(sp.csc_array(U[:, H]))
        T, log_det = factor.solve(U), float(np.log(np.abs(factor.U.diagonal())).sum())
    ratios = logs - logs[H][:, None]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        matrix = np.where(T == 0, 0.0, T * np.exp(ratios))
    log_factor = log_det + _LOG_2 * float(heights.sum()) + float(logs[H].sum())
    gram = factorise(matrix, None)
    return Coordinates(matrix, None, gram, log_factor, logs - logs[H].sum() / len(H), T, widths)


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
    items = items_of(U.T)
    picks = pick_greedily(items._replace(log_scale=items.log_scale + 2 * logs), len(U))
    if picks.size < len(U):
        raise RankError(picks.size)
    return picks


def _relative_to(H: Integers, U: Floats, logs: Floats, power: float) -> Floats:
    """Return T = U_H^{-1} U to full accuracy.

    Any W spans the same rows. With W close to U_H^{-1}, and W U computed to more than double
    precision, W U_H is close to the identity, and its inverse corrects the rounding errors of W.
    """
    W = np.asarray(np.linalg.inv(U[:, H]))
    correction = np.linalg.inv(accurate_product(W, U[:, H])[0])
    T = np.empty_like(U)
    for span, chunk in column_chunks(U):
        product, error = accurate_product(W, chunk)
        entries = correction @ product
        entries[np.abs(entries) <= error] = 0.0
        # An item heavier than item k of H depends on the items picked before k, up to rounding of
        # the columns that were given. Nobody can tell whether the rest of the column is meant.
        rise = logs[span] - logs[H][:, None]
        lengths = np.outer(np.linalg.norm(W, axis=1), np.linalg.norm(chunk, axis=0))
        rounded = (rise > _HEAVIER) & (np.abs(entries) <= 8 * len(U) * EPS * lengths)
        with np.errstate(divide="ignore"):
            likely = rounded & (power * (np.log(np.abs(entries)) + rise) > LOG_NEGLIGIBLE)
        if likely.any():
            item = int(span.start + np.argmax(likely.any(axis=0)))
            raise ValueError(hidden_sets(power, item))
        entries[rounded] = 0.0
        T[:, span] = entries
    T[:, H] = np.eye(len(H))
    return T
