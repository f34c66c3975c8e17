"""``zonodpp summarize``, ``landmarks``, ``shortlist``, ``volume``: the applications."""

from __future__ import annotations

import warnings

import click
import numpy as np

from zonodpp import Zonotope, apps
from zonodpp._arguments import check_finite
from zonodpp._types import Floats, Matrix
from zonodpp.apps.summaries.languages import read_language
from zonodpp.apps.summaries.text import stems
from zonodpp.cli import interface
from zonodpp.cli.inputs import read_table
from zonodpp.cli.large import rows_for_landmarks
from zonodpp.cli.messages import quoted
from zonodpp.cli.names import on_one_line, restricted_items
from zonodpp.cli.output import Result
from zonodpp.cli.read import read_text
from zonodpp.numerics.arrays import row_chunks, to_dense
from zonodpp.numerics.gram import numerical_rank, triangle


def make_summary(options: interface.SummarizeOptions) -> Result:
    """Run ``zonodpp summarize``."""
    if options.answer == "best" and (options.draws is not None or options.method != "auto"):
        raise click.UsageError("--draws and --method are for --answer mbr or draw")
    text, name = read_text(options.file)
    if not text.strip():
        raise ValueError(f"{name} is empty: there is nothing to summarize")
    names = ("sentences", "words", "query", "answer", "draws", "features", "language", "method")
    _check_words(options, text, name)
    summary = apps.summarize(text, rng=options.seed, **options.pick(*names))
    if not summary.all_sentences:
        raise ValueError(f"{name} has no sentences to summarize; markup does not count")
    if not summary.sentences:
        found = f"every sentence to choose from {name} has more words"
        raise ValueError(f"--words {options.words}: {found}; pass a larger number")
    sentences = [" ".join(sentence.split()) for sentence in summary.sentences]
    random = options.answer != "best"
    facts: dict[str, object] = {"seed": options.seed} if random else {}
    facts |= {"sentences": sentences, "indices": summary.indices}
    facts |= {"scores": summary.scores, "of": len(summary.all_sentences)}
    rows = zip(summary.indices, summary.scores, sentences, strict=True)
    table = [("index", "score", "sentence"), *rows]
    return Result("\n".join(sentences), facts, table, random=random)


def _check_words(options: interface.SummarizeOptions, text: str, name: str) -> None:
    """Say that a language has no stemmer, and that no word of a query is in the text."""
    if options.language is not None and read_language(options.language).stemmer is None:
        found = f"--language {options.language}: no stemmer is known for such a language"
        warnings.warn(f"{found}; words are compared as they stand", stacklevel=2)
    if options.query is not None:
        asked, there = stems([options.query, text], options.language)
        if asked and not set(asked) & set(there):
            found = f"no word of --query {quoted(options.query)} is in {name}"
            warnings.warn(f"{found}; the summary is the one without a query", stacklevel=2)


def pick_landmarks(options: interface.LandmarksOptions) -> Result:
    """Run ``zonodpp landmarks``."""
    table = rows_for_landmarks(options)
    n, d = table.shape
    if options.n_landmarks > n:
        raise ValueError(f"--number {options.n_landmarks}: {table.source} has {n} rows")
    choices = options.pick("n_landmarks", "transformer", "n_draws", "method", "objective")
    selector = apps.LandmarkSelector(random_state=options.seed, **choices)
    selector.fit(table.values, sample_weight=table.weights)
    order = np.argsort(selector.indices_)
    indices, picked = selector.indices_[order], to_dense(selector.landmarks_[order])
    labels = table.labels_of(indices)
    columns = table.columns or [f"feature_{k}" for k in range(d)]
    items = labels or indices.tolist()
    rows = [[item, *row] for item, row in zip(items, picked.tolist(), strict=True)]
    head = "item"
    while head in columns:  # a feature may have this name
        head += "_"
    facts = {"seed": options.seed, "items": n, "indices": indices}
    facts |= {} if labels is None else {"labels": labels}
    writers = {".npy": lambda path: np.save(path, indices)}
    writers[".npz"] = lambda path: np.savez(path, indices=indices, landmarks=picked)
    text = "\n".join(on_one_line(str(item)) for item in items)
    return Result(text, facts, [[head, *columns], *rows], writers)


