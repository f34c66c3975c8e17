"""Graphs as matrices: edges, incidence, connectedness."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from zonodpp.columns import Floats


class Graph(NamedTuple):
    """Edge e joins nodes ``tail[e]`` and ``head[e]`` (numbered from 0)."""

    nodes: int
    tail: NDArray[np.int64]
    head: NDArray[np.int64]

    def incidence(self) -> sp.csc_array:
        """Return the vertex-edge incidence matrix without its last row (r = nodes - 1).

        A self-loop has a zero column: it is in no spanning tree.
        """
        n = self.tail.size
        edges = np.arange(n)
        rows = np.concatenate([self.tail, self.head])
        columns = np.concatenate([edges, edges])
        signs = np.concatenate([np.ones(n), -np.ones(n)])
        full = sp.coo_array((signs, (rows, columns)), shape=(self.nodes, n)).tocsr()
        reduced = full[:-1].tocsc()
        reduced.eliminate_zeros()
        return reduced

    def is_spanning_tree(self, edges: NDArray[np.int64]) -> bool:
        """Tell whether these nodes - 1 edges connect all nodes."""
        tree = sp.coo_array(
            (np.ones(edges.size), (self.tail[edges], self.head[edges])),
            shape=(self.nodes, self.nodes),
        )
        components, _ = connected_components(tree, directed=False)
        return bool(components == 1)


def read_graph(G: Any, weight: str | None) -> tuple[Graph, Floats | None, list[tuple[Any, ...]]]:
    """Read a networkx graph or a symmetric sparse matrix of edge weights.

    Returns
    -------
    graph, weights, labels
        Weights are None when every edge counts the same. Labels are the edges as the user knows
        them: ``(u, v)``, or ``(u, v, key)`` in a multigraph.
    """
    if sp.issparse(G):
        graph, weights, labels = _read_adjacency(G)
    elif hasattr(G, "edges") and hasattr(G, "is_directed"):
        graph, weights, labels = _read_networkx(G, weight)
    else:
        raise TypeError(
            "from_graph expects a networkx graph or a symmetric scipy.sparse matrix of edge "
            f"weights, got {type(G).__name__}"
        )
    if graph.nodes < 2:
        raise ValueError(f"the graph has {graph.nodes} node(s); a spanning tree needs at least 2")
    if weights is not None:
        bad = ~(np.isfinite(weights) & (weights > 0))
        if bad.any():
            e = int(np.argmax(bad))
            raise ValueError(
                f"edge weights must be positive and finite; edge {labels[e]} has {weights[e]:g} "
                "(remove edges that must not be used)"
            )
    links = sp.coo_array(
        (np.ones(graph.tail.size), (graph.tail, graph.head)), shape=(graph.nodes, graph.nodes)
    )
    components, _ = connected_components(links, directed=False)
    if components > 1:
        raise ValueError(
            f"the graph is disconnected: it has {components} components, so no spanning tree; "
            "sample each component by itself"
        )
    return graph, weights, labels


def _read_networkx(
    G: Any, weight: str | None
) -> tuple[Graph, Floats | None, list[tuple[Any, ...]]]:
    if G.is_directed():
        raise ValueError("the graph is directed; pass G.to_undirected()")
    number = {node: i for i, node in enumerate(G.nodes)}
    labels: list[tuple[Any, ...]] = list(G.edges(keys=True) if G.is_multigraph() else G.edges())
    tail = np.fromiter((number[e[0]] for e in labels), np.int64, len(labels))
    head = np.fromiter((number[e[1]] for e in labels), np.int64, len(labels))
    weights = None
    if weight is not None:
        values = [data.get(weight) for _, _, data in G.edges(data=True)]
        if any(value is None for value in values):
            edge = labels[values.index(None)]
            raise ValueError(
                f"edge {edge} has no attribute {weight!r}; give every edge one, or pass weight=None"
            )
        weights = np.asarray(values, dtype=np.float64)
    return Graph(len(number), tail, head), weights, labels


def _read_adjacency(G: Any) -> tuple[Graph, Floats | None, list[tuple[Any, ...]]]:
    matrix = sp.csr_array(G).astype(np.float64)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"an adjacency matrix is square, got {matrix.shape}")
    asymmetry = abs(matrix - matrix.T).max() if matrix.nnz else 0.0
    if asymmetry > 0:
        raise ValueError(
            f"the adjacency matrix is not symmetric (off by {asymmetry:g}): the graph is directed"
        )
    upper = sp.triu(matrix, format="coo")
    tail, head = upper.row.astype(np.int64), upper.col.astype(np.int64)
    labels: list[tuple[Any, ...]] = list(zip(tail.tolist(), head.tolist(), strict=True))
    return Graph(matrix.shape[0], tail, head), np.asarray(upper.data), labels
