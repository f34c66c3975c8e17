"""Picks from rows beyond memory: one pass refreshes all gains and brings the best rows.

A few numbers for each row stay in memory, among them the bound of its gain, and so do the rows with
the largest bounds. Each batch refreshes its own bounds and sends its best rows: on a Dask cluster
nothing else travels. Picks are made among these rows until another row may be better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from zonodpp._types import Integers
from zonodpp.best.arrays import Array
from zonodpp.best.farthest import Farthest
from zonodpp.best.greedy import Level, pick_at, pick_from
from zonodpp.best.items import FeatureItems
from zonodpp.best.problem import feature_items
from zonodpp.best.volume import VolumeOfFeatures
from zonodpp.targets.batches import Batch, RowSource

_POOL = 2**24  # entries of the rows that stay in memory: 128 MiB as float64
# A batch may send so many times its share of them: the best rows may be in a few batches. The
# largest bound among rows that it keeps back is known, so that no pick is wrong.
_SPARE = 4


class _Pass(NamedTuple):
    """The result of a pass over consecutive batches."""

    levels: list[Level]  # one for each batch, of items without rows
    best: list[Level]  # items with the largest gains, with their rows; a floor for the others


class RowTable(NamedTuple):
    """What is known of the rows of a source before picks are made."""

    source: RowSource
    kernel: str
    diagonals: list[Array]  # of each batch, S_jj
    starts: Integers  # the number of the first row of each batch, and of all rows

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return int(self.starts[-1])

    def spans(self) -> Iterator[tuple[Array, int, int]]:
        """Yield the diagonal of each batch, with the numbers of its first row and of the next."""
        for number, diagonal in enumerate(self.diagonals):
            yield diagonal, int(self.starts[number]), int(self.starts[number + 1])

    def items(self, numbers: Integers) -> FeatureItems:
        """Read some rows."""
        batch = self.source.take(numbers, self.starts[:-1])
        items = _batch_items(self.kernel, 0, batch)
        return replace(items, index=numbers)


def read_table_of(source: RowSource, kernel: str) -> RowTable:
    """Check all rows of a source in one pass, and find out how many there are."""
    found = source.fold(partial(_diagonal, kernel), list.__add__, "reading")
    if not found or not sum(map(len, found)):
        raise ValueError("features have no rows: there is nothing to pick")
    starts = np.cumsum([0, *map(len, found)])
    return RowTable(source, kernel, found, starts)


def pick_in_passes(
    table: RowTable,
    objective: VolumeOfFeatures | Farthest,
    relevance: Array | None,
    k: int,
    given: Sequence[int],
) -> tuple[list[int], list[Array]]:
    """Pick k rows one by one, each the best addition to those picked and given."""
    longest = max(float(diagonal.max(initial=0.0)) for diagonal in table.diagonals)
    levels = []
    for diagonal, start, stop in table.spans():
        q = np.ones_like(diagonal) if relevance is None else relevance[start:stop]
        levels.append(_level_of(objective, _without_rows(diagonal, start), q, longest))
    if len(given):
        level = _read_level(table, objective, relevance, given, longest)
        for place in range(len(given)):
            objective.condition(level, place)
    taken, gains = list(given), list[Array]()
    passes = 0
    while len(gains) < k:
        passes += 1
        for level, start in zip(levels, table.starts, strict=False):
            inside = [t for t in taken[level.left_out :] if 0 <= t - start < len(level.gains)]
            level.gains = np.array(level.gains)  # what comes from a cluster may be read-only
            level.gains[np.asarray(inside, dtype=np.int64) - start] = -np.inf
            level.left_out = len(taken)
        task = partial(_refresh, table.kernel, objective, levels, relevance, table.starts)
        result = table.source.fold(task, partial(_merge, table.rows), f"pass {passes}")
        assert result is not None
        levels, [best] = result
        number = _best_of(levels)
        place = int(np.searchsorted(best.items.index, number))
        if place < len(best.gains) and best.number_of(place) == number:
            pick_at(objective, best, place, taken, gains)
        else:  # many gains are equal, and other rows stay in memory
            alone = _read_level(table, objective, relevance, [number], longest)
            alone.gains = np.concatenate([level.gains for level in levels])[[number]]
            pick_at(objective, alone, 0, taken, gains)
            best.left_out = len(taken)
        pick_from(objective, best, k, taken, gains)
    return taken[len(given) :], gains


def _best_of(levels: Sequence[Level]) -> int:
    """Return the number of the item of largest gain; of equal ones, the first."""
    gains = np.concatenate([level.gains for level in levels])
    place = int(np.argmax(gains))
    size = np.concatenate([level.sizes for level in levels])[place]
    return int(np.argmax(gains >= gains[place] - levels[0].tie * size))


def _read_level(
    table: RowTable,
    objective: VolumeOfFeatures | Farthest,
    relevance: Array | None,
    numbers: Sequence[int],
    longest: float,
) -> Level:
    """Read some rows, as a level before any pick."""
    items = table.items(np.asarray(numbers, dtype=np.int64))
    q = np.ones(len(numbers)) if relevance is None else relevance[list(numbers)]
    return _level_of(objective, items, q.astype(items.diagonal.dtype), longest)


def _diagonal(kernel: str, number: int, batch: Batch) -> list[Array]:
    return [_batch_items(kernel, number, batch).diagonal]


def _batch_items(kernel: str, number: int, batch: Batch) -> FeatureItems:
    rows = np.asarray(batch.rows)
    if rows.ndim != 2:
        raise ValueError(f"batch {number} must be a table of rows, got {rows.shape}")
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    if not len(rows):
        return FeatureItems(rows, None, np.zeros(0, dtype=rows.dtype))
    try:
        return feature_items(rows, kernel)
    except ValueError as error:
        raise ValueError(f"batch {number}: {error}") from None


def _without_rows(diagonal: Array, start: int) -> FeatureItems:
    index = np.arange(start, start + len(diagonal))
    return FeatureItems(np.empty((len(diagonal), 0)), None, diagonal, index)


def _level_of(
    objective: VolumeOfFeatures | Farthest, items: FeatureItems, q: Array, longest: float
) -> Level:
    """Return a level before any pick."""
    weights = np.asarray(q * q, dtype=items.diagonal.dtype)
    if isinstance(objective, Farthest):
        return objective.first_level(items, weights, longest)
    return objective.first_level(_scaled(items, np.sqrt(weights)))


def _scaled(items: FeatureItems, q: Array) -> FeatureItems:
    """Return items with the relevance q."""
    scale = q if items.scale is None else items.scale * q
    return replace(items, scale=scale, diagonal=items.diagonal * q * q)


def _refresh(
    kernel: str,
    objective: VolumeOfFeatures | Farthest,
    levels: list[Level],
    relevance: Array | None,
    starts: Integers,
    number: int,
    batch: Batch,
) -> _Pass:
    """Bring the gains of a batch up to date, and return those rows of it that are best."""
    old = levels[number]
    items = _batch_items(kernel, number, batch)
    if len(items.diagonal) != len(old.gains):
        raise ValueError(
            f"batch {number} had {len(old.gains)} rows in the first pass and has "
            f"{len(items.diagonal)} now; the source must yield the same rows each time"
        )
    if relevance is not None and isinstance(objective, VolumeOfFeatures):
        q = relevance[starts[number] : starts[number + 1]].astype(items.diagonal.dtype)
        items = _scaled(items, q)
    level = replace(old, items=replace(items, index=old.items.index), floor=-np.inf)
    objective.lower(level)
    kept = replace(level, items=old.items)
    n, d = items.rows.shape
    most = _most(int(starts[-1]), d)
    count = max(1, -(-_SPARE * most * n // int(starts[-1])))
    best = level.restricted(count) if count < n else level.restricted_to(np.arange(n))
    return _Pass([kept], [best])


def _most(rows: int, width: int) -> int:
    """Return how many rows stay in memory: of a small table all rows do."""
    return max(1, _POOL // max(1, width))


def _merge(rows: int, a: _Pass, b: _Pass) -> _Pass:
    parts = [*a.best, *b.best]
    parts = [part for part in parts if len(part.gains)] or parts[:1]
    items = [part.items for part in parts]
    joined = replace(
        parts[0],
        items=FeatureItems(
            np.concatenate([each.rows for each in items]),
            None,
            np.concatenate([each.diagonal for each in items]),
            np.concatenate([each.index for each in items]),
        ),
        gains=np.concatenate([part.gains for part in parts]),
        sizes=np.concatenate([part.sizes for part in parts]),
        floor=max(part.floor for part in [*a.best, *b.best]),
        parts=None
        if parts[0].parts is None
        else np.concatenate([part.parts for part in parts], axis=1),
    )
    most = _most(rows, joined.items.rows.shape[1])
    best = joined.restricted(most) if most < len(joined.gains) else joined
    return _Pass(a.levels + b.levels, [best])
