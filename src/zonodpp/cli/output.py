"""The one writer of results: it checks the place first, writes in blocks, and encodes safely."""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import methodcaller
from typing import Any, NamedTuple, TypeVar

import click

from zonodpp._imports import optional
from zonodpp.cli.messages import printable, quoted
from zonodpp.io.files import check_place, replacing

# Packages that files need, by their endings: the module, the extra, and what needs it.
NEEDED = {
    ".parquet": ("pyarrow.parquet", "parquet", "a .parquet file"),
    ".graphml": ("networkx", "graph", "GraphML"),
}
# Characters of one write to standard output. Where Python does not buffer it (PYTHONUNBUFFERED), a
# write that the reader cuts short is no error: only the next write fails.
_PIECE = 2**14
BLOCK = 4096  # rows, or draws, that are made and written at once: Ctrl-C waits for no more
_PARQUET_BLOCK = 2**16
_ESCAPES = "zonodpp-escapes"
_Form = TypeVar("_Form")
Rows = Iterable[Sequence[object]]  # the names of the columns, then the rows


class Parts(NamedTuple):
    """A long list for JSON; ``made`` yields its parts, so that it is never in memory as a whole."""

    made: Callable[[], Iterator[list[Any]]]


@dataclass(frozen=True)
class Result:
    """A result in the forms it can take; a function makes a form when it is asked for."""

    text: str | bytes | Callable[[], str]  # bytes go out as they are, but never to a terminal
    data: object
    rows: Rows | Callable[[], Rows]
    # What writes files of other endings than .json, .csv, .parquet and .txt.
    files: Mapping[str, Callable[[str], object]] = field(default_factory=dict)
    random: bool = True  # whether the seed matters, so that one that the program chose is shown


class Destination(NamedTuple):
    """Where a result goes, and in which form."""

    as_json: bool
    as_csv: bool
    out: str | None


def check_destination(to: Destination, known: Sequence[str], files: Mapping[str, str]) -> None:
    """Raise before the work is done if its result could not be written afterwards.

    ``files`` are the other files of the command, by the options that name them: none of them may
    be overwritten.
    """
    if to.as_json and to.as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    written = {"--out": to.out, "--checkpoint": files.get("--checkpoint")}
    for option, place in written.items():
        for other, file in files.items():
            if place is not None and other != option and _is_same(file, place):
                raise click.UsageError(f"{option} {place} would overwrite the file of {other}")
    if to.out is None:
        return
    folder, name = os.path.split(to.out)
    ending = os.path.splitext(name)[1].lower()
    if ending not in known:
        expected = f"the ending must be one of {', '.join(known)}"
        raise click.UsageError(f"--out {to.out}: {expected}")
    if not os.path.isdir(folder or os.curdir):
        raise click.UsageError(f"--out {to.out}: there is no folder {folder}")
    check_place(to.out)
    if ending in NEEDED:
        optional(*NEEDED[ending])


def _is_same(file: str, place: str) -> bool:
    """Tell whether two paths are one file, through links as well."""
    try:
        return os.path.samefile(file, place)
    except (OSError, ValueError):  # one of them is not there yet, or is no path at all
        return file != "-" and os.path.abspath(file) == os.path.abspath(place)


def write_result(result: Result, to: Destination) -> None:
    """Write the result where it was asked for."""
    if to.out is not None:
        with replacing(to.out) as temporary:
            _write_file(result, temporary)
        if not (to.as_json or to.as_csv):
            return
    if sys.stdout is None:  # a process can be started without one
        raise click.UsageError("standard output is closed; write to a file with --out")
    form = ".json" if to.as_json else ".csv" if to.as_csv else ".txt"
    if form == ".txt" and isinstance(result.text, bytes):
        if b"\0" in result.text and sys.stdout.isatty():
            raise click.UsageError("this is binary data; write it to a file with --out")
        click.echo(result.text, nl=False)
        return
    raw = form == ".csv" and not sys.stdout.isatty()  # a terminal gets no control characters
    encoding, lost = sys.stdout.encoding or "utf-8", False
    for text in _text_pieces(result, form):
        shown = text if raw else printable(text)
        safe = encodable(shown, encoding)
        lost = lost or safe != shown
        for start in range(0, len(safe), _PIECE):
            sys.stdout.write(safe[start : start + _PIECE])
    if lost and form != ".json":  # in JSON they mean the same
        note = r"characters that it does not have are written as \u2026 is"
        click.echo(f"zonodpp: standard output is {encoding}: {note}", err=True)


