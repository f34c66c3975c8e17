"""The programs of a zonotope by HiGHS: with a model that is kept, and from scratch by scipy.

GLPK, the paper's solver, is in `paper.algorithm5`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from paper.algorithm5 import TOLERANCE, Oracle


class LinprogOracle(Oracle):
    """HiGHS by ``scipy.optimize.linprog``: each program is solved from scratch."""

    def __init__(self, A: Any, c: Any) -> None:
        super().__init__(A, c)
        n = self._matrix.shape[1]
        self._bounds = np.tile([0.0, 1.0], (n, 1))
        self._line_bounds = np.vstack([self._bounds, [-np.inf, np.inf]])
        self._alpha = np.append(np.zeros(n), 1.0)
        self._dense = self._matrix.toarray()

    def _solve(self, x: Any) -> Any:
        A, bounds = self._dense, self._bounds
        return linprog(self._costs, A_eq=A, b_eq=x, bounds=bounds, method="highs-ds").x

    def _end(self, x: Any, d: Any, sign: float) -> float | None:
        A, bounds = np.column_stack([self._dense, -d]), self._line_bounds
        y = linprog(sign * self._alpha, A_eq=A, b_eq=x, bounds=bounds, method="highs-ds").x
        return None if y is None else float(y[-1])


class HighsOracle(Oracle):
    """HiGHS by highspy: one model for each of the two programs, kept from call to call.

    Only the right-hand side, d and the sign change, so that the simplex method starts from the
    last basis. A model is not safe to use from two threads.
    """

    def __init__(self, A: Any, c: Any) -> None:
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
    def _model(matrix: sp.csc_array, costs: Any, lower: Any, upper: Any) -> Any:
        import highspy

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

    def _optimum(self, model: Any, x: Any) -> Any:
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

    def _solve(self, x: Any) -> Any:
        return self._optimum(self._tile, x)

    def _end(self, x: Any, d: Any, sign: float) -> float | None:
        alpha = self._matrix.shape[1]
        for i, entry in enumerate(d):
            self._line.changeCoeff(i, alpha, -entry)
        self._line.changeColCost(alpha, sign)
        y = self._optimum(self._line, x)
        return None if y is None else float(y[alpha])
