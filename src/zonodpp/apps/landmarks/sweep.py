"""The search for landmarks where they are many: sweeps of the kernel matrix itself.

With landmarks B, candidates C and ``G = K_BB``, one symmetric matrix holds ``-G^-1``, the
coefficients ``T = K_CB G^-1`` and the residual ``R = K_CC - T K_BC``. To add or to remove a
landmark k is a sweep at k, a change of rank one (A. Beaton, 1964). No operation takes more than
the square of the number of candidates, except that changes of rank one are applied to the whole
matrix, many at a time.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from zonodpp._types import Floats

_PENDING = 48  # changes of rank one applied in one matrix product; 32 and 64 take as long
CANCELLED = 1e-3  # share of the trace below which updated numbers have lost too many digits


# Share of the largest diagonal entry above which all eigenvalues must be. What sweeps leave of a
# diagonal entry is never less than the smallest eigenvalue, and has an error of about 1e-14.
_CLEAR = 1e-6


def is_well_conditioned(K: Floats) -> bool:
    """Tell whether all eigenvalues are so far from zero that sweeps lose few digits."""
    shifted = K.copy()
    shifted.flat[:: len(K) + 1] -= _CLEAR * float(np.diagonal(K).max())
    _, failed = scipy.linalg.lapack.dpotrf(shifted.T, overwrite_a=True)
    return not failed


class SweptKernel:
    """The kernel matrix swept at the landmarks, which come first in ``order``."""

    def __init__(self, K: Floats, least: float) -> None:
        self.K = K
        self.least = least  # smallest R_ii of an item that can lower the trace
        self.count = 0  # of landmarks
        self.order = np.arange(len(K))  # the item at each position
        self.position = np.arange(len(K))  # the position of each item
        self.U = np.empty((_PENDING, len(K)))  # S - U' diag(1 / pivots) U is the swept matrix
        self.pivots = np.empty(_PENDING)
        self._compute()

    def trace(self) -> float:
        """Return the trace of the residual."""
        return float(self.left[self.count :].sum())

    def best(self) -> int:
        """Return the item that takes most from the trace, or -1 if none has anything to add."""
        left = self.left[self.count :]
        if not left.size:
            return -1
        gain = self.square[self.count :] / np.maximum(left, self.least)
        gain[left <= self.least] = 0.0
        place = int(np.argmax(gain))
        return int(self.order[self.count + place]) if gain[place] > 0 else -1

    def put(self, item: int) -> None:
        """Make an item a landmark."""
        self._swap(int(self.position[item]), self.count)
        self._sweep(self.count, 1.0)
        self.count += 1
        if self.trace() < CANCELLED * self.computed:
            self._compute()

    def take(self, item: int) -> None:
        """Make a landmark a candidate again."""
        self._swap(int(self.position[item]), self.count - 1)
        self.count -= 1
        self.left[self.count] = self.square[self.count] = 0.0
        self._sweep(self.count, -1.0)

    def _swap(self, i: int, j: int) -> None:
        """Exchange two positions."""
        if i == j:
            return
        for array in (self.S, self.S.T, self.U.T, self.left, self.square, self.order):
            array[[i, j]] = array[[j, i]]
        self.position[self.order[[i, j]]] = i, j

    def _sweep(self, k: int, sign: float) -> None:
        """Sweep at position k, the first candidate; ``sign`` is 1 to put, -1 to take."""
        q = self.pending
        U, pivots = self.U[:q], self.pivots[:q]
        u = self.S[k] - (U[:, k] / pivots) @ U
        pivot = float(u[k])
        # The residual becomes R - r r' / pivot. It has no entries yet for an item just taken.
        r, Rr = u[k:].copy(), np.zeros(len(u) - k)
        first = k
        if sign < 0:
            r[0], first = 1.0, k + 1
        some = slice(first, None)
        Ur = U[:, some] @ r[first - k :]
        Rr[first - k :] = self.S[some, some] @ r[first - k :] - (Ur / pivots) @ U[:, some]
        share = r / pivot
        self.left[k:] -= share * r
        self.square[k:] += share * (float(r @ r) * share - 2 * Rr)
        u[k] = pivot - sign  # with the next line, what a sweep does to row and column k
        self.S[k, k] -= 2 * sign
        self.U[q], self.pivots[q] = u, pivot
        self.pending += 1
        if self.pending == _PENDING:
            self._apply()

    def _apply(self) -> None:
        """Apply the changes that wait."""
        shares = self.U / self.pivots[:, None]
        scipy.linalg.blas.dgemm(
            -1.0, self.U.T, shares.T, 1.0, self.S.T, trans_b=True, overwrite_c=True
        )
        self.pending = 0

    def _compute(self) -> None:
        """Compute the swept matrix anew, and what follows from the residual."""
        t, n = self.count, len(self.K)
        S = self.K[np.ix_(self.order, self.order)]
        S.flat[:: n + 1] += self.least / 2  # so that G has an inverse
        if t:
            factor = scipy.linalg.cho_factor(S[:t, :t], lower=True)
            T = scipy.linalg.cho_solve(factor, S[:t, t:]).T
            S[t:, t:] -= T @ S[:t, t:]
            S[t:, :t], S[:t, t:] = T, T.T
            S[:t, :t] = -scipy.linalg.cho_solve(factor, np.eye(t))
        self.S, self.pending = S, 0
        self.left = np.diagonal(S).copy()
        self.square = np.einsum("ij,ij->i", S[:, t:], S[:, t:])  # of use for candidates only
        self.computed = self.trace()
