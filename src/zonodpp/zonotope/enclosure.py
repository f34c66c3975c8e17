"""A small parallelotope around a zonotope with centre zero.

The parallelotope {x : |w_i x| <= h(w_i)} with the rows w_i of W and the support function
h(w) = sum_j |w g_j| contains the zonotope, and its volume is 2^r prod h(w_i) / |det W|. Let t_i be
column i of T = W^{-1}. With the other rows fixed, the best w_i minimises h(w) subject to
w t_i = 1: the normal of the facet that the ray along t_i meets. The rows take turns until none
changes, from several first bases: the search may end in a local minimum.

The program for w_i is solved by exchanges. At a corner w is at a right angle to r - 1 generators.
Let one of them go: h is convex and piecewise linear along the edge, and a walk over its breaks
ends at the generator that takes the place.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from zonodpp._types import Booleans, Floats, Integers, Rng
from zonodpp.numerics.compiled import jit

_STARTS = 12  # first bases; thirty make the parallelotope smaller by one part in a thousand
_TURNS = 100  # rounds over all rows, at most; five to ten are enough
_FLAT = 1e-13  # a singular value that counts as zero, as a share of the largest
_ZERO = 1e-12  # a product w g of whitened generators that counts as zero
_LEVEL = 1e-9  # a slope along an edge, relative to that of one generator, that counts as zero
_GAIN = 1e-10  # relative change of a volume that counts as progress


def parallelotope(G: Floats, rng: Rng) -> Floats:
    """Return the generators of a parallelotope that contains the zonotope of G, in its span."""
    U, sizes, V = np.linalg.svd(G, full_matrices=False)
    r = int((sizes > sizes[0] * _FLAT).sum())
    if G.shape[1] == r:
        return G
    U, sizes, V = U[:, :r], sizes[:r], np.ascontiguousarray(V[:r])  # V are whitened generators
    found, least = np.eye(r), np.inf
    for start in range(_STARTS):
        basis = _greedy(V) if start == 0 else _random(V, rng)
        members = np.array([np.delete(basis, i) for i in range(r)]).reshape(r, r - 1)
        W = np.linalg.inv(V[:, basis])
        log_volume = _descend(V, members, W)
        if log_volume < least:
            found, least = W, log_volume
    # A last time without the rounding errors of exchanges: any W gives a parallelotope around it.
    W = (found / sizes) @ U.T
    return np.asarray((U * sizes) @ np.linalg.inv(found) * np.abs(W @ G).sum(axis=1))


def _greedy(V: Floats) -> Integers:
    return np.asarray(scipy.linalg.qr(V, mode="r", pivoting=True)[1][: len(V)], np.int64)


def _random(V: Floats, rng: Rng) -> Integers:
    """Return the greedy basis of generators whose lengths are multiplied by random factors."""
    return _greedy(V * rng.standard_exponential(V.shape[1]))


def _descend(V: Floats, members: Integers, W: Floats) -> float:
    """Improve the rows of W in turn; return the logarithm of the volume over 2^r.

    Row i of ``members`` has the generators at a right angle to row i of W.
    """
    value = np.inf
    for _ in range(_TURNS):
        for i, member in enumerate(members):
            frame = np.column_stack([np.linalg.inv(W)[:, i], V[:, member]])
            edges = np.linalg.inv(frame)
            _meet(edges @ V, member, edges)
            W[i] = edges[0]
        new = float(np.log(np.abs(W @ V).sum(axis=1)).sum() - np.linalg.slogdet(W)[1])
        if not new < value - _GAIN:
            break
        value = new
    return min(new, value)


@jit
def _steepest_edge(table: Floats, rests: Booleans) -> tuple[float, int, float]:
    """Return how steeply h falls along an edge, the row of that edge or -1, and the way to go."""
    best, leaving, sign = _LEVEL, -1, 0.0
    for p in range(1, table.shape[0]):
        slope, ties = 0.0, 1.0  # the generator that leaves adds 1
        for j in range(table.shape[1]):
            if rests[j]:
                product = table[0, j]
                if product > _ZERO:
                    slope += table[p, j]
                elif product < -_ZERO:
                    slope -= table[p, j]
                else:
                    ties += abs(table[p, j])
        if abs(slope) - ties > best:
            best, leaving, sign = abs(slope) - ties, p, -1.0 if slope > 0 else 1.0
    return best, leaving, sign


@jit
def _meet(table: Floats, member: Integers, edges: Floats) -> None:
    """Minimise h(w) subject to w t = 1, where w is row 0 of ``edges`` and the others are edges.

    The table has the products of these rows with the generators.
    """
    r, n = table.shape
    rests = np.ones(n, np.bool_)
    for p in range(r - 1):
        rests[member[p]] = False
        table[0, member[p]] = 0.0
    for _ in range(50 * r):
        best, leaving, sign = _steepest_edge(table, rests)
        if leaving < 0:
            return
        breaks, places, count = np.empty(n), np.empty(n, np.int64), 0
        for j in range(n):
            speed = sign * table[leaving, j]
            ahead = table[0, j] * speed < 0 and abs(speed) > _ZERO
            if ahead and rests[j] and abs(table[0, j]) > _ZERO:
                breaks[count], places[count] = -table[0, j] / speed, j
                count += 1
        entering, length = -1, 0.0
        for k in np.argsort(breaks[:count]):
            best -= 2.0 * abs(table[leaving, places[k]])
            if best <= 0.0:
                entering, length = places[k], breaks[k]
                break
        if entering < 0:
            return
        table[0] += sign * length * table[leaving]
        edges[0] += sign * length * edges[leaving]
        pivot = table[leaving, entering]
        table[leaving] /= pivot
        edges[leaving] /= pivot
        for p in range(1, r):
            if p != leaving:
                factor = table[p, entering]
                table[p] -= factor * table[leaving]
                edges[p] -= factor * edges[leaving]
        rests[member[leaving - 1]], rests[entering] = True, False
        member[leaving - 1], table[0, entering] = entering, 0.0
