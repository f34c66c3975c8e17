"""Landmarks of rows beyond memory, read in three passes: for moments, for the law, for the draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats, MatrixLike
from zonodpp.apps.landmarks.features import PrincipalAxes, left_out, outlyingness
from zonodpp.targets.batches import RowSource, source_of
from zonodpp.targets.passes import View
from zonodpp.targets.stream import StreamedDPP, directions_of_moments, take_moments

_LEAST = 1e-280  # mean squared distance below which squares of entries lose digits


@dataclass(frozen=True, kw_only=True)
class _SimplexView(View):
    """Rows as a constant and their principal coordinates, scaled to equal spread.

    The weight of a row is divided by the squared length that its coordinates leave out, as in
    `outlyingness`. If ``left_out`` is zero, weights stay as they are.
    """

    axes: PrincipalAxes
    left_out: float  # the mean of that length over all rows, or zero

    def seen(self, rows: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
        """Return coordinates and weights."""
        features, left = self.axes.simplex(rows)
        factors = 1.0 / outlyingness(left, self.left_out)
        return features, factors if weights is None else weights * factors

    def times(self, W: Floats) -> NoReturn:
        """Raise an error: this view cannot be computed with more digits than float64 has."""
        raise ValueError(
            "under their weights, the rows lie so nearly in a smaller space that their law cannot "
            "be computed in passes; pass fewer landmarks, or downweight_outliers=False"
        )


def rows_beyond_memory(
    X: MatrixLike, weights: ArrayLike | None, transformer: object
) -> RowSource | None:
    """Return X as a source of batches of rows; None if X is, or can be, loaded into memory."""
    found = source_of(X, weights, None, None)
    if found is None or (transformer != "pca" and isinstance(X, np.memmap)):
        return None
    if transformer != "pca":
        raise ValueError(
            "landmarks of rows beyond memory are drawn with transformer='pca'; for all else load "
            "the rows, or some of them, into memory"
        )
    return found[0]


def streamed_target(source: RowSource, m: int, downweight: bool) -> tuple[StreamedDPP, float]:
    """Return the law of m landmarks, and the sum of the variances of the columns.

    With ``downweight``, rows far from the principal directions weigh less.
    """
    moments = take_moments(source, View(), centred=True)
    if moments.weight == 0:
        raise ValueError("the weights of all rows are zero: none could ever be picked")
    if not np.isfinite(moments.scatter).all():
        raise ValueError("the squares of entries of X overflow; scale the columns first")
    axes = PrincipalAxes(
        moments.mean, *directions_of_moments(source, moments, m - 1, weighted=True)
    )
    found = len(axes.spread)
    if found < m - 1:
        raise ValueError(
            f"n_landmarks={m} needs {m - 1} principal directions, and the rows have {found}; "
            f"pass n_landmarks={found + 1} or less, or load the rows into memory"
        )
    scatter = float(np.trace(moments.scatter))
    if found and scatter < _LEAST * moments.weight:
        raise ValueError(
            "the squares of differences of rows of X vanish; multiply the columns first"
        )
    mean = float(left_out(np.array([scatter]), axes.spread[None])[0]) / moments.weight
    law = StreamedDPP(source, _SimplexView(axes=axes, left_out=downweight * mean))
    return law, scatter / moments.weight
