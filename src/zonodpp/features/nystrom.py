"""The Nystrom approximation: a kernel seen from a few items drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from zonodpp.features.cholesky import factorise, read_kernel
from zonodpp.features.learn import random_state, sklearn
from zonodpp.features.similarity import KernelLike, bandwidth
from zonodpp.inputs import as_count, as_matrix, check_finite, spawn
from zonodpp.matrices.columns import Floats


def nystrom(
    X: Any, m: int, *, kernel: KernelLike = "rbf", gamma: float | None = None, rng: Any = None
) -> Floats:
    """Approximate a kernel through m items drawn uniformly (Williams and Seeger, 2001).

    Named kernels go to `sklearn.kernel_approximation.Nystroem`. For a function or a kernel matrix
    the same approximation is a Cholesky factor with uniform pivots. `rp_cholesky` draws its items
    better, at the same cost.

    Parameters
    ----------
    X : (n, d) array_like, DataFrame or scipy.sparse matrix
        Items as rows; or the kernel matrix itself, with ``kernel="precomputed"``.
    m : int
        The number of items to look from: the number of features, at most n.
    kernel : str or callable, default "rbf"
        As in `similarity`, or ``"precomputed"``.
    gamma : float, optional
        Inverse bandwidth, by default that of `median_gamma`.
    rng : seed or Generator, optional
        For the items.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.features import nystrom, similarity
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> Phi = nystrom(X, 60, rng=0)
    >>> bool(np.abs(Phi @ Phi.T - similarity(X)).max() < 0.1)
    True
    """
    rows = as_matrix(X, "X")
    n, m = rows.shape[0], as_count(m, "m", 1)
    if m > n:
        raise ValueError(f"m = {m} items to look from asked for, but there are {n}")
    if callable(kernel) or kernel == "precomputed":
        [generator] = spawn(rng, purpose="features")
        found = read_kernel(X, kernel, gamma)
        return factorise(found, m, 0.0, lambda left: int(generator.choice(np.flatnonzero(left))))
    check_finite(rows, "X")
    transformer = sklearn("kernel_approximation").Nystroem(
        kernel, gamma=bandwidth(rows, kernel, gamma), n_components=m, random_state=random_state(rng)
    )
    return np.asarray(transformer.fit_transform(rows.tocsr() if sp.issparse(rows) else rows))
