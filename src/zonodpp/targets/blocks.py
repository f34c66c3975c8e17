"""Graphs cut at articulation points: a spanning tree consists of one spanning tree per block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from zonodpp._types import Integers
from zonodpp.numerics.arrays import frozen
from zonodpp.numerics.compiled import jit
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

    A spanning tree of the graph consists of one spanning tree of each block, and its weight is the
    product of theirs.
    """
    indptr, neighbour, edge = _link_nodes(graph.nodes, graph.tail, graph.head)
    met, block = _find_blocks(indptr, neighbour)
    blocks = int(block.max()) + 1
    starts = np.array([0, graph.nodes])
    if blocks > 1:
        kept = np.flatnonzero(graph.tail != graph.head)
        ends = np.array([graph.tail[kept], graph.head[kept]])
        later = np.where(met[ends[0]] > met[ends[1]], *ends)
        ends += block[later].astype(np.int64) * graph.nodes
        copies, places = np.unique(ends, return_inverse=True)
        starts = np.searchsorted(copies, np.arange(blocks + 1) * graph.nodes)
        indptr, neighbour, edge = _link_nodes(copies.size, *places.reshape(2, -1))
        edge = frozen(kept[edge], np.int32)
    return Blocks(*(frozen(a, np.int32) for a in (starts, indptr, neighbour, edge)))


def _link_nodes(nodes: int, tail: Integers, head: Integers) -> tuple[Indices, Indices, Indices]:
    """List the edges at each node: pointers, neighbours, edges; no loops."""
    edge = np.flatnonzero(tail != head).astype(np.int32)
    ends = np.column_stack([tail[edge], head[edge]]).astype(np.int32)
    places = ends.ravel(), ends[:, ::-1].ravel()
    links = sp.coo_array((np.repeat(edge, 2), places), shape=(nodes, nodes))
    links.has_canonical_format = True  # so that parallel edges are not added up
    found = links.tocsr()
    return found.indptr, found.indices, found.data


@jit
def _find_blocks(indptr: Indices, neighbour: Indices) -> tuple[Indices, Indices]:
    """Search depth-first; return when each node is met, and the block of the edge that led to it.

    An edge is in the block of the edge that led to the later one of its ends.
    """
    nodes = indptr.shape[0] - 1
    met = np.full(nodes, -1, np.int32)
    low = np.zeros(nodes, np.int32)  # the earliest node that is reached from it or from below it
    order = np.zeros(nodes, np.int32)
    above = np.full(nodes, -1, np.int32)
    place = indptr[:-1].copy()
    time = 1
    node = met[0] = 0
    while node >= 0:
        if place[node] == indptr[node + 1]:
            node = above[node]
            continue
        other = neighbour[place[node]]
        place[node] += 1
        if met[other] >= 0:
            low[node] = min(low[node], met[other])
        else:
            met[other] = low[other] = time
            order[time] = other
            time += 1
            above[other] = node
            node = other
    for v in order[:0:-1]:
        low[above[v]] = min(low[above[v]], low[v])
    block = np.zeros(nodes, np.int32)
    blocks = 0
    for v in order[1:]:
        if low[v] < met[above[v]]:
            block[v] = block[above[v]]
        else:
            block[v] = blocks
            blocks += 1
    return met, block
