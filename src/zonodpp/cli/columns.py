"""``zonodpp columns``: columns that stand for all columns of a table, or predict another one."""

from __future__ import annotations

import numpy as np

from zonodpp import apps
from zonodpp._arguments import check_finite
from zonodpp.cli.inputs import read_table
from zonodpp.cli.interface import ColumnsOptions
from zonodpp.cli.names import on_one_line
from zonodpp.cli.output import Result
from zonodpp.features import standardize
from zonodpp.numerics.arrays import to_dense


def pick_columns(options: ColumnsOptions) -> Result:
    """Run ``zonodpp columns``."""
    table = read_table(options, "target")
    n, d = table.shape
    if options.k > d:
        raise ValueError(f"--number {options.k}: {table.source} has {d} columns of numbers")
    check_finite(table.values, table.source)
    X = standardize(table.values) if options.standardize else table.values
    selector = apps.ColumnSelector(options.k, random_state=0).fit(X, table.weights)
    picked = selector.columns_
    names = [str(j) if table.columns is None else table.columns[j] for j in picked]
    facts = {"rows": n, "of": d, "indices": picked, "columns": names}
    facts |= {"error": selector.error_, "best_error": selector.best_error_}
    head = "item"
    while head in names:  # a column may have this name
        head += "_"

    def rows() -> list[list[object]]:
        values = to_dense(table.values[:, picked]).tolist()
        items = table.labels or range(n)
        return [[head, *names], *([item, *row] for item, row in zip(items, values, strict=True))]

    writers = {".npy": lambda path: np.save(path, picked)}
    return Result("\n".join(map(on_one_line, names)), facts, rows, writers, random=False)
