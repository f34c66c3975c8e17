"""The linear programs of a zonotope by HiGHS or GLPK: oracles for tests, and the paper's baseline.

Tile of x, equation (9):   min c'y      subject to  A y = x,            0 <= y <= 1.
Chord x + alpha d, (11):   min +-alpha  subject to  A y - alpha d = x,  0 <= y <= 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from zonodpp.inputs import as_matrix, check_finite
from zonodpp.matrices.columns import Floats
from zonodpp.matrices.gram import factorise

TOLERANCE = 1e-10  # of bounds and rows; HiGHS allows no smaller one
NEAR = 1e-8  # a point this close to the boundary, as a share of the chord, may count as inside


class _Oracle(ABC):
    """What both solvers share: a map M for sound numbers, and two programs for each chord."""

    def __init__(self, A: Any, c: ArrayLike) -> None:
        matrix = sp.csc_array(as_matrix(A, "A"))
        check_finite(matrix, "A")
        costs = np.array(c, dtype=np.float64)
        if costs.shape != (matrix.shape[1],):
            raise ValueError(
                f"c must have one cost for each of the {matrix.shape[1]} columns of A, "
                f"got shape {costs.shape}"
            )
        # Solvers measure errors of rows in absolute terms, so rows of odd units are brought to one
        # size (powers of two change no digit), and rows that nearly depend on others whitened.
        gram = factorise(matrix, None, check_rank=False)
        heights = np.frexp(abs(matrix).max(axis=1).toarray().ravel())[1]
        even = sp.diags_array(np.ldexp(1.0, -heights))
        self._map: Any = even if gram.well_conditioned else gram.W
        self._matrix = sp.csc_array(self._map @ matrix)
        self._costs = costs

    @abstractmethod
    def _solve(self, x: Floats) -> Floats | None:
        """Return the optimal vertex of equation (9), for M A and the point M x."""

    @abstractmethod
    def _end(self, x: Floats, d: Floats, sign: float) -> float | None:
        """Return alpha that minimises sign * alpha in equation (11), for M A, M x and M d."""

    def solve(self, x: ArrayLike) -> Floats | None:
        """Return the optimal vertex y of P_x(A, c), or None if x is outside the zonotope.

        Examples
        --------
        >>> from zonodpp.zonotope.oracles import HighsOracle
        >>> oracle = HighsOracle([[1, 0, 1], [0, 1, 1]], [1, 1, 1])
        >>> oracle.solve([0.5, 0.75]).round(9)
        array([0.  , 0.25, 0.5 ])
        >>> oracle.solve([3, 0]) is None
        True
        """
        y = self._solve(self._mapped(x, "x"))
        return None if y is None else np.clip(y, 0.0, 1.0) + 0.0  # which turns -0 into 0

    def chord(self, x: ArrayLike, d: ArrayLike) -> tuple[float, float]:
        """Return (alpha_min, alpha_max) between which x + alpha d is inside the zonotope.

        Examples
        --------
        >>> from zonodpp.zonotope.oracles import HighsOracle
        >>> low, high = HighsOracle([[1, 0, 1], [0, 1, 1]], [1, 1, 1]).chord([0.5, 0.5], [1, 0])
        >>> round(low, 9), round(high, 9)
        (-0.5, 1.0)
        """
        point, direction = self._mapped(x, "x"), self._mapped(d, "d")
        size = float(np.abs(direction).max())
        if size == 0:
            raise ValueError("d must not be zero: it is the direction of a line")
        low = self._end(point, direction / size, 1.0)
        high = None if low is None else self._end(point, direction / size, -1.0)
        # The line may meet the zonotope elsewhere; x is inside if alpha = 0 is.
        if low is None or high is None or max(low, -high) > NEAR * (high - low):
            raise ValueError(f"the point x = {np.asarray(x).tolist()} is outside the zonotope")
        return min(low, 0.0) / size, max(high, 0.0) / size

    def _mapped(self, vector: ArrayLike, name: str) -> Floats:
        array = np.asarray(vector, dtype=np.float64)
        r = self._matrix.shape[0]
        if array.shape != (r,):
            raise ValueError(
                f"{name} must have one coordinate for each of the {r} rows of A, got {array.shape}"
            )
        check_finite(array, name)
        return np.asarray(self._map @ array, dtype=np.float64)


class HighsOracle(_Oracle):
    """HiGHS: one model for each of the two programs, kept from call to call.

    Only the right-hand side, d and the sign change, so that the simplex method starts from the
    last basis. Needs ``pip install zonodpp[highs]``.

    Parameters
    ----------
    A : (r, n) array_like or scipy.sparse matrix
    c : (n,) array_like
        Costs, which fix the tiling.

    Examples
    --------
    >>> from zonodpp.zonotope.oracles import HighsOracle
    >>> HighsOracle([[1, 0, 1], [0, 1, 1]], [1, 1, 1]).solve([1, 1]).round(9)
    array([0., 0., 1.])
    """

    def __init__(self, A: Any, c: ArrayLike) -> None:
        super().__init__(A, c)
        r, n = self._matrix.shape
        self._indices = np.arange(r, dtype=np.int32)
        self._tile = self._model(self._matrix, self._costs, np.zeros(n), np.ones(n))
        # The column of alpha holds ones until the first d: all its entries must be there.
        self._line = self._model(
            sp.csc_array(sp.hstack([self._matrix, np.ones((r, 1))])),
            np.append(np.zeros(n), 1.0),
            np.append(np.zeros(n), -np.inf),
            np.append(np.ones(n), np.inf),
        )

    @staticmethod
    def _model(matrix: sp.csc_array, costs: Floats, lower: Floats, upper: Floats) -> Any:
        try:
            import highspy
        except ImportError:
            raise ImportError("solver 'highs' needs highspy: pip install zonodpp[highs]") from None
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = matrix.shape
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, lower, upper
        lp.row_lower_ = lp.row_upper_ = np.zeros(matrix.shape[0])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = matrix.indptr
        lp.a_matrix_.index_ = matrix.indices
        lp.a_matrix_.value_ = matrix.data
        model = highspy.Highs()
        for option, value in (
            ("output_flag", False),
            ("solver", "simplex"),
            ("presolve", "off"),
            ("primal_feasibility_tolerance", TOLERANCE),
            ("dual_feasibility_tolerance", TOLERANCE),
            ("small_matrix_value", 1e-12),  # the smallest allowed; below it entries are dropped
        ):
            model.setOptionValue(option, value)
        model.passModel(lp)
        return model

    def _optimum(self, model: Any, x: Floats) -> Floats | None:
        import highspy

        model.changeRowsBounds(x.size, self._indices, x, x)
        for _ in range(2):
            model.run()
            status = model.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                return np.array(model.getSolution().col_value)
            if status == highspy.HighsModelStatus.kInfeasible:
                return None
            model.clearSolver()  # the last basis was no good start
        raise ArithmeticError(f"HiGHS gave up: {model.modelStatusToString(status)}; rescale A")

    def _solve(self, x: Floats) -> Floats | None:
        return self._optimum(self._tile, x)

    def _end(self, x: Floats, d: Floats, sign: float) -> float | None:
        alpha = self._matrix.shape[1]
        for i, entry in enumerate(d):
            self._line.changeCoeff(i, alpha, -entry)
        self._line.changeColCost(alpha, sign)
        y = self._optimum(self._line, x)
        return None if y is None else float(y[alpha])


class GlpkOracle(_Oracle):
    """GLPK through CVXOPT, as the paper and DPPy had it: each program solved from scratch.

    Needs ``pip install zonodpp[glpk]``.

    Parameters
    ----------
    A : (r, n) array_like or scipy.sparse matrix
    c : (n,) array_like
        Costs, which fix the tiling.

    Examples
    --------
    >>> from zonodpp.zonotope.oracles import GlpkOracle
    >>> GlpkOracle([[1, 0, 1], [0, 1, 1]], [1, 1, 1]).solve([1, 1])
    array([0., 0., 1.])
    """

    def __init__(self, A: Any, c: ArrayLike) -> None:
        super().__init__(A, c)
        try:
            import cvxopt
            import cvxopt.glpk
        except ImportError:
            raise ImportError(
                "solver 'glpk' needs cvxopt with GLPK: pip install zonodpp[glpk]"
            ) from None
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
