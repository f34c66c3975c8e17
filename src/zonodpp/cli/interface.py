"""The commands and their options, as ``--help`` shows them.

Nothing heavy is imported here, so that help and completion come at once: each command names the
function that does its work. The functions below only hold its help, its example and its options.
"""

from __future__ import annotations

import click

from zonodpp.cli.command import command
from zonodpp.cli.options import (
    choice,
    count,
    input_options,
    items_option,
    key_option,
    method_option,
    number_option,
    output_options,
    restriction_options,
    run_options,
    seed_option,
)


@command("sample", "draws.draw_subsets", "Diverse subsets of rows.", endings=(".npz", ".npy"))
@input_options()
@items_option
@click.option("--kernel", is_flag=True, help="FILE is a kernel, n x n: a projection, or L.")
@click.option("--rank", type=int, metavar="R", help="Items in a draw, by principal directions.")
@click.option("--jitter", type=float, metavar="S", help="Add noise, against dependent columns.")
@click.option("--power", default=2.0, help="Of volumes: 2 is a projection DPP, 1 volume sampling.")
@click.option("--weights", metavar="COLUMN|FILE", help="Weights of the items, not negative.")
@click.option("--size", type=count, metavar="K", help="Draw from the k-DPP of L = X X': K items.")
@click.option("--dpp", is_flag=True, help="Draw from the DPP of L = X X': sizes vary.")
@click.option("--expected-size", type=float, metavar="S", help="Scale the DPP to this mean size.")
@restriction_options
@run_options
@click.option(
    "--track", metavar="ITEM,...", multiple=True, help="Estimate the chance of a set. Repeatable."
)
@output_options
def _sample() -> None:
    """Draw subsets of the rows of FILE whose items differ from each other.

    A draw has as many items as there are feature columns, or --rank. By default draws are exact
    and independent, 1000 of them. Items are labels of --id, or row numbers from 0. Row numbers
    name items also where labels are not numbers. A label that holds a comma stands in double
    quotes.

    --out takes .npz (for zonodpp.Samples.load), .npy, .csv, .json and .parquet.

    Example:
      zonodpp info --example foods > foods.csv
      zonodpp sample foods.csv --id food --draws 3 --seed 1
      zonodpp sample foods.csv --id food --rank 2 --weights protein --seed 1 --json
      zonodpp sample foods.csv --id food --include tofu --exclude egg,butter --draws 3 --seed 1
      zonodpp sample foods.csv --id food --method exchange --chains 2 --seed 1 --out draws.npz
    """


@command(
    "trees",
    "trees.draw_trees",
    "Random spanning trees of a graph.",
    endings=(".npz", ".npy", ".edges", ".txt", ".graphml"),
)
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "--format",
    type=click.Choice(["edges", "graphml", "mtx", "npz", "npy"]),
    help="What FILE is, when its ending does not tell.",
)
@key_option
@click.option("--weight", metavar="ATTRIBUTE", help="The weight of GraphML edges.")
@click.option("--unweighted", is_flag=True, help="Ignore weights of an edge list or matrix.")
@click.option("--undirected", is_flag=True, help="Ignore directions.")
@restriction_options
@run_options
@output_options
def _trees() -> None:
    """Draw spanning trees of the graph in FILE, exactly: by default one, as a list of edges.

    FILE is an edge list (lines "u v" or "u v weight"), GraphML, or a symmetric matrix of edge
    weights (.mtx, .npz, .npy). A tree has a chance in proportion to the product of its weights.

    --include and --exclude name edges by their ends, u-v or "u v", in either order.

    --out takes .edges and .graphml (one tree), .npz, .npy, .csv, .json and .parquet.

    Example:
      zonodpp info --example graph > graph.edges
      zonodpp trees graph.edges --seed 1
      zonodpp trees graph.edges --draws 1000 --include a1-b1 --exclude a2-a3 --seed 1
      zonodpp trees graph.edges --seed 1 --out tree.graphml
    """


@command("summarize", "apps.make_summary", "A few sentences of a text.", endings=(".txt",))
@click.argument("file", type=click.Path(allow_dash=True))
@number_option("-k", "--sentences", default=11, help="How many.")
@click.option("--query", metavar="TEXT", help="Prefer sentences about this.")
@choice(
    ("mbr", "draw", "best"),
    "mbr",
    "--answer",
    help="Minimum Bayes risk, a single draw, or the most likely of the draws.",
)
@number_option("-n", "--draws", default=None, help="Draws that the answer rests on.")
@click.option(
    "--features",
    metavar="NAME",
    default="auto",
    help="Of sentences: auto, appendix, spread or lsa.",
)
@click.option("--language", metavar="CODE", help="Of the text, such as en or de.")
@method_option
@seed_option
@output_options
def _summarize() -> None:
    """Summarize the text in FILE by sentences of it that differ from each other.

    The text is UTF-8. Sentences come in their order, one a line.

    --out takes .txt, .csv, .json and .parquet.

    Example:
      zonodpp info --example article | zonodpp summarize - --sentences 3 --seed 1
      zonodpp info --example article > article.txt
      zonodpp summarize article.txt -k 3 --query "storms and light" --seed 1 --json
    """


