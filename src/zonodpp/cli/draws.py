"""``zonodpp sample``: make a target of the items in a file, and draw diverse subsets of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import click
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from zonodpp import DPP, KDPP, ProjectionDPP, Samples, VolumeSampling, sample
from zonodpp._arguments import as_weights
from zonodpp._types import Floats, Matrix
from zonodpp.chains.methods import method_of
from zonodpp.cli.gaps import fill_gaps
from zonodpp.cli.interface import Restriction, RunOptions, SampleOptions
from zonodpp.cli.large import LargeTable, rows_to_sample
from zonodpp.cli.names import aligned, find_items, label_text, on_one_line, restricted_items
from zonodpp.cli.output import BLOCK, Parts, Result
from zonodpp.samples.storage import save_samples
from zonodpp.targets.base import Target
from zonodpp.targets.conditions import ImpossibleError
from zonodpp.targets.stream import StreamedDPP

_SHOWN = 10  # draws, and items, in the text for people
# Values of -O NAME=VALUE that may be written as in Python; all others are JSON or text.
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_Sets = Sequence[list[int]]


def draw_subsets(options: SampleOptions) -> Result:
    """Run ``zonodpp sample``."""
    if options.jitter is not None and options.checkpoint is not None and options.seed is None:
        raise click.UsageError("--jitter with --checkpoint needs --seed N, the same in each run")
    target = _read_target(options)
    if isinstance(target, StreamedDPP) and (options.out or "").lower().endswith(".npz"):
        advice = "--out draws.npy, .csv or .parquet has the draws alone"
        raise ValueError(f".npz files hold the items as well, which were read in passes; {advice}")
    sets = [find_items([text], target.labels, target.n, "--track") for text in options.track]
    if not all(sets):
        raise click.UsageError("--track: expected a set of items, got none")
    return describe(run_sample(options, target, sets), options.seed, sets)


def _read_target(options: SampleOptions) -> Target:
    """Read the items of a file and make their target, with the labels that the file gives."""
    table = rows_to_sample(options)
    if isinstance(table, LargeTable):
        return condition(table.target(options.rank), options)
    table = fill_gaps(table, options)
    X, labels = table.values, table.labels
    if options.items == "columns":
        X, labels = X.T, table.columns
    target = _make_target(table.source, X, options, table.weights)
    return condition(target if labels is None else target.with_labels(labels), options)


def _make_target(source: str, X: Matrix, options: SampleOptions, weights: Floats | None) -> Target:
    """Make the target of items as rows, after a check of options that exclude each other."""
    size, dpp = options.size is not None, options.dpp or options.expected_size is not None
    reduced = options.rank is not None or options.jitter is not None or options.power != 2
    if size and dpp:
        raise click.UsageError("--size K is for draws of K items, --dpp for draws that vary")
    if reduced and (size or dpp or options.kernel):
        raise click.UsageError("--size, --dpp and --kernel take no --rank, --jitter or --power")
    if options.kernel and weights is not None:
        raise click.UsageError("--kernel takes no --weights")
    if options.kernel and X.shape[0] != X.shape[1]:
        found = f"{source} is {X.shape[0]} x {X.shape[1]}"
        raise ValueError(f"{found}, but a kernel is n x n; for features leave out --kernel")
    if size or dpp:
        return _spectral_target(source, X, options, weights)
    if options.kernel:
        return ProjectionDPP.from_kernel(X)
    if options.rank is None:
        _check_features(source, X, options)
    choices = options.pick("rank", "jitter")
    target = ProjectionDPP.from_features(X, weights=weights, rng=options.seed, **choices)
    if options.power == 2:
        return target
    return VolumeSampling(target.A, power=options.power, weights=weights)


def _spectral_target(
    source: str, X: Matrix, options: SampleOptions, weights: Floats | None
) -> Target:
    """Make a DPP or k-DPP of L = X X', with weights as qualities: L_ij sqrt(q_i q_j)."""
    most = min(X.shape)
    if options.size is not None and options.size > most:
        found = f"{source} has {X.shape[1]} features and {X.shape[0]} items"
        raise ValueError(f"--size {options.size}: {found}, so that draws have at most {most} items")
    if weights is not None:
        X = sp.diags_array(np.sqrt(np.asarray(as_weights(weights, X.shape[0])))) @ X
    if options.size is not None:
        try:
            return KDPP(X, options.size) if options.kernel else KDPP.from_features(X, options.size)
        except ImpossibleError:
            rank = (DPP(L=X) if options.kernel else DPP.from_features(X)).r
            found = f"the items of {source} have numerical rank {rank}"
            raise ValueError(
                f"--size {options.size}: {found}, so that draws have at most {rank} items"
            ) from None
    target = DPP(L=X) if options.kernel else DPP.from_features(X)
    return target if options.expected_size is None else target.scaled(options.expected_size)


