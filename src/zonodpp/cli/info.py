"""``zonodpp info`` and ``completion``: facts about the installation or a file, example data."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import re
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files
from pathlib import Path

import click
import numba
import numpy as np
from click.shell_completion import get_completion_class

from zonodpp import Samples
from zonodpp._arguments import check_finite
from zonodpp._types import Floats, Matrix
from zonodpp.cli.apps import narrow_triangle, rank_and_condition
from zonodpp.cli.inputs import read_table
from zonodpp.cli.interface import CompletionOptions, InfoOptions
from zonodpp.cli.large import LargeTable, read_any_table
from zonodpp.cli.names import aligned
from zonodpp.cli.output import Result
from zonodpp.cli.read import TEXT, Source, open_source
from zonodpp.cli.rows import about_columns
from zonodpp.datasets import mnist_ones
from zonodpp.numerics.gram import numerical_rank

# The files of the examples; digits are made of the MNIST ones when they are asked for.
EXAMPLES = {"foods": "foods.csv", "graph": "graph.edges", "article": "article.txt"}
EXAMPLES |= {"digits": "digits.npy"}
# A package that users need, not one of those that only developers of this package need.
_REQUIREMENT = re.compile(r"(?!zonodpp)([\w-]+)(?!.*extra == .(?:bench|dev|docs|lint|test)\b)")
# With so many columns, `rank_and_condition` factorises blocks of 8,000 rows: 256 MB.
_MOST_COLUMNS = 4000


def show_facts(options: InfoOptions) -> Result:
    """Run ``zonodpp info``."""
    if options.example is not None:
        return _example(options.example, options.out)
    ending = os.path.splitext(options.out or "")[1].lower()
    if ending in (".npy", ".edges"):
        problem = f"facts cannot be written as {ending}, only an example can: see --example"
        raise click.UsageError(f"--out {options.out}: {problem}")
    found = _about_file(options) if options.file else _about_installation()
    facts = {name: fact for name, fact in found.items() if fact is not None}
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


def _example(name: str, out: str | None) -> Result:
    """Return a small input for the examples in ``--help``."""
    ending = os.path.splitext(EXAMPLES[name])[1]
    if out is not None and os.path.splitext(out)[1].lower() not in (ending, ".txt"):
        raise click.UsageError(f"--out {out}: the example {name} is a {ending} file")
    if name == "digits":
        buffer = io.BytesIO()
        np.save(buffer, mnist_ones().reshape(1000, -1).astype(np.float32))
        data = buffer.getvalue()
    else:
        data = files("zonodpp").joinpath("data", EXAMPLES[name]).read_bytes()
    writers = dict.fromkeys((ending, ".txt"), lambda path: Path(path).write_bytes(data))
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
            return {"file": options.file, "holds": repr(samples), "of": repr(samples.target)}
    source = open_source(options.file, options.format)
    by_rows = options.items == "rows"
    try:
        table = (read_any_table if by_rows else read_table)(options, source=source)
    except ValueError:
        if by_rows and source.format in (*TEXT, "parquet"):
            with contextlib.suppress(ImportError):  # text needs pandas
                return about_columns(source, options)
        raise
    if isinstance(table, LargeTable):
        return _about_large(source, table)
    check_finite(table.values, table.source)
    X = table.values if by_rows else table.values.T
    layout = "dense" if isinstance(X, np.ndarray) else "sparse"
    facts = {"file": source.name, "items": X.shape[0], "features": X.shape[1]}
    facts |= {"entries": f"{X.dtype}, {layout}"}
    if by_rows:
        facts |= {"first items": table.labels and table.labels[:5], "columns": table.columns}
    return facts | _about_draws(X.shape, partial(narrow_triangle, X), partial(_most_directions, X))


def _about_large(source: Source, table: LargeTable) -> dict[str, object]:
    """Return facts about rows that are read in passes."""
    n, d = table.shape
    entries = f"{source.format.title()}; large for this machine's memory: read in passes"
    facts = {"file": source.name, "items": n, "features": d, "entries": entries}
    facts |= {"columns": table.columns}
    return facts | _about_draws(table.shape, table.triangle, table.most_directions)


def _about_draws(
    shape: tuple[int, ...], triangle: Callable[[], Floats], most_directions: Callable[[], int]
) -> dict[str, object]:
    """Return rank and condition, from R of X = QR, and what a draw has or needs."""
    n, d = shape
    if min(n, d) > _MOST_COLUMNS:
        return {"rank": f"not computed: there are more than {_MOST_COLUMNS:,} items and features"}
    rank, condition = rank_and_condition(triangle())
    facts = {"rank": rank, "condition": condition}
    if rank == d <= n:
        return facts | {"a draw has": f"{d} items"}
    most = most_directions()
    needed = f"--rank {most} or less" if most else "items that differ: all are the same"
    return facts | {"a draw needs": needed}


def _most_directions(X: Matrix) -> int:
    """Count the principal directions of the rows of X, which are centred: the largest --rank."""
    singular = np.linalg.svd(narrow_triangle(X, centred=True), compute_uv=False)
    return min(int(X.shape[0]) - 1, numerical_rank(singular))
