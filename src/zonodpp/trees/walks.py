"""The walks of Wilson and of Aldous and Broder on the blocks of a graph, compiled.

A part of `zonodpp.trees.method`, which explains the algorithms.
"""

from __future__ import annotations

from typing import NamedTuple

from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.numerics.arguments import generator_at
from zonodpp.numerics.compiled import inline_source, no_refcount
from zonodpp.targets.blocks import Blocks, Indices

TREES, TREE_STEPS = range(2)  # the entries of ``counts``: finished trees, and the steps they took
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


@inline_source
def step(rng: Rng, indptr: Indices, share: Floats, other: Indices, node: int) -> int:
    """Choose one of the node's edges in proportion to its weight; return its cell."""
    first = indptr[node]
    degree = indptr[node + 1] - first
    spot = rng.random() * degree
    place = min(int(spot), degree - 1)
    cell: int = first + place
    if share.shape[0] > 0 and spot - place >= share[cell]:
        cell = other[cell]
    return cell


@inline_source
def _grow_by_wilson(
    rng: Rng, walk: TreeWalk, tree: Indices, under_way: Integers, limit: int
) -> None:
    """Walk from each node in turn to the tree, until all are in it or it has ``limit`` steps."""
    indptr, neighbour = walk.blocks.indptr, walk.blocks.neighbour
    start, node, steps = under_way[START], under_way[NODE], under_way[STEPS]
    while start < tree.shape[0]:
        while tree[node] < 0 and steps < limit:
            cell = step(rng, indptr, walk.share, walk.other, node)
            tree[node] = ~cell  # the last exit from a node survives: loops are erased
            node = neighbour[cell]
            steps += 1
        if tree[node] < 0:
            break
        node = start
        while tree[node] < 0:
            tree[node] = ~tree[node]
            node = neighbour[tree[node]]
        start += 1
        node = start
    under_way[START], under_way[NODE], under_way[STEPS] = start, node, steps


@inline_source
def _grow_by_aldous_broder(
    rng: Rng, walk: TreeWalk, tree: Indices, under_way: Integers, limit: int
) -> None:
    """Walk in each block until all nodes are seen, or the tree has ``limit`` steps."""
    starts, indptr, neighbour = walk.blocks.starts, walk.blocks.indptr, walk.blocks.neighbour
    start, node, steps = under_way[START], under_way[NODE], under_way[STEPS]
    for block in range(starts.shape[0] - 1):
        first, last = starts[block], starts[block + 1]
        if last <= start:
            continue  # finished in an earlier call
        missing = 0
        for v in range(first, last):
            missing += int(tree[v] < 0)
        if missing == last - first - 1:
            node = walk.roots[block]
        while missing > 0 and steps < limit:
            cell = step(rng, indptr, walk.share, walk.other, node)
            node = neighbour[cell]
            if tree[node] < 0:
                tree[node] = cell
                missing -= 1
            steps += 1
        start = first if missing else last
        if missing:
            break
    under_way[START], under_way[NODE], under_way[STEPS] = start, node, steps


@no_refcount
def draw_trees(
    address: int,
    wilson: bool,
    walk: TreeWalk,
    limit: int,
    subsets: Subsets,
    tree: Indices,
    under_way: Integers,
    counts: Integers,
) -> int:
    """Fill subsets with draws, by ``limit`` steps at most; return how many are finished."""
    rng = generator_at(address)
    edge, nodes = walk.blocks.edge, tree.shape[0]
    for k in range(subsets.shape[0]):
        if under_way[START] == nodes:  # begin a tree: nothing but the roots is reached
            under_way[START] = 0
            for v in range(nodes):
                tree[v] = -1
            for root in walk.roots:
                tree[root] = edge.shape[0]
        limit += under_way[STEPS]  # as a number of steps of the present tree
        if wilson:
            _grow_by_wilson(rng, walk, tree, under_way, limit)
        else:
            _grow_by_aldous_broder(rng, walk, tree, under_way, limit)
        if under_way[START] < nodes:
            return k
        size = 0
        for cell in tree:
            if cell < edge.shape[0]:  # a root has no edge
                subsets[k, size] = edge[cell]
                size += 1
        counts[TREES] += 1
        counts[TREE_STEPS] += under_way[STEPS]
        limit -= under_way[STEPS]
        under_way[NODE], under_way[STEPS] = 0, 0
    return len(subsets)
