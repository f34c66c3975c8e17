"""Effective conductances between the ends of all edges of a graph, without any subtraction.

Removing a node v from a network of conductances c joins each pair i, j of its neighbours by a new
conductance c_vi c_vj / d_v, where d_v is the sum of the conductances at v (the star-mesh
transform, one step of Gaussian elimination on the Laplacian). All numbers are positive and nothing
is subtracted, so every result keeps its digits, whatever the weights are (Grassmann, Taksar,
Heyman 1985). When only the two ends of an edge are left, the conductance between them is the
effective one, and a random spanning tree holds the edge with probability weight / conductance.

All edges are served together. The graph is cut into parts (`dissection`). An upward pass reduces
each part to its boundary, a downward pass reduces what is outside each part to the same boundary,
and the two leave a small network around the part's separator, which is halved until single edges
are left.

Networks are square arrays of which only the entries above the diagonal are used.
"""

from __future__ import annotations

import numpy as np

from zonodpp._jit import jit
from zonodpp._types import Floats, Integers
from zonodpp.targets.dissection import Dissection

PANEL = 32  # nodes removed together, so that the rest of the network is read once for all of them
TILE = 512  # columns updated together: this much of a panel, 128 KiB, stays in cache
WIDE = 1e300  # ratio of weights from which on a conductance over a degree may underflow


@jit
def add_products(M: Floats, shares: Floats, begin: int, end: int) -> None:
    """Join the neighbours of nodes begin to end - 1, all of them beyond: M_ij += s_ki M_kj."""
    size = M.shape[0]
    for low in range(end, size, TILE):
        high = min(low + TILE, size)
        for i in range(end, high):
            first = max(low, i + 1)
            row = M[i, first:high]
            k = begin
            while k + 4 <= end:
                m = k - begin
                a, b = shares[m, i], shares[m + 1, i]
                c, d = shares[m + 2, i], shares[m + 3, i]
                rows = M[k : k + 4, first:high]
                for j in range(row.shape[0]):
                    row[j] += (a * rows[0, j] + b * rows[1, j]) + (c * rows[2, j] + d * rows[3, j])
                k += 4
            while k < end:
                a = shares[k - begin, i]
                for j in range(row.shape[0]):
                    row[j] += a * M[k, first + j]
                k += 1


@jit
def eliminate(M: Floats, count: int, wide: bool) -> float:
    """Remove the first nodes of a network in place; return the sum of log d_v.

    A node without conductances is left alone. With ``wide``, products are taken in an order in
    which they underflow only where they do not matter.
    """
    size = M.shape[0]
    log_sum = 0.0
    shares = np.zeros((PANEL, size))
    for begin in range(0, count, PANEL):
        end = min(begin + PANEL, count)
        rows = size if wide else end
        for k in range(begin, end):
            degree = 0.0
            for j in range(k + 1, size):
                degree += M[k, j]
            share = shares[k - begin]
            share[:] = 0.0
            if degree == 0.0:
                continue
            log_sum += np.log(degree)
            for j in range(k + 1, size):
                share[j] = M[k, j] / degree
            for i in range(k + 1, rows):
                c = M[k, i]
                if wide:
                    for j in range(i + 1, size):
                        b = M[k, j]
                        M[i, j] += share[i] * b if c > b else share[j] * c
                elif c > 0.0:
                    for j in range(i + 1, size):
                        M[i, j] += share[i] * M[k, j]
        if not wide:
            add_products(M, shares, begin, end)
    return log_sum


@jit
def keep(M: Floats, kept: Integers, wide: bool) -> Floats:
    """Remove all nodes of a network but those listed; return the rest, in the order listed."""
    size = M.shape[0]
    count = kept.shape[0]
    order = np.empty(size, np.int64)
    left = np.ones(size, np.bool_)
    left[kept] = False
    place = 0
    for v in range(size):
        if left[v]:
            order[place] = v
            place += 1
    order[place:] = kept
    P = np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1, size):
            u, v = order[i], order[j]
            P[i, j] = M[u, v] if u < v else M[v, u]
    eliminate(P, size - count, wide)
    return P[size - count :, size - count :].copy()


