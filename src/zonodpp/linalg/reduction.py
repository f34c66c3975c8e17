"""From whatever was given to a full-rank A: principal directions, small noise, a kernel's range."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from zonodpp._types import Floats
from zonodpp.arguments import as_count, as_positive, check_finite, spawn
from zonodpp.linalg.gram import triangle


def principal_scores(X: Any, rank: int) -> Floats:
    """Coordinates of the rows of X along its leading principal directions (centred PCA).

    The directions come from the triangular factor of the centred X, so small ones keep their
    digits; a sparse X is never made dense as a whole unless it is wider than long.
    """
    n, d = X.shape
    rank = as_count(rank, "rank", 1)
    check_finite(X, "X")
    if rank > min(n - 1, d):
        raise ValueError(
            f"rank={rank} principal directions asked for, but {n} centred items with {d} features "
            f"have at most {min(n - 1, d)}"
        )
    mean = np.asarray(X.mean(axis=0)).ravel()
    if d > n:
        centred = (X.toarray() if sp.issparse(X) else X) - mean
        R = triangle(centred.T)  # centred' = QR, so centred = R'Q'
        U, singular, _ = np.linalg.svd(R.T)
        scores = U[:, :rank] * singular[:rank]
    else:
        R = np.zeros((0, d))
        rows = X.tocsr() if sp.issparse(X) else X
        step = max(4096, 2 * d)
        for start in range(0, n, step):
            block = rows[start : start + step]
            block = block.toarray() if sp.issparse(block) else block
            R = triangle(np.vstack([R, block - mean]))
        _, singular, directions = np.linalg.svd(R)
        leading = directions[:rank].T
        scores = np.asarray(X @ leading) - mean @ leading
    found = int(np.sum(singular > 8 * max(d, 1) * np.finfo(float).eps * singular[0]))
    if found < rank:
        way_out = f"pass rank={found} or less" if found else "all its rows are the same"
        raise ValueError(
            f"rank={rank} principal directions asked for, but X has numerical rank {found} once "
            f"centred; {way_out}"
        )
    return np.asarray(scores)


def add_jitter(X: Any, jitter: float, rng: Any) -> Floats:
    """Add Gaussian noise of standard deviation ``jitter`` to each entry (section 2.3)."""
    jitter = as_positive(jitter, "jitter")
    dense = X.toarray() if sp.issparse(X) else X
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
