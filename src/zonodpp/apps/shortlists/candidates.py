"""Items that may be on a shortlist, and how alike they are.

Needs NumPy alone for cosines of dense rows, so that a first list does not wait for SciPy.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from zonodpp._arguments import check_finite
from zonodpp._imports import on_use
from zonodpp._types import Booleans, Floats, Integers, Matrix

_ROUNDING = 2e-6  # in single precision the cosine of equal rows may differ from one by this


class Candidates(NamedTuple):
    """Items that may be picked: those that must be picked, then the most relevant first.

    Similarity is ``exp(-distance / spread)`` or, without a spread, the cosine of rows of length
    one. Items closer than ``least_distance`` are never picked together. Items that were shown
    before repel those that are picked.
    """

    relevance: Floats
    rows: Matrix
    spread: float | None
    least_distance: float
    shown: Matrix | None = None

    @classmethod
    def of(
        cls,
        rows: Matrix,
        some: Integers,
        relevance: Floats,
        k: int,
        duplicates: float | None,
        shown: Integers | tuple[()] = (),
    ) -> Self:
        """Choose the similarity of some of the rows, whose relevance is given.

        This is the cosine, or for fewer than k columns that of distances.
        """
        if len(shown):
            both = cls.of(rows, np.append(some, shown), relevance, k, duplicates)
            m = len(some)
            return both._replace(rows=both.rows[:m], shown=both.rows[m:])
        if duplicates is not None and not 0.0 < duplicates <= 1.0:
            raise ValueError(f"duplicates must be above 0 and at most 1, got {duplicates}")
        near = -1.0 if duplicates is None else max(1.0 - duplicates, _ROUNDING)
        found = rows[some]  # others, such as those of excluded items, may have NaN
        if not np.isfinite(found if isinstance(found, np.ndarray) else found.data).all():
            check_finite(rows, "features")  # names the place among all rows
        if not isinstance(rows, np.ndarray) or rows.shape[1] >= k:
            return cls(relevance, _unit_length(found), None, near)
        functions = on_use("zonodpp.numerics.kernel_function")
        found = functions.Units.of(found).place(found).astype(np.float64)
        return cls(relevance, found, functions.spread_of(found), near)

    def take(self, some: Integers) -> Self:
        """Return some of the items."""
        return self._replace(relevance=self.relevance[some], rows=self.rows[some])

    def near_shown(self) -> Booleans:
        """Tell which items nearly duplicate one that was shown."""
        assert self.shown is not None
        found = 1.0 - self.similarity(self.shown) <= self.least_distance
        return np.asarray(found.any(axis=0))

    def similarity(self, rows: Matrix, others: Matrix | None = None) -> Floats:
        """Return how alike the given rows and others (columns) are, by default all items."""
        others = self.rows if others is None else others
        if self.spread is not None:
            functions = on_use("zonodpp.numerics.kernel_function")
            return np.asarray(functions.exponential(rows, others, self.spread))
        cosines = rows @ others.T
        return cosines if isinstance(cosines, np.ndarray) else np.asarray(cosines.toarray())

    def near(self, some: slice | Integers, stop: int | None = None) -> Booleans:
        """Tell which items (columns; all, or the first ``stop``) nearly duplicate some (rows)."""
        found = 1.0 - self.similarity(self.rows[some], self.rows[:stop]) <= self.least_distance
        items = np.arange(len(self.relevance))[some]
        found[np.arange(len(items)), items] = False
        return np.asarray(found)


def _unit_length(rows: Matrix) -> Matrix:
    """Bring rows to length one, in place and without SciPy if dense and of usual size."""
    if isinstance(rows, np.ndarray):
        squares = np.einsum("ij,ij->i", rows, rows)
        if squares.min() > np.finfo(squares.dtype).tiny and squares.max() < np.inf:
            rows /= np.sqrt(squares)[:, None]
            return rows
    unit: Matrix = on_use("zonodpp.numerics.arrays").unit_rows(rows)
    return unit
