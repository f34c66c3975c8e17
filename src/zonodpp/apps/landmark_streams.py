"""Landmarks of rows beyond memory, by three passes: for the moments, for the law, for the draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Integers, MatrixLike
from zonodpp.apps.landmark_features import GUARD
from zonodpp.runs.sampling import sample
from zonodpp.streams.passes import View
from zonodpp.streams.sources import RowSource, source_of
from zonodpp.targets.streamed import StreamedDPP, directions_of_moments, take_moments


@dataclass(frozen=True, kw_only=True)
class SimplexView(View):
    """Rows as a constant and their principal coordinates, scaled to equal spread.

    The weight of a row is divided by the squared length that its coordinates leave out, as in
    `landmark_features.outlyingness`; not if ``left_out`` is zero.
    """

    centre: Floats
    axes: Floats  # (d, k) principal directions
    spread: Floats  # (k,) along them
    left_out: float  # the mean of that length over all rows, or zero

    def seen(self, rows: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
        """Return coordinates and weights."""
        rows -= self.centre
        features = np.ones((len(rows), 1 + len(self.spread)))
        scores = rows @ self.axes
        features[:, 1:] = scores / self.spread
        if self.left_out > np.finfo(float).tiny:
            short = np.einsum("ij,ij->i", rows, rows) - np.einsum("ij,ij->i", scores, scores)
            factors = 1.0 / (np.maximum(short, 0.0) / self.left_out + GUARD)
            weights = factors if weights is None else weights * factors
        return features, weights

    def times(self, W: Floats) -> NoReturn:
        """Refuse: more digits than float64 has are not computed here."""
        raise ValueError(
            "under their weights, the rows lie so nearly in a smaller space that their law cannot "
            "be computed in passes; pass fewer landmarks, or downweight_outliers=False"
        )


class StreamedLandmarks(NamedTuple):
    """Landmarks, their row numbers and log probability, and the variance of all entries."""

    indices: Integers
    rows: Floats
    log_prob: float
    variance: float


def rows_beyond_memory(
    X: MatrixLike, weights: ArrayLike | None, transformer: object
) -> RowSource | None:
    """Return the source of rows that X is; None if X is, or can be, loaded into memory."""
    found = source_of(X, weights, None, None)
    if found is None or (transformer != "pca" and isinstance(X, np.memmap)):
        return None
    if transformer != "pca":
        raise ValueError(
            "landmarks of rows beyond memory are drawn with transformer='pca'; for all else load "
            "the rows, or some of them, into memory"
        )
    return found[0]


def draw_landmarks(
    source: RowSource, m: int, downweight: bool, draws: int, method: str, rng: np.random.Generator
) -> StreamedLandmarks:
    """Draw m rows; with ``downweight``, those far from the principal directions weigh less."""
    moments = take_moments(source, View(), centred=True)
    if moments.weight == 0:
        raise ValueError("the weights of all rows are zero: none could ever be picked")
    directions, spread = directions_of_moments(source, moments, m - 1, weighted=True)
    if len(spread) < m - 1:
        raise ValueError(
            f"n_landmarks={m} needs {m - 1} principal directions, and the rows have {len(spread)}; "
            f"pass n_landmarks={len(spread) + 1} or less, or load the rows into memory"
        )
    scatter = float(np.trace(moments.scatter))
    view = SimplexView(
        centre=moments.mean,
        axes=directions,
        spread=spread,
        left_out=downweight * (scatter - float(spread @ spread)) / moments.weight,
    )
    target = StreamedDPP(source, view)
    chosen = sample(target, draws, method=method, rng=rng, progress=False).best()
    indices = np.asarray(chosen, dtype=np.int64)
    variance = scatter / (moments.weight * moments.mean.size) + float(moments.mean.var())
    rows = target.rows_of(indices)
    return StreamedLandmarks(indices, rows, float(target.log_prob(indices)), variance)
