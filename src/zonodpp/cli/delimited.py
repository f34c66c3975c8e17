"""Read CSV and TSV, with errors that name the row and the column."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import IO, Any, NamedTuple

import numpy as np

from zonodpp.arguments import listed
from zonodpp.cli.messages import quoted

_ROWS = 4096  # rows that are converted into numbers at a time
_FEW = 12  # names of columns shown in a message
_HEAD = 100  # lines that are searched for the end of the first row, to choose the delimiter


class Wanted(NamedTuple):
    """Which columns are what; names, or numbers counted from 0."""

    id: str | None = None
    columns: str | None = None  # separated by commas; None: all that are nothing else
    aside: tuple[str, ...] = ()  # kept apart from the features, if they are columns at all


class Row(NamedTuple):
    """The cells of a row and where they stand."""

    number: int  # of the data, from 0
    line: int  # of the file, from 1
    cells: list[str]


def read_delimited(
    stream: IO[bytes], source: str, wanted: Wanted, header: bool | None = None, tabs: bool = False
) -> tuple[Any, list[str] | None, list[str] | None, dict[str, Any]]:
    r"""Read values, labels, names of columns and columns kept aside.

    Examples
    --------
    >>> import io
    >>> from zonodpp.cli.delimited import Wanted, read_delimited
    >>> read_delimited(io.BytesIO(b"1,2\n3,4\n"), "x.csv", Wanted())[0]
    array([[1., 2.],
           [3., 4.]])
    >>> read_delimited(io.BytesIO(b"1,2\n3,four\n"), "x.csv", Wanted())
    Traceback (most recent call last):
    ValueError: x.csv, line 2, column 1 (row 1; rows and columns count from 0): expected a number,
    got 'four'
    """
    lines = text_lines(stream, source)
    head = list(islice(lines, _HEAD))
    rows = _read_rows(chain(head, lines), source, "\t" if tabs else _delimiter(head))
    try:
        top = next(rows)
    except StopIteration:
        raise ValueError(f"{source} is empty: there is nothing to read") from None
    names = None
    if header or (header is None and not any(map(is_number, top.cells))):
        names = [cell.strip() for cell in top.cells]
    width = len(top.cells)
    reader = _Columns(source, names, width, wanted)
    block: list[Row] = [] if names is not None else [top]
    for row in rows:
        if names is not None:
            row = row._replace(number=row.number - 1)  # the header is no row of the data
        if len(row.cells) != width:
            raise ValueError(
                f"{source}, line {row.line} (row {row.number}; rows count from 0): "
                f"{len(row.cells)} cell{'s' * (len(row.cells) != 1)}, but the first row has {width}"
            )
        block.append(row)
        if len(block) == _ROWS:
            reader.add(block)
            block = []
    reader.add(block)
    return reader.result()


def text_lines(
    stream: IO[bytes], source: str, advice: str = "if it is an array, pass --format"
) -> Iterator[str]:
    """Yield the lines of UTF-8 text, line ends included; raise if it is not text."""
    if b"\0" in stream.read(65536):
        raise ValueError(f"{source} is not text but binary data; {advice}")
    stream.seek(0)
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise ValueError(
                f"{source}, line {number}: not UTF-8 text; convert it, for instance with iconv"
            ) from None


class Places(NamedTuple):
    """Where the columns that are wanted stand, counted from 0."""

    id: int | None
    aside: dict[str, int]
    kept: list[int]  # the features


def find_places(wanted: Wanted, names: list[str] | None, width: int, source: str) -> Places:
    """Find the columns that are wanted, or say which columns there are."""
    id = None if wanted.id is None else _place_of(wanted.id, names, width, source)
    found = {column: _find_column(column, names, width) for column in wanted.aside}
    aside = {column: place for column, place in found.items() if place is not None}
    if wanted.columns is None:
        kept = [place for place in range(width) if place not in (id, *aside.values())]
    else:
        columns = next(csv.reader([wanted.columns]), [])
        kept = [_place_of(column.strip(), names, width, source) for column in columns]
    if not kept:
        raise ValueError(f"{source} has no columns left to serve as features")
    return Places(id, aside, kept)


def _find_column(column: str, names: list[str] | None, width: int) -> int | None:
    """Return the place of a column given by its name or its number; None if there is none."""
    if names is not None and column in names:
        return names.index(column)
    return int(column) if column.isdecimal() and int(column) < width else None


def _place_of(column: str, names: list[str] | None, width: int, source: str) -> int:
    place = _find_column(column, names, width)
    if place is None:
        known = f"columns 0 to {width - 1}" if names is None else listed(names, _FEW)
        raise ValueError(f"{source} has no column {column!r}; it has {known}")
    return place


class _Columns:
    """Collects the columns that are wanted, a block of rows at a time."""

    def __init__(self, source: str, names: list[str] | None, width: int, wanted: Wanted) -> None:
        self.source, self.names = source, names
        self.id, self.aside, self.kept = find_places(wanted, names, width, source)
        self.numeric = [*self.kept, *self.aside.values()]
        self.all = self.numeric == list(range(width))
        self.labels: list[str] = []
        self.blocks: list[Any] = []

    def add(self, rows: list[Row]) -> None:
        if not rows:
            return
        cells = [row.cells for row in rows]
        if not self.all:
            cells = [[row[place] for place in self.numeric] for row in cells]
        try:
            numbers = np.array(cells, dtype=np.float64)
        except ValueError:
            self._complain(rows)
            raise
        if not np.isfinite(numbers).all():
            self._complain(rows)
        self.blocks.append(numbers)
        if self.id is not None:
            self.labels.extend(row.cells[self.id].strip() for row in rows)

    def _complain(self, rows: list[Row]) -> None:
        """Name the first cell that is no finite number."""
        for row in rows:
            for place in self.numeric:
                cell = row.cells[place].strip()
                if is_number(cell) and np.isfinite(float(cell)):
                    continue
                name = place if self.names is None else quoted(self.names[place])
                got = f"got {quoted(cell)}" if cell else "the cell is empty"
                raise ValueError(
                    f"{self.source}, line {row.line}, column {name} (row {row.number}; rows and "
                    f"columns count from 0): expected a number, {got}{self._hint(row, place, cell)}"
                )

    def _hint(self, row: Row, place: int, cell: str) -> str:
        if row.number > 0 or not cell or is_number(cell):
            return ""
        if self.id is None:
            column = place if self.names is None else self.names[place]
            return f"; if the column has labels, pass --id {column}, else pick others by --columns"
        return "" if self.names is not None else "; if the first row has names, pass --header"

    def result(self) -> tuple[Any, list[str] | None, list[str] | None, dict[str, Any]]:
        if not self.blocks:
            raise ValueError(f"{self.source} has a header but no rows")
        values = np.concatenate(self.blocks) if len(self.blocks) > 1 else self.blocks[0]
        width = len(self.kept)
        aside = {column: values[:, width + k] for k, column in enumerate(self.aside)}
        columns = None if self.names is None else [self.names[place] for place in self.kept]
        kept = values[:, :width] if aside else values
        return kept, None if self.id is None else self.labels, columns, aside


def _read_rows(lines: Iterable[str], source: str, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(lines, delimiter=delimiter)
    number = 0
    try:
        for cells in reader:
            if any(map(str.strip, cells)):  # an empty line is no row
                yield Row(number, reader.line_num, cells)
                number += 1
    except csv.Error as error:
        raise ValueError(f"{source}, line {reader.line_num}: {error}") from None


def _delimiter(lines: list[str]) -> str:
    """Choose the separator that cuts the first row into most cells; a comma if none does.

    The first row may have several lines, since a quoted cell may hold line ends and separators.
    """

    def cells(delimiter: str) -> int:
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            return len(next((row for row in rows if row), []))
        except csv.Error:  # quotes that end in the middle of a cell: it is another separator
            return 0

    first = "".join(lines[:1])
    return max(",;\t", key=lambda delimiter: (cells(delimiter), first.count(delimiter)))


def is_number(cell: str) -> bool:
    """Tell whether Python reads the text as a number, infinity and NaN included."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
