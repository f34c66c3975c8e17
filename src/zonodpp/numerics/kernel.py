"""Symmetric kernels: checks, which eigenvalues are rounding errors, pivoted Cholesky factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from zonodpp._arguments import as_count, as_matrix, check_finite, is_dataframe, table_labels
from zonodpp._types import Floats, Integers, Labels, MatrixLike, Rng
from zonodpp.numerics.arrays import EPS, largest_entries, to_dense

_ASYMMETRY = 1e-6  # relative to the largest entry: what a kernel kept as float32 may show
# Error of `scipy.linalg.eigh`, relative to the largest eigenvalue: at most 24 units of rounding in
# 20,000 random kernels of rank below n, with n from 2 to 128; it does not grow with n.
_EIGH = 64 * EPS
_EXPLAIN = 3000  # items up to which an error tells the smallest eigenvalue: seconds at most
_ITEMS = 2**13  # of a block of columns: temporary arrays stay in cache
_AT_ONCE = 2**27  # entries of a factor that are allocated at once (1 GiB): a larger one grows
_PROPOSALS = 32  # pivots proposed at a time: kernel columns by matrix products, few rejections


def read_kernel(
    kernel: MatrixLike, name: str, otherwise: str
) -> tuple[Floats, float, Labels | None]:
    """Check that a kernel is a symmetric n x n matrix of finite numbers.

    Returns it with the relative precision that it was given to, and the labels of its items.
    ``otherwise`` says what to do with a matrix that is not square. A small asymmetry is taken for
    rounding errors: it is averaged out, and the precision is as low as the asymmetry shows.
    """
    eps = precision(kernel)
    matrix = to_dense(as_matrix(kernel, name))
    n, columns = matrix.shape
    if n != columns:
        raise ValueError(f"{name} is a kernel, n x n, got {n} x {columns}; {otherwise}")
    check_finite(matrix, name)
    size = float(largest_entries(matrix, axis=1).max())
    asymmetry = float(largest_entries(matrix - matrix.T, axis=1).max())
    if asymmetry > _ASYMMETRY * size:
        raise ValueError(
            f"{name} is not symmetric: entries [i, j] and [j, i] differ by up to {asymmetry:.3g}; "
            f"pass ({name} + {name}.T) / 2 if that is only noise"
        )
    if asymmetry:
        matrix = matrix / 2 + matrix.T / 2
        eps = max(eps, asymmetry / size)
    return matrix, eps, table_labels(kernel, "columns")


def precision(given: MatrixLike) -> float:
    """Return the relative precision of the numbers given, by their type.

    Half precision counts as single precision: n times its own precision, which is how errors of
    eigenvalues are bounded, is about one for n = 1000, and no eigenvalue would be more than that.
    """
    kinds = given.dtypes.to_numpy() if is_dataframe(given) else [getattr(given, "dtype", float)]
    single = any(kind in (np.float32, np.float16) for kind in kinds)
    return float(np.finfo(np.float32 if single else np.float64).eps)


class NotPositiveError(ValueError):
    """A kernel has negative eigenvalues; ``smallest`` is the smallest one."""

    def __init__(self, name: str, smallest: float) -> None:
        self.smallest = smallest
        super().__init__(
            f"{name} is not positive semidefinite: its smallest eigenvalue is {smallest:.6g}. "
            f"zonodpp.features.nearest_psd({name}) takes the negative ones away; "
            f"nearest_psd({name}, how='shift') adds {-smallest:.3g} to the diagonal"
        )


def rounding_share(n: int, eps: float = EPS) -> float:
    """Return the size, relative to the largest, of eigenvalues that may be rounding errors.

    Both the errors of n x n entries, given to relative precision ``eps``, and those of the
    computation count.
    """
    return max(n * eps, _EIGH)


def rounding_of_eigenvalues(values: Floats, name: str, tol: float) -> float:
    """Return the size of eigenvalues that may be rounding errors, ``tol`` times the largest.

    Raises
    ------
    NotPositiveError
        When the smallest eigenvalue is below minus this size. ``values`` are ascending.
    """
    rounding = tol * float(max(-values[0], values[-1]))
    if values[0] < -rounding:
        raise NotPositiveError(name, float(values[0]))
    return rounding


def pivoted_factor(L: Floats, eps: float) -> Floats:
    """Return G with L = G G' to relative precision ``eps``, with as few columns as that takes."""
    tolerance = rounding_share(len(L), eps) * float(np.diagonal(L).max())
    lower, pivots, rank, _ = lapack.dpstrf(L.T, tol=tolerance, lower=1)  # L = L' is not copied
    G = np.empty((len(L), rank))
    G[pivots - 1] = np.tril(lower[:, :rank])
    return G


class KernelColumns(NamedTuple):
    """A kernel as a factorisation reads it: its diagonal, and some columns at a time."""

    diagonal: Floats
    columns: Callable[[slice, Integers], Floats]  # some rows of the columns of items
    precision: float  # of its entries


