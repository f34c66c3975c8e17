"""Random spanning trees of a graph, independent draws by random walks.

``wilson`` walks from each node in turn to the tree built so far, which starts as a root, and adds
the path with its loops erased (Wilson 1996). It takes the sum over nodes v of d_v R(v, root) steps
on average, with d the weighted degree and R the effective resistance: a few steps a node on grids
and random graphs.
``aldous-broder`` walks until all nodes are visited and keeps the edges of first entrance (Aldous
1990, Broder 1989). The number of steps is the cover time, which is long if all edges of a node are
light.

A step takes constant time, by one alias table for each node. Each block (2-connected part) of the
graph is drawn by itself, so that a bridge costs one step however light it is. Within a block, edges
that are very much heavier than those around may still trap the walk: `Trees.prepare` finds this out
on graphs small enough for the exact sampler. On larger graphs, a draw that takes long warns how
long it is expected to take. Compiled code returns after a bounded number of steps; a tree that is
not finished by then stays in the chain's state, and the next call goes on with it. If such trees
were begun anew, the sampler might never finish one, and ``aldous-broder`` would draw trees that
take long too rarely.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from zonodpp._arguments import one_of
from zonodpp._types import Floats, Integers, Rng
from zonodpp.chains.contract import Block, Sampler, State, need_between
from zonodpp.chains.tracking import TrackedSets
from zonodpp.numerics.alias import alias_table
from zonodpp.numerics.arguments import address_of
from zonodpp.numerics.arrays import frozen
from zonodpp.numerics.threads import one_thread
from zonodpp.targets.base import Target
from zonodpp.targets.blocks import Blocks, Indices, blocks_of
from zonodpp.targets.network import Network
from zonodpp.targets.spanning_trees import LARGE_GRAPH
from zonodpp.trees.walks import STEPS, TREE_STEPS, TreeWalk, draw_trees

# Steps of one call of compiled code: 10 ms, or 0.1 s if the graph is larger than the caches.
CALL_STEPS = 10**6
MANY_STEPS = 10**8  # steps of one tree, a second or more, beyond which a warning is given
PACE = 1e8  # steps of a walk in a second, about: more where a cache holds the graph, else fewer
# r^3 log r over this is the time of an exact draw, in seconds, where weights that lie far apart
# make the columns dense: 258 s were measured at r = 4,000.
_DENSE_PACE = 2e9
LARGEST = 1e290  # weights are scaled to be no larger, so that degrees do not overflow


@dataclass(frozen=True)
class Trees:
    """Independent spanning trees of a graph, by random walks.

    Parameters
    ----------
    algorithm : {"wilson", "aldous-broder"}
        Loop-erased walks, or one walk until every node has been seen.

    See Also
    --------
    ProjectionDPP.from_graph : The target.
    Exact : The same law by linear algebra, whose time no weight changes.
    sample : Where to pass it.

    References
    ----------
    D. B. Wilson, "Generating random spanning trees more quickly than the cover time", STOC 1996.

    D. J. Aldous, "The random walk construction of uniform spanning trees and uniform labelled
    trees", SIAM Journal on Discrete Mathematics 3 (1990).

    A. Broder, "Generating random spanning trees", FOCS 1989.

    Examples
    --------
    >>> import networkx as nx
    >>> from zonodpp import ProjectionDPP, Trees, sample
    >>> target = ProjectionDPP.from_graph(nx.complete_graph(10))
    >>> sample(target, 100, method=Trees(), rng=0).subsets.shape
    (1, 100, 9)
    """

    algorithm: str = "wilson"
    name: ClassVar[str] = "trees"

    def __post_init__(self) -> None:
        one_of(self.algorithm, "algorithm", ("wilson", "aldous-broder"))

    def suits(self, target: Target) -> bool:
        """Tell whether a walk is expected to be cheaper than an exact draw by linear algebra."""
        steps = _walk_of(target).steps
        # NaN, for graphs too large to tell, means a walk as well: nothing else draws there.
        if not steps > steps_of_exact(target.r):
            return True
        seconds = target.r**3 * math.log(target.r + 1) / _DENSE_PACE
        if seconds > 1.0:
            warnings.warn(
                f"edge weights trap the random walk ({steps:.0e} steps a tree), so method='exact' "
                f"is used; on a graph of {target.r + 1:,} nodes it takes a while to prepare, and "
                f"then about {seconds:,.0f} seconds a tree",
                stacklevel=6,  # the caller of `sample` or `prepare`
            )
        return False

    def prepare(self, target: Target) -> Sampler:
        """Cut the graph into blocks and build the tables that steps are drawn by.

        Raises
        ------
        ValueError
            When the target is not made from a graph, or a walk would take far longer than the exact
            sampler.

        Warns
        -----
        UserWarning
            When one tree is expected to take long.
        """
        sampler = _walk_of(target)
        steps = sampler.steps
        if steps > max(MANY_STEPS, steps_of_exact(target.r)):
            raise ValueError(
                f"a spanning tree of this graph would take {min(steps, 1e16):.0e} steps of a "
                "random walk, which heavy edges trap; use method='exact', whose time no weight "
                "changes"
            )
        if steps > MANY_STEPS:
            warnings.warn(f"a spanning tree {_cost_in_words(steps)}", stacklevel=3)
        return replace(sampler, algorithm=self.algorithm)


@dataclass(frozen=True)
class TreeDraws:
    """A prepared sampler of spanning trees."""

    algorithm: str
    width: int
    walk: TreeWalk
    weights: Floats  # of the edges of all blocks
    # Steps that a tree is expected to take, the sum of d_v R(v, root). An upper bound, by shortest
    # paths in place of resistances, if that is below `steps_of_exact`; if not, exact except for
    # blocks that contribute little. NaN beyond 6,000 nodes, where no other method draws
    # independently.
    steps: float
    n: int
    counters: ClassVar[tuple[str, ...]] = ("draws", "steps")
    independent: ClassVar[bool] = True
    batch: ClassVar[int | None] = 1

    def start(self, rngs: Sequence[Rng], init: Integers | None, sets: TrackedSets) -> State:
        """Return a state in which no tree is under way.

        ``tree[v]`` is the cell that joins node v to the tree, or negative: v is not reached yet,
        and ``~tree[v]`` is the cell by which the walk left it last. Roots have the number of cells.
        ``under_way`` holds the node that is to be reached next (the number of nodes, if all are
        reached), the node where the walk is, and its steps so far.
        """
        nodes = self.walk.blocks.indptr.size - 1
        return {
            "counts": np.zeros((1, len(self.counters)), np.int64),
            "tree": np.zeros((1, nodes), np.int32),
            "under_way": np.array([[nodes, 0, 0]]),
        }

    def advance(self, state: State, rngs: Sequence[Rng], block: Block, sets: TrackedSets) -> int:
        """Draw trees, by `CALL_STEPS` steps at most; return how many are finished."""
        [rng], [subsets], [counts] = rngs, block.subsets, state["counts"]
        [tree], [under_way] = state["tree"], state["under_way"]
        before = under_way[STEPS]
        wilson = self.algorithm == "wilson"
        made: int = draw_trees(
            address_of(rng), wilson, self.walk, CALL_STEPS, subsets, tree, under_way, counts
        )
        grown_long = before < MANY_STEPS <= under_way[STEPS]
        # Where finished trees took as many steps together, the warning may have been given before.
        if np.isnan(self.steps) and grown_long and counts[TREE_STEPS] < MANY_STEPS:
            self._announce()
        subsets[:made].sort(axis=1)
        return made

    def check(self, state: State) -> None:
        """Check the tree that is under way: all its numbers are used as indices."""
        starts, indptr, _, edge = self.walk.blocks
        [tree], [under_way] = state["tree"], state["under_way"]
        start, node, steps = under_way
        if start == indptr.size - 1 and node == steps == 0:
            return  # the next tree begins with an empty array
        need_between(under_way[:STEPS], 0, indptr.size - 2, "nodes of the walk")
        need_between(under_way[STEPS:], 0, 2**62, "steps of the walk")
        cells = np.maximum(tree, ~tree)
        need_between(np.delete(cells, self.walk.roots), 0, edge.size - 1, "edges of the tree")
        need_between(tree[self.walk.roots], edge.size, edge.size, "roots of the tree")
        block, same = np.searchsorted(starts, [start, node], side="right")
        if block != same:
            raise ValueError(f"node {node} and node {start} are not in one block of the graph")

    def _announce(self) -> None:
        """Say how long a tree takes that was not finished after `MANY_STEPS`."""
        if self.algorithm == "wilson":
            blocks, roots = self.walk.blocks, self.walk.roots
            cost = _cost_in_words(_expected_steps(blocks, self.weights, roots, MANY_STEPS))
        else:
            cost = "may take much longer; algorithm='wilson' takes fewer steps"
        warnings.warn(
            f"a spanning tree is not finished after {MANY_STEPS:.0e} steps of the random walk and "
            f"{cost}; edge weights trap the walk, or the graph is long and thin",
            stacklevel=2,
        )


def steps_of_exact(r: int) -> float:
    """Return how many steps of the walk take as long as one draw of the exact sampler.

    It fits, at `PACE`, the times that were measured on grids: 5 us at r = 24, 14 ms at r = 399.
    """
    return r**3 / 60 + 10 * r


def _cost_in_words(steps: float) -> str:
    """Say how many steps a tree takes, and how long."""
    seconds = steps / PACE
    return f"is expected to take {steps:.0e} steps of a random walk, about {seconds:,.0f} seconds"


def _walk_of(target: Target) -> TreeDraws:
    """Return the walk on a graph; the target keeps it, for `suits` and `prepare` both need it."""
    found: TreeDraws | None = target.prepared.get(Trees.name)
    if found is None:
        with one_thread(target.r**2 * target.n):
            found = target.prepared[Trees.name] = _make_walk(target)
    return found


def _make_walk(target: Target) -> TreeDraws:
    """Cut the graph into blocks, choose their roots, and build the tables that steps are drawn by.

    Any root gives the same law. A root drawn in proportion to degree takes at most twice the
    steps of the best on average (Kemeny's constant bounds them), so the heaviest node is good.
    """
    if target.graph is None:
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
    roots = frozen(ties[(bounds[:-1] + bounds[1:]) // 2], np.int32)  # the middle one of each block
    steps = np.nan
    if target.graph.nodes <= LARGE_GRAPH:
        steps = _expected_steps(blocks, weights, roots, steps_of_exact(target.r))
    share, other = np.empty(0), np.empty(0, np.int64)
    if np.ptp(weights) > 0:  # the tables are not needed if all weights are equal
        # Only ratios at a node matter; sums of very light edges would lose digits or vanish.
        largest = np.maximum.reduceat(weights, blocks.indptr[:-1])
        even = weights / np.repeat(largest, np.diff(blocks.indptr))
        share, other = alias_table(even, blocks.indptr.astype(np.int64)).T
    walk = TreeWalk(blocks, roots, frozen(share), frozen(other, np.int32))
    return TreeDraws("wilson", target.r, walk, frozen(weights), steps, target.n)


def _expected_steps(blocks: Blocks, weights: Floats, roots: Indices, enough: float) -> float:
    """Return the expected steps of Wilson's walk, or a bound if that is at most ``enough``.

    A resistance is at most that of the shortest path. Where that makes too many steps, the
    resistances themselves are computed, except for blocks that contribute little.
    """
    degree = np.add.reduceat(weights, blocks.indptr[:-1])
    graph = sp.csr_array((weights, blocks.neighbour, blocks.indptr))
    with np.errstate(over="ignore"):
        links = sp.csr_array((1.0 / weights, blocks.neighbour, blocks.indptr))
        paths = degree * dijkstra(links, indices=roots, min_only=True)
    steps = np.add.reduceat(paths, blocks.starts[:-1])
    large = np.flatnonzero(steps > enough / steps.size) if steps.sum() > enough else ()
    for b in large:
        first, last = blocks.starts[b], blocks.starts[b + 1]
        once = sp.triu(graph[first:last, first:last], format="coo")
        network = Network(last - first, once.row, once.col, once.data)
        with np.errstate(over="ignore"):
            steps[b] = degree[first:last] @ network.resistances(int(roots[b] - first))
    return float(steps.sum())
