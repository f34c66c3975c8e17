"""`optimal_design`: which experiments to make, given those that have been made.

An exchange of run i for candidate j changes the information matrix M = X'X of all runs by two
matrices of rank one. With C = M^-1, l_ab = x_a' C x_b and f_ab = x_a' C W C x_b, the determinant of
M is multiplied by D = (1 - l_ii)(1 + l_jj) + l_ij^2, and tr(W C) changes by
((1 + l_jj) f_ii - 2 l_ij f_ij - (1 - l_ii) f_jj) / D. The best exchange is made again and again
(Fedorov, 1972), from several random designs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from zonodpp._arguments import as_count, as_flag, as_matrix, check_finite, one_of, spawn
from zonodpp._imports import optional
from zonodpp._types import Floats, Integers, Rng, SeedLike
from zonodpp.apps.tables import is_table, table_of
from zonodpp.numerics.arrays import EPS, to_dense
from zonodpp.numerics.threads import one_thread

_STARTS = 30  # random designs from which exchanges begin; ten were up to 0.3% worse
_BETTER = 1e-9  # relative gain below which an exchange is not worth making
_LEAST = 1e-10  # D of an exchange, or relative eigenvalue of M, below which M counts as singular
_DEPENDENT = 1e3 * EPS  # relative size of a pivot that is only rounding


def optimal_design(
    candidates: Any,
    k: int,
    *,
    given: Any = None,
    replicates: bool = True,
    criterion: str = "D",
    formula: str | None = None,
    rng: SeedLike = 0,
) -> Integers:
    """Choose k runs among candidates, so that a linear model is estimated as well as possible.

    Parameters
    ----------
    candidates : (n, d) array_like, table or path
        The runs that are possible. Of an array, the columns are the terms of the model, a column of
        ones included if the model has a constant. Of a table, the columns are factors.
    k : int
        How many runs to add.
    given : array_like or table, optional
        Runs that have been made, with the columns of the candidates: the new runs complete them.
    replicates : bool, default True
        Whether a candidate may be chosen more than once.
    criterion : {"D", "A", "I"}
        With the information matrix M of all runs, those given included: ``"D"`` maximises det(M),
        ``"A"`` minimises the mean variance of the coefficients, ``"I"`` that of the predictions at
        the candidates.
    formula : str, optional
        For a table, the terms of the model as formulaic reads them, such as ``"a * b + I(a**2)"``.
        None: a constant and every column by itself, text and categories as factors.
    rng : seed or Generator, default 0
        For the random designs at which the search begins.

    Returns
    -------
    (k,) array of int
        The candidates to run, ascending, some of them several times.

    Raises
    ------
    ValueError
        When k runs, with those given, are too few for the terms of the model, or terms are
        linearly dependent.

    See Also
    --------
    zonodpp.Design : Random designs, and their most likely one.
    DesignRegression : Least squares on few labels.

    References
    ----------
    V. V. Fedorov, "Theory of Optimal Experiments", Academic Press (1972).

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.apps import optimal_design
    >>> x = np.linspace(-1, 1, 21)
    >>> X = np.column_stack([np.ones(21), x, x**2])
    >>> optimal_design(X, 6)
    array([ 0,  0, 10, 10, 20, 20])
    >>> optimal_design(X, 2, given=X[[0, 0, 20, 20]])
    array([10, 10])
    """
    k = as_count(k, "k", 1)
    as_flag(replicates, "replicates")
    one_of(criterion, "criterion", ("D", "A", "I"))
    rows, runs = _terms(candidates, given, formula)
    n, d = rows.shape
    if not replicates and k > n:
        raise ValueError(f"k = {k} runs asked for, but there are {n} candidates")
    if k + len(runs) < d:
        raise ValueError(
            f"k = {k} runs and {len(runs)} given ones are fewer than the {d} terms of the model; "
            "ask for more runs"
        )
    with one_thread():
        Q, R = scipy.linalg.qr(np.concatenate([rows, runs]), mode="economic")
        pivots = np.abs(np.diagonal(R))
        if pivots.min() <= _DEPENDENT * pivots.max():
            raise ValueError("the terms of the model are linearly dependent; leave some out")
        inverse = scipy.linalg.solve_triangular(R, np.eye(d))
        # In the basis Q, A is the trace with (R'R)^-1 and I that with the mean of x x'.
        means = {"D": None, "A": inverse.T @ inverse, "I": Q[:n].T @ Q[:n] / n}
        search = _Search(Q[:n], Q[n:].T @ Q[n:], means[criterion], replicates)
        starts = spawn(rng, _STARTS, purpose="design")
        designs = [start.choice(n, k, replace=replicates) for start in starts]
        for place, start in enumerate(starts):
            if not search.spans(designs[place]):
                designs[place] = _start(Q[:n], Q[n:], k, replicates, start)
        found = [search.climb(design) for design in designs]
    return np.sort(max(found, key=search.value))


def _terms(candidates: Any, given: Any, formula: str | None) -> tuple[Floats, Floats]:
    """Return the terms of the model for the candidates and for the runs given."""
    if is_table(candidates) or hasattr(candidates, "suffix") or isinstance(candidates, str):
        frame = table_of(candidates).frame
        n = len(frame)
        if given is not None:
            pandas = optional("pandas", "tables", "a table of candidates")
            runs = table_of(given).frame[list(frame.columns)]
            frame = pandas.concat([frame, runs], ignore_index=True)
        materials = optional("formulaic", "tables", "a table of candidates")
        terms = formula or " + ".join(f"`{name}`" for name in frame.columns)
        X = np.asarray(materials.model_matrix(terms, frame, na_action="ignore"), dtype=np.float64)
        check_finite(X, "candidates")
        return X[:n], X[n:]
    if formula is not None:
        raise TypeError("formula= is for a table of candidates, and these are an array")
    rows = to_dense(as_matrix(candidates, "candidates"))
    check_finite(rows, "candidates")
    if given is None:
        return rows, np.zeros((0, rows.shape[1]))
    runs = to_dense(as_matrix(given, "given"))
    check_finite(runs, "given")
    if runs.shape[1] != rows.shape[1]:
        raise ValueError(
            f"given must have the {rows.shape[1]} columns of the candidates, got {runs.shape[1]}"
        )
    return rows, runs


def _start(rows: Floats, runs: Floats, k: int, replicates: bool, rng: Rng) -> Integers:
    """Draw k rows that span, with the runs given, the space; the first ones by pivoted QR."""
    d = rows.shape[1]
    left = rows * rng.uniform(0.1, 1.0, size=(len(rows), 1))
    if len(runs):
        _, values, directions = np.linalg.svd(runs, full_matrices=True)
        free = np.ones(d, dtype=bool)
        free[: len(values)] = values <= _DEPENDENT * len(runs)
        left = left @ directions[free].T
    basis = np.zeros(0, dtype=np.int64)
    if left.shape[1]:
        order = scipy.linalg.qr(left.T, mode="r", pivoting=True)[1]
        basis = np.asarray(order[: min(left.shape[1], k)], dtype=np.int64)
    others = np.arange(len(rows)) if replicates else np.setdiff1d(np.arange(len(rows)), basis)
    return np.append(basis, rng.choice(others, k - len(basis), replace=replicates))


class _Search:
    """Exchanges of the runs of a design for candidates."""

    def __init__(self, rows: Floats, fixed: Floats, W: Floats | None, replicates: bool) -> None:
        self.rows, self.fixed, self.W, self.replicates = rows, fixed, W, replicates

    def _information(self, members: Integers) -> Floats:
        chosen = self.rows[members]
        return self.fixed + chosen.T @ chosen

    def spans(self, members: Integers) -> bool:
        """Tell whether all terms can be estimated, with digits to spare."""
        values = np.linalg.eigvalsh(self._information(members))
        return bool(values[0] > _LEAST * values[-1])

    def value(self, members: Integers) -> float:
        """Return the logarithm of the determinant, or minus that of the trace."""
        sign, log_det = np.linalg.slogdet(self._information(members))
        if sign <= 0:
            return -np.inf
        if self.W is None:
            return float(log_det)
        inverse = np.linalg.inv(self._information(members))
        return -float(np.log(np.einsum("ij,ij->", self.W, inverse)))

    def climb(self, members: Integers) -> Integers:
        """Make the best exchange until none is better."""
        best = self.value(members)
        while True:
            place, item = self._best_exchange(members)
            changed = members.copy()
            changed[place] = item
            value = self.value(changed)
            if not value > best + _BETTER:
                return members
            members, best = changed, value

    def _best_exchange(self, members: Integers) -> tuple[int, int]:
        """Return the place of the run that leaves, and the candidate that takes it."""
        C = np.linalg.inv(self._information(members))
        chosen = self.rows[members]
        white = self.rows @ C
        cross = white @ chosen.T  # l_ji
        stays = 1.0 - np.einsum("ij,ij->i", chosen @ C, chosen)
        comes = 1.0 + np.einsum("ij,ij->i", white, self.rows)
        factor = np.outer(comes, stays) + cross**2
        if self.W is None:
            gain = factor
        else:
            f = white @ self.W @ white[members].T
            mine = np.einsum("ij,ij->i", white[members] @ self.W, white[members])
            theirs = np.einsum("ij,ij->i", white @ self.W, white)
            change = np.outer(comes, mine) - 2.0 * cross * f - np.outer(theirs, stays)
            gain = np.where(factor > _LEAST, -change / np.maximum(factor, _LEAST), -np.inf)
        if not self.replicates:
            gain[members] = -np.inf
        item, place = np.unravel_index(int(np.argmax(gain)), gain.shape)
        return int(place), int(item)
