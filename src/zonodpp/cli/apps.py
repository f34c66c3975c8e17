"""``zonodpp summarize``, ``landmarks`` and ``shortlist``: the applications of the samplers."""

from __future__ import annotations

import numpy as np

from zonodpp import apps
from zonodpp.cli.files import read_table, read_text, read_weights
from zonodpp.cli.interface import LandmarksOptions, ShortlistOptions, SummarizeOptions
from zonodpp.cli.items import on_one_line, restricted_items
from zonodpp.cli.output import Result


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
    table = read_table(options, options.weights)
    X = table.values
    n, d = X.shape
    if options.n_landmarks > n:
        raise ValueError(f"--number {options.n_landmarks}: {table.source} has {n} rows")
    names = ("n_landmarks", "transformer", "n_draws", "method")
    selector = apps.LandmarkSelector(random_state=options.seed, **options.pick(*names))
    weights = None if options.weights is None else read_weights(table, options.weights, n)
    selector.fit(X, sample_weight=weights)
    indices = np.sort(selector.indices_)
    labels = [str(i) if table.labels is None else table.labels[i] for i in indices.tolist()]
    picked = X[indices] if isinstance(X, np.ndarray) else X.tocsr()[indices].toarray()
    columns = table.columns or [f"feature_{k}" for k in range(d)]
    rows = [[label, *row] for label, row in zip(labels, picked.tolist(), strict=True)]
    facts = {"seed": options.seed, "items": n, "indices": indices}
    return Result(
        text=lambda: "\n".join(map(on_one_line, labels)),
        data=lambda: facts | ({} if table.labels is None else {"labels": labels}),
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
