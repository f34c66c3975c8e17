"""Algorithm 5 as the paper runs it: three linear programs a step, for a general solver.

Tile of x, equation (9):   min c'y      subject to  A y = x,            0 <= y <= 1.
Chord x + alpha d, (11):   min +-alpha  subject to  A y - alpha d = x,  0 <= y <= 1.

The report times it beside the walk of this package. Tests and benchmarks check and time the walk
against the same programs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from zonodpp._types import Floats, Integers
from zonodpp.numerics.gram import factorise

TOLERANCE = 1e-10  # of bounds and rows; HiGHS allows no smaller one
NEAR = 1e-8  # a point this close to the boundary, as a share of the chord, may count as inside
INSIDE = 1e-9  # an entry of y this far from 0 and 1 is in the basis


class Oracle(ABC):
    """The linear programs of Z(A) with costs c, for any solver."""

    def __init__(self, A: Any, c: Floats) -> None:
        # Solvers measure errors of rows in absolute terms, so all rows are brought to one size, by
        # powers of two, which change no digit. Rows that nearly depend on others are whitened.
        matrix = sp.csc_array(A, dtype=np.float64)
        gram = factorise(matrix, None, check_rank=False)
        heights = np.frexp(abs(matrix).max(axis=1).toarray().ravel())[1]
        even = sp.diags_array(np.ldexp(1.0, -heights))
        self._map: Any = even if gram.well_conditioned else gram.W
        self._matrix = sp.csc_array(self._map @ matrix)
        self._costs = np.asarray(c, dtype=np.float64)

    @abstractmethod
    def _solve(self, x: Floats) -> Floats | None:
        """Return the optimal vertex of equation (9), for M A and the point M x."""

    @abstractmethod
    def _end(self, x: Floats, d: Floats, sign: float) -> float | None:
        """Return alpha that minimises sign * alpha in equation (11), for M A, M x and M d."""

    def solve(self, x: Floats) -> Floats | None:
        """Return the optimal vertex y of P_x(A, c), or None if x is outside the zonotope."""
        y = self._solve(self._map @ x)
        return None if y is None else np.clip(y, 0.0, 1.0)

    def chord(self, x: Floats, d: Floats) -> tuple[float, float]:
        """Return (alpha_min, alpha_max) between which x + alpha d is inside the zonotope."""
        point, direction = self._map @ x, self._map @ d
        size = float(np.abs(direction).max())
        low = self._end(point, direction / size, 1.0)
        high = None if low is None else self._end(point, direction / size, -1.0)
        # The line may meet the zonotope elsewhere; x is inside if alpha = 0 is.
        if low is None or high is None or max(low, -high) > NEAR * (high - low):
            raise ValueError(f"the point x = {np.asarray(x).tolist()} is outside the zonotope")
        return min(low, 0.0) / size, max(high, 0.0) / size


class GlpkOracle(Oracle):
    """GLPK through CVXOPT, as the paper and DPPy have it: each program is solved from scratch."""

    def __init__(self, A: Any, c: Floats) -> None:
        super().__init__(A, c)
        try:
            import cvxopt
            import cvxopt.glpk
        except ImportError:
            raise ImportError("Algorithm 5 on GLPK needs cvxopt: pip install cvxopt") from None
        n = self._matrix.shape[1]
        self._dense = self._matrix.toarray()
        ones = [1.0] * n
        # Bounds as rows of G y <= h, by triplets: -y_j <= 0 and y_j <= 1.
        values, rows, columns = [-1.0] * n + ones, range(2 * n), [*range(n), *range(n)]
        self._h = cvxopt.matrix([0.0] * n + ones)
        self._G = cvxopt.spmatrix(values, rows, columns, (2 * n, n))
        self._G_line = cvxopt.spmatrix(values, rows, columns, (2 * n, n + 1))

    def _optimum(self, c: Floats, G: Any, A: Floats, x: Floats) -> Floats | None:
        from cvxopt import glpk, matrix

        options = {"msg_lev": "GLP_MSG_OFF", "tol_bnd": TOLERANCE, "tol_dj": TOLERANCE}
        status, y, _, _ = glpk.lp(matrix(c), G, self._h, matrix(A), matrix(x), options=options)
        if status == "optimal":
            return np.array(y).ravel()
        if status == "primal infeasible":
            return None
        raise ArithmeticError(f"GLPK gave up: {status}; rescale A")

    def _solve(self, x: Floats) -> Floats | None:
        return self._optimum(self._costs, self._G, self._dense, x)

    def _end(self, x: Floats, d: Floats, sign: float) -> float | None:
        costs = np.append(np.zeros(self._matrix.shape[1]), sign)
        y = self._optimum(costs, self._G_line, np.column_stack([self._dense, -d]), x)
        return None if y is None else float(y[-1])


def hit_and_run(A: Floats, oracle: Oracle, steps: int, rng: np.random.Generator) -> Integers:
    """Run the chain and return its bases, (steps, r).

    A proposed point counts as rejected if its tile is not known, because the solver's vertex has
    fewer than r entries strictly between 0 and 1.
    """
    r, n = A.shape
    x = A @ rng.random(n)
    basis, volume = tile_of(A, oracle, x)
    bases = np.empty((steps, r), np.int64)
    for k in range(steps):
        d = np.asarray(rng.standard_normal(r))
        d /= np.linalg.norm(d)
        proposal = x + rng.uniform(*oracle.chord(x, d)) * d
        found, size = tile_of(A, oracle, proposal)
        if rng.random() * volume < size:
            x, basis, volume = proposal, found, size
        bases[k] = basis
    return bases


def tile_of(A: Floats, oracle: Oracle, x: Floats) -> tuple[Integers, float]:
    """Return the tile of a point and its volume; volume 0 if the vertex does not determine it."""
    y = oracle.solve(x)
    inside = np.flatnonzero([] if y is None else (y > INSIDE) & (y < 1.0 - INSIDE))
    if len(inside) != A.shape[0]:
        return inside, 0.0
    return inside, float(abs(np.linalg.det(A[:, inside])))
