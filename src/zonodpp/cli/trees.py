"""``zonodpp trees``: random spanning trees of a graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from zonodpp.cli.draws import describe, first_line, share_table
from zonodpp.cli.messages import quoted
from zonodpp.cli.options import (
    Condition,
    Destination,
    Run,
    command,
    condition_options,
    fresh_seed,
    output_options,
    run_options,
    show_seed,
)

if TYPE_CHECKING:
    from zonodpp.cli.output import Result, Rows
    from zonodpp.samples import Samples


@command(
    "Random spanning trees of a graph.",
    example="""
zonodpp info --example graph > graph.edges
zonodpp trees graph.edges --seed 1
zonodpp trees graph.edges --draws 1000 --include a1-b1 --exclude a2-a3 --seed 1
zonodpp trees graph.edges --seed 1 --out tree.graphml
""",
)
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "--format",
    type=click.Choice(["edges", "graphml", "mtx", "npz", "npy"]),
    help="What FILE is, when its ending does not tell.",
)
@click.option("--key", metavar="NAME", help="Which array of an .npz file.")
@click.option("--weight", metavar="ATTRIBUTE", help="The weight of GraphML edges.")
@click.option("--unweighted", is_flag=True, help="Ignore weights of an edge list or matrix.")
@click.option("--undirected", is_flag=True, help="Forget directions.")
@condition_options
@run_options
@output_options
def trees(
    file: str,
    format: str | None,
    key: str | None,
    weight: str | None,
    unweighted: bool,
    undirected: bool,
    condition: Condition,
    run: Run,
    destination: Destination,
) -> None:
    """Draw spanning trees of the graph in FILE, exactly: by default one, as a list of edges.

    FILE is an edge list (lines "u v" or "u v weight"), GraphML, or a symmetric matrix of edge
    weights (.mtx, .npz, .npy). A tree has a chance in proportion to the product of its weights.

    --include and --exclude name edges by their ends, u-v or "u v", in either order.

    --out takes .edges and .graphml (one tree), .npz, .npy, .csv, .json and .parquet.
    """
    from zonodpp.cli.graphs import read_graph_target
    from zonodpp.cli.output import check_destination, write

    check_destination(destination, ".npz", ".npy", ".edges", ".txt", ".graphml")
    if run.draws is None and run.seconds is None:
        run = run._replace(draws=1)
    seed = fresh_seed(run.seed, run.checkpoint)
    target = read_graph_target(
        file,
        format=format,
        key=key,
        weight=weight,
        weighted=not unweighted,
        undirected=undirected,
    )
    samples = run.sample(condition.of(target), seed)
    if samples.subsets.shape[1] == 0:
        return
    write(_result(samples, seed), destination)
    show_seed(seed, run.seed, destination)


def _result(samples: Samples, seed: int | None) -> Result:
    def one_tree(path: str, as_graphml: bool) -> None:
        if samples.subsets.shape[0] * samples.subsets.shape[1] > 1:
            raise ValueError("this kind of file holds one tree; pass --draws 1, or --out trees.csv")
        if as_graphml:
            import networkx as nx

            nx.write_graphml(samples.to_networkx(), path)
        else:
            _check_names(samples)
            with open(path, "w", encoding="utf-8") as file:
                file.write(_edge_list(samples))

    found = describe(samples, [], seed)
    return found._replace(
        text=lambda: _text(samples, seed),
        rows=lambda: _rows(samples),
        files={
            **found.files,
            ".edges": lambda path: one_tree(path, as_graphml=False),
            ".txt": lambda path: one_tree(path, as_graphml=False),
            ".graphml": lambda path: one_tree(path, as_graphml=True),
        },
    )


def _check_names(samples: Samples) -> None:
    """Refuse names of nodes that an edge list cannot hold."""
    for edge in samples.labelled()[0][0]:
        for name in map(str, edge[:2]):
            if not name or name[0] in "#%" or re.search(r"[\s,;]", name):
                raise ValueError(
                    f"an edge list cannot hold the node {quoted(name)}: blanks, commas and "
                    "semicolons separate names, # and % begin comments; pass --out tree.graphml"
                )


def _weights(samples: Samples) -> list[str] | None:
    """Return the weights of all edges as text, unless they are all one."""
    weights = samples.target.weights
    if weights is None or (weights == 1).all():
        return None
    return [f"{weight:.17g}" for weight in weights.tolist()]


def _edges(samples: Samples) -> Iterator[tuple[int, int, list[str]]]:
    """Yield chain, draw and ends of each edge, with its weight where there are weights."""
    labels, weights = samples.target.labels, _weights(samples)
    assert labels is not None
    for chain, block in enumerate(samples.subsets.tolist()):
        for draw, items in enumerate(block):
            for item in items:
                ends = [str(end) for end in labels[item][:2]]
                yield chain, draw, ends if weights is None else [*ends, weights[item]]


def _edge_list(samples: Samples) -> str:
    return "".join(" ".join(edge) + "\n" for _, _, edge in _edges(samples))


def _text(samples: Samples, seed: int | None) -> str:
    chains, draws, _ = samples.subsets.shape
    if chains * draws == 1:
        return _edge_list(samples)
    note = "all of them: --csv, --json or --out trees.npz"
    return f"{first_line(samples, seed, 'edges')}\n{note}\n\n{share_table(samples, 'edge')}"


def _rows(samples: Samples) -> Rows:
    header = ["chain", "draw", "source", "target"]
    rows = ([chain, draw, *edge] for chain, draw, edge in _edges(samples))
    return [*header, *([] if _weights(samples) is None else ["weight"])], rows
