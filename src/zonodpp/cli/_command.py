"""How commands and options are declared, and how results and errors are written.

Options are attributes of a class: an object of that class holds the values that were given. The
code of a command is imported when it is called, so that help and completion come at once.
"""

from __future__ import annotations

import csv
import functools
import inspect
import io
import json
import os
import re
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import click

from zonodpp._files import replacing
from zonodpp._optional import on_use, optional

COMMANDS: list[click.Command] = []
DEBUG = click.Option(["--debug"], is_flag=True, expose_value=False, help="Show tracebacks.")
FILE = click.Path(dir_okay=False)
# Packages that files need, by their endings: the module, the extra, and what needs it.
NEEDED = {
    ".parquet": ("pyarrow.parquet", "parquet", "a .parquet file"),
    ".graphml": ("networkx", "graph", "GraphML"),
}
# Characters of one write to standard output. Where Python does not buffer it (PYTHONUNBUFFERED), a
# write that the reader cuts short is no error: only the next write fails.
_PIECE = 2**14
# Errors that the library raises on purpose, with a message for people.
_EXPECTED = (ValueError, TypeError, OSError, ImportError, MemoryError, ArithmeticError, Warning)
# What moves the cursor, changes colours, breaks lines, reverses the direction of writing or cannot
# be encoded: control characters without tab and newline, separators, overrides, lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_QUOTED = 60  # characters shown of a piece of a file
_LONGEST = 1000  # characters in a message; the advice stands at its end
_ENDING = 300  # the last characters of a longer message, which are kept
_Form = TypeVar("_Form")
Rows = Iterable[Sequence[object]]  # the names of the columns, then the rows


class Options:
    """Values of options; a subclass declares each option as an attribute of its name and type."""

    def __init__(self, **values: object) -> None:
        for name in get_type_hints(type(self)):
            _, settings = getattr(type(self), name)
            setattr(self, name, values.get(name, settings.get("default")))

    def pick(self, *names: str) -> dict[str, Any]:
        """Return some of the values by name, as arguments of a function."""
        return {name: getattr(self, name) for name in names}

    @classmethod
    def parameters(cls) -> list[click.Parameter]:
        """Return the parameters that click reads, those of base classes first."""
        found: list[click.Parameter] = []
        for name, kind in get_type_hints(cls).items():
            words, settings = getattr(cls, name)
            flags = [word for word in words if word.startswith("-")]
            metavar = next((word for word in words if word not in flags), None)
            settings = {"metavar": metavar} | _settings(kind) | settings
            kind = click.Option if flags else click.Argument
            found.append(kind([*flags, name], **settings))
        return found


def _settings(kind: Any) -> dict[str, Any]:
    """Return click's settings for a type; a tuple is a repeatable option, an int is positive."""
    if get_origin(kind) is Literal:
        return {"type": click.Choice(get_args(kind))}
    if get_origin(kind) is tuple:
        return {"multiple": True}
    if NoneType in get_args(kind):  # of X | None
        return _settings(get_args(kind)[0]) | {"default": None}
    if kind is bool:
        return {"is_flag": True}
    return {"type": click.IntRange(min=1) if kind is int else kind}


def option(words: str, help: str, **settings: Any) -> Any:
    """Declare an option: ``words`` are its flags and the name of its value in the help.

    Examples
    --------
    >>> from zonodpp.cli._command import Options, option
    >>> class Count(Options):
    ...     draws: int | None = option("-n --draws N", "Draws to keep.")
    >>> [draws] = Count.parameters()
    >>> draws.name, draws.opts, draws.type.name
    ('draws', ['-n', '--draws'], 'integer range')
    """
    return words.split(), {"help": help, **settings}


def argument(**settings: Any) -> Any:
    """Declare an argument."""
    return [], settings


class _Output(Options):
    """Where the result goes, and in which form."""

    as_json: bool = option("--json", "Write JSON to standard output.")
    as_csv: bool = option("--csv", "Write CSV to standard output.")
    out: str | None = option("--out", "Write to a file, by its ending.", type=FILE)


_Kind = TypeVar("_Kind", bound=type[Options])


@dataclass(frozen=True)
class Result:
    """A result in the forms it can take; a function makes a form when it is asked for."""

    text: str | bytes | Callable[[], str]  # bytes go out as they are, but never to a terminal
    data: object
    rows: Rows | Callable[[], Rows]
    # What writes files of other endings than .json, .csv, .parquet and .txt.
    files: Mapping[str, Callable[[str], object]] = field(default_factory=dict)
    random: bool = True  # whether the seed matters, so that one that the program chose is shown


def epilog(example: str) -> str:
    """Return the end of a help text; the backspace keeps click from joining its lines."""
    return f"\b\nExample:\n{example}"


def command(
    code: str, short: str, endings: tuple[str, ...] | None = ()
) -> Callable[[_Kind], _Kind]:
    """Declare a command by a class: attributes are its options, the docstring is its help.

    The class ``SampleOptions`` is that of the command ``sample``.

    Parameters
    ----------
    code : str
        The function that does the work, as "module:function" in zonodpp.cli. It gets an object of
        the class, and returns the `Result` to write, or None.
    short : str
        The line in the list of commands.
    endings : tuple of str or None
        Of files that --out can write beside .json, .csv and .parquet; None for a command that
        writes its result itself.
    """

    def declare(kind: _Kind) -> _Kind:
        help, _, example = inspect.cleandoc(kind.__doc__ or "").partition("\n\nExample:\n")
        output = [] if endings is None else _Output.parameters()
        params = [*kind.parameters(), *output, DEBUG]
        call = functools.partial(_run_command, kind, code, endings or ())
        name, end = kind.__name__.removesuffix("Options").lower(), epilog(example)
        made = click.Command(name, None, call, params, help=help, epilog=end, short_help=short)
        COMMANDS.append(made)
        return kind

    return declare


