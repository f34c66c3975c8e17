"""The commands and their options, as ``--help`` shows them.

Nothing that takes long to load is imported here, so that help and completion come at once: each
command names the function that does its work. A class below holds the help, the example and the
options of a command.
"""

from __future__ import annotations

from typing import Literal

import click

from zonodpp.cli.command import FILE, Options, argument, command, option

Format = Literal["npy", "npz", "csv", "tsv", "jsonl", "parquet", "mtx"]
Method = Literal["auto", "exact", "zonotope", "exchange", "trees"]
GraphFormat = Literal["edges", "graphml", "mtx", "npz", "npy"]
Answer = Literal["best", "draw"]
Example = Literal["foods", "graph", "article", "digits"]
_TREE_FILES = (".npz", ".npy", ".edges", ".txt", ".graphml")


_NOT_NEGATIVE = click.IntRange(min=0)
PATH = click.Path(allow_dash=True)
METHOD = option("--method", "How to draw.", default="auto")
SEED = option("--seed N", "Same seed, same result. Default: a new one.", type=_NOT_NEGATIVE)


class Input(Options):
    """The file to read, and how to read it."""

    file: str = argument(type=PATH)
    format: Format | None = option("--format", "What FILE is, if its ending does not tell.")
    key: str | None = option("--key NAME", "Which array of an .npz file.")
    id: str | None = option("--id COLUMN", "The column with labels of the items.")
    columns: str | None = option("--columns A,B,...", "Features, by name or number from 0.")
    header: bool | None = option(
        "--header/--no-header", "Whether a CSV begins with names; by default if none is a number."
    )
    missing = "error"  # most commands refuse cells without a value
    alone = False  # whether the table is no FILE, but holds the weights of another
    items = "rows"


class _ItemsInput(Input):
    """A file whose items are the rows or the columns."""

    items: Literal["rows", "columns"] = option("--items", "What the items are.", default="rows")


class Restriction(Options):
    """Names of items that must be in a draw, and of items that must not be in it."""

    include: tuple[str, ...] = option("--include ITEM,...", "Items that must be in the result.")
    exclude: tuple[str, ...] = option("--exclude ITEM,...", "Items that must not be in the result.")


class RunOptions(Options):
    """The method and the length of a run."""

    draws: int | None = option("-n --draws N", "Draws to keep, for each chain.")
    seed: int | None = SEED
    method: Method = METHOD
    algorithm: str | None = option("--algorithm NAME", "The algorithm of --method exact or trees.")
    rule: str | None = option("--rule NAME", "heat-bath, metropolis or barker (exchange).")
    preset: str | None = option("--preset NAME", "paper (zonotope).")
    more: tuple[str, ...] = option("-O NAME=VALUE", "Any other option of the method.")
    chains: int = option("--chains N", "Independent runs.", default=1)
    burn_in: int = option("--burn-in N", "Steps to drop first.", default=0, type=_NOT_NEGATIVE)
    thin: int = option("--thin N", "Steps from draw to draw.", default=1)
    seconds: float | None = option("--seconds S", "Stop after this time.")
    checkpoint: str | None = option("--checkpoint", "Save the run, to continue it.", type=FILE)
    workers: int | None = option("--workers N", "Threads. Default: all processors.")


