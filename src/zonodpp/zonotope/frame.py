"""Coordinates in which to compute: those of A when they are sound, else equilibrated or whitened.

Z(MA) = M Z(A), and tiles, chords and laws go along. So a row in odd units, or rows that are nearly
dependent, need not spoil the arithmetic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from zonodpp.matrices.columns import Floats, frozen
from zonodpp.matrices.gram import column_chunks, factorise
from zonodpp.zonotope.chord import Ellipsoid, ellipsoid_of
from zonodpp.zonotope.products import Engine, make_engine

UNEVEN = 1e3  # rows whose lengths differ by more are brought to one length


class Frame(NamedTuple):
    """The zonotope of the columns s_j a_j, computed with as Z(M A S)."""

    engine: Engine
    M: Floats  # (r, r) lower triangular
    whitener: Floats  # (r, r) lower triangular: whitener M A S has orthonormal rows
    ellipsoid: Ellipsoid


def frame_of(A: Any, scale: Floats | None) -> Frame:
    """Choose M: the identity, a diagonal, or the whitening of a nearly dependent A."""
    gram = factorise(A, scale, check_rank=False)
    r = A.shape[0]
    if not gram.well_conditioned:
        M = np.tril(gram.W)
        A = np.concatenate([M @ chunk for _, chunk in column_chunks(A, None)], axis=1)
    else:
        if sp.issparse(A):
            norms = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
        else:
            norms = np.linalg.norm(A, axis=1)
        M = np.eye(r)
        if norms.max() > UNEVEN * norms.min():
            M = np.diag(1.0 / norms)
            A = sp.diags_array(1.0 / norms) @ A if sp.issparse(A) else A / norms[:, None]
    engine = make_engine(A, scale)
    whitener = np.tril(gram.W @ np.linalg.inv(M))
    return Frame(engine, frozen(M), frozen(whitener), ellipsoid_of(engine, whitener))
