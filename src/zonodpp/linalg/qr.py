"""The triangular factor of a tall matrix, a block of rows at a time, and the rank it shows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from zonodpp._types import Floats

_EPS = float(np.finfo(float).eps)


def triangle(blocks: Iterable[Floats]) -> Floats:
    """Return R of X = QR, for X given by blocks of its rows.

    R'R = X'X, and R loses as many digits as X is badly conditioned; X'X would lose twice as many.
    """
    R = None
    for block in blocks:
        R = np.linalg.qr(block if R is None else np.vstack([R, block]), mode="r")
    assert R is not None
    return np.asarray(R)


def numerical_rank(singular: NDArray[np.floating]) -> int:
    """Count the singular values, in descending order, that are more than rounding errors."""
    return int(np.sum(singular > 8 * len(singular) * _EPS * singular[0]))
