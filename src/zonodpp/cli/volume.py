"""``zonodpp volume``: compute the volume of a zonotope."""

from __future__ import annotations

from math import isfinite
from typing import Any

from zonodpp.cli.facts import rank_and_condition
from zonodpp.cli.files import read_input
from zonodpp.cli.options import Input
from zonodpp.cli.output import Result
from zonodpp.zonotope import Zonotope
from zonodpp.zonotope.volume import VolumeEstimate


def compute_volume(
    source: Input,
    items: str,
    method: str | None,
    draws: int | None,
    rel_error: float,
    seed: int | None,
) -> Result:
    """Run ``zonodpp volume``."""
    table = read_input(source)
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
    return Result(
        text=lambda: _text_of_volume(estimate, A.shape),
        data=lambda: facts,
        rows=lambda: (list(facts), [list(facts.values())]),
        seed=seed if estimate.draws else None,
    )


def _text_of_volume(estimate: VolumeEstimate, shape: tuple[int, int]) -> str:
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
