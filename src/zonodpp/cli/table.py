"""Tables of items: CSV and TSV, which columns are what, and the numbers in the cells."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import IO, NamedTuple

import numpy as np

from zonodpp._types import Floats, Matrix
from zonodpp.arguments import listed
from zonodpp.cli.messages import quoted
from zonodpp.cli.options import Input
from zonodpp.linalg.dense import to_dense

_HEAD = 100  # lines that are searched for the end of the first row, to choose the delimiter
_ROWS = 4096  # rows that are converted into numbers at a time
_FEW = 12  # names of columns shown in a message
_GAPS = frozenset(("", "na", "n/a", "nan", "null", "none", "?"))  # cells without a value
Row = tuple[int, Sequence[object]]  # its line in the file from 1, or 0, and its cells


@dataclass(frozen=True)
class ItemTable:
    """Rows of numbers, with what the file says about them.

    Attributes
    ----------
    source : str
        Where it was read from, for messages.
    values : (rows, columns) array or scipy.sparse array
        A memory map where the file allows it.
    labels : list of str or None
        Names of the rows, from the ``--id`` column.
    columns : list of str or None
        Names of the columns of ``values``.
    aside : dict of str to array
        Columns kept apart from the features: weights, relevance.
    """

    source: str
    values: Matrix
    labels: list[str] | None = None
    columns: list[str] | None = None
    aside: dict[str, Floats] = field(default_factory=dict)


class Layout(NamedTuple):
    """The columns of a file and what they are; columns are counted from 0."""

    width: int
    names: list[str] | None
    id: int | None
    aside: dict[str, int]
    kept: list[int]  # the features
    gaps: bool = False  # whether cells may be empty: they become NaN

    @property
    def numeric(self) -> list[int]:
        """Return the columns of numbers: the features, then those kept apart."""
        return [*self.kept, *self.aside.values()]

    def table(self, source: str, numbers: Matrix, labels: list[str] | None) -> ItemTable:
        """Return a table, given the columns of numbers."""
        width = len(self.kept)
        columns = None if self.names is None else [self.names[place] for place in self.kept]
        aside = {name: as_column(numbers, width + k) for k, name in enumerate(self.aside)}
        return ItemTable(source, numbers[:, :width], labels, columns, aside)


def find_columns(
    source: str, options: Input, aside: Sequence[str], width: int, names: list[str] | None = None
) -> Layout:
    """Find the columns that --id and --columns name; those in ``aside`` need not be columns."""
    known = {str(place): place for place in range(width)}
    known |= {name: place for place, name in reversed(list(enumerate(names or ())))}

    def place_of(column: str) -> int:
        if column not in known:
            there = f"columns 0 to {width - 1}" if names is None else listed(names, _FEW)
            raise ValueError(f"{source} has no column {column!r}; it has {there}")
        return known[column]

    id = None if options.id is None else place_of(options.id)
    apart = {column: known[column] for column in aside if column in known}
    if options.columns is None:
        kept = [place for place in range(width) if place not in (id, *apart.values())]
    else:
        kept = [place_of(column.strip()) for column in next(csv.reader([options.columns]), [])]
    if not kept:
        raise ValueError(f"{source} has no columns left to serve as features")
    return Layout(width, names, id, apart, kept, options.missing != "error")


def read_delimited(
    stream: IO[bytes], source: str, options: Input, aside: Sequence[str] = (), tabs: bool = False
) -> ItemTable:
    r"""Read text; without --header, the first row has names if none of its cells is a number.

    Examples
    --------
    >>> import io
    >>> from zonodpp.cli.options import Input
    >>> from zonodpp.cli.table import read_delimited
    >>> read_delimited(io.BytesIO(b"1,2\n3,4\n"), "x.csv", Input()).values
    array([[1., 2.],
           [3., 4.]])
    >>> read_delimited(io.BytesIO(b"1,2\n3,four\n"), "x.csv", Input())
    Traceback (most recent call last):
    ValueError: x.csv, line 2, column 1 (row 1; rows and columns count from 0): expected a number,
    got 'four'
    """
    names, width, rows = read_rows(stream, source, options.header, tabs)
    return collect(source, find_columns(source, options, aside, width, names), rows)


def read_rows(
    stream: IO[bytes], source: str, header: bool | None, tabs: bool
) -> tuple[list[str] | None, int, Iterator[Row]]:
    """Return the names of the columns, if there are any, their number, and the rows of cells."""
    lines = text_lines(stream, source)
    head = list(islice(lines, _HEAD))
    rows = _read_rows(chain(head, lines), source, "\t" if tabs else _delimiter(head))
    top = next(rows, None)
    if top is None:
        raise ValueError(f"{source} is empty: there is nothing to read")
    names = [str(cell).strip() for cell in top[1]]
    if header or (header is None and not any(map(is_number, names))):
        return names, len(names), rows
    return None, len(names), chain([top], rows)


def collect(source: str, layout: Layout, rows: Iterable[Row]) -> ItemTable:
    """Turn rows of cells into numbers and labels.

    Raises
    ------
    ValueError
        With the place of the first cell that is no finite number, or of a row that is too long or
        too short.
    """
    labels: list[str] = []
    blocks: list[Floats] = []
    id, rows = layout.id, iter(rows)
    while block := list(islice(rows, _ROWS)):
        numbers = _as_numbers(block, layout)
        if numbers is None:
            raise ValueError(f"{source}, {_problem(block, sum(map(len, blocks)), layout)}")
        blocks.append(numbers)
        labels.extend(str(cells[id]).strip() for _, cells in block if id is not None)
    if not blocks:
        raise ValueError(f"{source} has a header but no rows")
    return layout.table(source, np.concatenate(blocks), None if layout.id is None else labels)


def _as_numbers(block: list[Row], layout: Layout) -> Floats | None:
    """Return the numeric columns of some rows; None if a row or a cell is not as it should be."""
    if any(len(cells) != layout.width for _, cells in block):
        return None
    places = layout.numeric
    try:
        numbers = np.array(
            [
                [np.nan if layout.gaps and is_gap(cells[k]) else cells[k] for k in places]
                for _, cells in block
            ],
            dtype=np.float64,
        )
    except (ValueError, TypeError):
        return None
    valid = np.isfinite(numbers) | (layout.gaps & np.isnan(numbers))
    return numbers if valid.all() else None


def is_gap(cell: object) -> bool:
    """Tell whether a cell is empty or says that its value is missing."""
    return cell is None or str(cell).strip().lower() in _GAPS


def check_width(line: int, row: int, cells: Sequence[object], width: int) -> str | None:
    """Return what is wrong with a row that has more or fewer cells than the first; else None."""
    if len(cells) == width:
        return None
    many = f"{len(cells)} cell{'s' * (len(cells) != 1)}"
    return f"line {line} (row {row}; rows count from 0): {many}, but the first row has {width}"


def _problem(block: list[Row], first: int, layout: Layout) -> str:
    """Name the first row of another length, or the first cell that is no finite number."""
    for row, (line, cells) in enumerate(block, first):
        problem = check_width(line, row, cells, layout.width)
        if problem is not None:
            return problem
        for place in layout.numeric:
            cell = "" if cells[place] is None else str(cells[place]).strip()
            if layout.gaps and is_gap(cell):
                continue
            if is_number(cell) and np.isfinite(float(cell)):
                continue
            column, hint = str(place) if layout.names is None else layout.names[place], ""
            if row == 0 and layout.id is None:
                hint = f"; if the column has labels, pass --id {column}, else pick by --columns"
            elif row == 0 and layout.names is None:
                hint = "; if the first row has names, pass --header"
            got = f"got {quoted(cell)}" if cell else "the cell is empty"
            shown = column if layout.names is None else quoted(column)
            where = f"column {shown} (row {row}; rows and columns count from 0)"
            where = f"line {line}, {where}" if line else where
            return f"{where}: expected a number, {got}{hint}"
    return "one of its cells is no number"


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
            problem = "not UTF-8 text; convert it, for instance with iconv"
            raise ValueError(f"{source}, line {number}: {problem}") from None


def _read_rows(lines: Iterable[str], source: str, delimiter: str) -> Iterator[Row]:
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
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            return len(next((row for row in rows if row), []))
        except csv.Error:  # quotes that end in the middle of a cell: it is another separator
            return 0

    first = "".join(lines[:1])
    return max(",;\t", key=lambda delimiter: (cells(delimiter), first.count(delimiter)))


def as_column(matrix: Matrix, place: int) -> Floats:
    """Return a column of a matrix that may be sparse."""
    return to_dense(matrix[:, [place]]).ravel()


def is_number(text: str) -> bool:
    """Tell whether Python reads the text as a number, infinity and NaN included."""
    try:
        float(text)
    except ValueError:
        return False
    return True
