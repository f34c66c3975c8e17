"""Sources of rows: anything that yields the same batches of rows each time it is read.

`RowSource.fold` computes something for every batch and merges the results of neighbours, pair by
pair, in a tree whose shape depends on the number of batches alone. So sums have the same rounding
errors in one process and on a cluster, where each batch is a task and nothing travels but results.
"""

from __future__ import annotations

import contextlib
import importlib
import mmap
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp._optional import optional
from zonodpp._stderr import is_watched
from zonodpp._threads import one_thread
from zonodpp._types import Integers, MatrixLike

BATCH = 2**20  # entries of a batch of an array: 8 MiB as float64
Result = TypeVar("Result")


class Batch(NamedTuple):
    """Consecutive rows with their weights, as they are stored."""

    rows: NDArray[np.generic]  # (m, d)
    weights: NDArray[np.generic] | None  # (m,)


Task = Callable[[int, Batch], Result]
Merge = Callable[[Result, Result], Result]


class RowSource:
    """Rows that come in batches, read one after another in this process."""

    @property
    def size(self) -> int | None:
        """The number of batches, if it is known."""
        return None

    def batches(self, wanted: Integers | None = None) -> Iterator[tuple[int, Batch]]:
        """Yield the batches with their numbers, all of them or those wanted, in order."""
        raise NotImplementedError

    def fold(self, task: Task[Result], merge: Merge[Result], title: str) -> Result | None:
        """Merge ``task(number, batch)`` of all batches; None if there is no batch."""
        merged: list[tuple[int, Result]] = []  # results of 2**level batches each
        show = importlib.import_module("tqdm.auto").tqdm  # takes long to import, so it waits
        with show(desc=title, unit=" rows", unit_scale=True, disable=not is_watched()) as bar:
            for number, batch in self.batches():
                if number == 0 and self.size is not None:
                    bar.total = self.size * len(batch.rows)  # about: the last may have fewer rows
                level, result = 0, _on_one_thread(task, number, batch)
                while merged and merged[-1][0] == level:
                    result = merge(merged.pop()[1], result)
                    level += 1
                merged.append((level, result))
                bar.update(len(batch.rows))
        latest = [result for _, result in merged[::-1]]
        return reduce(lambda late, early: merge(early, late), latest) if latest else None

    def take(self, items: Integers, starts: Integers | None = None) -> Batch:
        """Return single rows by number.

        Batch k begins with row ``starts[k]``; unless that is known, all batches are read.
        """
        wanted = starts
        if starts is not None:
            wanted = np.unique(np.searchsorted(starts, items, side="right") - 1)
        rows: list[object] = [None] * len(items)
        weights: list[object] = [None] * len(items)
        stop = 0
        for number, batch in self.batches(wanted):
            start = stop if starts is None else int(starts[number])
            stop = start + len(batch.rows)
            for place in np.flatnonzero((items >= start) & (items < stop)):
                rows[place] = batch.rows[items[place] - start]
                weights[place] = (
                    None if batch.weights is None else batch.weights[items[place] - start]
                )
        weighted = bool(weights) and weights[0] is not None
        return Batch(np.array(rows), np.array(weights) if weighted else None)


def _on_one_thread(task: Task[Result], number: int, batch: Batch) -> Result:
    """Do a task on a worker; what overflows there is dealt with later."""
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        return task(number, batch)


@dataclass(frozen=True)
class StoredRows(RowSource):
    """Batches that are read by number, each by a function of its own."""

    readers: tuple[Callable[[], Batch], ...]

    @property
    def size(self) -> int:
        """The number of batches."""
        return len(self.readers)

    def batches(self, wanted: Integers | None = None) -> Iterator[tuple[int, Batch]]:
        """Read the batches in order."""
        for number in range(len(self.readers)) if wanted is None else wanted.tolist():
            yield number, self.readers[number]()


