"""``zonodpp rows``: diverse rows of a table whose columns are of any type, a frame of pandas."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zonodpp import apps
from zonodpp._linalg.dense import to_dense
from zonodpp._optional import optional
from zonodpp._types import Floats, Matrix
from zonodpp.apps._rows import PANDAS, encode
from zonodpp.cli._cells import csv_rows, records, text_for_people, with_labels, write_parquet
from zonodpp.cli._command import Result
from zonodpp.cli._files import Source, open_source, read_parquet
from zonodpp.cli._inputs import open_array, parquet_roles
from zonodpp.cli._interface import Input, RowsOptions
from zonodpp.cli._large import is_large
from zonodpp.cli._names import ColumnRoles, aligned, find_columns, without_row_numbers
from zonodpp.cli._table import collect, is_gap, read_rows

if TYPE_CHECKING:
    from pandas import DataFrame, Series


def pick_rows(options: RowsOptions) -> Result:
    """Run ``zonodpp rows``."""
    table, cells, roles = read_frame(options, options.weights)
    counted = table.iloc[:, [p for p in dict.fromkeys(roles.features) if p != roles.weights]]
    asked = None if options.columns is None else list(counted.columns)
    weights: str | Floats | None = options.weights
    if roles.weights is not None:
        weights = _weights_in(roles, table.iloc[:, roles.weights])
    choices = options.pick("answer") | {"columns": asked, "weights": weights}
    found = apps.diverse_rows(counted, options.k, rng=options.seed, **choices)
    report = found.attrs["diverse_rows"]
    indices = found.index.to_numpy()
    labels = () if roles.id is None else cells.iloc[indices, roles.id]
    picked = with_labels(table.iloc[indices], roles, labels)
    shown = with_labels(cells.iloc[indices], roles, labels)
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
    table, _, roles = read_frame(options, source=source)
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
) -> tuple[DataFrame, DataFrame, ColumnRoles]:
    """Return a table twice, with types and as it stands in the file, and what its columns are."""
    source = source or open_source(options.file, options.format)
    pandas = optional(*PANDAS)
    if source.format in ("csv", "tsv"):
        names, _, rows = read_rows(source, options.header)
        cells = pandas.DataFrame([[cell.strip() for cell in row] for _, row in rows], columns=names)
        table = _typed(cells)
        roles = find_columns(source.name, options, weights, names)
    elif source.format == "parquet":
        arrow = read_parquet(source)
        table = cells = arrow.to_pandas(ignore_metadata=True, types_mapper=_frame_type)
        roles = parquet_roles(source, arrow.schema, options, weights)
    else:
        values, roles = open_array(source, options, weights)
        table = cells = pandas.DataFrame(_dense(source, values))

    roles = without_row_numbers(roles, lambda place: _objects(table.iloc[:, place]))
    return table, cells, roles


def _frame_type(kind: Any) -> Any:
    """Return the type of a frame's column for a type of Arrow; None for the default of pyarrow.

    With types of Arrow, whole numbers stay whole in a column with empty cells.
    """
    pandas, pyarrow = (optional(name, "parquet", "Parquet") for name in ("pandas", "pyarrow"))
    # pandas has its own types for periods and intervals; PyArrow cannot pick rows of views.
    views = kind in (pyarrow.string_view(), pyarrow.binary_view())
    return None if views or isinstance(kind, pyarrow.ExtensionType) else pandas.ArrowDtype(kind)


def _typed(cells: DataFrame) -> DataFrame:
    """Return a frame of text with the types that pandas finds in its columns."""
    pandas = optional(*PANDAS)
    gaps = cells.map(is_gap)
    text = io.StringIO(cells.mask(gaps).to_csv(index=False))
    words = {"true_values": ["yes", "Yes", "YES"], "false_values": ["no", "No", "NO"]}
    # With low_memory=False all cells of a column decide on its type, not only some of them.
    table = pandas.read_csv(text, skip_blank_lines=False, low_memory=False, **words)
    table = table.set_axis(cells.columns, axis="columns").mask(gaps)
    for place in range(table.shape[1]):
        # Whole numbers with gaps have become floating-point numbers, which lose digits.
        if table.dtypes.iloc[place].kind == "f":
            column = cells.iloc[:, place].mask(table.iloc[:, place].isna())
            if column.dropna().str.fullmatch("[+-]?[0-9]{1,19}").all():
                whole = [None if cell is None else int(cell) for cell in _objects(column)]
                with suppress(OverflowError):
                    table.isetitem(place, pandas.array(whole, dtype="Int64"))
    return table


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
