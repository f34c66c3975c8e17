"""Partial Cholesky factors of a kernel that is never formed: greedy, random or uniform pivots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from zonodpp._types import Floats
from zonodpp.arguments import as_count, as_matrix, check_finite, spawn
from zonodpp.features.repair import as_kernel
from zonodpp.features.similarity import KernelLike, bandwidth, block_function
from zonodpp.linalg.spectrum import NotPositiveError

DIAGONAL_BLOCK = 64  # the diagonal of a function is read off blocks of this size
EXPLAIN = 3000  # items up to which a wrong kernel's smallest eigenvalue is computed


class KernelColumns(NamedTuple):
    """A kernel as a factorisation reads it: its diagonal, and one column at a time."""

    diagonal: Floats
    column: Callable[[int], Floats]
    precision: float  # of its entries


def pivoted_cholesky(
    X: Any,
    rank: int | None = None,
    *,
    kernel: KernelLike = "rbf",
    gamma: float | None = None,
    tol: float = 1e-10,
) -> Floats:
    """Approximate a kernel by ``Phi Phi'``, column by column, always where it is worst.

    Needs the kernel's diagonal and ``rank`` of its columns, O(n rank) memory and O(n rank^2) time.
    At full rank the result is exact.

    Parameters
    ----------
    X : (n, d) array_like, DataFrame or scipy.sparse matrix
        Items as rows; or the kernel matrix itself, with ``kernel="precomputed"``.
    rank : int, optional
        The largest number of columns. None: as many as ``tol`` needs.
    kernel : str or callable, default "rbf"
        As in `similarity`, or ``"precomputed"``.
    gamma : float, optional
        Inverse bandwidth, by default that of `median_gamma`.
    tol : float, default 1e-10
        Stop when the trace of what is left is this share of the kernel's trace.

    Returns
    -------
    (n, m) array
        With m at most ``rank``, less if the kernel is used up before.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.features import pivoted_cholesky
    >>> K = np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 9.0]])
    >>> Phi = pivoted_cholesky(K, kernel="precomputed")
    >>> Phi.shape  # K has rank two
    (3, 2)
    >>> bool(np.allclose(Phi @ Phi.T, K))
    True
    """
    found = kernel_columns(X, kernel, gamma)
    return partial_factor(found, rank, tol, lambda left: int(np.argmax(left)))


def rp_cholesky(
    X: Any,
    rank: int,
    *,
    kernel: KernelLike = "rbf",
    gamma: float | None = None,
    tol: float = 1e-10,
    rng: Any = None,
) -> Floats:
    """Approximate a kernel by ``Phi Phi'`` with pivots drawn in proportion to what is left.

    Randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber, 2023): as cheap as
    `pivoted_cholesky`, close to the best approximation of that rank on average, and not led
    astray by outliers.

    Parameters
    ----------
    X, rank, kernel, gamma, tol
        As in `pivoted_cholesky`.
    rng : seed or Generator, optional
        For the pivots.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.features import rp_cholesky, similarity
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> Phi = rp_cholesky(X, 40, rng=0)
    >>> bool(np.abs(Phi @ Phi.T - similarity(X)).max() < 0.05)
    True
    """
    [generator] = spawn(rng, purpose="features")

    def draw(left: Floats) -> int:
        return int(generator.choice(left.size, p=left / left.sum()))

    return partial_factor(kernel_columns(X, kernel, gamma), rank, tol, draw)


def kernel_columns(X: Any, kernel: KernelLike, gamma: float | None) -> KernelColumns:
    """Return the kernel of the rows of X, or X itself if it is the kernel matrix."""
    if isinstance(kernel, str) and kernel == "precomputed":
        K, precision = as_kernel(X, "K")
        return KernelColumns(np.diagonal(K), lambda j: K[:, j], precision)
    rows = as_matrix(X, "X")
    check_finite(rows, "X")
    rows = rows.tocsr() if sp.issparse(rows) else rows
    block = block_function(kernel, bandwidth(rows, kernel, gamma))
    n = rows.shape[0]
    diagonal, precision = np.empty(n), float(np.finfo(float).eps)
    for start in range(0, n, DIAGONAL_BLOCK):
        part = rows[start : start + DIAGONAL_BLOCK]
        values = block(part, part)
        if values.dtype == np.float32:
            precision = float(np.finfo(np.float32).eps)
        diagonal[start : start + DIAGONAL_BLOCK] = np.diagonal(values)
    return KernelColumns(diagonal, lambda j: block(rows, rows[j : j + 1])[:, 0], precision)


def partial_factor(
    kernel: KernelColumns, rank: int | None, tol: float, choose: Callable[[Floats], int]
) -> Floats:
    """Factorise with the pivots that ``choose`` picks from what is left of the diagonal.

    Computed for the kernel with a diagonal of ones, so that entries from 1e-300 to 1e300 and items
    of very different size do no harm.
    """
    n = kernel.diagonal.size
    rank = n if rank is None else min(as_count(rank, "rank", 1), n)
    if (kernel.diagonal < 0).any():
        raise _not_positive(kernel)
    root = np.sqrt(kernel.diagonal)
    if not root.any():
        raise ValueError("the kernel is zero: there is nothing to build features from")
    safe = np.where(root > 0, root, 1.0)
    largest = root.max()
    trace = ((root / largest) ** 2).sum()
    share = (root > 0).astype(float)  # of each item, what the columns so far do not explain
    noise = 16 * kernel.precision * np.sqrt(n)
    F = np.empty((min(rank, 64), n))
    t = 0
    while t < rank and share.any():
        top = root[share > 0].max()
        left = share * (np.minimum(root, top) / top) ** 2
        if tol > 0 and left.sum() * (top / largest) ** 2 <= tol * trace:
            break
        j = choose(left)
        if t == len(F):
            F = np.vstack([F, np.empty((min(t, rank - t), n))])
        F[t] = kernel.column(j) / safe / safe[j] - F[:t, j] @ F[:t]
        F[t] /= np.sqrt(share[j])
        F[t, share == 0] = 0.0
        share -= F[t] ** 2
        if share.min() < -max(1e-8, 100 * noise):
            raise _not_positive(kernel)
        share[j] = 0.0
        share[share <= noise] = 0.0
        t += 1
    return np.ascontiguousarray((F[:t] * root).T)


def _not_positive(kernel: KernelColumns) -> ValueError:
    n = kernel.diagonal.size
    if n > EXPLAIN:
        return ValueError(
            "the kernel is not positive semidefinite: an entry is larger than the diagonal allows; "
            "zonodpp.features.check_psd(K) tells its smallest eigenvalue, nearest_psd(K) repairs it"
        )
    K = np.column_stack([kernel.column(j) for j in range(n)])
    size = float(np.abs(K).max())
    values = np.linalg.eigvalsh(K / size / 2 + K.T / size / 2) * size
    return NotPositiveError("K", float(values[0]))
