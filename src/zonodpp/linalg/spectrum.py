"""Eigenvalues and eigenvectors of a kernel, from the kernel or from features of its items.

Eigenvalues keep their digits over hundreds of orders of magnitude where the input has them: columns
of features and diagonals of kernels that differ in size are no reason to lose the small ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg import lapack

from zonodpp._types import Floats
from zonodpp.arguments import check_finite
from zonodpp.linalg.gram import factorise, triangle

EPS = float(np.finfo(float).eps)
ROWS = 4096  # rows of features handled at a time
GRADED = 1e8  # ratio of sizes beyond which plain eigenvalues would lose digits
LOW_RANK = 0.5  # share of n below which features are cheaper than a kernel's eigenvectors


class Spectrum(NamedTuple):
    """``vectors[:, j]`` has eigenvalue ``exp(logs[j])``, largest first; those of zero are left out.

    Eigenvalues may be infinite: along such directions a draw always has an item.
    """

    vectors: Floats
    logs: Floats

    def joined(self, sure: Floats) -> Spectrum:
        """Put in front the orthonormal columns of ``sure``, with eigenvalue infinity."""
        logs = np.concatenate([np.full(sure.shape[1], np.inf), self.logs])
        return Spectrum(np.column_stack([sure, self.vectors]), logs)


def of_features(Phi: Any, eps: float = EPS) -> Spectrum:
    """Decompose L = Phi Phi' for an (n, m) array or sparse matrix, without forming L.

    ``eps`` is the relative precision of Phi's entries: it decides which columns are dependent.
    Phi = Q C with Q orthonormal, and the left singular vectors of C turn Q into eigenvectors.
    """
    n, m = Phi.shape
    check_finite(Phi, "the features")
    if m == 0:
        return Spectrum(np.zeros((n, 0)), np.zeros(0))
    if m > n:
        dense = Phi.toarray() if sp.issparse(Phi) else Phi
        scale = float(np.abs(dense).max()) or 1.0
        return of_features(triangle(dense.T / scale).T * scale, eps)
    try:
        gram = factorise(Phi.T, None)
        if gram.well_conditioned:  # Phi = Q C with Q = Phi W' and C = W'^{-1}
            turn, singular = _left_singular(np.asarray(np.linalg.inv(gram.W).T))
            return Spectrum(np.asarray(Phi @ (gram.W.T @ turn)), 2 * np.log(singular))
    except ValueError:  # columns that depend on others, or of sizes whose squares overflow
        pass
    return _of_hard_features(Phi, eps)


def _of_hard_features(Phi: Any, eps: float) -> Spectrum:
    """Decompose by blockwise QR, on as many columns as are independent."""
    n, m = Phi.shape
    sizes = np.zeros(m)
    for block in _blocks(Phi):
        np.maximum(sizes, np.abs(block).max(axis=0), out=sizes)
    used = np.flatnonzero(sizes > 0)
    sizes = sizes[used]
    if not used.size:
        return Spectrum(np.zeros((n, 0)), np.zeros(0))
    Q = np.empty((n, used.size))
    start = 0
    for block in _blocks(Phi):
        Q[start : start + len(block)] = block[:, used] / sizes
        start += len(block)
    independent = _independent_columns(_tall_triangle(Q), eps)
    Q = Q[:, independent]
    for _ in range(2):  # the second time repairs what rounding left of the first
        Q = scipy.linalg.solve_triangular(_tall_triangle(Q).T, Q.T, lower=True).T
    C = np.zeros((independent.size, used.size))
    start = 0
    for block in _blocks(Phi):
        C += Q[start : start + len(block)].T @ (block[:, used] / sizes)
        start += len(block)
    turn, singular = _left_singular(C * sizes)
    return Spectrum(Q @ turn, 2 * np.log(singular))


def _blocks(Phi: Any) -> Any:
    for start in range(0, Phi.shape[0], ROWS):
        block = Phi[start : start + ROWS]
        yield block.toarray() if sp.issparse(block) else np.asarray(block)


def _tall_triangle(Q: Floats) -> Floats:
    """R of Q = QR for a tall matrix, a block of rows at a time."""
    R = np.zeros((0, Q.shape[1]))
    for block in _blocks(Q):
        R = triangle(np.vstack([R, block]))
    return R


def _independent_columns(R: Floats, eps: float) -> Any:
    """Choose columns that span the rest, each judged against its own length."""
    m = R.shape[1]
    lengths = np.sqrt(np.einsum("ij,ij->j", R, R))
    _, triangular, order = scipy.linalg.qr(R / lengths, pivoting=True, mode="economic")
    large = np.abs(np.diagonal(triangular)) > 8 * m * eps
    return np.sort(order[: int(large.sum())])


def _left_singular(C: Floats) -> tuple[Floats, Floats]:
    """Return left singular vectors and values; to full relative accuracy if columns are graded."""
    peak = float(np.abs(C).max())
    Q, R, _ = scipy.linalg.qr(C / peak, pivoting=True, mode="economic")
    sizes = np.abs(np.diagonal(R))
    if sizes[0] <= GRADED * sizes[-1]:
        turn, singular, _ = np.linalg.svd(R, full_matrices=False)
    else:  # one-sided Jacobi on columns in descending order
        values, _, turn, work, _, _ = lapack.dgejsv(R.T, joba=2, jobu=3, jobv=0, jobr=0)
        singular = values * (work[0] / work[1])
    kept = singular > 0
    return Q @ turn[:, kept], singular[kept] * peak


def of_kernel(L: Floats, eps: float) -> Spectrum:
    """Decompose a symmetric positive semidefinite kernel, given to relative precision ``eps``.

    A kernel of low rank goes through its pivoted Cholesky factor, in O(n rank^2).

    Raises
    ------
    NotPositiveError
        When an eigenvalue is below zero by more than rounding explains.
    """
    n = len(L)
    diagonal = np.diagonal(L)
    if diagonal.min() < 0:
        _report_negative(L, eps)
    positive = diagonal[diagonal > 0]
    if not positive.size:
        if np.abs(L).max() > 0:
            _report_negative(L, eps)
        return Spectrum(np.zeros((n, 0)), np.zeros(0))
    if positive.max() > GRADED * positive.min():
        factor = _graded_cholesky(L, eps)
    else:
        factor = _pivoted_cholesky(L, eps)
    if factor.shape[1] <= LOW_RANK * n or positive.max() > GRADED * positive.min():
        lengths = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        if _far_from(L, factor, lengths, 1e3 * n * eps):
            _report_negative(L, eps)
        return of_features(factor, eps)
    values, vectors = scipy.linalg.eigh(L)
    if values[0] < -_noise(values, eps):
        raise NotPositiveError("L", float(values[0]))
    kept = values > _noise(values, eps)
    return Spectrum(vectors[:, kept][:, ::-1], np.log(values[kept][::-1]))


class NotPositiveError(ValueError):
    """A kernel has negative eigenvalues; ``smallest`` is the smallest one."""

    def __init__(self, name: str, smallest: float) -> None:
        self.smallest = smallest
        super().__init__(
            f"{name} is not positive semidefinite: its smallest eigenvalue is {smallest:.6g}. "
            f"zonodpp.features.nearest_psd({name}) takes the negative ones away; "
            f"nearest_psd({name}, how='shift') adds {-smallest:.3g} to the diagonal"
        )


def _noise(values: Floats, eps: float) -> float:
    """Eigenvalues below this size are rounding."""
    return float(len(values) * eps * np.abs(values).max())


def _far_from(L: Floats, factor: Floats, lengths: Floats, tolerance: float) -> bool:
    """Tell whether factor factor' misses L, entries measured as correlations."""
    for start in range(0, len(L), ROWS):
        rows = slice(start, start + ROWS)
        missing = np.abs(L[rows] - factor[rows] @ factor.T)
        missing /= lengths[rows, None]
        if (missing > tolerance * lengths).any():
            return True
    return False