@dataclass(frozen=True)
class IteratedRows(RowSource):
    """Batches of a function that returns a fresh iterator, of rows or of (rows, weights) pairs."""

    function: Callable[[], Iterable[MatrixLike]]

    def batches(self, wanted: Integers | None = None) -> Iterator[tuple[int, Batch]]:
        """Go through the iterator, up to the last batch that is wanted."""
        last = np.inf if wanted is None else wanted.max(initial=-1)
        for number, found in enumerate(self.function()):
            if number > last:
                return
            if wanted is None or number in wanted:
                rows, weights = found if isinstance(found, tuple) else (found, None)
                yield number, Batch(np.asarray(rows), weights)


@dataclass(frozen=True)
class DaskRows(RowSource):
    """Batches that are Dask tasks; a pass runs on the workers, and only results travel."""

    tasks: tuple[Any, ...]  # delayed Batch

    def batches(self, wanted: Integers | None = None) -> Iterator[tuple[int, Batch]]:
        """Fetch batches, one at a time."""
        for number in range(len(self.tasks)) if wanted is None else wanted.tolist():
            yield number, self.tasks[number].compute()

    def fold(self, task: Task[Result], merge: Merge[Result], title: str) -> Result | None:
        """Merge the results of neighbours on the workers, level by level."""
        do, pair = _delayed(_on_one_thread), _delayed(merge)
        level = [do(task, number, batch) for number, batch in enumerate(self.tasks)]
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            last = level[-1:] if len(level) % 2 else []
            level = [pair(a, b) for a, b in pairs] + last
        bar = optional("dask.diagnostics", "dask", "a pass over Dask collections").ProgressBar
        with bar(out=sys.stderr) if is_watched() else contextlib.nullcontext():
            found: Result | None = level[0].compute() if level else None
        return found


def _delayed(function: Callable[..., object]) -> Any:
    """Return a function whose calls are Dask tasks, the same for the same arguments."""
    dask = optional("dask", "dask", "a pass over Dask collections")
    return dask.delayed(function, pure=True)


@dataclass(frozen=True)
class _ArraySlice:
    """Rows of an array that stays where it is."""

    array: NDArray[np.generic]
    weights: NDArray[np.generic] | None
    start: int
    stop: int

    def __call__(self) -> Batch:
        span = slice(self.start, self.stop)
        return Batch(self.array[span], None if self.weights is None else self.weights[span])


@dataclass(frozen=True)
class _FileSlice:
    """Rows of a file, mapped for as long as they are read, so that they take no memory after."""

    path: str
    dtype: np.dtype[np.generic]
    offset: int  # of the first row, in bytes
    shape: tuple[int, int]
    weights: NDArray[np.generic] | None

    def __call__(self) -> Batch:
        rows = np.memmap(self.path, self.dtype, "r", self.offset, self.shape)
        return Batch(np.asarray(rows), self.weights)


@dataclass(frozen=True)
class _RowGroup:
    """A row group of a Parquet file."""

    fragment: Any
    columns: tuple[str, ...]
    weights: str | None

    def __call__(self) -> Batch:
        names = [*self.columns, *([] if self.weights is None else [self.weights])]
        table = self.fragment.to_table(columns=names)
        return _of_table({name: table.column(name).to_numpy() for name in names}, self)


def _of_table(columns: dict[str, NDArray[np.generic]], wanted: _RowGroup | _Columns) -> Batch:
    rows = np.column_stack([columns[name] for name in wanted.columns])
    return Batch(rows, None if wanted.weights is None else columns[wanted.weights])


@dataclass(frozen=True)
class _Columns:
    """Columns of a partition of a dataframe."""

    columns: tuple[str, ...]
    weights: str | None

    def __call__(self, frame: Any) -> Batch:
        return _of_table({name: frame[name].to_numpy() for name in frame.columns}, self)


