"""A graph as an electrical network: probabilities of edges and the cost of random walks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from zonodpp._types import Floats, Integers
from zonodpp.arguments import physical_memory
from zonodpp.targets.elimination import EdgeSet, effective_conductances, eliminate, halve_edges

HUGE = 2.0**996  # weights beyond this are scaled down, so that sums of them do not overflow
SMALLER = 2.0**-24  # factor by which they are scaled
PACE = 2.5e9  # cubes of nodes a second, of the three networks that are made of two halves
CALL = 1e-3  # seconds that a set of edges takes, however small it is
LONG = 60.0  # seconds from which on work is announced by a warning
TERMINALS = 128  # nodes that sets of edges may touch to be served by one elimination


class Network:
    """Conductances between the nodes of a connected graph; parallel edges are one pair.

    Parameters
    ----------
    nodes : int
    tail, head : (n,) arrays of int
        The ends of the edges. Loops are left out.
    weights : (n,) array
        Positive edge weights.
    """

    def __init__(self, nodes: int, tail: Integers, head: Integers, weights: Floats) -> None:
        self.nodes, self.tail, self.head = nodes, tail, head
        self.scale = SMALLER if weights.max(initial=1.0) > HUGE else 1.0
        self.weights = weights * self.scale
        low, high = np.minimum(tail, head), np.maximum(tail, head)
        proper = np.flatnonzero(low != high)
        self.pairs, place = np.unique(low[proper] * nodes + high[proper], return_inverse=True)
        self.pair_of = np.full(tail.size, -1)
        self.pair_of[proper] = place
        self.conductance: Floats = np.bincount(place, self.weights[proper]).astype(float)

    def marginals(self) -> Floats:
        """Probability of each edge: its weight over the effective conductance of its ends."""
        effective = self._effective()
        result = np.zeros(self.tail.size)
        proper = self.pair_of >= 0
        result[proper] = self.weights[proper] / effective[self.pair_of[proper]]
        return np.minimum(result, 1.0)

    def log_total(self) -> float:
        """Log of the sum over all spanning trees of the product of their weights."""
        _, _, log_sum = self._inside()
        return float(log_sum - (self.nodes - 1) * math.log(self.scale))

    def inclusion(self, sets: Integers) -> Floats:
        """Probability that all edges of a set are in the tree, for (count, k) edges.

        The network is reduced to the nodes that some sets touch. There it is the total weight of
        all trees, with the set contracted, over the total without.
        """
        result = np.zeros(len(sets))
        step = max(1, TERMINALS // (2 * sets.shape[1]))
        for start in range(0, len(sets), step):
            chunk = sets[start : start + step]
            touched = np.union1d(self.tail[chunk], self.head[chunk])
            _, inside, _ = self._inside(touched)
            log_total = eliminate(inside[0].copy(), 0)
            for row, edges in enumerate(chunk, start):
                ends = np.searchsorted(touched, [self.tail[edges], self.head[edges]])
                contracted = _contract(inside[0], ends)
                if contracted is not None:
                    log_share = eliminate(contracted, 0) - log_total
                    result[row] = math.exp(log_share + float(np.log(self.weights[edges]).sum()))
        return np.minimum(result, 1.0)

    def resistances(self, root: int) -> Floats:
        """Effective resistances between one node and all others, in units of the given weights."""
        others = np.delete(np.arange(self.nodes), root)
        tail, head = np.append(self.tail, others), np.append(self.head, np.full_like(others, root))
        joined = Network(self.nodes, tail, head, np.append(self.weights, np.zeros(others.size)))
        effective = joined._effective()[joined.pair_of[self.tail.size :]]
        return np.insert(self.scale / effective, root, 0.0)

    def _effective(self) -> Floats:
        """Return the effective conductances of all pairs."""
        sets, inside, _ = self._inside()
        outside = {0: np.zeros((0, 0))}  # nothing is outside of the whole graph
        effective = np.empty(self.pairs.size)
        for t, (edges, boundary, second) in enumerate(sets):
            around = outside.pop(t)
            if second:
                for half, other in ((t + 1, second), (second, t + 1)):
                    parts = [(boundary, around), (sets[other].boundary, inside[other])]
                    outside[half] = _join(parts, sets[half].boundary)[0]
            else:
                nodes, M, ends = self._network(edges)
                places = np.searchsorted(nodes, boundary)
                M[places[:, None], places] += around
                effective[edges] = effective_conductances(M, ends)
        return effective

    def _inside(self, top: Integers | None = None) -> tuple[list[EdgeSet], list[Floats], float]:
        """Reduce sets of pairs to their boundaries, all to ``top``; return the sum of log d."""
        low, high = np.divmod(self.pairs, self.nodes)
        degree = np.bincount(np.concatenate([low, high]), minlength=self.nodes)
        if top is not None:
            degree[top] += 1  # as if more edges were there: then they stay in all boundaries
        sets = halve_edges(low, high, degree)
        self._announce(sets)
        inside = [np.zeros((0, 0))] * len(sets)
        log_sum = 0.0
        for t in range(len(sets) - 1, -1, -1):
            edges, boundary, second = sets[t]
            if second:
                parts = [(sets[half].boundary, inside[half]) for half in (t + 1, second)]
            else:
                parts = [self._network(edges)[:2]]
            inside[t], log_d = _join(parts, boundary)
            log_sum += log_d
        return sets, inside, log_sum

    def _network(self, edges: Integers) -> tuple[Integers, Floats, Integers]:
        """Return the nodes of some pairs, conductances between them, and the ends of the pairs."""
        nodes, places = np.unique(np.divmod(self.pairs[edges], self.nodes), return_inverse=True)
        low, high = ends = places.reshape(2, -1)
        M = np.zeros((nodes.size, nodes.size))
        M[low, high] = M[high, low] = self.conductance[edges]
        return nodes, M, ends

    def _announce(self, sets: list[EdgeSet]) -> None:
        """Say before it starts that an elimination takes long, or more memory than there is."""
        sizes = np.array([part.boundary.size for part in sets], dtype=np.float64)
        joined = [sizes[t + 1] + sizes[part.second] for t, part in enumerate(sets) if part.second]
        size, seconds = 8 * (sizes**2).sum(), np.power(joined, 3).sum() / PACE + CALL * sizes.size
        way_out = "sample(target, 1000).marginals() estimates probabilities from draws"
        memory = physical_memory()
        if size > memory:
            raise MemoryError(
                f"probabilities of edges in a graph of {self.nodes:,} nodes take about "
                f"{size / 2**30:,.0f} GiB, this machine has {memory / 2**30:,.0f}; {way_out}"
            )
        if seconds > LONG:
            warnings.warn(
                f"probabilities of edges in this graph of {self.nodes:,} nodes take about "
                f"{seconds / 60:,.0f} minutes and {size / 2**30:,.1f} GiB; {way_out}",
                stacklevel=5,
            )


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
