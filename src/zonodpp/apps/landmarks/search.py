"""The search for rows that leave the least trace of a kernel (Nystroem), and random pivots.

Rows are chosen greedily, then by exchanges. Items have features phi_i such that
``K = Phi Phi' + diag(tail)`` is close to the kernel. With landmarks B, the residual between the
other items is ``R = Phi M Phi' + diag(tail)``, where ``M = I - Phi_B' G^-1 Phi_B`` and
``G = Phi_B Phi_B' + diag(tail_B)``. Adding landmark j lowers the trace of R by
``sum_i R_ij^2 / R_jj``. Adding or removing a landmark changes M by a matrix of rank one. The trace
that each candidate would give follows from two numbers, and with p features an update of these
takes O(p) operations for each item. Landmarks are also taken out, by which the gains of others
rise: they are no upper bounds of later ones, on which the greedy picks of `best` rest. Where
features are nearly as many as items, the kernel itself is used instead (`sweep`), unless it has
eigenvalues near zero: of what is left then, features keep more digits.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from zonodpp._types import Floats, Integers, Rng
from zonodpp.apps.landmarks.rows import DistinctRows
from zonodpp.apps.landmarks.sweep import CANCELLED, SweptKernel, is_well_conditioned
from zonodpp.features.kernels import kernel_columns
from zonodpp.numerics.kernel import KernelColumns, partial_factor
from zonodpp.numerics.kernel_function import KernelFunction
from zonodpp.numerics.threads import one_thread

# How many rows and features the search uses; `python -m benchmarks landmarks` weighed the error of
# 10 to 100 landmarks against the time. Of more than _ALL rows, the search looks at a random sample.
# If rows have more than _WIDE columns, distances take most of the time, and the sample is _MORE
# times as large. Features are _MORE times as many for wide rows and where all rows are looked at.
_ALL = 2000
_WIDE = 200  # columns
_MORE = 2
_ROWS, _ROWS_EACH = 500, 6  # rows of a sample: a constant, and more for each landmark
_FEATURES = 50  # features of the kernel, and one more for each landmark
_NEARLY_ALL = 0.5  # share of the items: with so many features, sweeps of the kernel take less time
_ROUNDS = 3  # rounds of exchanges at most; a sample gets one round
_WORTH_A_ROUND = 0.01  # share of the trace that a round must save for another one to follow
_EXPLAINED = 1e-11  # share of the trace below which exchanges would change rounding errors alone
_USED_UP = 1e-12  # share of the largest diagonal entry below which an item has nothing to add


def search_rows(
    given: DistinctRows, m: int, kernel: KernelFunction, rng: Rng
) -> tuple[Integers, float]:
    """Return m of the rows that leave a small trace of the kernel, and that trace.

    The trace is that of the rows that the search looks at: all, or a sample. Fewer than m rows are
    returned if they explain all of the kernel.
    """
    X, rows, weights = given
    n, rounds = len(rows), _ROUNDS
    more = _MORE if n <= _ALL or X.shape[1] > _WIDE else 1
    if n > _ALL:
        size = min(n, more * (_ROWS + _ROWS_EACH * m))
        chosen = rng.choice(n, size, replace=False, p=weights / weights.sum())
        rows, rounds = rows[chosen], 1
    points = X[rows]
    K = kernel(points, points)
    if n <= _ALL:  # a sample is already drawn by weight
        K = K * np.outer(np.sqrt(weights), np.sqrt(weights))
    p = more * (_FEATURES + m)
    least = 2 * _USED_UP * float(np.diagonal(K).max())
    residual: SweptKernel | FeatureResidual
    with one_thread():
        if p >= _NEARLY_ALL * len(K) and is_well_conditioned(K):
            residual = SweptKernel(K, least)
        else:
            residual = FeatureResidual(_leading_features(K, p, rng), np.diagonal(K), m, least)
        items = search(residual, m, rounds)
    return rows[items], residual.trace()


def search(residual: SweptKernel | FeatureResidual, m: int, rounds: int) -> list[int]:
    """Add landmarks greedily; then replace each in turn by the item that is best there."""
    items: list[int] = []
    whole = residual.trace()
    while len(items) < m:
        item = residual.best()
        if item < 0:
            return items
        residual.put(item)
        items.append(item)
    for _ in range(rounds):
        before = residual.trace()
        if before < _EXPLAINED * whole:
            break
        for place, old in enumerate(items):
            residual.take(old)
            item = residual.best()
            items[place] = old if item < 0 else item
            residual.put(items[place])
        if residual.trace() > (1 - _WORTH_A_ROUND) * before:
            break
    return items


def _leading_features(K: Floats, p: int, rng: Rng) -> Floats:
    """Return Phi with p columns and Phi Phi' close to the best approximation of K.

    One step of subspace iteration from random columns of K, then a Nystroem approximation.
    """
    columns = rng.choice(len(K), min(p, len(K)), replace=False)
    Q, _ = scipy.linalg.qr(K[columns].T, mode="economic")
    Y = K @ Q
    values, vectors = np.linalg.eigh(Q.T @ Y)
    kept = values > len(K) * np.finfo(float).eps * values[-1]
    return np.asarray(Y @ (vectors[:, kept] / np.sqrt(values[kept])))


def random_pivots(
    given: DistinctRows, m: int, kernel: KernelFunction, rng: Rng
) -> tuple[Integers, float]:
    """Return pivots of randomly pivoted Cholesky, and the trace that they leave of the kernel."""
    X, rows, weights = given
    root = np.sqrt(weights)
    diagonal, columns, precision = kernel_columns(X[rows], kernel)

    def weighted_columns(span: slice, items: Integers) -> Floats:
        return columns(span, items) * root[span, None] * root[items]

    weighted = KernelColumns(weights * diagonal, weighted_columns, precision)
    G, pivots = partial_factor(weighted, m, 1e-10, rng)
    return rows[pivots], float(weighted.diagonal.sum() - np.einsum("ij,ij->", G, G))


PICKERS = {"search": search_rows, "rp-cholesky": random_pivots}


class FeatureResidual:
    """Landmarks, the residual of the kernel, and by how much each item would lower its trace."""

    def __init__(self, Phi: Floats, diagonal: Floats, m: int, least: float) -> None:
        self.Phi, self.C = Phi, Phi.T @ Phi
        self.tail = np.maximum(diagonal - np.einsum("ij,ij->i", Phi, Phi), least / 2)
        self.least = least  # smallest R_ii of an item that can lower the trace
        self.items = np.full(m, -1)  # -1: a free place
        self.Phi_B = np.zeros((m, Phi.shape[1]))  # zero at free places, and so is the next
        self.G = np.eye(m)  # with rows of the identity at free places
        self.M = np.eye(Phi.shape[1])
        self._compute()

    def trace(self) -> float:
        """Return the trace that is left."""
        return float(self.left.sum() - self.left[self.items[self.items >= 0]].sum())

    def best(self) -> int:
        """Return the item that takes most from the trace, or -1 if none has anything to add."""
        left = np.maximum(self.left, self.least)
        gain = left + (self.square - (left - self.tail) ** 2) / left
        gain[self.left <= self.least] = 0.0
        gain[self.items[self.items >= 0]] = 0.0
        item = int(np.argmax(gain))
        return item if gain[item] > 0 else -1

    def put(self, item: int) -> None:
        """Make an item a landmark, at the first free place."""
        place = int(np.argmin(self.items))
        phi = self.Phi[item]
        direction = self.M @ phi
        left = max(float(direction @ phi) + self.tail[item], self.least)
        self.G[place] = self.G[:, place] = self.Phi_B @ phi
        self.G[place, place] = phi @ phi + self.tail[item]
        self.items[place], self.Phi_B[place] = item, phi
        self._update(direction / np.sqrt(left), -1.0)

    def take(self, item: int) -> None:
        """Make a landmark a candidate again."""
        [place] = np.flatnonzero(self.items == item)
        unit = np.zeros(len(self.G))
        unit[place] = 1.0
        # A column of the inverse of G. To keep the inverse by changes of rank one loses all digits
        # for kernels of small eigenvalues, and others seldom have that many landmarks here.
        _, w, _ = scipy.linalg.lapack.dposv(self.G, unit)
        self._update(w @ self.Phi_B / np.sqrt(w[place]), 1.0)
        self.G[place] = self.G[:, place] = unit
        self.items[place], self.Phi_B[place] = -1, 0.0

    def _update(self, v: Floats, sign: float) -> None:
        """Add ``sign * v v'`` to M."""
        Cv = self.C @ v
        s, y = (self.Phi @ np.column_stack([v, self.M @ Cv])).T
        self.square += 2 * sign * s * y + s * s * float(v @ Cv)
        self.left += sign * s * s
        scipy.linalg.blas.dger(sign, v, v, a=self.M.T, overwrite_a=True)
        if self.trace() < CANCELLED * self.computed:
            self._compute()

    def _compute(self) -> None:
        """Compute the two numbers of each item: R_ii, and the sum of (Phi M Phi')_ij^2 over j."""
        PhiM = self.Phi @ self.M
        self.left = np.einsum("ij,ij->i", PhiM, self.Phi) + self.tail
        self.square = np.einsum("ij,ij->i", PhiM @ self.C, PhiM)
        self.computed = self.trace()
