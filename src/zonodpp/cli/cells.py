"""Write rows of a table whose columns have any type: as JSON, CSV, Parquet and text for people."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import date, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from zonodpp._arguments import listed
from zonodpp._imports import optional
from zonodpp.apps.rows import PANDAS
from zonodpp.cli.names import ColumnRoles
from zonodpp.cli.output import Rows
from zonodpp.cli.tables import number_text

if TYPE_CHECKING:
    from pandas import DataFrame

_WIDEST = 40  # characters of a cell in the text for people


def text_for_people(frame: DataFrame, roles: ColumnRoles) -> str:
    """Return rows as lines of text, with the labels in front."""
    pandas = optional(*PANDAS)
    # One type for all floating-point numbers: pandas cannot show the smaller ones without warnings.
    is_float = pandas.api.types.is_float_dtype
    frame = frame.apply(lambda cells: cells.astype("float64") if is_float(cells.dtype) else cells)
    if roles.id is not None:
        others = [place for place in range(frame.shape[1]) if place != roles.id]
        frame = frame.iloc[:, others].set_index(frame.iloc[:, roles.id])
    return str(frame.to_string(max_colwidth=_WIDEST))


def records(frame: DataFrame, roles: ColumnRoles) -> list[dict[str, object]]:
    """Return rows as JSON has them, by the names of the columns."""
    _check_names(roles, "JSON")
    columns = [list(map(as_json, frame.iloc[:, place])) for place in range(frame.shape[1])]
    return [dict(zip(roles.names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def csv_rows(frame: DataFrame, roles: ColumnRoles) -> Rows:
    """Yield the names of the columns, then the rows; a cell without a value is empty."""
    yield roles.names
    columns = [map(_as_csv, frame.iloc[:, place]) for place in range(frame.shape[1])]
    yield from zip(*columns, strict=True)


def write_parquet(frame: DataFrame, roles: ColumnRoles, path: str) -> None:
    """Write rows to a Parquet file, with the types of their columns and without an index."""
    _check_names(roles, "Parquet")
    try:
        frame.set_axis(roles.names, axis="columns").to_parquet(path, index=False)
    except OverflowError:
        problem = "Parquet cannot hold its whole numbers beyond 64 bits; write JSON or CSV"
        raise ValueError(f"{roles.source}: {problem}") from None


def with_labels(frame: DataFrame, roles: ColumnRoles, labels: Iterable[object]) -> DataFrame:
    """Return rows with their labels as text, as other commands write them: 007 is no number."""
    if roles.id is None:
        return frame
    # All columns of an array have one type of number, so its labels may be floats.
    text: Callable[..., str] = str if roles.named else number_text
    frame = frame.copy()
    frame.isetitem(roles.id, [None if _is_missing(label) else text(label) for label in labels])
    return frame


def as_json(cell: Any) -> object:
    """Return a cell as JSON has it: exact numbers, ISO dates, and None where there is no value.

    Examples
    --------
    >>> import datetime
    >>> from zonodpp.cli.cells import as_json
    >>> as_json([1.23e-12, float("nan"), datetime.date(2024, 5, 1), b"fat"])
    [1.23e-12, None, '2024-05-01', 'fat']
    """
    if isinstance(cell, (list, tuple)):
        return list(map(as_json, cell))
    if isinstance(cell, dict):
        return {str(name): as_json(value) for name, value in cell.items()}
    if _is_missing(cell):
        return None
    cell = _decoded(cell.item() if isinstance(cell, np.generic) else cell)
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None  # JSON has no infinity
    if isinstance(cell, Decimal):
        number = int(cell) if cell == cell.to_integral_value() else float(cell)
        return number if Decimal(repr(number)) == cell else str(cell)
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    return cell if isinstance(cell, (str, bool, int)) else str(cell)


def _as_csv(cell: object) -> object:
    return "" if _is_missing(cell) else _decoded(cell)


def _is_missing(cell: object) -> bool:
    """Tell the values that stand for none, in NumPy, pandas and Python, from all others."""
    pandas = optional(*PANDAS)
    return bool(pandas.api.types.is_scalar(cell) and pandas.isna(cell))


def _decoded(cell: object) -> object:
    r"""Return bytes as text; those that are not UTF-8 are written as \xff."""
    return cell.decode("utf-8", "backslashreplace") if isinstance(cell, bytes) else cell


def _check_names(roles: ColumnRoles, form: str) -> None:
    twice = [name for name in dict.fromkeys(roles.names) if roles.names.count(name) > 1]
    if twice:
        problem = f"several columns are called {listed(twice)}, and {form} needs names that differ"
        raise ValueError(f"{roles.source}: {problem}; rename them, or write CSV")