def make_shortlist(options: interface.ShortlistOptions) -> Result:
    """Run ``zonodpp shortlist``."""
    table = read_table(options, "relevance")
    n, _ = table.shape
    choices = options.pick("diversity", "answer", "n_draws")
    choices["duplicates"] = options.duplicates if options.duplicates <= 1 else None
    choices |= restricted_items(options, table.labels, n) | {"labels": table.labels}
    assert table.weights is not None
    found = apps.shortlist(table.weights, table.values, options.k, rng=options.seed, **choices)
    assert isinstance(found, apps.Shortlist)
    if len(found) < options.k:
        alike = f"of similarity {options.duplicates:g} or more"
        why = f"the others are near-duplicates of these, {alike}"
        advice = "--duplicates S is another limit, 2 is none"
        warnings.warn(f"{len(found)} of {options.k} items: {why}; {advice}", stacklevel=2)
    random = options.answer == "draw"
    facts: dict[str, object] = {"seed": options.seed} if random else {}
    facts |= {"items": n, "indices": found.indices, "labels": found.labels}
    facts |= {"relevance": found.relevance, "diversity": found.diversity}
    rows = zip(found.labels, found.relevance.tolist(), strict=True)
    writers = {".npy": lambda path: np.save(path, found.indices)}
    return Result(str(found), facts, [("item", "relevance"), *rows], writers, random)


def compute_volume(options: interface.VolumeOptions) -> Result:
    """Run ``zonodpp volume``."""
    if options.method == "exact" and options.draws is not None:
        raise click.UsageError("--draws is for --method estimate: an exact volume has no draws")
    table = read_table(options)
    check_finite(table.values, table.source)
    by_columns = options.items == "columns"
    A = table.values if by_columns else table.values.T
    d, n = A.shape
    rank, _ = rank_and_condition(narrow_triangle(A))
    if rank < d:
        other = "rows" if by_columns else "columns"
        span = f"{table.source}: the {n} generators span {rank} of {d} dimensions"
        advice = f"leave out {other} that depend on others, or pass --items {other} if these"
        raise ValueError(f"{span}, so the volume is zero; {advice} are the generators")
    choices = options.pick("draws", "rel_error")
    found = Zonotope(A).volume(options.method, rng=options.seed, **choices)
    # A volume may be beyond what floating-point numbers hold: see log_volume.
    sizes = {"volume": found.value, "stderr": found.stderr}
    facts = {name: size if np.isfinite(size) else None for name, size in sizes.items()}
    facts |= {"log_volume": found.log_value, "relative_error": found.relative}
    facts |= {"draws": found.draws} | ({"seed": options.seed} if found.draws else {})
    of = f"volume of {n:,} generators in dimension {d}"
    text = f"{found.value:.6g}" if 0 < found.value < np.inf else f"exp({found.log_value:.6g})"
    if found.draws:
        error = f"standard error {found.relative:.2%}, {found.draws:,} draws"
        text = f"{text} +- {found.stderr:.2g}  estimated {of} ({error})"
    else:
        text = f"{text}  exact {of}"
    return Result(text, facts, [list(facts), list(facts.values())], random=found.draws > 0)


def narrow_triangle(X: Matrix, *, centred: bool = False) -> Floats:
    """Return R of X = QR, or of X' = QR if X is wide; centred: of the rows less their mean.

    The entries of X are finite.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.cli.apps import narrow_triangle
    >>> R = narrow_triangle(np.array([[1.0, 2.0], [0.0, 5.0], [0.0, 0.0]]))
    >>> np.abs(R).tolist()
    [[1.0, 2.0], [0.0, 5.0]]
    """
    wide = X.shape[1] > X.shape[0]
    mean = X.mean(axis=0, dtype=np.float64) if centred else np.zeros(X.shape[1])
    chunks = row_chunks(X.T if wide else X)
    return triangle(
        rows.astype(np.float64) - (mean[span, None] if wide else mean) for span, rows in chunks
    )


def rank_and_condition(R: Floats) -> tuple[int, float | None]:
    """Compute the rank and the condition of the columns of X = QR, scaled to one length.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.cli.apps import rank_and_condition
    >>> rank, condition = rank_and_condition(np.array([[1.0, 0.0], [0.0, 5.0]]))
    >>> rank, round(condition, 9)
    (2, 1.0)
    """
    lengths = np.linalg.norm(R, axis=0)
    singular = np.linalg.svd(R / np.where(lengths > 0, lengths, 1.0), compute_uv=False)
    rank = numerical_rank(singular)
    return rank, float(singular[0] / singular[-1]) if rank == len(singular) else None
