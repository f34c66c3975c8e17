"""Read graphs: edge lists, GraphML and adjacency matrices."""

from __future__ import annotations

import re
from math import isfinite
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from zonodpp._optional import optional
from zonodpp.cli.delimited import is_number, text_lines
from zonodpp.cli.files import Source, damage, open_source, read_array
from zonodpp.cli.messages import quoted
from zonodpp.targets import ProjectionDPP

_GRAPH_FORMATS = ("edges", "graphml", "mtx", "npz", "npy")
_ENDINGS = {"txt": "edges", "edgelist": "edges", "csv": "edges", "tsv": "edges", "xml": "graphml"}
_SEPARATORS = re.compile(r"[,;\s]+")


def read_graph_target(
    file: str,
    *,
    format: str | None = None,
    key: str | None = None,
    weight: str | None = None,
    weighted: bool = True,
    undirected: bool = False,
) -> ProjectionDPP:
    r"""Read a graph and make the target whose draws are its spanning trees.

    Examples
    --------
    >>> import os, tempfile
    >>> from zonodpp.cli.graphs import read_graph_target
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "triangle.edges")
    ...     with open(path, "w") as file:
    ...         _ = file.write("a b 1\nb c 1\nc a 2\n")
    ...     target = read_graph_target(path)
    >>> target.labels, target.marginals()
    ([('a', 'b'), ('a', 'c'), ('b', 'c')], array([0.6, 0.8, 0.6]))
    """
    ending = file.rsplit(".", 1)[-1].lower()
    source = open_source(file, format or _ENDINGS.get(ending), _GRAPH_FORMATS)
    if weight is not None and source.format != "graphml":
        raise ValueError("--weight names an attribute of GraphML edges; other files have a column")
    if source.format == "graphml":
        return _from_graphml(source, weight, undirected)
    if source.format == "edges":
        with source.stream() as stream:
            names, tail, head, weights = _read_edges(stream, source.name, weighted)
        values = np.ones(len(tail)) if weights is None else weights
        upper = sp.coo_array((values, (tail, head)), shape=(len(names),) * 2).tocsr()
        return ProjectionDPP.from_graph(upper + sp.triu(upper, k=1).T, names=names)
    matrix = read_array(source, key)
    if matrix.ndim != 2:
        raise ValueError(
            f"{source.name}: an adjacency matrix has two dimensions, not {matrix.ndim}"
        )
    adjacency = sp.csr_array(matrix)
    if undirected:
        adjacency = adjacency.maximum(adjacency.T)
    if not weighted:
        adjacency = (adjacency != 0).astype(np.float64)
    return ProjectionDPP.from_graph(adjacency)


def _read_edges(
    stream: IO[bytes], source: str, weighted: bool = True
) -> tuple[list[str], list[int], list[int], Any]:
    """Read lines ``u v [weight]``; return names of nodes, ends of edges and weights or None.

    An edge given twice, in either direction, is one edge. Weights are ignored unless ``weighted``.
    """
    number: dict[str, int] = {}
    edges: dict[tuple[int, int], tuple[float | None, int]] = {}
    for line_number, line in enumerate(text_lines(stream, source), 1):
        line = line.strip()
        if not line or line[0] in "#%":
            continue
        where = f"{source}, line {line_number}"
        parts = _SEPARATORS.split(line)
        if not edges and len(parts) == 3 and not is_number(parts[2]):
            continue  # names of the columns
        weight = _edge_weight(parts, where, weighted)
        u, v = (number.setdefault(name, len(number)) for name in parts[:2])
        first, at = edges.setdefault((min(u, v), max(u, v)), (weight, line_number))
        if first != weight:
            raise ValueError(
                f"{where}: edge {quoted(' '.join(parts[:2]))} has weight {_show(weight)}, but "
                f"{_show(first)} at line {at}; give it once"
            )
    if not edges:
        raise ValueError(f"{source} has no edges")
    weights = [weight for weight, _ in edges.values()]
    if None in weights and any(weights):  # a weight is positive
        at = next(line for weight, line in edges.values() if weight is None)
        raise ValueError(f"{source}, line {at}: this edge has no weight, but others have")
    tail, head = ([edge[k] for edge in edges] for k in (0, 1))
    return list(number), tail, head, None if None in weights else np.array(weights)


def _edge_weight(parts: list[str], where: str, weighted: bool) -> float | None:
    """Return the weight in the parts of a line, if it has one that counts."""
    if len(parts) not in (2, 3):
        raise ValueError(
            f"{where}: expected two nodes and perhaps a weight, got {quoted(' '.join(parts))}"
        )
    if len(parts) == 2:
        return None
    if not is_number(parts[2]):
        raise ValueError(f"{where}: expected a number as weight, got {quoted(parts[2])}")
    weight = float(parts[2])
    if weighted and not (isfinite(weight) and weight > 0):
        raise ValueError(
            f"{where}: a weight must be positive and finite, got {weight:g}; remove edges "
            "that must not be used"
        )
    return weight if weighted else None


def _show(weight: float | None) -> str:
    return "none" if weight is None else f"{weight:g}"


def _from_graphml(source: Source, weight: str | None, undirected: bool) -> ProjectionDPP:
    nx = optional("networkx", "graph", "GraphML")
    with damage(source.name, "GraphML"), source.stream() as stream:
        graph = nx.read_graphml(stream)
    if graph.is_directed() and not undirected:
        raise ValueError(f"{source.name} is a directed graph; pass --undirected")
    return ProjectionDPP.from_graph(graph.to_undirected() if undirected else graph, weight=weight)
