"""Options that commands share, each group handed over as one object."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from zonodpp.cli.items import find_items

if TYPE_CHECKING:
    from zonodpp.cli.files import Table
    from zonodpp.samples import Samples

Function = TypeVar("Function", bound=Callable[..., Any])
Option = Callable[[Any], Any]

_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
count = click.IntRange(min=1)  # the type of options such as --number
METHODS = ("auto", "exact", "zonotope", "exchange", "trees")


class Input(NamedTuple):
    """The file to read and how."""

    file: str
    format: str | None
    key: str | None
    id: str | None
    columns: str | None
    header: bool | None

    def read(self, *aside: str | None) -> Table:
        """Read the table, with these columns kept apart from the features where they exist."""
        from zonodpp.cli.delimited import Wanted
        from zonodpp.cli.files import read_table

        wanted = Wanted(self.id, self.columns, tuple(name for name in aside if name is not None))
        return read_table(
            self.file, format=self.format, key=self.key, wanted=wanted, header=self.header
        )


class Run(NamedTuple):
    """How to draw."""

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

    def options(self) -> dict[str, Any]:
        """Options of the method, -O NAME=VALUE included."""
        from zonodpp import sample

        named = {"algorithm": self.algorithm, "rule": self.rule, "preset": self.preset}
        found: dict[str, Any] = {name: word for name, word in named.items() if word is not None}
        for pair in self.more:
            name, equals, text = pair.partition("=")
            if not (name and equals):
                raise click.UsageError(f"-O takes NAME=VALUE, got {pair!r}")
            name = name.replace("-", "_")
            if name in inspect.signature(sample).parameters:
                raise click.UsageError(
                    f"-O {name}: this is no option of a method; the others are given as --OPTION"
                )
            if name in found:
                raise click.UsageError(f"-O {name}: this option is given twice")
            found[name] = _value(name, text)
        return found

    def sample(self, target: Any, seed: int | None, track: Any = None) -> Samples:
        """Call `zonodpp.sample`."""
        from zonodpp import sample

        return sample(
            target,
            self.draws,
            method=self.method,
            chains=self.chains,
            rng=seed,
            burn_in=self.burn_in,
            thin=self.thin,
            seconds=self.seconds,
            track=track,
            workers=self.workers,
            checkpoint=self.checkpoint,
            **self.options(),
        )


def _value(name: str, text: str) -> Any:
    """Read the value of an option: JSON, or True, False and None as in Python, or a word."""
    try:
        return json.loads(_PYTHON_WORDS.get(text, text))
    except ValueError:
        return text
    except RecursionError:
        raise click.UsageError(f"-O {name}: the value is nested too deeply") from None


class Condition(NamedTuple):
    """Names of items that must be in a draw, and of items that must not."""

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


class Destination(NamedTuple):
    """Where the result goes, and as what."""

    as_json: bool
    as_csv: bool
    out: str | None


def fresh_seed(seed: int | None, checkpoint: str | None = None) -> int | None:
    """Return the seed, or a new one to report; none with a checkpoint, which keeps its own."""
    if seed is not None and seed < 0:
        raise click.UsageError(f"--seed must not be negative, got {seed}")
    if seed is not None or checkpoint is not None:
        return seed
    import secrets

    return secrets.randbits(32)


def show_seed(seed: int | None, given: int | None, destination: Destination) -> None:
    """Show a seed that the program chose, so that the run can be repeated; JSON holds it anyway."""
    if given is None and seed is not None and not destination.as_json:
        click.echo(f"zonodpp: seed {seed}; --seed {seed} gives the same result again", err=True)


def _bundle(name: str, kind: Any, options: list[Option]) -> Callable[[Function], Function]:
    """Make a decorator that adds options and passes their values on as one object."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **values: Any) -> Any:
            values[name] = kind(**{part: values.pop(part) for part in kind._fields})
            return function(*args, **values)

        wrapped: Any = call
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped  # type: ignore[no-any-return]

    return decorate


input_options = _bundle(
    "source",
    Input,
    [
        click.argument("file", type=click.Path(allow_dash=True)),
        click.option(
            "--format",
            type=click.Choice(["npy", "npz", "csv", "tsv", "parquet", "mtx"]),
            help="What FILE is, when its ending and first bytes do not tell.",
        ),
        click.option("--key", metavar="NAME", help="Which array of an .npz file."),
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
    ],
)

condition_options = _bundle(
    "condition",
    Condition,
    [
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
    ],
)

seed_option = click.option(
    "--seed", type=int, metavar="N", help="Same seed, same result. Default: a new one."
)

run_options = _bundle(
    "run",
    Run,
    [
        click.option("-n", "--draws", type=int, metavar="N", help="Draws to keep, for each chain."),
        seed_option,
        click.option(
            "--method",
            type=click.Choice(METHODS),
            default="auto",
            show_default=True,
            help="How to draw.",
        ),
        click.option("--algorithm", metavar="NAME", help="Of methods exact and trees."),
        click.option("--rule", metavar="NAME", help="heat-bath, metropolis or barker (exchange)."),
        click.option("--preset", metavar="NAME", help="paper (zonotope)."),
        click.option(
            "-O",
            "more",
            metavar="NAME=VALUE",
            multiple=True,
            help="Any other option of the method.",
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
    ],
)

output_options = _bundle(
    "destination",
    Destination,
    [
        click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output."),
        click.option("--csv", "as_csv", is_flag=True, help="Write CSV to standard output."),
        click.option(
            "--out", type=click.Path(dir_okay=False), help="Write to a file, by its ending."
        ),
    ],
)

debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, help="Show tracebacks of errors."
)


class _WithExample(click.Command):
    """A command whose help ends in an example to paste."""

    def __init__(self, *args: Any, example: str = "", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.example = example.strip()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example line by line, so that it can be pasted."""
        formatter.write("\nExample:\n")
        for line in self.example.splitlines():
            formatter.write(f"  {line}\n")


class Group(_WithExample, click.Group):
    """A group of commands with an example, listed in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names as they came; click sorts them."""
        return list(self.commands)


def command(short: str, example: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command with an example and ``--debug``, which works before and after its name."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        return click.command(cls=_WithExample, short_help=short, example=example)(
            debug_option(function)
        )

    return decorate