@jit
def between(M: Floats, tail: Integers, head: Integers, wide: bool) -> Floats:
    """Return the effective conductances between pairs of nodes of one network, by halving."""
    result = np.empty(tail.shape[0])
    networks = [M]
    names = [np.arange(M.shape[0])]
    spans = [(0, tail.shape[0])]
    place = np.full(M.shape[0], -1, np.int64)
    while len(spans) > 0:
        N, known, (a, b) = networks.pop(), names.pop(), spans.pop()
        for k in range(known.shape[0]):
            place[known[k]] = k
        kept = [0 for _ in range(0)]
        for e in range(a, b):
            for v in (tail[e], head[e]):
                if place[v] >= 0:
                    kept.append(place[v])
                    place[v] = -1
        place[known] = -1
        here = np.array(kept)
        left = keep(N, here, wide)
        if b - a == 1:
            result[a] = left[0, 1]
            continue
        for span in ((a, (a + b) // 2), ((a + b) // 2, b)):
            networks.append(left)
            names.append(known[here])
            spans.append(span)
    return result


@jit
def boundary_of(t: int, parts: Dissection) -> Integers:
    """Return the boundary of a part."""
    return parts.boundary[parts.start[t] : parts.start[t + 1]]


@jit
def own_network(
    t: int, parts: Dissection, edges: Integers, ends: Integers, weights: Floats, place: Integers
) -> Floats:
    """Return the network of a part's own edges on separator and boundary; number these nodes.

    Part t owns the edges ``edges[t]:edges[t + 1]``, those that have an end in its separator and
    none in a part cut from it.
    """
    size = 0
    for k in range(parts.first[t], parts.last[t]):
        place[parts.nodes[k]] = size
        size += 1
    for k in range(parts.start[t], parts.start[t + 1]):
        place[parts.boundary[k]] = size
        size += 1
    M = np.zeros((size, size))
    for e in range(edges[t], edges[t + 1]):
        i, j = place[ends[e, 0]], place[ends[e, 1]]
        M[min(i, j), max(i, j)] = weights[e]
    return M


@jit
def add_network(M: Floats, U: Floats, places: Integers) -> None:
    """Add the network U, whose node i is node ``places[i]`` of M."""
    size = places.shape[0]
    for i in range(size):
        for j in range(i + 1, size):
            u, v = places[i], places[j]
            M[min(u, v), max(u, v)] += U[i, j]


@jit
def stored(t: int, parts: Dissection, room: Integers, store: Floats) -> Floats:
    """Return the view of a part's network on its boundary in the store."""
    size = parts.start[t + 1] - parts.start[t]
    view: Floats = store[room[t] : room[t + 1]].reshape((size, size))
    return view


@jit
def inner_network(
    t: int,
    parts: Dissection,
    edges: Integers,
    ends: Integers,
    weights: Floats,
    room: Integers,
    store: Floats,
    place: Integers,
) -> Floats:
    """Return the network of a part's own edges and of what its children have left."""
    M: Floats = own_network(t, parts, edges, ends, weights, place)
    for c in parts.children[t]:
        if c >= 0:
            add_network(M, stored(c, parts, room, store), place[boundary_of(c, parts)])
    return M


@jit
def reduce_inside(
    span: tuple[int, int],
    parts: Dissection,
    edges: Integers,
    ends: Integers,
    weights: Floats,
    room: Integers,
    store: Floats,
    place: Integers,
    wide: bool,
) -> float:
    """Upward pass over some parts: store what each leaves on its boundary; return sum of log d."""
    log_sum = 0.0
    for t in range(span[1] - 1, span[0] - 1, -1):
        M = inner_network(t, parts, edges, ends, weights, room, store, place)
        count = parts.last[t] - parts.first[t]
        log_sum += eliminate(M, count, wide)
        stored(t, parts, room, store)[:, :] = M[count:, count:]
    return log_sum


@jit
def reduce_outside(
    span: tuple[int, int],
    parts: Dissection,
    edges: Integers,
    ends: Integers,
    weights: Floats,
    room: Integers,
    store: Floats,
    place: Integers,
    wide: bool,
    result: Floats,
) -> None:
    """Downward pass over some parts: fill the effective conductances of their own edges.

    What is outside a child takes the place in the store of what is inside, which is used here for
    the last time.
    """
    for t in range(span[0], span[1]):
        own = own_network(t, parts, edges, ends, weights, place)
        count = parts.last[t] - parts.first[t]
        add_network(own, stored(t, parts, room, store), np.arange(count, own.shape[0]))
        if edges[t + 1] > edges[t]:
            M = own.copy()
            for c in parts.children[t]:
                if c >= 0:
                    add_network(M, stored(c, parts, room, store), place[boundary_of(c, parts)])
            mine = slice(edges[t], edges[t + 1])
            result[mine] = between(M, place[ends[mine, 0]], place[ends[mine, 1]], wide)
        first, second = parts.children[t]
        outside = own.copy(), own.copy()
        for c, M in ((second, outside[0]), (first, outside[1])):
            if c >= 0:
                add_network(M, stored(c, parts, room, store), place[boundary_of(c, parts)])
        for c, M in ((first, outside[0]), (second, outside[1])):
            if c >= 0:
                stored(c, parts, room, store)[:, :] = keep(M, place[boundary_of(c, parts)], wide)
