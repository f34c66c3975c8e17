"""From features or a kernel to A of full rank: leading directions, a kernel's range."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, svds

from zonodpp._types import Floats, Matrix
from zonodpp.arguments import as_count, check_finite
from zonodpp.linalg.dense import row_chunks, to_dense
from zonodpp.linalg.gram import numerical_rank, triangle

_NARROW = 2000  # columns up to which a triangular factor is computed (32 MB)
_SMALL = 2e9  # operations, about a second, up to which a matrix is decomposed as a whole
_SEEN = 1e-6  # singular values, relative to the first, that products with X and X' still resolve


def principal_scores(X: Matrix, rank: int) -> Floats:
    """Coordinates of the rows of X along its leading principal directions (centred PCA)."""
    n, d = X.shape
    rank = as_count(rank, "rank", 1)
    check_finite(X, "X")
    need_directions(rank, n, d, min(n - 1, d))
    mean = np.asarray(X.mean(axis=0)).ravel()
    directions, singular = leading_directions(X, rank, mean)
    need_directions(rank, n, d, numerical_rank(singular))
    leading = directions[:, :rank]
    return np.asarray(X @ leading) - mean @ leading


def need_directions(rank: int, n: int, d: int, found: int) -> None:
    """Raise an error if n centred rows of d features have fewer principal directions than asked."""
    if found < rank:
        way_out = f"pass rank={found} or less" if found else "all rows are the same"
        raise ValueError(
            f"rank={rank} principal directions asked for, but {n} items with {d} features have at "
            f"most {found} once centred (numerical rank {found}); {way_out}"
        )


def projection_basis(K: Floats) -> Floats:
    """Return A with orthonormal rows and K = A'A, for an orthogonal projection K."""
    values, vectors = scipy.linalg.eigh(K)
    away = np.minimum(np.abs(values), np.abs(values - 1))
    if away.max() > 1e-6:
        worst = float(values[np.argmax(away)])
        raise ValueError(
            f"the kernel is not an orthogonal projection: it has an eigenvalue {worst:.6g}, off "
            f"from 0 and 1 by {away.max():.3g}; to draw along its leading r directions, pass their "
            "eigenvectors, as columns, to from_features"
        )
    rank = int(np.sum(values > 0.5))
    if rank == 0:
        raise ValueError("the kernel is zero: the draw is always empty")
    return np.ascontiguousarray(vectors[:, -rank:].T)


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
