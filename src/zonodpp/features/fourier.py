"""Random Fourier features of the Gaussian kernel, by scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from zonodpp.features.learn import random_state, sklearn
from zonodpp.features.similarity import bandwidth
from zonodpp.inputs import as_count, as_matrix, check_finite
from zonodpp.matrices.columns import Floats


def random_fourier(X: Any, m: int, *, gamma: float | None = None, rng: Any = None) -> Floats:
    """Approximate the rbf kernel by m random cosines (Rahimi and Recht, 2007).

    They cost O(n d m), see nothing of the data but its bandwidth, and their error falls like
    ``1 / sqrt(m)``. `rp_cholesky` needs far fewer columns; this is for n in the millions.

    Parameters
    ----------
    X : (n, d) array_like, DataFrame or scipy.sparse matrix
        Items as rows.
    m : int
        The number of features.
    gamma : float, optional
        Inverse bandwidth, by default that of `median_gamma`.
    rng : seed or Generator, optional
        For the frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.features import random_fourier
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> random_fourier(X, 20, rng=0).shape
    (100, 20)
    """
    rows = as_matrix(X, "X")
    check_finite(rows, "X")
    sampler = sklearn("kernel_approximation").RBFSampler(
        gamma=bandwidth(rows, "rbf", gamma),
        n_components=as_count(m, "m", 1),
        random_state=random_state(rng),
    )
    return np.asarray(sampler.fit_transform(rows))
