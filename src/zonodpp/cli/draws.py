"""``zonodpp sample``: draw diverse subsets of the items in a file."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain

import click
import numpy as np

from zonodpp import Samples, sample
from zonodpp.cli.interface import SampleOptions
from zonodpp.cli.items import find_items, label_text, on_one_line
from zonodpp.cli.options import RunOptions
from zonodpp.cli.output import Result, Rows
from zonodpp.cli.targets import read_target
from zonodpp.samples.storage import save_samples
from zonodpp.targets.target import Target

_SHOWN = 10  # draws, and items, in the text for people
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_Sets = Sequence[list[int]]


def draw_subsets(options: SampleOptions) -> Result | None:
    """Run ``zonodpp sample``."""
    if options.jitter is not None and options.checkpoint is not None and options.seed is None:
        raise click.UsageError("--jitter with --checkpoint needs --seed N, the same in each run")
    target = read_target(options)
    sets = [find_items([text], target.labels, target.n, "--track") for text in options.track]
    if not all(sets):
        raise click.UsageError("--track: expected a set of items, got none")
    return describe(run_sample(options, target, sets), options.seed, sets)


def run_sample(options: RunOptions, target: Target, track: _Sets = ()) -> Samples:
    """Call `zonodpp.sample` with the options of a command."""
    names = ("draws", "method", "chains", "burn_in", "thin", "seconds", "checkpoint", "workers")
    run = options.pick(*names) | _method_options(options)
    return sample(target, rng=options.seed, track=track or None, **run)


def _method_options(options: RunOptions) -> dict[str, object]:
    """Return the options of the method, -O NAME=VALUE included."""
    named = options.pick("algorithm", "rule", "preset")
    found = {name: word for name, word in named.items() if word is not None}
    for pair in options.more:
        name, equals, text = pair.partition("=")
        if not (name and equals):
            raise click.UsageError(f"-O takes NAME=VALUE, got {pair!r}")
        name = name.replace("-", "_")
        if name in inspect.signature(sample).parameters:
            raise click.UsageError(f"-O {name}: this is no option of a method; see --help")
        if name in found:
            raise click.UsageError(f"-O {name}: this option is given twice")
        try:
            found[name] = json.loads(_PYTHON_WORDS.get(text, text))
        except ValueError:  # neither JSON nor a word of Python: text
            found[name] = text
        except RecursionError:
            raise click.UsageError(f"-O {name}: the value is nested too deeply") from None
    return found


def describe(samples: Samples, seed: int | None, sets: _Sets = ()) -> Result | None:
    """Return draws in all the forms that a result can take; None if there are none."""
    if not len(samples):  # Ctrl-C or --seconds in the burn-in; a warning has said so
        return None
    return Result(
        lambda: _text_of_draws(samples, seed, sets),
        lambda: _data_of_draws(samples, seed, sets),
        lambda: _rows_of_draws(samples),
        {".npz": partial(save_samples, samples), ".npy": lambda to: np.save(to, samples.subsets)},
    )


def _labels(samples: Samples, items: Iterable[int]) -> dict[int, str]:
    """Return the labels of items as text, and none for -1, which fills up draws of fewer items."""
    found = np.unique(np.fromiter(items, np.int64))
    found = found[found >= 0]
    labels = map(label_text, samples.target.labels_of(found))
    return {-1: "", **dict(zip(found.tolist(), labels, strict=True))}


def _names(samples: Samples, rows: Sequence[list[int]]) -> list[str]:
    """List the items of each row as people know them, on one line."""
    labels = _labels(samples, chain.from_iterable(rows))
    return [", ".join(on_one_line(labels[item]) for item in row if item >= 0) for row in rows]


def first_line(samples: Samples, seed: int | None, things: str = "items") -> str:
    """Say what was drawn and how."""
    chains, draws, _ = samples.subsets.shape
    many = f"{chains} chains of " * (chains > 1) + f"{draws:,} draw{'s' * (draws != 1)}"
    least, most = samples.sizes.min(), samples.sizes.max()
    size = f"{most}" if least == most else f"{least} to {most}"
    how = f"method {samples.method}"
    if samples.acceptance is not None:
        how += f", {samples.acceptance:.0%} accepted"
    how += "" if seed is None else f", seed {seed}"
    return f"{many} of {size} out of {samples.target.n:,} {things} ({how})"


def share_table(samples: Samples, thing: str = "item", sets: _Sets = ()) -> str:
    """Set out the most frequent items, and sets, with exact probabilities where these are quick."""
    items, counts = np.unique(samples.subsets[samples.subsets >= 0], return_counts=True)
    top = np.argsort(-counts, kind="stable")[:_SHOWN]
    shares = counts[top] / len(samples)
    rows = [*items[top, None].tolist(), *sets]
    names = _names(samples, rows)
    width = max(map(len, [thing, *names]))
    lines = [f"{thing:<{width}}  drawn"]
    for name, share in zip(names, [*shares, *samples.tracked.mean(axis=(0, 1))], strict=True):
        lines.append(f"{name:<{width}}  {share:.3f}")
    if samples.target.has_quick_inclusion:
        exact = ["exact", *(f"{samples.target.inclusion(items):.3f}" for items in rows)]
        lines = [f"{line}  {chance}" for line, chance in zip(lines, exact, strict=True)]
    return "\n".join(lines)


def _text_of_draws(samples: Samples, seed: int | None, sets: _Sets) -> str:
    parts = [first_line(samples, seed), ""]
    shown = samples.subsets[0, :_SHOWN].tolist()
    parts += [f"{number:>4}  {names}" for number, names in enumerate(_names(samples, shown))]
    if len(samples) > len(shown):
        first = f"the first {len(shown)} of {len(samples):,}"
        parts.append(f"      ... {first}; all of them: --csv, --json or --out draws.npz")
    if len(samples) > len(shown) or sets:
        parts += ["", share_table(samples, "item", sets)]
    return "\n".join(parts)


def _data_of_draws(samples: Samples, seed: int | None, sets: _Sets) -> dict[str, object]:
    target, (chains, draws, r) = samples.target, samples.subsets.shape
    tracked: list[dict[str, object]] = []
    for items, share in zip(sets, samples.tracked.mean(axis=(0, 1)), strict=True):
        tracked.append({"items": items, "share": share})
        if target.has_quick_inclusion:
            tracked[-1]["exact"] = target.inclusion(items)
    subsets = [[[i for i in row if i >= 0] for row in c] for c in samples.subsets.tolist()]
    labels = samples.labelled()
    found = {
        "method": samples.method,
        "seed": seed,
        "items": target.n,
        "size": r,
        "chains": chains,
        "draws": draws,
        "subsets": subsets,
        "labels": None if labels == subsets else labels,
        "acceptance": samples.acceptance,
        "tracked": tracked,
        "stats": samples.stats,
    }
    return {name: fact for name, fact in found.items() if fact is not None or name == "seed"}


def _rows_of_draws(samples: Samples) -> Rows:
    names = _labels(samples, samples.subsets.ravel())
    rows = (
        [chain, draw, *(names[item] for item in items)]
        for chain, block in enumerate(samples.subsets.tolist())
        for draw, items in enumerate(block)
    )
    return ["chain", "draw", *(f"item_{k}" for k in range(samples.subsets.shape[2]))], rows
