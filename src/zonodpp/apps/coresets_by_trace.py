"""Rows that leave a small trace of an rbf kernel, from a sample of a source of any size.

Two ways are tried on a random sample of the rows: the search of `LandmarkSelector`, and the rows
nearest to the centres of k-means. The search is better for few rows and the centres for many, so
both are compared by the trace that they leave of rows of the sample, and the better one is kept.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from zonodpp._imports import optional
from zonodpp._types import Floats, Integers, Rng
from zonodpp.apps.coresets import check_count, nearest_of, numbers_of_batch
from zonodpp.apps.landmarks.rows import merge
from zonodpp.apps.landmarks.search import search_rows
from zonodpp.numerics.kernel import rounding_share
from zonodpp.numerics.kernel_function import Kernel, KernelFunction, scale_gamma
from zonodpp.targets.batches import Batch, RowSource

_SAMPLE, _SAMPLE_EACH = 20_000, 20  # rows of the sample: so many, or so many for each pick
_EPOCHS = 10  # of k-means at most: more move the nearest rows little
_TESTED = 4000  # rows of the sample whose trace is compared


class _Sample(NamedTuple):
    """Rows of consecutive batches with the smallest of random numbers."""

    rows: NDArray[Any]
    numbers: Floats  # exponential of rate w for a row of weight w: small ones are a sample by w
    batches: Integers
    places: Integers
    lengths: dict[int, int]


def pick_by_trace(source: RowSource, k: int, rng: Rng) -> tuple[Integers, NDArray[Any]]:
    """Pick k rows that leave a small trace; return their numbers and the rows."""
    size = max(_SAMPLE, _SAMPLE_EACH * k)
    seed = int(rng.integers(2**63))
    sample = source.fold(partial(_drawn, size, seed), partial(_join, size), "drawing a sample")
    there = 0 if sample is None else len(sample.rows)
    check_count(k, there)
    assert sample is not None
    order = np.lexsort([sample.places, sample.batches])
    X = sample.rows[order].astype(np.float64)
    picks = _best_of(X, k, rng)
    starts = np.concatenate([[0], np.cumsum([n for _, n in sorted(sample.lengths.items())])])
    indices = starts[sample.batches[order[picks]]] + sample.places[order[picks]]
    return indices, sample.rows[order[picks]]


def _drawn(size: int, seed: int, number: int, batch: Batch) -> _Sample:
    rows, weights = numbers_of_batch(number, batch)
    drawn = np.random.default_rng([seed, number]).exponential(size=len(rows))
    if weights is not None:
        with np.errstate(divide="ignore"):
            drawn = drawn / weights
    places = np.flatnonzero(np.isfinite(drawn))
    of = np.full(len(places), number)
    found = _Sample(rows[places], drawn[places], of, places, {number: len(rows)})
    return _smallest(found, size)


def _join(size: int, a: _Sample, b: _Sample) -> _Sample:
    lengths = a.lengths | b.lengths
    if not (len(a.rows) and len(b.rows)):
        return (a if len(a.rows) else b)._replace(lengths=lengths)
    rows = np.concatenate([a.rows, b.rows])
    numbers = np.concatenate([a.numbers, b.numbers])
    batches = np.concatenate([a.batches, b.batches])
    places = np.concatenate([a.places, b.places])
    return _smallest(_Sample(rows, numbers, batches, places, lengths), size)


def _smallest(sample: _Sample, size: int) -> _Sample:
    rows, numbers, batches, places, lengths = sample
    if len(rows) <= size:
        return sample
    kept = np.argpartition(numbers, size)[:size]
    return _Sample(rows[kept], numbers[kept], batches[kept], places[kept], lengths)


def _best_of(X: Floats, k: int, rng: Rng) -> Integers:
    """Return the picks of the search or of k-means, whichever leave the smaller trace."""
    distinct = merge(X, np.ones(len(X)))
    rows = distinct.rows
    if len(rows) <= k:  # copies follow
        others = np.setdiff1d(np.arange(len(X)), rows)
        return np.concatenate([rows, others[: k - len(rows)]])
    kernel = Kernel.of(X, "rbf", scale_gamma(X, np.ones(len(X))), {}).scaled
    tested = X[rng.permutation(len(X))[:_TESTED]]
    searched, _ = search_rows(distinct, k, kernel, rng)
    clusters = optional("sklearn.cluster", "ml", 'objective="trace"')
    seed = int(rng.integers(2**31))
    means = clusters.MiniBatchKMeans(k, n_init=1, max_iter=_EPOCHS, random_state=seed)
    centres = means.fit(X).cluster_centers_
    medoids = rows[_nearest_rows(X[rows], centres)]
    both = [_filled(rows, picks, k, rng) for picks in (searched, medoids)]
    return min(both, key=lambda picks: _trace(tested, X[picks], kernel))


def _nearest_rows(X: Floats, centres: Floats) -> Integers:
    """Return the row nearest to each centre, each row once."""
    nearest, _ = nearest_of(centres, X)
    return np.unique(nearest)


def _filled(rows: Integers, picks: Integers, k: int, rng: Rng) -> Integers:
    """Add random rows until there are k."""
    if len(picks) == k:
        return picks
    others = rng.permutation(np.setdiff1d(rows, picks))
    return np.concatenate([picks, others[: k - len(picks)]])


def _trace(tested: Floats, picks: Floats, kernel: KernelFunction) -> float:
    """Return the trace that picks leave of the kernel between rows, without its constant part."""
    values, vectors = scipy.linalg.eigh(kernel(picks, picks))
    safe = values > rounding_share(len(values)) * values[-1]
    explained = kernel(tested, picks) @ (vectors[:, safe] / np.sqrt(values[safe]))
    return -float(np.einsum("ij,ij->", explained, explained))
