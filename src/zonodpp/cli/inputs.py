"""Read the items of a command: a table in memory, or rows of a large file, read in passes."""

from __future__ import annotations

import csv
import io
import math
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import click
import numpy as np

from zonodpp._optional import optional
from zonodpp._types import Floats, Integers, Matrix, MatrixLike
from zonodpp.arguments import physical_memory
from zonodpp.cli.command import quoted
from zonodpp.cli.files import (
    Source,
    open_source,
    parquet_facts,
    read_array,
    read_parquet,
    readable,
    text_lines,
)
from zonodpp.cli.interface import Input
from zonodpp.cli.names import ColumnRoles, find_columns, without_row_numbers
from zonodpp.linalg.dense import to_dense
from zonodpp.streams.sources import RowSource, source_of

_HEAD = 100  # lines that are searched for the end of the first row, to choose the delimiter
_GAPS = frozenset(("", "na", "n/a", "nan", "null", "none", "?"))  # cells without a value
Row = tuple[int, Sequence[str]]  # its line in the file from 1, or 0, and its cells
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
    options: Input,
    weights: str | None = None,
    *,
    option: str = "--weights",
    passes: bool = False,
    source: Source | None = None,
) -> ItemTable:
    r"""Read the table in a file as the options of a command describe it, rows as they stand in it.

    Weights are in a column, kept apart from the features, or in a file of their own; ``option`` is
    what names them at the shell. If ``passes`` is true, a file that is large for the memory of this
    machine is read in passes. ``source`` is the file if it is open: a pipe can be opened only once.

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
    large = _read_large(source, options, weights) if passes else None
    if large is not None:
        return large
    column = weights if options.items == "rows" else None
    labels: list[str] | None = None
    numbers: Matrix
    if source.format in ("csv", "tsv"):
        names, named, rows = read_rows(source, options.header)
        roles = find_columns(source.name, options, column, names, named=named)
        numbers, labels = collect(roles, rows)
    elif source.format == "parquet":
        roles, numbers, labels = _parquet_columns(source, options, column)
    else:
        roles, numbers, labels = _array_columns(source, options, column)
    places = roles.numeric
    roles = without_row_numbers(roles, lambda place: numbers[:, places.index(place)])
    if roles.numeric != places:
        numbers = numbers[:, [places.index(place) for place in roles.numeric]]
    d = len(roles.features)
    q = None if roles.weights is None else to_dense(numbers[:, d:]).ravel()
    numbers = numbers[:, :d]
    if weights is not None and q is None:
        n = numbers.shape[0 if options.items == "rows" else 1]
        q = _read_weights(source.name, option, weights, n)
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
        if len(roles.features) < X.shape[1] or roles.chosen:  # columns are taken in memory
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
    labels = [f"{entry:g}" for entry in ids] or None
    if roles.numeric != list(range(values.shape[1])):  # otherwise nothing is copied
        values = values[:, roles.numeric]
    return roles, values, labels


def _parquet_roles(source: Source, schema: Any, options: Input, weights: str | None) -> ColumnRoles:
    """Find out what the columns of a Parquet file are; an index that pandas has saved has ids."""
    with readable(source, "a Parquet file"):
        saved = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in saved if name in schema.names]
    options.id = options.id or next(iter(index), None)
    names = [name for name in schema.names if name not in index or name == options.id]
    return find_columns(source.name, options, weights, names)


def _parquet_columns(source: Source, options: Input, weights: str | None) -> _Columns:
    table = read_parquet(source)
    roles = _parquet_roles(source, table.schema, options, weights)
    table = table.select(roles.names)
    arrays = [table.column(place).to_numpy() for place in roles.numeric]
    if all(array.dtype.kind in "biuf" and np.isfinite(array).all() for array in arrays):
        labels = None if roles.id is None else list(map(str, table.column(roles.id).to_pylist()))
        return roles, np.column_stack(arrays).astype(np.float64), labels
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return roles, *collect(roles, ((0, cells) for cells in rows))


def _read_weights(items: str, option: str, file: str, n: int) -> Floats:
    """Return the numbers in the file that an option names, one for each item."""
    if not os.path.exists(file):
        known = f"a column of {items} nor a file of {n} numbers"
        raise ValueError(f"{option} {file} is neither {known}")
    source = open_source(file)
    is_array = source.format in ("npy", "npz")
    found = read_array(source) if is_array else read_table(Input(), source=source).matrix
    if found.size != n:
        shape = " x ".join(map(str, found.shape))
        raise ValueError(f"{option} {file}: expected {n} numbers, one an item, got {shape}")
    return found.ravel()


def frame_weights(source: str, name: str, column: Iterable[str]) -> Floats:
    """Return the numbers in a column of a frame, where an empty cell is not a number."""
    rows = ((0, ["" if cell != cell else cell]) for cell in column)  # NaN differs from itself
    weights, _ = collect(ColumnRoles(source, [name], None, 0, []), rows)
    return weights.ravel()


def read_frame(
    options: Input, weights: str | None = None, source: Source | None = None
) -> tuple[Any, Any, ColumnRoles]:
    """Return a table twice, with types and as it stands in the file, and what its columns are."""
    source = source or open_source(options.file, options.format)
    pandas = optional("pandas", "parquet", "a table with columns of several types")
    if source.format in ("csv", "tsv"):
        names, _, rows = read_rows(source, options.header)
        block = [[cell.strip() for cell in cells] for _, cells in rows]
        cells = pandas.DataFrame(block, columns=names)
        text = io.StringIO(cells.mask(cells.map(is_gap)).to_csv(index=False))
        words = {"true_values": ["yes", "Yes", "YES"], "false_values": ["no", "No", "NO"]}
        # Without low_memory the type of a column is found of all its cells, not of some.
        table = pandas.read_csv(text, skip_blank_lines=False, low_memory=False, **words)
        table = table.set_axis(cells.columns, axis="columns")
    elif source.format == "parquet":
        table = cells = read_parquet(source).to_pandas(ignore_metadata=True)
    else:
        table = cells = pandas.DataFrame(np.asarray(read_array(source, options.key)))
    roles = find_columns(source.name, options, weights, list(map(str, table.columns)))
    return table, cells, without_row_numbers(roles, lambda place: table.iloc[:, place])


def read_rows(source: Source, header: bool | None) -> tuple[list[str], bool, Iterator[Row]]:
    """Return the names of the columns, whether the file has them, and the rows of cells."""
    lines = text_lines(source)
    head = list(islice(lines, _HEAD))
    delimiter = "\t" if source.format == "tsv" else _delimiter(head)
    rows = _split_rows(chain(head, lines), source.name, delimiter)
    top = next(rows, None)
    if top is None:
        raise ValueError(f"{source.name} is empty: there is nothing to read")
    names = [cell.strip() for cell in top[1]]
    named = all(number_in(name) is None for name in names) if header is None else header
    if not named:
        names, rows = list(map(str, range(len(names)))), chain([top], rows)
    return names, named, _check_rows(source.name, len(names), rows)


def _check_rows(source: str, width: int, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows; raise if one is longer or shorter than the first, or if there are none."""
    row = -1
    for row, (line, cells) in enumerate(rows):
        if len(cells) != width:
            many = f"{len(cells)} cell{'s' * (len(cells) != 1)}"
            where = f"{source}, line {line} (row {row}; rows count from 0)"
            raise ValueError(f"{where}: {many}, but the first row has {width}")
        yield line, cells
    if row < 0:
        raise ValueError(f"{source} has a header but no rows")


