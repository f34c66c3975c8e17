"""Options as attributes of classes: an object of such a class holds the values that were given.

Nothing heavy is imported here, so that help and completion come at once.
"""

from __future__ import annotations

from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

Format = Literal["npy", "npz", "csv", "tsv", "parquet", "mtx"]
Method = Literal["auto", "exact", "zonotope", "exchange", "trees"]
NOT_NEGATIVE = click.IntRange(min=0)
PATH = click.Path(allow_dash=True)
FILE = click.Path(dir_okay=False)
DEBUG = click.Option(["--debug"], is_flag=True, expose_value=False, help="Show tracebacks.")


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
    """Return what click has to know of a type; a tuple is a repeatable option, int is positive."""
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
    """Declare an option by its flags, what stands for its value in the help, and its help.

    Examples
    --------
    >>> from zonodpp.cli.options import Options, option
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


METHOD = option("--method", "How to draw.", default="auto")
SEED = option("--seed N", "Same seed, same result. Default: a new one.", type=NOT_NEGATIVE)


class Input(Options):
    """The file to read, and how to read it."""

    file: str = argument(type=PATH)
    format: Format | None = option("--format", "What FILE is, if its ending does not tell.")
    key: str | None = option("--key NAME", "Which array of an .npz file.")
    id: str | None = option("--id COLUMN", "The column with labels of the items.")
    columns: str | None = option("--columns A,B,...", "Features, by name or number from 0.")
    header: bool | None = option(
        "--header/--no-header", "Whether a CSV begins with names; by default if none is a number."
    )
    missing = "error"  # most commands refuse cells without a value
    items = "rows"


class ItemsInput(Input):
    """A file whose items are the rows or the columns."""

    items: Literal["rows", "columns"] = option("--items", "What the items are.", default="rows")


class Restriction(Options):
    """Names of items that must be in a draw, and of items that must not be in it."""

    include: tuple[str, ...] = option("--include ITEM,...", "Items that must be in.")
    exclude: tuple[str, ...] = option("--exclude ITEM,...", "Items that must not be in.")


class RunOptions(Options):
    """The method and the length of a run."""

    draws: int | None = option("-n --draws N", "Draws to keep, for each chain.")
    seed: int | None = SEED
    method: Method = METHOD
    algorithm: str | None = option("--algorithm NAME", "Of methods exact and trees.")
    rule: str | None = option("--rule NAME", "heat-bath, metropolis or barker (exchange).")
    preset: str | None = option("--preset NAME", "paper (zonotope).")
    more: tuple[str, ...] = option("-O NAME=VALUE", "Any other option of the method.")
    chains: int = option("--chains N", "Independent runs.", default=1)
    burn_in: int = option("--burn-in N", "Steps dropped first.", default=0, type=NOT_NEGATIVE)
    thin: int = option("--thin N", "Steps from draw to draw.", default=1)
    seconds: float | None = option("--seconds S", "Stop after this time.")
    checkpoint: str | None = option("--checkpoint", "A file to go on from.", type=FILE)
    workers: int | None = option("--workers N", "Threads. Default: all processors.")


class Output(Options):
    """Where the result goes, and in which form."""

    as_json: bool = option("--json", "Write JSON to standard output.")
    as_csv: bool = option("--csv", "Write CSV to standard output.")
    out: str | None = option("--out", "Write to a file, by its ending.", type=FILE)
