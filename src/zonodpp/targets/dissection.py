"""Nested dissection: a graph cut by small separators into a binary tree of parts (George 1973)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zonodpp._jit import jit
from zonodpp._types import Integers

LEAF = 24  # nodes of a part that is not cut further; 16 to 32 took the least time on grids


class Dissection(NamedTuple):
    """Parts of a graph, each numbered after the part it was cut from; part 0 holds the top nodes.

    Part t has the separator ``nodes[first[t]:last[t]]``, whose nodes no other part has. Its
    boundary ``boundary[start[t]:start[t + 1]]`` holds the nodes of earlier parts that are next to
    it or to a part cut from it. ``owner[v]`` is the part in whose separator node v is, and
    ``children[t]`` are the two parts cut from part t, or -1.
    """

    nodes: Integers
    first: Integers
    last: Integers
    children: Integers
    owner: Integers
    start: Integers
    boundary: Integers


def dissect(indptr: Integers, neighbour: Integers, top: Integers) -> Dissection:
    """Cut a graph, given by the neighbours of each node, into parts."""
    nodes, first, last, parent, owner = cut_into_parts(indptr, neighbour, top, LEAF)
    start, boundary, children = find_boundaries(
        indptr, neighbour, nodes, first, last, parent, owner
    )
    return Dissection(nodes, first, last, children, owner, start, boundary)


@jit
def breadth_first(
    indptr: Integers,
    neighbour: Integers,
    seed: int,
    part: int,
    member: Integers,
    level: Integers,
    queue: Integers,
) -> int:
    """Queue the nodes that can be reached from a seed by distance; return their number.

    A node v is in the part if ``member[v] == part``; the sign changes when v is reached.
    """
    queue[0] = seed
    member[seed] = -part
    level[seed] = 0
    size = 1
    head = 0
    while head < size:
        v = queue[head]
        head += 1
        for k in range(indptr[v], indptr[v + 1]):
            u = neighbour[k]
            if member[u] == part:
                member[u] = -part
                level[u] = level[v] + 1
                queue[size] = u
                size += 1
    return size


@jit
def best_level(level: Integers, queue: Integers) -> tuple[int, int]:
    """Return where the queue holds the level that is smallest beside what it separates."""
    count = queue.shape[0]
    best = np.inf
    low = high = begin = 1
    while begin < count:
        end = begin
        while end < count and level[queue[end]] == level[queue[begin]]:
            end += 1
        score = (end - begin) / (min(begin, count - end) + 1)
        if score < best:
            best, low, high = score, begin, end
        begin = end
    return low, high


@jit
def separate(
    indptr: Integers, neighbour: Integers, level: Integers, queue: Integers, nodes: Integers
) -> tuple[int, int]:
    """Sort the queued nodes of a part into near side, far side and separator; return the cuts."""
    low, high = best_level(level, queue)
    near, tip = low, nodes.shape[0]
    nodes[:low] = queue[:low]
    for k in range(low, high):  # nodes that touch nothing beyond their level stay on the near side
        v = queue[k]
        touches = high == queue.shape[0]
        for e in range(indptr[v], indptr[v + 1]):
            u = neighbour[e]
            touches |= level[u] == level[v] + 1
        if touches:
            tip -= 1
            nodes[tip] = v
        else:
            nodes[near] = v
            near += 1
    nodes[near:tip] = queue[high:]
    return near, tip


@jit
def cut_into_parts(
    indptr: Integers, neighbour: Integers, top: Integers, leaf: int
) -> tuple[Integers, Integers, Integers, Integers, Integers]:
    """Cut the graph by separators, each one level of a breadth-first search."""
    n = indptr.shape[0] - 1
    owner = np.full(n, -1, np.int64)
    owner[top] = 0
    nodes = np.concatenate((np.flatnonzero(owner), top))
    parts = [(n - top.shape[0], n, -1)]
    pending = [(0, n - top.shape[0], 0)]  # pieces that are still to be cut, and their parents
    member = np.zeros(n, np.int64)
    level = np.full(n, -1, np.int64)
    queue = np.empty(n, np.int64)
    while len(pending) > 0:
        a, b, above = pending.pop()
        t = len(parts)
        piece = nodes[a:b]
        count = b - a
        if count <= leaf:
            if count > 0:
                parts.append((a, b, above))
                owner[piece] = t
            continue
        # A piece that falls into components is cut between two of them.
        member[piece] = t
        reached = cut = 0
        for v in piece:
            if member[v] == t:
                if abs(2 * reached - count) < abs(2 * cut - count):
                    cut = reached
                reached += breadth_first(
                    indptr, neighbour, v, t, member, level, queue[reached:count]
                )
        if cut > 0:
            piece[:] = queue[:count]
            tip = count
        else:
            for _ in range(2):  # the search starts from a node that is far from others
                member[piece] = t
                breadth_first(indptr, neighbour, queue[count - 1], t, member, level, queue)
            cut, tip = separate(indptr, neighbour, level, queue[:count], piece)
            owner[piece[tip:]] = t
            level[piece[tip:]] = -1
        parts.append((a + tip, b, above))
        pending.append((a, a + cut, t))
        pending.append((a + cut, a + tip, t))
    table = np.array(parts)
    return nodes, table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy(), owner


@jit
def find_boundaries(
    indptr: Integers,
    neighbour: Integers,
    nodes: Integers,
    first: Integers,
    last: Integers,
    parent: Integers,
    owner: Integers,
) -> tuple[Integers, Integers, Integers]:
    """List the boundary of each part (what its separator and its children touch), and children."""
    parts = first.shape[0]
    seen = np.full(owner.shape[0], -1, np.int64)
    found = [np.empty(0, np.int64) for _ in range(parts)]
    children = np.full((parts, 2), -1, np.int64)
    for t in range(parts - 1, 0, -1):
        listed = [0 for _ in range(0)]
        for c in children[t]:
            if c >= 0:
                for v in found[c]:
                    if owner[v] < t and seen[v] != t:
                        seen[v] = t
                        listed.append(v)
        for k in range(first[t], last[t]):
            for e in range(indptr[nodes[k]], indptr[nodes[k] + 1]):
                u = neighbour[e]
                if owner[u] < t and seen[u] != t:
                    seen[u] = t
                    listed.append(u)
        found[t] = np.array(listed, dtype=np.int64)
        children[parent[t], int(children[parent[t], 0] >= 0)] = t
    start = np.zeros(parts + 1, np.int64)
    for t in range(parts):
        start[t + 1] = start[t] + found[t].shape[0]
    boundary = np.empty(start[parts], np.int64)
    for t in range(parts):
        boundary[start[t] : start[t + 1]] = found[t]
    return start, boundary, children
