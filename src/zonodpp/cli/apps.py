"""``zonodpp summarize``, ``landmarks`` and ``shortlist``: what people want the sampler for."""

from __future__ import annotations

from typing import Any

import click

from zonodpp.cli.items import on_one_line
from zonodpp.cli.options import (
    METHODS,
    Condition,
    Destination,
    Input,
    command,
    condition_options,
    count,
    fresh_seed,
    input_options,
    output_options,
    seed_option,
    show_seed,
)

method_option = click.option(
    "--method", type=click.Choice(METHODS), default="auto", show_default=True, help="How to draw."
)


@command(
    "A few sentences of a text.",
    example="""
zonodpp info --example article | zonodpp summarize - --sentences 3 --seed 1
zonodpp info --example article > article.txt
zonodpp summarize article.txt -k 3 --query "storms and light" --seed 1 --json
""",
)
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "-k", "--sentences", type=count, metavar="N", default=11, show_default=True, help="How many."
)
@click.option("--query", metavar="TEXT", help="Prefer sentences about this.")
@click.option(
    "--answer",
    type=click.Choice(["mbr", "draw", "best"]),
    default="mbr",
    show_default=True,
    help="Minimum Bayes risk, a single draw, or the most likely of the draws.",
)
@click.option("-n", "--draws", type=count, metavar="N", help="Draws that the answer rests on.")
@click.option(
    "--features",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="Of sentences: auto, appendix, spread or lsa.",
)
@click.option("--language", metavar="CODE", help="Of the text, such as en or de.")
@method_option
@seed_option
@output_options
def summarize(
    file: str,
    sentences: int,
    query: str | None,
    answer: str,
    draws: int | None,
    features: str,
    language: str | None,
    method: str,
    seed: int | None,
    destination: Destination,
) -> None:
    """Summarize the text in FILE by sentences of it that differ from each other.

    The text is UTF-8. Sentences come in their order, one a line.

    --out takes .txt, .csv, .json and .parquet.
    """
    from zonodpp.cli.files import read_text
    from zonodpp.cli.output import Result, check_destination, write

    check_destination(destination, ".txt")
    given, seed = seed, fresh_seed(seed)
    text, name = read_text(file)
    if not text.strip():
        raise ValueError(f"{name} is empty: there is nothing to summarize")
    from zonodpp.apps import summarize as make_summary

    more = {} if draws is None else {"draws": draws}
    summary = make_summary(
        text,
        sentences,
        query=query,
        features=features,
        answer=answer,
        method=method,
        language=language,
        rng=seed,
        **more,
    )
    picked = [" ".join(sentence.split()) for sentence in summary.sentences]
    indices = [int(index) for index in summary.indices]
    scores = [float(score) for score in summary.scores]

    def save_text(path: str) -> None:
        with open(path, "w", encoding="utf-8") as out:
            out.write("\n".join(picked) + "\n")

    result = Result(
        text=lambda: "\n".join(picked),
        data=lambda: {
            "seed": seed,
            "sentences": picked,
            "indices": indices,
            "scores": scores,
            "of": len(summary.all_sentences),
        },
        rows=lambda: (["index", "score", "sentence"], zip(indices, scores, picked, strict=True)),
        files={".txt": save_text},
    )
    write(result, destination)
    show_seed(seed, given, destination)


