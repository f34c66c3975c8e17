"""Eigenvalues and eigenvectors of a kernel, from the kernel or from features of its items.

Eigenvalues keep their digits over hundreds of orders of magnitude where the input has them: columns
of features and diagonals of kernels that differ in size are no reason to lose the small ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from zonodpp._types import Floats, Integers, Matrix
from zonodpp.arguments import check_finite
from zonodpp.linalg.cholesky import KernelColumns, partial_factor, pivoted_factor
from zonodpp.linalg.dense import largest_entries, row_chunks, to_dense
from zonodpp.linalg.gram import factorise_by_cholesky, triangle
from zonodpp.linalg.kernel import rounding_of_eigenvalues, rounding_share

_EPS = float(np.finfo(float).eps)
_GRADED = 1e8  # ratio of sizes beyond which plain eigenvalues would lose digits
_LOW_RANK = 0.5  # share of n below which features are cheaper than a kernel's eigenvectors


class Spectrum(NamedTuple):
    """``vectors[:, j]`` has eigenvalue ``exp(logs[j])``, largest first; those of zero are left out.

    Eigenvalues may be infinite: along such directions a draw always has an item.
    """

    vectors: Floats
    logs: Floats


def of_features(Phi: Matrix, eps: float = _EPS) -> Spectrum:
    """Decompose L = Phi Phi' for an (n, m) array or sparse matrix, without forming L.

    ``eps`` is the relative precision of Phi's entries: it decides which columns are dependent.
    Phi = Q C with Q orthonormal, and the left singular vectors of C turn Q into eigenvectors.
    """
    n, m = Phi.shape
    check_finite(Phi, "the features")
    sizes = largest_entries(Phi, axis=0)
    used = np.flatnonzero(sizes > 0)
    if not used.size:
        return Spectrum(np.zeros((n, 0)), np.zeros(0))
    if m > n and sizes.max() <= _GRADED * sizes[used].min():
        return of_features(_fewer_columns(Phi, eps), eps)
    gram = factorise_by_cholesky(Phi.T, None) if m <= n else None
    if gram is not None:  # Phi = Q C with Q = Phi W' and C = W'^{-1}
        turn, singular = _left_singular(np.asarray(np.linalg.inv(gram.W).T))
        return Spectrum(np.asarray(Phi @ (gram.W.T @ turn)), 2 * np.log(singular))
    sizes = sizes[used]
    X = to_dense(Phi[:, used]) / sizes
    Q, _ = np.linalg.qr(X[:, _independent_columns(X, eps)])
    turn, singular = _left_singular((Q.T @ X) * sizes)
    return Spectrum(Q @ turn, 2 * np.log(singular))


def _independent_columns(X: Floats, eps: float) -> Integers:
    """Choose columns that span the rest, each judged against its own length."""
    _, order, rank = _pivoted(triangle(rows for _, rows in row_chunks(X)), eps)
    return np.sort(order[:rank])


def _fewer_columns(Phi: Matrix, eps: float) -> Floats:
    """Return features of the same kernel with as many columns as its rank, which is at most n."""
    lengths = np.maximum(largest_entries(Phi, axis=1), np.finfo(float).tiny)
    upper, order, rank = _pivoted(triangle([(to_dense(Phi) / lengths[:, None]).T]), eps)
    features = np.empty((len(order), rank))
    features[order] = upper[:rank].T
    return features * lengths[:, None]


def _pivoted(R: Floats, eps: float) -> tuple[Floats, Integers, int]:
    """Factorise R = Q U P by columns, each judged against its own length.

    Returns U, the order of the columns, and the numerical rank.
    """
    norms = np.linalg.norm(R, axis=0)
    norms[norms == 0] = 1.0
    upper, order = scipy.linalg.qr(R / norms, pivoting=True, mode="r")
    large = np.abs(np.diagonal(upper)) > 8 * len(order) * eps
    return upper * norms[order], order, int(large.sum())


def _left_singular(C: Floats) -> tuple[Floats, Floats]:
    """Return left singular vectors and values; to full relative accuracy if columns are graded."""
    peak = float(np.abs(C).max())
    Q, R, _ = scipy.linalg.qr(C / peak, pivoting=True, mode="economic")
    sizes = np.abs(np.diagonal(R))
    if sizes[0] <= _GRADED * sizes[-1]:
        turn, singular, _ = np.linalg.svd(R, full_matrices=False)
    else:  # one-sided Jacobi on columns in descending order
        values, _, turn, work, _, _ = lapack.dgejsv(R.T, joba=2, jobu=3, jobv=0, jobr=0)
        singular = values * (work[0] / work[1])
    kept = singular > 0
    return Q @ turn[:, kept], singular[kept] * peak


def of_kernel(L: Floats, eps: float) -> Spectrum:
    """Decompose a symmetric positive semidefinite kernel, given to relative precision ``eps``.

    A kernel of low rank goes through its pivoted Cholesky factor, in O(n rank^2), and so does one
    whose diagonal is graded.

    Raises
    ------
    NotPositiveError
        When an eigenvalue is below zero by more than rounding explains.
    """
    n, rounding = len(L), rounding_share(len(L), eps)
    diagonal = np.diagonal(L)
    lengths = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    if diagonal.min() >= 0 and diagonal.max() > 0:
        graded = diagonal.max() > _GRADED * diagonal[diagonal > 0].min()
        factor, amplified = _graded_factor(L, eps) if graded else (pivoted_factor(L, eps), 8.0)
        cheaper = graded or factor.shape[1] <= _LOW_RANK * n
        # What is missing may be a negative eigenvalue, which `eigh` shows, unless L is graded.
        if cheaper and _is_close(L, factor, lengths, amplified * rounding):
            return of_features(factor, eps)
    values, vectors = scipy.linalg.eigh(L)
    kept = values > rounding_of_eigenvalues(values, "L", rounding)
    return Spectrum(vectors[:, kept][:, ::-1], np.log(values[kept][::-1]))


def _graded_factor(L: Floats, eps: float) -> tuple[Floats, float]:
    """Return the Cholesky factor with largest pivots first: its columns are graded as L is.

    Returns also by how much rounding errors may have grown: a pivot that is a small share of its
    diagonal entry makes them larger.
    """
    diagonal = np.diagonal(L)
    try:
        kernel = KernelColumns(diagonal, lambda items: L[items].T, eps)
        factor, pivots = partial_factor(kernel, None, 0.0)
    except ValueError:  # an entry is larger than the diagonal allows: eigenvalues tell by how much
        return np.zeros((len(L), 1)), 0.0
    shares = np.diagonal(factor[pivots]) ** 2 / diagonal[pivots]
    return factor, 1e3 / float(shares.min())


def _is_close(L: Floats, factor: Floats, lengths: Floats, tolerance: float) -> bool:
    """Tell whether factor factor' is L, entries measured as correlations."""
    for span, rows in row_chunks(L, 4096):
        missing = np.abs(rows - factor[span] @ factor.T)
        missing /= lengths[span, None]
        if (missing > tolerance * lengths).any():
            return False
    return True
