"""Kernels that should be positive semidefinite: the check, and the repair."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from zonodpp._types import Floats
from zonodpp.arguments import one_of
from zonodpp.linalg.kernel import read_kernel
from zonodpp.linalg.spectrum import NotPositiveError


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
    zonodpp.linalg.spectrum.NotPositiveError: K is not positive semidefinite: ...
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
    """Return a symmetric float64 matrix, and the precision that it was given to."""
    otherwise = "for rows of features name a kernel, such as kernel='rbf'"
    found = read_kernel(K, name, otherwise)
    return found.matrix, found.precision


def _size(kernel: Floats) -> float:
    return float(np.abs(kernel).max()) or 1.0
