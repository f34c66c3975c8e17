"""Quality times diversity: good items are longer, different items point elsewhere."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from zonodpp._types import Matrix, MatrixLike
from zonodpp.arguments import as_matrix, as_positive, as_scores, check_finite
from zonodpp.linalg.dense import unit_rows


def quality_diversity(quality: ArrayLike, features: MatrixLike, *, strength: float = 1.0) -> Matrix:
    """Scale unit rows of features by the quality of their items.

    The kernel is then ``L_ij = q_i cos(i, j) q_j``: a subset is likely when its items are good and
    its directions differ. Rows are brought to length one first, so that quality alone decides how
    long they are.

    Parameters
    ----------
    quality : (n,) array_like
        Non-negative, for instance relevance. An item of quality zero is never drawn.
    features : (n, m) array_like, DataFrame or scipy.sparse matrix
        What makes items alike, one row for each.
    strength : float, default 1
        The power of the quality that is used: 0 ignores it, large values all but ignore diversity.

    Returns
    -------
    (n, m) array or scipy.sparse array
        The scaled rows; sparse if the features are.

    Raises
    ------
    ValueError
        When a quality is negative, or its power overflows.

    See Also
    --------
    zonodpp.DPP.from_features : The DPP of such rows.
    zonodpp.apps.shortlist : A list of relevant items that differ.

    References
    ----------
    A. Kulesza, B. Taskar, "Determinantal point processes for machine learning", Foundations and
    Trends in Machine Learning 5 (2012), section 3.1.

    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, equation 5.

    Examples
    --------
    >>> from zonodpp.features import quality_diversity
    >>> quality_diversity([2.0, 0.5], [[3, 4], [0, 1]])
    array([[1.2, 1.6],
           [0. , 0.5]])
    """
    rows = as_matrix(features, "features")
    check_finite(rows, "features")
    hint = ". Scores that can be negative become quality by numpy.exp"
    q = as_scores(quality, rows.shape[0], "quality", hint)
    strength = as_positive(strength, "strength", or_zero=True)
    with np.errstate(over="ignore"):
        lengths = np.where(q > 0, q**strength, 0.0)
    if lengths.max() == np.inf:
        raise ValueError(
            f"quality ** {strength:g} overflows for the quality {q.max():g}; divide quality by its "
            "largest value first"
        )
    return sp.diags_array(lengths) @ unit_rows(rows)
