"""Kernels that should be positive semidefinite: the check, and the repair."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from zonodpp.inputs import as_matrix, check_finite, one_of
from zonodpp.matrices.columns import Floats
from zonodpp.matrices.spectrum import NotPositiveError


def check_psd(K: Any, *, tol: float | None = None) -> float:
    """Check that a kernel matrix is symmetric and positive semidefinite.

    Parameters
    ----------
    K : (n, n) array_like
        The kernel.
    tol : float, optional
        How far below zero, as a share of the largest, an eigenvalue may be. By default what
        rounding explains: ``n`` times the precision of K's type (so 1e-7 times n for float32).

    Returns
    -------
    float
        The smallest eigenvalue.

    Raises
    ------
    ValueError
        With the smallest eigenvalue and what to do about it.

    Examples
    --------
    >>> from zonodpp.features import check_psd
    >>> round(check_psd([[2.0, 1.0], [1.0, 2.0]]), 12)
    1.0
    >>> check_psd([[1.0, 2.0], [2.0, 1.0]])
    Traceback (most recent call last):
        ...
    zonodpp.matrices.spectrum.NotPositiveError: K is not positive semidefinite: ...
    """
    kernel, precision = as_kernel(K, "K")
    size = _size(kernel)
    values = scipy.linalg.eigvalsh(kernel / size)
    tol = len(kernel) * precision if tol is None else tol
    if values[0] < -tol * max(abs(values[0]), abs(values[-1])):
        raise NotPositiveError("K", size * float(values[0]))
    return size * float(values[0])


def nearest_psd(K: Any, *, how: str = "clip") -> Floats:
    """Return a positive semidefinite kernel close to K.

    Parameters
    ----------
    K : (n, n) array_like
        A symmetric matrix.
    how : {"clip", "shift"}
        ``"clip"`` sets negative eigenvalues to zero: the nearest one in the sum of squares.
        ``"shift"`` adds one number to the diagonal: similarities of different items stay.

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
    kernel, _ = as_kernel(K, "K")
    size = _size(kernel)
    values, vectors = scipy.linalg.eigh(kernel / size)
    if values[0] >= 0:
        return kernel.copy()
    if how == "shift":
        return np.asarray(kernel - size * values[0] * np.eye(len(kernel)))
    positive = values > 0
    root = vectors[:, positive] * np.sqrt(values[positive])
    return np.asarray(root @ root.T) * size


def as_kernel(K: Any, name: str) -> tuple[Floats, float]:
    """Return a symmetric float64 matrix, and the precision of the type that it came in."""
    kind = getattr(K, "dtype", np.dtype(float))
    precision = float(np.finfo(kind if kind in (np.float16, np.float32) else float).eps)
    kernel = as_matrix(K, name)
    kernel = kernel.toarray() if sp.issparse(kernel) else kernel
    n, m = kernel.shape
    if n != m:
        raise ValueError(
            f"a kernel matrix is n x n, got {n} x {m}; for rows of features name a kernel, such "
            "as kernel='rbf'"
        )
    check_finite(kernel, name)
    asymmetry = float(np.abs(kernel - kernel.T).max())
    if asymmetry > max(1e-8, 8 * precision) * _size(kernel):
        raise ValueError(
            f"{name} is not symmetric: entries [i, j] and [j, i] differ by up to {asymmetry:.3g}; "
            f"pass ({name} + {name}.T) / 2 if that is only noise"
        )
    return (kernel if asymmetry == 0 else kernel / 2 + kernel.T / 2), precision


def _size(kernel: Floats) -> float:
    return float(np.abs(kernel).max()) or 1.0
