"""What one pass over batches of rows computes: moments, triangles, and proposals.

Each is a function of one batch and a function that merges two results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.linalg.products import accurate_product
from zonodpp.linalg.qr import triangle
from zonodpp.streams.sources import Batch

BLOCK = 2**16  # entries worked on at a time: half a MiB, which stays in the cache


@dataclass(frozen=True)
class View:
    """Rows as the law sees them: centred and along principal directions, times root weights."""

    mean: Floats | None = None
    directions: Floats | None = None  # (d, r)
    weighted: bool = True
    accurate: bool = False  # whether products need more digits than float64 has

    def blocks(self, number: int, batch: Batch) -> Iterator[tuple[Floats, float]]:
        """Yield rows of a batch as float64, a block at a time, with the sum of what was stored.

        Entries that are not finite are refused.
        """
        if batch.rows.ndim != 2:
            raise ValueError(f"batch {number} must be a table of rows, got {batch.rows.shape}")
        m, d = batch.rows.shape
        step = max(d, BLOCK // max(1, d), 1)
        for start in range(0, m, step):
            rows = np.asarray(batch.rows[start : start + step], dtype=np.float64)
            total = self._sum(rows, number, start, "an entry that is NaN or infinite")
            if self.mean is not None:
                rows = rows - self.mean
            if self.directions is not None and self.accurate:
                product, error = accurate_product(self.directions.T, rows.T)
                rows = np.where(np.abs(product) > error, product, 0.0).T
            elif self.directions is not None:
                rows = rows @ self.directions
            if batch.weights is not None and self.weighted:
                weights = np.asarray(batch.weights[start : start + step], dtype=np.float64)
                wrong = np.where(weights >= 0, 0.0, np.nan)
                problem = "a weight that is negative or not finite"
                total += self._sum(weights + wrong, number, start, problem)
                rows = rows * np.sqrt(weights)[:, None]
            yield rows, total

    @staticmethod
    def _sum(values: Floats, number: int, start: int, problem: str) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(values.sum())
        if not np.isfinite(total):
            bad = ~np.isfinite(values)
            if bad.any():
                row = start + int(np.flatnonzero(bad.reshape(len(values), -1).any(axis=1))[0])
                raise ValueError(f"row {row} of batch {number} has {problem}")
        return total


class Check(NamedTuple):
    """Row counts and sums of the batches, by which a later pass sees that the source changed."""

    counts: Integers
    sums: Floats

    def merge(self, other: Check) -> Check:
        """Return both, one after the other."""
        counts = np.concatenate([self.counts, other.counts])
        return Check(counts, np.concatenate([self.sums, other.sums]))


class RowMoments(NamedTuple):
    """Of rows: their number, their mean, and their scatter about the mean."""

    check: Check
    first: int  # the number of the first batch
    total: int
    mean: Floats
    scatter: Floats


@dataclass(frozen=True)
class TakeMoments:
    """The first pass. Without ``centred`` the scatter is about zero."""

    view: View
    centred: bool

    def __call__(self, number: int, batch: Batch) -> RowMoments:
        """Return the moments of one batch."""
        result: RowMoments | None = None
        for rows, total in self.view.blocks(number, batch):
            mean = rows.mean(axis=0) if self.centred else np.zeros(rows.shape[1])
            rest = rows - mean if self.centred else rows
            with np.errstate(over="ignore"):
                scatter = rest.T @ rest
            check = Check(np.array([len(rows)]), np.array([total]))
            found = RowMoments(check, number, len(rows), mean, scatter)
            result = found if result is None else merge_moments(result, found)
        if result is None:
            d = batch.rows.shape[1]
            check = Check(np.zeros(1, np.int64), np.zeros(1))
            return RowMoments(check, number, 0, np.zeros(d), np.zeros((d, d)))
        check = Check(np.array([result.total]), np.array([result.check.sums.sum()]))
        return result._replace(check=check)


def merge_moments(a: RowMoments, b: RowMoments) -> RowMoments:
    """Add up (Chan, Golub, LeVeque 1983)."""
    if a.mean.size != b.mean.size:
        raise ValueError(
            f"batch {a.first} has {a.mean.size} columns and batch {b.first} has {b.mean.size}; "
            "all batches must have the same"
        )
    count = a.total + b.total
    apart = b.mean - a.mean
    share = b.total / count if count else 0.0
    scatter = a.scatter + b.scatter + a.total * share * np.outer(apart, apart)
    mean = a.mean + share * apart
    return RowMoments(a.check.merge(b.check), a.first, count, mean, scatter)


class Triangle(NamedTuple):
    """R of the QR factorisation of rows minus their mean."""

    total: int
    mean: Floats
    R: Floats


@dataclass(frozen=True)
class TakeTriangle:
    """The first pass again, by QR, where the scatter would lose too many digits."""

    view: View
    centred: bool

    def __call__(self, number: int, batch: Batch) -> Triangle:
        """Return the triangle of one batch."""
        result: Triangle | None = None
        for rows, _ in self.view.blocks(number, batch):
            mean = rows.mean(axis=0) if self.centred else np.zeros(rows.shape[1])
            found = Triangle(len(rows), mean, triangle([rows - mean]))
            result = found if result is None else merge_triangles(result, found)
        if result is None:
            d = batch.rows.shape[1]
            return Triangle(0, np.zeros(d), np.zeros((0, d)))
        return result


def merge_triangles(a: Triangle, b: Triangle) -> Triangle:
    """Factorise both together, with one row more for the distance between the means."""
    count = a.total + b.total
    share = b.total / count if count else 0.0
    apart = b.mean - a.mean
    rows = np.vstack([a.R, b.R, np.sqrt(a.total * share) * apart])
    return Triangle(count, a.mean + share * apart, triangle([rows]))


class Proposals(NamedTuple):
    """Items drawn in proportion to their leverage, with their whitened rows."""

    check: Check
    parts: Integers  # (m,) batches that the items are of
    items: Integers  # (m,) row numbers within the batch
    rows: Floats  # (m, r)
    leverage: float  # of all rows seen

    def merge(self, other: Proposals) -> Proposals:
        """Return both, one after the other."""
        return Proposals(
            self.check.merge(other.check),
            np.concatenate([self.parts, other.parts]),
            np.concatenate([self.items, other.items]),
            np.concatenate([self.rows, other.rows]),
            self.leverage + other.leverage,
        )


@dataclass(frozen=True)
class Propose:
    """The second pass: from each batch a Poisson number of rows, in proportion to leverage.

    The numbers of different batches are independent, so all rows together, in random order, are
    independent draws from the leverage scores, ``mean`` of them on average.
    """

    view: View
    W: Floats  # (r, r) whitening: rows W' have orthonormal columns
    mean: float
    seed: int

    def __call__(self, number: int, batch: Batch) -> Proposals:
        """Return the proposals from one batch."""
        r = len(self.W)
        leverages = np.zeros(len(batch.rows))
        total, start = 0.0, 0
        for rows, stored in self.view.blocks(number, batch):
            white = rows @ self.W.T
            leverages[start : start + len(rows)] = np.einsum("ij,ij->i", white, white)
            total += stored
            start += len(rows)
        bounds = np.cumsum(leverages)
        leverage = float(bounds[-1]) if start else 0.0
        rng = np.random.default_rng([self.seed, number])
        count = int(rng.poisson(self.mean * leverage / r))
        places = rng.random(count) * leverage
        items = np.searchsorted(bounds, places, side="right")  # passes over leverages of zero
        items = np.minimum(items, np.searchsorted(bounds, leverage))
        weights = None if batch.weights is None else np.asarray(batch.weights)[items]
        picked = Batch(batch.rows[items], weights)
        blocks = [rows @ self.W.T for rows, _ in self.view.blocks(number, picked)]
        check = Check(np.array([start]), np.array([total]))
        whitened = np.concatenate([np.zeros((0, r)), *blocks])
        return Proposals(check, np.full(count, number), items, whitened, leverage)
