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
from typing import Any, NamedTuple, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp._arguments import as_reals, is_dataframe
from zonodpp._imports import on_use, optional
from zonodpp._types import Integers, MatrixLike
from zonodpp.io.stderr import Stderr, is_watched
from zonodpp.numerics.threads import one_thread
from zonodpp.targets.tables import numbers_in

BATCH = 2**20  # entries of a batch of an array: 8 MiB as float64
Result = TypeVar("Result")


Weights = NDArray[np.generic] | None  # (m,), one for each row


class Batch(NamedTuple):
    """Consecutive rows with their weights, as they are stored."""

    rows: NDArray[np.generic]  # (m, d)
    weights: Weights

    @classmethod
    def of(cls, number: int, rows: object, weights: object = None) -> Self:
        """Check that rows and weights are real numbers, one weight for each row.

        Whether they are finite is seen when they are read, block by block.
        """
        name = f"batch {number}"
        table = as_reals(rows, name, (None, None), "rows and columns", dtype=None)
        if weights is None:
            return cls(table, None)
        expected = f"one entry for each of its {len(table)} rows"
        wanted = (len(table),)
        return cls(table, as_reals(weights, f"weights of {name}", wanted, expected, dtype=None))


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
        weighted = None  # whether the first batch has weights
        for number, found in enumerate(self._found()):
            if number > last:
                return
            rows, weights = found if isinstance(found, tuple) else (found, None)
            weighted = weights is not None if weighted is None else weighted
            if (weights is not None) != weighted:
                has, had = ("no weights", "has them") if weighted else ("weights", "has none")
                raise ValueError(
                    f"batch {number} has {has} and batch 0 {had}; let every batch come with its "
                    "weights, or none"
                )
            if wanted is None or number in wanted:
                yield number, Batch.of(number, rows, weights)

    def _found(self) -> Iterator[MatrixLike | tuple[MatrixLike, ArrayLike | None]]:
        """Yield what the function has, rows or pairs; errors say what the function should do."""
        found = self.function()
        if not isinstance(found, Iterable):
            raise TypeError(
                "the function must return an iterator over batches of rows, got "
                f"{type(found).__name__}; let it return a list or a generator, or yield the batches"
            )
        iterator = iter(found)
        while True:
            try:
                batch = next(iterator)
            except StopIteration:
                return
            except ValueError as error:
                if str(error) != "generator already executing":
                    raise
                raise ValueError(
                    "the function returned a generator that another thread is reading; let it "
                    "return a new one at each call"
                ) from None
            if isinstance(batch, tuple) and len(batch) != 2:
                raise TypeError(
                    "a batch must be an array of rows or a pair (rows, weights), got a tuple of "
                    f"{len(batch)}"
                )
            yield batch


@dataclass(frozen=True)
class _DaskRows(RowSource):
    """Batches that are Dask tasks; a pass runs on the workers, and only results travel."""

    tasks: tuple[Any, ...]  # delayed Batch, which the readers compute

    def fold(self, task: Task[Result], merge: Merge[Result], title: str) -> Result | None:
        """Merge the results of neighbours on the workers."""
        do = _delayed(_on_one_thread)
        dask = optional("dask", "dask", "a pass over Dask collections")
        shared = dask.delayed(task, pure=True, traverse=False)  # it may hold large arrays
        results = (do(shared, number, batch) for number, batch in enumerate(self.tasks))
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


@dataclass(frozen=True)
class _MappedRows(RowSource):
    """The rows of a memory map.

    To another process a map travels as the name of its file, if that still holds the same rows.
    A map may have been changed in memory, and its file replaced or removed: then the rows travel.
    """

    mapped: np.memmap[Any, np.dtype[np.generic]]
    weights: Weights

    def __reduce__(self) -> tuple[Callable[..., RowSource], tuple[Any, ...]]:
        X = self.mapped
        place = (os.fspath(X.filename or ""), X.dtype, "r", X.offset, X.shape)
        with contextlib.suppress(OSError, ValueError):
            if _is_whole(X) and _equal(X, np.memmap(*place)):  # type: ignore[call-overload]
                return _map_again, (place, self.weights)
        return array_rows, (np.array(X), self.weights)


def _is_whole(X: np.memmap[Any, np.dtype[np.generic]]) -> bool:
    """Tell whether a map is all of the rows after its offset: a view has the offset of its base."""
    return isinstance(X.base, mmap.mmap) and X.flags.c_contiguous


