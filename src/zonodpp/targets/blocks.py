"""Graphs cut at their articulation points: a spanning tree is one of each block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from zonodpp._jit import jit
from zonodpp._types import Integers
from zonodpp.linalg.columns import frozen
from zonodpp.targets.graphs import Graph

Indices = NDArray[np.int32]  # half the memory traffic of int64, which a random walk feels


class Blocks(NamedTuple):
    """A graph cut at its articulation points into blocks, its 2-connected parts and bridges.

    A node becomes one copy for each block it belongs to. Block b has the copies
    ``starts[b]:starts[b + 1]``. The edges at copy v go to ``neighbour[k]`` and are the graph's
    edges ``edge[k]``, for k in ``indptr[v]:indptr[v + 1]``. Self-loops are left out.
    """

    starts: Indices
    indptr: Indices
    neighbour: Indices
    edge: Indices


def blocks_of(graph: Graph) -> Blocks:
    """Cut a connected graph into its blocks (Hopcroft, Tarjan 1973), in linear time.

    A spanning tree of the graph is one of each block, and its weight is their product.
    """
    indptr, neighbour, edge = _link_nodes(graph.nodes, graph.tail, graph.head)
    block, blocks = _find_blocks(indptr, neighbour, edge, graph.tail.size)
    starts = np.array([0, graph.nodes])
    if blocks > 1:
        kept = np.flatnonzero(block >= 0)
        first = block[kept].astype(np.int64) * graph.nodes
        ends = first + np.array([graph.tail[kept], graph.head[kept]])
        copies, places = np.unique(ends, return_inverse=True)
        starts = np.searchsorted(copies, np.arange(blocks + 1) * graph.nodes)
        indptr, neighbour, edge = _link_nodes(copies.size, *places.reshape(2, -1))
        edge = frozen(kept[edge], np.int32)
    return Blocks(*(frozen(a, np.int32) for a in (starts, indptr, neighbour, edge)))


def _link_nodes(nodes: int, tail: Integers, head: Integers) -> tuple[Indices, Indices, Indices]:
    """List the edges at each node: pointers, neighbours, edges; no loops."""
    edge = np.flatnonzero(tail != head).astype(np.int32)
    ends = np.array([tail[edge], head[edge]])
    links = sp.coo_array((np.tile(edge, 2), np.hstack([ends, ends[::-1]])), shape=(nodes, nodes))
    links.has_canonical_format = True  # so that parallel edges are not added up
    found = links.tocsr()
    return found.indptr, found.indices, found.data


@jit
def _find_blocks(indptr: Indices, neighbour: Indices, edge: Indices, n: int) -> tuple[Indices, int]:
    """Find the block of each edge (-1 for a self-loop) by one depth-first search."""
    nodes = indptr.shape[0] - 1
    block = np.full(n, -1, np.int32)
    blocks = 0
    time = 1
    found = np.zeros(nodes, np.int32)  # when the search met the node
    low = np.zeros(nodes, np.int32)  # the earliest node that is reached from below it
    above = np.full(nodes, -1, np.int32)
    through = np.full(nodes, -1, np.int32)  # the edge to the node above
    place = indptr[:-1].copy()
    pending = np.empty(n, np.int32)  # edges seen whose block is not closed yet
    n_pending = 0
    node = 0
    found[0] = low[0] = 1
    while True:
        if place[node] < indptr[node + 1]:
            k = place[node]
            place[node] += 1
            other = neighbour[k]
            if edge[k] == through[node]:
                continue
            if found[other] == 0:
                pending[n_pending] = edge[k]
                n_pending += 1
                time += 1
                found[other] = low[other] = time
                above[other] = node
                through[other] = edge[k]
                node = other
            elif found[other] < found[node]:
                pending[n_pending] = edge[k]
                n_pending += 1
                low[node] = min(low[node], found[other])
        else:
            parent = above[node]
            if parent < 0:
                break
            low[parent] = min(low[parent], low[node])
            if low[node] >= found[parent]:
                while True:
                    n_pending -= 1
                    block[pending[n_pending]] = blocks
                    if pending[n_pending] == through[node]:
                        break
                blocks += 1
            node = parent
    return block, blocks
