"""Coordinates in which to compute: rows of A of about size one, whitened if nearly dependent.

For an invertible matrix M, Z(MA) = M Z(A): M maps tiles to tiles and chords to chords, and keeps
the laws. So rows of very different size and rows that are nearly dependent do no harm. M = W D,
where D is diagonal with powers of two, which change no digit, and W is the identity or the
whitening of D A.

The linear objective c is brought to unit columns, too, and its ties are broken. The costs c give
one tile to each basis, and the tiles fill the zonotope without holes or overlaps, if and only if no
reduced cost of an item outside a basis is zero. Costs with ties (all zero, two values, a row of A)
give no tiling. To find all ties one would have to look at every basis, so a small perturbation is
added to all costs. It breaks ties, and costs without ties keep their tiles except where a reduced
cost is as small as the perturbation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from zonodpp._basis.columns import (
    UnitColumns,
    basis_matrix,
    even_rows,
    keep_columns,
    rounding_of,
    unit_vectors,
)
from zonodpp._linalg.dense import column_chunks, frozen
from zonodpp._linalg.gram import factorise
from zonodpp._tiles.chord import Ellipsoid, ellipsoid_of
from zonodpp._types import Floats, Integers, Matrix

# Relative to the largest cost. This is far above the rounding errors of reduced costs, about 1e-15,
# so that every computation finds an item on the same side of zero.
PERTURBATION = 1e-9
_SHORTEST = 1e-200  # the least length that costs are divided by, so that they do not overflow
SEED = (0x7A6F6E6F, 0x64707021)  # arbitrary but fixed: equal costs have the same tiling each time


class Frame(NamedTuple):
    """The zonotope of the columns s_j a_j in the coordinates M: Z(M A S)."""

    columns: UnitColumns
    heights: Integers  # (r,) D = diag(2**-heights)
    W: Floats  # (r, r) lower triangular
    ellipsoid: Ellipsoid  # its whitener makes the rows of M A S orthonormal

    def map(self, vector: Floats, exponent: int = 0) -> Floats:
        """Return M v / 2**exponent; not finite if that is beyond floating-point numbers."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.W @ np.ldexp(vector, -self.heights - exponent))

    def map_back(self, points: Floats) -> Floats:
        """Return M^{-1} x for each row x."""
        rows = scipy.linalg.solve_triangular(self.W, points.T, lower=True)
        return np.asarray(np.ldexp(rows.T, self.heights))

    def costs(self, c: Floats) -> Floats:
        """Return costs for unit columns, with ties broken: c_j y_j = (c_j / l_j) (l_j y_j).

        The tiling does not depend on the scale of c, which is brought to one.
        """
        exponent = np.frexp(np.abs(c).max())[1]
        noise = np.random.default_rng(SEED).standard_normal(c.size)
        costs: Floats = np.ldexp(c, -exponent) + PERTURBATION * noise
        return costs / np.maximum(self.columns.lengths[: c.size], _SHORTEST)

    def log_volume(self, basis: Integers) -> float:
        """Return log |det (A S)_B|."""
        log_det = np.linalg.slogdet(basis_matrix(self.columns, basis))[1]
        log_det += np.log(self.columns.lengths[basis]).sum() + self.heights.sum() * np.log(2.0)
        return float(log_det - np.log(np.abs(np.diagonal(self.W))).sum())


def frame_of(A: Matrix, scale: Floats | None, *, multiple: int = 1) -> Frame:
    """Choose M for the columns s_j a_j; raise RankError if they are numerically dependent."""
    X, heights = even_rows(A, np.ones(A.shape[1]) if scale is None else scale)
    blur = rounding_of(X, np.ones(X.shape[1]))
    gram = factorise(X, None)
    W, whitener = np.eye(len(heights)), gram.W
    if not gram.well_conditioned:
        W, whitener = whitener, W
        X = np.concatenate([W @ chunk for _, chunk in column_chunks(X, None)], axis=1)
    columns = keep_columns(*unit_vectors(X), multiple=multiple)
    columns = columns._replace(blur=frozen(np.abs(W) @ blur))
    return Frame(columns, heights, frozen(W), ellipsoid_of(columns, whitener))
