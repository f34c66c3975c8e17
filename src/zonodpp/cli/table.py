"""Cells of tables: CSV and TSV, which columns are what, and the numbers in the cells."""

from __future__ import annotations

import csv
import re
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from math import isfinite, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats
from zonodpp.arguments import listed
from zonodpp.cli.files import Source, text_lines
from zonodpp.cli.interface import Input
from zonodpp.cli.messages import quoted

_HEAD = 100  # lines that are searched for the end of the first row, to choose the delimiter
_FEW = 12  # names of columns shown in a message
_GAPS = frozenset(("", "na", "n/a", "nan", "null", "none", "?"))  # cells without a value
# The header of an index without a name as pandas writes it, and as pandas reads it.
_NAMELESS = re.compile(r"(Unnamed: \d+)?")
Row = tuple[int, Sequence[str]]  # its line in the file from 1, or 0, and its cells


class ColumnRoles(NamedTuple):
    """What each column of a file is; columns are counted from 0."""

    names: list[str] | None
    id: int | None
    weights: int | None
    features: list[int]
    gaps: bool  # whether cells may be empty: they become NaN

    @property
    def numeric(self) -> list[int]:
        """Return the columns of numbers: the features, then the one that is kept apart."""
        return self.features if self.weights is None else [*self.features, self.weights]


def find_columns(
    source: str, options: Input, weights: str | None, width: int, names: list[str] | None = None
) -> ColumnRoles:
    """Find the columns that --id and --columns name; ``weights`` need not be a column."""
    known = {str(place): place for place in range(width)}
    known |= {name: place for place, name in reversed(list(enumerate(names or ())))}

    def place_of(column: str) -> int:
        if column not in known:
            there = f"columns 0 to {width - 1}" if names is None else listed(names, _FEW)
            raise ValueError(f"{source} has no column {column!r}; it has {there}")
        return known[column]

    labels = None if options.id is None else place_of(options.id)
    apart = None if weights is None else known.get(weights)
    if options.columns is None:
        features = [place for place in range(width) if place not in (labels, apart)]
    else:
        features = [place_of(column.strip()) for column in next(csv.reader([options.columns]), [])]
    _check_some_left(source, features)
    return ColumnRoles(names, labels, apart, features, options.missing != "error")


def _check_some_left(source: str, features: list[int]) -> None:
    if not features:
        raise ValueError(f"{source} has no columns left to serve as features")


def without_row_numbers(
    source: str, options: Input, roles: ColumnRoles, cells: Callable[[int], ArrayLike]
) -> ColumnRoles:
    """Leave out features without a name that count the rows, from 0 or 1, and warn of them.

    pandas writes its index as such a column. ``cells`` returns the cells of a column.
    """
    if options.columns is not None or roles.names is None:
        return roles
    features = []
    for place in roles.features:
        if _NAMELESS.fullmatch(roles.names[place]) and _counts_rows(np.asarray(cells(place))):
            found = f"{source}: column {place} (from 0) has no name of its own and counts the rows"
            advice = "it is left out, unless --columns names it by its number"
            warnings.warn(f"{found}; {advice}", stacklevel=2)
        else:
            features.append(place)
    _check_some_left(source, features)
    return roles._replace(features=features)


def _counts_rows(cells: Floats) -> bool:
    return any(np.array_equal(cells, np.arange(start, start + len(cells))) for start in (0, 1))


def read_rows(source: Source, header: bool | None) -> tuple[list[str] | None, int, Iterator[Row]]:
    """Return the names of the columns, if there are any, their number, and the rows of cells."""
    lines = text_lines(source)
    head = list(islice(lines, _HEAD))
    delimiter = "\t" if source.format == "tsv" else _delimiter(head)
    rows = _split_rows(chain(head, lines), source.name, delimiter)
    top = next(rows, None)
    if top is None:
        raise ValueError(f"{source.name} is empty: there is nothing to read")
    names = [cell.strip() for cell in top[1]]
    if header or (header is None and all(number_in(name) is None for name in names)):
        return names, len(names), _check_rows(source.name, len(names), rows)
    return None, len(names), _check_rows(source.name, len(names), chain([top], rows))


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


def collect(
    source: str, roles: ColumnRoles, rows: Iterable[Row]
) -> tuple[Floats, list[str] | None]:
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
            if number is None or not isfinite(number):
                if not (roles.gaps and is_gap(cells[place])):
                    raise ValueError(f"{source}, {_problem(roles, line, row, place, cells[place])}")
                number = nan
            numbers.append(number)
        if roles.id is not None:
            labels.append(str(cells[roles.id]).strip())
    return np.array(numbers).reshape(-1, len(places)), None if roles.id is None else labels


def is_gap(cell: object) -> bool:
    """Tell whether a cell is empty or says that its value is missing."""
    return cell is None or str(cell).strip().lower() in _GAPS


def _problem(roles: ColumnRoles, line: int, row: int, place: int, cell: object) -> str:
    """Say where a cell is that holds no finite number, and what to do about it."""
    column, hint = (roles.names and roles.names[place]) or str(place), ""
    if place == roles.weights:
        hint = "; weights and relevance are numbers"
    elif row == 0 and roles.id is None:
        hint = f"; if the column has labels, pass --id {column}, else pick by --columns"
    elif row == 0 and roles.names is None:
        hint = "; if the first row has names, pass --header"
    text = "" if cell is None else str(cell).strip()
    got = f"got {quoted(text)}" if text else "the cell is empty"
    shown = column if roles.names is None else quoted(column)
    where = f"line {line}, " * (line > 0) + f"column {shown}"
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
