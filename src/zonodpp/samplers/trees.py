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
graphs small enough for the exact sampler. On larger ones a draw that takes long says what is to be
expected. Compiled code returns after a bounded number of steps; a tree that is not finished by then
stays in the chain's state, and the next call goes on with it. To begin that tree anew might never
end, and ``aldous-broder`` would then draw trees too rarely that take long.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import inlined, jit
from zonodpp._types import Floats, Integers
from zonodpp.arguments import one_of
from zonodpp.basis.alias import alias_table
from zonodpp.linalg.columns import frozen
from zonodpp.samplers import State, need_between, refuse_init
from zonodpp.samplers.tracking import SetTracker
from zonodpp.samplers.walk_cost import (
    MANY_STEPS,
    plan_walk,
    steps_by_block,
    steps_in_words,
    steps_of_exact,
)
from zonodpp.targets.blocks import Blocks, Indices
from zonodpp.targets.spanning_trees import SpanningTrees

CALL_STEPS = 10**6  # steps of one call of compiled code: 10 ms, and 0.1 s outside the caches
START, NODE, STEPS = range(3)  # what the array "under_way" of a state holds, see `TreeDraws.start`


class TreeWalk(NamedTuple):
    """A graph's blocks, and what a step of the walk needs to choose among a node's edges.

    Cell k, one of node v's, leads along itself with probability ``share[k]`` and along
    ``other[k]`` otherwise (Walker's alias method). Both have zero length if all weights are equal.
    """

    blocks: Blocks
    roots: Indices
    share: Floats
    other: Indices


@dataclass(frozen=True)
class TreeDraws:
    """A prepared sampler of spanning trees."""

    algorithm: str
    walk: TreeWalk
    weights: Floats  # of the edges of all blocks
    steps: float  # expected for a tree; NaN if that is not known
    n: int
    tracker: SetTracker
    counters: tuple[str, ...] = ("draws", "steps")
    independent: bool = True

    @property
    def width(self) -> int:
        """The number of edges of every tree."""
        return int(self.walk.blocks.indptr.size - 1 - self.walk.roots.size)

    def start(self, rng: np.random.Generator, init: Any) -> State:
        """Return a state in which no tree is under way.

        ``tree[v]`` is the cell that joins node v to the tree, or negative: v is not reached yet,
        and ``~tree[v]`` is the cell by which the walk left it last. Roots have the number of cells.
        ``under_way`` holds the node that is to be reached next (all nodes are, if there is no such
        node), the node where the walk is, and its steps so far.
        """
        refuse_init(init)
        nodes = self.walk.blocks.indptr.size - 1
        return {
            "counts": np.zeros(len(self.counters), np.int64),
            "tree": np.zeros(nodes, np.int32),
            "under_way": np.array([nodes, 0, 0]),
        }

    def advance(
        self,
        state: State,
        rng: np.random.Generator,
        subsets: NDArray[np.int32],
        tracked: Floats,
        thin: int,
    ) -> int:
        """Draw up to len(subsets) trees, by `CALL_STEPS` steps at most; return how many."""
        draw = draw_by_wilson if self.algorithm == "wilson" else draw_by_aldous_broder
        tree, under_way, counts = state["tree"], state["under_way"], state["counts"]
        before = under_way[STEPS]
        made: int = draw(rng, self.walk, self.n, CALL_STEPS, subsets, tree, under_way, counts)
        grown_long = before < MANY_STEPS <= under_way[STEPS]
        if np.isnan(self.steps) and grown_long and counts[1] < MANY_STEPS:  # not said before
            self._announce()
        self.tracker.fill(subsets[:made], tracked)
        return made

    def check(self, state: State) -> None:
        """Check the tree that is under way: all its numbers are used as indices."""
        starts, indptr, _, edge = self.walk.blocks
        start, node, steps = state["under_way"]
        if start == indptr.size - 1 and node == steps == 0:
            return  # the next tree begins with an empty array
        need_between(state["under_way"][:STEPS], 0, indptr.size - 2, "nodes of the walk")
        need_between(state["under_way"][STEPS:], 0, 2**62, "steps of the walk")
        cells = np.maximum(state["tree"], ~state["tree"])
        need_between(np.delete(cells, self.walk.roots), 0, edge.size - 1, "edges of the tree")
        need_between(state["tree"][self.walk.roots], edge.size, edge.size, "roots of the tree")
        block, same = np.searchsorted(starts, [start, node], side="right")
        if block != same:
            raise ValueError(f"node {node} and node {start} are not in one block of the graph")

    def _announce(self) -> None:
        """Say how long a tree takes that was not finished after `MANY_STEPS`."""
        if self.algorithm == "wilson":
            steps = float(steps_by_block(self.walk.blocks, self.weights, self.walk.roots).sum())
            cost = f"is expected to take {steps_in_words(steps)}"
        else:
            cost = "may take much longer; algorithm='wilson' takes fewer steps"
        warnings.warn(
            f"a spanning tree is not finished after {MANY_STEPS:.0e} steps of the random walk and "
            f"{cost}; edge weights trap the walk, or the graph is long and thin",
            stacklevel=2,
        )