def _equal(X: NDArray[np.generic], Y: NDArray[np.generic]) -> bool:
    """Tell whether two arrays of one shape have the same bytes in all of their rows."""
    step = max(1, BATCH // max(1, X.shape[1]))
    spans = (slice(start, start + step) for start in range(0, len(X), step))
    return all(X[span].tobytes() == Y[span].tobytes() for span in spans)


def _map_again(place: tuple[Any, ...], weights: Weights) -> RowSource:
    return array_rows(np.memmap(*place), weights)


def _mapped_batch(X: np.memmap[Any, np.dtype[np.generic]], span: slice, weights: Weights) -> Batch:
    """Return rows of a map, after what was read of it before has left the memory.

    The system would keep all pages of the file that were read until others need the memory.
    """
    # Pages of a copy-on-write map may have been changed, and are then nowhere else.
    if X.mode != "c" and isinstance(X.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        X.base.madvise(mmap.MADV_DONTNEED)
    return Batch(np.asarray(X[span]), weights)


def array_rows(X: NDArray[np.generic], weights: ArrayLike | None) -> RowSource:
    """Return the rows of an array or a memory map, in batches of 8 MiB as float64."""
    as_reals(X, "X", (None, None), "rows and columns", dtype=None)
    n, d = X.shape
    of = None
    if weights is not None:
        expected = f"one entry for each of the {n} items"
        of = as_reals(weights, "weights", (n,), expected, dtype=None)
    step = max(d, BATCH // max(1, d), 1)
    readers: list[Callable[[], Batch]] = []
    for start in range(0, n, step):
        span = slice(start, start + step)
        here = None if of is None else of[span]
        if isinstance(X, np.memmap):
            readers.append(partial(_mapped_batch, X, span, here))
        else:
            readers.append(partial(Batch, X[span], here))
    return (
        _MappedRows(tuple(readers), X, of)
        if isinstance(X, np.memmap)
        else RowSource(tuple(readers))
    )


def _of_table(table: Any, columns: tuple[str, ...], weights: str | None, number: int) -> Batch:
    """Return columns of numbers of a pandas or an Arrow table."""
    rows = numbers_in(table, {name: f"column {name!r} of batch {number}" for name in columns})
    if weights is None:
        return Batch(rows, None)
    return Batch(
        rows, as_reals(table[weights], f"column {weights!r} of batch {number}", dtype=None)
    )


def _ids_of(table: Any, columns: tuple[str, ...], weights: None, number: int) -> Batch:
    """Return the column of ids of a pandas or an Arrow table, which may hold anything."""
    return Batch(np.column_stack([table[name].to_numpy() for name in columns]), weights)


Reader = Callable[[Any, tuple[str, ...], Any, int], Batch]  # of a table


def _row_group(
    read: Reader, fragment: Any, columns: tuple[str, ...], weights: str | None, number: int
) -> Batch:
    """Read a row group of a Parquet file."""
    names = [name for name in (*columns, weights) if name is not None]
    return read(fragment.to_table(columns=names), columns, weights, number)


def _parquet_rows(
    read: Reader, dataset: Any, columns: tuple[str, ...], weights: str | None
) -> RowSource:
    """Return the rows of a Parquet dataset, one batch for each row group."""
    groups = [part for file in dataset.get_fragments() for part in file.split_by_row_group()]
    parts = enumerate(groups)
    return RowSource(
        tuple(partial(_row_group, read, part, columns, weights, k) for k, part in parts)
    )


def _frame_rows(read: Reader, X: Any, columns: tuple[str, ...], weights: str | None) -> RowSource:
    """Return the rows of a Dask dataframe, one batch for each partition."""
    task = _delayed(read)
    return _dask_rows(task(part, columns, weights, k) for k, part in enumerate(X.to_delayed()))


def dask_rows(X: Any, weights: Any) -> RowSource:
    """Return the rows of a Dask array, one batch for each chunk of rows."""
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, got shape {X.shape}")
    X = X.rechunk({1: -1})
    blocks = X.to_delayed().ravel()
    of: Sequence[object] = [None] * len(blocks)
    if weights is not None:
        n = len(blocks) and sum(X.chunks[0])
        if n != n:  # NaN: Dask does not know how many rows a chunk has
            _refuse_unknown_chunks()
        expected = f"one entry for each of the {n} items"
        if not hasattr(weights, "to_delayed"):
            weights = as_reals(weights, "weights", (n,), expected, dtype=None)
            of = np.split(weights, np.cumsum(X.chunks[0])[:-1])
        elif weights.shape != (n,):
            raise ValueError(f"weights must have {expected}, got shape {weights.shape}")
        else:
            of = list(weights.rechunk({0: X.chunks[0]}).to_delayed().ravel())
    numbers = range(len(blocks))
    return _dask_rows(map(_delayed(Batch.of), numbers, blocks, of))


def _refuse_unknown_chunks() -> NoReturn:
    raise ValueError(
        "the chunks of X have unknown lengths, so that weights cannot be matched with rows; call "
        "X.compute_chunk_sizes() first"
    )


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
    weights = weights if named is None else X[named]
    return (X if ids is None else X.set_index(ids))[found], weights


def _parquet_at(path: Any) -> Any:
    """Open Parquet files by their path; raise an error that says so if there are none."""
    arrow = optional("pyarrow.dataset", "parquet", "reading Parquet")
    try:
        return arrow.dataset(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {str(path)!r}") from None
    except ValueError:  # of Arrow, with several lines about magic bytes
        advice = "read other files into memory, or pass a function that yields batches of rows"
        raise ValueError(f"{str(path)!r} is not a Parquet file; {advice}") from None


def source_of(
    X: Any, weights: Any, columns: list[str] | None, ids: str | None
) -> tuple[RowSource, RowSource | None] | None:
    """Return the source of rows that X is, and that of their ids; None if X is held in memory."""
    if isinstance(X, RowSource):
        return X, None
    dask, mapped = hasattr(X, "__dask_graph__"), isinstance(X, np.memmap)
    if isinstance(X, str | os.PathLike):
        data = _parquet_at(X)
        found = _chosen(data.schema.names, columns, weights, ids)
        labels = None if ids is None else _parquet_rows(_ids_of, data, (ids,), None)
        return _parquet_rows(_of_table, data, found, weights), labels
    if dask and hasattr(X, "columns"):
        found = _chosen(list(X.columns), columns, weights, ids)
        labels = None if ids is None else _frame_rows(_ids_of, X, (ids,), None)
        return _frame_rows(_of_table, X, found, weights), labels
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
