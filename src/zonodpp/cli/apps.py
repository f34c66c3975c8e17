"""``zonodpp summarize``, ``landmarks`` and ``shortlist``: the applications of the samplers."""

from __future__ import annotations

from typing import Any

import numpy as np

from zonodpp import apps
from zonodpp.cli.files import read_input, read_text
from zonodpp.cli.items import on_one_line
from zonodpp.cli.options import Input, Restriction
from zonodpp.cli.output import Result, Rows
from zonodpp.cli.targets import read_weights


def make_summary(file: str, seed: int | None, **options: Any) -> Result:
    """Run ``zonodpp summarize``; the further options are those of `zonodpp.apps.summarize`."""
    text, name = read_text(file)
    if not text.strip():
        raise ValueError(f"{name} is empty: there is nothing to summarize")
    summary = apps.summarize(text, rng=seed, **options)
    picked = [" ".join(sentence.split()) for sentence in summary.sentences]
    indices, scores = summary.indices, summary.scores
    return Result(
        text=lambda: "\n".join(picked),
        data=lambda: {
            "seed": seed,
            "sentences": picked,
            "indices": indices,
            "scores": scores,
            "of": len(summary.all_sentences),
        },
        rows=lambda: (["index", "score", "sentence"], zip(indices, scores, picked, strict=True)),
        seed=seed,
    )


def pick_landmarks(
    source: Input, n_landmarks: int, weights: str | None, seed: int | None, **options: Any
) -> Result:
    """Run ``zonodpp landmarks``; the further options are those of `LandmarkSelector`."""
    table = read_input(source, weights)
    X = table.values
    if n_landmarks > X.shape[0]:
        raise ValueError(
            f"--number {n_landmarks}: {table.source} has {X.shape[0]} rows; ask for at most as many"
        )
    selector = apps.LandmarkSelector(n_landmarks, random_state=seed, **options)
    selector.fit(X, sample_weight=read_weights(table, weights, X.shape[0]))
    indices = np.sort(selector.indices_)
    names = [str(i) if table.labels is None else table.labels[i] for i in indices.tolist()]
    picked = X.tocsr()[indices].toarray() if hasattr(X, "tocsr") else np.asarray(X[indices])

    def rows() -> Rows:
        columns = table.columns or [f"feature_{k}" for k in range(X.shape[1])]
        pairs = zip(names, picked.tolist(), strict=True)
        return ["item", *columns], ([name, *row] for name, row in pairs)

    facts = {"seed": seed, "items": X.shape[0], "indices": indices}
    return Result(
        text=lambda: "\n".join(map(on_one_line, names)),
        data=lambda: facts | ({} if table.labels is None else {"labels": names}),
        rows=rows,
        files={
            ".npy": lambda path: np.save(path, indices),
            ".npz": lambda path: np.savez(path, indices=indices, landmarks=picked),
        },
        seed=seed,
    )


def make_shortlist(
    source: Input,
    relevance: str,
    restriction: Restriction,
    seed: int | None,
    **options: Any,
) -> Result:
    """Run ``zonodpp shortlist``; the further options are those of `zonodpp.apps.shortlist`."""
    table = read_input(source, relevance)
    n = table.values.shape[0]
    options |= restriction.items(table.labels, n)
    scores = read_weights(table, relevance, n, "--relevance")
    found = apps.shortlist(scores, table.values, labels=table.labels, rng=seed, **options)
    facts = {"seed": seed, "items": n, "indices": found.indices, "labels": found.labels}
    facts |= {"relevance": found.relevance, "diversity": found.diversity}
    pairs = zip(found.labels, found.relevance.tolist(), strict=True)
    return Result(
        text=lambda: str(found),
        data=lambda: facts,
        rows=lambda: (["item", "relevance"], pairs),
        files={".npy": lambda path: np.save(path, found.indices)},
        seed=seed,
    )
