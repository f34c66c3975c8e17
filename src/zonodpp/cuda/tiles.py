"""A tile of the zonotope on the device: the nearest facet on a line, and the tile behind it.

Lanes share the r coordinates of the point, the n reduced costs, and the columns of T. Reduced costs
carry their sign here: an item whose reduced cost is negative, or minus zero, rests at its length.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import cuda, int32

from zonodpp._types import Floats, Integers
from zonodpp.cuda.compile import Function, Index, inlined
from zonodpp.cuda.inverses import (
    dot_product,
    inverse_functions,
    inverse_size,
    padded_length,
    spread,
    turns,
)
from zonodpp.cuda.rows import ItemShares, row_product
from zonodpp.cuda.warps import group_functions
from zonodpp.tiles.pivots import LARGE, PIVOT

REFRESH = 1000  # pivots after which T is computed anew
INFINITE = np.inf


def tile_size(r: int, lanes: int) -> int:
    """Return the doubles of shared memory for the tile of a chain and a direction."""
    return spread(inverse_size(r) + 4 * r, lanes)


class TileFunctions(NamedTuple):
    """What a walk does with a tile; all threads of a warp call these functions together."""

    set_speed: Function
    nearest_facet: Function
    ratio_test: Function
    lower_costs: Function
    cross: Function


def tile_functions(r: int, items: ItemShares) -> TileFunctions:  # noqa: C901 - of all together
    """Compile the functions for tiles of r items."""
    lanes, parts, part, none = items.lanes, items.parts, items.part, 2 * items.total
    pitch, own = padded_length(r), turns(r, lanes)
    column = r * pitch
    basis = 2 * (column + 2 * r)
    u = inverse_size(r)
    v, reach, d = u + r, u + 2 * r, u + 3 * r
    wait, _, _, least, *_ = group_functions(lanes)
    inverse = inverse_functions(r, lanes)
    times, replace, dot = inverse.times, inverse.replace, dot_product(r)
    multiply = row_product(r, items)

    @inlined
    def set_speed(memory: Floats, at: int, forward: float, lane: int) -> None:
        """Set v = forward * T d, the speed of the coordinates."""
        for turn in range(own):
            p = turn * lanes + lane
            if p < r:
                memory[Index(at + v + p)] = forward * dot(memory, at + p * pitch, at + d)

    @inlined
    def nearest_facet(memory: Floats, at: int, lane: int) -> tuple[float, int]:
        """Return how far the point can go, and which coordinate then meets its bound, or r.

        Ratios are compared without divisions.
        """
        distance, speed, leaving = INFINITE, 1.0, r
        for turn in range(own):
            p = turn * lanes + lane
            if p < r:
                velocity, point = memory[Index(at + v + p)], memory[Index(at + u + p)]
                way = memory[Index(at + reach + p)] - point if velocity > 0.0 else point
                if velocity != 0.0 and way * speed < distance * abs(velocity):
                    distance, speed, leaving = way, abs(velocity), p
        length, leaving = least(distance / speed, leaving)
        return max(length, 0.0), leaving

    @inlined
    def ratio_test(
        memory: Floats,
        at: int,
        p: int,
        left: int,
        upward: float,
        rows: Floats,
        reduced: Floats,
        drops: Floats,
        products: Floats,
        lane: int,
    ) -> tuple[float, int, bool]:
        """Return the step to the first reduced cost that reaches zero, its item, and its side.

        The side tells whether the item rests at its length. ``drops`` is set to how fast the sizes
        of reduced costs fall.
        """
        smallest = PIVOT * math.sqrt(dot(memory, at + p * pitch, at + p * pitch))
        gap, fall, place = INFINITE, 1.0, none
        begins = cuda.local.array(1, int32)
        begins[0] = at + p * pitch
        for c in range(parts):
            multiply(memory, begins, rows, c, lane, products)
            for e in range(part):
                j = (c * part + e) * lanes + lane
                cost = reduced[c * part + e]
                side = math.copysign(1.0, cost)
                drop = 0.0 if j == left else upward * side * products[e]
                drops[c * part + e] = drop
                if drop > smallest and abs(cost) * fall < gap * drop:
                    gap, fall, place = abs(cost), drop, 2 * j + (0 if side > 0.0 else 1)
        theta, place = least(gap / fall, place)
        return theta, place // 2, place % 2 != 0

    @inlined
    def lower_costs(
        theta: float,
        entering: int,
        left: int,
        upward: float,
        reduced: Floats,
        drops: Floats,
        lane: int,
    ) -> None:
        """Move the reduced costs until that of the entering item is zero."""
        for k in range(parts * part):
            j = k * lanes + lane
            size = max(0.0, abs(reduced[k]) - theta * drops[k])
            cost = math.copysign(size, reduced[k])
            cost = -upward * theta if j == left else cost
            reduced[k] = 0.0 if j == entering else cost

    @inlined
    def cross(
        crossing: bool,
        memory: Floats,
        whole: Integers,
        at: int,
        p: int,
        length: float,
        entering: int,
        at_length: bool,
        vectors: Floats,
        lengths: Floats,
        lane: int,
    ) -> tuple[float, int]:
        """Go ``length`` along the line, and let an item take place p.

        Returns |det| of the new basis over that of the old one, and by how much T has aged.
        """
        speed = memory[Index(at + v + p)]
        times(memory, at, vectors, entering, lane)
        pivot = memory[Index(at + column + p)]
        if crossing:
            speed /= pivot
            replace(memory, at, p, lane)
            for turn in range(own):
                q = turn * lanes + lane
                if q < r:
                    velocity = memory[Index(at + v + q)]
                    point = memory[Index(at + u + q)] + length * velocity
                    velocity -= memory[Index(at + column + q)] * speed
                    if q == p:
                        whole[Index(2 * at + basis + p)] = entering
                        memory[Index(at + reach + p)] = lengths[entering]
                        velocity, point = speed, lengths[entering] if at_length else 0.0
                    memory[Index(at + v + q)] = velocity
                    memory[Index(at + u + q)] = point
        wait()
        return abs(pivot), 1 if abs(pivot) * LARGE > 1.0 else REFRESH

    return TileFunctions(set_speed, nearest_facet, ratio_test, lower_costs, cross)
