"""Features from a kernel that is never formed: partial Cholesky, greedy or random pivots."""

from __future__ import annotations

from typing import Any

import numpy as np

from zonodpp._types import Floats, MatrixLike, SeedLike
from zonodpp.arguments import spawn
from zonodpp.features.repair import as_kernel
from zonodpp.features.similarity import KernelLike, finite_rows, kernel_function
from zonodpp.linalg.cholesky import KernelColumns, partial_factor

_DIAGONAL_BLOCK = 64  # the diagonal of a function is read off blocks of this size


def pivoted_cholesky(
    X: MatrixLike,
    rank: int | None = None,
    *,
    kernel: KernelLike = "rbf",
    gamma: float | None = None,
    tol: float = 1e-10,
) -> Floats:
    """Approximate a kernel by ``Phi Phi'``, column by column, always where it is worst.

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
        Stop when the trace of what is left is this share of the kernel's trace.

    Returns
    -------
    (n, m) array
        With m at most ``rank``, less if the kernel is used up before.

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
    return partial_factor(kernel_columns(X, kernel, gamma), rank, tol)[0]


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
    """Approximate a kernel by ``Phi Phi'`` with pivots drawn in proportion to what is left.

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
        Stop when the trace of what is left is this share of the kernel's trace.
    return_pivots : bool, default False
        Whether to return the pivots too.
    rng : seed or Generator, optional
        For the pivots.

    Returns
    -------
    Phi : (n, m) array
        With m at most ``rank``, less if the kernel is used up before.
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
    Phi, pivots = partial_factor(kernel_columns(X, kernel, gamma), rank, tol, generator)
    return (Phi, pivots) if return_pivots else Phi


def kernel_columns(X: MatrixLike, kernel: KernelLike, gamma: float | None) -> KernelColumns:
    """Return the kernel of the rows of X, or X itself if it is the kernel matrix."""
    if isinstance(kernel, str) and kernel == "precomputed":
        K, precision = as_kernel(X)
        return KernelColumns(np.diagonal(K), lambda items: K[items].T, precision)
    rows = finite_rows(X)
    block = kernel_function(rows, kernel, gamma)
    n = rows.shape[0]
    diagonal, precision = np.empty(n), float(np.finfo(float).eps)
    for start in range(0, n, _DIAGONAL_BLOCK):
        part = rows[start : start + _DIAGONAL_BLOCK]
        values = block(part, part)
        if values.dtype == np.float32:
            precision = float(np.finfo(np.float32).eps)
        diagonal[start : start + _DIAGONAL_BLOCK] = np.diagonal(values)
    return KernelColumns(diagonal, lambda items: block(rows, rows[items]), precision)
