"""What Wilson's random walk costs on a graph: roots of its blocks, and expected steps."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from zonodpp._types import Floats, Integers
from zonodpp.samplers import remember
from zonodpp.targets.blocks import Blocks, Indices, blocks_of
from zonodpp.targets.network import Network
from zonodpp.targets.spanning_trees import LARGE_GRAPH
from zonodpp.targets.target import Target

MANY_STEPS = 10**8  # a second or more for one tree: worth a word before it begins
PACE = 1e8  # steps a second, about
# r^3 log r over this is the time of an exact draw, in seconds, where weights that lie far apart
# make the columns dense: 258 s were measured at r = 4,000.
DENSE_PACE = 2e9
LARGEST = 1e290  # weights are scaled to be no larger, so that degrees do not overflow


class WalkPlan(NamedTuple):
    """A graph's blocks, the weights of their edges, their roots, and the expected steps."""

    blocks: Blocks
    weights: Floats
    roots: Integers
    steps: float


def expected_steps(target: Target) -> float:
    """Mean number of steps of Wilson's walk for one tree: the sum of d_v R(v, root).

    An upper bound, with shortest paths in place of resistances, if that is below
    `steps_of_exact`; if not, exact but for blocks that hardly count. NaN beyond 6,000 nodes, where
    no other method draws independently.

    Examples
    --------
    >>> import networkx as nx
    >>> from zonodpp import ProjectionDPP
    >>> expected_steps(ProjectionDPP.from_graph(nx.complete_graph(10)))
    81.0
    """
    return plan_walk(target).steps


def steps_of_exact(r: int) -> float:
    """Return how many steps of the walk take as long as one draw of the exact sampler."""
    return r**3 / 60 + 10 * r


def announce_exact(target: Target) -> None:
    """Warn, if it takes long, that draws are left to the exact sampler."""
    seconds = target.r**3 * math.log(target.r + 1) / DENSE_PACE
    if seconds > 1.0:
        warnings.warn(
            f"edge weights trap the random walk ({expected_steps(target):.0e} steps a tree), so "
            f"method='exact' is used; on a graph of {target.r + 1:,} nodes it takes a while to "
            f"prepare, and then about {seconds:,.0f} seconds a tree",
            stacklevel=4,
        )


def steps_in_words(steps: float) -> str:
    """Return a number of steps and the time they take."""
    return f"{steps:.0e} steps of a random walk, about {steps / PACE:,.0f} seconds"


def plan_walk(target: Target) -> WalkPlan:
    """Return the plan of a walk, which is remembered: choosing a method needs it, and preparing."""
    return remember(target, "walk", lambda: _make_plan(target))


def _make_plan(target: Target) -> WalkPlan:
    """Choose roots and find the expected steps.

    Every root gives the same law. A root drawn in proportion to degree takes at most twice the
    steps of the best on average (Kemeny's constant bounds them), so the heaviest node is good.
    """
    if target.graph is None or "trees" not in target.methods:
        raise ValueError(
            "method='trees' draws spanning trees, from targets made with "
            f"ProjectionDPP.from_graph(G); got {target!r}: use method='auto'"
        )
    blocks = blocks_of(target.graph)
    weights = np.ones(blocks.edge.size)
    if target.weights is not None:
        weights = (target.weights / max(1.0, target.weights.max() / LARGEST))[blocks.edge]
    degree = np.add.reduceat(weights, blocks.indptr[:-1])
    heaviest = np.maximum.reduceat(degree, blocks.starts[:-1])
    ties = np.flatnonzero(degree == np.repeat(heaviest, np.diff(blocks.starts)))
    bounds = np.searchsorted(ties, blocks.starts)
    roots = ties[(bounds[:-1] + bounds[1:]) // 2]  # the middle one of each block's
    steps = np.nan
    if target.graph.nodes <= LARGE_GRAPH:
        steps = float(steps_by_block(blocks, weights, roots, steps_of_exact(target.r)).sum())
    return WalkPlan(blocks, weights, roots, steps)


def steps_by_block(
    blocks: Blocks, weights: Floats, roots: Indices | Integers, enough: float
) -> Floats:
    """Return the expected steps in each block, or bounds if their sum is at most ``enough``.

    A resistance is at most that of the shortest path. Where that makes too many steps, the
    resistances themselves are computed, but for blocks that hardly count.
    """
    degree = np.add.reduceat(weights, blocks.indptr[:-1])
    with np.errstate(over="ignore"):
        links = sp.csr_array((1.0 / weights, blocks.neighbour, blocks.indptr))
        paths = degree * dijkstra(links, indices=roots, min_only=True)
    steps = np.add.reduceat(paths, blocks.starts[:-1])
    if steps.sum() <= enough:
        return steps
    for b in np.flatnonzero(steps > enough / steps.size):
        first, last = blocks.starts[b], blocks.starts[b + 1]
        cells = slice(blocks.indptr[first], blocks.indptr[last])
        tail = np.repeat(np.arange(last - first), np.diff(blocks.indptr[first : last + 1]))
        head = blocks.neighbour[cells].astype(np.int64) - first
        once = tail < head
        network = Network(last - first, tail[once], head[once], weights[cells][once])
        steps[b] = degree[first:last] @ network.resistances(int(roots[b] - first))
    return steps
