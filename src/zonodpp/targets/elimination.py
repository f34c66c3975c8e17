"""Reduce a graph to small networks of conductances, without any subtraction.

Removing a node v from a network of conductances c joins each pair i, j of its neighbours by a new
conductance c_vi c_vj / d_v, where d_v is the sum of the conductances at v (the star-mesh
transform, one step of Gaussian elimination on the Laplacian). All numbers are positive and nothing
is subtracted, so every result keeps its digits, whatever the weights are (Grassmann, Taksar,
Heyman 1985). When only the two ends of an edge are left, the conductance between them is the
effective one, and a random spanning tree holds the edge with probability weight / conductance.

All edges are served together. `halve_edges` halves the edges of the graph again and again, down to
single edges. The boundary of a set of edges holds the nodes that it shares with other edges. An
upward pass reduces each set of edges to its boundary, by joining the networks of its two halves. A
downward pass reduces what is outside each set to the same boundary, by joining what is outside the
set it was cut from with the other half. At a single edge, the conductances inside and outside add
up to the effective one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zonodpp._jit import jit
from zonodpp._types import Floats, Integers
from zonodpp.targets.blocks import link_nodes

PANEL = 64  # nodes removed together, so that the rest of the network is read once for all of them
FEW = 8  # edges up to which halves are cut in the order of the last search, which is good enough


class EdgeTree(NamedTuple):
    """The edges of a graph halved down to single ones; set 0 holds all edges.

    Set t was cut into the sets t + 1 and ``second[t]``, which is 0 for a single edge. Its boundary
    is ``boundary[start[t]:start[t + 1]]``, and the network on these nodes is stored in the cells
    ``offset[t]:offset[t + 1]``, the entries below the diagonal row by row. Single edges come in the
    order ``order``; their boundary holds both ends.
    """

    order: Integers
    second: Integers
    start: Integers
    boundary: Integers
    offset: Integers


@jit
def _search_order(count: int, tail: Integers, head: Integers, late: bool) -> Integers:
    """Sort edges by a breadth-first search from a node that is far from others.

    They are sorted by the first of their ends that the search meets, or with ``late`` by the
    second. If the two take turns, halves of dense graphs touch few nodes too.
    """
    indptr, neighbour, edge = link_nodes(count, tail, head)
    position = np.empty(count, np.int64)
    queue = np.empty(count, np.int64)
    seed = 0
    for _ in range(2):
        position.fill(count)
        met = done = 0
        for k in range(count):
            start = (seed + k) % count
            if position[start] == count:  # the search goes on in the next component
                position[start] = met
                queue[met] = start
                met += 1
            while done < met:
                u = queue[done]
                done += 1
                for cell in range(indptr[u], indptr[u + 1]):
                    v = neighbour[cell]
                    if position[v] == count:
                        position[v] = met
                        queue[met] = v
                        met += 1
        seed = queue[count - 1]
    order = np.empty(tail.shape[0], np.int64)
    found = 0
    for place in range(count):
        u = queue[place]
        for cell in range(indptr[u], indptr[u + 1]):
            if (position[neighbour[cell]] < place) == late:
                order[found] = edge[cell]
                found += 1
    return order


@jit
def halve_edges(
    tail: Integers, head: Integers, degree: Integers
) -> tuple[Integers, Integers, Integers, Integers]:
    """Return order, second, start and boundary of an `EdgeTree`.

    A node is in the boundary of a set that has fewer than ``degree[v]`` edges at it.
    """
    edges = tail.shape[0]
    order = np.arange(edges)
    second = np.zeros(2 * edges - 1, np.int64)
    start = np.zeros(2 * edges, np.int64)
    boundary = [0 for _ in range(0)]
    place = np.full(degree.shape[0], -1, np.int64)
    names = np.empty(degree.shape[0], np.int64)
    inside = np.empty(degree.shape[0], np.int64)  # edges of the set at each of its nodes
    pending = [(0, edges, True)]
    t = 0
    while len(pending) > 0:
        a, b, late = pending.pop()
        count = 0
        for e in order[a:b]:
            for v in (tail[e], head[e]):
                if place[v] < 0:
                    place[v] = count
                    names[count] = v
                    inside[count] = 0
                    count += 1
                inside[place[v]] += 1
        nodes = names[:count]
        for k, v in enumerate(nodes):
            if b - a == 1 or inside[k] < degree[v]:
                boundary.append(v)
        start[t + 1] = len(boundary)
        if b - a > FEW:
            piece = order[a:b].copy()
            found = _search_order(nodes.shape[0], place[tail[piece]], place[head[piece]], late)
            for k in range(b - a):
                order[a + k] = piece[found[k]]
        for v in nodes:
            place[v] = -1
        if b - a > 1:
            middle = (a + b) // 2
            second[t] = t + 2 * (middle - a)
            pending.append((middle, b, not late))
            pending.append((a, middle, not late))
        t += 1
    return order, second, start, np.array(boundary)


@jit
def eliminate(M: Floats, kept: int, wide: bool) -> float:
    """Remove all but the first nodes of a network in place; return the sum of log d_v.

    Only the entries of M below the diagonal are used. A node without conductances is left alone.
    Of the two quotients c_vi / d_v and c_vj / d_v the larger one is taken, which underflows only
    where it does not matter. With ``wide`` all products are taken in this way; otherwise those of
    a panel of nodes are one product of matrices.
    """
    size = M.shape[0]
    by_panels = size > PANEL and not wide
    shares = np.zeros((PANEL if by_panels else 1, size))
    log_sum = 0.0
    high = size
    while high > kept:
        low = max(kept, high - PANEL) if by_panels else kept
        for v in range(high - 1, low - 1, -1):
            row, share = M[v], shares[(v - low) % shares.shape[0]]
            degree = 0.0
            for j in range(v):
                degree += row[j]
            if degree > 0.0:
                log_sum += np.log(degree)
            else:
                degree = 1.0  # all shares are zero
            for j in range(v):
                share[j] = row[j] / degree
            for i in range(low if by_panels else 0, v):
                c, s = row[i], share[i]
                for j in range(i):
                    M[i, j] += s * row[j] if c > row[j] else share[j] * c
        if by_panels:
            left = np.ascontiguousarray(shares[: high - low, :low])
            new = np.dot(left.T, np.ascontiguousarray(M[low:high, :low]))
            for i in range(low):
                for j in range(i):
                    M[i, j] += new[i, j]
        high = low
    return log_sum


@jit
def _join(
    tree: EdgeTree,
    store: Floats,
    sets: tuple[int, int],
    kept: int,
    place: Integers,
    wide: bool,
    result: Floats,
) -> float:
    """Add the networks of two sets and reduce the sum to the boundary of a third one.

    Fills the first cells of ``result`` and returns the sum of log d_v.
    """
    size = 0
    for t in (kept, sets[0], sets[1]):
        for k in range(tree.start[t], tree.start[t + 1]):
            v = tree.boundary[k]
            if place[v] < 0:
                place[v] = size
                size += 1
    M = np.zeros((size, size))
    for t in sets:
        cell = tree.offset[t]
        for k in range(tree.start[t], tree.start[t + 1]):
            i = place[tree.boundary[k]]
            for m in range(tree.start[t], k):
                j = place[tree.boundary[m]]
                M[max(i, j), min(i, j)] += store[cell]
                cell += 1
    for t in (kept, sets[0], sets[1]):
        for k in range(tree.start[t], tree.start[t + 1]):
            place[tree.boundary[k]] = -1
    left = tree.start[kept + 1] - tree.start[kept]
    log_sum: float = eliminate(M, left, wide)
    cell = 0
    for i in range(left):
        for j in range(i):
            result[cell] = M[i, j]
            cell += 1
    return log_sum


@jit
def reduce_sets(
    span: tuple[int, int], upward: bool, tree: EdgeTree, store: Floats, place: Integers, wide: bool
) -> float:
    """Reduce some sets of edges, or what is outside of them; return the sum of log d_v.

    Upwards, the network of a set is made from those of its halves. Downwards, the networks of its
    halves are replaced by those outside of them.
    """
    log_sum = 0.0
    for k in range(span[1] - span[0]):
        t = span[1] - 1 - k if upward else span[0] + k
        first, second = t + 1, tree.second[t]
        if second == 0:
            continue
        if upward:
            log_sum += _join(tree, store, (first, second), t, place, wide, store[tree.offset[t] :])
            continue
        outside = np.empty(tree.offset[first + 1] - tree.offset[first])
        _join(tree, store, (t, second), first, place, wide, outside)
        _join(tree, store, (t, first), second, place, wide, store[tree.offset[second] :])
        for cell in range(outside.shape[0]):
            store[tree.offset[first] + cell] = outside[cell]
    return log_sum
