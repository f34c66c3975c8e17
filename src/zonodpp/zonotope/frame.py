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

from zonodpp._types import Floats, Integers, Matrix
from zonodpp.chains.columns import UnitColumns, basis_matrix, even_rows, keep_columns, unit_vectors
from zonodpp.numerics.arrays import accurate_product, column_chunks, frozen
from zonodpp.numerics.gram import factorise
from zonodpp.zonotope.chord import Ellipsoid, ellipsoid_of

# Error of a sum, relative to the sum of the sizes of its terms: a few units in the last place.
_ROUNDING = 16 * np.finfo(float).eps
# Size of the perturbation, relative to the largest cost. This is far above the rounding errors of
# reduced costs, about 1e-15, so that every computation finds an item on the same side of zero.
PERTURBATION = 1e-9
_ENTRIES_AT_ONCE = 2**22  # of bases whose determinants are computed together, 32 MiB
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
            scaled = np.ldexp(vector, -self.heights - exponent)
            if not np.all(np.isfinite(scaled)):
                return np.full(scaled.shape, np.inf)
            return np.asarray(accurate_product(self.W, scaled[:, None])[0][:, 0])

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

    def log_volumes(self, bases: Integers) -> Floats:
        """Return log |det (A S)_B| for each of the bases, (count, r)."""
        count, r = bases.shape
        logs = np.log(self.columns.lengths[bases]).sum(axis=1)
        step = max(1, _ENTRIES_AT_ONCE // r**2)
        for first in range(0, count, step):
            some = bases[first : first + step]
            vectors = basis_matrix(self.columns, some.ravel()).T.reshape(len(some), r, r)
            logs[first : first + step] += np.linalg.slogdet(vectors)[1]
        logs += self.heights.sum() * np.log(2.0) - np.log(np.abs(np.diagonal(self.W))).sum()
        return np.asarray(logs)


def frame_of(A: Matrix, scale: Floats | None, *, multiple: int = 1) -> Frame:
    """Choose M for the columns s_j a_j; raise RankError if they are numerically dependent."""
    X, heights = even_rows(A, scale)
    blur = _ROUNDING * np.asarray(abs(X).sum(axis=1))  # of a sum of columns, before W is applied
    gram = factorise(X, None)
    W, whitener = np.eye(len(heights)), gram.W
    if not gram.well_conditioned:
        W, whitener = whitener, W
        # Rows that are nearly dependent cancel in W X. In double precision the columns would lose
        # as many digits, and columns that are dependent would no longer be so.
        chunks = [accurate_product(W, chunk)[0] for _, chunk in column_chunks(X, None)]
        X = np.concatenate(chunks, axis=1)
    columns = keep_columns(*unit_vectors(X), multiple=multiple)
    columns = columns._replace(blur=frozen(np.abs(W) @ blur))
    return Frame(columns, heights, frozen(W), ellipsoid_of(columns, whitener))
