"""Random spanning trees of a graph, independent draws by random walks.

``wilson`` walks from each node in turn to the tree built so far, which starts as a root, and adds
the path with its loops erased (Wilson 1996). It takes the sum over nodes v of d_v R(v, root) steps
on average, with d the weighted degree and R the effective resistance: a few steps a node on grids
and random graphs.
``aldous-broder`` walks until all nodes are visited and keeps the edges of first entrance (Aldous
1990, Broder 1989). It takes a cover time of steps, which a node with light edges alone makes long.

A step takes constant time, by one alias table for each node. Each block (2-connected part) of the
graph is drawn by itself, so that a bridge costs one step however light it is. Within a block, edges
that are very much heavier than those around may still trap the walk: `prepare` finds this out on
graphs small enough for the exact sampler, and on others a draw gives up in the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse.csgraph import dijkstra

from zonodpp._jit import inlined, jit
from zonodpp.inputs import one_of
from zonodpp.matrices.columns import Floats, Integers, frozen
from zonodpp.samplers import State, refuse_init
from zonodpp.samplers.alias import alias_table
from zonodpp.samplers.tracking import SetTracker
from zonodpp.targets.blocks import Blocks, Indices, blocks_of
from zonodpp.targets.family import LARGE_GRAPH, VolumeSampling

SMALL_GRAPH = 500  # nodes up to which a dense inverse is not worth avoiding
MANY_STEPS = 10**8  # seconds for one tree: too long where another method is faster
STEP_LIMIT = 10**10  # minutes for one tree: compiled code cannot be interrupted, so it gives up


class Walk(NamedTuple):
    """A graph's blocks, and what a step of the walk needs to choose among a node's edges.

    Cell k, one of node v's, leads along itself with probability ``share[k]`` and along
    ``other[k]`` otherwise (Walker's alias method). Both have zero length if all weights are equal.
    """

    blocks: Blocks
    roots: Indices
    share: Floats
    other: Indices


@dataclass(frozen=True)
class Trees:
    """A prepared sampler of spanning trees."""

    algorithm: str
    walk: Walk
    n: int
    tracker: SetTracker
    counters: tuple[str, ...] = ("draws", "steps")
    independent: bool = True

    def start(self, rng: np.random.Generator, init: Any) -> State:
        """Return a state of counts alone."""
        refuse_init(init)
        return {"counts": np.zeros(len(self.counters), np.int64)}

    def advance(
        self,
        state: State,
        rng: np.random.Generator,
        subsets: NDArray[np.int32],
        tracked: Floats,
        thin: int,
    ) -> None:
        """Draw len(subsets) trees."""
        draw = draw_by_wilson if self.algorithm == "wilson" else draw_by_aldous_broder
        if not draw(rng, self.walk, self.n, STEP_LIMIT, subsets, state["counts"]):
            raise RuntimeError(
                f"a tree was not finished after {STEP_LIMIT:.0e} steps of the random walk: edge "
                "weights trap it, or the graph is very long and thin. "
                + ("algorithm='wilson' takes fewer steps; " if self.algorithm != "wilson" else "")
                + f"method='exact' does not walk (graphs of up to {LARGE_GRAPH} nodes)"
            )
        self.tracker.fill(subsets, tracked)

    def check(self, state: State) -> None:
        """Accept any state: counts are not used as indices."""


def prepare(target: VolumeSampling, track: Any = None, *, algorithm: str = "wilson") -> Trees:
    """Cut the graph into blocks, choose their roots, and build the tables that steps are drawn by.

    Raises
    ------
    ValueError
        When the target is no graph, or a walk would take far longer than the exact sampler.
    """
    one_of(algorithm, "algorithm", ("wilson", "aldous-broder"))
    blocks, weights, roots, steps = _plan(target)
    if steps > max(MANY_STEPS, steps_of_exact(target.r)):
        raise ValueError(
            f"a spanning tree of this graph would take {min(steps, 1e16):.0e} steps of a random "
            "walk, which heavy edges trap; use method='exact', whose time no weight changes"
        )
    share, other = np.empty(0), np.empty(0)
    if np.ptp(weights) > 0:
        share, other = alias_tables(blocks.indptr, weights)
    walk = Walk(blocks, frozen(roots, np.int32), frozen(share), frozen(other, np.int32))
    return Trees(algorithm, walk, target.n, SetTracker.of(track, target.n))


def expected_steps(target: VolumeSampling) -> float:
    """Mean number of steps of Wilson's walk for one tree: the sum of d_v R(v, root).

    Exact for graphs of up to 500 nodes. Up to 3,000 nodes an upper bound, with shortest paths in
    place of resistances, if that is below `steps_of_exact`; if not, exact. NaN beyond 3,000 nodes,
    where no other method draws independently.

    Examples
    --------
    >>> import networkx as nx
    >>> from zonodpp import ProjectionDPP
    >>> round(expected_steps(ProjectionDPP.from_graph(nx.complete_graph(10))), 12)
    16.2
    """
    return _plan(target)[3]


def steps_of_exact(r: int) -> float:
    """Return how many steps of the walk take as long as one draw of the exact sampler."""
    return r**3 / 60 + 10 * r


def _plan(target: VolumeSampling) -> tuple[Blocks, Floats, Integers, float]:
    """Return the blocks, the weights of their edges, their roots, and the expected steps.

    Any root gives the same law. A root drawn in proportion to degree takes at most twice the steps
    of the best on average (Kemeny's constant bounds them), so the heaviest node is a good one.
    """
    if target.graph is None or target.power != 2:
        raise ValueError(
            "method='trees' draws spanning trees, from targets made with "
            f"ProjectionDPP.from_graph(G); got {target!r}: use method='auto'"
        )
    blocks = blocks_of(target.graph)
    weights = np.ones(blocks.edge.size)
    if target.weights is not None:
        weights = np.maximum(target.weights / target.weights.max(), 1e-200)[blocks.edge]
    degree = np.add.reduceat(weights, blocks.indptr[:-1])
    roots = _heaviest(degree, blocks.starts)
    if target.graph.nodes > LARGE_GRAPH:
        return blocks, weights, roots, np.nan
    if target.graph.nodes > SMALL_GRAPH:
        bound = _path_bound(blocks, weights, degree, roots)
        if bound <= steps_of_exact(target.r):
            return blocks, weights, roots, bound
    steps = _steps_by_root(blocks, weights, degree, roots)
    roots = _heaviest(-steps, blocks.starts)
    return blocks, weights, roots, float(steps[roots].sum())


def _heaviest(score: Floats, starts: Indices) -> Integers:
    """Return the node of highest score in each block, the middle one of several."""
    top = np.maximum.reduceat(score, starts[:-1])
    ties = np.flatnonzero(score == np.repeat(top, np.diff(starts)))
    bounds = np.searchsorted(ties, starts)
    return np.asarray(ties[(bounds[:-1] + bounds[1:]) // 2])


def _path_bound(blocks: Blocks, weights: Floats, degree: Floats, roots: Integers) -> float:
    """Bound the expected steps: a resistance is at most that of the shortest path."""
    links = sp.csr_array((1.0 / weights, blocks.neighbour, blocks.indptr))
    return float(degree @ dijkstra(links, indices=roots, min_only=True))


def _steps_by_root(blocks: Blocks, weights: Floats, degree: Floats, roots: Integers) -> Floats:
    """Return the expected steps in a node's block if that node were its root.

    With S the Laplacian scaled to unit diagonal and the given roots left out, the sum of
    d_v R(v, root) is the trace of S^{-1}. The scaling keeps S well conditioned unless the steps
    themselves are many.
    """
    half = np.sqrt(degree)
    scaled = weights / half[blocks.neighbour] / np.repeat(half, np.diff(blocks.indptr))
    links = sp.csr_array((scaled, blocks.neighbour, blocks.indptr))
    kept = np.delete(np.arange(degree.size), roots)
    S = np.eye(kept.size) - links[kept][:, kept].toarray()
    lower, singular = lapack.dpotrf(S, lower=1, clean=1)
    if singular:
        return np.full(degree.size, np.inf)
    inverse, _ = lapack.dtrtri(lower, lower=1)
    diagonal, row = np.zeros((2, degree.size))
    diagonal[kept] = np.einsum("ij,ij->j", inverse, inverse)
    row[kept] = inverse.T @ (inverse @ half[kept])
    of = np.repeat(np.arange(roots.size), np.diff(blocks.starts))
    trace = np.bincount(of, diagonal)[of]
    steps = trace + (np.bincount(of, degree)[of] * diagonal / half - 2.0 * row) / half
    return np.maximum(steps, trace / (degree.size + 1))  # no root beats the heaviest by more


@jit
def alias_tables(indptr: Indices, weights: Floats) -> tuple[Floats, Indices]:
    """Build one alias table for each node: see `Walk`."""
    share = np.empty(weights.shape[0])
    other = np.empty(weights.shape[0], np.int32)
    for v in range(indptr.shape[0] - 1):
        first = indptr[v]
        table = alias_table(weights[first : indptr[v + 1]])
        for k in range(table.shape[0]):
            share[first + k] = table[k, 0]
            other[first + k] = first + int(table[k, 1])
    return share, other


@inlined
def step(
    rng: np.random.Generator, indptr: Indices, share: Floats, other: Indices, node: int
) -> int:
    """Choose one of the node's edges in proportion to its weight; return its cell."""
    first = indptr[node]
    degree = indptr[node + 1] - first
    place = rng.random() * degree
    whole = min(int(place), degree - 1)
    cell: int = first + whole
    if share.shape[0] > 0 and place - whole >= share[cell]:
        cell = other[cell]
    return cell


@jit
def ascend(tree: NDArray[np.int32], marked: NDArray[np.uint8]) -> None:
    """Sort the edges of a tree, by a pass over all edges unless these are very many more."""
    r = tree.shape[0]
    if marked.shape[0] > 16 * r:
        tree.sort()
        return
    for e in tree:
        marked[e] = 1
    size = 0
    e = 0
    while size < r:
        tree[size] = e
        size += int(marked[e])
        marked[e] = 0
        e += 1


@jit
def draw_by_wilson(
    rng: np.random.Generator,
    walk: Walk,
    n: int,
    limit: int,
    subsets: NDArray[np.int32],
    counts: Integers,
) -> bool:
    """Fill subsets with draws; give up, and return False, when one takes too many steps."""
    _, indptr, neighbour, edge = walk.blocks
    share, other = walk.share, walk.other
    nodes = indptr.shape[0] - 1
    exit_cell = np.empty(nodes, np.int32)
    reached = np.empty(nodes, np.bool_)
    marked = np.zeros(n, np.uint8)
    for k in range(subsets.shape[0]):
        steps = 0
        size = 0
        reached[:] = False
        for root in walk.roots:
            reached[root] = True
        for start in range(nodes):
            node = start
            while not reached[node]:
                cell = step(rng, indptr, share, other, node)
                exit_cell[node] = cell  # the last exit from a node survives: loops are erased
                node = neighbour[cell]
                steps += 1
                if steps > limit:
                    return False
            node = start
            while not reached[node]:
                reached[node] = True
                cell = exit_cell[node]
                subsets[k, size] = edge[cell]
                size += 1
                node = neighbour[cell]
        ascend(subsets[k], marked)
        counts[0] += 1
        counts[1] += steps
    return True


@jit
def draw_by_aldous_broder(
    rng: np.random.Generator,
    walk: Walk,
    n: int,
    limit: int,
    subsets: NDArray[np.int32],
    counts: Integers,
) -> bool:
    """Fill subsets with draws; give up, and return False, when one takes too many steps."""
    starts, indptr, neighbour, edge = walk.blocks
    share, other = walk.share, walk.other
    reached = np.empty(indptr.shape[0] - 1, np.bool_)
    marked = np.zeros(n, np.uint8)
    for k in range(subsets.shape[0]):
        steps = 0
        size = 0
        reached[:] = False
        for b in range(walk.roots.shape[0]):
            node = walk.roots[b]
            reached[node] = True
            missing = starts[b + 1] - starts[b] - 1
            while missing > 0:
                cell = step(rng, indptr, share, other, node)
                node = neighbour[cell]
                if not reached[node]:
                    reached[node] = True
                    subsets[k, size] = edge[cell]
                    size += 1
                    missing -= 1
                steps += 1
                if steps > limit:
                    return False
        ascend(subsets[k], marked)
        counts[0] += 1
        counts[1] += steps
    return True
