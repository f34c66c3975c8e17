"""Read the items of a command: a table in memory, or rows of a large file, read in passes."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from zonodpp._optional import optional
from zonodpp._types import Floats, Integers, Matrix, MatrixLike
from zonodpp.arguments import physical_memory
from zonodpp.cli.files import Source, open_source, parquet_facts, read_array, read_parquet, readable
from zonodpp.cli.interface import Input
from zonodpp.cli.names import ColumnRoles, find_columns, number_text, without_row_numbers
from zonodpp.cli.table import collect, is_gap, read_rows
from zonodpp.linalg.dense import to_dense
from zonodpp.streams.sources import RowSource, source_of

# Part of the memory that rows may take as float64; the rows of a larger file are read in passes.
_SHARE = 0.25
_Columns = tuple[ColumnRoles, Matrix, list[str] | None]  # the columns of numbers, and the labels


@dataclass(frozen=True)
class ItemTable:
    """Rows of numbers, with what the file says about them.

    Attributes
    ----------
    source : str
        Where it was read from, for messages.
    values : (rows, columns) array or scipy.sparse array, or RowSource
        A memory map where the file allows it. The rows of a file that would fill the memory are
        read in passes; weights are then part of them.
    shape : tuple of int
        The number of rows and of columns.
    labels : list of str or None
        Names of the rows, from the ``--id`` column.
    columns : list of str or None
        Names of the columns of ``values``.
    weights : array or None
        The column that is kept apart from the features, for weights or relevance.
    ids : RowSource or None
        The names of rows that are read in passes.
    """

    source: str
    values: Matrix | RowSource
    shape: tuple[int, ...]
    labels: list[str] | None = None
    columns: list[str] | None = None
    weights: Floats | None = None
    ids: RowSource | None = None

    @property
    def matrix(self) -> Matrix:
        """The values of a table that was not read in passes."""
        assert not isinstance(self.values, RowSource)
        return self.values

    def labels_of(self, items: Integers) -> list[str] | None:
        """Return the labels of some rows, if rows have labels."""
        if self.ids is not None:  # a pass over the column
            return list(map(str, self.ids.take(items).rows[:, 0]))
        return self.labels and [self.labels[item] for item in items.tolist()]


def read_table(
    options: Input, apart: str = "", *, passes: bool = False, source: Source | None = None
) -> ItemTable:
    r"""Read the table in a file as the options of a command describe it; rows stay rows.

    ``apart`` is the option, "weights" or "relevance", that names a column which is kept apart from
    the features, or a file of its own. If ``passes`` is true, a file that is large for the memory
    of this machine is read in passes. ``source`` is the file if it is open already: a pipe can
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
    large = _read_large(source, options, weights) if passes else None
    if large is not None:
        return large
    read = _READERS.get(source.format, _array_columns)
    roles, numbers, labels = read(source, options, weights if options.items == "rows" else None)
    places = roles.numeric
    roles = without_row_numbers(roles, lambda place: numbers[:, places.index(place)])
    if roles.numeric != places:
        numbers = numbers[:, [places.index(place) for place in roles.numeric]]
    d = len(roles.features)
    q = None if roles.weights is None else to_dense(numbers[:, d:]).ravel()
    numbers = numbers[:, :d]
    if weights is not None and q is None:
        n = numbers.shape[0 if options.items == "rows" else 1]
        q = _read_weights(source.name, f"--{apart}", weights, n)
    return ItemTable(source.name, numbers, numbers.shape, labels, roles.feature_names, q)


