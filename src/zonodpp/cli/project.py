"""``zonodpp info`` and ``completion``: the installation, a file, example data."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from zonodpp.cli.examples import EXAMPLES
from zonodpp.cli.options import Destination, command, output_options


@command(
    "This installation, a file, example data.",
    example="""
zonodpp info
zonodpp info --example foods > foods.csv
zonodpp info foods.csv --id food
""",
)
@click.argument("file", required=False, type=click.Path(allow_dash=True))
@click.option(
    "--format",
    type=click.Choice(["npy", "npz", "csv", "tsv", "parquet", "mtx"]),
    help="What FILE is, when its ending and first bytes do not tell.",
)
@click.option("--key", metavar="NAME", help="Which array of an .npz file.")
@click.option("--id", metavar="COLUMN", help="The column with labels of the items.")
@click.option("--columns", metavar="A,B,...", help="Feature columns, by name or number from 0.")
@click.option(
    "--items",
    type=click.Choice(["rows", "columns"]),
    default="rows",
    show_default=True,
    help="What the items are; columns, as in the paper's A.",
)
@click.option("--example", type=click.Choice(list(EXAMPLES)), help="Write an example to stdout.")
@output_options
def info(
    file: str | None,
    format: str | None,
    key: str | None,
    id: str | None,
    columns: str | None,
    items: str,
    example: str | None,
    destination: Destination,
) -> None:
    """Describe FILE (shape, rank, what a draw would be), or else this installation."""
    if example is not None:
        _write_example(example, destination.out)
        return
    from zonodpp.cli.facts import about_file, about_installation
    from zonodpp.cli.options import Input
    from zonodpp.cli.output import Result, check_destination, write

    check_destination(destination)
    facts: dict[str, Any]
    if file is None:
        facts = about_installation()
    else:
        facts = about_file(Input(file, format, key, id, columns, None), items)
    width = max(map(len, facts)) + 2
    result = Result(
        text=lambda: "\n".join(f"{name:<{width}}{_shown(fact)}" for name, fact in facts.items()),
        data=lambda: facts,
        rows=lambda: (["fact", "value"], [[name, _shown(fact)] for name, fact in facts.items()]),
    )
    write(result, destination)


def _shown(fact: Any) -> str:
    if isinstance(fact, dict):
        return ", ".join(f"{name} {value}" for name, value in fact.items()) or "none"
    if isinstance(fact, (list, tuple)):
        return " x ".join(map(str, fact)) if isinstance(fact, tuple) else ", ".join(map(str, fact))
    if fact is None:
        return "none"
    return f"{fact:.4g}" if isinstance(fact, float) else str(fact)


def _write_example(name: str, out: str | None) -> None:
    data = EXAMPLES[name]()
    if out is not None:
        Path(out).write_bytes(data)
        return
    from zonodpp.cli.output import standard_output

    stream = standard_output()
    if data.startswith(b"\x93NUMPY") and stream.isatty():
        raise click.UsageError(f"{name} is binary; write it to a file: --out {name}.npy")
    stream.flush()
    binary = getattr(stream, "buffer", None)
    if binary is None:  # standard output was replaced by text
        stream.write(data.decode())
    else:
        binary.write(data)
        binary.flush()


@command(
    "Completion for bash, zsh and fish.",
    example="""
zonodpp completion bash > zonodpp.bash
""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Write the script that completes commands, options and files in your shell.

    Then have your shell read it: put "source .../zonodpp.bash" into ~/.bashrc, the zsh one into
    ~/.zshrc, and the fish one into ~/.config/fish/completions/zonodpp.fish.
    """
    from click.shell_completion import get_completion_class

    from zonodpp.cli import commands

    found = get_completion_class(shell)
    assert found is not None
    with open(os.devnull, "w") as nowhere:
        # click looks for the version of bash and complains of old ones; the script says enough.
        previous, sys.stderr = sys.stderr, nowhere
        try:
            script = found(commands, {}, "zonodpp", "_ZONODPP_COMPLETE").source()
        finally:
            sys.stderr = previous
    click.echo(script)
