"""Sources of rows: anything that yields the same batches of rows each time it is read.

`RowSource.fold` computes something for every batch and merges the results of neighbours, pair by
pair, in a tree whose shape depends on the number of batches alone. So sums have the same rounding
errors in one process and on a cluster, where each batch is a task and nothing travels but results.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp._arguments import is_dataframe
from zonodpp._optional import on_use, optional
from zonodpp._stderr import Stderr, is_watched
from zonodpp._threads import one_thread
from zonodpp._types import Integers, MatrixLike

BATCH = 2**20  # entries of a batch of an array: 8 MiB as float64
Result = TypeVar("Result")


Weights = NDArray[np.generic] | None  # (m,), one for each row


class Batch(NamedTuple):
    """Consecutive rows with their weights, as they are stored."""

    rows: NDArray[np.generic]  # (m, d)
    weights: Weights


Task = Callable[[int, Batch], Result]
Merge = Callable[[Result, Result], Result]


@dataclass(frozen=True)
class RowSource:
    """Rows that come in batches, each read by a function of its own, one after another."""

    readers: tuple[Callable[[], Batch], ...]

    def batches(self, wanted: Integers | None = None) -> Iterator[tuple[int, Batch]]:
        """Yield the batches with their numbers, all of them or those wanted, in order."""
        for number in range(len(self.readers)) if wanted is None else wanted.tolist():
            yield number, self.readers[number]()

    def fold(self, task: Task[Result], merge: Merge[Result], title: str) -> Result | None:
        """Merge ``task(number, batch)`` of all batches; None if there is no batch."""
        show = on_use("tqdm.auto").tqdm
        look = {"unit": " batches", "file": Stderr(), "disable": not is_watched()}
        batches = show(self.batches(), title, len(self.readers) or None, **look)
        return _merged((_on_one_thread(task, *batch) for batch in batches), merge)

    def take(self, items: Integers, starts: Integers | None = None) -> Batch:
        """Return single rows by number.

        Batch k begins with row ``starts[k]``; unless that is known, all batches are read.
        """
        wanted = None if starts is None else np.unique(np.searchsorted(starts, items, "right") - 1)
        places, rows, weights = [], [], []  # of the items of each batch
        stop = 0
        for number, batch in self.batches(wanted):
            start = stop if starts is None else int(starts[number])
            stop = start + len(batch.rows)
            here = np.flatnonzero((items >= start) & (items < stop))
            places.append(here)
            rows.append(batch.rows[items[here] - start])
            if batch.weights is not None:
                weights.append(batch.weights[items[here] - start])
        back = np.argsort(np.concatenate(places))
        return Batch(np.concatenate(rows)[back], np.concatenate(weights)[back] if weights else None)


def _merged(results: Iterable[Result], merge: Merge[Result]) -> Result | None:
    """Merge neighbours, pair by pair, as soon as both are there; None if there are no results."""
    merged: list[tuple[int, Result]] = []  # (level, merged result of 2**level batches)
    for result in results:
        level = 0
        while merged and merged[-1][0] == level:
            result = merge(merged.pop()[1], result)
            level += 1
        merged.append((level, result))
    latest = [result for _, result in merged[::-1]]
    return reduce(lambda late, early: merge(early, late), latest) if latest else None


def _on_one_thread(task: Task[Result], number: int, batch: Batch) -> Result:
    """Run a task with BLAS on one thread; overflow leaves infinities and is not reported."""
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        return task(number, batch)


@dataclass(frozen=True)
class _IteratedRows(RowSource):
    """Batches of a function that returns a fresh iterator, of rows or of (rows, weights) pairs.

    There are no readers of single batches.
    """

    function: Callable[[], Iterable[MatrixLike]]

    def batches(self, wanted: Integers | None = None) -> Iterator[tuple[int, Batch]]:
        """Go through the iterator, up to the last batch that is wanted."""
        last = np.inf if wanted is None else wanted.max(initial=-1)
        for number, found in enumerate(self.function()):
            if number > last:
                return
            if wanted is None or number in wanted:
                rows, weights = found if isinstance(found, tuple) else (found, None)
                weights = None if weights is None else np.asarray(weights)
                yield number, Batch(np.asarray(rows), weights)


@dataclass(frozen=True)
class _DaskRows(RowSource):
    """Batches that are Dask tasks; a pass runs on the workers, and only results travel."""

    tasks: tuple[Any, ...]  # delayed Batch, which the readers compute

    def fold(self, task: Task[Result], merge: Merge[Result], title: str) -> Result | None:
        """Merge the results of neighbours on the workers."""
        do = _delayed(_on_one_thread)
        results = (do(task, number, batch) for number, batch in enumerate(self.tasks))
        found = _merged(results, _delayed(merge))
        bar = optional("dask.diagnostics", "dask", "a pass over Dask collections").ProgressBar
        with bar(out=sys.stderr) if is_watched() else contextlib.nullcontext():
            return None if found is None else found.compute()


def _delayed(function: Callable[..., object]) -> Any:
    """Return a function whose calls are Dask tasks, the same for the same arguments."""
    dask = optional("dask", "dask", "a pass over Dask collections")
    return dask.delayed(function, pure=True)


def _dask_rows(tasks: Iterable[Any]) -> RowSource:
    batches = tuple(tasks)
    return _DaskRows(tuple(batch.compute for batch in batches), batches)


def _map_rows(
    path: str, dtype: np.dtype[np.generic], offset: int, shape: tuple[int, int], weights: Weights
) -> Batch:
    """Return rows of a file as a memory map of their own, whose memory is freed after use."""
    return Batch(np.asarray(np.memmap(path, dtype, "r", offset, shape)), weights)


def array_rows(X: NDArray[np.generic], weights: ArrayLike | None) -> RowSource:
    """Return the rows of an array or a memory map, in batches of 8 MiB as float64."""
    if X.ndim != 2:
        raise ValueError(f"X must be a table of rows, got an array of shape {X.shape}")
    n, d = X.shape
    of = None if weights is None else np.asarray(weights)
    if of is not None and of.shape != (n,):
        raise ValueError(f"weights must have one entry for each of the {n} items, got {of.shape}")
    step = max(d, BATCH // max(1, d), 1)
    readers: list[Callable[[], Batch]] = []
    # A view of a memory map does not know its own offset; it is then read as an array.
    mapped = isinstance(X, np.memmap) and isinstance(X.base, mmap.mmap) and X.flags.c_contiguous
    path = X.filename if mapped else None  # type: ignore[attr-defined]
    for start in range(0, n, step):
        span = slice(start, start + step)
        rows, here = X[span], None if of is None else of[span]
        if path is None:
            readers.append(partial(Batch, rows, here))
        else:
            offset = X.offset + start * d * X.itemsize  # type: ignore[attr-defined]
            readers.append(partial(_map_rows, os.fspath(path), X.dtype, offset, rows.shape, here))
    return RowSource(tuple(readers))


def _of_table(table: Any, columns: tuple[str, ...], weights: str | None) -> Batch:
    """Return columns of a pandas or an Arrow table."""
    rows = np.column_stack([table[name].to_numpy() for name in columns])
    return Batch(rows, None if weights is None else table[weights].to_numpy())


def _row_group(fragment: Any, columns: tuple[str, ...], weights: str | None) -> Batch:
    """Read a row group of a Parquet file."""
    names = [name for name in (*columns, weights) if name is not None]
    return _of_table(fragment.to_table(columns=names), columns, weights)


def _parquet_rows(dataset: Any, columns: tuple[str, ...], weights: str | None) -> RowSource:
    """Return the rows of a Parquet dataset, one batch for each row group."""
    groups = [part for file in dataset.get_fragments() for part in file.split_by_row_group()]
    return RowSource(tuple(partial(_row_group, group, columns, weights) for group in groups))


def _frame_rows(X: Any, columns: tuple[str, ...], weights: str | None) -> RowSource:
    """Return the rows of a Dask dataframe, one batch for each partition."""
    read = _delayed(_of_table)
    return _dask_rows(read(part, columns, weights) for part in X.to_delayed())


def dask_rows(X: Any, weights: Any) -> RowSource:
    """Return the rows of a Dask array, one batch for each chunk of rows."""
    X = X.rechunk({1: -1})
    blocks = X.to_delayed().ravel()
    of: Sequence[object] = [None] * len(blocks)
    if hasattr(weights, "to_delayed"):
        of = list(weights.rechunk({0: X.chunks[0]}).to_delayed().ravel())
    elif weights is not None:
        of = np.split(np.asarray(weights), np.cumsum(X.chunks[0])[:-1])
    return _dask_rows(map(_delayed(Batch), blocks, of))


def _chosen(
    names: list[str], columns: list[str] | None, weights: object, ids: str | None
) -> tuple[str, ...]:
    """Return the columns of features: those asked for, or all but the weights and the ids."""
    if not (weights is None or isinstance(weights, str)):
        raise TypeError(
            "weights of a table that is read in passes stand in one of its columns: pass the name "
            f"of that column, not {type(weights).__name__}; {', '.join(map(str, names))} are there"
        )
    others = [name for name in (weights, ids) if name is not None]
    found = [name for name in names if name not in others] if columns is None else list(columns)
    for name in [*found, *others]:
        if name not in names:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(map(str, names))}")
    return tuple(found)


def take_columns(
    X: MatrixLike, weights: ArrayLike | None, columns: list[str] | None, ids: str | None
) -> tuple[MatrixLike, ArrayLike | None]:
    """Return the features of a pandas DataFrame, with ids as its index, and the weights."""
    named = weights if isinstance(weights, str) else None
    if not is_dataframe(X) or (columns is None and ids is None and named is None):
        return X, weights
    found = list(_chosen(list(X.columns), columns, named, ids))
    weights = weights if named is None else X[named].to_numpy()
    return (X if ids is None else X.set_index(ids))[found], weights


def source_of(
    X: Any, weights: Any, columns: list[str] | None, ids: str | None
) -> tuple[RowSource, RowSource | None] | None:
    """Return the source of rows that X is, and that of their ids; None if X is held in memory."""
    if isinstance(X, RowSource):
        return X, None
    dask, mapped = hasattr(X, "__dask_graph__"), isinstance(X, np.memmap)
    if isinstance(X, str | os.PathLike):
        data = optional("pyarrow.dataset", "parquet", "reading Parquet").dataset(X)
        found = _chosen(data.schema.names, columns, weights, ids)
        labels = None if ids is None else _parquet_rows(data, (ids,), None)
        return _parquet_rows(data, found, weights), labels
    if dask and hasattr(X, "columns"):
        found = _chosen(list(X.columns), columns, weights, ids)
        return _frame_rows(X, found, weights), None if ids is None else _frame_rows(X, (ids,), None)
    if is_dataframe(X):
        return None
    kinds = {"a memory map": mapped, "a Dask array": dask, "a function": callable(X)}
    kind = next((kind for kind, true in kinds.items() if true), "an array")
    if columns is not None or ids is not None:
        raise TypeError(
            f"columns= and ids= name columns of a table; {kind} has no names. Pass a DataFrame, or "
            "the columns alone, and name the items of the target by with_labels"
        )
    if dask:
        return dask_rows(X, weights), None
    if mapped:
        return array_rows(X, weights), None
    if not callable(X):
        return None
    if weights is not None:
        raise TypeError(
            "weights of a function's rows come with them: let it yield (rows, weights) pairs"
        )
    return _IteratedRows((), X), None
