"""Algorithm 5 of the paper on a solver of linear programs: three programs a step.

Two programs for the ends of the chord, one for the tile of the proposed point. The solver is any
object with ``solve(x)`` and ``chord(x, d)``, such as the oracles of `zonodpp.zonotope.oracles`;
`LinprogOracle` is scipy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

INSIDE = 1e-9  # an entry of y this far from 0 and 1 is in the basis


class LinprogOracle:
    """The programs by ``scipy.optimize.linprog``, HiGHS, each from scratch."""

    def __init__(self, A: Any, c: Any) -> None:
        self.A, self.c = A, c
        n = A.shape[1]
        self.bounds = np.tile([0.0, 1.0], (n, 1))
        self.line_bounds = np.vstack([self.bounds, [-np.inf, np.inf]])
        self.alpha = np.append(np.zeros(n), 1.0)

    def solve(self, x: Any) -> Any:
        """Return the vertex of min c'y, A y = x, 0 <= y <= 1, or None."""
        return linprog(self.c, A_eq=self.A, b_eq=x, bounds=self.bounds, method="highs-ds").x

    def chord(self, x: Any, d: Any) -> tuple[float, float]:
        """Return the ends of min +-alpha, A y - alpha d = x, 0 <= y <= 1."""
        A = np.column_stack([self.A, -d])
        low, high = (
            linprog(sign * self.alpha, A_eq=A, b_eq=x, bounds=self.line_bounds, method="highs-ds")
            for sign in (1.0, -1.0)
        )
        if low.x is None or high.x is None:
            raise ValueError("the point is outside the zonotope")
        return float(low.x[-1]), float(high.x[-1])


def hit_and_run(A: Any, oracle: Any, steps: int, rng: np.random.Generator) -> Any:
    """Run the chain and return its bases, (steps, r).

    A proposed point whose tile the solver does not show, because its vertex has fewer than r
    entries inside, counts as rejected.
    """
    r, n = A.shape
    x = A @ rng.random(n)
    basis, volume = tile_of(A, oracle, x)
    bases = np.empty((steps, r), np.int64)
    for k in range(steps):
        d = rng.standard_normal(r)
        d /= np.linalg.norm(d)
        low, high = oracle.chord(x, d)
        proposal = x + rng.uniform(low, high) * d
        found, size = tile_of(A, oracle, proposal)
        if rng.random() * volume < size:
            x, basis, volume = proposal, found, size
        bases[k] = basis
    return bases


def tile_of(A: Any, oracle: Any, x: Any) -> tuple[Any, float]:
    """Return the tile of a point and its volume; volume 0 if there is none."""
    y = oracle.solve(x)
    inside = () if y is None else np.flatnonzero((y > INSIDE) & (y < 1.0 - INSIDE))
    if len(inside) != A.shape[0]:
        return inside, 0.0
    return inside, float(abs(np.linalg.det(A[:, inside])))
