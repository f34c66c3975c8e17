"""What a cell of text is: a number, no value, or a name; and whether a first row holds names."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence

from zonodpp._arguments import listed
from zonodpp.cli.messages import quoted

_DECIMAL_COMMA = re.compile(r"[+-]?[0-9.]*,[0-9]+(e[+-]?[0-9]+)?", re.IGNORECASE)
_POINTED = re.compile(r"[+-]?[0-9]{1,3}(\.[0-9]{3})+")  # 1.234.567, or a number with a point
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?")  # 1,234,567.8
# Cells without a value, in small letters: those that pandas, R, spreadsheets and databases write.
_GAPS = {"", "na", "n/a", "nan", "+nan", "-nan", "null", "none", "?", "nat", "<na>", "#n/a"}
_GAPS |= {"#na", "#n/a n/a", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"}
# These say so only in a column of numbers: elsewhere - and . may be values.
_NUMBER_GAPS = frozenset(["-", "--", "---", ".", "..", "...", "n.a.", "n.a", "\u2013", "\u2014"])
# Whole numbers with a leading zero, such as 007 and 04E4: codes rather than quantities.
_CODE = re.compile(r"(?:^|\n)\s*([+-]?0[0-9]+(?:[eE][0-9]+)?)\s*(?=\n|$)")
_YEARS = range(1500, 2201)  # whole numbers that may be names of columns


def number_in(cell: object) -> float | None:
    """Return the number in a cell, infinity and NaN too; None without one.

    Examples
    --------
    >>> from zonodpp.cli.header import number_in
    >>> number_in(" 1.5"), number_in("egg"), number_in("1_000")
    (1.5, None, None)
    """
    try:
        number = float(cell)  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        return None
    return None if isinstance(cell, str) and "_" in cell else number


def floats_in(cells: Sequence[object]) -> list[float] | float:
    """Return the numbers in cells, or NaN if one of them holds none."""
    try:
        numbers = [float(cell) for cell in cells]  # type: ignore[arg-type]
        text = "".join(cells)  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        return math.nan
    except TypeError:  # not text: None, or numbers of JSON
        return math.nan if None in cells else [float(cell) for cell in cells]  # type: ignore[arg-type]
    return math.nan if "_" in text else numbers


def code_in(cells: Sequence[object]) -> str | None:
    """Return the first of some cells that is a number with leading zeros, as codes have.

    Examples
    --------
    >>> from zonodpp.cli.header import code_in
    >>> code_in(["7", "007"]), code_in(["0", "0.07", "-0"])
    ('007', None)
    """
    found = _CODE.search("\n".join(cell for cell in cells if isinstance(cell, str)))
    return found[1] if found else None


def is_gap(cell: object, *, numeric: bool = False) -> bool:
    """Tell whether a cell is empty or says that its value is missing.

    Examples
    --------
    >>> from zonodpp.cli.header import is_gap
    >>> is_gap("#N/A"), is_gap("-"), is_gap("-", numeric=True)
    (True, False, True)
    """
    if cell is None:
        return True
    text = str(cell).strip().lower()
    return text in _GAPS or (numeric and text in _NUMBER_GAPS)


def is_decimal(cell: str) -> bool:
    """Tell whether a cell is a number with a decimal comma."""
    return _DECIMAL_COMMA.fullmatch(cell.strip()) is not None


def is_grouped(cell: str) -> bool:
    """Tell whether a cell is a number with commas between its thousands, or may be one."""
    return _GROUPED.fullmatch(cell.strip()) is not None


def is_pointed(cell: str) -> bool:
    """Tell whether a cell may be a whole number with points between its thousands."""
    return _POINTED.fullmatch(cell.strip()) is not None


def _is_numeral(cell: str) -> bool:
    number = number_in(cell)
    return number is not None and math.isfinite(number)


def has_names(source: str, top: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first row of a table holds the names of its columns; say so in doubt.

    It does if none of its cells is a number, if text stands above numbers, or if its numbers count
    the columns or are years above other numbers.

    Examples
    --------
    >>> from zonodpp.cli.header import has_names
    >>> has_names("x.csv", ["food", "fat"], [["egg", "9.5"]])
    True
    >>> has_names("x.csv", ["egg", "9.5"], [["oil", "100"]])
    False
    """
    columns = [_present(below, place) for place in range(len(top))]
    places = [place for place, cell in enumerate(top) if _is_numeral(cell)]
    names = _names_above_numbers(top, columns)
    over_numbers = any(number_in(name) is None for name in names)
    if not places:  # inf and nan may be names, or numbers that are no measurements
        no_number = all(number_in(cell) is None for cell in top)
        return no_number or over_numbers or bool(names)
    numbers = [float(top[place]) for place in places]
    plain = all(top[place].strip().isdecimal() for place in places)  # names are not -1.5
    if (over_numbers and plain) or _name_columns(
        top, numbers, [columns[place] for place in places]
    ):
        shown = listed([quoted(cell.strip()) for cell in top], 4)
        found = f"the first row is taken as names of columns ({shown})"
        warnings.warn(f"{source}: {found}; if it is an item, pass --no-header", stacklevel=2)
        return True
    if numbers == list(range(len(top))) and len(top) > 2 and below:
        found = f"the first row counts from 0 to {len(top) - 1} and is taken as an item"
        warnings.warn(f"{source}: {found}; if it holds names, pass --header", stacklevel=2)
    return False


def _names_above_numbers(top: Sequence[str], columns: Sequence[Sequence[str]]) -> list[str]:
    """Return the cells of a first row that are no numerals, but stand above numerals only."""
    above = [bool(cells) and all(map(_is_numeral, cells)) for cells in columns]
    found = [cell for cell, numbers in zip(top, above, strict=True) if numbers]
    return [cell for cell in found if not (_is_numeral(cell) or is_gap(cell, numeric=True))]


def _present(below: Sequence[Sequence[str]], place: int) -> list[str]:
    """Return the cells of a column that have a value."""
    cells = [cells[place].strip() for cells in below if place < len(cells)]
    return [cell for cell in cells if not is_gap(cell)]


def _name_columns(
    top: Sequence[str], numbers: Sequence[float], columns: Sequence[Sequence[str]]
) -> bool:
    """Tell whether numbers of a first row are years, or count the columns that stand below them.

    Columns are counted beside an index without a name, or above numbers with a decimal point.
    """
    if len(top) > 1 and _are_years(numbers, columns):
        return True
    if numbers != list(range(len(numbers))):
        return False
    if len(numbers) == len(top) - 1:
        return not top[0].strip()
    cells = [cell.lower() for column in columns for cell in column]
    pointed = all("." in cell or "e" in cell for cell in cells)
    return len(numbers) == len(top) > 2 and bool(cells) and pointed


def _are_years(numbers: Sequence[float], columns: Sequence[Sequence[str]]) -> bool:
    """Tell whether numbers are years, and other numbers than years stand below them."""
    if not all(number in _YEARS for number in numbers) or len(set(numbers)) < len(numbers):
        return False
    below = [number_in(cell) for cells in columns for cell in cells]
    return any(number is not None and number not in _YEARS for number in below)
