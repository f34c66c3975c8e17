"""``zonodpp rows``: diverse rows of a table whose columns are of any type."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from typing import Any

import numpy as np

from zonodpp import apps
from zonodpp._optional import optional
from zonodpp.apps.table_columns import encode
from zonodpp.cli.files import Source, open_source, read_array, read_parquet
from zonodpp.cli.interface import RowsOptions
from zonodpp.cli.messages import printable
from zonodpp.cli.options import Input
from zonodpp.cli.output import Result
from zonodpp.cli.table import ColumnRoles, find_columns, is_gap, read_rows

_WIDEST = 40  # characters of a cell in the text for people


def pick_rows(options: RowsOptions) -> Result:
    """Run ``zonodpp rows``."""
    source = open_source(options.file, options.format)
    table, cells, roles = _read_frame(source, options)
    names, weights = list(map(str, table.columns)), options.weights
    if weights is not None and weights not in names:
        raise ValueError(f"{source.name} has no column {weights!r} for --weights")
    counted = [names[place] for place in roles.features if names[place] != weights]
    labels = None if roles.id is None else names[roles.id]
    asked = None if options.columns is None else counted
    unlabelled = table.drop(columns=[] if labels is None or asked else labels)
    choices = options.pick("weights", "answer")
    found = apps.diverse_rows(unlabelled, options.k, columns=asked, rng=options.seed, **choices)
    report = found.attrs["diverse_rows"]
    indices = found.index.to_numpy()
    picked, shown = table.iloc[indices], cells.iloc[indices]
    random = options.answer == "draw"
    facts = {"items": len(table), "indices": indices, **report}
    facts |= {"seed": options.seed} if random else {}
    facts["rows"] = json.loads(picked.to_json(orient="records"))
    width = max(map(len, report["columns"]))
    uses = [f"{column:<{width}}  {use}" for column, use in report["columns"].items()]
    first = f"{len(shown)} of {len(table):,} rows ({report['distinct_rows']:,} distinct)"
    named = shown if labels is None else shown.set_index(labels)
    text = "\n".join([first, named.to_string(max_colwidth=_WIDEST), "", *uses])
    writers = {".parquet": picked.to_parquet}
    return Result(text, facts, (names, shown.to_numpy().tolist()), writers, random)


def describe_columns(source: Source, options: Input) -> dict[str, object] | None:
    """Return facts about the columns of a table with text; None for arrays and without pandas."""
    if source.format not in ("csv", "tsv", "parquet"):
        return None
    with suppress(ImportError):  # without pandas the first problem of the numbers is shown
        table, _, roles = _read_frame(source, options)
        columns = encode(table.iloc[:, roles.features]).columns
        used = [column for column in columns if column.width]
        return {
            "file": printable(source.name),
            "rows": len(table),
            "columns": roles.width,
            **{f"column {printable(str(column.name))}": str(column) for column in columns},
            "zonodpp rows uses": f"{len(used)} columns as {sum(c.width for c in used)} numbers",
            "zonodpp sample needs": "numbers in all columns; see --columns, --id and --missing",
        }
    return None


def _read_frame(source: Source, options: Input) -> tuple[Any, Any, ColumnRoles]:
    """Return a table twice, with types and as it stands in the file, and what its columns are."""
    pandas = optional("pandas", "parquet", "a table with columns of several types")
    if source.format in ("csv", "tsv"):
        with source.stream() as stream:
            tabs = source.format == "tsv"
            names, width, rows = read_rows(stream, source.name, options.header, tabs)
            block = [[cell.strip() for cell in cells] for _, cells in rows]
        cells = pandas.DataFrame(block, columns=names or [str(k) for k in range(width)])
        table = pandas.read_csv(
            io.StringIO(cells.mask(cells.map(is_gap)).to_csv(index=False)),
            true_values=["yes", "Yes", "YES"],
            false_values=["no", "No", "NO"],
            skip_blank_lines=False,
            low_memory=False,  # types are found of whole columns, not of pieces
        ).set_axis(cells.columns, axis="columns")
    elif source.format == "parquet":
        table = cells = read_parquet(source).to_pandas(ignore_metadata=True)
    else:
        table = cells = pandas.DataFrame(np.asarray(read_array(source, options.key)))
    shown = list(map(str, table.columns))
    return table, cells, find_columns(source.name, options, None, len(shown), shown)
