"""From features or a kernel to A of full rank: principal directions, noise, a kernel's range."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from zonodpp._types import Floats, Matrix, SeedLike
from zonodpp.arguments import as_count, as_positive, check_finite, spawn
from zonodpp.linalg.dense import to_dense
from zonodpp.linalg.qr import numerical_rank
from zonodpp.linalg.svd import leading_directions


def principal_scores(X: Matrix, rank: int) -> Floats:
    """Coordinates of the rows of X along its leading principal directions (centred PCA)."""
    n, d = X.shape
    rank = as_count(rank, "rank", 1)
    check_finite(X, "X")
    if rank > min(n - 1, d):
        raise ValueError(
            f"rank={rank} principal directions asked for, but {n} centred items with {d} features "
            f"have at most {min(n - 1, d)}"
        )
    mean = np.asarray(X.mean(axis=0)).ravel()
    directions, singular = leading_directions(X, rank, mean)
    found = numerical_rank(singular)
    if found < rank:
        way_out = f"pass rank={found} or less" if found else "all its rows are the same"
        raise ValueError(
            f"rank={rank} principal directions asked for, but X has numerical rank {found} once "
            f"centred; {way_out}"
        )
    leading = directions[:, :rank]
    return np.asarray(X @ leading) - mean @ leading


def add_jitter(X: Matrix, jitter: float, rng: SeedLike) -> Floats:
    """Add Gaussian noise of standard deviation ``jitter`` to each entry (section 2.3)."""
    jitter = as_positive(jitter, "jitter")
    dense = to_dense(X)
    [generator] = spawn(rng, purpose="jitter")
    return np.asarray(dense + jitter * generator.standard_normal(dense.shape))


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