def _read_large(source: Source, options: Input, weights: str | None) -> ItemTable | None:
    """Return a .npy or Parquet file that is large for this machine's memory, and say that it is.

    Weights are a column of a Parquet file, or in a file of their own. None is returned for a file
    that is small, and for one that cannot be read row by row.
    """
    if source.path is None or source.format not in ("npy", "parquet") or options.items != "rows":
        return None
    X: MatrixLike = source.path
    if source.format == "npy":
        X, roles = _open_array(source, options, weights)
        n = len(X)
        if len(roles.features) < X.shape[1] or roles.chosen:  # these need all in memory
            return None
    else:
        facts = parquet_facts(source)
        schema = facts.schema.to_arrow_schema()
        n, roles = facts.num_rows, _parquet_roles(source, schema, options, weights)
    size = 8 * n * len(roles.features)
    if size <= _SHARE * physical_memory():
        return None
    memory = f"{size / 2**30:,.1f} GiB as float64"
    click.echo(f"zonodpp: {source.name} takes {memory}: reading it in passes", err=True)
    names = roles.names
    roles = without_row_numbers(roles, lambda place: read_parquet(source, [names[place]])[0])
    id = None if roles.id is None else names[roles.id]
    q: str | Floats | None = None if roles.weights is None else names[roles.weights]
    if weights is not None and q is None:
        q = _read_weights(source.name, "--weights", weights, n)
    columns = roles.feature_names
    found = source_of(X, q, columns, id)
    assert found is not None
    return ItemTable(source.name, found[0], (n, len(roles.features)), None, columns, None, found[1])


def _text_columns(source: Source, options: Input, weights: str | None) -> _Columns:
    names, named, rows = read_rows(source, options.header)
    roles = find_columns(source.name, options, weights, names, named=named)
    return roles, *collect(roles, rows)


def _open_array(source: Source, options: Input, weights: str | None) -> tuple[Any, ColumnRoles]:
    """Return an array, which is a memory map where the file allows it, and what its columns are."""
    values = read_array(source, options.key)
    if values.ndim != 2 or 0 in values.shape:
        needed = "a table has two dimensions, and is not empty"
        raise ValueError(f"{source.name} holds an array of shape {values.shape}; {needed}")
    names = list(map(str, range(values.shape[1])))
    return values, find_columns(source.name, options, weights, names, named=False)


def _array_columns(source: Source, options: Input, weights: str | None) -> _Columns:
    """Take the columns that were asked for out of an array."""
    values, roles = _open_array(source, options, weights)
    # from_features would read a memory map in passes.
    values = np.asarray(values) if isinstance(values, np.ndarray) else values.tocsc()
    ids = () if roles.id is None else to_dense(values[:, [roles.id]]).ravel()
    labels = list(map(number_text, ids)) or None
    if roles.numeric != list(range(values.shape[1])):  # otherwise nothing is copied
        values = values[:, roles.numeric]
    return roles, values, labels


def _saved_index(source: Source, schema: Any) -> list[str]:
    """Return the columns of a Parquet file in which pandas has saved the index of a frame."""
    with readable(source, "a Parquet file"):
        saved = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in saved if name in schema.names]  # a range is no column


def _parquet_roles(source: Source, schema: Any, options: Input, weights: str | None) -> ColumnRoles:
    """Find out what the columns of a Parquet file are; a saved index of pandas holds the ids."""
    index = _saved_index(source, schema)
    options.id = options.id or next(iter(index), None)
    names = [name for name in schema.names if name not in index or name == options.id]
    return find_columns(source.name, options, weights, names)


def _parquet_columns(source: Source, options: Input, weights: str | None) -> _Columns:
    table = read_parquet(source)
    roles = _parquet_roles(source, table.schema, options, weights)
    table = table.select(roles.names)
    columns = [table.column(place) for place in roles.numeric]
    whole = not any(column.null_count for column in columns)
    arrays = [column.to_numpy() for column in columns if whole]
    if whole and all(array.dtype.kind in "biuf" and np.isfinite(array).all() for array in arrays):
        labels = None if roles.id is None else list(map(str, table.column(roles.id).to_pylist()))
        return roles, np.column_stack(arrays).astype(np.float64), labels
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return roles, *collect(roles, ((0, cells) for cells in rows))


# By format; other formats hold an array.
_READERS = {"csv": _text_columns, "tsv": _text_columns, "parquet": _parquet_columns}


def _read_weights(items: str, option: str, file: str, n: int) -> Floats:
    """Return the numbers in the file that an option names, one for each item."""
    if not os.path.exists(file):
        known = f"a column of {items} nor a file of {n} numbers"
        raise ValueError(f"{option} {file} is neither {known}")
    source = open_source(file)
    is_array = source.format in ("npy", "npz")
    found = to_dense(read_array(source) if is_array else read_table(Input(), source=source).matrix)
    if found.size != n:
        shape = " x ".join(map(str, found.shape))
        raise ValueError(f"{option} {file}: expected {n} numbers, one an item, got {shape}")
    return found.ravel()