@command("draws:draw_subsets", "Diverse subsets of rows.", (".npz", ".npy"))
class SampleOptions(RunOptions, Restriction, _ItemsInput):
    """Draw subsets of the rows of FILE whose items differ from each other.

    A draw has as many items as there are feature columns, or --rank. By default draws are exact
    and independent, 1000 of them. Items are named by labels of --id, or by row numbers from 0,
    which can be used with labels too if no label is a number. Put a label that holds a comma in
    double quotes.

    --out takes .npz (for zonodpp.Samples.load), .npy, .csv, .json and .parquet.

    Example:
      zonodpp info --example foods > foods.csv
      zonodpp sample foods.csv --id food --draws 3 --seed 1
      zonodpp sample foods.csv --id food --rank 2 --weights protein --seed 1 --json
      zonodpp sample foods.csv --id food --include tofu --exclude egg,butter --draws 3 --seed 1
      zonodpp sample foods.csv --id food --method exchange --chains 2 --seed 1 --out draws.npz
    """

    kernel: bool = option("--kernel", "FILE is a kernel: a projection or, with --size or --dpp, L.")
    rank: int | None = option("--rank R", "Items in a draw, by principal directions.")
    jitter: float | None = option("--jitter S", "Add noise of standard deviation S to all numbers.")
    power: float = option("--power P", "2 is a projection DPP, 1 volume sampling.", default=2.0)
    weights: str | None = option("--weights COLUMN|FILE", "Weights of the items, not negative.")
    size: int | None = option("--size K", "Draw from the k-DPP of L = X X': K items.")
    dpp: bool = option("--dpp", "Draw from the DPP of L = X X': sizes vary.")
    expected_size: float | None = option("--expected-size S", "Scale the DPP to this mean size.")
    track: tuple[str, ...] = option("--track ITEM,...", "Estimate the chance of a set. Repeatable.")
    standardize: bool = option("--standardize", "Bring features to mean 0 and deviation 1.")
    missing: Literal["error", "drop", "median"] = option(
        "--missing", "Empty cells: an error, rows dropped, or medians.", default="error"
    )


class _GraphInput(Options):
    """A file with a graph, and how to read it."""

    file: str = argument(type=PATH)
    format: GraphFormat | None = option("--format", "What FILE is, if its ending does not tell.")
    key: str | None = option("--key NAME", "Which array of an .npz file.")
    weight: str | None = option("--weight ATTRIBUTE", "The weight of GraphML edges.")
    unweighted: bool = option("--unweighted", "Ignore weights of an edge list or matrix.")
    undirected: bool = option("--undirected", "Ignore directions.")


@command("trees:draw_spanning_trees", "Random spanning trees of a graph.", _TREE_FILES)
class TreesOptions(RunOptions, Restriction, _GraphInput):
    """Draw spanning trees of the graph in FILE, exactly: by default one, as a list of edges.

    FILE is an edge list (lines "u v" or "u v weight"), GraphML, or a symmetric matrix of edge
    weights (.mtx, .npz, .npy). The probability of a tree is proportional to the product of the
    weights of its edges.

    --include and --exclude name edges by their ends, u-v or "u v", in either order.

    --out takes .edges and .graphml (one tree), .npz, .npy, .csv, .json and .parquet.

    Example:
      zonodpp info --example graph > graph.edges
      zonodpp trees graph.edges --seed 1
      zonodpp trees graph.edges --draws 1000 --include a1-b1 --exclude a2-a3 --seed 1
      zonodpp trees graph.edges --seed 1 --out tree.graphml
    """


@command("best:pick_best", "The best rows, in order.", (".npy",))
class PickOptions(Input):
    """Pick rows of FILE that differ from each other, the best first; nothing is random.

    Each pick is the best addition to those before it, so that the beginning of a list is the
    shorter list. Rows named by --given are there already: neither they nor what is like them is
    picked. Large .npy and Parquet files are read in passes.

    The text output has one line for each row: its label of --id, or its number from 0. --csv and
    --json also tell what each pick gained.

    --out takes .npy (row numbers), .csv, .json and .parquet.

    Example:
      zonodpp info --example foods > foods.csv
      zonodpp pick foods.csv --id food -k 4
      zonodpp pick foods.csv --id food -k 4 --relevance protein --given tofu --csv
    """

    k: int = option("-k --number N", "How many.", default=10)
    relevance: str | None = option("--relevance COLUMN|FILE", "How good each row is.")
    given: tuple[str, ...] = option("--given ITEM,...", "Rows that are there already.")
    objective: Literal["volume", "coverage", "farthest"] = option(
        "--objective", "What picks maximise.", default="volume"
    )
    kernel: Literal["cosine", "linear", "rbf"] = option(
        "--kernel", "How alike rows are.", default="cosine"
    )
    gamma: float | None = option("--gamma G", "Inverse bandwidth of rbf.")
    ridge: float | None = option("--ridge S", "Larger: relevance counts more, difference less.")
    window: int | None = option("--window W", "Differ only from the last W picks.")
    swaps: int = option(
        "--swaps N", "Then exchange at most so many rows.", default=0, type=_NOT_NEGATIVE
    )


