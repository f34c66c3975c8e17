"""The Gram matrix AA' and what follows from it: rank, whitening, log det, kernel entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from zonodpp._types import Floats
from zonodpp.arguments import check_finite

CHUNK = 4096  # columns handled at a time: r x CHUNK stays in cache, never a second r x n array
LARGEST = 2**24  # entries of a chunk where r is large
SAFE_RCOND = 1e-6  # Cholesky of AA' costs cond(A)^2 digits; below this the QR route is taken


class RankError(ValueError):
    """A does not have full row rank."""

    def __init__(self, rank: int) -> None:
        super().__init__(f"A has numerical rank {rank}, less than its number of rows")
        self.rank = rank


@dataclass(frozen=True)
class DenseGram:
    """AA' = (W'W)^{-1} with W dense and r x r: W A has orthonormal rows."""

    W: Floats
    logdet: float
    well_conditioned: bool

    def quadratic(self, C: Floats) -> Floats:
        """Return C' (AA')^{-1} C."""
        white = self.W @ C
        return np.asarray(white.T @ white)

    def diagonal(self, C: Floats) -> Floats:
        """Return the diagonal of C' (AA')^{-1} C."""
        white = self.W @ C
        return np.asarray(np.einsum("ij,ij->j", white, white))


def column_chunks(A: Any, scale: Floats | None) -> Iterator[tuple[slice, Floats]]:
    """Yield the columns s_j a_j a chunk at a time, as dense arrays."""
    width = min(CHUNK, max(1, LARGEST // A.shape[0]))
    for start in range(0, A.shape[1], width):
        span = slice(start, min(start + width, A.shape[1]))
        chunk = A[:, span].toarray() if sp.issparse(A) else A[:, span]
        yield span, chunk if scale is None else chunk * scale[span]


def factorise(A: Any, scale: Floats | None, *, check_rank: bool = True) -> DenseGram:
    """Factorise the Gram matrix of the columns s_j a_j.

    Cholesky where that is safe, a blockwise QR of A' otherwise.

    Raises
    ------
    RankError
        When the numerical rank is below the number of rows.
    """
    found = well_conditioned(A, scale)
    return _factorise_by_qr(A, scale, check_rank) if found is None else found


def well_conditioned(A: Any, scale: Floats | None) -> DenseGram | None:
    """Factorise the Gram matrix by Cholesky; return None where that would cost too many digits.

    Rows are equilibrated first: the law depends on the row space alone, so the units of a feature
    must not decide its rank.
    """
    r = A.shape[0]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if scale is None:
            product = A @ A.T
            G = product.toarray() if sp.issparse(A) else product
        else:
            G = np.zeros((r, r))
            for _, chunk in column_chunks(A, scale):
                G += chunk @ chunk.T
        norms = np.sqrt(np.diagonal(G))
    if not np.all(np.isfinite(norms)):
        check_finite(A, "A")
        return None
    if not np.all(norms > 1e-140):
        return None
    G /= norms[:, None]
    G /= norms
    lower, info = lapack.dpotrf(G, lower=1, clean=1)
    if info == 0:
        one_norm = float(np.abs(G).sum(axis=0).max())
        rcond, _ = lapack.dpocon(lower, one_norm, uplo="L")
        if rcond > SAFE_RCOND:
            return _from_triangle(lower, norms, well_conditioned=True)
    return None


def triangle(X: Floats) -> Floats:
    """Return R of X = QR."""
    return np.asarray(np.linalg.qr(X, mode="r"))


def _factorise_by_qr(A: Any, scale: Floats | None, check_rank: bool) -> DenseGram:
    """Factorise through R of A' = QR, taken in row blocks: cond(A) digits lost, not its square."""
    r = A.shape[0]
    if A.shape[1] < r:
        raise RankError(A.shape[1])
    sizes = np.zeros(r)
    with np.errstate(over="ignore"):
        for _, chunk in column_chunks(A, scale):
            np.maximum(sizes, np.abs(chunk).max(axis=1), out=sizes)
    if not np.all(np.isfinite(sizes)):
        raise ValueError("the columns of A times their weights overflow; rescale A or the weights")
    safe = np.where(sizes > 0, sizes, 1.0)
    R = np.zeros((0, r))
    for _, chunk in column_chunks(A, scale):
        R = triangle(np.vstack([R, (chunk / safe[:, None]).T]))
    norms = np.sqrt(np.einsum("ij,ij->j", R, R))
    norms[norms == 0] = 1.0
    R /= norms
    singular = np.linalg.svd(R, compute_uv=False)
    rank = int(np.sum(singular > 8 * r * np.finfo(float).eps * singular[0]))
    if rank < r and check_rank:
        raise RankError(rank)
    with np.errstate(over="ignore"):
        norms = norms * safe
    return _from_triangle(R.T, norms, well_conditioned=False)


def _from_triangle(lower: Floats, norms: Floats, *, well_conditioned: bool) -> DenseGram:
    """AA' = D L L' D, hence W = L^{-1} D^{-1}."""
    inverse, info = lapack.dtrtri(np.asfortranarray(lower), lower=1)
    if info > 0:
        raise RankError(int(np.count_nonzero(np.diagonal(lower))))
    with np.errstate(over="ignore"):
        W = np.ascontiguousarray(inverse / norms)
    if not (np.all(np.isfinite(W)) and np.all(np.isfinite(norms))):
        raise ValueError(
            f"the rows of A (with weights) have lengths from {norms.min():.3g} to "
            f"{norms.max():.3g}, outside of what floating-point numbers invert; rescale them, "
            "which does not change the law"
        )
    logdet = 2.0 * float(np.log(np.abs(np.diagonal(lower))).sum() + np.log(norms).sum())
    return DenseGram(W, logdet, well_conditioned)
