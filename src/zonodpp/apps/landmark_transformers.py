"""Features of rows for draws of landmarks: of coordinates, of a kernel, or as they are given."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.manifold import Isomap
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import has_fit_parameter

from zonodpp._types import Floats, Matrix
from zonodpp.apps.landmark_features import (
    DistinctRows,
    Features,
    Moments,
    kernel_features,
    principal_directions,
    simplex_features,
)
from zonodpp.features.similarity import KernelFunction
from zonodpp.linalg.dense import to_dense


def features_for_draws(
    given: DistinctRows,
    weights: Floats,
    m: int,
    transformer: str | BaseEstimator | None,
    kernel: KernelFunction,
    rng: np.random.Generator,
) -> tuple[Features, BaseEstimator | None]:
    """Give each distinct row m features; return them, and the transformer that was fitted."""
    X, rows, merged = given
    if transformer == "precomputed":
        if X.shape[1] != m:
            raise ValueError(
                f"transformer='precomputed' takes X as the features, one for each of the "
                f"{m} landmarks, but X has {X.shape[1]} columns; pass "
                f"n_landmarks={X.shape[1]}, or transformer='pca' for other numbers"
            )
        return Features(to_dense(X[rows]), np.zeros(len(rows))), None
    if transformer == "kernel":
        return kernel_features(X[rows], merged, m, kernel, rng), None
    fitted = None
    if transformer not in (None, "pca"):
        isomap = Isomap(n_neighbors=min(5, X.shape[0] - 1), n_components=max(1, m - 1))
        fitted = isomap if transformer == "isomap" else clone(transformer)
        X = _coordinates(fitted, X, weights)
    moments = Moments.of(X, weights)
    directions = principal_directions(X, weights, m - 1, moments)
    if len(directions.spread) == m - 1:
        features = simplex_features(X, directions)
        return Features(features.values.take(rows, axis=0), features.left_out[rows]), fitted
    spread = np.sqrt(moments.variance * X.shape[1]) or 1.0
    features = kernel_features(
        X[rows], merged, m, lambda a, b: np.exp(-euclidean_distances(a, b) / spread), rng
    )
    return features, fitted


def _coordinates(transformer: BaseEstimator, X: Matrix, weights: Floats) -> Matrix:
    """Return the coordinates of the rows that the transformer computes."""
    weighted = has_fit_parameter(transformer, "sample_weight")
    Z = transformer.fit_transform(X, **({"sample_weight": weights} if weighted else {}))
    Z = Z.tocsr().astype(np.float64) if sp.issparse(Z) else np.asarray(Z, dtype=np.float64)
    if Z.ndim != 2 or Z.shape[0] != X.shape[0] or not Z.shape[1]:
        raise ValueError(
            f"the transformer must give one row of coordinates for each of the {X.shape[0]} "
            f"rows, got an array of shape {Z.shape}"
        )
    return Z
