"""Write results: text for people, JSON and CSV for programs, files by their ending."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

import click

from zonodpp._files import replacing
from zonodpp._optional import optional
from zonodpp.cli.messages import printable
from zonodpp.cli.options import Output

# Packages that files need, by their endings: the module, the extra, and what needs it.
NEEDED = {
    ".parquet": ("pyarrow.parquet", "parquet", "a .parquet file"),
    ".graphml": ("networkx", "graph", "GraphML"),
}
_Form = TypeVar("_Form")
Rows = tuple[list[str], Iterable[Sequence[object]]]  # header and rows


@dataclass(frozen=True)
class Result:
    """A result in the forms it can take; a function makes a form when it is asked for."""

    text: str | bytes | Callable[[], str]  # bytes go out as they are, but never to a terminal
    data: object
    rows: Rows | Callable[[], Rows]
    # What writes files of other endings than .json, .csv, .parquet and .txt.
    files: Mapping[str, Callable[[str], object]] = field(default_factory=dict)
    random: bool = True  # whether the seed matters, so that one that the program chose is shown


def check_destination(destination: Output, *endings: str) -> None:
    """Raise before the work is done if its result could not be written afterwards."""
    if destination.as_json and destination.as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    out = destination.out
    if out is None:
        return
    known = (".json", ".csv", ".parquet", *endings)
    ending = os.path.splitext(out)[1].lower()
    if ending not in known:
        raise click.UsageError(f"--out {out}: the ending must be one of {', '.join(known)}")
    folder = os.path.dirname(out) or "."
    if not os.path.isdir(folder):
        raise click.UsageError(f"--out {out}: there is no folder {folder}")
    if ending in NEEDED:
        optional(*NEEDED[ending])


def write(result: Result, destination: Output) -> None:
    """Write the result where it was asked for."""
    if destination.out is not None:
        with replacing(destination.out) as temporary:
            _write_file(result, temporary)
        if not (destination.as_json or destination.as_csv):
            return
    form = ".json" if destination.as_json else ".csv" if destination.as_csv else ".txt"
    if sys.stdout is None:  # a process can be started without one
        raise click.UsageError("standard output is closed; write to a file with --out")
    text = _formatted(result, form)
    if isinstance(text, str):  # a terminal gets no control characters
        sys.stdout.write(printable(text) if form != ".csv" or sys.stdout.isatty() else text)
    elif b"\0" in text and sys.stdout.isatty():
        raise click.UsageError("this is binary data; write it to a file with --out")
    else:
        click.echo(text, nl=False)


def _write_file(result: Result, path: str) -> None:
    ending = os.path.splitext(path)[1].lower()
    if ending in result.files:
        result.files[ending](path)
    elif ending == ".parquet":
        header, rows = _made(result.rows)
        arrow, parquet = optional("pyarrow", "parquet", "Parquet"), optional(*NEEDED[ending])
        columns = [arrow.array(column) for column in zip(*rows, strict=True)]
        parquet.write_table(arrow.Table.from_arrays(columns, names=header), path)
    elif ending not in (".json", ".csv", ".txt"):  # known to the command, but for other results
        raise click.UsageError(f"--out: this result cannot be written as {ending}")
    else:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(str(_formatted(result, ending)))


def _formatted(result: Result, ending: str) -> str | bytes:
    """Return the result as JSON, as CSV or as text for people."""
    if ending == ".json":
        text = json.dumps(_made(result.data), default=_as_json_value, ensure_ascii=False) + "\n"
        return text if text.isascii() else printable(text)
    if ending == ".csv":
        header, rows = _made(result.rows)
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(chain([header], rows))
        return file.getvalue()
    shown = result.text() if callable(result.text) else result.text
    return shown if isinstance(shown, bytes) or shown.endswith("\n") else f"{shown}\n"


def _made(form: _Form | Callable[[], _Form]) -> _Form:
    return form() if callable(form) else form


def _as_json_value(value: object) -> object:
    """Turn arrays and numpy's numbers into what JSON knows."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
