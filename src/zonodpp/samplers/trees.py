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
expected, and gives up in the end.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import inlined, jit
from zonodpp.basis.alias import alias_table
from zonodpp.inputs import one_of
from zonodpp.matrices.columns import Floats, Integers, frozen
from zonodpp.samplers import State, refuse_init
from zonodpp.samplers.tracking import SetTracker
from zonodpp.samplers.walk_cost import (
    MANY_STEPS,
    plan_walk,
    steps_by_block,
    steps_in_words,
    steps_of_exact,
)
from zonodpp.targets.blocks import Blocks, Indices
from zonodpp.targets.family import LARGE_GRAPH, VolumeSampling

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
        counts = state["counts"]
        if np.isnan(self.steps) and counts[1] < MANY_STEPS:  # so far nothing has taken long
            begun, before = rng.bit_generator.state, counts.copy()
            if draw(rng, self.walk, self.n, MANY_STEPS, subsets, counts):
                self.tracker.fill(subsets, tracked)
                return
            self._announce()
            rng.bit_generator.state = begun
            counts[:] = before
        if not draw(rng, self.walk, self.n, STEP_LIMIT, subsets, counts):
            raise RuntimeError(
                f"a tree was not finished after {STEP_LIMIT:.0e} steps of the random walk: edge "
                "weights trap it, or the graph is very long and thin. "
                + ("algorithm='wilson' takes fewer steps; " if self.algorithm != "wilson" else "")
                + f"method='exact' does not walk (graphs of up to {LARGE_GRAPH} nodes)"
            )
        self.tracker.fill(subsets, tracked)

    def check(self, state: State) -> None:
        """Accept any state: counts are not used as indices."""

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


def prepare(target: VolumeSampling, track: Any = None, *, algorithm: str = "wilson") -> Trees:
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
    walk = Walk(blocks, frozen(roots, np.int32), frozen(share), frozen(other, np.int32))
    tracker = SetTracker.of(track, target.n)
    return Trees(algorithm, walk, frozen(weights), steps, target.n, tracker)


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
