"""``zonodpp volume``: compute the volume of a zonotope."""

from __future__ import annotations

from math import isfinite

from zonodpp import Zonotope
from zonodpp.cli.files import read_table
from zonodpp.cli.info import rank_and_condition
from zonodpp.cli.interface import VolumeOptions
from zonodpp.cli.output import Result


def compute_volume(options: VolumeOptions) -> Result:
    """Run ``zonodpp volume``."""
    table = read_table(options)
    A = table.values if options.items == "columns" else table.values.T
    d, n = A.shape
    rank, _ = rank_and_condition(A)
    if rank < d:
        other = "rows" if options.items == "columns" else "columns"
        advice = f"if {other} are the generators, pass --items {other}"
        raise ValueError(
            f"{table.source}: the {n} generators span {rank} of {d} dimensions, so the volume is "
            f"zero; {advice if n < d else f'leave out {other} that depend on others'}"
        )
    choices = options.pick("draws", "rel_error")
    found = Zonotope(A).volume(options.method, rng=options.seed, **choices)
    facts: dict[str, object] = {
        "volume": found.value if isfinite(found.value) else None,  # see log_volume
        "stderr": found.stderr if isfinite(found.stderr) else None,
        "log_volume": found.log_value,
        "relative_error": found.relative,
        "draws": found.draws,
    }
    of = f"volume of {n:,} generators in dimension {d}"
    # A volume may be beyond what floating-point numbers hold.
    is_held = 0 < found.value < float("inf")
    text = f"{found.value:.6g}" if is_held else f"exp({found.log_value:.6g})"
    if not found.draws:
        text = f"{text}  exact {of}"
    else:
        facts["seed"] = options.seed
        error = f"standard error {found.relative:.2%}, {found.draws:,} draws"
        text = f"{text} +- {found.stderr:.2g}  estimated {of} ({error})"
    return Result(
        text=lambda: text,
        data=lambda: facts,
        rows=lambda: (list(facts), [list(facts.values())]),
        random=found.draws > 0,
    )
