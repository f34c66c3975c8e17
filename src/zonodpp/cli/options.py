"""Options that several commands share; the values of a group are passed on as one object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

from zonodpp.cli.items import find_items

Decorator = Callable[[Any], Any]

METHODS = ("auto", "exact", "zonotope", "exchange", "trees")
FORMATS = ("npy", "npz", "csv", "tsv", "parquet", "mtx")
count = click.IntRange(min=1)  # the type of options such as --number


class Input(NamedTuple):
    """The file to read, and how to read it."""

    file: str
    format: str | None
    key: str | None
    id: str | None
    columns: str | None
    header: bool | None


class Run(NamedTuple):
    """The method and the length of a run."""

    method: str
    algorithm: str | None
    rule: str | None
    preset: str | None
    more: tuple[str, ...]
    draws: int | None
    chains: int
    seed: int | None
    burn_in: int
    thin: int
    seconds: float | None
    checkpoint: str | None
    workers: int | None


class Restriction(NamedTuple):
    """Names of items that must be in a draw, and of items that must not be in it."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]

    def items(self, labels: Sequence[Any] | None, n: int) -> dict[str, list[int]]:
        """Return the numbers of these items."""
        return {
            "include": find_items(self.include, labels, n, "--include"),
            "exclude": find_items(self.exclude, labels, n, "--exclude", every=True),
        }

    def of(self, target: Any) -> Any:
        """Return the target under this condition."""
        items = self.items(target.labels, target.n)
        return target.condition(**items) if any(items.values()) else target


def _together(*options: Decorator) -> Decorator:
    """Return one decorator that adds all of these options, shown in this order."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def choice(names: Sequence[str], default: str, *flags: str, help: str) -> Decorator:
    """Return an option that takes one of these names."""
    return click.option(*flags, type=click.Choice(names), default=default, help=help)


def number_option(*flags: str, default: int | None, help: str) -> Decorator:
    """Return an option that takes a whole number of at least 1."""
    return click.option(*flags, type=count, metavar="N", default=default, help=help)


def input_options(required: bool = True) -> Decorator:
    """Return the argument FILE and the options that say how to read it."""
    return _together(
        click.argument("file", required=required, type=click.Path(allow_dash=True)),
        click.option(
            "--format",
            type=click.Choice(FORMATS),
            help="What FILE is, when its ending and first bytes do not tell.",
        ),
        key_option,
        click.option("--id", metavar="COLUMN", help="The column with labels of the items."),
        click.option(
            "--columns",
            metavar="A,B,...",
            help="Feature columns, by name or number from 0. Default: all others.",
        ),
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether a CSV begins with names. Default: it does if no cell there is a number.",
        ),
    )


key_option = click.option("--key", metavar="NAME", help="Which array of an .npz file.")
items_option = choice(
    ("rows", "columns"), "rows", "--items", help="What the items are; columns, as in the paper's A."
)
method_option = choice(METHODS, "auto", "--method", help="How to draw.")
seed_option = click.option(
    "--seed", type=int, metavar="N", help="Same seed, same result. Default: a new one."
)
debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, help="Show tracebacks of errors."
)

restriction_options = _together(
    click.option(
        "--include",
        metavar="ITEM,...",
        multiple=True,
        help="Items that must be in. A label that several items have is refused.",
    ),
    click.option(
        "--exclude",
        metavar="ITEM,...",
        multiple=True,
        help="Items that must not be in: all items with the label.",
    ),
)

run_options = _together(
    click.option("-n", "--draws", type=int, metavar="N", help="Draws to keep, for each chain."),
    seed_option,
    method_option,
    click.option("--algorithm", metavar="NAME", help="Of methods exact and trees."),
    click.option("--rule", metavar="NAME", help="heat-bath, metropolis or barker (exchange)."),
    click.option("--preset", metavar="NAME", help="paper (zonotope)."),
    click.option(
        "-O", "more", metavar="NAME=VALUE", multiple=True, help="Any other option of the method."
    ),
    click.option("--chains", type=int, metavar="N", default=1, help="Independent runs."),
    click.option("--burn-in", type=int, metavar="N", default=0, help="Steps dropped at first."),
    click.option("--thin", type=int, metavar="N", default=1, help="Steps from draw to draw."),
    click.option("--seconds", type=float, metavar="S", help="Stop after this time."),
    click.option(
        "--checkpoint",
        type=click.Path(),
        help="A file to go on from, whatever stops the run: repeat the command.",
    ),
    click.option("--workers", type=int, metavar="N", help="Threads. Default: all processors."),
)

output_options = _together(
    click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output."),
    click.option("--csv", "as_csv", is_flag=True, help="Write CSV to standard output."),
    click.option("--out", type=click.Path(dir_okay=False), help="Write to a file, by its ending."),
)
