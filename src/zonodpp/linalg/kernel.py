"""Symmetric kernels as people pass them: the one reader, with one tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from zonodpp._types import Floats
from zonodpp.arguments import as_matrix, check_finite, is_dataframe

ASYMMETRY = 1e-6  # relative to the largest entry: what a kernel kept as float32 may show
ROWS = 512  # compared with columns at a time, so that no second n x n array is made


class Kernel(NamedTuple):
    """A symmetric matrix, the relative precision it was given to, and the labels of its items."""

    matrix: Floats
    precision: float
    labels: Sequence[Any] | None


def read_kernel(kernel: Any, name: str, otherwise: str) -> Kernel:
    """Check that a kernel is a symmetric n x n matrix of finite numbers.

    ``otherwise`` says what to do with a matrix that is not square. A small asymmetry is taken for
    noise: it is averaged out, and the precision is as low as it tells.
    """
    labels = list(kernel.columns) if is_dataframe(kernel) else None
    eps = precision(kernel)
    matrix = as_matrix(kernel, name)
    matrix = matrix.toarray() if sp.issparse(matrix) else matrix
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"{name} is a kernel, n x n, got {matrix.shape[0]} x {matrix.shape[1]}; {otherwise}"
        )
    check_finite(matrix, name)
    size = max(float(matrix.max()), -float(matrix.min()))
    asymmetry = max(
        float(np.abs(matrix[start : start + ROWS] - matrix[:, start : start + ROWS].T).max())
        for start in range(0, len(matrix), ROWS)
    )
    if asymmetry > ASYMMETRY * size:
        raise ValueError(
            f"{name} is not symmetric: entries [i, j] and [j, i] differ by up to {asymmetry:.3g}; "
            f"pass ({name} + {name}.T) / 2 if that is only noise"
        )
    if asymmetry:
        matrix = matrix / 2 + matrix.T / 2
        eps = max(eps, asymmetry / size)
    return Kernel(matrix, eps, labels)


def precision(given: Any) -> float:
    """Relative precision of the numbers given, by their type."""
    kinds = given.dtypes.to_numpy() if is_dataframe(given) else [getattr(given, "dtype", float)]
    single = any(kind in (np.float32, np.float16) for kind in kinds)
    return float(np.finfo(np.float32 if single else np.float64).eps)