def collect(roles: ColumnRoles, rows: Iterable[Row]) -> tuple[Floats, list[str] | None]:
    """Turn rows of cells into numbers, and labels if there is a column of them.

    Raises
    ------
    ValueError
        With the place of the first cell that is no finite number.
    """
    labels: list[str] = []
    numbers, places = array("d"), roles.numeric
    for row, (line, cells) in enumerate(rows):
        for place in places:
            number = number_in(cells[place])
            if number is None or not math.isfinite(number):
                if not (roles.gaps and is_gap(cells[place])):
                    raise ValueError(_problem(roles, line, row, place, cells[place]))
                number = math.nan
            numbers.append(number)
        if roles.id is not None:
            labels.append(str(cells[roles.id]).strip())
    return np.array(numbers).reshape(-1, len(places)), None if roles.id is None else labels


def is_gap(cell: object) -> bool:
    """Tell whether a cell is empty or says that its value is missing."""
    return cell is None or str(cell).strip().lower() in _GAPS


def _problem(roles: ColumnRoles, line: int, row: int, place: int, cell: object) -> str:
    """Say where a cell is that holds no finite number, and what to do about it."""
    column, hint = roles.names[place] or str(place), ""
    if place == roles.weights:
        hint = "; weights and relevance are numbers"
    elif row == 0 and roles.id is None:
        hint = f"; if the column has labels, pass --id {column}, else pick by --columns"
    elif row == 0 and not roles.named:
        hint = "; if the first row has names, pass --header"
    text = "" if cell is None else str(cell).strip()
    got = f"got {quoted(text)}" if text else "the cell is empty"
    shown = quoted(column) if roles.named else column
    where = f"{roles.source}, " + f"line {line}, " * (line > 0) + f"column {shown}"
    return f"{where} (row {row}; rows and columns count from 0): expected a number, {got}{hint}"


def _split_rows(lines: Iterable[str], source: str, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for cells in reader:
            if any(map(str.strip, cells)):  # an empty line is no row
                yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"{source}, line {reader.line_num}: {error}") from None


def _delimiter(lines: list[str]) -> str:
    """Choose the separator that cuts the first row into most cells; a comma if none does.

    The first row may have several lines, since a quoted cell may hold line ends and separators.
    """

    def cells(delimiter: str) -> int:
        with suppress(csv.Error):  # quotes that end in the middle of a cell: another separator
            return len(next(filter(None, csv.reader(lines, delimiter=delimiter, strict=True)), []))
        return 0

    first = "".join(lines[:1])
    return max(",;\t", key=lambda delimiter: (cells(delimiter), first.count(delimiter)))


def number_in(cell: str) -> float | None:
    """Return the number in a cell as Python reads it, infinity and NaN too; None without one."""
    try:
        return float(cell)
    except (ValueError, TypeError):
        return None
