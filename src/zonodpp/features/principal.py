"""Principal directions of data, or of a kernel: the best approximation of a given rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import eigsh

from zonodpp.features.repair import as_kernel
from zonodpp.features.similarity import KernelLike, similarity
from zonodpp.inputs import as_count, as_matrix
from zonodpp.matrices.columns import Floats
from zonodpp.matrices.reduction import principal_scores
from zonodpp.matrices.spectrum import NotPositiveError

DENSE = 1000  # items up to which all eigenvalues of a kernel are computed


def principal_components(
    X: Any, m: int, *, kernel: KernelLike | None = None, gamma: float | None = None
) -> Floats:
    """Return coordinates along the m leading principal directions.

    Without a kernel this is PCA of the centred rows, as in
    ``ProjectionDPP.from_features(X, rank=m)``. With one, ``Phi Phi'`` is the best approximation of
    the n x n kernel matrix (not centred) by one of rank m. That matrix is formed: for n beyond
    some ten thousand use `rp_cholesky`.

    Parameters
    ----------
    X : (n, d) array_like, DataFrame or scipy.sparse matrix
        Items as rows; or the kernel matrix itself, with ``kernel="precomputed"``.
    m : int
        The number of features to have.
    kernel : str or callable, optional
        As in `similarity`, or ``"precomputed"``.
    gamma : float, optional
        Inverse bandwidth, by default that of `median_gamma`.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.features import principal_components
    >>> X = np.random.default_rng(0).normal(size=(100, 20))
    >>> principal_components(X, 5).shape
    (100, 5)
    >>> principal_components(X, 30, kernel="rbf").shape
    (100, 30)
    """
    m = as_count(m, "m", 1)
    if kernel is None:
        return principal_scores(as_matrix(X, "X"), m)
    if isinstance(kernel, str) and kernel == "precomputed":
        K, precision = as_kernel(X, "K")
    else:
        K, precision = as_kernel(similarity(X, kernel=kernel, gamma=gamma), "K")
    n = len(K)
    if m > n:
        raise ValueError(f"m = {m} directions asked for, but there are {n} items")
    size = float(np.abs(K).max()) or 1.0
    if n <= DENSE or m > n // 4:
        values, vectors = scipy.linalg.eigh(K / size)
        if values[0] < -n * precision * np.abs(values).max():
            raise NotPositiveError("K", size * float(values[0]))
    else:
        start = np.random.default_rng(0).standard_normal(n)  # the same directions every time
        values, vectors = eigsh(K / size, k=m, which="LA", v0=start)
    order = np.argsort(-values)[:m]
    values, vectors = values[order], vectors[:, order]
    found = int(np.sum(values > n * precision * max(values[0], 0.0)))
    if found < m:
        raise ValueError(
            f"m = {m} directions asked for, but the kernel has numerical rank {found}; pass "
            f"m={found} or less"
        )
    return np.asarray(vectors * np.sqrt(values) * np.sqrt(size))
