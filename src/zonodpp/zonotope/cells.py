"""The cells of a central arrangement: hyperplanes come one at a time, and each cuts some cells.

Those that the hyperplane of vector k cuts are the cells of its restriction, which are found first,
in one dimension less. All others lie on one side of it, on which any of their points tells. So the
work is in proportion to the number of cells. A cell and its opposite count as one here.

Each cell has a witness, a unit vector well inside. That of a cell that was cut is half-way between
a witness of the cut and the next hyperplane.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from zonodpp._types import Floats, Integers, Signs
from zonodpp.numerics.compiled import jit
from zonodpp.zonotope.arrangement import lifted, restrict


class Cells(NamedTuple):
    """Cells as rows: the sign of each vector, a point inside, and a hash of the signs."""

    signs: Signs  # (m, n)
    points: Floats  # (m, rank)
    hashes: Integers  # (m,) sums of a random number for each vector, with its sign


def cells(
    vectors: Floats, blur: Floats, keys: Integers, grow: Callable[[int], None] | None = None
) -> Cells:
    """Return one of each two opposite cells: that in which the first vector counts as positive.

    ``keys`` are random numbers, one for each vector. ``grow`` is called with the number of cells as
    it rises.
    """
    m, rank = vectors.shape
    if rank == 1:
        return Cells(np.ones((1, m), np.int8), vectors.copy(), keys[:1])
    if rank == 2:
        return Cells(*_sectors(vectors, keys))
    # The first vectors are independent: they cut the space into all combinations of signs.
    order = scipy.linalg.qr(vectors.T, mode="r", pivoting=True)[1].astype(np.int64)
    vectors, blur, keys = np.ascontiguousarray(vectors[order]), blur[order], keys[order]
    count = 2 ** (rank - 1)
    found = _empty(2 * count, m, rank)
    corners = np.indices((2,) * (rank - 1)).reshape(rank - 1, -1).T * 2 - 1
    found.signs[:count, 0], found.signs[:count, 1:rank] = 1, corners
    first = found.signs[:count, :rank].astype(np.int64)
    points = np.linalg.solve(vectors[:rank], first.T.astype(np.float64)).T
    found.points[:count] = points / np.linalg.norm(points, axis=1)[:, None]
    found.hashes[:count] = first @ keys[:rank]
    for k in range(rank, m):
        cut = _lifted(vectors, blur, keys, k)
        if count + len(cut.hashes) > len(found.hashes):
            room = _empty(2 * count + len(cut.hashes), m, rank)
            room.signs[:count], room.points[:count] = found.signs[:count], found.points[:count]
            room.hashes[:count] = found.hashes[:count]
            found = room
        count = _cut(*found, count, vectors, k, keys[k], *cut)
        if grow is not None:
            grow(count)
    # The hash of the opposite cell is the opposite number, so all cells turn to the same side.
    signs = np.empty((count, m), np.int8)
    signs[:, order] = found.signs[:count]
    turn = signs[:, :1].copy()
    signs *= turn
    side = turn[:, 0].astype(np.int64)
    return Cells(signs, found.points[:count] * turn, found.hashes[:count] * side)


def _empty(count: int, m: int, rank: int) -> Cells:
    return Cells(np.empty((count, m), np.int8), np.empty((count, rank)), np.empty(count, np.int64))


def _lifted(vectors: Floats, blur: Floats, keys: Integers, k: int) -> Cells:
    """Return the cells in the hyperplane of vector k, with the signs of all vectors before k."""
    inner, errors, group, flip, mirror = restrict(vectors, blur, k, k)
    side = flip.astype(np.int8)
    merged = np.zeros(len(inner), np.int64)
    np.add.at(merged, group, keys[:k] * side)
    found = cells(inner, errors, merged)
    signs = found.signs[:, group] * side
    turn = signs[:, :1].copy()
    signs *= turn
    points = np.ascontiguousarray(lifted(found.points, mirror) * turn)
    return Cells(signs, points, found.hashes * turn[:, 0].astype(np.int64))


@jit
def _sectors(vectors: Floats, keys: Integers) -> tuple[Signs, Floats, Integers]:
    """Return the cells in the plane, by the angles of the lines."""
    m = vectors.shape[0]
    angles = np.empty(m + 1)
    for j in range(m):
        angle = math.atan2(vectors[j, 1], vectors[j, 0])
        angles[j] = angle if angle >= 0.0 else angle + math.pi
    angles[:m].sort()
    angles[m] = angles[0] + math.pi
    signs, points, hashes = np.empty((m, m), np.int8), np.empty((m, 2)), np.zeros(m, np.int64)
    for i in range(m):
        middle = (angles[i] + angles[i + 1] + math.pi) / 2.0
        x, y = math.cos(middle), math.sin(middle)
        if x * vectors[0, 0] + y * vectors[0, 1] < 0.0:
            x, y = -x, -y
        points[i, 0], points[i, 1] = x, y
        for j in range(m):
            signs[i, j] = 1 if x * vectors[j, 0] + y * vectors[j, 1] > 0.0 else -1
            hashes[i] += signs[i, j] * keys[j]
    return signs, points, hashes


@jit
def _cut(
    signs: Signs,
    points: Floats,
    hashes: Integers,
    count: int,
    vectors: Floats,
    k: int,
    key: int,
    cut_signs: Signs,
    cut_points: Floats,
    cut_hashes: Integers,
) -> int:
    """Cut cells by the hyperplane of vector k; return their new number.

    A cut in no known cell would be one of a cell that is thinner than rounding errors: it is left
    out, as that cell was.
    """
    rank, cuts = vectors.shape[1], cut_hashes.shape[0]
    size = 4
    while size < 2 * cuts:
        size *= 2
    table = np.full(size, -1)  # open addressing: the cut with a hash
    for i in range(cuts):
        at = (cut_hashes[i] >> 20) & (size - 1)
        while table[at] >= 0:
            at = (at + 1) & (size - 1)
        table[at] = i
    total = count
    for p in range(count):
        at = (hashes[p] >> 20) & (size - 1)
        while table[at] >= 0 and cut_hashes[table[at]] != hashes[p]:
            at = (at + 1) & (size - 1)
        i = table[at]
        if i < 0:
            level = 0.0
            for a in range(rank):
                level += points[p, a] * vectors[k, a]
            signs[p, k] = 1 if level > 0 else -1
            hashes[p] += signs[p, k] * key
            continue
        down, up = 1.0, 1.0  # how far a point of the cut may move along vector k
        for j in range(k):
            level, speed = 0.0, 0.0
            for a in range(rank):
                level += cut_points[i, a] * vectors[j, a]
                speed += vectors[k, a] * vectors[j, a]
            level *= cut_signs[i, j]
            speed *= cut_signs[i, j]
            if speed < 0:
                up = min(up, level / -speed)
            elif speed > 0:
                down = min(down, level / speed)
        signs[total, :k] = signs[p, :k]
        signs[p, k], signs[total, k] = -1, 1
        hashes[total] = hashes[p] + key
        hashes[p] -= key
        _place(points[p], cut_points[i], vectors[k], -0.5 * down)
        _place(points[total], cut_points[i], vectors[k], 0.5 * up)
        total += 1
    return total


@jit
def _place(point: Floats, start: Floats, direction: Floats, step: float) -> None:
    """Put the unit vector of start + step * direction into ``point``."""
    length = 0.0
    for a in range(point.shape[0]):
        point[a] = start[a] + step * direction[a]
        length += point[a] ** 2
    for a in range(point.shape[0]):
        point[a] /= math.sqrt(length)
