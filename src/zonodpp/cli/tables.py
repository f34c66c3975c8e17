"""The one reader of text tables: separator, header, blank rows, and the numbers in the cells."""

from __future__ import annotations

import csv
import json
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, dropwhile, islice
from typing import NoReturn, TypeAlias

import numpy as np

from zonodpp._arguments import listed
from zonodpp._types import Floats
from zonodpp.cli.header import (
    code_in,
    floats_in,
    has_names,
    is_decimal,
    is_gap,
    is_grouped,
    is_pointed,
    number_in,
)
from zonodpp.cli.messages import quoted
from zonodpp.cli.names import ColumnRoles
from zonodpp.cli.read import Source, text_lines

_SEPARATORS = ";\t,|"
_HEAD = 100  # lines that hold the first rows, by which the separator is chosen
_FIRST = 20  # of those rows
BLOCK = 4096  # rows that are turned into numbers at once
# The first line of some tables, which spreadsheets read and write.
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\1*[\r\n]*')
Row = tuple[int, Sequence[object]]  # its line in the file from 1 (0: unknown), and its cells


@dataclass(frozen=True)
class TextTable:
    """A CSV or TSV as it is laid out; its rows can be read more than once.

    Attributes
    ----------
    source : Source
    names : list of str
        Names of the columns; their numbers if the file has none.
    named : bool
        Whether the file has names.
    delimiter : str
    before : int
        Lines before the table: 1 if the first line says ``sep=;``.
    surplus : int
        Separators at the end of each row that no column follows.
    """

    source: Source
    names: list[str]
    named: bool
    delimiter: str
    before: int
    surplus: int

    def rows(self) -> Iterator[Row]:
        """Yield the rows below the names; raise if one is longer or shorter, or if none is there.

        An empty line is no row. In a table of a single column it is an empty cell, unless no row
        follows.
        """
        row, width, blank = -1, len(self.names), 0
        alone = width == 1 and not self.surplus
        cut = _split_rows(self.source, self.delimiter, self.before)
        if self.named:
            lines = _from_first(cut)
            next(lines)
        else:  # a row of empty cells may be the first row
            lines = dropwhile(lambda found: not found[1], cut)
        for line, cells in lines:
            if not cells or (len(cells) == 1 and not cells[0].strip() and width > 1):
                blank += 1
                continue
            for _ in range(blank if alone else 0):
                row += 1
                yield 0, [""]
            row, blank = row + 1, 0
            kept = cells[:width] if not any(map(str.strip, cells[width:])) else cells
            if len(kept) != width or len(cells) > width + self.surplus:
                self._refuse(line, row, len(cells))
            yield line, kept
        if row < 0:
            raise ValueError(f"{self.source.name} has a header but no rows")

    def first_cells(self, place: int) -> list[object]:
        """Return the first cells of a column."""
        return [cells[place] for _, cells in islice(self.rows(), _FIRST)]

    def _refuse(self, line: int, row: int, count: int) -> NoReturn:
        many = f"{count} cell{'s' * (count != 1)}"
        where = f"{self.source.name}, line {line} (row {row}; rows count from 0)"
        raise ValueError(f"{where}: {many}, but the first row has {len(self.names)}")


@dataclass(frozen=True)
class JsonTable:
    """JSON lines: an object in each line; all else is as in `TextTable`."""

    source: Source
    names: list[str]
    named = True

    def rows(self) -> Iterator[Row]:
        """Yield the rows; a cell whose name an object lacks is None."""
        for line, found in _json_objects(self.source):
            yield line, [_plain(found.get(name)) for name in self.names]

    def first_cells(self, place: int) -> list[object]:
        """Return the first cells of a column."""
        return [cells[place] for _, cells in islice(self.rows(), _FIRST)]


AnyTable: TypeAlias = TextTable | JsonTable


