"""A tile of the zonotope on the device: the nearest facet on a line, and the tile behind it.

Lanes share the r coordinates of the point, the n reduced costs, and the columns of T. Reduced costs
carry their sign here: an item whose reduced cost is negative, or minus zero, rests at its length.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, int32

from zonodpp._types import Floats
from zonodpp.chains.gpu_inverses import dot_product, inverse_functions, places_for, spread, turns
from zonodpp.chains.gpu_rows import ItemShares, row_product
from zonodpp.chains.gpu_state import ChainMemory, Geometry, LineState
from zonodpp.chains.inverse import LARGE
from zonodpp.numerics.gpu_compile import Function, Index, inlined
from zonodpp.numerics.gpu_warps import group_functions, wait
from zonodpp.zonotope.tile import PIVOT

REFRESH = 1000  # pivots after which T is computed anew
INFINITE = np.inf


def tile_size(r: int, lanes: int) -> int:
    """Return the doubles of shared memory for the tile of a chain and a direction."""
    return spread(places_for(r).size + 4 * r, lanes)


def facet_functions(r: int, items: ItemShares) -> tuple[Function, Function]:
    """Compile the search for the nearest facet and for the item behind it.

    All threads of a warp call these functions together.
    """
    lanes, parts, part, none = items.lanes, items.parts, items.part, 2 * items.total
    own, places = turns(r, lanes), places_for(r)
    pitch, u, v, reach = places.pitch, places.u, places.v, places.reach
    least, dot, multiply = group_functions(lanes).least, dot_product(r), row_product(r, items)

    @inlined
    def nearest_facet(chain: ChainMemory) -> tuple[float, int]:
        """Return how far the point can go, and which coordinate then meets its bound, or r.

        Ratios are compared without divisions.
        """
        memory, at = chain.memory, chain.at
        distance, speed, leaving = INFINITE, 1.0, r
        for turn in range(own):
            p = turn * lanes + chain.lane
            if p < r:
                velocity, point = memory[Index(at + v + p)], memory[Index(at + u + p)]
                way = memory[Index(at + reach + p)] - point if velocity > 0.0 else point
                if velocity != 0.0 and way * speed < distance * abs(velocity):
                    distance, speed, leaving = way, abs(velocity), p
        length, leaving = least(distance / speed, leaving)
        return max(length, 0.0), leaving

    @inlined
    def ratio_test(
        chain: ChainMemory, p: int, left: int, upward: float, rows: Floats, line: LineState
    ) -> tuple[float, int, bool]:
        """Return the step to the first reduced cost that reaches zero, its item, and its side.

        The side tells whether the item rests at its length. ``line.drops`` is set to how fast the
        sizes of reduced costs fall.
        """
        memory, first = chain.memory, chain.at + p * pitch
        smallest = PIVOT * math.sqrt(dot(memory, first, first))
        gap, fall, place = INFINITE, 1.0, none
        begins = cuda.local.array(1, int32)
        begins[0] = first
        for c in range(parts):
            multiply(memory, begins, rows, c, chain.lane, line.products)
            for e in range(part):
                j = (c * part + e) * lanes + chain.lane
                cost = line.reduced[c * part + e]
                side = math.copysign(1.0, cost)
                drop = 0.0 if j == left else upward * side * line.products[e]
                line.drops[c * part + e] = drop
                if drop > smallest and abs(cost) * fall < gap * drop:
                    gap, fall, place = abs(cost), drop, 2 * j + (0 if side > 0.0 else 1)
        theta, place = least(gap / fall, place)
        return theta, place // 2, place % 2 != 0

    return nearest_facet, ratio_test


def crossing(r: int, items: ItemShares) -> tuple[Function, Function]:
    """Compile the step into the tile behind a facet: the reduced costs, and the basis."""
    lanes, each, own, places = items.lanes, items.each, turns(r, items.lanes), places_for(r)
    column, basis, u, v, reach = places.column, places.basis, places.u, places.v, places.reach
    inverse = inverse_functions(r, lanes)
    times, replace = inverse.times, inverse.replace

    @inlined
    def lower_costs(
        theta: float, entering: int, left: int, upward: float, line: LineState, lane: int
    ) -> None:
        """Move the reduced costs until that of the entering item is zero."""
        for k in range(each):
            j = k * lanes + lane
            size = max(0.0, abs(line.reduced[k]) - theta * line.drops[k])
            cost = math.copysign(size, line.reduced[k])
            cost = -upward * theta if j == left else cost
            line.reduced[k] = 0.0 if j == entering else cost

    @inlined
    def cross(
        crosses: bool,
        chain: ChainMemory,
        p: int,
        length: float,
        entering: int,
        at_length: bool,
        geometry: Geometry,
    ) -> tuple[float, int]:
        """Go ``length`` along the line, and let an item take place p.

        Returns |det| of the new basis over that of the old one, and by how much T has aged.
        """
        memory, at, lengths = chain.memory, chain.at, geometry.lengths
        speed = memory[Index(at + v + p)]
        times(chain, geometry.vectors, entering)
        pivot = memory[Index(at + column + p)]
        if crosses:
            speed /= pivot
            replace(chain, p)
            for turn in range(own):
                q = turn * lanes + chain.lane
                if q < r:
                    velocity = memory[Index(at + v + q)]
                    point = memory[Index(at + u + q)] + length * velocity
                    velocity -= memory[Index(at + column + q)] * speed
                    if q == p:
                        chain.whole[Index(2 * at + basis + p)] = entering
                        memory[Index(at + reach + p)] = lengths[entering]
                        velocity, point = speed, lengths[entering] if at_length else 0.0
                    memory[Index(at + v + q)] = velocity
                    memory[Index(at + u + q)] = point
        wait()
        return abs(pivot), 1 if abs(pivot) * LARGE > 1.0 else REFRESH

    return lower_costs, cross