def prepare(target: SpanningTrees, track: Any = None, *, algorithm: str = "wilson") -> TreeDraws:
    """Cut the graph into blocks, choose their roots, and build the tables that steps are drawn by.

    Raises
    ------
    ValueError
        When the target is no graph, or a walk would take far longer than the exact sampler.

    Warns
    -----
    UserWarning
        When one tree is expected to take long.
    """
    one_of(algorithm, "algorithm", ("wilson", "aldous-broder"))
    blocks, weights, roots, steps = plan_walk(target)
    if steps > max(MANY_STEPS, steps_of_exact(target.r)):
        raise ValueError(
            f"a spanning tree of this graph would take {min(steps, 1e16):.0e} steps of a random "
            "walk, which heavy edges trap; use method='exact', whose time no weight changes"
        )
    if steps > MANY_STEPS:
        warnings.warn(f"a spanning tree is expected to take {steps_in_words(steps)}", stacklevel=3)
    share, other = np.empty(0), np.empty(0)
    if np.ptp(weights) > 0:
        # Only ratios at a node matter; sums of very light edges would lose digits or vanish.
        heaviest = np.maximum.reduceat(weights, blocks.indptr[:-1])
        even = weights / np.repeat(heaviest, np.diff(blocks.indptr))
        share, other = alias_tables(blocks.indptr, even)
    walk = TreeWalk(blocks, frozen(roots, np.int32), frozen(share), frozen(other, np.int32))
    tracker = SetTracker.of(track, target.n)
    return TreeDraws(algorithm, walk, frozen(weights), steps, target.n, tracker)


@jit
def alias_tables(indptr: Indices, weights: Floats) -> tuple[Floats, Indices]:
    """Build one alias table for each node: see `TreeWalk`."""
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


@inlined
def begin_tree(tree: Indices, roots: Indices, cells: int) -> None:
    """Begin a tree: nothing but the roots is reached."""
    tree[:] = -1
    for root in roots:
        tree[root] = cells


@jit
def write_edges(
    tree: Indices, edge: Indices, subset: NDArray[np.int32], marked: NDArray[np.uint8]
) -> None:
    """Write the edges of a finished tree in ascending order.

    They are sorted by a pass over all edges of the graph, unless these are very many more.
    """
    r, n = subset.shape[0], marked.shape[0]
    size = 0
    for cell in tree:
        if cell < edge.shape[0]:  # a root has no edge
            subset[size] = edge[cell]
            size += 1
    if n > 16 * r:
        subset.sort()
        return
    for e in subset:
        marked[e] = 1
    size = 0
    e = 0
    while size < r and e < n:
        subset[size] = e
        size += int(marked[e])
        marked[e] = 0
        e += 1


@jit
def draw_by_wilson(
    rng: np.random.Generator,
    walk: TreeWalk,
    n: int,
    limit: int,
    subsets: NDArray[np.int32],
    tree: Indices,
    under_way: Integers,
    counts: Integers,
) -> int:
    """Fill subsets with draws, by ``limit`` steps at most; return how many are finished."""
    _, indptr, neighbour, edge = walk.blocks
    share, other = walk.share, walk.other
    nodes = tree.shape[0]
    marked = np.zeros(n, np.uint8)
    start, node, steps = under_way[START], under_way[NODE], under_way[STEPS]
    limit += steps  # as a number of steps of the present tree
    for k in range(subsets.shape[0]):
        if start == nodes:
            begin_tree(tree, walk.roots, edge.shape[0])
            start = node = 0
        while start < nodes:
            while tree[node] < 0:
                if steps == limit:
                    under_way[START], under_way[NODE], under_way[STEPS] = start, node, steps
                    return k
                cell = step(rng, indptr, share, other, node)
                tree[node] = ~cell  # the last exit from a node survives: loops are erased
                node = neighbour[cell]
                steps += 1
            node = start
            while tree[node] < 0:
                tree[node] = ~tree[node]
                node = neighbour[tree[node]]
            start += 1
            node = start
        write_edges(tree, edge, subsets[k], marked)
        counts[0] += 1
        counts[1] += steps
        limit -= steps
        steps = 0
    under_way[START], under_way[NODE], under_way[STEPS] = nodes, 0, 0
    return len(subsets)


@jit
def draw_by_aldous_broder(
    rng: np.random.Generator,
    walk: TreeWalk,
    n: int,
    limit: int,
    subsets: NDArray[np.int32],
    tree: Indices,
    under_way: Integers,
    counts: Integers,
) -> int:
    """Fill subsets with draws, by ``limit`` steps at most; return how many are finished."""
    starts, indptr, neighbour, edge = walk.blocks
    share, other = walk.share, walk.other
    nodes = tree.shape[0]
    marked = np.zeros(n, np.uint8)
    start, node, steps = under_way[START], under_way[NODE], under_way[STEPS]
    blocks = starts.shape[0] - 1
    block = np.searchsorted(starts, start, side="right") - 1
    missing = 0  # nodes of the present block
    if start < nodes:
        missing = int(np.count_nonzero(tree[starts[block] : starts[block + 1]] < 0))
    limit += steps  # as a number of steps of the present tree
    for k in range(subsets.shape[0]):
        if block == blocks:
            begin_tree(tree, walk.roots, edge.shape[0])
            block = -1
        while missing > 0 or block + 1 < blocks:
            if missing == 0:
                block += 1
                node = walk.roots[block]
                missing = starts[block + 1] - starts[block] - 1
            while missing > 0:
                if steps == limit:
                    under_way[START], under_way[NODE], under_way[STEPS] = starts[block], node, steps
                    return k
                cell = step(rng, indptr, share, other, node)
                node = neighbour[cell]
                if tree[node] < 0:
                    tree[node] = cell
                    missing -= 1
                steps += 1
        block = blocks
        write_edges(tree, edge, subsets[k], marked)
        counts[0] += 1
        counts[1] += steps
        limit -= steps
        steps = 0
    under_way[START], under_way[NODE], under_way[STEPS] = nodes, 0, 0
    return len(subsets)
