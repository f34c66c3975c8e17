"""Spanning trees of a graph: the projection DPP of its incidence matrix."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from zonodpp._arguments import as_count, as_items, as_weights
from zonodpp._imports import on_use, optional
from zonodpp._types import Floats, Integers, Labels
from zonodpp.numerics.arrays import frozen
from zonodpp.numerics.scale import Coordinates, coordinates_of
from zonodpp.targets.base import Arrays, Header
from zonodpp.targets.conditions import ImpossibleError, never_together
from zonodpp.targets.graphs import Graph, GraphLike, check_graph, read_graph
from zonodpp.targets.projection import ProjectionDPP

if TYPE_CHECKING:
    import networkx as nx

    from zonodpp.targets.network import Network

DENSE_GRAPH = 1000  # nodes up to which dense matrices are fast, and need no compiled code
LARGE_GRAPH = 6000  # nodes beyond which no r x r matrix is made (288 MB)
_FAR_APART = 1e6  # ratio of weights from which on subtraction costs digits that matter


class SpanningTrees(ProjectionDPP):
    """Spanning trees of a graph, P(T) proportional to the product of their edge weights.

    Items are edges. `ProjectionDPP.from_graph` makes this target.

    Parameters
    ----------
    G : networkx.Graph, MultiGraph or scipy.sparse matrix
        Undirected and connected.
    weight : str, optional
        The networkx edge attribute that holds the weight.
    names : sequence, optional
        Names of the nodes of a sparse matrix.

    See Also
    --------
    zonodpp.ProjectionDPP.from_graph : Makes it.

    Examples
    --------
    >>> import networkx as nx
    >>> from zonodpp.targets import SpanningTrees
    >>> SpanningTrees(nx.cycle_graph("abcd"))
    SpanningTrees(r=3, n=4, power=2)
    """

    graph: Graph
    labels: Labels
    _labels_are_edges = True
    methods = ("trees", "exact")  # random walks, where they should be cheaper than linear algebra

    def __init__(
        self, G: GraphLike, *, weight: str | None = None, names: Labels | None = None
    ) -> None:
        self._set(*read_graph(G, weight, names))

    def _set(self, graph: Graph, weights: Floats | None, labels: Labels) -> None:  # type: ignore[override]
        """Check the graph, but no rank: that of a connected graph is always full."""
        check_graph(graph, weights, labels)
        n = graph.tail.size
        facts = {"A": graph.incidence(), "weights": as_weights(weights, n), "labels": labels}
        self.__dict__.update(graph=graph, n=n, r=graph.nodes - 1, **facts)

    @property
    def has_quick_inclusion(self) -> bool:
        """False for a large graph: its elimination may not fit into memory, draws always do."""
        return self.graph.nodes <= LARGE_GRAPH

    @cached_property
    def coordinates(self) -> Coordinates:
        """A and the weights; weights that lie far apart are taken relative to the heaviest tree."""
        if self.graph.nodes > LARGE_GRAPH:
            raise ValueError(
                f"the graph has {self.graph.nodes} nodes, more than the {LARGE_GRAPH} up to which "
                "dense matrices are computed; draw with method='trees', which needs none"
            )
        return coordinates_of(self.A, self.weights, self.power, self.heaviest_tree())

    @cached_property
    def _network(self) -> Network | None:
        """The network that gives probabilities of edges; None where dense matrices serve well."""
        weights = np.ones(self.n) if self.weights is None else self.weights
        if self.graph.nodes <= DENSE_GRAPH and weights.min() >= weights.max() / _FAR_APART:
            return None
        make = on_use("zonodpp.targets.network").Network  # loads the compiler
        network: Network = make(self.graph.nodes, self.graph.tail, self.graph.head, weights)
        return network

    @cached_property
    def log_normaliser(self) -> float:
        """Log of the sum over all trees of the product of their weights."""
        return super().log_normaliser if self._network is None else self._network.log_total()

    def marginals(self) -> Floats:
        """Return the exact probability of each edge: its weight times the effective resistance.

        Returns
        -------
        (n,) array
            In the order of ``labels``.

        Examples
        --------
        >>> import networkx as nx
        >>> from zonodpp import ProjectionDPP
        >>> ProjectionDPP.from_graph(nx.cycle_graph(4)).marginals()
        array([0.75, 0.75, 0.75, 0.75])
        """
        return super().marginals() if self._network is None else self._network.marginals()

    def _inclusions(self, sets: Integers) -> Floats:
        return super()._inclusions(sets) if self._network is None else self._network.inclusion(sets)

    def _log_probs(self, sets: Integers) -> Floats:
        """Log of the product of weights: the determinants of spanning trees are 1 and -1."""
        logs = [self._log_weight(s) if self.graph.components(s) == 1 else -np.inf for s in sets]
        return np.array(logs) - self.log_normaliser

    def _log_weight(self, edges: Integers) -> float:
        return 0.0 if self.weights is None else float(np.log(self.weights[edges]).sum())

    def known_maximum(self) -> tuple[Integers, float]:
        """Return the tree of greatest weight and its log weight."""
        tree = self.heaviest_tree()
        return tree, self._log_weight(tree)

    def heaviest_tree(self) -> Integers:
        """Return the edges of the tree of greatest weight, ascending."""
        weights = np.ones(self.n) if self.weights is None else self.weights
        # Ranks replace weights: they are distinct and positive, and each one tells its edge.
        order = np.argsort(-weights, kind="stable")
        links = self.graph.links()
        links.data = np.argsort(order) + 1.0
        # SciPy 1.13 finds trees only where the numbers of nodes are 32-bit integers.
        links.coords = tuple(ends.astype(np.int32) for ends in links.coords)
        links.has_canonical_format = True  # so that parallel edges are not added up
        tree = minimum_spanning_tree(links.tocsr()).data.astype(np.int64)
        return np.asarray(np.sort(order[tree - 1]))

    def _given(self, include: Integers, exclude: Integers) -> Self:
        """Contract the edges that must be in the tree, delete those that must not be.

        Contracted edges become pendant edges, which are in every spanning tree, and deleted edges
        become loops, which are in none. So the spanning trees of the new graph are those of the old
        one that meet the condition, with the same edges.
        """
        graph = self.graph
        parts, part = connected_components(graph.links(include), directed=False)
        if parts != graph.nodes - include.size:
            raise never_together(include, "these edges close a cycle")
        first = np.unique(part, return_index=True)[1]
        merged = first[part]  # each contracted part is its first node, the others become leaves
        tail, head = merged[graph.tail], merged[graph.head]
        leaves = np.flatnonzero(merged != np.arange(graph.nodes))
        # A part of k nodes holds k - 1 of these edges: sorted by part, leaves and edges pair up.
        leaves = leaves[np.argsort(merged[leaves], kind="stable")]
        head[include[np.argsort(tail[include], kind="stable")]] = leaves
        head[exclude] = tail[exclude]
        graph = graph._replace(tail=frozen(tail, np.int64), head=frozen(head, np.int64))
        pieces = graph.components()
        if pieces > 1:
            others = f" and {exclude.size - 1} more" if exclude.size > 1 else ""
            raise ImpossibleError(
                f"without edge {self.labels[int(exclude[0])]}{others} the graph falls into "
                f"{pieces} parts: it has no spanning tree left; exclude fewer edges"
            )
        return self._make(graph, self.weights, self.labels)

    def stored(self) -> tuple[Header, Arrays]:
        """Return what a file holds of the target: a header, with labels and names, and arrays."""
        facts = self.graph._asdict()
        arrays = {name: facts.pop(name) for name in ("tail", "head")}
        if self.weights is not None:
            arrays["weights"] = self.weights
        return {"graph": facts, "labels": self.labels}, arrays

    @classmethod
    def restored(cls, header: Header, arrays: Arrays) -> Self:
        """Make the target that `stored` took apart, after checks of what a file may hold."""
        facts, labels, weights = header["graph"], header["labels"], arrays.get("weights")
        ends = np.stack([arrays["tail"], arrays["head"]])
        if ends.dtype != np.int64 or ends.ndim != 2 or labels is None:
            raise ValueError(f"the edges are {ends.dtype} {ends.shape}, or have no labels")
        as_count(facts["nodes"], "nodes", 2, ends.shape[1] + 1)
        graph = Graph(**facts, tail=frozen(ends[0], np.int64), head=frozen(ends[1], np.int64))
        return cls._make(graph, weights, labels)  # checks also that edges lie between nodes

    def to_networkx(self, edges: ArrayLike) -> nx.Graph:
        """Return one draw as a networkx graph.

        Parameters
        ----------
        edges : (k,) array_like of int
            Numbers of edges: one draw.

        Returns
        -------
        networkx.Graph or MultiGraph
            All nodes under their own names, and the draw's edges with their weights (and keys, in a
            multigraph). Other attributes are not kept.

        Examples
        --------
        >>> import networkx as nx
        >>> from zonodpp import ProjectionDPP, sample
        >>> target = ProjectionDPP.from_graph(nx.path_graph("abc"))
        >>> target.to_networkx(sample(target, 1, rng=0).subsets[0, 0]).edges
        EdgeView([('a', 'b'), ('b', 'c')])
        """
        networkx = optional("networkx", "graph", "a tree as a networkx graph")
        graph = self.graph
        row = as_items(edges, self.n, "edges", filled=True)
        if row.ndim > 1:
            raise ValueError(f"edges must be one draw, got {len(row)}: ask for one at a time")
        items = row[row >= 0]  # -1 fills up rows of thinned draws
        if graph.components(items) != graph.nodes - items.size:
            raise ValueError("edges must be a draw, but these close a cycle, and no draw has them")
        tree = networkx.MultiGraph() if graph.multigraph else networkx.Graph()
        tree.add_nodes_from(range(graph.nodes) if graph.names is None else graph.names)
        for e in items.tolist():
            label, data = self.labels[e], {}
            if not self._is_edge(label):
                raise ValueError(
                    f"edge {e} has a name of its own, {label!r}; draw from the target that "
                    "from_graph gave to have networkx trees"
                )
            if self.weights is not None:
                data[graph.weight or "weight"] = float(self.weights[e])
            tree.add_edges_from([(*label, data)])
        return tree
