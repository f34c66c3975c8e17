"""How commands and options are declared, and how a command is run.

Options are attributes of a class: an object of that class holds the values that were given. The
code of a command is imported when it is called, so that help and completion come at once.
"""

from __future__ import annotations

import functools
import inspect
import secrets
from collections.abc import Callable
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import click

from zonodpp._imports import on_use
from zonodpp.cli.output import Destination, check_destination, write_result

COMMANDS: list[click.Command] = []
DEBUG = click.Option(["--debug"], is_flag=True, expose_value=False, help="Show tracebacks.")
FILE = click.Path(dir_okay=False)
_Kind = TypeVar("_Kind", bound="type[Options]")


class Options:
    """Values of options; a subclass declares each option as an attribute of its name and type."""

    def __init__(self, **values: object) -> None:
        # The file of --out, for commands that must know it before they begin.
        self.out: str | None = None
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
    >>> from zonodpp.cli.command import Options, option
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
    flags = [bool(values.get(name)) for name in ("as_json", "as_csv")]
    to = Destination(flags[0], flags[1], values.get("out"))
    check_destination(to, (".json", ".csv", ".parquet", *endings), _files_of(values))
    module, _, function = code.partition(":")
    options = kind(**values)
    options.out = to.out
    result = getattr(on_use(f"zonodpp.cli.{module}"), function)(options)
    if result is None:
        return
    write_result(result, to)
    if seed is not None and result.random and not to.as_json:
        same = f"--seed {seed} gives the same result again"
        if values.get("seconds") is not None:
            same = f"--seed {seed} begins with the same draws; how many depends on the time"
        click.echo(f"zonodpp: seed {seed}; {same}", err=True)


def _files_of(values: dict[str, Any]) -> dict[str, str]:
    """Return the files that the options of a command name, by option."""
    names = {"file": "FILE", "weights": "--weights", "relevance": "--relevance"}
    names["checkpoint"] = "--checkpoint"
    return {option: values[name] for name, option in names.items() if values.get(name) is not None}
