"""Columns of a table as numbers: what each column is, how it is encoded, and what is left out."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from zonodpp._optional import optional
from zonodpp._types import Floats
from zonodpp.arguments import listed
from zonodpp.features import standardize

_MOST_LEVELS = 20  # of a category that get a column of their own; all others share one
_RARE = 0.01  # a level that a smaller share of the rows has is pooled with other rare ones
_COVERED = 0.5  # share of the rows that the levels kept must have, or the column is left out
_FEW_ROWS = 20  # in shorter tables, consecutive numbers may be measurements
# The squared length of an encoded column is divided by its variance, at least by this: the variance
# of a column that is true in one row of twenty. Otherwise the rarest level would decide everything.
_LEAST_VARIANCE = 0.095
_ID_NAME = re.compile(r"(?i:(^|[\W_])(id|uuid|guid|index)$)|[a-z]I[dD]$|^Unnamed: \d+$")
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")  # as pandas calls them
_ISO_DATE = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?"


@dataclass(frozen=True)
class Column:
    """A column of a table and what becomes of it.

    Attributes
    ----------
    name : hashable
    kind : str
        number, boolean, category, date, text, id, constant or empty.
    missing : int
        How many of its cells are empty.
    width : int
        How many numbers stand for one of its cells; 0 if the column is left out.
    note : str
        How it is encoded, or why it is left out.
    """

    name: Hashable
    kind: str
    missing: int
    width: int
    note: str

    def __str__(self) -> str:
        gaps = f", {self.missing:,} missing" if self.missing else ""
        return f"{'used' if self.width else 'left out'}: {self.kind}{gaps}; {self.note}"


class EncodedTable(NamedTuple):
    """The rows of a table as points, and what became of each of its columns."""

    points: Floats
    columns: list[Column]


def encode(table: Any, columns: Sequence[Hashable] | None = None) -> EncodedTable:
    """Turn the columns of a DataFrame into numbers, so that distances of rows mean something.

    Each column that is used adds the same to the mean squared distance of two rows, whether it is
    a number or a category of many levels. Columns that are named are used even if they look like
    identifiers or like text, unless they are text of which every value differs: that adds the same
    to all distances.

    Examples
    --------
    >>> import pandas
    >>> from zonodpp.apps.table_columns import encode
    >>> table = pandas.DataFrame({"size": [1.0, 3.0], "colour": ["red", "blue"], "unit": "cm"})
    >>> [(column.name, column.kind, column.width) for column in encode(table).columns]
    [('size', 'number', 1), ('colour', 'text', 0), ('unit', 'constant', 0)]
    """
    if not table.columns.is_unique:
        twice = list(table.columns[table.columns.duplicated()].unique())
        raise ValueError(f"several columns are called {listed(twice)}; rename them")
    if isinstance(columns, str):
        columns = [columns]
    unknown = [name for name in columns or () if name not in table.columns]
    if unknown:
        raise ValueError(f"no column {listed(unknown)}; there are {listed(list(table.columns))}")
    names = table.columns if columns is None else dict.fromkeys(columns)
    found = [_encode_column(name, table[name], columns is not None) for name in names]
    blocks = [np.zeros((len(table), 0)), *(block for _, block in found)]
    return EncodedTable(np.hstack(blocks), [column for column, _ in found])


def _encode_column(name: Hashable, cells: Any, asked: bool) -> tuple[Column, Floats]:
    """Encode one column; ``asked`` if the user named it."""
    kind, numbers = _read_cells(cells)
    empty = ~np.isfinite(numbers)  # infinity is no measurement either
    present = numbers[~empty]
    missing, distinct = int(empty.sum()), np.unique(present).size

    def left_out(kind: str, why: str) -> tuple[Column, Floats]:
        return Column(name, kind, missing, 0, why), np.zeros((len(cells), 0))

    if not present.size:
        return left_out("empty", "no cell has a value")
    if distinct == 1 and not missing:
        return left_out("constant", f"every cell is {cells.iloc[0]}")
    if kind in ("number", "date"):
        if kind == "number" and not asked and _is_id(name, present, distinct):
            return left_out("id", "whole numbers that only tell rows apart")
        # An empty cell gets the median, and a second column says that it was empty.
        filled = standardize(np.where(empty, np.median(present), numbers)[:, None])
        block = np.column_stack([filled, empty]) if missing else filled
        note = "standardised" + (", missing values by median and flag" if missing else "")
    else:
        counts = np.bincount(present.astype(np.int64))  # descending, see `_read_cells`
        kept = int((counts >= max(2.0, _RARE * len(cells))).sum())
        if asked and not kept:  # levels that several rows have, even if they are rare
            kept = int((counts >= 2).sum())
        kept = min(_MOST_LEVELS, kept)
        used = asked and (kept or missing)  # not if one level would stand for all cells
        if not used and counts[:kept].sum() < _COVERED * present.size:
            all_differ = "; every one differs" if distinct == present.size else ""
            return left_out("text", f"{distinct:,} values{all_differ}")
        pooled = np.where(empty, kept + 1, np.minimum(numbers, kept))
        block = (pooled[:, None] == np.unique(pooled)).astype(np.float64)
        note = f"{distinct} levels"
        if kept < distinct:
            note += f", the {distinct - kept} rarest as one"
        if missing:
            note += ", missing as one more"
    block = block - block.mean(axis=0)
    # Each column adds the same to the mean squared distance of two rows.
    block = block / np.sqrt(max(float(block.var(axis=0).sum()), _LEAST_VARIANCE))
    return Column(name, kind, missing, block.shape[1], note), block


def _read_cells(cells: Any) -> tuple[str, Floats]:
    """Return what a column holds, and its cells as numbers: NaN where a cell is empty.

    A level of a category becomes its place in the order of frequency, 0 for the most frequent.
    """
    pandas = optional("pandas", "parquet", "a table with columns of several types")
    empty = cells.isna().to_numpy(dtype=bool)
    present, numbers = cells[~empty], np.full(len(cells), np.nan)
    inferred = pandas.api.types.infer_dtype(present)
    if inferred in _NUMBERS:
        numbers[~empty] = present.astype(np.float64)
        return "number", numbers
    if inferred != "boolean" and present.dtype.kind not in "mM":  # durations and dates
        present = present.map(str)
        if present.str.fullmatch(_ISO_DATE).all():
            dates = pandas.to_datetime(present, errors="coerce", utc=True, format="ISO8601")
            present = present if dates.isna().any() else dates
    if present.dtype.kind in "mM":
        numbers[~empty] = present.astype("int64")
        return "date", numbers
    codes, _ = pandas.factorize(present)
    ranks = np.argsort(np.argsort(-np.bincount(codes), kind="stable"))
    numbers[~empty] = ranks[codes]
    return ("boolean" if inferred == "boolean" else "category"), numbers


def _is_id(name: Hashable, numbers: Floats, distinct: int) -> bool:
    """Tell whole numbers that are called an id, or that count the rows, from measurements."""
    if (numbers != np.floor(numbers)).any():
        return False
    if isinstance(name, str) and _ID_NAME.search(name):
        return True
    n = len(numbers)
    return n > _FEW_ROWS and distinct == n == numbers.max() - numbers.min() + 1
