"""Symmetric kernels as people pass them: the one reader, and the one rule for eigenvalues."""

from __future__ import annotations

import numpy as np

from zonodpp._types import Floats, Labels, MatrixLike
from zonodpp.arguments import as_matrix, check_finite, is_dataframe
from zonodpp.linalg.dense import largest_entries, to_dense

_ASYMMETRY = 1e-6  # relative to the largest entry: what a kernel kept as float32 may show
# Error of `scipy.linalg.eigh`, relative to the largest eigenvalue: at most 24 units of rounding in
# 20,000 random kernels of rank below n, with n from 2 to 128; it does not grow with n.
_EIGH = 64 * float(np.finfo(float).eps)


def read_kernel(
    kernel: MatrixLike, name: str, otherwise: str
) -> tuple[Floats, float, Labels | None]:
    """Check that a kernel is a symmetric n x n matrix of finite numbers.

    Returns it with the relative precision that it was given to, and the labels of its items.
    ``otherwise`` says what to do with a matrix that is not square. A small asymmetry is taken for
    rounding errors: it is averaged out, and the precision is as low as the asymmetry shows.
    """
    labels = list(kernel.columns) if is_dataframe(kernel) else None
    eps = precision(kernel)
    matrix = to_dense(as_matrix(kernel, name))
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"{name} is a kernel, n x n, got {matrix.shape[0]} x {matrix.shape[1]}; {otherwise}"
        )
    check_finite(matrix, name)
    size = float(largest_entries(matrix, axis=1).max())
    asymmetry = float(largest_entries(matrix - matrix.T, axis=1).max())
    if asymmetry > _ASYMMETRY * size:
        raise ValueError(
            f"{name} is not symmetric: entries [i, j] and [j, i] differ by up to {asymmetry:.3g}; "
            f"pass ({name} + {name}.T) / 2 if that is only noise"
        )
    if asymmetry:
        matrix = matrix / 2 + matrix.T / 2
        eps = max(eps, asymmetry / size)
    return matrix, eps, labels


def precision(given: MatrixLike) -> float:
    """Relative precision of the numbers given, by their type."""
    kinds = given.dtypes.to_numpy() if is_dataframe(given) else [getattr(given, "dtype", float)]
    single = any(kind in (np.float32, np.float16) for kind in kinds)
    return float(np.finfo(np.float32 if single else np.float64).eps)


class NotPositiveError(ValueError):
    """A kernel has negative eigenvalues; ``smallest`` is the smallest one."""

    def __init__(self, name: str, smallest: float) -> None:
        self.smallest = smallest
        super().__init__(
            f"{name} is not positive semidefinite: its smallest eigenvalue is {smallest:.6g}. "
            f"zonodpp.features.nearest_psd({name}) takes the negative ones away; "
            f"nearest_psd({name}, how='shift') adds {-smallest:.3g} to the diagonal"
        )


def rounding_share(n: int, eps: float) -> float:
    """Return the size, relative to the largest, of eigenvalues that may be rounding errors.

    Both the errors of n x n entries, given to relative precision ``eps``, and those of the
    computation count.
    """
    return max(n * eps, _EIGH)


def rounding_of_eigenvalues(values: Floats, name: str, tol: float) -> float:
    """Return the size of eigenvalues that may be rounding errors, ``tol`` times the largest.

    Raises
    ------
    NotPositiveError
        When the smallest of the eigenvalues, which are ascending, is negative and larger than that.
    """
    rounding = tol * float(max(-values[0], values[-1]))
    if values[0] < -rounding:
        raise NotPositiveError(name, float(values[0]))
    return rounding