def _check_features(source: str, X: Matrix, options: SampleOptions) -> None:
    """Refuse features that must be dependent, before memory for their Gram matrix is taken."""
    n, d = X.shape
    if d > n:
        other = "rows" if options.items == "columns" else "columns"
        advice = f"Pass --rank R for draws of R items; if items are {other}, pass --items {other}"
        raise ValueError(f"{source} has {d} features, but only {n} items. {advice}")
    occupied = min(np.unique(index).size for index in X.nonzero()) if sp.issparse(X) else d
    if occupied < d and options.jitter is None:
        found = f"{d:,} features, but only {occupied:,} of them or of the items have entries"
        raise ValueError(f"{source} has {found}; pass --rank {max(1, occupied)} or less")


def condition(target: Target, options: Restriction) -> Target:
    """Return the target under the condition that --include and --exclude state."""
    items = restricted_items(options, target.labels, target.n)
    if not any(items.values()):
        return target
    try:
        return target.condition(**items)
    except ImpossibleError as error:
        if not isinstance(target, KDPP):
            raise
        found = f"no draw of {target.k} items has these in it and those left out"
        advice = "name fewer items, or pass another --size"
        raise ValueError(f"--include, --exclude: {found}; {advice}") from error


def run_sample(options: RunOptions, target: Target, track: _Sets = ()) -> Samples:
    """Call `zonodpp.sample` with the options of a command; exit if it returns no draws."""
    run = options.pick("draws", "chains", "burn_in", "thin", "seconds", "checkpoint", "workers")
    method = method_of(options.method, target, _method_options(options), {})
    samples = sample(target, method=method, rng=options.seed, track=track or None, **run)
    if not len(samples):  # Ctrl-C or --seconds in the burn-in; a warning has said so
        raise click.exceptions.Exit
    return samples


def _method_options(options: RunOptions) -> dict[str, object]:
    """Return the options of the method, -O NAME=VALUE included."""
    named = options.pick("algorithm", "rule", "preset")
    found = {name: word for name, word in named.items() if word is not None}
    for pair in options.more:
        name, equals, text = pair.partition("=")
        if not (name and equals):
            raise click.UsageError(f"-O takes NAME=VALUE, got {pair!r}")
        name = name.replace("-", "_")
        if name in found:
            raise click.UsageError(f"-O {name}: this option is given twice")
        try:
            found[name] = json.loads(_PYTHON_WORDS.get(text, text))
        except ValueError:  # neither JSON nor a word of Python: text
            found[name] = text
        except RecursionError:
            raise click.UsageError(f"-O {name}: the value is nested too deeply") from None
    return found


def describe(samples: Samples, seed: int | None, sets: _Sets = ()) -> Result:
    """Return draws in all the forms that a result can take."""
    return Result(
        lambda: _text_of_draws(samples, seed, sets),
        lambda: _data_of_draws(samples, seed, sets),
        lambda: _rows_of_draws(samples),
        {".npz": partial(save_samples, samples), ".npy": lambda to: np.save(to, samples.subsets)},
    )


def _names(samples: Samples, rows: Sequence[ArrayLike]) -> list[str]:
    """Return the items of each row by their labels, as one line of text."""
    items = np.unique(np.concatenate([[], *rows])).astype(np.int64)  # all draws may be empty
    texts = map(on_one_line, map(label_text, samples.target.labels_of(items)))
    names = dict(zip(items.tolist(), texts, strict=True))
    return [", ".join(names[int(item)] for item in np.asarray(row)) for row in rows]


def first_line(samples: Samples, seed: int | None, things: str = "items") -> str:
    """Say what was drawn and how."""
    chains, draws, _ = samples.subsets.shape
    many = f"{chains} chains of " * (chains > 1) + f"{draws:,} draw{'s' * (draws != 1)}"
    how = f"method {samples.method}"
    if samples.acceptance is not None:
        how += f", {samples.acceptance:.0%} accepted"
    how += "" if seed is None else f", seed {seed}"
    return f"{many} of {samples._size_range()} out of {samples.target.n:,} {things} ({how})"


