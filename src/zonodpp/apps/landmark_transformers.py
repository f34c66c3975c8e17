"""Coordinates of rows by a transformer of scikit-learn, for draws of landmarks."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.manifold import Isomap
from sklearn.utils.validation import has_fit_parameter

from zonodpp._types import Floats, Matrix


def transformer_of(transformer: str | BaseEstimator, n: int, m: int) -> BaseEstimator:
    """Return a new transformer: Isomap with coordinates for m corners, or a clone."""
    if transformer == "isomap":
        return Isomap(n_neighbors=min(5, n - 1), n_components=max(1, m - 1))
    return clone(transformer)


def coordinates(transformer: BaseEstimator, X: Matrix, weights: Floats) -> Matrix:
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
