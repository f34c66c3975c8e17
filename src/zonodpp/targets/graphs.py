"""Graphs as arrays: edges and incidence, read from networkx and from sparse matrices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsFloat, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from zonodpp._arguments import as_labels, in_one_line, listed
from zonodpp._types import Floats, Integers, Labels
from zonodpp.numerics.arrays import frozen

if TYPE_CHECKING:
    import networkx as nx

GraphLike: TypeAlias = "nx.Graph | sp.sparray"

# Difference between the weights in two directions, relative to these weights, that counts as
# rounding. Relative to the largest weight it would hide light edges, which may be the only ones
# between two parts of a graph.
_ASYMMETRY = 1e-12
# Types that can be turned into a float although they are no real numbers.
_NO_NUMBERS = (np.ndarray, np.complexfloating, np.datetime64, np.timedelta64)


class Graph(NamedTuple):
    """Edge e joins nodes ``tail[e]`` and ``head[e]`` (numbered from 0)."""

    nodes: int
    tail: Integers
    head: Integers
    names: Labels | None = None  # of the nodes; None: their numbers
    multigraph: bool = False
    weight: str | None = None  # the edge attribute that weights were read from

    def incidence(self) -> sp.csc_array:
        """Return the vertex-edge incidence matrix without its last row (r = nodes - 1).

        A self-loop has a zero column: it is in no spanning tree.
        """
        n = self.tail.size
        ones, indptr, shape = np.ones(n), np.arange(n + 1), (self.nodes, n)
        tails = sp.csc_array((ones, self.tail, indptr), shape)
        return (tails - sp.csc_array((ones, self.head, indptr), shape))[:-1]

    def links(self, edges: Integers | slice = slice(None)) -> sp.coo_array:
        """Return a matrix with a one for each of some edges, nodes by nodes."""
        tail, head = self.tail[edges], self.head[edges]
        return sp.coo_array((np.ones(tail.size), (tail, head)), shape=(self.nodes, self.nodes))

    def components(self, edges: Integers | slice = slice(None)) -> int:
        """Count the parts into which the graph falls that has only these edges."""
        return int(connected_components(self.links(edges), directed=False, return_labels=False))


class EdgePairs(Sequence[tuple[int, int]]):
    """Labels of edges between numbered nodes, made when asked for: ``pairs[e]`` is a tuple."""

    def __init__(self, tail: Integers, head: Integers) -> None:
        self._tail, self._head = tail, head

    def __len__(self) -> int:
        return len(self._tail)

    def __getitem__(self, e: Any) -> Any:
        pairs = np.stack([self._tail[e], self._head[e]], axis=-1).tolist()
        return [*map(tuple, pairs)] if isinstance(e, slice) else tuple(pairs)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._tail.tolist(), self._head.tolist(), strict=True)

    def __repr__(self) -> str:
        more = ", ..." if len(self) > 3 else ""
        return f"<{len(self)} edges: {', '.join(map(str, self[:3]))}{more}>"


def read_graph(
    G: GraphLike, weight: str | None, names: Labels | None = None
) -> tuple[Graph, Floats | None, Labels]:
    """Read a networkx graph or a symmetric sparse matrix of edge weights.

    Returns
    -------
    graph, weights, labels
        Weights are None when every edge counts the same. Labels are the edges as the user knows
        them: ``(u, v)``, or ``(u, v, key)`` in a multigraph.
    """
    if weight is not None and not isinstance(weight, str):
        raise TypeError(f"weight is the name of an edge attribute, got {weight!r}")
    if sp.issparse(G):
        return _read_adjacency(G, weight, names)
    if hasattr(G, "edges") and hasattr(G, "is_directed"):
        if names is not None:
            raise TypeError("names are for nodes of a sparse matrix; a networkx graph has its own")
        return _read_networkx(G, weight)
    raise TypeError(
        "from_graph expects a networkx graph or a symmetric scipy.sparse matrix of edge "
        f"weights, got {type(G).__name__} (an array becomes one with scipy.sparse.csr_array)"
    )


def check_graph(graph: Graph, weights: Floats | None, labels: Labels) -> None:
    """Raise an error unless the graph is connected and its edge weights are positive."""
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
    components = graph.components()
    if components > 1:
        raise ValueError(
            f"the graph is disconnected: it has {components} components, so no spanning tree; "
            "sample each component by itself"
        )


def _read_networkx(G: nx.Graph, weight: str | None) -> tuple[Graph, Floats | None, Labels]:
    if G.is_directed():
        raise ValueError("the graph is directed; pass G.to_undirected()")
    names = list(G.nodes)
    number = {node: i for i, node in enumerate(names)}
    keys = {"keys": True} if G.is_multigraph() else {}
    labels = list(G.edges(**keys))
    ends = np.array([(number[u], number[v]) for u, v, *_ in labels], np.int64).reshape(-1, 2)
    tail, head = frozen(ends[:, 0], np.int64), frozen(ends[:, 1], np.int64)
    weights = None
    if weight is not None:
        edges = G.edges(data=weight, **keys)
        weights = np.array([_as_number(value, tuple(edge), weight) for *edge, value in edges])
    return Graph(len(names), tail, head, names, G.is_multigraph(), weight), weights, labels


def _as_number(value: object, label: object, weight: str) -> float:
    """Turn an edge attribute into a number; text is refused, even text that looks like one."""
    if value is None:
        raise ValueError(
            f"edge {label} has no attribute {weight!r}; give every edge one, or leave weight out"
        )
    if isinstance(value, SupportsFloat) and not isinstance(value, _NO_NUMBERS):
        try:
            return float(value)
        except OverflowError:
            raise ValueError(
                f"edge weights must be numbers that floats can hold, up to 1.8e308; edge {label} "
                f"has a larger {weight!r}"
            ) from None
    raise TypeError(
        f"edge weights must be numbers; edge {label} has {weight}={in_one_line(value)!r}"
    )


def _read_adjacency(
    G: sp.sparray, weight: str | None, names: Labels | None
) -> tuple[Graph, Floats | None, Labels]:
    if weight is not None:
        raise ValueError(
            f"weight={weight!r} names an attribute of networkx edges; a sparse matrix holds the "
            "edge weights itself, so leave weight out"
        )
    if G.ndim != 2 or G.shape[0] != G.shape[1]:
        raise ValueError(f"an adjacency matrix is square, got {G.shape}")
    if G.dtype.kind not in "biuf":
        raise TypeError(f"edge weights must be real numbers, got {G.dtype} entries")
    matrix = sp.csr_array(G).astype(np.float64)
    matrix.sum_duplicates()
    asymmetry = abs(matrix - matrix.T)
    if matrix.nnz and (asymmetry - _ASYMMETRY * abs(matrix)).max() > 0:
        off = f"off by {asymmetry.max():g}"
        raise ValueError(f"the adjacency matrix is not symmetric ({off}): the graph is directed")
    upper = sp.triu(matrix, format="coo")
    tail, head = frozen(upper.row, np.int64), frozen(upper.col, np.int64)
    graph = Graph(matrix.shape[0], tail, head, names, weight="weight")
    pairs = EdgePairs(tail, head)
    if names is None:
        return graph, np.asarray(upper.data), pairs
    names = as_labels(names, graph.nodes, "names")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"names of nodes must differ, but several nodes have the name {listed(repeated)}; "
            "give each node a name of its own"
        )
    return graph, np.asarray(upper.data), [(names[u], names[v]) for u, v in pairs]
