"""Quality times diversity: good items are longer, different items point elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from zonodpp._types import Floats
from zonodpp.arguments import as_matrix, check_finite
from zonodpp.features.similarity import unit_rows


def quality_diversity(quality: ArrayLike, features: Any, *, strength: float = 1.0) -> Any:
    """Scale unit rows of features by the quality of their items.

    The kernel is then ``L_ij = q_i cos(i, j) q_j`` (Kulesza and Taskar, 2012, section 3.1): a
    subset is likely when its items are good and its directions differ. Rows are brought to
    length one first, so that quality alone decides how long they are.

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
    (n, m) array, or scipy.sparse array if the features are

    Examples
    --------
    >>> from zonodpp.features import quality_diversity
    >>> quality_diversity([2.0, 0.5], [[3, 4], [0, 1]])
    array([[1.2, 1.6],
           [0. , 0.5]])
    """
    rows = as_matrix(features, "features")
    check_finite(rows, "features")
    q = as_quality(quality, rows.shape[0])
    strength = float(strength)
    if not (np.isfinite(strength) and strength >= 0):
        raise ValueError(f"strength must be a finite number, zero or more, got {strength:g}")
    with np.errstate(over="ignore"):
        lengths = np.where(q > 0, q**strength, 0.0)
    if not np.isfinite(lengths).all():
        raise ValueError(
            f"quality ** {strength:g} overflows for the quality {q.max():g}; divide quality by its "
            "largest value first"
        )
    unit = unit_rows(rows)
    return sp.diags_array(lengths) @ unit if sp.issparse(unit) else unit * lengths[:, None]


def as_quality(quality: Any, n: int, name: str = "quality") -> Floats:
    """Check numbers that say how good each of n items is; ``name`` is what errors call them."""
    q = np.asarray(quality, dtype=np.float64)
    if q.shape != (n,):
        raise ValueError(
            f"{name} must have one entry for each of the {n} items, got shape {q.shape}"
        )
    check_finite(q, name)
    if (q < 0).any():
        first = int(np.argmax(q < 0))
        raise ValueError(
            f"{name} must not be negative; {name}[{first}] = {q[first]:g}. Scores that can be "
            f"negative become {name} by numpy.exp"
        )
    return q