@command("apps:make_summary", "A few sentences of a text.", (".txt",))
class SummarizeOptions(Options):
    """Summarize the text in FILE by important sentences of it that differ from each other.

    The text is UTF-8, plain or HTML. The summary has one sentence a line, in the order of the text.
    The same text has the same summary, unless --answer asks for random draws.

    --out takes .txt, .csv, .json and .parquet.

    Example:
      zonodpp info --example article | zonodpp summarize - --words 100
      zonodpp info --example article > article.txt
      zonodpp summarize article.txt -k 3 --query "storms and light" --json
      zonodpp summarize article.txt --features appendix --answer mbr --seed 1
    """

    file: str = argument(type=PATH)
    sentences: int | None = option("-k --sentences N", "How many. Default: 11, or by --words.")
    words: int | None = option("-w --words N", "The most words of the summary.")
    query: str | None = option("--query TEXT", "What the summary should be about.")
    answer: Literal["best", "mbr", "draw"] = option(
        "--answer", "The best summary, the draw of minimum Bayes risk, or a draw.", default="best"
    )
    draws: int | None = option("-n --draws N", "Draws that mbr compares.")
    features: str = option("--features", "auto, appendix, spread or lsa.", default="auto")
    language: str | None = option("--language CODE", "Language of the text: en, de, ...")
    method: Method = METHOD
    seed: int = SEED


@command("apps:pick_landmarks", "Rows that stand for all rows.", (".npy", ".npz"))
class LandmarksOptions(Input):
    """Pick rows of FILE that stand for all of them.

    The text output has one line for each row: its label, or its number from 0. --csv has the
    features of the rows as well.

    --out takes .npy (row numbers), .npz (row numbers and rows), .csv, .json and .parquet.

    Example:
      zonodpp info --example digits > digits.npy
      zonodpp landmarks digits.npy -k 5 --seed 1
      zonodpp info --example foods | zonodpp landmarks - --id food -k 3 --seed 1 --csv
    """

    n_landmarks: int = option("-k --number N", "How many.", default=10)
    transformer: Literal["pca", "kernel", "isomap", "precomputed"] | None = option(
        "--transformer", "Draw from the DPP of such features; precomputed: those in FILE."
    )
    weights: str | None = option("--weights COLUMN|FILE", "Weights of the rows, not negative.")
    n_draws: int = option("-n --draws N", "Keep the best search or draw of N.", default=1)
    method: Literal["auto", "search", "rp-cholesky", "exact", "zonotope", "exchange"] = option(
        "--method", "How to pick. auto: search, or a draw with --transformer.", default="auto"
    )
    objective: Literal["trace", "coverage"] = option(
        "--objective", "A small mean error, or a small largest distance.", default="trace"
    )
    seed: int = SEED


@command("columns:pick_columns", "Columns that stand for all columns.", (".npy",))
class ColumnsOptions(Input):
    """Pick columns of FILE from which the others follow as nearly as possible.

    They follow by least squares, means aside. With --target the columns are those that serve to
    predict that column by a linear function. The text output has one line for each column: its
    name, or its number from 0. --csv has the picked columns of all rows.

    --out takes .npy (column numbers), .csv, .json and .parquet.

    Example:
      zonodpp info --example foods > foods.csv
      zonodpp columns foods.csv --id food --standardize -k 3
      zonodpp columns foods.csv --id food --standardize -k 2 --target protein --csv
    """

    k: int = option("-k --number N", "How many.", default=10)
    target: str | None = option("--target COLUMN|FILE", "What the columns should predict.")
    standardize: bool = option("--standardize", "Bring features to mean 0 and deviation 1.")


