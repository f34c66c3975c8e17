"""``zonodpp sample``: draw diverse subsets of the items in a file."""

from __future__ import annotations

import inspect
import json
from typing import Any

import click
import numpy as np

from zonodpp.cli.files import read_input
from zonodpp.cli.items import find_items, label_text, on_one_line
from zonodpp.cli.options import Input, Restriction, Run
from zonodpp.cli.output import Result, Rows, columns_of_text
from zonodpp.cli.targets import Shape, make_target, read_weights
from zonodpp.runs.sampling import sample
from zonodpp.samples import Samples
from zonodpp.samples.storage import save_samples

_SHOWN = 10  # draws, and items, in the text for people
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}


def draw_subsets(
    source: Input,
    weights: str | None,
    restriction: Restriction,
    run: Run,
    track: tuple[str, ...],
    **options: Any,
) -> Result | None:
    """Run ``zonodpp sample``; the further options are those of `Shape`."""
    shape = Shape(**options)
    if shape.jitter is not None and run.checkpoint is not None and run.seed is None:
        raise click.UsageError(
            "--jitter with --checkpoint needs --seed: without it the noise is new in each run, and "
            "no run could go on from the file. Pass --seed N, the same each time"
        )
    by_columns = shape.items == "columns"
    table = read_input(source, None if by_columns else weights)
    n = table.values.shape[1 if by_columns else 0]
    target = make_target(table, shape, read_weights(table, weights, n), run.seed)
    target = restriction.of(target)
    sets = [find_items([text], target.labels, n, "--track") for text in track]
    if not all(sets):
        raise click.UsageError("--track: expected a set of items, got none")
    samples = run_sample(run, target, sets or None)
    if samples.subsets.shape[1] == 0:  # Ctrl-C or --seconds in the burn-in; a warning has said so
        return None
    return describe(samples, sets, run.seed)


def run_sample(run: Run, target: Any, track: Any = None) -> Samples:
    """Call `zonodpp.sample` with the options of a command."""
    of_method = ("algorithm", "rule", "preset", "more")
    values = {name: value for name, value in run._asdict().items() if name not in of_method}
    return sample(target, rng=values.pop("seed"), track=track, **values, **_method_options(run))


def _method_options(run: Run) -> dict[str, Any]:
    """Return the options of the method, -O NAME=VALUE included."""
    found: dict[str, Any] = {"algorithm": run.algorithm, "rule": run.rule, "preset": run.preset}
    found = {name: word for name, word in found.items() if word is not None}
    for pair in run.more:
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
        try:
            found[name] = json.loads(_PYTHON_WORDS.get(text, text))
        except ValueError:  # neither JSON nor a word of Python: text
            found[name] = text
        except RecursionError:
            raise click.UsageError(f"-O {name}: the value is nested too deeply") from None
    return found


def describe(samples: Samples, sets: list[list[int]], seed: int | None) -> Result:
    """Return draws in all the forms that a result can take."""
    return Result(
        text=lambda: _text_of_draws(samples, sets, seed),
        data=lambda: _data_of_draws(samples, sets, seed),
        rows=lambda: _rows_of_draws(samples),
        files={
            ".npz": lambda path: save_samples(samples, path),
            ".npy": lambda path: np.save(path, samples.subsets),
        },
        seed=seed,
    )


def _names(samples: Samples, items: list[int]) -> str:
    """List items as people know them, on one line; an edge as its two ends."""
    return ", ".join(on_one_line(_label(samples, item)) for item in items if item >= 0)


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
    shares = samples.marginals()
    top = np.argsort(-shares, kind="stable")[:_SHOWN]
    top = top[shares[top] > 0]
    header, rows = [things, "drawn"], [[_names(samples, [i]), f"{shares[i]:.3f}"] for i in top]
    exact = _exact(samples, top[:, None])
    if exact is not None:
        header.append("exact")
        rows = [[*row, f"{chance:.3f}"] for row, chance in zip(rows, exact, strict=True)]
    return columns_of_text(header, rows)


def _exact(samples: Samples, sets: Any) -> Any:
    """Return exact probabilities, or None where they are not known or cost too much."""
    return samples.target.inclusion(sets) if samples.target.has_quick_inclusion else None


def _text_of_draws(samples: Samples, sets: list[list[int]], seed: int | None) -> str:
    chains, draws, _ = samples.subsets.shape
    parts = [first_line(samples, seed), ""]
    shown = samples.subsets[0, :_SHOWN].tolist()
    for number, draw in enumerate(shown):
        parts.append(f"{number:>4}  {_names(samples, draw)}")
    if chains * draws > len(shown):
        parts.append(
            f"      ... the first {len(shown)} of {chains * draws:,}; "
            "all of them: --csv, --json or --out draws.npz"
        )
        parts += ["", share_table(samples)]
    for found in _tracked(samples, sets):
        line = f"all of {_names(samples, found['items'])}: {found['share']:.4f} of the draws"
        parts += ["", line + (f", exact {found['exact']:.4f}" if "exact" in found else "")]
    return "\n".join(parts)


def _tracked(samples: Samples, sets: list[list[int]]) -> list[dict[str, Any]]:
    """Return the share of the draws that hold each set, and its exact probability if known."""
    tracked: list[dict[str, Any]] = []
    for k, items in enumerate(sets):
        tracked.append({"items": items, "share": float(samples.tracked[:, :, k].mean())})
        exact = _exact(samples, items)
        if exact is not None:
            tracked[-1]["exact"] = float(exact)
    return tracked


def _data_of_draws(samples: Samples, sets: list[list[int]], seed: int | None) -> dict[str, Any]:
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
    return found | {"tracked": _tracked(samples, sets), "stats": samples.stats}


def _rows_of_draws(samples: Samples) -> Rows:
    names = [_label(samples, item) for item in range(samples.target.n)]
    names.append("")  # of item -1, which fills up draws of fewer items
    rows = (
        [chain, draw, *(names[item] for item in items)]
        for chain, block in enumerate(samples.subsets.tolist())
        for draw, items in enumerate(block)
    )
    return ["chain", "draw", *(f"item_{k}" for k in range(samples.subsets.shape[2]))], rows