def array_rows(X: NDArray[np.generic], weights: NDArray[np.generic] | None) -> RowSource:
    """Return the rows of an array or a memory map, in batches of 8 MiB as float64."""
    n, d = X.shape
    step = max(d, BATCH // max(1, d), 1)
    readers: list[Callable[[], Batch]] = []
    # A view of a memory map does not know its own offset; it is then read as an array.
    whole = isinstance(X, np.memmap) and isinstance(X.base, mmap.mmap) and X.flags.c_contiguous
    for start in range(0, n, step):
        stop = min(n, start + step)
        here = None if weights is None else weights[start:stop]
        if whole and X.filename is not None:  # type: ignore[attr-defined]
            offset = X.offset + start * d * X.itemsize  # type: ignore[attr-defined]
            path = os.fspath(X.filename)  # type: ignore[attr-defined]
            readers.append(_FileSlice(path, X.dtype, offset, (stop - start, d), here))
        else:
            readers.append(_ArraySlice(X, weights, start, stop))
    return StoredRows(tuple(readers))


def parquet_rows(dataset: Any, columns: tuple[str, ...], weights: str | None) -> RowSource:
    """Return the rows of a Parquet dataset, one batch for each row group."""
    fragments = [part for file in dataset.get_fragments() for part in file.split_by_row_group()]
    return StoredRows(tuple(_RowGroup(fragment, columns, weights) for fragment in fragments))


def frame_rows(X: Any, columns: tuple[str, ...], weights: str | None) -> RowSource:
    """Return the rows of a Dask dataframe, one batch for each partition."""
    read = _delayed(_Columns(columns, weights))
    return DaskRows(tuple(read(part) for part in X.to_delayed()))


def dask_rows(X: Any, weights: Any) -> RowSource:
    """Return the rows of a Dask array, one batch for each chunk of rows."""
    X = X.rechunk({1: -1})
    blocks = X.to_delayed().ravel()
    of: Sequence[object] = [None] * len(blocks)
    if hasattr(weights, "to_delayed"):
        of = list(weights.rechunk({0: X.chunks[0]}).to_delayed().ravel())
    elif weights is not None:
        of = np.split(np.asarray(weights), np.cumsum(X.chunks[0])[:-1])
    make = _delayed(Batch)
    return DaskRows(tuple(make(block, part) for block, part in zip(blocks, of, strict=True)))


def _chosen(
    names: list[str], columns: list[str] | None, weights: str | None, ids: str | None
) -> tuple[str, ...]:
    """Return the columns of features: those asked for, or all but the weights and the ids."""
    others = [name for name in (weights, ids) if name is not None]
    found = [name for name in names if name not in others] if columns is None else list(columns)
    for name in [*found, *others]:
        if name not in names:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(map(str, names))}")
    return tuple(found)


def source_of(
    X: Any, weights: Any, columns: list[str] | None, ids: str | None
) -> tuple[RowSource, RowSource | None] | None:
    """Return the source of rows that X is, and that of their ids; None if X is held in memory."""
    if isinstance(X, RowSource):
        return X, None
    if isinstance(X, np.memmap):
        _refuse_names(columns, ids, "a memory map")
        if X.ndim != 2:
            raise ValueError(f"X must be a table of rows, got an array of shape {X.shape}")
        return array_rows(X, _weights_of(weights, len(X))), None
    if hasattr(X, "__dask_graph__") and hasattr(X, "columns"):
        found = _chosen(list(X.columns), columns, weights, ids)
        return frame_rows(X, found, weights), None if ids is None else frame_rows(X, (ids,), None)
    if hasattr(X, "__dask_graph__"):
        _refuse_names(columns, ids, "a Dask array")
        return dask_rows(X, weights), None
    if isinstance(X, str | os.PathLike):
        data = optional("pyarrow.dataset", "parquet", "reading Parquet").dataset(X)
        found = _chosen(data.schema.names, columns, weights, ids)
        labels = None if ids is None else parquet_rows(data, (ids,), None)
        return parquet_rows(data, found, weights), labels
    if callable(X):
        _refuse_names(columns, ids, "a function")
        if weights is not None:
            raise TypeError(
                "weights of a function's rows come with them: let it yield (rows, weights) pairs"
            )
        return IteratedRows(X), None
    return None


def _refuse_names(columns: list[str] | None, ids: str | None, what: str) -> None:
    if columns is not None or ids is not None:
        raise TypeError(f"columns= and ids= name columns of a table; {what} has no names")


def _weights_of(weights: ArrayLike | None, n: int) -> NDArray[np.generic] | None:
    if weights is None:
        return None
    found = weights if isinstance(weights, np.ndarray) else np.asarray(weights)
    if found.shape != (n,):
        raise ValueError(
            f"weights must have one entry for each of the {n} items, got {found.shape}"
        )
    return found