@command(
    "landmarks", "apps.pick_landmarks", "Rows that stand for all rows.", endings=(".npy", ".npz")
)
@input_options()
@number_option("-k", "--number", "n_landmarks", default=10, help="How many.")
@choice(
    ("pca", "kernel", "isomap", "precomputed"),
    "pca",
    "--transformer",
    help="Where directions come from; precomputed takes K columns as they are.",
)
@click.option("--weights", metavar="COLUMN|FILE", help="Weights of the rows, not negative.")
@number_option("-n", "--draws", "n_draws", default=1, help="Keep the best of this many draws.")
@method_option
@seed_option
@output_options
def _landmarks() -> None:
    """Pick rows of FILE that stand for all of them.

    Text has one row a line, by its label or its number from 0. --csv has their features as well.

    --out takes .npy (row numbers), .npz (row numbers and rows), .csv, .json and .parquet.

    Example:
      zonodpp info --example digits > digits.npy
      zonodpp landmarks digits.npy -k 5 --seed 1
      zonodpp info --example foods | zonodpp landmarks - --id food -k 3 --seed 1 --csv
    """


@command("shortlist", "apps.make_shortlist", "Relevant and diverse items.", endings=(".npy",))
@input_options()
@click.option("--relevance", metavar="COLUMN|FILE", required=True, help="How good each item is.")
@number_option("-k", "--number", "k", default=10, help="How many.")
@click.option("--diversity", default=1.0, help="0 goes by relevance alone.")
@choice(
    ("draw", "best"),
    "draw",
    "--answer",
    help="A random draw, or the likeliest set that a search finds.",
)
@number_option("-n", "--draws", "n_draws", default=1, help="Keep the best of this many draws.")
@restriction_options
@seed_option
@output_options
def _shortlist() -> None:
    """Pick items of FILE that are relevant and differ from each other, the most relevant first.

    Items are labels of --id, or row numbers from 0. Row numbers name items also where labels are
    not numbers. A label that holds a comma stands in double quotes.

    --out takes .npy (row numbers), .csv, .json and .parquet.

    Example:
      zonodpp info --example foods > foods.csv
      zonodpp shortlist foods.csv --id food --relevance protein -k 4 --seed 1
      zonodpp shortlist foods.csv --id food --relevance protein -k 4 --include tofu --seed 1
    """


@command("volume", "volume.compute_volume", "Volume of a zonotope.", endings=())
@input_options()
@items_option
@click.option(
    "--method", type=click.Choice(["exact", "estimate"]), help="Default: exact where that is quick."
)
@click.option("-n", "--draws", type=int, metavar="N", help="Draws of the estimate.")
@click.option("--rel-error", default=0.01, help="Standard error to reach, relative to the volume.")
@seed_option
@output_options
def _volume() -> None:
    r"""Compute the volume of the zonotope whose generators are the items of FILE.

    In d dimensions the volume is the sum of |det| over all sets of d generators: exact for small
    ones, an estimate with its standard error for large ones.

    Example:
      printf '1,0\n2,1\n0,2\n-1,1\n' | zonodpp volume -
      zonodpp info --example foods > foods.csv
      zonodpp volume foods.csv --id food --method estimate --rel-error 0.05 --seed 1
    """


@command("info", "info.show_facts", "This installation, a file, example data.")
@input_options(required=False)
@items_option
@click.option(
    "--example",
    type=click.Choice(["foods", "graph", "article", "digits"]),
    help="Write an example to standard output.",
)
@output_options
def _info() -> None:
    """Describe FILE (shape, rank, what a draw would be), or else this installation.

    Example:
      zonodpp info
      zonodpp info --example foods > foods.csv
      zonodpp info foods.csv --id food
    """


@command("completion", "info.show_completion", "Completion for bash, zsh and fish.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def _completion() -> None:
    """Write the script that completes commands, options and files in your shell.

    Then have your shell read it: put "source .../zonodpp.bash" into ~/.bashrc, the zsh one into
    ~/.zshrc, and the fish one into ~/.config/fish/completions/zonodpp.fish.

    Example:
      zonodpp completion bash > zonodpp.bash
    """


COMMANDS = (_sample, _trees, _summarize, _landmarks, _shortlist, _volume, _info, _completion)
