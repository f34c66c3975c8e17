"""Reduce a graph to small networks of conductances, without any subtraction.

Removing a node v from a network of conductances c joins each pair i, j of its neighbours by a new
conductance c_vi c_vj / d_v, where d_v is the sum of the conductances at v (the star-mesh
transform, one step of Gaussian elimination on the Laplacian). All numbers are positive and nothing
is subtracted, so every result keeps its digits, whatever the weights are (Grassmann, Taksar,
Heyman 1985). When only the two ends of an edge are left, the conductance between them is the
effective one, and a random spanning tree holds the edge with probability weight / conductance.

All edges are served together. `halve_edges` halves the edges of the graph again and again, down to
a few. The boundary of a set of edges holds the nodes that it shares with other edges. An upward
pass reduces each set of edges to its boundary, by joining the networks of its two halves. A
downward pass reduces what is outside each set to the same boundary, by joining what is outside the
set it was cut from with the other half. With that, the smallest sets are networks of a few nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, connected_components

from zonodpp._jit import jit
from zonodpp._types import Floats, Integers

FEW = 64  # edges of a set that is not halved: half as many take half as long again on a large grid


class EdgeSet(NamedTuple):
    """Some edges of a graph, and the nodes that they share with other edges.

    Its halves are the next set in the list of all sets and number ``second``, 0 for none.
    """

    edges: Integers
    boundary: Integers
    second: int


def halve_edges(tail: Integers, head: Integers, degree: Integers) -> list[EdgeSet]:
    """Halve the edges of a graph down to a few; the first set holds all of them.

    A node is in the boundary of a set that has fewer than ``degree[v]`` edges at it.
    """
    sets: list[EdgeSet] = []

    def add(edges: Integers) -> None:
        nodes, places = np.unique([tail[edges], head[edges]], return_inverse=True)
        boundary = nodes[np.bincount(places.ravel()) < degree[nodes]]
        number = len(sets)
        sets.append(EdgeSet(edges, boundary, 0))
        if edges.size > FEW:
            ends = places.reshape(2, -1).astype(np.int32)  # SciPy 1.13 takes no others for searches
            order = _search_order(ends, nodes.size)
            first, second = np.array_split(edges[order], 2)
            add(first)
            sets[number] = EdgeSet(edges, boundary, len(sets))
            add(second)

    add(np.arange(tail.size))
    return sets


def _search_order(ends: NDArray[np.int32], count: int) -> Integers:
    """Sort edges by a breadth-first search from a node that is far from others.

    They are sorted by the second of their ends that the search meets. By the first one, halves of
    a dense graph would share far more nodes.
    """
    links = sp.csr_array((np.ones(ends.shape[1]), ends), shape=(count, count))
    far = breadth_first_order(links, 0, directed=False, return_predecessors=False)
    if far.size < count:  # link the components one after the other, to search them all
        first = np.unique(connected_components(links, directed=False)[1], return_index=True)[1]
        chain = first[:-1].astype(np.int32), first[1:].astype(np.int32)
        links += sp.csr_array((np.ones(first.size - 1), chain), links.shape)
    position = np.empty(count, np.int64)
    order = breadth_first_order(links, far[-1], directed=False, return_predecessors=False)
    position[order] = np.arange(count)
    return np.lexsort(np.sort(position[ends], axis=0))


@jit
def eliminate(M: Floats, kept: int) -> float:
    """Remove all but the first nodes of a network in place; return the sum of log d_v.

    Entries of M below the diagonal are used, and those of the nodes kept are copied above it. A
    node without conductances is left alone. Of the two quotients c_vi / d_v and c_vj / d_v the
    larger one is taken, which underflows only where it does not matter.
    """
    share = np.zeros(M.shape[0])
    log_sum = 0.0
    for v in range(M.shape[0] - 1, kept - 1, -1):
        row = M[v]
        degree = 0.0
        for j in range(v):
            degree += row[j]
        if degree > 0.0:
            log_sum += np.log(degree)
        else:
            degree = 1.0  # all shares are zero
        for j in range(v):
            share[j] = row[j] / degree
        for i in range(v):
            c, s = row[i], share[i]
            for j in range(i):
                M[i, j] += s * row[j] if c > row[j] else share[j] * c
    for i in range(kept):
        M[:i, i] = M[i, :i]
    return log_sum


@jit
def effective_conductances(M: Floats, ends: Integers) -> Floats:
    """Return the effective conductances of some pairs of nodes, (2, pairs), in a network."""
    size = M.shape[0]
    result = np.empty(ends.shape[1])
    reduced = np.empty_like(M)
    for k in range(ends.shape[1]):
        first, last = min(ends[:, k]), max(ends[:, k])
        order = np.arange(size)  # in which these two nodes come first
        order[0], order[first] = order[first], order[0]
        order[1], order[last] = order[last], order[1]
        for i in range(size):
            for j in range(i):
                reduced[i, j] = M[order[i], order[j]]
        eliminate(reduced, 2)
        result[k] = reduced[1, 0]
    return result
