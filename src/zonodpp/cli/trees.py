"""``zonodpp trees``: draw random spanning trees of a graph."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

from zonodpp._optional import optional
from zonodpp.cli.draws import describe, first_line, run_sample, share_table
from zonodpp.cli.graphs import read_graph_target
from zonodpp.cli.messages import quoted
from zonodpp.cli.options import Restriction, Run
from zonodpp.cli.output import Result, Rows
from zonodpp.samples import Samples


def draw_trees(
    file: str, restriction: Restriction, run: Run, unweighted: bool, **options: Any
) -> Result | None:
    """Run ``zonodpp trees``; the further options are those of `read_graph_target`."""
    if run.draws is None and run.seconds is None:
        run = run._replace(draws=1)
    target = read_graph_target(file, weighted=not unweighted, **options)
    samples = run_sample(run, restriction.of(target))
    if samples.subsets.shape[1] == 0:
        return None
    found = describe(samples, [], run.seed)
    write_tree = functools.partial(_write_tree, samples)
    return found._replace(
        text=lambda: _text_of_trees(samples, run.seed),
        rows=lambda: _rows_of_trees(samples),
        files=found.files | dict.fromkeys((".edges", ".txt", ".graphml"), write_tree),
    )


def _write_tree(samples: Samples, path: str) -> None:
    """Write the only tree of a run as GraphML or as an edge list."""
    if samples.subsets.shape[0] * samples.subsets.shape[1] > 1:
        raise ValueError("this kind of file holds one tree; pass --draws 1, or --out trees.csv")
    if path.endswith(".graphml"):
        optional("networkx", "graph", "GraphML").write_graphml(samples.to_networkx(), path)
        return
    _check_names(samples)
    with open(path, "w", encoding="utf-8") as file:
        file.write(_edge_list(samples))


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


def _text_of_trees(samples: Samples, seed: int | None) -> str:
    chains, draws, _ = samples.subsets.shape
    if chains * draws == 1:
        return _edge_list(samples)
    note = "all of them: --csv, --json or --out trees.npz"
    return f"{first_line(samples, seed, 'edges')}\n{note}\n\n{share_table(samples, 'edge')}"


def _rows_of_trees(samples: Samples) -> Rows:
    header = ["chain", "draw", "source", "target"]
    rows = ([chain, draw, *edge] for chain, draw, edge in _edges(samples))
    return [*header, *([] if _weights(samples) is None else ["weight"])], rows
