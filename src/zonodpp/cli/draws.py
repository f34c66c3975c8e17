"""``zonodpp sample``: diverse subsets of the rows of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from zonodpp.cli.items import find_items, label_text, on_one_line
from zonodpp.cli.options import (
    Condition,
    Destination,
    Input,
    Run,
    command,
    condition_options,
    count,
    fresh_seed,
    input_options,
    output_options,
    run_options,
    show_seed,
)

if TYPE_CHECKING:
    from zonodpp.cli.output import Result, Rows
    from zonodpp.samples import Samples

SHOWN = 10  # draws, and items, in the text for people


@command(
    "Diverse subsets of rows.",
    example="""
zonodpp info --example foods > foods.csv
zonodpp sample foods.csv --id food --draws 3 --seed 1
zonodpp sample foods.csv --id food --rank 2 --weights protein --seed 1 --json
zonodpp sample foods.csv --id food --include tofu --exclude egg,butter --draws 3 --seed 1
zonodpp sample foods.csv --id food --method exchange --chains 2 --seed 1 --out draws.npz
""",
)
@input_options
@click.option(
    "--items",
    type=click.Choice(["rows", "columns"]),
    default="rows",
    show_default=True,
    help="What the items are; columns, as in the paper's A.",
)
@click.option("--kernel", is_flag=True, help="FILE is a kernel, n x n: a projection, or L.")
@click.option("--rank", type=int, metavar="R", help="Items in a draw, by principal directions.")
@click.option("--jitter", type=float, metavar="S", help="Add noise, against dependent columns.")
@click.option(
    "--power",
    type=float,
    default=2.0,
    show_default=True,
    help="Of the volume: 2 is the projection DPP, 1 volume sampling.",
)
@click.option("--weights", metavar="COLUMN|FILE", help="Weights of the items, not negative.")
@click.option("--size", type=count, metavar="K", help="Draw from the k-DPP of L = X X': K items.")
@click.option("--dpp", is_flag=True, help="Draw from the DPP of L = X X': sizes vary.")
@click.option("--expected-size", type=float, metavar="S", help="Scale the DPP to this mean size.")
@condition_options
@run_options
@click.option(
    "--track",
    metavar="ITEM,...",
    multiple=True,
    help="Estimate the chance of a set. Repeatable.",
)
@output_options
def sample(
    source: Input,
    items: str,
    kernel: bool,
    rank: int | None,
    jitter: float | None,
    power: float,
    weights: str | None,
    size: int | None,
    dpp: bool,
    expected_size: float | None,
    condition: Condition,
    run: Run,
    track: tuple[str, ...],
    destination: Destination,
) -> None:
    """Draw subsets of the rows of FILE whose items differ from each other.

    A draw has as many items as there are feature columns, or --rank. By default draws are exact
    and independent, 1000 of them. Items are labels of --id, or row numbers from 0. Row numbers
    name items also where labels are not numbers. A label that holds a comma stands in double
    quotes.

    --out takes .npz (for zonodpp.Samples.load), .npy, .csv, .json and .parquet.
    """
    from zonodpp.cli.output import check_destination, write
    from zonodpp.cli.targets import Shape, make_target, read_weights

    check_destination(destination, ".npz", ".npy")
    if jitter is not None and run.checkpoint is not None and run.seed is None:
        raise click.UsageError(
            "--jitter with --checkpoint needs --seed: without it the noise is new in each run, and "
            "no run could go on from the file. Pass --seed N, the same each time"
        )
    seed = fresh_seed(run.seed, run.checkpoint)
    by_columns = items == "columns"
    table = source.read(None if by_columns else weights)
    n = table.values.shape[1 if by_columns else 0]
    shape = Shape(items, kernel, rank, jitter, power, size, dpp, expected_size)
    target = make_target(table, shape, read_weights(table, weights, n), seed)
    target = condition.of(target)
    sets = [find_items([text], target.labels, n, "--track") for text in track]
    if not all(sets):
        raise click.UsageError("--track: expected a set of items, got none")
    samples = run.sample(target, seed, sets or None)
    if samples.subsets.shape[1] == 0:  # Ctrl-C or --seconds in the burn-in; a warning has said so
        return
    write(describe(samples, sets, seed), destination)
    show_seed(seed, run.seed, destination)


def describe(samples: Samples, sets: list[list[int]], seed: int | None) -> Result:
    """Return draws in all their forms."""
    from zonodpp.cli.output import Result
    from zonodpp.samples.storage import save_samples

    return Result(
        text=lambda: _text(samples, sets, seed),
        data=lambda: _data(samples, sets, seed),
        rows=lambda: _rows(samples),
        files={
            ".npz": lambda path: save_samples(samples, path),
            ".npy": lambda path: _save_array(samples, path),
        },
    )


def _save_array(samples: Samples, path: str) -> None:
    import numpy as np

    np.save(path, samples.subsets)


def label_of(samples: Samples, item: int) -> str:
    """Return an item as people know it, on one line; an edge as its two ends."""
    return on_one_line(_label(samples, item))


def _label(samples: Samples, item: int) -> str:
    return label_text(item if samples.target.labels is None else samples.target.labels[item])


def first_line(samples: Samples, seed: int | None, things: str = "items") -> str:
    """Say what was drawn and how."""
    chains, draws, _ = samples.subsets.shape
    many = f"{draws:,} draw{'s' * (draws != 1)}"
    many = f"{chains} chains of {many}" if chains > 1 else many
    facts = [f"method {samples.method}"]
    if samples.acceptance is not None:
        facts.append(f"{samples.acceptance:.0%} accepted")
    if seed is not None:
        facts.append(f"seed {seed}")
    sizes = samples.sizes
    least, most = int(sizes.min()), int(sizes.max())
    r = f"{most}" if least == most else f"{least} to {most}"
    return f"{many} of {r} out of {samples.target.n:,} {things} ({', '.join(facts)})"


def share_table(samples: Samples, things: str = "item") -> str:
    """Set out the most frequent items, with exact probabilities where they come quickly."""
    import numpy as np

    from zonodpp.cli.output import columns_of_text

    shares = samples.marginals()
    top = np.argsort(-shares, kind="stable")[:SHOWN]
    top = top[shares[top] > 0]
    header, rows = [things, "drawn"], [[label_of(samples, i), f"{shares[i]:.3f}"] for i in top]
    exact = _exact(samples, top[:, None])
    if exact is not None:
        header.append("exact")
        rows = [[*row, f"{chance:.3f}"] for row, chance in zip(rows, exact, strict=True)]
    return columns_of_text(header, rows)


def _exact(samples: Samples, sets: Any) -> Any:
    """Return exact probabilities, or None where they are not known or cost too much."""
    from zonodpp.samples.facts import has_quick_inclusion

    if not has_quick_inclusion(samples.target):
        return None
    return samples.target.inclusion(sets)


def _text(samples: Samples, sets: list[list[int]], seed: int | None) -> str:
    chains, draws, _ = samples.subsets.shape
    parts = [first_line(samples, seed), ""]
    shown = samples.subsets[0, :SHOWN].tolist()
    for number, draw in enumerate(shown):
        names = ", ".join(label_of(samples, item) for item in draw if item >= 0)
        parts.append(f"{number:>4}  {names}")
    if chains * draws > len(shown):
        parts.append(
            f"      ... the first {len(shown)} of {chains * draws:,}; "
            "all of them: --csv, --json or --out draws.npz"
        )
        parts += ["", share_table(samples)]
    for k, items in enumerate(sets):
        names = ", ".join(label_of(samples, item) for item in items)
        line = f"all of {names}: {samples.tracked[:, :, k].mean():.4f} of the draws"
        exact = _exact(samples, items)
        parts += ["", line if exact is None else f"{line}, exact {float(exact):.4f}"]
    return "\n".join(parts)


def _data(samples: Samples, sets: list[list[int]], seed: int | None) -> dict[str, Any]:
    chains, draws, r = samples.subsets.shape
    target = samples.target
    found: dict[str, Any] = {
        "method": samples.method,
        "seed": seed,
        "items": target.n,
        "size": r,
        "chains": chains,
        "draws": draws,
        "subsets": [[[i for i in row if i >= 0] for row in c] for c in samples.subsets.tolist()],
    }
    if target.labels is not None:
        found["labels"] = samples.labelled()
    if samples.acceptance is not None:
        found["acceptance"] = samples.acceptance
    found["tracked"] = []
    for k, items in enumerate(sets):
        exact = _exact(samples, items)
        share = float(samples.tracked[:, :, k].mean())
        found["tracked"].append({"items": items, "share": share})
        if exact is not None:
            found["tracked"][-1]["exact"] = float(exact)
    found["stats"] = samples.stats
    return found


def _rows(samples: Samples) -> Rows:
    r = samples.subsets.shape[2]

    names = [_label(samples, item) for item in range(samples.target.n)]
    names.append("")  # of item -1, which fills up draws of fewer items

    def rows() -> Iterator[list[Any]]:
        for chain, block in enumerate(samples.subsets.tolist()):
            for draw, items in enumerate(block):
                yield [chain, draw, *(names[item] for item in items)]

    return ["chain", "draw", *(f"item_{k}" for k in range(r))], rows()
