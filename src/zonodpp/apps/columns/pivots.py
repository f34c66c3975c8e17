"""Columns picked from the k leading right singular vectors V of a matrix, as rows of V.

With columns S, ``A ~ A_S V_S^{-1} V'`` is exact for the part of A along V. What it makes of the
rest of A, the matrix B = A - A V V', decides about the error.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from zonodpp._types import Floats, Integers, Rng
from zonodpp.apps.columns.search import ColumnCoordinates
from zonodpp.numerics.arrays import EPS
from zonodpp.runs.sample import sample
from zonodpp.targets import ProjectionDPP


def draw_pivots(V: Floats, rest: Floats, rng: Rng | None) -> Integers:
    """Draw from the projection DPP of V (adaptive randomized pivoting).

    The expected squared error of ``A_S V_S^{-1} V'`` is (k + 1) |B|^2, or less if V_S is singular
    for some S (Cortinovis, Kressner 2024; that the law is this DPP: Epperly 2025).
    """
    found = sample(ProjectionDPP.from_features(V), 1, rng=rng, progress=False)[0]
    return np.asarray(found, dtype=np.int64)


def derandomised(V: Floats, rest: Floats, rng: Rng | None) -> Integers:
    """Pick one column after another so that |B|^2 grows least (Osinsky 2023).

    ``rest`` has the columns of B as rows. A pick j turns column l of B into ``b_l - b_j c_l`` with
    ``c_l = w_l . w_j / |w_j|^2``, where W are the rows of V outside the span of those picked. This
    adds ``|b_j|^2 / |w_j|^2`` to |B|^2, and the least of these is at most |B|^2 / (k - i) after i
    picks, their mean for j drawn in proportion to |w_j|^2. The product of the factors
    ``1 + 1 / (k - i)`` is k + 1.
    """
    W, B = V.copy(), rest.copy()
    picks = np.zeros(V.shape[1], dtype=np.int64)
    rounding = max(EPS**2 * float((rest**2).sum()), float(np.finfo(float).tiny))
    for i in range(len(picks)):
        lengths = np.einsum("ij,ij->i", W, W)
        lengths[picks[:i]] = 0.0
        shares = np.einsum("ij,ij->i", B, B) + rounding
        j = picks[i] = int(np.argmax(lengths / shares))
        c = W @ W[j] / lengths[j]
        W -= np.outer(c, W[j])
        B -= np.outer(c, B[j])
    return picks


def pivots(V: Floats, rest: Floats, rng: Rng | None) -> Integers:
    """Return the pivots of a QR factorisation of V' (Q-DEIM; Drmac, Gugercin 2016)."""
    _, order = scipy.linalg.qr(V.T, mode="r", pivoting=True)
    return np.asarray(order[: V.shape[1]], dtype=np.int64)


PICKERS: dict[str, Callable[[Floats, Floats, Rng | None], Integers]] = {
    "arp": draw_pivots,
    "osinsky": derandomised,
    "qdeim": pivots,
}


def pick_by_directions(
    given: ColumnCoordinates, k: int, method: str, rng: Rng | None = None
) -> Integers:
    """Return k columns, or fewer if the matrix has lower rank, in ascending order."""
    k = min(k, given.rank)
    if k == 0:
        return np.zeros(0, dtype=np.int64)
    V = given.C[:, :k] / np.sqrt(given.squares[:k])
    rest = given.C[:, k:]
    if given.tail.any():  # one more coordinate, as if all left-out parts had one direction
        rest = np.column_stack([rest, np.sqrt(given.tail)])
    return np.sort(PICKERS[method](V, rest, rng))


def oblique_coefficients(V: Floats, columns: Integers) -> Floats:
    """Return V_S^{-1} V', the coefficients of the bound."""
    return np.asarray(np.linalg.solve(V[columns].T, V.T))