def frame_weights(roles: ColumnRoles, column: Any) -> Floats:
    """Return the numbers in the column of weights of a frame, where an empty cell is no number."""
    alone = ColumnRoles(roles.source, [roles.names[roles.weights or 0]], None, 0, [])
    weights, _ = collect(alone, ((0, [cell]) for cell in _objects(column)))
    return weights.ravel()


def read_frame(
    options: Input, weights: str | None = None, source: Source | None = None
) -> tuple[Any, Any, ColumnRoles]:
    """Return a table twice, with types and as it stands in the file, and what its columns are."""
    source = source or open_source(options.file, options.format)
    pandas = optional("pandas", "parquet", "a table with columns of several types")
    if source.format in ("csv", "tsv"):
        names, _, rows = read_rows(source, options.header)
        cells = pandas.DataFrame([[cell.strip() for cell in row] for _, row in rows], columns=names)
        table = _typed(cells)
        roles = find_columns(source.name, options, weights, names)
    elif source.format == "parquet":
        arrow = read_parquet(source)
        table = cells = arrow.to_pandas(ignore_metadata=True, types_mapper=_frame_type)
        index = _saved_index(source, arrow.schema)
        options.id = options.id or next(iter(index), None)
        roles = find_columns(source.name, options, weights, arrow.column_names)
        if not roles.chosen:
            kept = [place for place in roles.features if roles.names[place] not in index]
            roles = roles._replace(features=kept)
    else:
        values, roles = _open_array(source, options, weights)
        table = cells = pandas.DataFrame(_dense(source, values))

    roles = without_row_numbers(roles, lambda place: _objects(table.iloc[:, place]))
    return table, cells, roles


def _frame_type(kind: Any) -> Any:
    """Return the type of a frame's column for a type of Arrow; None for the default of pyarrow.

    With types of Arrow, whole numbers stay whole in a column with empty cells.
    """
    pandas, pyarrow = (optional(name, "parquet", "Parquet") for name in ("pandas", "pyarrow"))
    # pandas has own types for periods and intervals; rows of views cannot be taken.
    views = kind in (pyarrow.string_view(), pyarrow.binary_view())
    return None if views or isinstance(kind, pyarrow.ExtensionType) else pandas.ArrowDtype(kind)


def _typed(cells: Any) -> Any:
    """Return a frame of text with the types that pandas finds in its columns."""
    pandas = optional("pandas", "parquet", "a table with columns of several types")
    gaps = cells.map(is_gap)
    text = io.StringIO(cells.mask(gaps).to_csv(index=False))
    words = {"true_values": ["yes", "Yes", "YES"], "false_values": ["no", "No", "NO"]}
    # Without low_memory the type of a column is found of all its cells, not of some.
    table = pandas.read_csv(text, skip_blank_lines=False, low_memory=False, **words)
    table = table.set_axis(cells.columns, axis="columns").mask(gaps)
    for place in range(table.shape[1]):
        # Whole numbers with gaps have become floating-point numbers, which lose digits.
        if table.dtypes.iloc[place].kind == "f":
            column = cells.iloc[:, place].mask(table.iloc[:, place].isna())
            if column.dropna().str.fullmatch("[+-]?[0-9]{1,19}").all():
                whole = [None if cell is None else int(cell) for cell in _objects(column)]
                with suppress(OverflowError):
                    table.isetitem(place, pandas.array(whole, dtype="Int64"))
    return table


def _objects(column: Any) -> Any:
    """Return the cells of a column of a frame as an array of objects, None where one is empty."""
    return column.to_numpy(dtype=object, na_value=None)


def _dense(source: Source, values: Matrix) -> Floats:
    """Return an array that is not sparse, if it fits into the memory."""
    size = values.dtype.itemsize * values.shape[0] * values.shape[1]
    if not isinstance(values, np.ndarray) and size > _SHARE * physical_memory():
        found = f"{source.name} is sparse, and takes {size / 2**30:,.1f} GiB if it is not"
        advice = "select fewer rows or columns beforehand, or use zonodpp sample or landmarks"
        raise ValueError(f"{found}, too much for the memory of this machine; {advice}")
    return to_dense(values)
