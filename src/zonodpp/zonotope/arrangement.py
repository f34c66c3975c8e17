"""The central arrangement of hyperplanes g_j'd = 0, which has the normal fan of a zonotope.

A cell of the arrangement is a set of directions d in which every generator has the same sign: the
signs of a vertex. A ray of it is a direction with r - 1 independent generators at a right angle:
the normal of a facet. Both come from restrictions: the hyperplane of one generator, with the
generators projected onto it, is an arrangement of one dimension less.

Generators that become parallel in a restriction make one hyperplane of it. So degenerate input
needs no other code, and nothing is listed twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from zonodpp._types import Booleans, Floats, Integers
from zonodpp.numerics.compiled import jit

_ROUNDING = 32 * np.finfo(float).eps  # error of an entry of a whitened generator, with some room
_APART = 8.0  # two directions are apart if their sine is so many times the sum of their errors


class Arrangement(NamedTuple):
    """Unit vectors of which no two are parallel, and which span their space."""

    vectors: Floats  # (m, rank)
    blur: Floats  # (m,) error of each vector
    group: Integers  # (n,) the vector to which a generator is parallel, -1 for zero generators
    flip: Floats  # (n,) -1 if the generator points the other way, else 1
    dual: Floats  # (r, rank) maps a direction among the vectors to one among the generators
    rest: Floats  # (r, r - rank) directions at a right angle to all generators

    def merged(self, G: Floats) -> Floats:
        """Return, for each vector, the sum of the generators along it, as rows."""
        sums = np.zeros((len(self.vectors), len(G)))
        kept = self.group >= 0
        np.add.at(sums, self.group[kept], (G * self.flip).T[kept])
        return sums


def arrangement_of(G: Floats) -> Arrangement:
    """Return the arrangement of the columns of G, whitened in their span."""
    heights = np.abs(G).max(axis=1, initial=0.0)
    scale = np.where(heights > 0, heights, 1.0)
    U, sizes, V = np.linalg.svd(G / scale[:, None], full_matrices=False)
    limit = _ROUNDING * sizes[:1].sum() * math.sqrt(max(G.shape))
    rank = int((sizes > limit).sum())
    kept = V[:rank].T
    lengths = np.linalg.norm(kept, axis=1)
    # An entry of G is right up to rounding, which whitening may enlarge.
    error = _ROUNDING * (sizes[0] / sizes[rank - 1] if rank else 1.0)
    usable = lengths > error
    units = kept / np.where(usable, lengths, 1.0)[:, None]
    vectors, blur, group, flip = _merge(
        np.ascontiguousarray(units[usable]), error / lengths[usable]
    )
    groups, flips = np.full(len(kept), -1), np.ones(len(kept))
    groups[usable], flips[usable] = group, flip
    dual = U[:, :rank] / sizes[:rank] / scale[:, None]
    rest = np.linalg.qr(U[:, :rank], mode="complete")[0][:, rank:] / scale[:, None]
    return Arrangement(vectors, blur, groups, flips, dual, rest)


@jit
def _merge(units: Floats, blur: Floats) -> tuple[Floats, Floats, Integers, Floats]:
    """Return one vector for each direction, its error, the group and the sign of each vector."""
    n, rank = units.shape
    kept, errors = np.empty_like(units), np.empty(n)
    group, flip, count = np.empty(n, np.int64), np.empty(n), 0
    for j in range(n):
        found = -1
        for i in range(count):
            cosine = 0.0
            for a in range(rank):
                cosine += units[j, a] * kept[i, a]
            if abs(cosine) < 0.99:
                continue
            sign = 1.0 if cosine > 0 else -1.0
            apart = 0.0
            for a in range(rank):
                apart += (units[j, a] - sign * kept[i, a]) ** 2
            if math.sqrt(apart) <= _APART * (blur[j] + errors[i]):
                found, flip[j] = i, sign
                if blur[j] < errors[i]:  # the longer generator has the better direction
                    errors[i] = blur[j]
                    for a in range(rank):
                        kept[i, a] = sign * units[j, a]
                break
        if found < 0:
            kept[count], errors[count], flip[j], found = units[j], blur[j], 1.0, count
            count += 1
        group[j] = found
    return kept[:count].copy(), errors[:count].copy(), group, flip


@jit
def restrict(
    vectors: Floats, blur: Floats, k: int, count: int
) -> tuple[Floats, Floats, Integers, Floats, Floats]:
    """Project the first ``count`` vectors onto the hyperplane of vector k, and merge them.

    Returns the vectors of the restriction, their errors, the group and the sign of each vector,
    and the mirror v: x - 2 v (v'x) turns vector k into the last axis, or its opposite. Vector k
    itself, if among the first, gets group -1.
    """
    rank = vectors.shape[1]
    mirror = vectors[k].copy()
    mirror[rank - 1] += 1.0 if mirror[rank - 1] >= 0 else -1.0
    mirror /= math.sqrt((mirror * mirror).sum())
    units, errors = np.empty((count, rank - 1)), np.empty(count)
    place, others = np.empty(count, np.int64), 0
    for j in range(count):
        if j == k:
            continue
        share, length = 2.0 * (mirror * vectors[j]).sum(), 0.0
        for a in range(rank - 1):
            units[others, a] = vectors[j, a] - share * mirror[a]
            length += units[others, a] ** 2
        length = math.sqrt(length)
        units[others] /= length
        errors[others] = (blur[j] + blur[k]) / length
        place[others] = j
        others += 1
    kept, kept_errors, found, turned = _merge(units[:others].copy(), errors[:others].copy())
    group, flip = np.full(count, -1), np.ones(count)
    for i in range(others):
        group[place[i]], flip[place[i]] = found[i], turned[i]
    return kept, kept_errors, group, flip, mirror


@jit
def lifted(directions: Floats, mirror: Floats) -> Floats:
    """Return directions within a restriction, as rows, in the space around it."""
    m, rank = directions.shape[0], mirror.shape[0]
    around = np.empty((m, rank))
    for i in range(m):
        share = 0.0
        for a in range(rank - 1):
            share += 2.0 * directions[i, a] * mirror[a]
        for a in range(rank - 1):
            around[i, a] = directions[i, a] - share * mirror[a]
        around[i, rank - 1] = -share * mirror[rank - 1]
    return around


def rays(
    vectors: Floats, blur: Floats, used: Booleans, grow: Callable[[int], None] | None = None
) -> Floats:
    """Return one of the two unit vectors of each line that is an intersection of hyperplanes.

    A line is listed at the first hyperplanes that contain it. So lines in the hyperplanes that are
    ``used`` are left out: they have been listed. ``grow`` is called with twice the number of lines
    as it rises.
    """
    m, rank = vectors.shape
    if rank == 1:
        return np.ones((int(not used.any()), 1))
    if rank == 2:
        return np.column_stack([-vectors[~used, 1], vectors[~used, 0]])
    found = [np.empty((0, rank))]
    used = used.copy()
    for k in np.flatnonzero(~used):
        inner, errors, group, _, mirror = restrict(vectors, blur, k, m)
        listed = np.zeros(len(inner), np.bool_)
        listed[group[used]] = True
        if not listed.all():
            found.append(lifted(rays(inner, errors, listed), mirror))
        used[k] = True
        if grow is not None:
            grow(2 * sum(map(len, found)))
    return np.concatenate(found)
