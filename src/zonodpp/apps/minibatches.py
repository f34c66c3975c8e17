"""`DiverseBatchSampler`: batches of an epoch, each item once, with items that differ in each batch.

The items are cut into as many strata as a batch has items: halves along the direction in which they
vary most, and again, until strata are small enough. A batch takes one item of each stratum.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from zonodpp._arguments import as_count, as_matrix, check_finite, spawn
from zonodpp._types import Floats, Integers, MatrixLike, SeedLike
from zonodpp.numerics.arrays import to_dense

_ROUNDS = 3  # of the power iteration: a direction of large variance is enough


class DiverseBatchSampler:
    """Batches of an epoch for PyTorch: each item once, items that differ in each batch.

    Items are cut into ``batch_size`` strata of equal size, up to one item, by their features. Every
    batch has one item of each stratum, and every epoch another order of each stratum. So the mean
    of a function over a batch varies less from batch to batch than with random batches, by the part
    of the variance that lies between the strata.

    Parameters
    ----------
    X : (n, d) array_like
        Features of the items: embeddings, or pixels if there are none.
    batch_size : int, default 32
        How many items a batch has; the last batch of an epoch may have fewer.
    drop_last : bool, default False
        Whether to leave out a last batch that has fewer.
    rng : seed or Generator, optional
        For the orders.

    See Also
    --------
    zonodpp.KDPP : Batches that repel more, which do not cover an epoch.

    Examples
    --------
    >>> from zonodpp.apps import DiverseBatchSampler
    >>> sampler = DiverseBatchSampler([[0.0], [9.0], [0.1], [9.1]], batch_size=2, rng=0)
    >>> len(sampler), [sorted(item % 2 for item in batch) for batch in sampler]
    (2, [[0, 1], [0, 1]])
    """

    def __init__(
        self,
        X: MatrixLike,
        batch_size: int = 32,
        *,
        drop_last: bool = False,
        rng: SeedLike = None,
    ) -> None:
        rows = to_dense(as_matrix(X, "X"))
        check_finite(rows, "X")
        self.batch_size = as_count(batch_size, "batch_size", 1, len(rows))
        self.drop_last = drop_last
        [self._rng] = spawn(rng, purpose="minibatches")
        self._strata = _strata(rows, np.arange(len(rows)), self.batch_size, self._rng)
        self._items = len(rows)

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        whole, left = divmod(self._items, self.batch_size)
        return whole + (left > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the batches of an epoch, lists of item numbers."""
        orders = [self._rng.permutation(stratum) for stratum in self._strata]
        for place in range(len(self)):
            batch = np.array([order[place] for order in orders if place < len(order)])
            yield self._rng.permutation(batch).tolist()


def _strata(rows: Floats, items: Integers, count: int, rng: np.random.Generator) -> list[Integers]:
    """Cut items into so many strata whose sizes differ by one at most."""
    sizes = np.full(count, len(items) // count)
    sizes[rng.permutation(count)[: len(items) % count]] += 1
    parts, done = [(items, sizes)], list[Integers]()
    while parts:
        items, sizes = parts.pop()
        if len(sizes) == 1:
            done.append(items)
            continue
        centred = rows[items] - rows[items].mean(axis=0)
        direction: Floats = rng.standard_normal((rows.shape[1],))
        for _ in range(_ROUNDS):
            direction = (centred @ direction) @ centred
            direction /= np.linalg.norm(direction) or 1.0
        order = items[np.argsort(centred @ direction, kind="stable")]
        half = len(sizes) // 2
        cut = int(sizes[:half].sum())
        parts += [(order[:cut], sizes[:half]), (order[cut:], sizes[half:])]
    return done
