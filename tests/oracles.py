"""The programs of a zonotope by HiGHS, each from scratch: the reference for tiles and chords.

GLPK, the paper's solver, is in `paper.algorithm5`.
"""

import numpy as np
from scipy.optimize import linprog

from paper.algorithm5 import TOLERANCE, Oracle

OPTIONS = {
    "presolve": False,
    "primal_feasibility_tolerance": TOLERANCE,
    "dual_feasibility_tolerance": TOLERANCE,
}
INFEASIBLE = 2  # the status of scipy.optimize.linprog


class HighsOracle(Oracle):
    """HiGHS by ``scipy.optimize.linprog``."""

    def _solve(self, x):
        n = self._matrix.shape[1]
        return self._optimum(self._costs, self._matrix.toarray(), x, [(0.0, 1.0)] * n)

    def _end(self, x, d, sign):
        n = self._matrix.shape[1]
        A = np.column_stack([self._matrix.toarray(), -d])
        bounds = [(0.0, 1.0)] * n + [(None, None)]
        y = self._optimum(np.append(np.zeros(n), sign), A, x, bounds)
        return None if y is None else float(y[-1])

    def _optimum(self, costs, A, x, bounds):
        found = linprog(costs, A_eq=A, b_eq=x, bounds=bounds, method="highs-ds", options=OPTIONS)
        if found.x is None and found.status != INFEASIBLE:
            raise ArithmeticError(f"HiGHS gave up: {found.message}; rescale A")
        return found.x