def encodable(text: str, encoding: str) -> str:
    r"""Return a text with JSON's escapes for characters that an encoding does not have.

    Examples
    --------
    >>> from zonodpp.cli.output import encodable
    >>> print(encodable("caf\xe9 \u0394", "latin-1"))
    café \u0394
    """
    return text.encode(encoding, _ESCAPES).decode(encoding)


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Replace what an encoding does not have by JSON's escapes, as a handler of codecs."""
    assert isinstance(error, UnicodeEncodeError)
    part = error.object[error.start : error.end]
    return "".join(json.dumps(each)[1:-1] for each in part), error.end


codecs.register_error(_ESCAPES, _escape)


def _write_file(result: Result, path: str) -> None:
    ending = os.path.splitext(path)[1].lower()
    if ending in result.files:
        result.files[ending](path)
    elif ending == ".parquet":
        _write_parquet(_made(result.rows), path)
    elif ending not in (".json", ".csv", ".txt"):  # known to the command, but for other results
        raise click.UsageError(f"--out: this result cannot be written as {ending}")
    else:
        with open(path, "w", encoding="utf-8", errors=_ESCAPES, newline="") as file:
            file.writelines(_text_pieces(result, ending))


def _write_parquet(rows: Rows, path: str) -> None:
    """Write rows block by block; a column that is empty in a block takes its type from others."""
    arrow = optional("pyarrow", "parquet", "a .parquet file")
    names, rest = _first_and_rest(rows)
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        several = f"{count} columns are called {quoted(str(name))}"
        raise ValueError(f"a .parquet file cannot be written: {several}; write a .csv file")
    blocks = []
    while block := list(islice(rest, _PARQUET_BLOCK)):
        columns = [list(column) for column in zip(*block, strict=True)]
        blocks.append(arrow.table(columns, names=list(names)))
    empty = arrow.table([[] for _ in names], names=list(names))
    table = arrow.concat_tables(blocks or [empty], promote_options="default")
    optional(*NEEDED[".parquet"]).write_table(table, path)


def _first_and_rest(rows: Rows) -> tuple[Sequence[Any], Iterator[Sequence[object]]]:
    rest = iter(rows)
    return next(rest), rest


def _text_pieces(result: Result, ending: str) -> Iterator[str]:
    """Yield the result as JSON, as CSV or as text for people, piece by piece."""
    if ending == ".json":
        yield from map(printable, _json_pieces(_made(result.data)))
        yield "\n"
    elif ending == ".csv":
        rows = iter(_made(result.rows))
        while block := list(islice(rows, BLOCK)):
            file = io.StringIO()
            csv.writer(file, lineterminator="\n").writerows(block)
            yield file.getvalue()
    else:
        shown = result.text() if callable(result.text) else result.text
        shown = shown.decode() if isinstance(shown, bytes) else shown
        yield shown if shown.endswith("\n") else f"{shown}\n"


def _json_pieces(facts: object) -> Iterator[str]:
    """Yield a value as JSON; parts of long lists one after the other."""
    if isinstance(facts, Parts):
        between = "["
        for part in facts.made():
            if part:
                yield between
                yield _dumped(part)[1:-1]
                between = ", "
        yield "[]" if between == "[" else "]"
    elif isinstance(facts, list) and any(isinstance(each, Parts) for each in facts):
        for place, each in enumerate(facts):
            yield ", " if place else "["
            yield from _json_pieces(each)
        yield "]"
    elif isinstance(facts, dict):
        for place, (name, value) in enumerate(facts.items()):
            yield (", " if place else "{") + f"{_dumped(str(name))}: "
            yield from _json_pieces(value)
        yield "}" if facts else "{}"
    else:
        yield _dumped(facts)


def _dumped(value: object) -> str:
    # Arrays and numpy's numbers become what JSON knows.
    return json.dumps(value, default=methodcaller("tolist"), ensure_ascii=False)


def _made(form: _Form | Callable[[], _Form]) -> _Form:
    return form() if callable(form) else form
