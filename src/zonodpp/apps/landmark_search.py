"""Rows whose Nystroem approximation of a kernel has the least error: greedily, then by exchanges.

Items have features phi_i with ``K = Phi Phi' + diag(tail)``, close to the kernel. Landmarks B leave
the kernel ``Phi M Phi'`` between other items, with ``M = I - Phi_B' W Phi_B`` and W the inverse of
``Phi_B Phi_B' + diag(tail_B)``. With ``C = Phi' Phi`` its squared Frobenius norm, the error, is
``trace(M C M C)``. Another landmark, or one less, changes M by a matrix of rank one, and the errors
that all candidates would give follow from three numbers each, which take O(p) to update.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from zonodpp._threads import one_thread
from zonodpp._types import Floats, Integers, Matrix
from zonodpp.features.cholesky import kernel_columns
from zonodpp.features.similarity import KernelFunction
from zonodpp.linalg.cholesky import KernelColumns, partial_factor

# What the search looks at, chosen by `python -m benchmarks landmarks`: the error of 10 to 100
# landmarks against time. Of more rows than _ALL, it looks at a random sample.
_ALL = 2000
_SAMPLED = (500, 6)  # rows: in any case, and for each landmark
_DIRECTIONS = (50, 1)  # features: in any case, for each landmark; of all rows, _MORE times as many
_MORE = 2
_ROUNDS = 3  # of exchanges, at most; in a sample one
_WORTH_A_ROUND = 0.01  # share of the error that a round must save for another one to follow
_USED_UP = 1e-10  # share of the largest diagonal entry below which an item has nothing to add


class DistinctRows(NamedTuple):
    """The rows of X to pick from, and the weight of each, which counts as repetitions."""

    X: Matrix
    rows: Integers
    weights: Floats


def search_rows(
    given: DistinctRows, m: int, kernel: KernelFunction, rng: np.random.Generator
) -> tuple[Integers, float]:
    """Return m of the rows with small Nystroem error, and that error.

    The error is that of the rows looked at: all, or a sample of many. Fewer than m rows are
    returned if they explain all of the kernel.
    """
    X, rows, weights = given
    n, rounds, directions = len(rows), _ROUNDS, _MORE * _size(_DIRECTIONS, m)
    if n > _ALL:
        chosen = rng.choice(n, min(n, _size(_SAMPLED, m)), replace=False, p=weights / weights.sum())
        rows, rounds, directions = rows[chosen], 1, _size(_DIRECTIONS, m)
    points = X[rows]
    K = kernel(points, points)
    if n <= _ALL:  # weights have had their effect on a sample
        K = K * np.outer(np.sqrt(weights), np.sqrt(weights))
    with one_thread():
        Phi = _leading_features(K, directions, rng)
        tail = np.maximum(np.diagonal(K) - np.einsum("ij,ij->i", Phi, Phi), 0.0)
        found = _Landmarks(Phi, tail, m)
        found.search(rounds)
    return rows[found.items], found.error


def _leading_features(K: Floats, p: int, rng: np.random.Generator) -> Floats:
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
    given: DistinctRows, m: int, kernel: KernelFunction, rng: np.random.Generator
) -> tuple[Integers, float]:
    """Return pivots of randomly pivoted Cholesky, and the trace that they leave of the kernel."""
    X, rows, weights = given
    root = np.sqrt(weights)
    diagonal, columns, precision = kernel_columns(X[rows], kernel, None)
    weighted = KernelColumns(
        weights * diagonal, lambda items: columns(items) * root[:, None] * root[items], precision
    )
    G, pivots = partial_factor(weighted, m, 1e-10, rng)
    return rows[pivots], float(weighted.diagonal.sum() - np.einsum("ij,ij->", G, G))


PICKERS = {"search": search_rows, "rp-cholesky": random_pivots}


def pick_landmark_rows(
    method: str,
    given: DistinctRows,
    m: int,
    kernel: KernelFunction,
    tries: int,
    rng: np.random.Generator,
) -> Integers:
    """Return the best of some picks of m rows, with random rows where the kernel is used up."""
    picks = [PICKERS[method](given, m, kernel, rng) for _ in range(tries)]
    indices, _ = min(picks, key=lambda pick: pick[1])
    others = rng.permutation(np.setdiff1d(given.rows, indices)) if len(indices) < m else indices
    return np.append(indices, others[: m - len(indices)])


def _size(rule: tuple[int, int], m: int) -> int:
    base, for_each = rule
    return base + for_each * m


class _Landmarks:
    """Landmarks, what they leave of the kernel, and what each item would take away from that."""

    def __init__(self, Phi: Floats, tail: Floats, m: int) -> None:
        self.C = Phi.T @ Phi
        self.Phi, self.tail = Phi, tail
        self.items = np.full(m, -1)  # -1: no landmark yet
        self.Phi_B = np.zeros((m, Phi.shape[1]))
        self.W = np.zeros((m, m))
        self.M = np.eye(Phi.shape[1])
        PhiC = self.Phi @ self.C
        # With R what is left of the kernel: R_ii, (R^2)_ii and (R^3)_ii.
        self.left = np.einsum("ij,ij->i", self.Phi, self.Phi) + self.tail
        self.square = np.einsum("ij,ij->i", self.Phi, PhiC)
        self.cube = np.einsum("ij,ij->i", PhiC, PhiC)
        self.error = float(np.einsum("ij,ij->", self.C, self.C))
        self.least = _USED_UP * float(self.left.max())

    def search(self, rounds: int) -> None:
        """Put in landmarks greedily; then take out each in turn, and put in what is best there."""
        m = len(self.items)
        for place in range(m):
            item = self.best()
            if item < 0:
                self.items = self.items[:place]
                return
            self.put(place, item)
        for _ in range(rounds):
            before = self.error
            for place in range(m):
                old = int(self.items[place])
                self.take(place)
                item = self.best()
                self.put(place, old if item < 0 else item)
            if self.error > (1 - _WORTH_A_ROUND) * before:
                break

    def best(self) -> int:
        """Return the item that makes the error smallest, or -1 if none has anything to add."""
        left = np.maximum(self.left, self.least)
        change = (self.square / left) ** 2 - 2 * self.cube / left
        change[self.left <= self.least] = np.inf
        change[self.items[self.items >= 0]] = np.inf
        item = int(np.argmin(change))
        return item if change[item] < np.inf else -1

    def put(self, place: int, item: int) -> None:
        """Make an item the landmark at a free place."""
        phi = self.Phi[item]
        z = self.W @ (self.Phi_B @ phi)
        z[place] = -1.0
        direction = phi - z @ self.Phi_B  # the row of Phi_B at a free place is zero
        left = max(float(direction @ phi) + self.tail[item], self.least)
        _add_square(self.W, z, 1 / left)
        self._update(direction / np.sqrt(left), -1.0)
        self.items[place], self.Phi_B[place] = item, phi

    def take(self, place: int) -> None:
        """Remove the landmark at a place."""
        w = self.W[place] / np.sqrt(self.W[place, place])
        _add_square(self.W, w, -1.0)
        self._update(w @ self.Phi_B, 1.0)
        self.W[place] = self.W[:, place] = 0.0
        self.items[place], self.Phi_B[place] = -1, 0.0

    def _update(self, v: Floats, sign: float) -> None:
        """Add ``sign * v v'`` to M."""
        Cv = self.C @ v
        MCv = self.M @ Cv
        k, cube = float(v @ Cv), float(Cv @ MCv)
        s, y, z = (self.Phi @ np.column_stack([v, MCv, self.M @ (self.C @ MCv)])).T
        self.error += 2 * sign * cube + k * k
        self.cube += 2 * sign * s * z + s * s * cube + sign * (y + sign * k * s) ** 2
        self.square += 2 * sign * s * y + s * s * k
        self.left += sign * s * s
        _add_square(self.M, v, sign)


def _add_square(S: Floats, v: Floats, factor: float) -> None:
    """Add ``factor * v v'`` to a symmetric matrix, in place."""
    scipy.linalg.blas.dger(factor, v, v, a=S.T, overwrite_a=True)
