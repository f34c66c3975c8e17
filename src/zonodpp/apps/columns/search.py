"""The search for columns that explain a matrix, or targets: greedily, then by exchanges.

A column is given by its coordinates c_j along the left singular directions of the matrix, and by
the squared length t_j of what these leave out, which is zero unless the matrix is large. What is
left out of different columns counts as orthogonal. With columns S, and Q an orthonormal basis of
their span, ``e_j = c_j - Q Q' c_j`` is the residual of column j. Adding it to S lowers the squared
error by ``sum_i (e_i . e_j)^2 / (|e_j|^2 + t_j)``, and ``sum_i (e_i . e_j)^2 = e_j' H e_j``, where
H is the Gram matrix of what is to be explained: the columns, targets, or both. In these coordinates
H is a diagonal matrix plus one whose rank is the number of targets. So two products of all
coordinates with a vector update what each column would gain when another one enters or leaves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from zonodpp._types import Floats, Integers
from zonodpp.numerics.arrays import EPS
from zonodpp.numerics.gram import numerical_rank

_ROUNDS = 10  # rounds of exchanges at most; two to four are the rule
_WORTH_IT = 1e-3  # share of the error that an exchange must save
_ROUNDING = 16 * EPS  # rounding error of coordinates, relative to the largest singular value
_CANCELLED = 1e-3  # share of the error below which updated numbers have lost too many digits
_UNRELIABLE = 1e-10  # share of a residual below which its updated value is not used
_AT_ONCE = 2**21  # pairs of a column to enter and one to leave that are compared at once (16 MiB)


class ColumnCoordinates(NamedTuple):
    """Columns of a matrix along its left singular directions."""

    C: Floats  # (n, p): the coordinates of column j are C[j]; C'C is diagonal
    squares: Floats  # (p,): the squared singular values, the diagonal of C'C, in descending order
    tail: Floats  # (n,): the squared length of what the coordinates leave out of each column
    targets: Floats  # (p, q): coordinates of the targets, if there are any

    @property
    def rank(self) -> int:
        """The number of singular values that are more than rounding errors."""
        return numerical_rank(np.sqrt(self.squares)) if self.squares.size else 0

    def best_error(self, k: int) -> float:
        """Return the squared error of the best approximation of rank k."""
        return float(self.squares[k:].sum() + self.tail.sum())


class ColumnSearch:
    """Chosen columns, the residuals of all columns, and what each of them would gain.

    At most m columns are chosen, each at a place of its own. Directions have p + m entries where
    coordinates leave something out: the last m are for the left-out parts of the chosen columns.

    What counts is ``weight`` times the squared error of the columns, plus that of the targets.
    """

    def __init__(self, given: ColumnCoordinates, m: int, weight: float = 1.0) -> None:
        self.C, self.squares, self.tail, self.targets = given
        self.weight = weight
        whole = weight * float(self.squares.sum()) + float((self.targets**2).sum())
        self.rounding = _ROUNDING**2 * whole  # an error up to this is a rounding error
        self.items = np.full(m, -1)  # -1: a free place
        self.more = m if self.tail.any() else 0  # entries of a direction beyond the first p
        largest = float(self.squares.max(initial=0.0))
        self.least = max(_ROUNDING**2 * largest, float(np.finfo(float).tiny))
        self.Q: Floats = np.zeros((len(self.squares) + self.more, 0))  # a basis of those chosen
        self.valid: Floats = np.zeros(len(self.C))  # residuals up to these are rounding errors
        self.computed = 0.0  # the error when residuals were last computed, or a larger one since
        self._compute()

    def start(self, columns: Integers) -> None:
        """Choose these columns."""
        self.items[: len(columns)] = columns
        self._compute()

    def add(self, enough: float) -> None:
        """Fill the places greedily, until the error is ``enough``."""
        for place in np.flatnonzero(self.items < 0).tolist():
            gain = self._gains(self.left, self.square, self.valid)
            item = int(np.argmax(gain))
            if gain[item] <= 0 or self.error() <= enough:
                return
            self._put(place, item)

    def exchange(self) -> None:
        """Replace chosen columns by others while that lowers the error."""
        for _ in range(_ROUNDS):
            if self.error() <= self.rounding:
                return
            places = np.flatnonzero(self.items >= 0)
            step = max(1, _AT_ONCE // len(self.C))
            parts = [places[i : i + step] for i in range(0, len(places), step)]
            saved = [self._savings(part, self._directions(part))[0] for part in parts]
            all_saved = np.concatenate(saved or [np.zeros(0)])
            order = np.argsort(-all_saved, kind="stable")
            promising = order[: int((all_saved > self._worth_it()).sum())]
            swaps = [self._swap(place) for place in places[promising].tolist()]
            if not any(swaps):
                return

    def drop(self, enough: float) -> bool:
        """Take out the column that matters least, if the error stays at ``enough`` at most."""
        places = np.flatnonzero(self.items >= 0)
        if len(places) < 2:
            return False
        _, _, loss = self._without(places, self._directions(places))
        if self.error() + loss.min() > enough:
            return False
        self.items[places[np.argmin(loss)]] = -1
        self._compute()
        return True

    @property
    def chosen(self) -> Integers:
        """The columns that are chosen."""
        return np.asarray(self.items[self.items >= 0])

    def error(self) -> float:
        """Return the squared error of what is to be explained."""
        top = self.Q[: self.C.shape[1]]
        rest = self.targets - top @ (top.T @ self.targets)
        left = float(self.left.sum() - self.left[self.chosen].sum())
        return self.weight * left + float((rest**2).sum())

    def _gains(self, left: Floats, square: Floats, valid: Floats) -> Floats:
        """Return by how much each column would lower the error; zero where it adds nothing.

        Columns are rows of the arguments; residuals at most as large as ``valid`` are not used.
        """
        usable = left > valid
        safe = np.where(usable, left, 1.0)
        gain = square / safe
        if self.weight:
            tail = self.tail if left.ndim == 1 else self.tail[:, None]
            gain += self.weight * (left - (left - tail) ** 2 / safe)
        gain[~usable] = 0.0
        gain[self.chosen] = 0.0
        return np.asarray(gain)

    def _put(self, place: int, item: int) -> None:
        """Choose a column for a free place."""
        p, before = self.C.shape[1], self.error()
        x = self._outside(self._vectors(np.array([item]), np.array([place])))
        u = x / np.linalg.norm(x)
        Hu = self._times_gram(u[:p])
        w, z = self.C @ u[:p, 0], self.C @ self._outside(self._extended(Hu))[:p, 0]
        self.valid = np.maximum(self.valid, _UNRELIABLE * self.left)
        self.square += w * (w * float(u[:p, 0] @ Hu[:, 0]) - 2 * z)
        self.left -= w * w
        self.items[place], self.Q = item, np.hstack([self.Q, u])
        self.computed = max(self.computed, before)
        if self.error() < _CANCELLED * self.computed:
            self._compute()

    def _worth_it(self) -> float:
        return _WORTH_IT * self.error()

    def _savings(self, places: Integers, D: Floats) -> tuple[Floats, Integers, Floats, Floats]:
        """Return, for each place, what its best exchange would save, and the column to take.

        Returns also the two numbers of each column when the column at that place is taken out.
        """
        left, square, loss = self._without(places, D)
        gain = self._gains(left, square, self.valid[:, None])
        best = np.argmax(gain, axis=0)
        return gain[best, np.arange(len(places))] - loss, best, left, square

    def _directions(self, places: Integers) -> Floats:
        """Return what the column at each place alone adds to the span of those chosen."""
        taken = np.flatnonzero(self.items >= 0)
        Q, R = np.linalg.qr(self._vectors(self.items[taken], taken))
        unit = (taken[:, None] == places).astype(float)
        D = Q @ scipy.linalg.solve_triangular(R, unit, trans="T")  # orthogonal to the other columns
        return np.asarray(D / np.linalg.norm(D, axis=0))

    def _without(self, places: Integers, D: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the numbers of all columns without the one at each place, and what that loses."""
        p = self.C.shape[1]
        HD = self._times_gram(D[:p])
        W, Z = self.C @ D[:p], self.C @ self._outside(self._extended(HD))[:p]
        squares = W * W
        left = self.left[:, None] + squares
        square = self.square[:, None] + 2 * W * Z + squares * np.einsum("ij,ij->j", D[:p], HD)
        items = self.items[places]
        own = left[items, np.arange(len(places))]
        loss = self.weight * (squares.sum(axis=0) - squares[self.chosen].sum(axis=0) + own)
        return left, square, loss + ((self.targets.T @ D[:p]) ** 2).sum(axis=0)

    def _swap(self, place: int) -> bool:
        """Replace the column at a place by the best one, if that is worth it; tell if it was."""
        taken = np.flatnonzero(self.items >= 0)
        order = np.append(taken[taken != place], place)
        Q, _ = np.linalg.qr(self._vectors(self.items[order], order))
        saved, best, left, square = self._savings(order[-1:], Q[:, -1:])
        if saved[0] <= self._worth_it():
            return False
        self.items[place], self.Q = -1, Q[:, :-1]
        self.left, self.square = left[:, 0], square[:, 0]
        self._put(place, int(best[0]))
        return True

    def _vectors(self, items: Integers, places: Integers) -> Floats:
        """Return columns, when they stand at these places, as columns of p + m entries."""
        p = self.C.shape[1]
        vectors = self._extended(self.C[items].T)
        if self.more:
            vectors[p + places, np.arange(len(items))] = np.sqrt(self.tail[items])
        return vectors

    def _extended(self, x: Floats) -> Floats:
        return np.vstack([x, np.zeros((self.more, x.shape[1]))])

    def _outside(self, x: Floats) -> Floats:
        """Return what vectors have outside the span of the chosen columns.

        The second projection removes rounding errors of the first: they may be large beside x.
        """
        for _ in range(2):
            x = x - self.Q @ (self.Q.T @ x)
        return x

    def _times_gram(self, x: Floats) -> Floats:
        """Return H x."""
        product = self.weight * self.squares[:, None] * x
        return np.asarray(product + self.targets @ (self.targets.T @ x))

    def _compute(self) -> None:
        """Compute the two numbers of each column: its squared residual, and e_j' H e_j."""
        p = self.C.shape[1]
        taken = np.flatnonzero(self.items >= 0)
        self.Q = np.linalg.qr(self._vectors(self.items[taken], taken))[0]
        E = self._outside(self._extended(self.C.T)).T
        self.left = np.einsum("ij,ij->i", E, E) + self.tail
        top = E[:, :p]
        self.square = self.weight * (top * top) @ self.squares + ((top @ self.targets) ** 2).sum(1)
        self.valid = np.maximum(self.least, _UNRELIABLE * self.left)
        self.computed = self.error()
