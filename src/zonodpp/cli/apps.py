"""``zonodpp summarize``, ``landmarks``, ``shortlist`` and ``volume``: the applications."""

from __future__ import annotations

from math import inf, isfinite

import click
import numpy as np

from zonodpp import Zonotope, apps
from zonodpp.cli import interface
from zonodpp.cli.files import open_source, read_text
from zonodpp.cli.info import rank_and_condition
from zonodpp.cli.inputs import LargeTable, read_large, read_source, read_table
from zonodpp.cli.items import on_one_line, restricted_items
from zonodpp.cli.output import Result
from zonodpp.cli.table import ItemTable
from zonodpp.linalg.dense import to_dense


def make_summary(options: interface.SummarizeOptions) -> Result:
    """Run ``zonodpp summarize``."""
    text, name = read_text(options.file)
    if not text.strip():
        raise ValueError(f"{name} is empty: there is nothing to summarize")
    names = ("sentences", "words", "query", "answer", "draws", "features", "language", "method")
    summary = apps.summarize(text, rng=options.seed, **options.pick(*names))
    sentences = [" ".join(sentence.split()) for sentence in summary.sentences]
    facts = {"seed": options.seed, "sentences": sentences, "indices": summary.indices}
    facts |= {"scores": summary.scores, "of": len(summary.all_sentences)}
    rows = zip(summary.indices, summary.scores, sentences, strict=True)
    table = ["index", "score", "sentence"], rows
    return Result("\n".join(sentences), facts, table, random=options.answer != "best")


def pick_landmarks(options: interface.LandmarksOptions) -> Result:
    """Run ``zonodpp landmarks``."""
    choices = options.pick("n_landmarks", "transformer", "n_draws", "method")
    source = open_source(options.file, options.format)
    table: ItemTable | LargeTable | None = None
    if options.transformer in (None, "pca") and options.method in ("auto", "exact"):
        table = read_large(source, options, options.weights)
    if table is not None:
        if options.transformer is None:
            note = "a search needs all rows in memory: drawing as with --transformer pca"
            click.echo(f"zonodpp: {note}", err=True)
        choices["transformer"] = "pca"
    else:
        table = read_source(source, options, options.weights)
    n, d = table.shape
    if options.n_landmarks > n:
        raise ValueError(f"--number {options.n_landmarks}: {source.name} has {n} rows")
    selector = apps.LandmarkSelector(random_state=options.seed, **choices)
    selector.fit(table.values, sample_weight=table.weights)
    order = np.argsort(selector.indices_)
    indices, picked = selector.indices_[order], to_dense(selector.landmarks_[order])
    labels = table.labels_of(indices)
    names = labels or list(map(str, indices.tolist()))
    columns = table.columns or [f"feature_{k}" for k in range(d)]
    rows = [[name, *row] for name, row in zip(names, picked.tolist(), strict=True)]
    facts = {"seed": options.seed, "items": n, "indices": indices}
    facts |= {} if labels is None else {"labels": labels}
    writers = {
        ".npy": lambda path: np.save(path, indices),
        ".npz": lambda path: np.savez(path, indices=indices, landmarks=picked),
    }
    text = "\n".join(map(on_one_line, names))
    return Result(text, facts, (["item", *columns], rows), writers)


def make_shortlist(options: interface.ShortlistOptions) -> Result:
    """Run ``zonodpp shortlist``."""
    table = read_table(options, options.relevance, "--relevance")
    n, _ = table.shape
    choices = options.pick("diversity", "answer", "n_draws")
    choices |= restricted_items(options, table.labels, n) | {"labels": table.labels}
    assert table.weights is not None
    found = apps.shortlist(table.weights, table.values, options.k, rng=options.seed, **choices)
    assert isinstance(found, apps.Shortlist)
    facts = {"seed": options.seed, "items": n, "indices": found.indices, "labels": found.labels}
    facts |= {"relevance": found.relevance, "diversity": found.diversity}
    rows = zip(found.labels, found.relevance.tolist(), strict=True)
    writers = {".npy": lambda path: np.save(path, found.indices)}
    return Result(str(found), facts, (["item", "relevance"], rows), writers)


def compute_volume(options: interface.VolumeOptions) -> Result:
    """Run ``zonodpp volume``."""
    table = read_table(options)
    by_columns = options.items == "columns"
    A = table.values if by_columns else table.values.T
    d, n = A.shape
    rank, _ = rank_and_condition(A)
    if rank < d:
        other = "rows" if by_columns else "columns"
        advice = f"if {other} are the generators, pass --items {other}"
        raise ValueError(
            f"{table.source}: the {n} generators span {rank} of {d} dimensions, so the volume is "
            f"zero; {advice if n < d else f'leave out {other} that depend on others'}"
        )
    choices = options.pick("draws", "rel_error")
    found = Zonotope(A).volume(options.method, rng=options.seed, **choices)
    # A volume may be beyond what floating-point numbers hold: see log_volume.
    sizes = {"volume": found.value, "stderr": found.stderr}
    facts = {name: size if isfinite(size) else None for name, size in sizes.items()}
    facts |= {"log_volume": found.log_value, "relative_error": found.relative}
    facts |= {"draws": found.draws} | ({"seed": options.seed} if found.draws else {})
    of = f"volume of {n:,} generators in dimension {d}"
    is_held = 0 < found.value < inf
    text = f"{found.value:.6g}" if is_held else f"exp({found.log_value:.6g})"
    if found.draws:
        error = f"standard error {found.relative:.2%}, {found.draws:,} draws"
        text = f"{text} +- {found.stderr:.2g}  estimated {of} ({error})"
    else:
        text = f"{text}  exact {of}"
    return Result(text, facts, (list(facts), [list(facts.values())]), random=found.draws > 0)
