"""A graph as an electrical network: probabilities of edges and the cost of random walks."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from zonodpp._types import Floats, Integers
from zonodpp.arguments import physical_memory
from zonodpp.targets.elimination import (
    EdgeTree,
    eliminate,
    halve_edges,
    reduce_sets,
)

HUGE = 2.0**996  # weights beyond this are scaled down, so that sums of them do not overflow
SMALLER = 2.0**-24  # factor by which they are scaled
WIDE = 1e300  # ratio of weights from which on a conductance over a degree may underflow
PACE = 7e9  # operations a second: 1.7e11 for a grid of 1,000 x 1,000 nodes took 24 s
BITE = 1e9  # operations after which Python has control, so that Ctrl-C is heard
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
        largest = float(weights.max(initial=1.0))
        self.wide = float(weights.min(initial=1.0)) < largest / WIDE
        self.scale = SMALLER if largest > HUGE else 1.0
        self.weights = weights * self.scale
        low, high = np.minimum(tail, head), np.maximum(tail, head)
        proper = np.flatnonzero(low != high)
        self.pairs, place = np.unique(low[proper] * nodes + high[proper], return_inverse=True)
        self.pair_of = np.full(tail.size, -1)
        self.pair_of[proper] = place
        self.conductance: Floats = np.bincount(place, self.weights[proper]).astype(float)

    def marginals(self) -> Floats:
        """Probability of each edge: its weight over the effective conductance of its ends."""
        effective = self._effective(self.pairs, self.conductance)
        result = np.zeros(self.tail.size)
        proper = self.pair_of >= 0
        result[proper] = self.weights[proper] / effective[self.pair_of[proper]]
        return np.minimum(result, 1.0)

    def log_total(self) -> float:
        """Log of the sum over all spanning trees of the product of their weights."""
        tree, store, log_sum = self._inside(self.pairs, self.conductance)
        log_sum += eliminate(_square(tree, store), 0, self.wide)
        return float(log_sum - (self.nodes - 1) * math.log(self.scale))

    def inclusion(self, sets: Integers) -> Floats:
        """Probability that all edges of a set are in the tree, for (count, k) edges.

        The network is reduced to the nodes that some sets touch. There it is the total weight of
        all trees, with the set contracted, over the total without.
        """
        k = sets.shape[1]
        if k == 0:
            return np.ones(len(sets))
        result = np.zeros(len(sets))
        place = np.empty(self.nodes, np.int64)
        step = max(1, TERMINALS // (2 * k))
        for start in range(0, len(sets), step):
            chunk = sets[start : start + step]
            touched = np.union1d(self.tail[chunk], self.head[chunk])
            tree, store, _ = self._inside(self.pairs, self.conductance, touched)
            place[tree.boundary[: tree.start[1]]] = np.arange(touched.size)
            M = _square(tree, store)
            log_total = eliminate(M.copy(), 0, self.wide)
            for row, edges in enumerate(chunk, start):
                ends = np.column_stack([place[self.tail[edges]], place[self.head[edges]]])
                contracted = _contract(M, ends)
                if contracted is not None:
                    log_share = eliminate(contracted, 0, self.wide) - log_total
                    result[row] = math.exp(log_share + float(np.log(self.weights[edges]).sum()))
        return np.minimum(result, 1.0)

    def resistances(self, root: int) -> Floats:
        """Effective resistances between one node and all others, in units of the given weights."""
        others = np.delete(np.arange(self.nodes), root)
        to_root = np.minimum(others, root) * self.nodes + np.maximum(others, root)
        pairs = np.union1d(self.pairs, to_root)
        weights = np.zeros(pairs.size)
        weights[np.searchsorted(pairs, self.pairs)] = self.conductance
        effective = self._effective(pairs, weights)[np.searchsorted(pairs, to_root)]
        return np.insert(self.scale / effective, root, 0.0)

    def _effective(self, pairs: Integers, weights: Floats) -> Floats:
        """Return the effective conductances of all pairs."""
        tree, store, _ = self._inside(pairs, weights)
        store[: tree.offset[1]] = 0.0  # nothing is outside of the whole graph
        place = np.full(self.nodes, -1)
        for span in _spans(tree):
            reduce_sets(span, False, tree, store, place, self.wide)
        effective = weights.copy()
        effective[tree.order] += store[tree.offset[:-1][tree.second == 0]]
        return effective

    def _inside(
        self, pairs: Integers, weights: Floats, top: Integers | None = None
    ) -> tuple[EdgeTree, Floats, float]:
        """Reduce the network of some pairs to the nodes in ``top``; return the sum of log d."""
        low, high = np.divmod(pairs, self.nodes)
        degree = np.bincount(np.concatenate([low, high]), minlength=self.nodes)
        if top is not None:
            degree[top] += 1  # as if more edges were there: then they stay in all boundaries
        order, second, start, boundary = halve_edges(low, high, degree)
        size = np.diff(start)
        offset = np.concatenate([[0], np.cumsum(size * (size - 1) // 2)])
        tree = EdgeTree(order, second, start, boundary, offset)
        self._announce(tree)
        store = np.empty(offset[-1])
        store[offset[:-1][second == 0]] = weights[order]
        place = np.full(self.nodes, -1)
        log_sum = 0.0
        for span in reversed(_spans(tree)):
            log_sum += reduce_sets(span, True, tree, store, place, self.wide)
        return tree, store, log_sum

    def _announce(self, tree: EdgeTree) -> None:
        """Say before it starts that an elimination takes long, or more memory than there is."""
        size, seconds = 8 * int(tree.offset[-1]), _work(tree).sum() / PACE
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


def _work(tree: EdgeTree) -> Floats:
    """Return about how many operations each set takes: the cube of the nodes of its halves."""
    size = np.diff(tree.start)
    halves = size[np.minimum(np.arange(size.size) + 1, size.size - 1)] + size[tree.second]
    return np.where(tree.second > 0, halves.astype(float) ** 3, 1.0)


def _spans(tree: EdgeTree) -> list[tuple[int, int]]:
    """Cut the sets of edges into runs of not too much work."""
    cuts = np.flatnonzero(np.diff(np.cumsum(_work(tree)) // BITE)) + 1
    return list(itertools.pairwise([0, *cuts.tolist(), tree.second.size]))


def _square(tree: EdgeTree, store: Floats) -> Floats:
    """Return the network that is left of the whole graph."""
    size = int(tree.start[1])
    M = np.zeros((size, size))
    M[np.tril_indices(size, -1)] = store[: tree.offset[1]]
    return M


def _contract(M: Floats, ends: Integers) -> Floats | None:
    """Return the network in which the two ends of each edge are one node; None for a cycle."""
    links = sp.coo_array((np.ones(len(ends)), ends.T), shape=M.shape)
    parts, part = connected_components(links, directed=False)
    if parts != len(M) - len(ends):
        return None
    member = np.eye(parts)[part]
    return np.asarray(member.T @ (M + M.T) @ member)
