"""How a step on the zonotope begins on the device: a tiling, and a direction."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, int32

from zonodpp._types import Floats, Integers
from zonodpp.cuda.compile import Function, Index, Word, inlined
from zonodpp.cuda.half_lines import ChainMemory, Geometry
from zonodpp.cuda.inverses import inverse_size, padded_length, turns
from zonodpp.cuda.philox import COST, DIRECTION, normals, uniforms
from zonodpp.cuda.rows import ItemShares, row_product
from zonodpp.cuda.warps import group_functions


def step_beginnings(  # noqa: C901 - of all together
    fresh: bool, r: int, items: ItemShares
) -> tuple[Function, Function]:
    """Compile the functions that draw the tiling and the direction of a step."""
    lanes, parts, part = items.lanes, items.parts, items.part
    pitch, own, pairs = padded_length(r), turns(r, lanes), turns((r + 1) // 2, lanes)
    column, vector = r * pitch, r * pitch + r
    basis = 2 * (vector + r)
    d = inverse_size(r) + 3 * r
    wait, group_sum, *_ = group_functions(lanes)
    multiply = row_product(r, items)

    @inlined
    def cost(given: Floats, first: Word, j: int) -> float:
        """Return the cost of an item: as given, or by the hash of SplitMix64."""
        if given.shape[0] > 0:
            return given[Index(min(j, given.shape[0] - 1))]
        z = first + np.uint64(j + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.float64(np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(11))) * 2.0**-53

    @inlined
    def draw_tiling(
        wanted: bool,
        memory: Floats,
        whole: Integers,
        chain: ChainMemory,
        step: int,
        geometry: Geometry,
        reduced: Floats,
        products: Floats,
    ) -> None:
        """Set the reduced costs c_j - (c_B T) e_j of the tile of a chain."""
        at, lane = chain.at, chain.lane
        number, _ = uniforms(chain.keys[chain.number], step if fresh else 0, 0, COST)
        first = np.uint64(np.int64(number * 2.0**53))
        for turn in range(own):
            p = turn * lanes + lane
            if p < r:
                item = whole[Index(2 * at + basis + p)]
                memory[Index(at + vector + p)] = cost(geometry.costs, first, item)
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
                    reduced[Index(chain.number), Index(j)] = (
                        cost(geometry.costs, first, j) - products[e]
                    )
        wait()
        for turn in range(own):
            p = turn * lanes + lane
            if wanted and p < r:
                reduced[Index(chain.number), Index(whole[Index(2 * at + basis + p)])] = 0.0
        wait()

    @inlined
    def draw_direction(memory: Floats, chain: ChainMemory, step: int, factor: Floats) -> None:
        """Set d = factor z / |z|, z standard normal."""
        at, lane = chain.at, chain.lane
        size = 0.0
        for turn in range(pairs):
            k = turn * lanes + lane
            if k < (r + 1) // 2:
                one, other = normals(chain.keys[chain.number], step, k, DIRECTION)
                memory[Index(at + vector + 2 * k)] = one
                size += one * one
                if 2 * k + 1 < r:
                    memory[Index(at + vector + 2 * k + 1)] = other
                    size += other * other
        size = 1.0 / math.sqrt(group_sum(size))
        wait()
        for turn in range(own):
            i = turn * lanes + lane
            if i < r:
                total = 0.0
                for k in range(r):
                    total += factor[Index(k), Index(i)] * memory[Index(at + vector + k)]
                memory[Index(at + d + i)] = total * size
        wait()

    return draw_tiling, draw_direction