def _report_negative(L: Floats, eps: float) -> None:
    values = scipy.linalg.eigvalsh(L)
    if values[0] < -_noise(values, eps):
        raise NotPositiveError("L", float(values[0]))


def _pivoted_cholesky(L: Floats, eps: float) -> Floats:
    """L = G G' to rounding, with as few columns as that takes."""
    n = len(L)
    tolerance = n * eps * float(np.diagonal(L).max())
    lower, pivots, rank, _ = lapack.dpstrf(L.T, tol=tolerance, lower=1)  # L = L' is not copied
    G = np.empty((n, rank))
    G[pivots - 1] = np.tril(lower[:, :rank])
    return G


def _graded_cholesky(L: Floats, eps: float) -> Floats:
    """Pivoted Cholesky that judges each item's rest against its own diagonal entry."""
    n = len(L)
    rest = np.diagonal(L).copy()
    floor = 8 * n * eps * rest
    columns = np.empty((n, n), order="F")
    for j in range(n):
        rest[rest <= floor] = 0.0
        pivot = int(np.argmax(rest))
        if rest[pivot] == 0.0:
            return columns[:, :j]
        root = np.sqrt(rest[pivot])
        column = (L[pivot] - columns[:, :j] @ columns[pivot, :j]) / root
        column[rest == 0.0] = 0.0
        column[pivot] = root
        columns[:, j] = column
        rest -= column**2
        rest[pivot] = 0.0
    return columns
