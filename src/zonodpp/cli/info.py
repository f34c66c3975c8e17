"""``zonodpp info`` and ``completion``: facts about the installation or a file, example data."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files
from pathlib import Path

import click
import numba
import numpy as np
from click.shell_completion import get_completion_class

from zonodpp import Samples
from zonodpp._types import Matrix
from zonodpp.apps.rows import encode
from zonodpp.cli.apps import rank_and_condition
from zonodpp.cli.command import Result, printable
from zonodpp.cli.files import Source, open_source
from zonodpp.cli.inputs import read_frame, read_table
from zonodpp.cli.interface import CompletionOptions, InfoOptions, Input
from zonodpp.cli.names import aligned
from zonodpp.datasets import mnist_ones
from zonodpp.linalg.dense import row_chunks
from zonodpp.linalg.gram import numerical_rank, triangle
from zonodpp.streams.passes import View
from zonodpp.streams.sources import RowSource
from zonodpp.targets.streamed import directions_of_moments, take_moments

EXAMPLES = {"foods": "foods.csv", "graph": "graph.edges", "article": "article.txt", "digits": ""}
# A package that users need, not one of those that only developers of this package need.
_REQUIREMENT = re.compile(r"(?!zonodpp)([\w-]+)(?!.*extra == .(?:bench|dev|docs|lint|test)\b)")
# With so many columns, `rank_and_condition` factorises blocks of 8,000 rows: 256 MB.
_MOST_COLUMNS = 4000


def show_facts(options: InfoOptions) -> Result:
    """Run ``zonodpp info``."""
    if options.example is not None:
        return _example(options.example)
    facts = _about_file(options) if options.file else _about_installation()
    shown = [(name, _shown(fact)) for name, fact in facts.items()]
    return Result(aligned(shown), facts, [("fact", "value"), *shown])


def show_completion(options: CompletionOptions) -> None:
    """Run ``zonodpp completion``."""
    found = get_completion_class(options.shell)
    assert found is not None
    program = click.get_current_context().find_root().command
    click.echo(found(program, {}, "zonodpp", "_ZONODPP_COMPLETE").source())


def _shown(fact: object) -> str:
    if isinstance(fact, list):
        return ", ".join(map(str, fact))
    return f"{fact:.4g}" if isinstance(fact, float) else str(fact)


def _example(name: str) -> Result:
    """Return a small input for the examples in ``--help``."""
    if name == "digits":
        buffer = io.BytesIO()
        np.save(buffer, mnist_ones().reshape(1000, -1).astype(np.float32))
        data = buffer.getvalue()
    else:
        data = files("zonodpp").joinpath("data", EXAMPLES[name]).read_bytes()
    endings = (".csv", ".edges", ".txt", ".npy")
    writers = dict.fromkeys(endings, lambda path: Path(path).write_bytes(data))
    return Result(data, {"example": name}, [["example"], [name]], writers)


def _about_installation() -> dict[str, object]:
    """Return versions of packages, threads, the folder of compiled code and the examples."""
    needed = filter(None, map(_REQUIREMENT.match, requires("zonodpp") or ()))
    return {
        "zonodpp": _version("zonodpp"),
        "python": platform.python_version(),
        **{found[1]: _version(found[1]) for found in needed},
        "processors": os.cpu_count(),
        "numba threads": numba.config.NUMBA_NUM_THREADS,
        "compiled code": numba.config.CACHE_DIR or "next to the sources (__pycache__)",
        "examples": list(EXAMPLES),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _about_file(options: InfoOptions) -> dict[str, object]:
    """Return shape, rank and conditioning, and what `zonodpp sample` would do with the file."""
    if options.file.endswith(".npz") and options.key is None:
        with contextlib.suppress(ValueError):  # it holds no draws
            samples = Samples.load(options.file)
            draws = {"holds": repr(samples), "of": repr(samples.target)}
            return {"file": printable(options.file), **draws}
    source = open_source(options.file, options.format)
    by_rows = options.items == "rows"
    try:
        table = read_table(options, passes=by_rows, source=source)
    except ValueError:
        if by_rows and source.format in ("csv", "tsv", "parquet"):
            with contextlib.suppress(ImportError):  # text needs pandas
                return _about_columns(source, options)
        raise
    n, d = table.shape if by_rows else table.shape[::-1]
    entries = f"{source.format.title()}; large for this machine's memory: read in passes"
    if not isinstance(table.values, RowSource):
        layout = "dense" if isinstance(table.values, np.ndarray) else "sparse"
        entries = f"{table.values.dtype}, {layout}"
    facts = {"file": printable(source.name), "items": n, "features": d, "entries": entries}
    if by_rows:
        facts |= {"first items": table.labels and table.labels[:5], "columns": table.columns}
    if min(n, d) > _MOST_COLUMNS:
        facts["rank"] = f"not computed: there are more than {_MOST_COLUMNS:,} items and features"
    else:
        rank, condition = rank_and_condition(table.values)
        facts |= {"rank": rank, "condition": condition}
        if rank == d <= n:
            facts["a draw has"] = f"{d} items"
        else:
            most = _most_directions(table.values if by_rows else table.matrix.T)
            needed = f"--rank {most} or less" if most else "items that differ: all are the same"
            facts["a draw needs"] = needed
    return {name: fact for name, fact in facts.items() if fact is not None}


def _most_directions(X: Matrix | RowSource) -> int:
    """Count the principal directions of the rows of X, which are centred: the largest --rank."""
    if isinstance(X, RowSource):
        moments = take_moments(X, View(weighted=False), centred=True)
        d = moments.mean.size
        _, spread = directions_of_moments(X, moments, d, weighted=False)
        return min(int(moments.rows) - 1, len(spread))
    n, d = X.shape
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    chunks = row_chunks(X.T if d > n else X)
    R = triangle(rows - (mean[span, None] if d > n else mean) for span, rows in chunks)
    return min(int(n) - 1, numerical_rank(np.linalg.svd(R, compute_uv=False)))


def _about_columns(source: Source, options: Input) -> dict[str, object]:
    """Return facts about the columns of a table with text."""
    table, _, roles = read_frame(options, source=source)
    columns = encode(table.iloc[:, roles.features]).columns
    used = [column for column in columns if column.width]
    return {
        "file": printable(source.name),
        "rows": len(table),
        "columns": table.shape[1],
        **{f"column {printable(str(column.name))}": str(column) for column in columns},
        "zonodpp rows uses": f"{len(used)} columns as {sum(c.width for c in used)} numbers",
        "zonodpp sample needs": "numbers in all columns; see --columns, --id and --missing",
    }
