"""A graph as an electrical network: probabilities of edges and the cost of random walks."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import NamedTuple

import numpy as np

from zonodpp._types import Floats, Integers
from zonodpp.arguments import physical_memory
from zonodpp.linalg.columns import frozen
from zonodpp.targets.blocks import link_nodes
from zonodpp.targets.conductances import (
    WIDE,
    eliminate,
    inner_network,
    keep,
    reduce_inside,
    reduce_outside,
)
from zonodpp.targets.dissection import Dissection, dissect

HUGE = 2.0**996  # weights beyond this are scaled down, so that sums of them do not overflow
SMALLER = 2.0**-24  # factor by which they are scaled
PACE = 2.5e9  # operations a second: 7e10 for a grid of 1,000 x 1,000 nodes took 28 s
BITE = 2e8  # operations after which Python has control, so that Ctrl-C is heard
LONG = 60.0  # seconds from which on work is announced by a warning
TERMINALS = 128  # nodes that sets of edges may touch to be served by one elimination
FEW_EDGES = 64  # single edges up to which one elimination for them is cheaper than one for all
NONE = np.empty(0, np.int64)


class Elimination(NamedTuple):
    """An elimination that is ready to run: parts of the graph, and pairs sorted by their parts."""

    parts: Dissection
    edges: Integers
    ends: Integers
    room: Integers
    order: Integers
    work: Floats  # operations that each part takes

    def spans(self, first: int = 0) -> list[tuple[int, int]]:
        """Cut the parts from the first on into runs of not too much work."""
        cuts = np.flatnonzero(np.diff(np.cumsum(self.work[first:]) // BITE)) + 1 + first
        ends = [first, *cuts.tolist(), self.work.size]
        return list(itertools.pairwise(ends))


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
        pairs, place = np.unique(low[proper] * nodes + high[proper], return_inverse=True)
        self.pair = np.full(tail.size, -1)
        self.pair[proper] = place
        self.low, self.high = np.divmod(pairs, nodes)
        self.conductance: Floats = np.bincount(place, self.weights[proper], pairs.size).astype(
            float
        )

    def marginals(self) -> Floats:
        """Probability of each edge: its weight over the effective conductance of its ends."""
        plan = self._plan(self.low, self.high, NONE)
        effective = self._effective(plan, self.conductance)
        result = np.zeros(self.tail.size)
        inside = self.pair >= 0
        result[inside] = self.weights[inside] / effective[self.pair[inside]]
        return np.minimum(result, 1.0)

    def log_total(self) -> float:
        """Log of the sum over all spanning trees of the product of their weights."""
        plan = self._plan(self.low, self.high, NONE)
        _, log_sum = self._inside(plan, self.conductance, 0)
        return log_sum - (self.nodes - 1) * math.log(self.scale)

    def inclusion(self, sets: Integers) -> Floats:
        """Probability that all edges of a set are in the tree, for (count, k) edges.

        The network is reduced to the nodes that some sets touch. There it is the total weight of
        all trees, with the set contracted, over the total without.
        """
        k = sets.shape[1]
        if k == 0:
            return np.ones(len(sets))
        if k == 1 and len(sets) > FEW_EDGES:
            return self.marginals()[sets[:, 0]]
        result = np.zeros(len(sets))
        step = max(1, TERMINALS // (2 * k))
        for start in range(0, len(sets), step):
            chunk = sets[start : start + step]
            top = np.unique(np.concatenate([self.tail[chunk].ravel(), self.head[chunk].ravel()]))
            M = self._reduced(top)
            for row, edges in enumerate(chunk):
                ends = np.searchsorted(top, [self.tail[edges], self.head[edges]])
                own, place = np.unique(ends, return_inverse=True)
                small = keep(M, own, self.wide)
                result[start + row] = self._share(small, place.reshape(2, k), self.weights[edges])
        return result

    def _share(self, M: Floats, ends: Integers, weights: Floats) -> float:
        """Return the share in the weight of all trees of those that hold some edges."""
        size = len(M)
        part = np.arange(size)
        for u, v in ends.T:
            if part[u] == part[v]:
                return 0.0
            part[part == part[v]] = part[u]
        names, part = np.unique(part, return_inverse=True)
        contracted = np.zeros((names.size, names.size))
        i, j = np.triu_indices(size, 1)
        low, high = np.minimum(part[i], part[j]), np.maximum(part[i], part[j])
        np.add.at(contracted, (low, high), M[i, j])
        log_share = eliminate(contracted, names.size - 1, self.wide)
        log_share -= eliminate(M.copy(), size - 1, self.wide)
        return min(1.0, math.exp(log_share + float(np.log(weights).sum())))

    def resistances(self, root: int) -> Floats:
        """Effective resistances between one node and all others, in units of the given weights."""
        others = np.delete(np.arange(self.nodes), root)
        pairs = np.unique(
            np.concatenate(
                [
                    self.low * self.nodes + self.high,
                    np.minimum(others, root) * self.nodes + np.maximum(others, root),
                ]
            )
        )
        known = np.searchsorted(pairs, self.low * self.nodes + self.high)
        weights = np.zeros(pairs.size)
        weights[known] = self.conductance
        low, high = np.divmod(pairs, self.nodes)
        effective = self._effective(self._plan(low, high, np.array([root])), weights)
        result = np.zeros(self.nodes)
        touching = (low == root) | (high == root)
        result[(low + high - root)[touching]] = self.scale / effective[touching]
        return result

    def _reduced(self, top: Integers) -> Floats:
        """Return the network that all other nodes leave on those in ``top``."""
        plan = self._plan(self.low, self.high, top)
        store, _ = self._inside(plan, self.conductance, 1)
        place = np.empty(self.nodes, np.int64)
        weights = self.conductance[plan.order]
        M: Floats = inner_network(0, *plan[:3], weights, plan.room, store, place)
        return M

    def _plan(self, low: Integers, high: Integers, top: Integers) -> Elimination:
        indptr, neighbour, _ = link_nodes(self.nodes, frozen(low, np.int64), frozen(high, np.int64))
        parts = dissect(indptr, neighbour, top)
        owner = np.maximum(parts.owner[low], parts.owner[high])
        order = np.argsort(owner, kind="stable")
        edges = np.searchsorted(owner[order], np.arange(parts.first.size + 1))
        outer = np.diff(parts.start)
        room = np.concatenate([[0], np.cumsum(outer**2)])
        work = (parts.last - parts.first + outer).astype(float) ** 3
        plan = Elimination(parts, edges, np.column_stack([low, high])[order], room, order, work)
        self._announce(plan)
        return plan

    def _announce(self, plan: Elimination) -> None:
        """Say before it starts that an elimination takes long, or more memory than there is."""
        size, seconds = 8 * int(plan.room[-1]), plan.work.sum() / PACE
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

    def _inside(self, plan: Elimination, weights: Floats, first: int) -> tuple[Floats, float]:
        """Reduce all parts from the first on; return what they leave and the sum of log d."""
        store = np.empty(plan.room[-1])
        log_sum = 0.0
        place = np.empty(self.nodes, np.int64)
        weights = weights[plan.order]
        for span in reversed(plan.spans(first)):
            log_sum += reduce_inside(span, *plan[:3], weights, plan.room, store, place, self.wide)
        return store, log_sum

    def _effective(self, plan: Elimination, weights: Floats) -> Floats:
        """Return the effective conductances of all pairs."""
        store, _ = self._inside(plan, weights, 0)
        result = np.empty(weights.size)
        place = np.empty(self.nodes, np.int64)
        weights = weights[plan.order]
        for span in plan.spans():
            reduce_outside(span, *plan[:3], weights, plan.room, store, place, self.wide, result)
        effective = np.empty(weights.size)
        effective[plan.order] = result
        return effective
