"""Rows of a text table, CSV or TSV: its cells, and the numbers in them."""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

import numpy as np

from zonodpp._types import Floats
from zonodpp.cli._command import quoted
from zonodpp.cli._files import Source, text_lines
from zonodpp.cli._names import ColumnRoles

_HEAD = 100  # lines that hold the first rows, by which the separator is chosen
_FIRST = 20  # of those rows
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9.]*,[0-9]+(e[+-]?[0-9]+)?", re.IGNORECASE)
_GAPS = frozenset(("", "na", "n/a", "nan", "null", "none", "?"))  # cells without a value
Row = tuple[int, Sequence[str]]  # its line in the file from 1 (0: unknown), and its cells


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
                if not (roles.may_be_empty(place) and is_gap(cells[place])):
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
    text = "" if cell is None else str(cell).strip()
    if is_gap(text) and roles.advice():
        hint = roles.advice()
    elif _is_decimal(text):
        hint = "; numbers need a decimal point, not a comma"
    elif place == roles.weights:
        hint = "; weights and relevance are numbers"
    elif row == 0 and roles.id is None:
        hint = f"; if the column has labels, pass --id {column}, else pick by --columns"
    elif row == 0 and not roles.named:
        hint = "; if the first row has names, pass --header"
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
    """Choose the separator that cuts the first rows into equally many cells, most of them numbers.

    Text with commas, or decimal commas, may be cut into equally many cells by commas as well: the
    cells between are then no numbers. If no separator cuts all rows alike, the first row decides.
    """

    def fit(by: str) -> tuple[float, ...]:
        """Return (1, share of numbers, width) if all rows are cut alike; else 0 comes first.

        Tuples compare by their first entries that differ. The separator with the largest is chosen.
        """
        rows = _first_rows(lines, by)
        cells = list(chain.from_iterable(rows))
        if len(set(map(len, rows))) == 1 and len(cells) > len(rows):
            numbers = sum(number_in(cell) is not None or _is_decimal(cell) for cell in cells)
            return 1, numbers / len(cells), len(rows[0])
        return 0, len(rows[0]) if rows else 0, "".join(lines[:1]).count(by), by == ","

    return max(";\t,", key=fit)


def _first_rows(lines: list[str], delimiter: str) -> list[list[str]]:
    """Cut the first rows into cells, up to a row with wrong quotes, of which no cell is returned.

    Quotes are wrong if they end within a cell. A row may have several lines, since a quoted cell
    may hold line ends and separators.
    """
    rows: list[list[str]] = []
    try:
        for row in islice(csv.reader(lines, delimiter=delimiter, strict=True), _FIRST):
            rows += [row] * any(map(str.strip, row))  # an empty line is no row
    except csv.Error as error:
        rows += [[]] * ("unexpected end" not in str(error))  # the last line may be within a cell
    return rows


def _is_decimal(cell: str) -> bool:
    """Tell whether a cell is a number with a decimal comma."""
    return _DECIMAL_COMMA.fullmatch(cell.strip()) is not None


def number_in(cell: str) -> float | None:
    """Return the number in a cell as Python reads it, infinity and NaN too; None without one."""
    try:
        return float(cell)
    except (ValueError, TypeError):
        return None


def number_text(number: float) -> str:
    """Return a number as text with all its digits; a whole number has no point.

    Examples
    --------
    >>> from zonodpp.cli._table import number_text
    >>> number_text(1234567.0), number_text(0.5)
    ('1234567', '0.5')
    """
    return str(int(number)) if float(number).is_integer() else str(number)
