"""Features of a kernel that is never formed; checks and repairs of kernel matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from zonodpp._arguments import one_of, spawn
from zonodpp._types import Floats, Integers, Matrix, MatrixLike, Rng, SeedLike
from zonodpp.features.similarity import finite_rows, kernel_for
from zonodpp.numerics.kernel import (
    KernelColumns,
    partial_factor,
    precision,
    read_kernel,
    rounding_of_eigenvalues,
    rounding_share,
)
from zonodpp.numerics.kernel_function import KernelFunction, KernelLike, times_power_of_two

# Rows of a block of a kernel function, of which the diagonal is taken: with fewer rows there would
# be many calls, with more rows many entries would be computed for each one that is used.
_DIAGONAL_BLOCK = 64


def pivoted_cholesky(
    X: MatrixLike,
    rank: int | None = None,
    *,
    kernel: KernelLike = "rbf",
    gamma: float | None = None,
    tol: float = 1e-10,
) -> Floats:
    """Approximate a kernel by ``Phi Phi'``, each time by the column of the largest error.

    Needs the kernel's diagonal and ``rank`` of its columns, O(n rank) memory and O(n rank^2) time.
    At full rank the result is exact.

    Parameters
    ----------
    X : (n, d) array_like, DataFrame or scipy.sparse matrix
        Items as rows; or the kernel matrix itself, with ``kernel="precomputed"``.
    rank : int, optional
        The largest number of columns. None: as many as ``tol`` needs.
    kernel : str or callable, default "rbf"
        As in `similarity`, or ``"precomputed"``.
    gamma : float, optional
        Inverse bandwidth, by default that of `median_gamma`.
    tol : float, default 1e-10
        Stop when the trace of the remainder is at most this share of the kernel's trace.

    Returns
    -------
    (n, m) array
        With m at most ``rank``, less if fewer columns reach ``tol``.

    See Also
    --------
    rp_cholesky : Random pivots, which outliers do not mislead.
    zonodpp.ProjectionDPP.from_features : The projection DPP of the result.

    References
    ----------
    H. Harbrecht, M. Peters, R. Schneider, "On the low-rank approximation by the pivoted Cholesky
    decomposition", Applied Numerical Mathematics 62 (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.features import pivoted_cholesky
    >>> K = np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 9.0]])
    >>> Phi = pivoted_cholesky(K, kernel="precomputed")
    >>> Phi.shape  # K has rank two
    (3, 2)
    >>> bool(np.allclose(Phi @ Phi.T, K))
    True
    """
    return _features_of(X, kernel, gamma, rank, tol)[0]


def rp_cholesky(
    X: MatrixLike,
    rank: int,
    *,
    kernel: KernelLike = "rbf",
    gamma: float | None = None,
    tol: float = 1e-10,
    return_pivots: bool = False,
    rng: SeedLike = None,
) -> Any:  # Phi, or (Phi, pivots)
    """Approximate a kernel by ``Phi Phi'`` with pivots drawn in proportion to the error.

    Randomly pivoted Cholesky is close to the best approximation of that rank on average, and is not
    misled by outliers. Pivots are drawn many at a time, with the same law as one after the other,
    so that the time is spent in matrix products.

    Parameters
    ----------
    X : (n, d) array_like, DataFrame or scipy.sparse matrix
        Items as rows; or the kernel matrix itself, with ``kernel="precomputed"``.
    rank : int
        The largest number of columns.
    kernel : str or callable, default "rbf"
        As in `similarity`, or ``"precomputed"``.
    gamma : float, optional
        Inverse bandwidth, by default that of `median_gamma`.
    tol : float, default 1e-10
        Stop when the trace of the remainder is at most this share of the kernel's trace.
    return_pivots : bool, default False
        Whether to return the pivots too.
    rng : seed or Generator, optional
        For the pivots.

    Returns
    -------
    Phi : (n, m) array
        With m at most ``rank``, less if fewer columns reach ``tol``.
    pivots : (m,) array of int
        With ``return_pivots=True``: the items at which the approximation is exact, in their order.

    See Also
    --------
    pivoted_cholesky : Greedy pivots, without randomness.
    zonodpp.apps.LandmarkSelector : Landmarks of a kernel.

    References
    ----------
    Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, "Randomly pivoted Cholesky: practical
    approximation of a kernel matrix with few entry evaluations", Communications on Pure and Applied
    Mathematics 78 (2025).

    E. N. Epperly, J. A. Tropp, R. J. Webber, "Embrace rejection: kernel matrix approximation by
    accelerated randomly pivoted Cholesky", arXiv:2410.03969 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.features import rp_cholesky, similarity
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> Phi, pivots = rp_cholesky(X, 40, return_pivots=True, rng=0)
    >>> bool(np.abs(Phi @ Phi.T - similarity(X)).max() < 0.05)
    True
    >>> bool(np.allclose(Phi @ Phi[pivots].T, similarity(X, X[pivots])))
    True
    """
    [generator] = spawn(rng, purpose="features")
    Phi, pivots = _features_of(X, kernel, gamma, rank, tol, generator)
    return (Phi, pivots) if return_pivots else Phi


def _features_of(
    X: MatrixLike,
    kernel: KernelLike,
    gamma: float | None,
    rank: int | None,
    tol: float,
    rng: Rng | None = None,
) -> tuple[Floats, Integers]:
    """Return features of the kernel of the rows of X, or of X itself if it is the kernel matrix."""
    if isinstance(kernel, str) and kernel == "precomputed":
        K, eps = _as_kernel(X)
        columns = KernelColumns(np.diagonal(K), lambda span, items: K[items, span].T, eps)
        exponent = 0
    else:
        rows = finite_rows(X)
        function = kernel_for(rows, kernel, gamma)
        columns, exponent = kernel_columns(rows, function.scaled), function.exponent
    Phi, pivots = partial_factor(columns, rank, tol, rng)
    return times_power_of_two(np.ascontiguousarray(Phi), exponent // 2), pivots


def kernel_columns(rows: Matrix, kernel: KernelFunction) -> KernelColumns:
    """Return the kernel of rows as a factorisation reads it."""
    starts = range(0, rows.shape[0], _DIAGONAL_BLOCK)
    parts = (rows[start : start + _DIAGONAL_BLOCK] for start in starts)
    diagonal = np.concatenate([np.diagonal(kernel(part, part)) for part in parts])
    eps, diagonal = precision(diagonal), diagonal.astype(np.float64)
    return KernelColumns(diagonal, lambda span, items: kernel(rows[span], rows[items]), eps)


def check_psd(K: MatrixLike, *, tol: float | None = None) -> float:
    """Check that a kernel matrix is symmetric and positive semidefinite.

    `zonodpp.DPP` and `zonodpp.KDPP` check a likelihood kernel L in the same way. Of a correlation
    kernel K, whose eigenvalues are probabilities, they allow an error of 1e-6.

    Parameters
    ----------
    K : (n, n) array_like
        The kernel.
    tol : float, optional
        How far below zero, as a share of the largest, an eigenvalue may be. By default what
        rounding explains: ``n`` times the precision of K's type (so 1e-7 times n for float32), or
        1.4e-14 if that is more.

    Returns
    -------
    float
        The smallest eigenvalue.

    Raises
    ------
    ValueError
        With the smallest eigenvalue and what to do about it.

    See Also
    --------
    nearest_psd : A repaired kernel.
    zonodpp.DPP : The target of a kernel matrix.

    Examples
    --------
    >>> from zonodpp.features import check_psd
    >>> round(check_psd([[2.0, 1.0], [1.0, 2.0]]), 12)
    1.0
    >>> check_psd([[1.0, 2.0], [2.0, 1.0]])
    Traceback (most recent call last):
        ...
    zonodpp.numerics.kernel.NotPositiveError: K is not positive semidefinite: ...
    """
    kernel, eps = _as_kernel(K)
    values = scipy.linalg.eigvalsh(kernel)
    tol = rounding_share(len(kernel), eps) if tol is None else tol
    rounding_of_eigenvalues(values, "K", tol)
    return float(values[0])


def nearest_psd(K: MatrixLike, *, how: str = "clip") -> Floats:
    """Return a positive semidefinite kernel close to K.

    Parameters
    ----------
    K : (n, n) array_like
        A symmetric matrix.
    how : {"clip", "shift"}
        ``"clip"`` sets negative eigenvalues to zero: the nearest kernel in the Frobenius norm.
        ``"shift"`` adds one number to the whole diagonal: other entries stay as they are.

    Returns
    -------
    (n, n) array
        K itself if no eigenvalue is negative.

    See Also
    --------
    check_psd : The check.

    References
    ----------
    N. J. Higham, "Computing a nearest symmetric positive semidefinite matrix", Linear Algebra and
    its Applications 103 (1988).

    Examples
    --------
    >>> from zonodpp.features import nearest_psd
    >>> nearest_psd([[1.0, 2.0], [2.0, 1.0]]).round(6)
    array([[1.5, 1.5],
           [1.5, 1.5]])
    >>> nearest_psd([[1.0, 2.0], [2.0, 1.0]], how="shift").round(6)
    array([[2., 2.],
           [2., 2.]])
    """
    one_of(how, "how", ("clip", "shift"))
    kernel, _ = _as_kernel(K)
    values, vectors = scipy.linalg.eigh(kernel)
    if values[0] >= 0:
        return kernel.copy()
    if how == "shift":
        error = rounding_share(len(kernel)) * np.abs(values).max()
        return np.asarray(kernel + (error / 2 - values[0]) * np.eye(len(kernel)))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(root @ root.T)


def _as_kernel(K: MatrixLike) -> tuple[Floats, float]:
    """Return a symmetric float64 matrix, and the precision that it was given to."""
    return read_kernel(K, "K", "for rows of features name a kernel, such as kernel='rbf'")[:2]
