"""Read the items of a command: a table in memory, or rows of a large file, read in passes."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Integers, MatrixLike
from zonodpp.arguments import physical_memory
from zonodpp.cli.files import Source, open_source, parquet_facts, read_array, read_parquet, readable
from zonodpp.cli.options import Input
from zonodpp.cli.table import ColumnRoles, ItemTable, collect, find_columns, read_rows
from zonodpp.linalg.dense import to_dense
from zonodpp.streams.sources import RowSource, source_of

# Part of the memory that rows may take as float64; the rows of a larger file are read in passes.
_SHARE = 0.25


class LargeTable(NamedTuple):
    """The rows of a file that would fill the memory: what `ItemTable` has, read in passes.

    Weights are part of the rows.
    """

    source: str
    values: RowSource
    shape: tuple[int, int]
    columns: list[str] | None
    entries: str
    ids: RowSource | None
    labels: None = None
    weights: None = None

    def labels_of(self, items: Integers) -> list[str] | None:
        """Pass over the column of ids, if there is one, for those of some rows."""
        return None if self.ids is None else list(map(str, self.ids.take(items).rows[:, 0]))


def read_table(options: Input, weights: str | None = None, option: str = "--weights") -> ItemTable:
    r"""Read the table that the options of a command describe, rows as they stand in it.

    The weights that ``option`` asks for are a column, kept apart from the features, or a file.

    Examples
    --------
    >>> import os, tempfile
    >>> from zonodpp.cli.inputs import read_table
    >>> from zonodpp.cli.options import Input
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "foods.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("food,fat,water\napple,0.2,85.6\n")
    ...     table = read_table(Input(file=path, id="food"))
    >>> table.labels, table.columns, table.values
    (['apple'], ['fat', 'water'], array([[ 0.2, 85.6]]))
    """
    return read_source(open_source(options.file, options.format), options, weights, option)


def read_source(
    source: Source, options: Input, weights: str | None = None, option: str = "--weights"
) -> ItemTable:
    """Read the table in a file that is open, see `read_table`."""
    column = weights if options.items == "rows" else None
    if source.format in ("csv", "tsv"):
        with source.stream() as stream:
            tabs = source.format == "tsv"
            names, width, rows = read_rows(stream, source.name, options.header, tabs)
            roles = find_columns(source.name, options, column, width, names)
            table = collect(source.name, roles, rows)
    elif source.format == "parquet":
        table = _table_of_parquet(source, options, column)
    else:
        table = _table_of_array(source, options, column)
    if weights is None or table.weights is not None:
        return table
    n = table.shape[0 if options.items == "rows" else 1]
    return replace(table, weights=_read_weights(source.name, weights, n, option))


def read_large(source: Source, options: Input, weights: str | None = None) -> LargeTable | None:
    """Return a .npy or Parquet file that is large for this machine's memory, and say that it is.

    Weights are a column of a Parquet file, or in a file of their own. None is returned for a file
    that is small, and for one that cannot be read row by row.
    """
    if source.path is None or source.format not in ("npy", "parquet") or options.items != "rows":
        return None
    X: MatrixLike = source.path
    columns, id = None, None
    q: ArrayLike | None = None
    if source.format == "npy":
        X = read_array(source)
        if X.ndim != 2 or options.id or options.columns:
            return None
        (n, d), entries = X.shape, f"{X.dtype}, dense"
    else:
        facts = parquet_facts(source)
        roles = _parquet_roles(source, facts.schema.to_arrow_schema(), options, weights)
        names = roles.names or []
        columns = [names[place] for place in roles.features]
        id = None if roles.id is None else names[roles.id]
        q = None if roles.weights is None else names[roles.weights]
        n, d, entries = facts.num_rows, len(columns), "Parquet"
    if 8 * n * d <= _SHARE * physical_memory():
        return None
    memory = f"{8 * n * d / 2**30:,.1f} GiB as float64"
    click.echo(f"zonodpp: {source.name} takes {memory}: reading it in passes", err=True)
    if weights is not None and q is None:
        q = _read_weights(source.name, weights, n, "--weights")
    found = source_of(X, q, columns, id)
    assert found is not None
    entries += "; large for this machine's memory: read in passes"
    return LargeTable(source.name, found[0], (n, d), columns, entries, found[1])


def _table_of_array(source: Source, options: Input, weights: str | None) -> ItemTable:
    """Take the columns that were asked for out of an array, which has no names for them."""
    values = read_array(source, options.key)
    if values.ndim != 2 or 0 in values.shape:
        needed = "a table has two dimensions, and is not empty"
        raise ValueError(f"{source.name} holds an array of shape {values.shape}; {needed}")
    # from_features would read a memory map in passes.
    values = np.asarray(values) if isinstance(values, np.ndarray) else values.tocsc()
    roles = find_columns(source.name, options, weights, values.shape[1])
    labels = None
    if roles.id is not None:
        labels = [f"{entry:g}" for entry in to_dense(values[:, [roles.id]]).ravel()]
    all_numeric = roles.numeric == list(range(roles.width))  # then nothing is copied
    return roles.table(source.name, values if all_numeric else values[:, roles.numeric], labels)


def _parquet_roles(source: Source, schema: Any, options: Input, weights: str | None) -> ColumnRoles:
    """Find out what the columns of a Parquet file are; an index that pandas has saved has ids."""
    with readable(source, "a Parquet file"):
        saved = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in saved if name in schema.names]
    first = next(iter(index), None)
    names = [name for name in schema.names if name not in index or name == (options.id or first)]
    return find_columns(source.name, options, weights, len(names), names, first)


def _table_of_parquet(source: Source, options: Input, weights: str | None) -> ItemTable:
    table = read_parquet(source)
    roles = _parquet_roles(source, table.schema, options, weights)
    table = table.select(roles.names)
    arrays = [table.column(place).to_numpy() for place in roles.numeric]
    if all(array.dtype.kind in "biuf" and np.isfinite(array).all() for array in arrays):
        labels = None if roles.id is None else list(map(str, table.column(roles.id).to_pylist()))
        return roles.table(source.name, np.column_stack(arrays).astype(np.float64), labels)
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return collect(source.name, roles, ((0, cells) for cells in rows))


def _read_weights(items: str, file: str, n: int, option: str) -> Floats:
    """Return the numbers in a file, one for each item."""
    if not os.path.exists(file):
        known = f"a column of {items} nor a file of {n} numbers"
        raise ValueError(f"{option} {file}: neither {known}")
    source = open_source(file)
    is_array = source.format in ("npy", "npz")
    found = np.asarray(read_array(source) if is_array else read_source(source, Input()).values)
    if found.size != n:
        shape = " x ".join(map(str, found.shape))
        raise ValueError(f"{option} {file}: expected {n} numbers, one an item, got {shape}")
    return found.ravel()