def share_table(samples: Samples, thing: str = "item", sets: _Sets = ()) -> str:
    """Return a table of the most frequent items and the sets, with probabilities if quick."""
    items, counts = _counted(samples)
    top = np.argsort(-counts, kind="stable")[:_SHOWN]
    rows = [*items[top, None].tolist(), *sets]
    shares = [*counts[top] / len(samples), *samples.tracked.mean(axis=(0, 1))]
    columns = [[thing, *_names(samples, rows)], ["drawn", *(f"{share:.3f}" for share in shares)]]
    if samples.target.has_quick_inclusion:
        columns.append(["exact", *(f"{samples.target.inclusion(row):.3f}" for row in rows)])
    return aligned(zip(*columns, strict=True))


def _counted(samples: Samples) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all items drawn, and how often each was, without a copy of the draws."""
    counts: Counter[int] = Counter()
    for block in _blocks(samples):
        items, many = np.unique(block[block >= 0], return_counts=True)
        counts.update(dict(zip(items.tolist(), many.tolist(), strict=True)))
    found = sorted(counts)
    return np.array(found, np.int64), np.array([counts[item] for item in found], np.int64)


def _text_of_draws(samples: Samples, seed: int | None, sets: _Sets) -> str:
    parts = [first_line(samples, seed), ""]
    shown = samples[:_SHOWN]
    parts += [f"{number:>4}  {names}" for number, names in enumerate(_names(samples, shown))]
    if len(samples) > len(shown):
        first = f"the first {len(shown)} of {len(samples):,}"
        parts.append(f"      ... {first}; all of them: --csv, --json or --out draws.npz")
    if len(samples) > len(shown) or sets:
        parts += ["", share_table(samples, "item", sets)]
    return "\n".join(parts)


def _data_of_draws(samples: Samples, seed: int | None, sets: _Sets) -> dict[str, object]:
    target, (chains, draws, r) = samples.target, samples.subsets.shape
    shares = samples.tracked.mean(axis=(0, 1))
    tracked = [{"items": s, "share": share} for s, share in zip(sets, shares, strict=True)]
    for each in tracked if target.has_quick_inclusion else ():
        each["exact"] = target.inclusion(each["items"])
    labels = _labels(samples)
    found = {"method": samples.method, "seed": seed, "items": target.n, "size": r}
    found |= {"chains": chains, "draws": draws, "subsets": _draws_as_json(samples, None)}
    if any(item != label for item, label in labels.items()):
        found["labels"] = _draws_as_json(samples, labels)
    found |= {} if samples.acceptance is None else {"acceptance": samples.acceptance}
    return found | {"tracked": tracked, "stats": samples.stats}


def _labels(samples: Samples) -> dict[int, object]:
    """Return the labels of all items drawn, which may stand in a file that is read for them."""
    drawn = np.zeros(samples.target.n, bool)
    for block in _blocks(samples):
        drawn[block[block >= 0]] = True
    items = np.flatnonzero(drawn)
    return dict(zip(items.tolist(), samples.target.labels_of(items), strict=True))


def _blocks(samples: Samples) -> Iterator[NDArray[np.int32]]:
    """Yield the draws of all chains, some of one chain at a time."""
    for chain in samples.subsets:
        yield from (chain[start : start + BLOCK] for start in range(0, len(chain), BLOCK))


def _draws_as_json(samples: Samples, labels: dict[int, object] | None) -> list[Parts]:
    """Return the draws of each chain, by number or by label."""

    def parts(chain: NDArray[np.int32]) -> Iterator[list[list[object]]]:
        for start in range(0, len(chain), BLOCK):
            draws = chain[start : start + BLOCK].tolist()
            if labels is None:
                yield [[i for i in draw if i >= 0] for draw in draws]
            else:
                yield [[labels[i] for i in draw if i >= 0] for draw in draws]

    return [Parts(partial(parts, chain)) for chain in samples.subsets]


def _rows_of_draws(samples: Samples) -> Iterator[list[object]]:
    yield ["chain", "draw", *(f"item_{k}" for k in range(samples.subsets.shape[2]))]
    names = {
        item: label if isinstance(label, int) else label_text(label)
        for item, label in _labels(samples).items()
    }
    cells = {**names, -1: None}  # draws of fewer items are filled up
    for chain, block in enumerate(samples.subsets):
        for start in range(0, len(block), BLOCK):
            for draw, items in enumerate(block[start : start + BLOCK].tolist(), start):
                yield [chain, draw, *[cells[item] for item in items]]
