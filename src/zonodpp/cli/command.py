"""How a command is declared, and how it is run: its code is imported when it is called."""

from __future__ import annotations

import functools
import importlib
import inspect
import secrets
from collections.abc import Callable
from typing import Any, TypeVar

import click

from zonodpp.cli.options import DEBUG, Options, Output
from zonodpp.cli.output import check_destination, write

COMMANDS: list[click.Command] = []
_Kind = TypeVar("_Kind", bound=type[Options])


class Group(click.Group):
    """A group of commands that lists them in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in their order; click sorts them."""
        return list(self.commands)


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
        The function that does the work, as "module.function" in zonodpp.cli. It gets an object of
        the class, and returns the `Result` to write, or None.
    short : str
        The line in the list of commands.
    endings : tuple of str or None
        Of files that --out can write beside .json, .csv and .parquet; None for a command that
        writes its result itself.
    """

    def declare(kind: _Kind) -> _Kind:
        help, _, example = inspect.cleandoc(kind.__doc__ or "").partition("\n\nExample:\n")
        output = [] if endings is None else Output.parameters()
        COMMANDS.append(
            click.Command(
                kind.__name__.removesuffix("Options").lower(),
                params=[*kind.parameters(), *output, DEBUG],
                callback=functools.partial(_run_command, kind, code, endings or ()),
                help=help,
                short_help=short,
                epilog=epilog(example),
            )
        )
        return kind

    return declare


def _run_command(kind: type[Options], code: str, endings: tuple[str, ...], **values: Any) -> None:
    """Call the function of a command, and write the result that it returns."""
    seed = None
    if values.get("seed", 0) is None and values.get("checkpoint") is None:
        seed = values["seed"] = secrets.randbits(32)  # a checkpoint keeps the seed of its own run
    destination = Output(**values)
    check_destination(destination, *endings)
    module, _, name = code.partition(".")
    work = getattr(importlib.import_module(f"zonodpp.cli.{module}"), name)
    result = work(kind(**values))
    if result is None:
        return
    write(result, destination)
    if seed is not None and result.random and not destination.as_json:
        click.echo(f"zonodpp: seed {seed}; --seed {seed} gives the same result again", err=True)
