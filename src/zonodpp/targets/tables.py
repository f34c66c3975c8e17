"""Columns of tables as numbers, also those whose cells are lists, such as embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonodpp._arguments import as_reals
from zonodpp._imports import optional

_LISTS = ("list", "large_list", "fixed_size_list")  # types of Arrow columns, as they are printed
_SEQUENCES = (list, tuple, np.ndarray)


def numbers_in(table: Any, columns: Mapping[Any, str]) -> NDArray[Any]:
    """Return columns of a pandas or an Arrow table side by side; the texts name them in errors.

    A column of lists of d numbers takes d places.
    """
    return np.hstack([_block_of(table[name], told) for name, told in columns.items()])


def has_lists(column: Any, *, equal: bool = False) -> bool:
    """Tell whether the cells of a column of a pandas table are lists of numbers.

    With ``equal`` no cell may be empty, and all lists must have the same length.
    """
    kind = str(getattr(column, "dtype", ""))
    if kind != "object" and not kind.startswith(_LISTS):
        return False
    first = next((cell for cell in column if isinstance(cell, _SEQUENCES)), ())
    if not len(first) or np.asarray(first).dtype.kind not in "biuf":
        return False
    return not equal or _lengths(column) == {len(first)}


def _lengths(cells: Iterable[Any]) -> set[int]:
    return {len(cell) if isinstance(cell, _SEQUENCES) else -1 for cell in cells}


def _block_of(column: Any, told: str) -> NDArray[Any]:
    """Return a column as numbers of shape (rows, places)."""
    if not str(getattr(column, "type", "")).startswith(_LISTS):
        if has_lists(column):
            return _stacked(column.tolist(), told)
        return as_reals(column, told, (None,), "one number in each cell", dtype=None)[:, None]
    lengths = optional("pyarrow.compute", "parquet", "a column of lists").list_value_length(column)
    places = np.unique(lengths.to_numpy())
    if column.null_count or places.size > 1:
        raise ValueError(f"{told} must have lists of the same length in all of its cells")
    values = as_reals(column.combine_chunks().flatten(), told, dtype=None)
    return values.reshape(len(column), -1) if len(column) else np.zeros((0, 0), values.dtype)


def _stacked(cells: Sequence[Any], told: str) -> NDArray[Any]:
    if len(_lengths(cells)) > 1:
        raise ValueError(f"{told} must have lists of the same length in all of its cells")
    return as_reals(cells, told, (None, None), "a list of numbers in each cell", dtype=None)
