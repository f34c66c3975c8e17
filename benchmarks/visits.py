"""A section measured in visits: each in a process of its own, minutes apart, then merged.

Some causes of differences, such as the layout of memory, the clock of the processor and the load
by other users, vary between visits and not within one. So a spread covers all visits, and is then
widened by the drift: the gap between the spreads of two visits, in nearly all rows.
"""

from __future__ import annotations

import importlib
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import Row, missing

NEARLY_ALL = 0.99


def visit(name: str, quick: bool, first: bool) -> tuple[list[Row], int | None]:
    """Measure a section, on the first visit with `once` if it has that; return rows and seed."""
    try:
        module = importlib.import_module(f"benchmarks.bench_{name}")
        rows = module.run(quick)
        if first and hasattr(module, "once"):
            rows = [*module.once(quick), *rows]
        return rows, getattr(module, "SEED", None)
    except ModuleNotFoundError as error:  # what the section cannot do without
        if str(error.name).partition(".")[0] in ("zonodpp", "benchmarks"):
            raise
        return [missing(f"all of section {name}", str(error.name))], None


def merge(visits: Sequence[Sequence[Row]]) -> list[Row]:
    """Make one row of all visits to it: numbers are means, the spread covers all visits.

    The middles of the visits stay in the row. A row that was visited once stays as it is, and so
    does one whose words differ from visit to visit.
    """
    return [_merged([_find(rows, row) for rows in visits]) for row in visits[0]]


def drift(rows: Iterable[Row]) -> float:
    """Return the share by which the spreads of single visits are to be widened to meet.

    Widened so much on both sides, the spreads of any two visits to a row meet in nearly all rows.
    """
    apart = [
        max(0.0, math.log(max(low for low, _, _ in found) / min(high for _, _, high in found)))
        for found in (row.get("visits", ()) for row in rows if "repeats" in row)
        if len(found) > 1 and min(low for low, _, _ in found) > 0
    ]
    return math.expm1(float(np.quantile(apart, NEARLY_ALL)) / 2) if apart else 0.0


def widened(row: Row, by: float) -> Row:
    """Return the row with its spread widened by the drift.

    Rows that follow from seeds alone stay as they are, and so do exponents: a factor on all times
    does not change the regression that gives their spreads.
    """
    if "stderr" in row or not ("repeats" in row or "visits" in row):
        return row
    low, high = row["ratio_range"]
    return {**row, "ratio_range": [low / (1 + by), high * (1 + by)]}


def _find(rows: Sequence[Row], like: Row) -> Row | None:
    return next((row for row in rows if row["what"] == like["what"]), None)


def _merged(visits: Sequence[Row | None]) -> Row:
    rows = [row for row in visits if row is not None]
    first = rows[0]
    if any(row.get("missing") != first.get("missing") for row in rows) or any(
        row.get("unit") != first.get("unit") for row in rows
    ):
        return first
    if len(rows) < 2 or "missing" in first:
        return first
    found = {key: _mean([row[key] for row in rows]) for key in first}
    found["visits"] = [_ends(row) for row in rows]
    found["ratio_range"] = [
        min(low for low, _, _ in found["visits"]),
        max(high for _, _, high in found["visits"]),
    ]
    if "repeats" in first:
        found["repeats"] = sum(row["repeats"] for row in rows)
    return found


def _ends(row: Row) -> list[float]:
    """Return low end, middle and high end of what one visit states."""
    low, high = row.get("ratio_range", [row["ratio"], row["ratio"]])
    return [low, row["ratio"], high]


def _mean(values: Sequence[Any]) -> Any:
    """Return the mean, entry by entry; of what is no number, or does not differ, the first."""
    first = values[0]
    if all(value == first for value in values):
        return first
    if isinstance(first, Mapping):
        shared = [key for key in first if all(key in value for value in values)]
        return {key: _mean([value[key] for value in values]) for key in shared}
    if isinstance(first, list | tuple):
        return [_mean(parts) for parts in zip(*values, strict=True)]
    return statistics.fmean(values) if isinstance(first, int | float) else first
