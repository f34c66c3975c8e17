"""``zonodpp rows``: diverse rows of a table whose columns are of any type."""

from __future__ import annotations

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
from zonodpp.cli.table import check_width, find_columns, is_gap, read_rows

_TRUTH = {"true": True, "false": False, "yes": True, "no": False}
_WIDEST = 40  # characters of a cell in the text for people


def pick_rows(options: RowsOptions) -> Result:
    """Run ``zonodpp rows``."""
    source = open_source(options.file, options.format)
    table, cells = _read_frame(source, options)
    names = [str(name) for name in table.columns]
    layout = find_columns(source.name, options, (), len(names), names)
    weights = options.weights
    if weights is not None and weights not in names:
        raise ValueError(f"{source.name} has no column {weights!r} for --weights")
    counted = [names[place] for place in layout.kept if names[place] != weights]
    labels = None if layout.id is None else names[layout.id]
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
    return Result(
        text=lambda: _text(shown, labels, report, len(table)),
        data=lambda: facts | {"rows": json.loads(picked.to_json(orient="records"))},
        rows=lambda: (names, shown.to_numpy().tolist()),
        files={".parquet": lambda path: picked.to_parquet(path)},
        seed=options.seed if random else None,
    )


def _text(shown: Any, labels: str | None, report: dict[str, Any], n: int) -> str:
    """Return the rows as a table, and below it what was made of the columns."""
    if labels is not None:
        shown = shown.set_index(labels)
    lines = [
        f"{len(shown)} of {n:,} rows ({report['distinct_rows']:,} distinct)",
        shown.to_string(max_colwidth=_WIDEST),
        "",
    ]
    width = max(map(len, report["columns"]))
    return "\n".join([*lines, *(f"{c:<{width}}  {use}" for c, use in report["columns"].items())])


def describe_columns(source: Source, options: Input) -> dict[str, object] | None:
    """Return facts about the columns of a table with text; None for arrays and without pandas."""
    if source.format not in ("csv", "tsv", "parquet"):
        return None
    with suppress(ImportError):  # without pandas the first problem of the numbers is shown
        table, _ = _read_frame(source, options)
        names = [str(name) for name in table.columns]
        layout = find_columns(source.name, options, (), len(names), names)
        columns = encode(table.iloc[:, layout.kept]).columns
        used = [column for column in columns if column.width]
        return {
            "file": printable(source.name),
            "rows": len(table),
            "columns": len(names),
            **{f"column {printable(str(column.name))}": str(column) for column in columns},
            "zonodpp rows uses": f"{len(used)} columns as {sum(c.width for c in used)} numbers",
            "zonodpp sample needs": "numbers in all columns; see --columns, --id and --missing",
        }
    return None


def _read_frame(source: Source, options: Input) -> tuple[Any, Any]:
    """Return a table twice: its cells with their types, and as they stand in the file."""
    pandas = optional("pandas", "parquet", "a table with columns of several types")
    if source.format in ("csv", "tsv"):
        with source.stream() as stream:
            tabs = source.format == "tsv"
            names, width, rows = read_rows(stream, source.name, options.header, tabs)
            block = []
            for row, (line, cells) in enumerate(rows):
                problem = check_width(line, row, cells, width)
                if problem is not None:
                    raise ValueError(f"{source.name}, {problem}")
                block.append([str(cell).strip() for cell in cells])
        if not block:
            raise ValueError(f"{source.name} has a header but no rows")
        texts = pandas.DataFrame(block, columns=names or [str(k) for k in range(width)])
        return texts.apply(_with_types), texts
    if source.format == "parquet":
        table = read_parquet(source).to_pandas(ignore_metadata=True)
        return table, table
    table = pandas.DataFrame(np.asarray(read_array(source, options.key)))
    return table, table


def _with_types(texts: Any) -> Any:
    """Turn the cells of a column into numbers or truth values where all of them are such."""
    pandas = optional("pandas", "parquet", "a table with columns of several types")
    present = texts.where(~texts.map(is_gap).astype(bool))
    words = present.dropna()
    if len(words) and words.str.lower().isin(list(_TRUTH)).all():
        return present.str.lower().map(_TRUTH)
    with suppress(ValueError, TypeError):
        return pandas.to_numeric(present)
    return present
