"""Matrices as columns are picked from them: few rows with the same columns, and few coordinates.

What columns explain depends on the matrix through A'A alone. So a tall matrix, or a stream of rows,
is replaced by R of A = QR, in one pass over its rows and with all digits. Columns of a matrix that
stays large are given by coordinates along its leading left singular directions, which random
products find (Halko, Martinsson, Tropp 2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from zonodpp._arguments import as_matrix, check_finite
from zonodpp._types import Floats, Integers, Matrix, Rng
from zonodpp.apps.columns.search import ColumnCoordinates
from zonodpp.numerics.arrays import EPS, largest_entries, row_chunks, to_dense
from zonodpp.numerics.gram import numerical_rank, triangle
from zonodpp.numerics.threads import one_thread
from zonodpp.targets.batches import source_of
from zonodpp.targets.passes import View, merge_triangles, triangle_of

_NARROW = 2000  # columns up to which a tall matrix is replaced by R of its QR factorisation
_SMALL = 1.5e9  # operations, below a second, up to which a matrix is decomposed as a whole
_ITERATIONS = 2  # of subspaces, which bring the coordinates near the leading directions
_PROBES = 30  # random products that estimate the errors of a LinearOperator
_LOST = 1e-6  # share of a squared length below which differences have lost too many digits
_LARGEST = 1e60  # entry; the search computes fourth powers of lengths
_MORE, _EACH = 50, 1  # coordinates of a large matrix: a constant, and more for each column
_AT_ONCE = 2**24  # entries of a block of rows (128 MiB)


@dataclass(frozen=True)
class Operand:
    """A matrix and what is done with it: products, columns, squared lengths.

    ``mean`` is subtracted from each row; sparse matrices stay sparse. A LinearOperator has products
    alone: its squared lengths are estimated by random products.
    """

    A: Any  # Matrix or LinearOperator
    mean: Floats | None
    targets: Floats  # (m, q): what columns should explain besides

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        m, n = self.A.shape
        return m, n

    @property
    def implicit(self) -> bool:
        """Whether there are products, and no entries."""
        return not hasattr(self.A, "__getitem__")

    def times(self, X: Floats) -> Floats:
        """Return A X."""
        product = self.A.matmat(X) if self.implicit else self.A @ X
        return np.asarray(product if self.mean is None else product - self.mean @ X)

    def transposed_times(self, Y: Floats) -> Floats:
        """Return A'Y."""
        product = self.A.rmatmat(Y) if self.implicit else self.A.T @ Y
        return np.asarray(product if self.mean is None else product - np.outer(self.mean, Y.sum(0)))

    def take(self, columns: Integers) -> Floats:
        """Return some columns."""
        if self.implicit:
            unit = np.zeros((self.shape[1], len(columns)))
            unit[columns, np.arange(len(columns))] = 1.0
            return self.times(unit)
        found = to_dense(self.A[:, columns])
        return found if self.mean is None else found - self.mean[columns]

    def left_by(self, Q: Floats, P: Floats, rng: Rng, M: Floats | None = None) -> Floats:
        """Return the squared lengths of the columns of A - Q M', given P = A'Q; M is P if None."""
        M = P if M is None else M
        if self.implicit:
            probes = rng.standard_normal((self.shape[0], _PROBES))
            rest = self.transposed_times(probes) - M @ (Q.T @ probes)
            return np.asarray(np.einsum("ij,ij->i", rest, rest) / _PROBES)
        whole = self._squared_lengths()
        left = whole - np.einsum("ij,ij->i", 2 * P - M, M)
        if left.sum() > _LOST * whole.sum():
            return np.asarray(np.where(left > 64 * EPS * whole, left, 0.0))
        left = np.zeros(len(whole))
        for span, rows in self._rows():
            rows = rows - Q[span] @ M.T
            left += np.einsum("ij,ij->j", rows, rows)
        return np.where(left > (64 * EPS) ** 2 * whole, left, 0.0)

    def _squared_lengths(self) -> Floats:
        squares = np.zeros(self.shape[1])
        for _, rows in self._rows():
            squares += np.einsum("ij,ij->j", rows, rows)
        return squares

    def _rows(self) -> Any:
        for span, rows in row_chunks(self.A, max(1, _AT_ONCE // self.shape[1])):
            yield span, rows if self.mean is None else rows - self.mean


def as_operand(
    A: Any, targets: Floats | None = None, *, centred: bool = False, whole: bool = False
) -> Operand:
    """Check a matrix of any kind; unless ``whole``, R of its QR takes the place of a tall one."""
    if hasattr(A, "matmat") and hasattr(A, "rmatmat"):
        return Operand(A, None, np.zeros((A.shape[0], 0)))
    is_wide = isinstance(A, np.memmap) and A.ndim == 2 and A.shape[0] < A.shape[1]
    found = None if is_wide else source_of(A, None, None, None)
    if found is not None and whole:
        raise ValueError(
            "rows are picked from a matrix in memory, and A is read in passes; load it, as in "
            "cur(np.asarray(A), k), or pick columns alone by interpolative(A, k)"
        )
    if found is not None:
        source, _ = found
        R = source.fold(partial(triangle_of, View()), merge_triangles, "reading rows")
        if R is None or not R.size:
            raise ValueError("the source has no rows")
        check_finite(R, "A")  # entries are finite, but their squares may not be
        need_ordinary_size(R)
        return Operand(R, None, np.zeros((len(R), 0)))
    X = as_matrix(A, "A")
    check_finite(X, "A")
    need_ordinary_size(X)
    m, n = X.shape
    mean = np.asarray(X.mean(axis=0)).ravel() if centred else None
    targets = np.zeros((m, 0)) if targets is None else targets
    if (
        not whole
        and m > n
        and n <= _NARROW
        and (isinstance(X, np.ndarray) or float(m) * n * n <= _SMALL)
    ):
        shift = 0.0 if mean is None else mean
        blocks = (np.hstack([rows - shift, targets[span]]) for span, rows in row_chunks(X))
        R = triangle(blocks)
        return Operand(np.ascontiguousarray(R[:, :n]), None, R[:, n:])
    return Operand(X, mean, targets)


def need_ordinary_size(A: Matrix) -> None:
    """Raise if fourth powers of the entries are beyond what floating-point numbers hold."""
    largest = float(largest_entries(A, axis=0).max())
    if largest and not 1 / _LARGEST <= largest <= _LARGEST:
        raise ValueError(
            f"the largest entry of A must be from {1 / _LARGEST:g} to {_LARGEST:g} in size, got "
            f"{largest:.3g}; scale A first"
        )


def coordinates(operand: Operand, width: int, rng: Rng) -> ColumnCoordinates:
    """Return coordinates of all columns: about ``width`` of a large matrix, all of another one."""
    (m, n), Y = operand.shape, operand.targets
    is_small = not operand.implicit and float(m) * n * min(m, n) <= _SMALL
    if is_small or width >= min(m, n):
        A, tail = operand.take(np.arange(n)), np.zeros(n)
        with one_thread():
            U, values, rows = np.linalg.svd(A, full_matrices=False)
    else:
        Q = _range(operand.times(rng.standard_normal((n, width))))
        for _ in range(_ITERATIONS - 1):
            Q = _range(operand.times(_range(operand.transposed_times(Q))))
        with one_thread(width**3):
            Q = np.linalg.qr(np.hstack([Q, Y]))[0]
        P = operand.transposed_times(Q)
        tail = operand.left_by(Q, P, rng)
        with one_thread(width**3):
            W, values, rows = np.linalg.svd(P.T, full_matrices=False)
        U = Q @ W
    if not tail.any():  # nothing is lost with singular values that are rounding errors
        rank = numerical_rank(values) if values.any() else 0
        U, values, rows = U[:, :rank], values[:rank], rows[:rank]
    C = np.ascontiguousarray((values[:, None] * rows).T)
    return ColumnCoordinates(C, values**2, tail, U.T @ Y)


def width_for(k: int) -> int:
    """Return how many coordinates a large matrix has for a search of k columns."""
    return _MORE + _EACH * k


def _range(Y: Floats) -> Floats:
    """Return a well-conditioned basis of the columns of Y; LU takes half the time of QR."""
    with one_thread(Y.shape[1] ** 3):
        return np.asarray(scipy.linalg.lu(Y, permute_l=True, check_finite=False)[0])