def partial_factor(
    kernel: KernelColumns, rank: int | None, tol: float, rng: Rng | None = None
) -> tuple[Floats, Integers]:
    """Return G of at most ``rank`` columns with G G' close to the kernel, and its pivots.

    G is stored by columns: for many items a copy by rows takes much memory.

    Each pivot is the largest entry of what the columns so far leave of the diagonal or, with
    ``rng``, a draw in proportion to it. Draws are made by accelerated randomly pivoted Cholesky
    (Epperly, Tropp and Webber, 2024): many pivots are proposed at a time, and the probability to
    accept one is the share of its diagonal entry that the pivots accepted before it leave, so that
    the law is that of one draw after the other. The factorisation stops when the trace of what is
    left is at most ``tol`` times the trace of the kernel. The kernel is scaled to a diagonal of
    ones, so that entries from 1e-300 to 1e300 and items of very different size do no harm.
    """
    n = kernel.diagonal.size
    rank = n if rank is None else min(as_count(rank, "rank", 1), n)
    if kernel.diagonal.min() < -rounding_share(n, kernel.precision) * kernel.diagonal.max():
        raise _not_positive(kernel)
    root = np.sqrt(np.maximum(kernel.diagonal, 0.0))
    if not root.any():
        raise ValueError("the kernel is zero: there is nothing to build features from")
    largest = root.max()
    safe = np.where(root > 0, root, largest)
    trace = ((root / largest) ** 2).sum()
    share = (root > 0).astype(float)  # of each item, what the columns so far do not explain
    noise = np.full(n, 16 * kernel.precision * np.sqrt(n))  # errors that the shares may have
    # The factor, a row for each pivot, and below these the columns of the pivots that are proposed.
    F = np.empty((min(rank, max(64, _AT_ONCE // n)) + _PROPOSALS, n))
    pivots = np.empty(rank, dtype=np.int64)
    spans = [slice(start, start + _ITEMS) for start in range(0, n, _ITEMS)]
    t = 0
    while t < rank and share.any():
        top = root[share > 0].max()
        left = share * (np.minimum(root, top) / top) ** 2
        if tol > 0 and left.sum() * (top / largest) ** 2 <= tol * trace:
            break
        proposed = np.array([np.argmax(left)])
        if rng is not None:
            proposed = rng.choice(n, min(_PROPOSALS, rank - t), p=left / left.sum())
        if t + len(proposed) > len(F):
            F = np.vstack([F[:t], np.empty((min(t, rank - t) + _PROPOSALS, n))])
        for span in spans:
            entries = kernel.columns(span, proposed) / safe[span, None] / safe[proposed]
            F[t : t + len(proposed), span] = entries.T
        known = F[:t, proposed].T
        block = F[t : t + len(proposed), proposed] - known @ known.T
        chosen, lower = _accept(block, share[proposed], rank - t, noise[proposed], rng)
        pivots[t : t + len(chosen)] = proposed[chosen]
        # A pivot of small share magnifies the errors of all entries that are computed from it.
        growth = noise[proposed[chosen]] / np.diagonal(lower) ** 2
        for span in spans:
            rows = F[t : t + len(proposed), span][chosen]
            rows -= known[chosen] @ F[:t, span]
            rows = scipy.linalg.solve_triangular(lower, rows, lower=True)
            # Items that are explained. Those with a diagonal entry of zero stay: the check below is
            # for them as well.
            rows[:, (share[span] == 0) & (root[span] > 0)] = 0.0
            F[t : t + len(chosen), span] = rows
            share[span] -= np.einsum("ij,ij->j", rows, rows)
            error = (rows**2 * growth[:, None]).max(axis=0)
            noise[span] = np.maximum(noise[span], error)
        # An entry is larger than the diagonal allows, by far more than rounding explains.
        if (share < -np.maximum(1e-8, 100 * noise)).any():
            raise _not_positive(kernel)
        share[proposed[chosen]] = 0.0
        share[share <= noise] = 0.0
        t += len(chosen)
    F[:t] *= root  # in place: for many items a factor takes much memory
    return F[:t].T, pivots[:t]


def _accept(
    block: Floats, before: Floats, most: int, noise: Floats, rng: Rng | None
) -> tuple[list[int], Floats]:
    """Accept proposed pivots by what is left of their entries; return the Cholesky factor too.

    ``block`` is what is left of the kernel between the proposals, ``before`` its diagonal as it
    was when they were drawn. The first proposal is always accepted.
    """
    left, columns = before.copy(), np.zeros((len(before), min(len(before), most)))
    chosen: list[int] = []
    bars = before * (0.0 if rng is None else rng.uniform(size=len(before)))
    for i in range(len(before)):
        if len(chosen) == most:
            break
        if left[i] > max(bars[i], noise[i] if chosen else 0.0):
            t = len(chosen)
            columns[:, t] = (block[:, i] - columns[:, :t] @ columns[i, :t]) / np.sqrt(left[i])
            columns[i, t] = np.sqrt(left[i])
            left -= columns[:, t] ** 2
            chosen.append(i)
    return chosen, columns[chosen, : len(chosen)]


def _not_positive(kernel: KernelColumns) -> ValueError:
    n = kernel.diagonal.size
    if n > _EXPLAIN:
        return ValueError(
            "the kernel is not positive semidefinite: an entry is larger than the diagonal allows; "
            "zonodpp.features.check_psd(K) tells its smallest eigenvalue, nearest_psd(K) repairs it"
        )
    K = kernel.columns(slice(n), np.arange(n))
    return NotPositiveError("K", float(np.linalg.eigvalsh(K / 2 + K.T / 2)[0]))
