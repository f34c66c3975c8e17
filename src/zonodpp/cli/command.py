"""How a command is declared, and how it is run: its code is imported when it is called."""

from __future__ import annotations

import functools
import importlib
import inspect
import secrets
from collections.abc import Callable
from typing import Any

import click

from zonodpp.cli.messages import is_expected, one_line
from zonodpp.cli.options import Input, Restriction, Run, debug_option
from zonodpp.cli.output import Destination, check_destination, write

# A function gets the values of these options as one object of this name.
_GROUPS: dict[str, Any] = {
    "source": Input,
    "restriction": Restriction,
    "run": Run,
    "destination": Destination,
}


class Group(click.Group):
    """A group of commands that lists them in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in their order; click sorts them."""
        return list(self.commands)


def epilog(example: str) -> str:
    """Return the end of a help text; the backspace keeps click from joining its lines."""
    return f"\b\nExample:\n{example}"


def command(
    name: str, code: str, short: str, endings: tuple[str, ...] | None = None
) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command; its help and its example are the docstring of the decorated function.

    Parameters
    ----------
    name : str
        Of the command.
    code : str
        The function that does the work, as "module.function" in zonodpp.cli. It gets the values
        of the options.
    short : str
        The line in the list of commands.
    endings : tuple of str, optional
        Of files that --out can write beside .json, .csv and .parquet. The function then returns
        the `Result` to write, or None. Without endings the function writes its result itself.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def run(**values: Any) -> None:
            try:
                _run_command(code, endings, values)
            except Exception as error:
                if is_expected(error) and not isinstance(error, BrokenPipeError):
                    raise click.ClickException(one_line(error)) from error
                raise

        help, _, example = inspect.cleandoc(function.__doc__ or "").partition("\n\nExample:\n")
        declare = click.command(name, help=help, short_help=short, epilog=epilog(example))
        return declare(debug_option(run))

    return decorate


def _run_command(code: str, endings: tuple[str, ...] | None, values: dict[str, Any]) -> None:
    """Call the function of a command, and write the result that it returns."""
    given = values.get("seed")
    if "seed" in values:
        values["seed"] = _fresh_seed(given, values.get("checkpoint"))
    for name, kind in _GROUPS.items():
        if values.keys() >= set(kind._fields):
            values[name] = kind(*(values.pop(field) for field in kind._fields))
    if endings is None:
        _function(code)(**values)
        return
    destination = values.pop("destination")
    check_destination(destination, *endings)
    result = _function(code)(**values)
    if result is None:
        return
    write(result, destination)
    if result.seed is not None and given is None and not destination.as_json:
        seed = result.seed
        click.echo(f"zonodpp: seed {seed}; --seed {seed} gives the same result again", err=True)


def _function(code: str) -> Callable[..., Any]:
    module, _, name = code.partition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(f"zonodpp.cli.{module}"), name)
    return found


def _fresh_seed(seed: int | None, checkpoint: str | None) -> int | None:
    """Return the seed, or a new one to report; none with a checkpoint, which keeps its own."""
    if seed is not None and seed < 0:
        raise click.UsageError(f"--seed must not be negative, got {seed}")
    return seed if seed is not None or checkpoint is not None else secrets.randbits(32)
