"""Random projections of many features to few, by scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from zonodpp.features.learn import random_state, sklearn
from zonodpp.inputs import as_count, as_matrix, check_finite, one_of
from zonodpp.matrices.columns import Floats


def random_projection(X: Any, m: int, *, kind: str = "gaussian", rng: Any = None) -> Floats:
    """Project rows of features to m dimensions, with inner products kept on average.

    Determinants of small sets are kept too (Kulesza and Taskar, 2012, on DPPs with very many
    features).

    Parameters
    ----------
    X : (n, d) array_like, DataFrame or scipy.sparse matrix
        Items as rows.
    m : int
        The number of features to have, at most d.
    kind : {"gaussian", "sparse"}
        Entries of the projection: normal, or mostly zero (faster for large d).
    rng : seed or Generator, optional
        For the projection.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.features import random_projection
    >>> X = np.random.default_rng(0).normal(size=(100, 500))
    >>> random_projection(X, 20, rng=0).shape
    (100, 20)
    """
    rows = as_matrix(X, "X")
    check_finite(rows, "X")
    m, d = as_count(m, "m", 1), rows.shape[1]
    if m > d:
        raise ValueError(f"X has {d} features; a projection to m = {m} would not make them fewer")
    one_of(kind, "kind", ("gaussian", "sparse"))
    module, seed = sklearn("random_projection"), random_state(rng)
    if kind == "gaussian":
        projection = module.GaussianRandomProjection(m, random_state=seed)
    else:
        projection = module.SparseRandomProjection(m, random_state=seed, dense_output=True)
    return np.asarray(projection.fit_transform(rows))