def open_table(source: Source, header: bool | None) -> AnyTable:
    """Find out how a text table is laid out, and what its columns are called."""
    if source.format == "jsonl":
        keys = dict.fromkeys(name for _, found in _json_objects(source) for name in found)
        if not keys:
            raise ValueError(f"{source.name} has no rows with a value")
        return JsonTable(source, list(keys))
    lines = list(islice(text_lines(source), _HEAD))
    hint = _SEPARATOR_LINE.fullmatch(lines[0]) if lines else None
    before = int(hint is not None)
    delimiter = "\t" if source.format == "tsv" else _delimiter(lines[before:])
    delimiter = delimiter if hint is None else hint[1]
    rows = _from_first(_split_rows(source, delimiter, before))
    top = next((cells for _, cells in rows), None)
    if top is None:
        raise ValueError(f"{source.name} is empty: there is nothing to read")
    below = list(islice((cells for _, cells in rows if any(map(str.strip, cells))), _FIRST))
    names = [cell.strip() for cell in top]
    if header is not False and _lacks_a_name(names, below):
        names, named = ["", *names], True
    else:
        named = has_names(source.name, names, below) if header is None else header
    width = min(len(names), _width(names if named else [], below, len(names)))
    everything = TextTable(source, [""] * len(names), named, delimiter, before, 1)
    if width < len(names) and not _ends_empty(everything, width):
        width = len(names)
    surplus = max(map(len, [names, *below])) - width
    names = names[:width] if named else list(map(str, range(width)))
    return TextTable(source, names, named, delimiter, before, surplus)