def _run_command(kind: type[Options], code: str, endings: tuple[str, ...], **values: Any) -> None:
    """Call the function of a command, and write the result that it returns."""
    seed = None
    if values.get("seed", 0) is None and values.get("checkpoint") is None:
        seed = values["seed"] = secrets.randbits(32)  # a checkpoint keeps the seed of its own run
    destination = _Output(**values)
    _check_destination(destination, (".json", ".csv", ".parquet", *endings))
    module, _, function = code.partition(":")
    result = getattr(on_use(f"zonodpp.cli._{module}"), function)(kind(**values))
    if result is None:
        return
    _write_result(result, destination)
    if seed is not None and result.random and not destination.as_json:
        click.echo(f"zonodpp: seed {seed}; --seed {seed} gives the same result again", err=True)


def _check_destination(destination: _Output, known: Sequence[str]) -> None:
    """Raise before the work is done if its result could not be written afterwards."""
    if destination.as_json and destination.as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    if destination.out is None:
        return
    folder, name = os.path.split(destination.out)
    ending = os.path.splitext(name)[1].lower()
    if ending not in known:
        expected = f"the ending must be one of {', '.join(known)}"
        raise click.UsageError(f"--out {destination.out}: {expected}")
    if not os.path.isdir(folder or os.curdir):
        raise click.UsageError(f"--out {destination.out}: there is no folder {folder}")
    if ending in NEEDED:
        optional(*NEEDED[ending])


def _write_result(result: Result, destination: _Output) -> None:
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
        text = printable(text) if form != ".csv" or sys.stdout.isatty() else text
        for start in range(0, len(text), _PIECE):
            sys.stdout.write(text[start : start + _PIECE])
    elif b"\0" in text and sys.stdout.isatty():
        raise click.UsageError("this is binary data; write it to a file with --out")
    else:
        click.echo(text, nl=False)


def _write_file(result: Result, path: str) -> None:
    ending = os.path.splitext(path)[1].lower()
    if ending in result.files:
        result.files[ending](path)
    elif ending == ".parquet":
        names, *rows = _made(result.rows)
        name, count = Counter(names).most_common(1)[0]
        if count > 1:
            several = f"{count} columns are called {quoted(str(name))}"
            raise ValueError(f"a .parquet file cannot be written: {several}; write a .csv file")
        columns = [list(column) for column in zip(*rows, strict=True)]
        table = optional("pyarrow", "parquet", "a .parquet file").table(columns, names=list(names))
        optional(*NEEDED[".parquet"]).write_table(table, path)
    elif ending not in (".json", ".csv", ".txt"):  # known to the command, but for other results
        raise click.UsageError(f"--out: this result cannot be written as {ending}")
    else:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(str(_formatted(result, ending)))


def _formatted(result: Result, ending: str) -> str | bytes:
    """Return the result as JSON, as CSV or as text for people."""
    if ending == ".json":
        # Arrays and numpy's numbers become what JSON knows.
        facts, to_list = _made(result.data), methodcaller("tolist")
        return printable(json.dumps(facts, default=to_list, ensure_ascii=False)) + "\n"
    if ending == ".csv":
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(_made(result.rows))
        return file.getvalue()
    shown = result.text() if callable(result.text) else result.text
    return shown if isinstance(shown, bytes) or shown.endswith("\n") else f"{shown}\n"


def _made(form: _Form | Callable[[], _Form]) -> _Form:
    return form() if callable(form) else form


def printable(text: str) -> str:
    r"""Write control characters as JSON does, so that a file cannot control the terminal.

    Examples
    --------
    >>> from zonodpp.cli._command import printable
    >>> print(printable("red \x1b[31m"))
    red \u001b[31m
    """
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def quoted(text: str) -> str:
    """Quote a piece of a file in a message, and cut it where it is long.

    Examples
    --------
    >>> from zonodpp.cli._command import quoted
    >>> quoted("heavy"), len(quoted("heavy" * 1000))
    ("'heavy'", 65)
    """
    return repr(text if len(text) <= _QUOTED else f"{text[:_QUOTED]}...")


def one_line(problem: Exception | str, options: Iterable[click.Parameter] = ()) -> str:
    """Return an error or a warning as one line: what is wrong, and what to do.

    The options of the command are written as at a shell: ``rank=2`` becomes ``--rank 2``.

    Examples
    --------
    >>> from zonodpp.cli._command import one_line
    >>> one_line(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'a.csv: no such file or directory'
    """
    text = str(problem)
    if isinstance(problem, click.UsageError):
        path = problem.ctx.command_path if problem.ctx else "zonodpp"
        text = problem.format_message().rstrip(".")
        text = f"{text[:1].lower()}{text[1:]} (see '{path} --help')"
    elif isinstance(problem, OSError) and problem.filename is not None and problem.strerror:
        text = f"{problem.filename}: {problem.strerror[:1].lower()}{problem.strerror[1:]}"
    # The library raises RuntimeError itself; those of Python have types of their own.
    elif not (isinstance(problem, (str, *_EXPECTED)) or type(problem) is RuntimeError):
        text = f"unexpected {type(problem).__name__}: {text}; --debug shows where, please report it"
    elif not text:
        text = f"{type(problem).__name__}; --debug shows where"
    else:
        for option in options:
            text = f" {text}".replace(f" {option.name}=", f" {option.opts[-1]} ")
    line = printable(" ".join(text.split()))
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST - _ENDING]} ... {line[-_ENDING:]}"
