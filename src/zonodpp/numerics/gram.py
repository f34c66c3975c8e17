"""The Gram matrix AA', or R of A' = QR block by block: rank, whitening, log det, kernel entries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from zonodpp._types import Floats, Matrix
from zonodpp.numerics.arrays import EPS, column_chunks, to_dense
from zonodpp.numerics.threads import one_thread

_SAFE_RCOND = 1e-6  # reciprocal condition of AA', for unit rows, below which QR is used instead
_LEAST_NORM = 1e-140  # of a row: the squares of entries of shorter rows may underflow


class RankError(ValueError):
    """A does not have full row rank."""

    def __init__(self, rank: int, message: str | None = None) -> None:
        super().__init__(message or f"A has numerical rank {rank}, less than its number of rows")
        self.rank = rank


@dataclass(frozen=True)
class DenseGram:
    """AA' = (W'W)^{-1} with W dense, r x r, lower triangular: W A has orthonormal rows."""

    W: Floats
    logdet: float
    well_conditioned: bool

    def diagonal(self, C: Floats) -> Floats:
        """Return the diagonal of C' (AA')^{-1} C."""
        white = blas.dtrmm(1.0, self.W.T, C, trans_a=1)  # W C: half the time of a full product
        return np.asarray(np.einsum("ij,ij->j", white, white))


def factorise(A: Matrix, scale: Floats | None, *, check_rank: bool = True) -> DenseGram:
    """Factorise the Gram matrix of the columns s_j a_j, whose entries are of ordinary size.

    This is done by Cholesky where that is safe, and otherwise by a blockwise QR of A'. Cholesky of
    AA' magnifies rounding errors by cond(A)^2, and QR by cond(A).

    Raises
    ------
    RankError
        When the numerical rank is below the number of rows.
    """
    found = factorise_by_cholesky(A, scale)
    if found is not None:
        return found
    if not A.shape[1]:  # no column is left
        raise RankError(0)
    return from_triangle(triangle(chunk.T for _, chunk in column_chunks(A, scale)), check_rank)


def from_triangle(R: Floats, check_rank: bool = True) -> DenseGram:
    """Factorise the Gram matrix R'R, where A' = QR; raise RankError as `factorise` does."""
    norms = np.linalg.norm(R, axis=0)
    norms[norms == 0] = 1.0
    R = R / norms
    rank = numerical_rank(np.linalg.svd(R, compute_uv=False))
    if rank < R.shape[1] and check_rank:
        raise RankError(rank)
    return _from_triangle(R.T, norms, False)


def factorise_by_cholesky(A: Matrix, scale: Floats | None) -> DenseGram | None:
    """Factorise the Gram matrix by Cholesky; return None where that would cost too many digits.

    Rows are brought to one length first: the law depends on the row space alone, so the units of
    a feature must not decide its rank.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if scale is not None and isinstance(A, np.ndarray):  # in blocks, without a copy of A
            grams = (chunk @ chunk.T for _, chunk in column_chunks(A, scale))
            return from_gram(np.asarray(sum(grams)))
        X = A if scale is None else A * scale
        return from_gram(to_dense(X @ X.T))


def triangle(blocks: Iterable[Floats]) -> Floats:
    """Return R of X = QR, for X given by blocks of its rows.

    R'R = X'X. R loses about log10 cond(X) digits, and X'X would lose twice as many.
    A block is reduced column by column, in products that are small unless X is wide.
    """
    R = None
    for block in blocks:
        with one_thread(block.shape[1] ** 3):
            R = np.linalg.qr(block if R is None else np.vstack([R, block]), mode="r")
    assert R is not None
    return np.asarray(R)


def numerical_rank(singular: NDArray[np.floating]) -> int:
    """Count the singular values, in descending order, that are more than rounding errors."""
    return int(np.sum(singular > 8 * len(singular) * EPS * singular[0]))


def from_gram(G: Floats) -> DenseGram | None:
    """Factorise a Gram matrix by Cholesky; return None where that would cost too many digits."""
    norms = np.sqrt(np.diagonal(G))
    if not np.all(np.isfinite(norms) & (norms > _LEAST_NORM)):
        return None
    G = G / norms[:, None] / norms
    lower, info = lapack.dpotrf(G, lower=1, clean=1)
    rcond = 0.0 if info else lapack.dpocon(lower, np.abs(G).sum(axis=0).max(), uplo="L")[0]
    return _from_triangle(lower, norms, True) if rcond > _SAFE_RCOND else None


def _from_triangle(lower: Floats, norms: Floats, well_conditioned: bool) -> DenseGram:
    """Return W = L^{-1} D^{-1} and log det for AA' = D L L' D, where D holds the norms."""
    inverse, info = lapack.dtrtri(np.asfortranarray(lower), lower=1)
    if info > 0:
        raise RankError(int(np.count_nonzero(np.diagonal(lower))))
    logdet = 2.0 * float(np.log(np.abs(np.diagonal(lower))).sum() + np.log(norms).sum())
    return DenseGram(np.ascontiguousarray(inverse / norms), logdet, well_conditioned)
