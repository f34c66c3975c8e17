"""Read the items of a command: a table of numbers with labels and weights."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from zonodpp._types import Floats, Integers, Matrix
from zonodpp.cli.interface import Input
from zonodpp.cli.names import (
    ColumnRoles,
    find_columns,
    some_left,
    without_names_of_rows,
    without_row_numbers,
)
from zonodpp.cli.read import TEXT, Source, open_source, read_array, read_parquet, readable
from zonodpp.cli.tables import collect, number_text, open_table, warn_of_points
from zonodpp.numerics.arrays import to_dense

_Columns = tuple[ColumnRoles, Matrix, list[str] | None]  # the columns of numbers, and the labels


@dataclass(frozen=True)
class ItemTable:
    """Rows of numbers, with what the file says about them.

    Attributes
    ----------
    source : str
        Where it was read from, for messages.
    values : (rows, columns) array or scipy.sparse array
        A memory map where the file allows it.
    shape : tuple of int
        The number of rows and of columns.
    labels : list of str or None
        Names of the rows, from the ``--id`` column.
    columns : list of str or None
        Names of the columns of ``values``.
    weights : array or None
        The column that is kept apart from the features, for weights or relevance.
    """

    source: str
    values: Matrix
    shape: tuple[int, ...]
    labels: list[str] | None = None
    columns: list[str] | None = None
    weights: Floats | None = None

    def labels_of(self, items: Integers) -> list[str] | None:
        """Return the labels of some rows, if rows have labels."""
        return self.labels and [self.labels[item] for item in items.tolist()]


def read_table(options: Input, apart: str = "", source: Source | None = None) -> ItemTable:
    r"""Read the table in a file as the options of a command describe it; rows stay rows.

    ``apart`` is the option, "weights" or "relevance", that names a column which is kept apart from
    the features, or a file of its own. ``source`` is the file if it is open already: a pipe can
    be opened only once.

    Examples
    --------
    >>> import os, tempfile
    >>> from zonodpp.cli.inputs import read_table
    >>> from zonodpp.cli.interface import Input
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "foods.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("food,fat,water\napple,0.2,85.6\n")
    ...     table = read_table(Input(file=path, id="food"))
    >>> table.labels, table.columns, table.values
    (['apple'], ['fat', 'water'], array([[ 0.2, 85.6]]))
    """
    source = source or open_source(options.file, options.format)
    weights: str | None = getattr(options, apart) if apart else None
    read = _READERS.get(source.format, _array_columns)
    roles, numbers, labels = read(source, options, weights if options.items == "rows" else None)
    places = roles.numeric
    given = roles.id
    roles = without_row_numbers(roles, lambda place: numbers[:, places.index(place)].tolist())
    if roles.id is not None and roles.id != given:
        labels = list(map(number_text, numbers[:, places.index(roles.id)].tolist()))
    if roles.numeric != places:
        numbers = numbers[:, [places.index(place) for place in roles.numeric]]
    d = len(roles.features)
    q = None if roles.weights is None else to_dense(numbers[:, d:]).ravel()
    numbers = numbers[:, :d]
    if weights is not None and q is None:
        n = numbers.shape[0 if options.items == "rows" else 1]
        q = read_weights(source.name, f"--{apart}", weights, n)
    return ItemTable(source.name, numbers, numbers.shape, labels, roles.feature_names, q)


def _text_columns(source: Source, options: Input, weights: str | None) -> _Columns:
    table = open_table(source, options.header)
    roles = find_columns(source.name, options, weights, table.names, named=table.named)
    roles = without_names_of_rows(roles, table.first_cells)
    found = collect(roles, table.rows())
    warn_of_points(table, roles)
    return roles, *found


def open_array(source: Source, options: Input, weights: str | None) -> tuple[Any, ColumnRoles]:
    """Return an array, which is a memory map where the file allows it, and what its columns are."""
    values = read_array(source, options.key)
    if values.ndim != 2 or 0 in values.shape:
        needed = "a table has two dimensions, and is not empty"
        raise ValueError(f"{source.name} holds an array of shape {values.shape}; {needed}")
    names = list(map(str, range(values.shape[1])))
    return values, find_columns(source.name, options, weights, names, named=False)


def _array_columns(source: Source, options: Input, weights: str | None) -> _Columns:
    """Take the columns that were asked for out of an array."""
    values, roles = open_array(source, options, weights)
    # from_features would read a memory map in passes.
    values = np.asarray(values) if isinstance(values, np.ndarray) else values.tocsc()
    ids = () if roles.id is None else to_dense(values[:, [roles.id]]).ravel()
    labels = list(map(number_text, ids)) or None
    if roles.numeric != list(range(values.shape[1])):  # otherwise nothing is copied
        values = values[:, roles.numeric]
    return roles, values, labels


def parquet_roles(source: Source, schema: Any, options: Input, weights: str | None) -> ColumnRoles:
    """Find out what the columns of a Parquet file are.

    Columns in which pandas has saved the index of a frame are features only if --columns names
    them; without --id, the first of them holds the labels.
    """
    with readable(source, "a Parquet file"):
        saved = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in saved if name in schema.names]  # an index of 0, 1, ... is no column
    options.id = options.id or next(iter(index), None)
    roles = find_columns(source.name, options, weights, schema.names)
    others = [place for place in roles.features if roles.names[place] not in index]
    return some_left(roles if options.columns else roles._replace(features=others))


def _parquet_columns(source: Source, options: Input, weights: str | None) -> _Columns:
    table = read_parquet(source)
    roles = parquet_roles(source, table.schema, options, weights)
    columns = [table.column(place) for place in roles.numeric]
    whole = not any(column.null_count for column in columns)
    arrays = [column.to_numpy() for column in columns if whole]
    if whole and all(array.dtype.kind in "biuf" and np.isfinite(array).all() for array in arrays):
        labels = None if roles.id is None else list(map(str, table.column(roles.id).to_pylist()))
        return roles, np.column_stack(arrays).astype(np.float64), labels
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return roles, *collect(roles, ((0, cells) for cells in rows))


# By format; other formats hold an array.
_READERS = {**dict.fromkeys(TEXT, _text_columns), "parquet": _parquet_columns}


def read_weights(table: str, option: str, file: str, n: int) -> Floats:
    """Return the numbers in the file that an option names, one for each item of a table."""
    if not os.path.exists(file):
        known = f"a column of {table} nor a file of {n} numbers"
        raise ValueError(f"{option} {file} is neither {known}")
    source = open_source(file)
    is_array = source.format in ("npy", "npz")
    options = Input()
    options.alone = True
    found = to_dense(read_array(source) if is_array else read_table(options, source=source).values)
    if found.size != n or max(found.shape) != n:
        shape = " x ".join(map(str, found.shape))
        raise ValueError(f"{option} {file}: expected {n} numbers, one an item, got {shape}")
    return found.ravel()
