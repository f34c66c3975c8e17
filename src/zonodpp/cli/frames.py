"""A text table as a DataFrame: the type of a column is what all of its cells are.

Numbers are stored block by block and text as it is, so that a file takes little more memory than it
has bytes. A number is a number in all commands: see `zonodpp.cli.header`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zonodpp._imports import optional
from zonodpp._types import Booleans, Integers
from zonodpp.apps.rows import PANDAS
from zonodpp.cli.header import (
    code_in,
    floats_in,
    is_decimal,
    is_gap,
    is_grouped,
    is_pointed,
    number_in,
)
from zonodpp.cli.messages import quoted
from zonodpp.cli.tables import AnyTable, JsonTable, row_blocks

if TYPE_CHECKING:
    from pandas import DataFrame

# Lines that are whole numbers; pandas takes those of up to 19 digits for 64 bits as well.
_WHOLE_LINES = re.compile(r"(?:[+-]?[0-9]+(?:\n|$))*")
_TRUTH = {"true": True, "false": False, "yes": True, "no": False}
_MEMO = 1000  # different cells of a column of text that are stored only once
_MOSTLY = 0.5  # share of numbers in a column of text from which a line says why it is text


class _Numbers:
    """The cells of a column as long as all of them are numbers or empty."""

    def __init__(self) -> None:
        self.blocks: list[NDArray[Any]] = []
        self.gaps: list[Booleans] = []

    def add(self, cells: Sequence[str]) -> bool:
        """Add cells; return False if one of them is no number, but a text."""
        numbers = np.array(floats_in(cells))
        empty = np.isnan(numbers) if numbers.ndim else None
        present = list(cells)
        if empty is None or empty.any():  # word by word
            empty = np.array([is_gap(cell, numeric=True) for cell in cells])
            present = [cell for cell, gap in zip(cells, empty.tolist(), strict=True) if not gap]
            found = np.array(floats_in(present))
            if found.ndim == 0 or np.isnan(found).any():
                return False
            numbers = np.full(len(cells), np.nan)
            numbers[~empty] = found
        if code_in(present):
            return False
        if _WHOLE_LINES.fullmatch("\n".join(present)):
            numbers = _whole(present, empty)
        self.blocks.append(numbers)
        self.gaps.append(empty)
        return True

    def made(self) -> Any:
        """Return the column for a frame: whole numbers, with all their digits, or others."""
        pandas = optional(*PANDAS)
        empty = np.concatenate(self.gaps)
        if empty.all():
            return pandas.Series([None] * len(empty), dtype=object)
        filled = [
            block for block, gaps in zip(self.blocks, self.gaps, strict=True) if not gaps.all()
        ]
        if any(block.dtype.kind == "f" for block in filled):
            numbers = np.concatenate([block.astype(np.float64) for block in self.blocks])
            numbers[empty] = np.nan
            return pandas.Series(numbers)
        numbers = np.concatenate(
            [b.astype(object) if b.dtype.kind == "f" else b for b in self.blocks]
        )
        if any(block.dtype.kind == "O" for block in filled):  # beyond 64 bits
            numbers[empty] = None
            return pandas.Series(numbers, dtype=object)
        numbers = np.where(empty, 0, numbers).astype(np.int64)
        if empty.any():
            return pandas.Series(pandas.arrays.IntegerArray(numbers, empty))
        return pandas.Series(numbers)


def _whole(present: list[str], empty: Booleans) -> NDArray[Any]:
    """Return whole numbers with all their digits, and 0 where a cell is empty."""
    whole = list(map(int, present))
    try:
        numbers = np.zeros(len(empty), np.int64)
        numbers[~empty] = whole
    except OverflowError:
        numbers = np.zeros(len(empty), object)
        numbers[~empty] = whole
    return numbers


class _Texts:
    """The cells of a column of text, None where one is empty."""

    def __init__(self) -> None:
        self.cells: list[str | None] = []
        self._memo: dict[str, str | None] = {}

    def add(self, cells: Sequence[str]) -> bool:
        """Add cells; those that come often are stored once."""
        memo = self._memo
        for cell in cells:
            found = memo.get(cell, cell)
            if found is cell:
                found = None if is_gap(cell) else cell
                if len(memo) < _MEMO:
                    memo[cell] = found
            self.cells.append(found)
        return True

    def made(self) -> Any:
        """Return the column for a frame: text or truth values."""
        pandas = optional(*PANDAS)
        words = {cell.lower() for cell in self._memo.values() if cell is not None}
        if words and words <= _TRUTH.keys() and len(self._memo) < _MEMO:
            truth = [None if cell is None else _TRUTH[cell.lower()] for cell in self.cells]
            return pandas.Series(truth, dtype=object if None in self._memo.values() else bool)
        return pandas.Series(self.cells, dtype=object)


def typed_frame(table: AnyTable) -> DataFrame:
    """Return a text table as a DataFrame with the types of its columns."""
    pandas = optional(*PANDAS)
    if isinstance(table, JsonTable):
        columns = zip(*(cells for _, cells in table.rows()), strict=True)
        made = {place: _of_json(list(cells)) for place, cells in enumerate(columns)}
    else:
        texts: set[int] = set()
        while True:  # again, if a column turns out to be text when its numbers have been stored
            late, made = _read_columns(table, texts)
            if not late:
                break
            texts |= late
    return pandas.DataFrame(made).set_axis(table.names, axis="columns")


def _read_columns(table: AnyTable, texts: set[int]) -> tuple[set[int], dict[int, Any]]:
    """Read all rows; return the columns that are text from a later block on, and all columns."""
    found: list[_Numbers | _Texts] = []
    found += [_Texts() if k in texts else _Numbers() for k in range(len(table.names))]
    late: set[int] = set()
    for number, block in enumerate(row_blocks(table.rows())):
        for place, raw in enumerate(zip(*(cells for _, cells in block), strict=True)):
            cells = list(map(str.strip, raw))
            if place in late or found[place].add(cells):
                continue
            if number:
                late.add(place)
            else:
                found[place] = _Texts()
                found[place].add(cells)
    return late, {} if late else {place: column.made() for place, column in enumerate(found)}


def _of_json(cells: list[Any]) -> Any:
    """Return a column of values of JSON; numbers stay numbers, and text stays text."""
    pandas = optional(*PANDAS)
    kinds = {type(cell) for cell in cells if cell is not None}
    empty = np.array([cell is None for cell in cells])
    if kinds == {int}:
        filled = [0 if cell is None else cell for cell in cells]
        if max(map(abs, filled)) < 2**63:
            numbers = np.array(filled, np.int64)
            return pandas.Series(
                pandas.arrays.IntegerArray(numbers, empty) if empty.any() else numbers
            )
    elif kinds and kinds <= {int, float}:
        return pandas.Series([np.nan if cell is None else float(cell) for cell in cells])
    elif kinds == {bool} and not empty.any():
        return pandas.Series(cells, dtype=bool)
    return pandas.Series(cells, dtype=object)


def cells_at(table: AnyTable, rows: Integers) -> DataFrame:
    """Read some rows again, as text that stands in the file; their numbers ascend."""
    wanted = set(rows.tolist())
    found = [cells for row, (_, cells) in enumerate(table.rows()) if row in wanted]
    found = [[cell.strip() if isinstance(cell, str) else cell for cell in cells] for cells in found]
    frame = optional(*PANDAS).DataFrame(found, dtype=object, index=rows)
    return frame.set_axis(table.names, axis="columns")


def warn_of_numbers(source: str, frame: DataFrame, places: Sequence[int]) -> None:
    """Say which columns are text although most of their cells are numbers, and because of what."""
    for place in dict.fromkeys(places):
        column = frame.iloc[:, place]
        if column.dtype != object:
            continue
        cells = [(row, cell) for row, cell in enumerate(column) if isinstance(cell, str)]
        others = [(row, cell) for row, cell in cells if number_in(cell) is None]
        name = quoted(str(frame.columns[place]))
        commas = [
            cell for _, cell in others if is_decimal(cell) or is_grouped(cell) or is_pointed(cell)
        ]
        if others and len(commas) > _MOSTLY * len(cells):
            signs = "commas" if "," in commas[0] else "points between thousands"
            found = (
                f"column {name} counts as text: it holds numbers with {signs}, such as {commas[0]}"
            )
            warnings.warn(f"{source}: {found}; write them with decimal points", stacklevel=2)
            continue
        if not others or len(others) > _MOSTLY * len(cells) or code_in([cell for _, cell in cells]):
            continue
        row, cell = others[0]
        many = f"{len(cells) - len(others):,} of {len(cells):,} cells are numbers"
        found = f"column {name} counts as text: {many}"
        advice = f"but {quoted(cell)} in row {row} is not (rows count from 0)"
        warnings.warn(f"{source}: {found}, {advice}", stacklevel=2)