@command("rows:pick_rows", "Diverse rows of a table of any columns.")
class RowsOptions(Input):
    """Pick rows of FILE that differ from each other; columns may be of any type.

    Numbers and dates are standardised, categories and booleans encoded, missing values filled in
    and flagged. Identifiers, text of too many values and constant columns are left out; the result
    says which. --columns names the columns that count; rows are written with all columns. --csv
    writes the rows as they stand in FILE. "zonodpp info FILE" tells beforehand what would be used.

    --out takes .csv, .json and .parquet.

    Example:
      zonodpp info --example foods > foods.csv
      zonodpp rows foods.csv -k 5
      zonodpp rows foods.csv -k 3 --answer draw --weights protein --seed 1 --csv
    """

    k: int = option("-k --number N", "How many.", default=10)
    weights: str | None = option("--weights COLUMN", "Weights of the rows, not negative.")
    answer: Answer = option("--answer", "The likeliest set, or a random draw.", default="best")
    seed: int = SEED


@command("apps:make_shortlist", "Relevant and diverse items.", (".npy",))
class ShortlistOptions(Restriction, Input):
    """Pick items of FILE that are relevant and differ from each other, the most relevant first.

    Near-duplicates are never picked together. If no other items are left, the list is shorter, and
    a line says so; --duplicates 2 has no such limit.

    Items are named by labels of --id, or by row numbers from 0, which can be used with labels too
    if no label is a number. Put a label that holds a comma in double quotes.

    --out takes .npy (row numbers), .csv, .json and .parquet.

    Example:
      zonodpp info --example foods > foods.csv
      zonodpp shortlist foods.csv --id food --relevance protein -k 4
      zonodpp shortlist foods.csv --id food --relevance protein -k 4 --include tofu
    """

    relevance: str = option("--relevance COLUMN|FILE", "How good each item is.", required=True)
    k: int = option("-k --number N", "How many.", default=10)
    diversity: float = option("--diversity D", "Share of relevance to give up.", default=0.1)
    duplicates: float = option(
        "--duplicates S", "Similarity of near-duplicates; above 1, there are none.", default=0.97
    )
    answer: Answer = option("--answer", "The most diverse list, or a random one.", default="best")
    n_draws: int = option("-n --draws N", "Keep the likeliest draw of N.", default=1)
    seed: int = SEED


@command("apps:compute_volume", "Volume of a zonotope.")
class VolumeOptions(_ItemsInput):
    r"""Compute the volume of the zonotope whose generators are the items of FILE.

    In d dimensions the volume is the sum of |det| over all sets of d generators. This
    sum is computed for small matrices, and estimated with a standard error for large ones.

    --out takes .csv, .json and .parquet.

    Example:
      printf '1,0\n2,1\n0,2\n-1,1\n' | zonodpp volume -
      zonodpp info --example foods > foods.csv
      zonodpp volume foods.csv --id food --method estimate --rel-error 0.05 --seed 1
    """

    method: Literal["exact", "estimate"] | None = option("--method", "Default: exact if quick.")
    draws: int | None = option("-n --draws N", "Draws of the estimate.")
    rel_error: float = option("--rel-error E", "Relative standard error to reach.", default=0.01)
    seed: int = SEED


@command("info:show_facts", "This installation, a file, example data.", (".npy", ".txt", ".edges"))
class InfoOptions(_ItemsInput):
    """Describe FILE (shape, rank, what a draw would be), or else this installation.

    For a table with text or missing values, show its columns, their types, and what "zonodpp rows"
    uses.

    --out takes .csv, .json, .parquet and .txt, and with --example also .npy and .edges.

    Example:
      zonodpp info
      zonodpp info --example foods > foods.csv
      zonodpp info foods.csv --id food
    """

    file: str = argument(type=PATH, required=False)
    example: Example | None = option("--example", "Write an example, to use as FILE.")


@command("info:show_completion", "Completion for bash, zsh and fish.", None)
class CompletionOptions(Options):
    """Write the script that completes commands, options and files in your shell.

    Then have your shell read it: put "source .../zonodpp.bash" into ~/.bashrc, the zsh one into
    ~/.zshrc, and the fish one into ~/.config/fish/completions/zonodpp.fish.

    Example:
      zonodpp completion bash > zonodpp.bash
    """

    shell: Literal["bash", "zsh", "fish"] = argument()
