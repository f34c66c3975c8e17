"""What estimators in the manner of scikit-learn are given: checked as everywhere in this package.

Messages keep the words that scikit-learn's own checks of estimators look for.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from zonodpp._arguments import as_matrix, as_reals, as_scores, check_finite
from zonodpp._types import Floats, Matrix, MatrixLike


def rows_for(estimator: BaseEstimator, X: MatrixLike, **checks: object) -> Matrix:
    """Return finite rows as float64; scikit-learn notes or compares the names of columns."""
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError("Complex data not supported: X must hold real numbers")
    shape = as_matrix(X, "X").shape if sp.issparse(X) else as_reals(X, "X", dtype=None).shape
    if len(shape) != 2:
        raise ValueError(
            f"X must have rows and columns, got shape {shape}. Reshape your data: a single column "
            "is values[:, None], a single row [values]"
        )
    for count, what in zip(shape[::-1], ("feature", "sample"), strict=True):
        if not count:
            found = f"0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            raise ValueError(f"X has {found}")
    rows: Matrix = validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False, **checks)
    check_finite(rows, "X")
    return rows


def weights_for(weights: ArrayLike | None, n: int) -> Floats:
    """Return one weight for each of n rows, not all zero; without weights, each row weighs one."""
    if weights is None:
        return np.ones(n)
    found = as_scores(weights, n, "sample_weight")
    if not found.any():
        raise ValueError("the weights of all rows are zero: none could ever be picked")
    return found
