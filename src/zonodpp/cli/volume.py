"""``zonodpp volume``: the volume of a zonotope."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from zonodpp.cli.options import (
    Destination,
    Input,
    command,
    fresh_seed,
    input_options,
    output_options,
    seed_option,
    show_seed,
)

if TYPE_CHECKING:
    from zonodpp.geometry.volume import VolumeEstimate


@command(
    "Volume of a zonotope.",
    example=r"""
printf '1,0\n2,1\n0,2\n-1,1\n' | zonodpp volume -
zonodpp info --example foods > foods.csv
zonodpp volume foods.csv --id food --method estimate --rel-error 0.05 --seed 1
""",
)
@input_options
@click.option(
    "--items",
    type=click.Choice(["rows", "columns"]),
    default="rows",
    show_default=True,
    help="Where the generators of the zonotope stand; columns, as in the paper's A.",
)
@click.option(
    "--method",
    type=click.Choice(["exact", "estimate"]),
    help="Default: exact where that is quick.",
)
@click.option("-n", "--draws", type=int, metavar="N", help="Draws of the estimate.")
@click.option(
    "--rel-error",
    type=float,
    default=0.01,
    show_default=True,
    help="Standard error to reach, as a share of the volume.",
)
@seed_option
@output_options
def volume(
    source: Input,
    items: str,
    method: str | None,
    draws: int | None,
    rel_error: float,
    seed: int | None,
    destination: Destination,
) -> None:
    """Compute the volume of the zonotope whose generators are the rows of FILE.

    In d dimensions the volume is the sum of |det| over all sets of d generators: exact for small
    ones, an estimate with its standard error for large ones.
    """
    from zonodpp import Zonotope
    from zonodpp.cli.facts import rank_and_condition
    from zonodpp.cli.output import Result, check_destination, write

    check_destination(destination)
    given, seed = seed, fresh_seed(seed)
    table = source.read()
    A = table.values if items == "columns" else table.values.T
    if A.shape[0] > A.shape[1]:
        other = "rows" if items == "columns" else "columns"
        raise ValueError(
            f"{table.source} has {A.shape[1]} generators in {A.shape[0]} dimensions: the volume "
            f"is zero. If {other} are the generators, pass --items {other}"
        )
    rank, _ = rank_and_condition(A)
    if rank < A.shape[0]:
        columns = "columns" if items == "rows" else "rows"
        raise ValueError(
            f"{table.source}: the generators span {rank} of {A.shape[0]} dimensions, so the volume "
            f"is zero; leave out {columns} that depend on others"
        )
    estimate = Zonotope(A).volume(method, draws=draws, rel_error=rel_error, rng=seed)
    facts: dict[str, Any] = {
        "volume": estimate.value if isfinite(estimate.value) else None,  # see log_volume
        "stderr": estimate.stderr if isfinite(estimate.stderr) else None,
        "log_volume": estimate.log_value,
        "relative_error": estimate.relative,
        "draws": estimate.draws,
    }
    if estimate.draws:
        facts["seed"] = seed
    result = Result(
        text=lambda: _text(estimate, A.shape),
        data=lambda: facts,
        rows=lambda: (list(facts), [list(facts.values())]),
    )
    write(result, destination)
    if estimate.draws:
        show_seed(seed, given, destination)


def _text(estimate: VolumeEstimate, shape: tuple[int, int]) -> str:
    of = f"{shape[1]:,} generators in {shape[0]} dimension{'s' * (shape[0] != 1)}"
    value = f"{estimate.value:.6g}"
    if not 0 < estimate.value < float("inf"):  # beyond floating-point numbers
        value = f"exp({estimate.log_value:.6g})"
    if not estimate.draws:
        return f"{value}  exact volume of {of}"
    return (
        f"{value} +- {estimate.stderr:.2g}  estimated volume of {of} "
        f"(standard error {estimate.relative:.2%}, {estimate.draws:,} draws)"
    )
