"""What one pass over batches of rows computes: moments, triangles, and proposals.

Each is a function of one batch, whose first arguments `functools.partial` sets for a pass, and a
function that merges two results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.numerics.arrays import accurate_product
from zonodpp.numerics.gram import triangle
from zonodpp.targets.batches import Batch

# Entries of the blocks that a batch is worked on in: a block as float64 (256 KiB) and its product
# with a small matrix fit into the second-level cache together. Blocks twice as large took twice
# the time for products with 16 x 16 matrices.
BLOCK = 2**15
_GOLDEN = (5**0.5 - 1) / 2  # its multiples modulo 1 are spread evenly, neighbours far apart


class RowBlock(NamedTuple):
    """Consecutive rows of a batch, as a `View` returns them; valid until the next block is made."""

    rows: Floats
    weights: Floats | None
    total: float  # the sum of what was stored, weighted by place

    def scaled(self) -> Floats:
        """Return the rows times the roots of their weights."""
        return self.rows if self.weights is None else self.rows * np.sqrt(self.weights)[:, None]


@dataclass(frozen=True)
class View:
    """The features of rows: the rows as they are, or their principal coordinates."""

    mean: Floats | None = None
    directions: Floats | None = None  # (d, r)
    weighted: bool = True
    accurate: bool = False  # whether products need more digits than float64 has

    def blocks(self, number: int, batch: Batch) -> Iterator[RowBlock]:
        """Yield a batch as float64, a block at a time; one empty block if it has no rows.

        An entry that is not finite is an error.
        """
        m, d = batch.rows.shape
        step = max(d, BLOCK // max(1, d), 1)
        room = np.empty((min(m, step), d))  # one for all blocks: new memory costs more than sums
        for start in range(0, max(1, m), step):
            rows = room[: min(step, m - start)]
            rows[:] = batch.rows[start : start + step]
            place = 1.0 + start / step * _GOLDEN % 1.0
            total = place * _sum(rows, number, start, "an entry that is NaN or infinite")
            weights = None
            if batch.weights is not None and self.weighted:
                weights = np.asarray(batch.weights[start : start + step], dtype=np.float64)
                problem = "a weight that is negative or not finite"
                column = np.where(weights >= 0, weights, np.nan)[:, None]
                total += place * _sum(column, number, start, problem)
            yield RowBlock(*self.seen(rows, weights), total)

    def seen(self, rows: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
        """Return the features of rows, and their weights; the rows may be overwritten."""
        if self.mean is not None:
            rows -= self.mean
        if self.directions is not None and self.accurate:
            product, error = accurate_product(self.directions.T, rows.T)
            rows = np.where(np.abs(product) > error, product, 0.0).T
        elif self.directions is not None:
            rows = rows @ self.directions
        return rows, weights

    def times(self, W: Floats) -> View:
        """Return the view of these rows times W, computed with more digits than float64 has."""
        directions = W if self.directions is None else self.directions @ W
        return replace(self, directions=np.ascontiguousarray(directions), accurate=True)


def _sum(values: Floats, number: int, start: int, problem: str) -> float:
    """Return a weighted sum of entries (m, d); raise ``problem`` if one of them is not finite.

    The weight of an entry depends on its place, so that the order of rows changes the sum.
    """
    m, d = values.shape
    marks = _marks((max(m, d) - 1).bit_length())
    total = float((marks[:m] @ values) @ marks[:d])
    if not np.isfinite(total):
        bad = ~np.isfinite(values)
        if bad.any():
            row = start + int(np.flatnonzero(bad.any(axis=1))[0])
            raise ValueError(f"row {row} of batch {number} has {problem}")
    return total


@cache
def _marks(bits: int) -> Floats:
    """Return 2**bits numbers from 1 to 2 that differ clearly between neighbours."""
    return 1.0 + np.arange(2**bits) * _GOLDEN % 1.0


class RowMoments(NamedTuple):
    """The total weight of rows, their mean, and their scatter about the mean or the origin."""

    # (batches, 2): the number of rows, and the sum of all stored numbers, weighted by place. A
    # later pass compares both to find out whether the source has changed.
    fingerprint: Floats
    first: int  # the number of the first batch
    weight: float
    mean: Floats
    scatter: Floats

    @property
    def rows(self) -> int:
        """The number of rows of all batches."""
        return int(self.fingerprint[:, 0].sum())


def moments_of(view: View, centred: bool, number: int, batch: Batch) -> RowMoments:
    """Return the moments of one batch.

    If ``centred``, they are computed about the mean of the first block, then moved to the mean of
    the batch. If not, the mean is left at zero and the scatter is that about the origin.
    """
    blocks = view.blocks(number, batch)
    first = next(blocks)
    d = first.rows.shape[1]
    shift = first.rows.sum(axis=0) / max(1, len(first.rows)) if centred else np.zeros(d)
    fingerprint, weight = np.zeros((1, 2)), 0.0
    sums, scatter = np.zeros(d), np.zeros((d, d))
    for block in chain([first], blocks):
        count = len(block.rows)
        fingerprint += count, block.total
        weight += count if block.weights is None else float(block.weights.sum())
        if centred:
            block = block._replace(rows=block.rows - shift)
            sums += (np.ones(count) if block.weights is None else block.weights) @ block.rows
        rows = block.scaled()
        scatter += rows.T @ rows
    apart = sums / (weight or 1.0)
    scatter -= weight * np.outer(apart, apart)
    return RowMoments(fingerprint, number, weight, shift + apart, scatter)


def merge_moments(a: RowMoments, b: RowMoments) -> RowMoments:
    """Return the moments of the rows of both (Chan, Golub, LeVeque 1983)."""
    if a.mean.size != b.mean.size:
        raise ValueError(
            f"batch {a.first} has {a.mean.size} columns and batch {b.first} has {b.mean.size}; "
            "all batches must have the same"
        )
    weight = a.weight + b.weight
    apart = b.mean - a.mean
    share = b.weight / (weight or 1.0)
    scatter = a.scatter + b.scatter + a.weight * share * np.outer(apart, apart)
    fingerprint = np.concatenate([a.fingerprint, b.fingerprint])
    return RowMoments(fingerprint, a.first, weight, a.mean + share * apart, scatter)


def triangle_of(view: View, number: int, batch: Batch) -> Floats:
    """Return R of the QR factorisation, for rows whose scatter would lose too many digits."""
    return triangle(block.scaled() for block in view.blocks(number, batch))


def merge_triangles(a: Floats, b: Floats) -> Floats:
    """Return R of the rows of both."""
    if a.shape[1] != b.shape[1]:
        counts = f"{a.shape[1]} and {b.shape[1]}"
        raise ValueError(f"batches have {counts} columns; all batches must have the same")
    return triangle([a, b])


class Proposals(NamedTuple):
    """Items of one batch, drawn in proportion to their leverage, with their whitened rows."""

    fingerprint: tuple[int, float]  # as in `RowMoments`
    items: Integers  # (m,) row numbers within the batch
    rows: Floats  # (m, r)


def propose_rows(
    view: View, W: Floats, mean: float, seed: int, number: int, batch: Batch
) -> list[Proposals]:
    """Draw a Poisson number of rows from one batch, in proportion to leverage.

    Rows times W' have orthonormal columns. The numbers of different batches are independent, so all
    rows together, in random order, are independent draws from the leverage scores, ``mean`` of them
    on average. The result is a list, so that those of several batches can be added.
    """
    right = np.ascontiguousarray(W.T)  # products with W.T itself took twice the time for r = 4
    leverages, stored = [], 0.0
    for block in view.blocks(number, batch):
        white = block.scaled() @ right
        leverages.append(np.einsum("ij,ij->i", white, white))
        stored += block.total
    bounds = np.cumsum(np.concatenate(leverages))
    leverage = float(bounds[-1]) if bounds.size else 0.0
    rng = np.random.default_rng([seed, number])
    count = int(rng.poisson(mean * leverage / len(W)))
    places = rng.random(count) * leverage
    items = np.searchsorted(bounds, places, side="right")  # skips rows of leverage zero
    items = np.minimum(items, np.searchsorted(bounds, leverage))
    weights = None if batch.weights is None else np.asarray(batch.weights)[items]
    picked = view.blocks(number, Batch(batch.rows[items], weights))
    whitened = np.concatenate([block.scaled() @ right for block in picked])
    return [Proposals((bounds.size, stored), items, whitened)]
