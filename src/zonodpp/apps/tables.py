"""Tables of any library (pandas, polars, Arrow, or a path), and their rows in batches."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from zonodpp._arguments import as_matrix, as_reals, is_dataframe, listed
from zonodpp._imports import optional
from zonodpp._types import Integers
from zonodpp.targets.batches import BATCH, Batch, RowSource, array_rows, source_of
from zonodpp.targets.tables import has_lists, numbers_in

# Names of classes of tables, whose library narwhals knows.
_TABLES = ("DataFrame", "LazyFrame", "Table", "RecordBatch")
_FORMATS = (".parquet", ".csv", ".feather", ".arrow")


@dataclass(frozen=True)
class AnyTable:
    """A table of any library, with the same rows in pandas.

    Attributes
    ----------
    frame : pandas.DataFrame
    native : table of the library of the user
        The table that was passed; for a path the one in pandas.
    """

    frame: Any
    native: Any

    def take(self, items: Integers) -> Any:
        """Return some rows, in the library of the user."""
        if is_dataframe(self.native):
            return self.native.iloc[items]
        narwhals = optional("narwhals", "tables", "a table that is not of pandas")
        return narwhals.to_native(narwhals.from_native(self.native, eager_only=True)[items])


def is_table(X: object) -> bool:
    """Tell whether X is a table in memory, of whatever library."""
    if is_dataframe(X):
        return True
    name, library = type(X).__name__, type(X).__module__.partition(".")[0]
    return name in _TABLES and library != "dask" and not hasattr(X, "__dask_graph__")


def table_of(X: Any) -> AnyTable:
    """Return a table with its rows in pandas; a path is read."""
    if isinstance(X, str | os.PathLike):
        return _read(os.fspath(X))
    if is_dataframe(X):
        return AnyTable(X, X)
    if not is_table(X):
        raise TypeError(
            "table must be a table of pandas, polars or Arrow, or the path of a file, got "
            f"{type(X).__name__}"
        )
    narwhals = optional("narwhals", "tables", "a table that is not of pandas")
    try:
        frame = narwhals.from_native(X)
    except TypeError:
        raise TypeError(f"table is of a library that narwhals does not know: {type(X)}") from None
    if isinstance(frame, narwhals.LazyFrame):
        frame = frame.collect()
    return AnyTable(frame.to_pandas(), frame.to_native())


def _read(path: str) -> AnyTable:
    pandas = optional("pandas", "parquet", "reading a table")
    ending = os.path.splitext(path)[1].lower()
    if os.path.isdir(path) or ending == ".parquet":
        frame = pandas.read_parquet(path)
    elif ending == ".csv":
        frame = pandas.read_csv(path)
    elif ending in _FORMATS:
        frame = pandas.read_feather(path)
    else:
        raise ValueError(
            f"table must be a file that ends in {listed(_FORMATS)}, or a folder of Parquet files, "
            f"got {path!r}"
        )
    return AnyTable(frame, frame)


def numbers_of(table: Any, columns: list[Any] | None, name: str) -> NDArray[Any]:
    """Return columns of a table as numbers, those of lists of numbers included."""
    frame = table_of(table).frame
    if columns is not None:
        unknown = [column for column in columns if column not in frame.columns]
        if unknown:
            there = listed(list(frame.columns))
            raise ValueError(f"{name} has no column {listed(unknown)}; there are {there}")
        frame = frame[columns]
    if not any(has_lists(frame.iloc[:, place]) for place in range(frame.shape[1])):
        return as_reals(frame, name, (None, None), "rows and columns", dtype=None)
    return numbers_in(frame, {column: f"column {column!r} of {name}" for column in frame.columns})


def rows_of(X: Any, columns: list[str] | str | None, name: str) -> RowSource:
    """Return the rows of an array, a table, a file or a collection, in batches."""
    names = [columns] if isinstance(columns, str) else columns
    if is_table(X):
        return array_rows(numbers_of(X, names, name), None)
    if isinstance(X, str | os.PathLike) and os.fspath(X).endswith(".npy"):
        X = np.load(X, mmap_mode="r", allow_pickle=False)
    found = source_of(X, None, names, None)
    if found is not None:
        return found[0]
    if sp.issparse(X):
        return _sparse_rows(sp.csr_array(as_matrix(X, name)))
    return array_rows(as_reals(X, name, (None, None), "rows and columns", dtype=None), None)


def _sparse_rows(X: Any) -> RowSource:
    n, d = X.shape
    step = max(1, BATCH // d)
    readers: list[Callable[[], Batch]] = [
        partial(_dense_batch, X, slice(start, start + step)) for start in range(0, n, step)
    ]
    return RowSource(tuple(readers))


def _dense_batch(X: Any, span: slice) -> Batch:
    return Batch(X[span].toarray(), None)
