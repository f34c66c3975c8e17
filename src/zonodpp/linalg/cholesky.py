"""Pivoted Cholesky factors: of a kernel matrix, or of a kernel whose columns are made on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, SupportsIndex

import numpy as np
from scipy.linalg import lapack

from zonodpp._types import Floats
from zonodpp.arguments import as_count
from zonodpp.linalg.kernel import NotPositiveError

_EXPLAIN = 3000  # items up to which a wrong kernel's smallest eigenvalue is computed


def pivoted_factor(L: Floats, eps: float) -> Floats:
    """Return G with L = G G' to relative precision ``eps``, with as few columns as that takes."""
    tolerance = len(L) * eps * float(np.diagonal(L).max())
    lower, pivots, rank, _ = lapack.dpstrf(L.T, tol=tolerance, lower=1)  # L = L' is not copied
    G = np.empty((len(L), rank))
    G[pivots - 1] = np.tril(lower[:, :rank])
    return G


class KernelColumns(NamedTuple):
    """A kernel as a factorisation reads it: its diagonal, and one column at a time."""

    diagonal: Floats
    column: Callable[[int], Floats]
    precision: float  # of its entries


def partial_factor(
    kernel: KernelColumns, rank: int | None, tol: float, choose: Callable[[Floats], SupportsIndex]
) -> Floats:
    """Return G of at most ``rank`` columns with G G' close to the kernel.

    ``choose`` picks each pivot from what the columns so far leave of the diagonal: its largest
    entry is the greedy rule, a draw in proportion to it gives randomly pivoted Cholesky. It stops
    when the trace of what is left is ``tol`` times the trace of the kernel. It computes with the
    kernel that has ones on the diagonal, so that entries from 1e-300 to 1e300 and items of very
    different size do no harm.
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
        j = int(choose(left))
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
    if n > _EXPLAIN:
        return ValueError(
            "the kernel is not positive semidefinite: an entry is larger than the diagonal allows; "
            "zonodpp.features.check_psd(K) tells its smallest eigenvalue, nearest_psd(K) repairs it"
        )
    K = np.column_stack([kernel.column(j) for j in range(n)])
    return NotPositiveError("K", float(np.linalg.eigvalsh(K / 2 + K.T / 2)[0]))
