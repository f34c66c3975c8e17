"""Write results: text for people, JSON and CSV for programs, files by their ending."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple, TextIO

import click

from zonodpp._files import replacing
from zonodpp._optional import optional
from zonodpp._stderr import is_watched
from zonodpp.cli.messages import printable

Rows = tuple[list[str], Iterable[Sequence[Any]]]  # header and rows
Writer = Callable[[str], None]


class Result(NamedTuple):
    """A result in the forms it can take, each made when it is asked for."""

    text: Callable[[], str]
    data: Callable[[], Any]
    rows: Callable[[], Rows]
    files: dict[str, Writer] = {}  # noqa: RUF012 - ending -> what writes it, besides these three
    seed: int | None = None  # to show, if the program chose it


class Destination(NamedTuple):
    """Where the result goes, and in which form."""

    as_json: bool
    as_csv: bool
    out: str | None


def check_destination(destination: Destination, *endings: str) -> None:
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
    if ending == ".parquet":
        need_pandas()
    elif ending == ".graphml":
        optional("networkx", "graph", "GraphML")


def need_pandas() -> Any:
    """Return pandas, which needs pyarrow to read and write Parquet."""
    optional("pyarrow", "parquet", "a .parquet file")
    return optional("pandas", "parquet", "a .parquet file")


def standard_output() -> TextIO:
    """Return the standard output; a process can be started without one."""
    if sys.stdout is None:
        raise click.UsageError("standard output is closed; write to a file with --out")
    return sys.stdout


def write(result: Result, destination: Destination) -> None:
    """Write the result where it was asked for."""
    if destination.out is not None:
        _write_file(result, destination.out)
        if is_watched():
            click.echo(f"zonodpp: saved {printable(destination.out)}", err=True)
    if destination.as_json:
        standard_output().write(_as_json(result.data()))
    elif destination.as_csv:
        out = standard_output()
        shown = io.StringIO()
        _write_csv(result.rows(), shown if out.isatty() else out)
        out.write(printable(shown.getvalue()))  # a terminal gets no control characters
    elif destination.out is None:
        text = printable(result.text())
        standard_output().write(text if text.endswith("\n") else f"{text}\n")


def _write_file(result: Result, out: str) -> None:
    """Write a file that appears whole under its name or not at all."""
    ending = os.path.splitext(out)[1].lower()
    with replacing(out) as temporary:
        if ending in result.files:
            result.files[ending](temporary)
        elif ending == ".parquet":
            header, rows = result.rows()
            frame = need_pandas().DataFrame([list(row) for row in rows], columns=header)
            frame.to_parquet(temporary)
        else:
            with open(temporary, "w", encoding="utf-8", newline="") as file:
                if ending == ".json":
                    file.write(_as_json(result.data()))
                elif ending == ".txt":
                    file.write(result.text() + "\n")
                else:
                    _write_csv(result.rows(), file)


def _write_csv(table: Rows, file: Any) -> None:
    header, rows = table
    csv.writer(file, lineterminator="\n").writerows(chain([header], rows))


def _as_json(data: Any) -> str:
    # In one piece: json.dump would write entry by entry, which takes ten times as long.
    text = json.dumps(data, default=_as_json_value, ensure_ascii=False) + "\n"
    return text if text.isascii() else printable(text)


def _as_json_value(value: Any) -> Any:
    """Turn arrays and numpy's numbers into what JSON knows."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def columns_of_text(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Set rows in columns: text to the left, everything after it to the right.

    Examples
    --------
    >>> from zonodpp.cli.output import columns_of_text
    >>> print(columns_of_text(["item", "share"], [["apple", "0.25"], ["egg", "1"]]))
    item   share
    apple   0.25
    egg        1
    """
    table = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[k]) for row in table) for k in range(len(header))]
    lines = []
    for row in table:
        first = row[0].ljust(widths[0])
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)
