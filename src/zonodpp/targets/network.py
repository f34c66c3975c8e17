"""A graph as an electrical network: probabilities of edges and the cost of random walks.

Removing a node v from a network of conductances c joins each pair i, j of its neighbours by a new
conductance c_vi c_vj / d_v, where d_v is the sum of the conductances at v (the star-mesh
transform, one step of Gaussian elimination on the Laplacian). All numbers are positive and nothing
is subtracted, so every result keeps its digits, whatever the weights are (Grassmann, Taksar,
Heyman 1985). When only the two ends of an edge are left, the conductance between them is the
effective one, and a random spanning tree holds the edge with probability weight / conductance.

The probabilities of all edges are computed together. `halve_edges` halves the edges of the graph
again and again, down to a few. The boundary of a set of edges holds the nodes that it shares with
other edges. An upward pass reduces each set of edges to its boundary, by joining the networks of
its two halves. A downward pass reduces what is outside each set to the same boundary, by joining
what is outside the set it was cut from with the other half. With that, the smallest sets are
networks of a few nodes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, connected_components

from zonodpp._arguments import physical_memory
from zonodpp._types import Floats, Integers
from zonodpp.numerics.compiled import jit

FEW = 64  # edges up to which a set is not halved; with 32, a large grid takes 1.5 times as long
HUGE = 2.0**996  # weights beyond this are scaled down, so that sums of them do not overflow
_SMALLER = 2.0**-24  # factor by which they are scaled
PACE = 2.5e9  # (nodes joined)^3 a second, for all three networks that join the two halves of a set
CALL = 1e-3  # seconds that a set of edges takes, however small it is
LONG = 60.0  # seconds from which on work is announced by a warning
_TERMINALS = 128  # ends of edges in the sets of items that one elimination serves


class Network:
    """Conductances between the nodes of a connected graph.

    Parameters
    ----------
    nodes : int
    tail, head : (n,) arrays of int
        The ends of the edges. Loops are left out.
    weights : (n,) array
        Positive edge weights.
    """

    def __init__(self, nodes: int, tail: Integers, head: Integers, weights: Floats) -> None:
        self.nodes, self.ends = nodes, np.array([tail, head], np.int64)
        self.scale = _SMALLER if weights.max(initial=1.0) > HUGE else 1.0
        self.weights = weights * self.scale
        # Parallel edges are one pair of nodes, with the sum of their weights.
        low, high = np.sort(self.ends, axis=0)
        numbers, self.pair_of = np.unique(low * nodes + high, return_inverse=True)
        self.pairs = np.array(np.divmod(numbers, nodes))
        self.conductance = np.bincount(self.pair_of, self.weights).astype(float)

    def marginals(self) -> Floats:
        """Probability of each edge: its weight over the effective conductance of its ends."""
        return np.minimum(self.weights / self._effective()[self.pair_of], 1.0)

    def log_total(self) -> float:
        """Log of the sum over all spanning trees of the product of their weights."""
        return self._reduce()[1] - (self.nodes - 1) * math.log(self.scale)

    def inclusion(self, sets: Integers) -> Floats:
        """Probability that all edges of a set are in the tree, for (count, k) edges.

        The network is reduced to the nodes that some sets touch. The probability is the product of
        the weights in the set, times the total weight of all trees with the set contracted, over
        the total weight of all trees.
        """
        result = np.zeros(len(sets))
        step = max(1, _TERMINALS // (2 * sets.shape[1]))
        for start in range(0, len(sets), step):
            chunk = sets[start : start + step]
            touched = np.unique(self.ends[:, chunk])
            reduced = self._reduce(touched)[0].inside
            log_total = eliminate(reduced.copy(), 0)
            for row, edges in enumerate(chunk, start):
                contracted = _contract(reduced, np.searchsorted(touched, self.ends[:, edges]))
                if contracted is not None:
                    log_share = eliminate(contracted, 0) - log_total
                    result[row] = math.exp(log_share + float(np.log(self.weights[edges]).sum()))
        return np.minimum(result, 1.0)

    def resistances(self, root: int) -> Floats:
        """Effective resistances between one node and all others, in units of the given weights."""
        others = np.delete(np.arange(self.nodes), root)
        tail, head = np.hstack([self.ends, [others, np.full_like(others, root)]])
        joined = Network(self.nodes, tail, head, np.append(self.weights, np.zeros(others.size)))
        effective = joined._effective()[joined.pair_of[self.weights.size :]]
        return np.insert(self.scale * joined.scale / effective, root, 0.0)

    def _effective(self) -> Floats:
        """Return the effective conductance between the nodes of each pair, infinite for loops."""
        effective = np.full(self.conductance.size, np.inf)
        waiting = [(self._reduce()[0], np.zeros((0, 0)))]  # nothing is outside of the whole graph
        while waiting:
            part, outside = waiting.pop()
            for half, other in zip(part.halves, reversed(part.halves), strict=True):
                parts = [(part.boundary, outside), (other.boundary, other.inside)]
                waiting.append((half, _join(parts, half.boundary)[0]))
            if not part.halves:
                nodes, M, ends = self._conductances(part.edges)
                places = np.searchsorted(nodes, part.boundary)
                M[places[:, None], places] += outside
                effective[part.edges] = _effective_conductances(M, ends)
        return effective

    def _reduce(self, top: Integers | None = None) -> tuple[_EdgeSet, float]:
        """Halve all pairs, and reduce all sets to their boundaries, the whole graph to ``top``.

        Returns the whole graph and the sum of log d_v of all nodes v that were removed.
        """
        proper = np.flatnonzero(np.not_equal(*self.pairs))  # loops are left out
        degree = np.bincount(self.pairs[:, proper].ravel(), minlength=self.nodes)
        if top is not None:
            degree[top] += 1  # as if each had one more edge: so they stay in all boundaries
        whole = halve_edges(self.pairs, proper, degree)
        sets = whole.all_sets()
        self._announce(sets)
        log_sum = 0.0
        for part in reversed(sets):  # halves before what they are halves of
            parts = [(half.boundary, half.inside) for half in part.halves]
            part.inside, log_d = _join(parts or [self._conductances(part.edges)[:2]], part.boundary)
            log_sum += log_d
        return whole, log_sum

    def _conductances(self, edges: Integers) -> tuple[Integers, Floats, Integers]:
        """Return the nodes of some pairs, conductances between them, and the ends of the pairs."""
        nodes, places = np.unique(self.pairs[:, edges], return_inverse=True)
        low, high = ends = places.reshape(2, -1)
        M = np.zeros((nodes.size, nodes.size))
        M[low, high] = M[high, low] = self.conductance[edges]
        return nodes, M, ends

    def _announce(self, sets: list[_EdgeSet]) -> None:
        """Warn before an elimination that takes long; MemoryError if it needs too much memory."""
        sizes = np.array([part.boundary.size for part in sets], dtype=np.float64)
        joined = [sum(half.boundary.size for half in part.halves) for part in sets]
        size, seconds = 8 * (sizes**2).sum(), np.power(joined, 3).sum() / PACE + CALL * sizes.size
        memory = physical_memory()
        need = (
            f"probabilities of edges in this graph of {self.nodes:,} nodes take about "
            f"{seconds / 60:,.0f} minutes and {size / 2**30:,.1f} GiB"
        )
        advice = "sample(target, 1000).marginals() estimates probabilities from draws"
        if size > memory:
            raise MemoryError(f"{need}, this machine has {memory / 2**30:,.0f}; {advice}")
        if seconds > LONG:
            warnings.warn(f"{need}; {advice}", stacklevel=5)


def _join(parts: Sequence[tuple[Integers, Floats]], kept: Integers) -> tuple[Floats, float]:
    """Add networks and reduce the sum to the nodes that are kept; return the sum of log d."""
    names = np.unique(np.concatenate([nodes for nodes, _ in parts]))
    later = ~np.isin(names, kept, assume_unique=True)
    place = np.argsort(np.argsort(later, kind="stable"))  # nodes that are kept come first
    M = np.zeros((names.size, names.size))
    for nodes, network in parts:
        places = place[np.searchsorted(names, nodes)]
        M[places[:, None], places] += network
    log_sum = eliminate(M, kept.size)
    return M[: kept.size, : kept.size].copy(), log_sum


def _contract(M: Floats, ends: Integers) -> Floats | None:
    """Return the network in which the two ends of each edge are one node; None for a cycle."""
    links = sp.coo_array((np.ones(ends.shape[1]), ends), shape=M.shape)
    parts, part = connected_components(links, directed=False)
    if parts != len(M) - ends.shape[1]:
        return None
    member = np.eye(parts)[part]
    return np.asarray(member.T @ M @ member)


@dataclass
class _EdgeSet:
    """Some edges of a graph, the nodes that they share with other edges, and its halves, if any.

    Once it is reduced, ``inside`` holds the conductances between the nodes of the boundary.
    """

    edges: Integers
    boundary: Integers
    halves: tuple[_EdgeSet, ...]
    inside: Floats

    def all_sets(self) -> list[_EdgeSet]:
        """Return the set itself and then its halves, each followed by its own halves, and so on."""
        return [self, *(part for half in self.halves for part in half.all_sets())]


def halve_edges(ends: Integers, edges: Integers, degree: Integers) -> _EdgeSet:
    """Halve some edges of a graph, down to a few; ``ends`` are those of all its edges, (2, n).

    A node is in the boundary of a set that has fewer than ``degree[v]`` edges at it.
    """
    nodes, places = np.unique(ends[:, edges], return_inverse=True)
    boundary = nodes[np.bincount(places.ravel()) < degree[nodes]]
    halves: tuple[_EdgeSet, ...] = ()
    if edges.size > FEW:
        local = places.reshape(2, -1).astype(np.int32)  # SciPy 1.13 takes only int32 for searches
        parts = np.array_split(edges[_search_order(local, nodes.size)], 2)
        halves = tuple(halve_edges(ends, part, degree) for part in parts)
    return _EdgeSet(edges, boundary, halves, np.zeros((0, 0)))


def _search_order(ends: NDArray[np.int32], count: int) -> Integers:
    """Sort edges by a breadth-first search from a node that is far from others.

    A search from the middle of the graph would meet nodes on two sides at a time, and the halves
    would share twice as many nodes.

    Edges are sorted by the second of their ends that the search meets. By the first one, halves of
    a dense graph would share far more nodes.
    """
    links = sp.csr_array((np.ones(ends.shape[1]), ends), shape=(count, count))
    # Link the components one after the other, so that one search meets all of them.
    first = np.unique(connected_components(links, directed=False)[1], return_index=True)[1]
    chain = first[:-1].astype(np.int32), first[1:].astype(np.int32)
    links += sp.csr_array((np.ones(first.size - 1), chain), links.shape)
    far = breadth_first_order(links, 0, directed=False)[0][-1]
    position = np.argsort(breadth_first_order(links, far, directed=False)[0])
    return np.lexsort(np.sort(position[ends], axis=0))


@jit
def eliminate(M: Floats, kept: int) -> float:
    """Remove all but the first nodes of a network in place; return the sum of log d_v.

    Entries of M below the diagonal are used, and those of the nodes kept are copied above it. A
    node without conductances is left alone. Of the two quotients c_vi / d_v and c_vj / d_v the
    larger one is computed, and multiplied by the other conductance: it underflows only where the
    product does not matter.
    """
    share = np.zeros(M.shape[0])
    log_sum = 0.0
    for v in range(M.shape[0] - 1, kept - 1, -1):
        row = M[v]
        degree = 0.0
        for j in range(v):
            degree += row[j]
        if degree > 0.0:
            log_sum += np.log(degree)
        else:
            degree = 1.0  # all shares are zero
        for j in range(v):
            share[j] = row[j] / degree
        for i in range(v):
            c, s = row[i], share[i]
            for j in range(i):
                M[i, j] += s * row[j] if c > row[j] else share[j] * c
    for i in range(kept):
        M[:i, i] = M[i, :i]
    return log_sum


@jit
def _effective_conductances(M: Floats, ends: Integers) -> Floats:
    """Return the effective conductances of some pairs of nodes, (2, pairs), in a network."""
    size = M.shape[0]
    result = np.empty(ends.shape[1])
    reduced = np.empty_like(M)
    for k in range(ends.shape[1]):
        first, last = min(ends[:, k]), max(ends[:, k])
        order = np.arange(size)  # in which these two nodes come first
        order[0], order[first] = order[first], order[0]
        order[1], order[last] = order[last], order[1]
        for i in range(size):
            for j in range(i):
                reduced[i, j] = M[order[i], order[j]]
        eliminate(reduced, 2)
        result[k] = reduced[1, 0]
    return result