@command(
    "Rows that stand for all rows.",
    example="""
zonodpp info --example digits > digits.npy
zonodpp landmarks digits.npy -k 5 --seed 1
zonodpp info --example foods | zonodpp landmarks - --id food -k 3 --seed 1 --csv
""",
)
@input_options
@click.option(
    "-k", "--number", type=count, metavar="N", default=10, show_default=True, help="How many."
)
@click.option(
    "--transformer",
    type=click.Choice(["pca", "kernel", "isomap", "precomputed"]),
    default="pca",
    show_default=True,
    help="Where directions come from; precomputed takes K columns as they are.",
)
@click.option("--weights", metavar="COLUMN|FILE", help="Weights of the rows, not negative.")
@click.option(
    "-n",
    "--draws",
    type=count,
    metavar="N",
    default=1,
    show_default=True,
    help="Keep the best of this many draws.",
)
@method_option
@seed_option
@output_options
def landmarks(
    source: Input,
    number: int,
    transformer: str,
    weights: str | None,
    draws: int,
    method: str,
    seed: int | None,
    destination: Destination,
) -> None:
    """Pick rows of FILE that stand for all of them.

    Text has one row a line, by its label or its number from 0. --csv has their features as well.

    --out takes .npy (row numbers), .npz (row numbers and rows), .csv, .json and .parquet.
    """
    import numpy as np

    from zonodpp.cli.output import Result, check_destination, write
    from zonodpp.cli.targets import read_weights

    check_destination(destination, ".npy", ".npz")
    given, seed = seed, fresh_seed(seed)
    table = source.read(weights)
    X = table.values
    if number > X.shape[0]:
        raise ValueError(
            f"--number {number}: {table.source} has {X.shape[0]} rows; ask for at most as many"
        )
    from zonodpp.apps import LandmarkSelector

    selector = LandmarkSelector(
        number, transformer=transformer, n_draws=draws, method=method, random_state=seed
    )
    selector.fit(X, sample_weight=read_weights(table, weights, X.shape[0]))
    indices = np.sort(selector.indices_)
    names = [str(i) if table.labels is None else table.labels[i] for i in indices.tolist()]

    picked = X.tocsr()[indices].toarray() if hasattr(X, "tocsr") else np.asarray(X[indices])

    def rows() -> Any:
        columns = table.columns or [f"feature_{k}" for k in range(X.shape[1])]
        pairs = zip(names, picked.tolist(), strict=True)
        return ["item", *columns], ([name, *row] for name, row in pairs)

    def save_both(path: str) -> None:
        np.savez(path, indices=indices, landmarks=picked)

    facts = {"seed": seed, "items": X.shape[0], "indices": indices}
    result = Result(
        text=lambda: "\n".join(map(on_one_line, names)),
        data=lambda: facts | ({} if table.labels is None else {"labels": names}),
        rows=rows,
        files={".npy": lambda path: np.save(path, indices), ".npz": save_both},
    )
    write(result, destination)
    show_seed(seed, given, destination)


@command(
    "Relevant and diverse items.",
    example="""
zonodpp info --example foods > foods.csv
zonodpp shortlist foods.csv --id food --relevance protein -k 4 --seed 1
zonodpp shortlist foods.csv --id food --relevance protein -k 4 --include tofu --seed 1
""",
)
@input_options
@click.option("--relevance", metavar="COLUMN|FILE", required=True, help="How good each item is.")
@click.option(
    "-k", "--number", type=count, metavar="N", default=10, show_default=True, help="How many."
)
@click.option(
    "--diversity", type=float, default=1.0, show_default=True, help="0 goes by relevance alone."
)
@click.option(
    "--answer",
    type=click.Choice(["draw", "best"]),
    default="draw",
    show_default=True,
    help="A random draw, or the likeliest set that a search finds.",
)
@click.option("-n", "--draws", type=count, metavar="N", default=1, help="Keep the best of N draws.")
@condition_options
@seed_option
@output_options
def shortlist(
    source: Input,
    relevance: str,
    number: int,
    diversity: float,
    answer: str,
    draws: int,
    condition: Condition,
    seed: int | None,
    destination: Destination,
) -> None:
    """Pick items of FILE that are relevant and differ from each other, the most relevant first.

    Items are labels of --id, or row numbers from 0. Row numbers name items also where labels are
    not numbers. A label that holds a comma stands in double quotes.

    --out takes .npy (row numbers), .csv, .json and .parquet.
    """
    import numpy as np

    from zonodpp.cli.output import Result, check_destination, write
    from zonodpp.cli.targets import read_weights

    check_destination(destination, ".npy")
    given, seed = seed, fresh_seed(seed)
    table = source.read(relevance)
    n = table.values.shape[0]
    scores = read_weights(table, relevance, n, "--relevance")
    from zonodpp.apps import shortlist as make_shortlist

    found = make_shortlist(
        scores,
        table.values,
        number,
        diversity=diversity,
        **condition.items(table.labels, n),
        labels=table.labels,
        answer=answer,
        n_draws=draws,
        rng=seed,
    )
    facts = {"seed": seed, "items": n, "indices": found.indices, "labels": found.labels}
    facts |= {"relevance": found.relevance, "diversity": found.diversity}
    pairs = zip(found.labels, found.relevance.tolist(), strict=True)
    result = Result(
        text=lambda: str(found),
        data=lambda: facts,
        rows=lambda: (["item", "relevance"], pairs),
        files={".npy": lambda path: np.save(path, found.indices)},
    )
    write(result, destination)
    show_seed(seed, given, destination)