def _lacks_a_name(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Tell whether all rows are longer by one than the names: R writes the names of rows so."""
    longer = {len(cells) - len(names) for cells in below} == {1}
    filled = longer and any(cells[-1].strip() for cells in below)
    return filled and all(number_in(name) is None for name in names)


def _width(names: Sequence[str], below: Sequence[Sequence[str]], widest: int) -> int:
    """Count the columns up to the last that has a name or a value in the first rows."""
    used = [place for place, name in enumerate(names) if name]
    used += [place for cells in below for place, cell in enumerate(cells) if cell.strip()]
    return max(used, default=widest - 1) + 1 if below else widest


def _ends_empty(table: TextTable, width: int) -> bool:
    """Tell whether no row has a value behind so many columns."""
    return not any(str(cell).strip() for _, cells in table.rows() for cell in cells[width:])


def _from_first(rows: Iterable[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """Yield rows from the first on that is not empty."""
    rows = iter(rows)
    for line, cells in rows:
        if any(map(str.strip, cells)):
            return chain([(line, cells)], rows)
    return iter(())


def _split_rows(source: Source, delimiter: str, before: int) -> Iterator[tuple[int, list[str]]]:
    """Cut a file into rows of cells, without the lines before the table."""
    reader = csv.reader(islice(text_lines(source), before, None), delimiter=delimiter)
    try:
        for cells in reader:
            yield reader.line_num + before, cells
    except csv.Error as error:
        raise ValueError(f"{source.name}, line {reader.line_num + before}: {error}") from None


def _json_objects(source: Source) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the line and the object of each line of a file that is not empty."""
    for line, text in enumerate(text_lines(source), 1):
        if not text.strip():
            continue
        try:
            found = json.loads(text, object_pairs_hook=_distinct)
        except (ValueError, RecursionError) as error:
            reason = f"not a JSON object ({str(error)[:100]}); JSON lines have one in each line"
            raise ValueError(f"{source.name}, line {line}: {reason}") from None
        if not isinstance(found, dict):
            expected = f'expected a JSON object such as {{"a": 1}}, got {quoted(text.strip())}'
            raise ValueError(f"{source.name}, line {line}: {expected}")
        yield line, found


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return found


def _plain(cell: object) -> object:
    """Return a value of JSON; lists and objects as text."""
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else cell


def row_blocks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows in blocks."""
    rows = iter(rows)
    while block := list(islice(rows, BLOCK)):
        yield block


def collect(roles: ColumnRoles, rows: Iterable[Row]) -> tuple[Floats, list[str] | None]:
    """Turn rows of cells into numbers, and labels if there is a column of them.

    Raises
    ------
    ValueError
        With the place of the first cell that is no finite number.
    """
    labels: list[str] = []
    places, first = roles.numeric, 0
    found = [np.empty((0, len(places)))]
    coded: dict[int, str] = {}
    for block in row_blocks(rows):
        columns = list(zip(*(cells for _, cells in block), strict=True))
        numbers = np.empty((len(block), len(places)))
        for k, place in enumerate(places):
            numbers[:, k] = floats_in(columns[place])
            numbers[np.isinf(numbers[:, k]), k] = np.nan
        for row in np.flatnonzero(np.isnan(numbers).any(axis=1)).tolist():
            line, cells = block[row]
            numbers[row] = [_number(roles, line, first + row, p, cells[p]) for p in places]
        for place in places:
            if place not in coded and (code := code_in(columns[place])):
                coded[place] = code
        found.append(numbers)
        if roles.id is not None:
            labels += ["" if cell is None else str(cell).strip() for cell in columns[roles.id]]
        first += len(block)
    if coded:
        shown = [f"{quoted(str(roles.names[p]))} ({c})" for p, c in coded.items()]
        advice = "they count as numbers; leave codes out by --columns or --id"
        warning = f"numbers with leading zeros in {listed(shown, 3)}: {advice}"
        warnings.warn(f"{roles.source}: {warning}", stacklevel=2)
    return np.concatenate(found), None if roles.id is None else labels


def _number(roles: ColumnRoles, line: int, row: int, place: int, cell: object) -> float:
    """Return the number in a cell; NaN for an empty cell that is allowed."""
    number = number_in(cell)
    if number is None or not math.isfinite(number):
        if not (roles.may_be_empty(place) and is_gap(cell, numeric=True)):
            raise ValueError(_problem(roles, line, row, place, cell))
        number = math.nan
    return number


def _problem(roles: ColumnRoles, line: int, row: int, place: int, cell: object) -> str:
    """Say where a cell is that holds no finite number, and what to do about it."""
    column, hint = roles.names[place] or str(place), ""
    text = "" if cell is None else str(cell).strip()
    if is_gap(text, numeric=True) and roles.advice():
        hint = roles.advice()
    elif roles.options.alone:
        hint = "; such a file holds one number for each item, and perhaps a name above them"
    elif is_grouped(text):
        plain = text.replace(",", "")
        hint = f"; numbers have a decimal point and no other signs, such as {plain}"
    elif is_decimal(text):
        plain = text.replace(".", "").replace(",", ".")
        hint = f"; numbers need a decimal point, not a comma, such as {plain}"
    elif is_pointed(text):
        hint = f"; numbers have no points between thousands, such as {text.replace('.', '')}"
    elif place == roles.weights:
        hint = "; weights and relevance are numbers"
    elif row == 0 and not roles.named:
        hint = "; if the first row has names, pass --header"
        hint += f", and if the column has labels, --id {column}" * (roles.id is None)
    elif row == 0 and roles.id is None:
        hint = f"; if the column has labels, pass --id {column}, else pick by --columns"
    got = f"got {quoted(text)}" if text else "the cell is empty"
    shown = quoted(column) if roles.named else column
    where = f"{roles.source}, " + f"line {line}, " * (line > 0) + f"column {shown}"
    return f"{where} (row {row}; rows and columns count from 0): expected a number, {got}{hint}"


def warn_of_points(table: AnyTable, roles: ColumnRoles) -> None:
    """Say that points are decimal points, where other columns have decimal commas.

    In a file with decimal commas, a point may stand between thousands: 1.200 is 1200 there.
    """
    if isinstance(table, JsonTable):
        return
    columns = list(zip(*(cells for _, cells in islice(table.rows(), _FIRST)), strict=True))
    commas = next((cell for cells in columns for cell in cells if is_decimal(cell)), None)
    for place in roles.numeric if commas else ():
        pointed = next(filter(is_pointed, columns[place]), None)
        if pointed and all(
            cell.strip().lstrip("+-").isdecimal() or is_pointed(cell)
            for cell in columns[place]
            if not is_gap(cell, numeric=True)
        ):
            name = quoted(str(roles.names[place] or place))
            found = f"{pointed} in column {name} is read with a decimal point"
            found += f", but there are decimal commas in this file, such as {commas}"
            advice = "write numbers with decimal points, and without signs between thousands"
            warnings.warn(f"{roles.source}: {found}; {advice}", stacklevel=2)


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
            numbers = sum(number_in(cell) is not None or is_decimal(cell) for cell in cells)
            return 1, numbers / len(cells), len(rows[0])
        return 0, len(rows[0]) if rows else 0, "".join(lines[:1]).count(by), by == ","

    return max(_SEPARATORS, key=fit)


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


def number_text(number: float) -> str:
    """Return a number as text with all its digits; a whole number has no point.

    Examples
    --------
    >>> from zonodpp.cli.tables import number_text
    >>> number_text(1234567.0), number_text(0.5)
    ('1234567', '0.5')
    """
    return str(int(number)) if float(number).is_integer() else str(number)
