"""``zonodpp info`` and ``completion``: facts about the installation or a file, example data."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from zonodpp._files import replacing
from zonodpp.cli.examples import EXAMPLES
from zonodpp.cli.facts import about_file, about_installation
from zonodpp.cli.options import Input
from zonodpp.cli.output import Destination, Result, check_destination, standard_output, write


def show_facts(source: Input, items: str, example: str | None, destination: Destination) -> None:
    """Run ``zonodpp info``."""
    if example is not None:
        _write_example(example, destination.out)
        return
    check_destination(destination)
    facts = about_installation() if source.file is None else about_file(source, items)
    shown = {name: _shown(fact) for name, fact in facts.items()}
    width = max(map(len, facts)) + 2
    result = Result(
        text=lambda: "\n".join(f"{name:<{width}}{fact}" for name, fact in shown.items()),
        data=lambda: facts,
        rows=lambda: (["fact", "value"], shown.items()),
    )
    write(result, destination)


def show_completion(shell: str) -> None:
    """Run ``zonodpp completion``."""
    found = get_completion_class(shell)
    assert found is not None
    program = click.get_current_context().find_root().command
    with open(os.devnull, "w") as nowhere:
        # click looks for the version of bash and complains of old ones; the script says enough.
        previous, sys.stderr = sys.stderr, nowhere
        try:
            script = found(program, {}, "zonodpp", "_ZONODPP_COMPLETE").source()
        finally:
            sys.stderr = previous
    click.echo(script)


def _shown(fact: Any) -> str:
    if isinstance(fact, list):
        return ", ".join(map(str, fact))
    if fact is None:
        return "none"
    return f"{fact:.4g}" if isinstance(fact, float) else str(fact)


def _write_example(name: str, out: str | None) -> None:
    data = EXAMPLES[name]()
    if out is not None:
        with replacing(out) as temporary:
            Path(temporary).write_bytes(data)
        return
    stream, is_array = standard_output(), data.startswith(b"\x93NUMPY")
    if is_array and stream.isatty():
        raise click.UsageError(f"{name} is binary; write it to a file: --out {name}.npy")
    click.echo(data if is_array else data.decode(), nl=False, file=stream)
