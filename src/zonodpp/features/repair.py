"""Kernels that should be positive semidefinite: the check, and the repair."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from zonodpp._types import Floats, MatrixLike
from zonodpp.arguments import one_of
from zonodpp.linalg.kernel import read_kernel, rounding_of_eigenvalues, rounding_share


def check_psd(K: MatrixLike, *, tol: float | None = None) -> float:
    """Check that a kernel matrix is symmetric and positive semidefinite.

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
    zonodpp.linalg.kernel.NotPositiveError: K is not positive semidefinite: ...
    """
    kernel, precision = as_kernel(K)
    values = scipy.linalg.eigvalsh(kernel)
    tol = rounding_share(len(kernel), precision) if tol is None else tol
    rounding_of_eigenvalues(values, "K", tol)
    return float(values[0])


def nearest_psd(K: MatrixLike, *, how: str = "clip") -> Floats:
    """Return a positive semidefinite kernel close to K.

    Parameters
    ----------
    K : (n, n) array_like
        A symmetric matrix.
    how : {"clip", "shift"}
        ``"clip"`` sets negative eigenvalues to zero: the nearest one in the sum of squares.
        ``"shift"`` adds one number to the diagonal: similarities of different items stay.

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
    kernel, _ = as_kernel(K)
    values, vectors = scipy.linalg.eigh(kernel)
    if values[0] >= 0:
        return kernel.copy()
    if how == "shift":
        error = rounding_share(len(kernel), np.finfo(float).eps) * np.abs(values).max()
        return np.asarray(kernel + (error / 2 - values[0]) * np.eye(len(kernel)))
    positive = values > 0
    root = vectors[:, positive] * np.sqrt(values[positive])
    return np.asarray(root @ root.T)


def as_kernel(K: MatrixLike) -> tuple[Floats, float]:
    """Return a symmetric float64 matrix, and the precision that it was given to."""
    return read_kernel(K, "K", "for rows of features name a kernel, such as kernel='rbf'")[:2]
