"""How a step on the zonotope begins on the device: a tiling, and a direction."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, int32

from zonodpp._types import Floats
from zonodpp.chains.gpu_inverses import places_for, turns
from zonodpp.chains.gpu_rows import ItemShares, row_product
from zonodpp.chains.gpu_state import ChainMemory, Geometry
from zonodpp.numerics.gpu_compile import Function, Index, Word, inlined
from zonodpp.numerics.gpu_philox import COST, DIRECTION, normals, uniforms
from zonodpp.numerics.gpu_warps import group_functions, wait


@inlined
def _cost_of(given: Floats, first: Word, j: int) -> float:
    """Return the cost of an item: as given, or by the hash of SplitMix64."""
    if given.shape[0] > 0:
        return given[Index(min(j, given.shape[0] - 1))]
    z = first + np.uint64(j + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64(np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(11))) * 2.0**-53


def tiling_draw(fresh: bool, r: int, items: ItemShares) -> Function:
    """Compile the draw of the tiling of a step."""
    lanes, parts, part, own = items.lanes, items.parts, items.part, turns(r, items.lanes)
    pitch, column, vector, basis = places_for(r)[:4]
    multiply = row_product(r, items)

    @inlined
    def draw_tiling(
        wanted: bool,
        chain: ChainMemory,
        step: int,
        geometry: Geometry,
        reduced: Floats,
        products: Floats,
    ) -> None:
        """Set the reduced costs c_j - (c_B T) e_j of the tile of a chain."""
        memory, at, lane = chain.memory, chain.at, chain.lane
        number, _ = uniforms(chain.keys[chain.number], step if fresh else 0, 0, COST)
        first = np.uint64(np.int64(number * 2.0**53))
        for turn in range(own):
            p = turn * lanes + lane
            if p < r:
                item = chain.whole[Index(2 * at + basis + p)]
                memory[Index(at + vector + p)] = _cost_of(geometry.costs, first, item)
        wait()
        for turn in range(own):
            i = turn * lanes + lane
            if i < r:
                total = 0.0
                for p in range(r):
                    total += memory[Index(at + vector + p)] * memory[Index(at + p * pitch + i)]
                memory[Index(at + column + i)] = total
        wait()
        begins = cuda.local.array(1, int32)
        begins[0] = at + column
        for c in range(parts):
            multiply(memory, begins, geometry.rows, c, lane, products)
            for e in range(part):
                j = (c * part + e) * lanes + lane
                if wanted:
                    difference = _cost_of(geometry.costs, first, j) - products[e]
                    reduced[Index(chain.number), Index(j)] = difference
        wait()
        for turn in range(own):
            p = turn * lanes + lane
            if wanted and p < r:
                item = chain.whole[Index(2 * at + basis + p)]
                reduced[Index(chain.number), Index(item)] = 0.0
        wait()

    return draw_tiling


def direction_draw(r: int, lanes: int) -> Function:
    """Compile the draw of the direction of a step."""
    own, pairs = turns(r, lanes), turns((r + 1) // 2, lanes)
    vector, d = places_for(r).vector, places_for(r).d
    group_sum = group_functions(lanes).sum

    @inlined
    def draw_direction(chain: ChainMemory, step: int, factor: Floats) -> None:
        """Set d = factor z / |z|, z standard normal."""
        memory, first = chain.memory, chain.at + vector
        size = 0.0
        for turn in range(pairs):
            k = turn * lanes + chain.lane
            if k < (r + 1) // 2:
                one, other = normals(chain.keys[chain.number], step, k, DIRECTION)
                memory[Index(first + 2 * k)] = one
                size += one * one
                if 2 * k + 1 < r:
                    memory[Index(first + 2 * k + 1)] = other
                    size += other * other
        size = 1.0 / math.sqrt(group_sum(size))
        wait()
        for turn in range(own):
            i = turn * lanes + chain.lane
            if i < r:
                total = 0.0
                for k in range(r):
                    total += factor[Index(k), Index(i)] * memory[Index(first + k)]
                memory[Index(chain.at + d + i)] = total * size
        wait()

    return draw_direction
