"""``zonodpp rows``: diverse rows of a table whose columns are of any type, a frame of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonodpp import apps
from zonodpp._imports import optional
from zonodpp._types import Floats, Integers, Matrix
from zonodpp.apps.rows import PANDAS, encode
from zonodpp.cli.cells import csv_rows, records, text_for_people, with_labels, write_parquet
from zonodpp.cli.frames import cells_at, typed_frame, warn_of_numbers
from zonodpp.cli.inputs import open_array, parquet_roles
from zonodpp.cli.interface import Input, RowsOptions
from zonodpp.cli.large import is_large
from zonodpp.cli.names import (
    ColumnRoles,
    aligned,
    find_columns,
    without_names_of_rows,
    without_row_numbers,
)
from zonodpp.cli.output import Result
from zonodpp.cli.read import TEXT, Source, open_source, read_parquet
from zonodpp.cli.tables import AnyTable, collect, open_table, warn_of_points
from zonodpp.numerics.arrays import to_dense

if TYPE_CHECKING:
    from pandas import DataFrame, Series


class MixedTable(NamedTuple):
    """A table whose columns are of any type, and the text that it was read from, if it was."""

    frame: DataFrame
    roles: ColumnRoles
    text: AnyTable | None

    def cells(self, rows: Integers) -> DataFrame:
        """Return some rows as they stand in the file."""
        return self.frame.iloc[rows] if self.text is None else cells_at(self.text, rows)


def pick_rows(options: RowsOptions) -> Result:
    """Run ``zonodpp rows``."""
    mixed = read_frame(options, options.weights)
    table, roles = mixed.frame, mixed.roles
    counted = table.iloc[:, [p for p in dict.fromkeys(roles.features) if p != roles.weights]]
    asked = None if options.columns is None else list(counted.columns)
    weights: str | Floats | None = options.weights
    if roles.weights is not None:
        weights = _weights_in(roles, table.iloc[:, roles.weights])
    choices = options.pick("answer") | {"columns": asked, "weights": weights}
    found = apps.diverse_rows(counted, options.k, rng=options.seed, **choices)
    report = found.attrs["diverse_rows"]
    indices = found.index.to_numpy()
    cells = mixed.cells(indices)
    labels = () if roles.id is None else cells.iloc[:, roles.id]
    picked = with_labels(table.iloc[indices], roles, labels)
    shown = with_labels(cells, roles, labels)
    random = options.answer == "draw"
    facts = {"items": len(table), "indices": indices, **report}
    facts |= {"seed": options.seed} if random else {}

    def text() -> str:
        first = f"{len(shown)} of {len(table):,} rows ({report['distinct_rows']:,} distinct)"
        uses = aligned(report["columns"].items())
        return "\n".join([first, text_for_people(shown, roles), "", uses])

    return Result(
        text,
        lambda: {**facts, "rows": records(picked, roles)},
        lambda: csv_rows(shown, roles),
        {".parquet": lambda path: write_parquet(picked, roles, path)},
        random,
    )


def about_columns(source: Source, options: Input) -> dict[str, object]:
    """Return facts about the columns of a table with text."""
    mixed = read_frame(options, source=source)
    table, roles = mixed.frame, mixed.roles
    columns = encode(table.iloc[:, roles.features]).columns
    used = [column for column in columns if column.width]
    return {
        "file": source.name,
        "rows": len(table),
        "columns": table.shape[1],
        **{f"column {column.name}": str(column) for column in columns},
        "zonodpp rows uses": f"{len(used)} columns as {sum(c.width for c in used)} numbers",
        "zonodpp sample needs": "numbers in all columns; see --columns, --id and --missing",
    }


def _weights_in(roles: ColumnRoles, column: Series) -> Floats:
    """Return the numbers in the column of weights of a frame, where an empty cell is no number."""
    alone = ColumnRoles(roles.source, [roles.names[roles.weights or 0]], None, 0, [], Input())
    weights, _ = collect(alone, ((0, [cell]) for cell in _objects(column)))
    return weights.ravel()


def read_frame(
    options: Input, weights: str | None = None, source: Source | None = None
) -> MixedTable:
    """Read a table whose columns are of any type."""
    source = source or open_source(options.file, options.format)
    pandas = optional(*PANDAS)
    text = None
    if source.format in TEXT:
        text = open_table(source, options.header)
        roles = find_columns(source.name, options, weights, text.names, named=text.named)
        table = typed_frame(text)
    elif source.format == "parquet":
        arrow = read_parquet(source)
        table = arrow.to_pandas(ignore_metadata=True, types_mapper=_frame_type)
        roles = parquet_roles(source, arrow.schema, options, weights)
    else:
        values, roles = open_array(source, options, weights)
        table = pandas.DataFrame(_dense(source, values))

    roles = without_names_of_rows(roles, lambda place: _objects(table.iloc[:20, place]).tolist())
    roles = without_row_numbers(roles, lambda place: _objects(table.iloc[:, place]).tolist())
    if text is not None:
        warn_of_numbers(source.name, table, roles.numeric)
        warn_of_points(text, roles)
    return MixedTable(table, roles, text)


def _frame_type(kind: Any) -> Any:
    """Return the type of a frame's column for a type of Arrow; None for the default of pyarrow.

    With types of Arrow, whole numbers stay whole in a column with empty cells.
    """
    pandas, pyarrow = (optional(name, "parquet", "Parquet") for name in ("pandas", "pyarrow"))
    # pandas has its own types for periods and intervals; PyArrow cannot pick rows of views.
    views = kind in (pyarrow.string_view(), pyarrow.binary_view())
    return None if views or isinstance(kind, pyarrow.ExtensionType) else pandas.ArrowDtype(kind)


def _objects(column: Series) -> NDArray[np.object_]:
    """Return the cells of a column of a frame as an array of objects, None where one is empty."""
    return np.asarray(column.to_numpy(dtype=object, na_value=None))


def _dense(source: Source, values: Matrix) -> Floats:
    """Return an array that is not sparse, if it fits into the memory."""
    size = values.dtype.itemsize * values.shape[0] * values.shape[1]
    if not isinstance(values, np.ndarray) and is_large(size):
        found = f"{source.name} is sparse, and takes {size / 2**30:,.1f} GiB if it is not"
        advice = "select fewer rows or columns beforehand, or use zonodpp sample or landmarks"
        raise ValueError(f"{found}, too much for the memory of this machine; {advice}")
    return to_dense(values)
