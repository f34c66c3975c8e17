"""Leading right singular vectors of a matrix, which may be large and sparse."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds

from zonodpp._types import Floats, Matrix
from zonodpp.linalg.dense import row_chunks, to_dense
from zonodpp.linalg.qr import triangle

_NARROW = 2000  # columns up to which a triangular factor is computed (32 MB)
_SMALL = 2e9  # operations, about a second, up to which a matrix is decomposed as a whole
_SEEN = 1e-6  # singular values, relative to the first, that products with X and X' still resolve


def leading_directions(
    X: Matrix, k: int, mean: Floats | None = None, root: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return right singular vectors, as columns, and singular values of X; the k largest or more.

    With ``mean`` it is subtracted from each row of X, and with ``root`` row i is then multiplied
    by root_i: these are the principal directions of weighted rows. A large sparse X stays sparse.
    The left singular vectors of X are the right ones of its transpose.
    """
    n, d = X.shape
    mean = np.zeros(d) if mean is None else mean
    root = np.ones(n) if root is None else root
    tall = d <= min(n, _NARROW)
    small = float(n) * d * min(n, d) <= _SMALL or k >= min(n, d) - 1
    if not small and not (tall and isinstance(X, np.ndarray)):
        values, vectors = _by_iteration(X, k, mean, root)
        if not tall or values[-1] > _SEEN * values[0]:
            return vectors.T, values
    if tall:
        factor = triangle((rows - mean) * root[span, None] for span, rows in row_chunks(X))
    else:
        factor = (to_dense(X) - mean) * root[:, None]
    _, values, vectors = np.linalg.svd(factor, full_matrices=False)
    return vectors.T, values


def _by_iteration(X: Matrix, k: int, mean: Floats, root: Floats) -> tuple[Floats, Floats]:
    """Return singular values and vectors, as rows, by ARPACK, which multiplies X by vectors."""
    operator = LinearOperator(
        X.shape,
        matvec=lambda v: root * (X @ v.ravel() - mean @ v.ravel()),
        rmatvec=lambda u: X.T @ (root * u.ravel()) - mean * (root @ u.ravel()),
        dtype=np.float64,
    )
    start = np.random.default_rng(0).standard_normal(min(X.shape))  # the same vectors every time
    _, values, vectors = svds(operator, k=k, v0=start)
    descending = np.argsort(-values)
    return values[descending], vectors[descending]
