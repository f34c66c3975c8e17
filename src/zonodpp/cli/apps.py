"""``zonodpp summarize``, ``landmarks`` and ``shortlist``: the applications of the samplers."""

from __future__ import annotations

import click
import numpy as np

from zonodpp import apps
from zonodpp._types import Matrix
from zonodpp.cli.files import open_source, read_source, read_table, read_text, read_weights
from zonodpp.cli.interface import LandmarksOptions, ShortlistOptions, SummarizeOptions
from zonodpp.cli.items import on_one_line, restricted_items
from zonodpp.cli.large import LargeFile, find_large
from zonodpp.cli.output import Result
from zonodpp.linalg.dense import to_dense
from zonodpp.streams.sources import RowSource


def make_summary(options: SummarizeOptions) -> Result:
    """Run ``zonodpp summarize``."""
    text, name = read_text(options.file)
    if not text.strip():
        raise ValueError(f"{name} is empty: there is nothing to summarize")
    names = ("sentences", "words", "query", "answer", "draws", "features", "language", "method")
    summary = apps.summarize(text, rng=options.seed, **options.pick(*names))
    sentences = [" ".join(sentence.split()) for sentence in summary.sentences]
    facts = {"seed": options.seed, "sentences": sentences, "indices": summary.indices}
    rows = list(zip(summary.indices, summary.scores, sentences, strict=True))
    return Result(
        text=lambda: "\n".join(sentences),
        data=lambda: facts | {"scores": summary.scores, "of": len(summary.all_sentences)},
        rows=lambda: (["index", "score", "sentence"], rows),
        random=options.answer != "best",
    )


def pick_landmarks(options: LandmarksOptions) -> Result:
    """Run ``zonodpp landmarks``."""
    choices = options.pick("n_landmarks", "transformer", "n_draws", "method")
    source = open_source(options.file, options.format)
    large: LargeFile | None = None
    X: Matrix | RowSource
    if options.transformer in (None, "pca") and options.method in ("auto", "exact"):
        large = find_large(source, options, options.weights)
    if large is not None:
        X, (n, d), columns, weights = large.rows, large.shape, large.columns, None
        if options.transformer is None:
            note = "a search needs all rows in memory: drawing as with --transformer pca"
            click.echo(f"zonodpp: {note}", err=True)
        choices["transformer"] = "pca"
    else:
        table = read_source(source, options, options.weights)
        X, (n, d), columns = table.values, table.values.shape, table.columns
        weights = None if options.weights is None else read_weights(table, options.weights, n)
    if options.n_landmarks > n:
        raise ValueError(f"--number {options.n_landmarks}: {source.name} has {n} rows")
    selector = apps.LandmarkSelector(random_state=options.seed, **choices)
    selector.fit(X, sample_weight=weights)
    order = np.argsort(selector.indices_)
    indices, picked = selector.indices_[order], to_dense(selector.landmarks_[order])
    if large is not None:
        labels = large.labels(indices)
    else:
        labels = table.labels and [table.labels[i] for i in indices.tolist()]
    names = labels or list(map(str, indices.tolist()))
    columns = columns or [f"feature_{k}" for k in range(d)]
    rows = [[name, *row] for name, row in zip(names, picked.tolist(), strict=True)]
    facts = {"seed": options.seed, "items": n, "indices": indices}
    return Result(
        text=lambda: "\n".join(map(on_one_line, names)),
        data=lambda: facts | ({} if labels is None else {"labels": labels}),
        rows=lambda: (["item", *columns], rows),
        files={
            ".npy": lambda path: np.save(path, indices),
            ".npz": lambda path: np.savez(path, indices=indices, landmarks=picked),
        },
    )


def make_shortlist(options: ShortlistOptions) -> Result:
    """Run ``zonodpp shortlist``."""
    table = read_table(options, options.relevance)
    n = table.values.shape[0]
    choices = options.pick("diversity", "answer", "n_draws")
    choices |= restricted_items(options, table.labels, n) | {"labels": table.labels}
    scores = read_weights(table, options.relevance, n, "--relevance")
    found = apps.shortlist(scores, table.values, options.k, rng=options.seed, **choices)
    assert isinstance(found, apps.Shortlist)
    facts = {"seed": options.seed, "items": n, "indices": found.indices, "labels": found.labels}
    facts |= {"relevance": found.relevance, "diversity": found.diversity}
    rows = list(zip(found.labels, found.relevance.tolist(), strict=True))
    return Result(
        text=lambda: str(found),
        data=lambda: facts,
        rows=lambda: (["item", "relevance"], rows),
        files={".npy": lambda path: np.save(path, found.indices)},
    )
