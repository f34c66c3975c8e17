"""Which item enters in an exchange walk on the device, see `zonodpp.exchange.method`.

The heat-bath rule needs the products of one row of T with all items. All threads of a block compute
those of all its chains together: an item that is read serves every chain. The lanes of a chain then
draw the item. The other rules propose one item.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from numba import cuda, float64, int32

from zonodpp._types import Floats, Integers
from zonodpp.chains.gpu_inverses import ZERO, lanes_for, places_for, spread, turns
from zonodpp.chains.gpu_rows import ItemShares, row_product, share_items
from zonodpp.chains.gpu_state import ChainMemory, is_inside
from zonodpp.exchange.walk import BARKER, HEAT_BATH, METROPOLIS
from zonodpp.numerics.gpu_compile import Function, Index, Word, inlined
from zonodpp.numerics.gpu_philox import STEP, uniforms
from zonodpp.numerics.gpu_warps import WARP, any_thread, group_functions, wait

_WARPS = 8  # warps of a block, for targets that give a warp to each chain
_SUMS = 16  # products that a thread sums at once


class BlockShape(NamedTuple):
    """How a block of threads holds chains; warps beyond those of the chains help with products."""

    lanes: int  # threads of a chain
    chains: int
    threads: int
    products_shared: bool  # whether shared memory holds the products of a row with all items

    def items(self, n: int) -> ItemShares:
        """Return how threads share the products of a row of T."""
        return share_items(n, self.threads, max(1, _SUMS // self.chains))

    def size(self, r: int, n: int) -> int:
        """Return the doubles of shared memory for a chain: T, the exchange, products."""
        more = self.items(n).total if self.products_shared else 0
        return spread(places_for(r).size + 1 + more, self.lanes)


def blocks_for(rule: int, r: int, n: int, limit: int, lanes: int = 0) -> BlockShape:
    """Return blocks that fit into ``limit`` bytes of shared memory, if any do."""
    together = rule == HEAT_BATH
    lanes = lanes or lanes_for(n if together else 4 * r)
    warps = _WARPS if together and lanes == WARP else 1
    blocks = BlockShape(lanes, warps * WARP // lanes, warps * WARP, together)
    while 8 * blocks.chains * blocks.size(r, n) > limit:
        if blocks.lanes < WARP:
            return blocks_for(rule, r, n, limit, 2 * blocks.lanes)
        if blocks.chains > 1:
            blocks = blocks._replace(chains=blocks.chains // 2)
        else:
            return blocks._replace(products_shared=False)
    return blocks


def _raising(power: float) -> Function:
    @inlined
    def raised(x: float) -> float:
        if power == 2.0:
            return x * x
        if power == 1.0:
            return abs(x)
        return abs(x) ** power

    return raised


def _row_products(r: int, n: int, blocks: BlockShape) -> Function:
    """Compile the products of row s of T with all items, for all chains of a block."""
    chains, threads, items, places = blocks.chains, blocks.threads, blocks.items(n), places_for(r)
    parts, part, size, pitch = items.parts, items.part, blocks.size(r, n), places.pitch
    summed, chosen = part * chains, 2 * places.size
    stride = size if blocks.products_shared else items.total
    multiply = row_product(r, items, chains)

    @inlined
    def multiply_all(chain: ChainMemory, rows: Floats, products: Floats, first: int) -> None:
        """Set the products of each chain; those of the first one begin at ``first``."""
        thread = cuda.threadIdx.x
        begins = cuda.local.array(chains, int32)
        sums = cuda.local.array(summed, float64)
        for g in range(chains):
            begins[g] = g * size + chain.whole[Index(2 * g * size + chosen)] * pitch
        for c in range(parts):
            multiply(chain.memory, begins, rows, c, thread, sums)
            for e in range(part):
                t = (c * part + e) * threads + thread
                for g in range(chains):
                    products[Index(first + g * stride + t)] = sums[e * chains + g]

    return multiply_all


def _item_choice(power: float, r: int, n: int, blocks: BlockShape) -> Function:
    """Compile the draw of the entering item by the weights (|product| l_t)^p."""
    lanes, each, own = blocks.lanes, turns(n, blocks.lanes), turns(r, blocks.lanes)
    pitch = places_for(r).pitch
    group_sum, get, _, running_sum = group_functions(lanes)
    raised = _raising(power)

    @inlined
    def noise_of(chain: ChainMemory, s: int) -> float:
        """Return the size of products that are rounding errors.

        It is 0 for power 2, because the squares of such products do no harm.
        """
        if power == 2.0:
            return 0.0
        total = 0.0
        for turn in range(own):
            i = turn * lanes + chain.lane
            if i < r:
                number = chain.memory[Index(chain.at + s * pitch + i)]
                total += number * number
        return ZERO * math.sqrt(group_sum(total))

    @inlined
    def choose(
        level: float, chain: ChainMemory, s: int, products: Floats, first: int, masses: Floats
    ) -> int:
        """Return the item whose interval holds the level, if it is this lane's; -1 if not."""
        noise = noise_of(chain, s)
        own_sum = 0.0
        for turn in range(each):
            t = turn * lanes + chain.lane
            if t < n:
                product = products[Index(first + t)]
                weight = raised(product) * masses[Index(t)] if abs(product) > noise else 0.0
                products[Index(first + t)] = weight
                own_sum += weight
        until = running_sum(own_sum)
        level *= get(until, lanes - 1)
        before = until - own_sum
        item = -1
        if before <= level < until:
            for turn in range(each):
                t = turn * lanes + chain.lane
                if t < n:
                    weight = products[Index(first + t)]
                    if weight > 0.0 and before <= level:
                        item = t
                        before += weight
        return item

    return choose


def heat_bath(
    power: float, r: int, n: int, blocks: BlockShape
) -> tuple[Function, Function, Function]:
    """Compile the parts of the heat-bath rule, between which all threads of a block wait."""
    chosen = 2 * places_for(r).size
    choose = _item_choice(power, r, n, blocks)

    @inlined
    def draw_level(chain: ChainMemory, step: int) -> float:
        """Draw the place to change, for all threads to see; return the level of the new item."""
        spot, level = uniforms(chain.keys[chain.number], step, 0, STEP)
        if chain.lane == 0:
            chain.whole[Index(2 * chain.at + chosen)] = min(int(spot * r), r - 1)
            chain.whole[Index(2 * chain.at + chosen + 1)] = -1
        return level

    @inlined
    def chosen_item(
        level: float, chain: ChainMemory, products: Floats, first: int, masses: Floats
    ) -> tuple[int, int]:
        """Return the place to change and the item that enters there, -1 if there is none."""
        s = chain.whole[Index(2 * chain.at + chosen)]
        item = choose(level, chain, s, products, first, masses)
        if item >= 0:
            chain.whole[Index(2 * chain.at + chosen + 1)] = item
        wait()
        return s, chain.whole[Index(2 * chain.at + chosen + 1)]

    return draw_level, _row_products(r, n, blocks), chosen_item


def proposal(rule: int, power: float, r: int, n: int, blocks: BlockShape) -> Function:
    """Compile the proposal of an exchange, for the rules that accept or reject."""
    lanes, own, places = blocks.lanes, turns(r, blocks.lanes), places_for(r)
    pitch, basis = places.pitch, places.basis
    group_sum = group_functions(lanes).sum
    raised = _raising(power)

    @inlined
    def outside(key: Word, step: int, whole: Integers, first: int) -> int:
        """Return a uniform item that is not in the basis."""
        t, attempt = -1, 1
        while t < 0:
            spot, other = uniforms(key, step, attempt, STEP)
            attempt += 1
            t = min(int(spot * n), n - 1)
            if is_inside(whole, first, r, t):
                t = min(int(other * n), n - 1)
                if is_inside(whole, first, r, t):
                    t = -1
        return t

    @inlined
    def propose(chain: ChainMemory, step: int, vectors: Floats, masses: Floats) -> tuple[int, int]:
        """Return the place to change, and the item that enters; -1 if it is rejected."""
        key, at = chain.keys[chain.number], chain.at
        level, spot = uniforms(key, step, 0, STEP)
        if rule == BARKER:  # twice a level below 1/2 is uniform again; others are rejected
            level *= 2.0
        s = min(int(spot * r), r - 1)
        wanted = level < 1.0 and n > r
        if not any_thread(wanted):
            return s, -1
        t = outside(key, step, chain.whole, 2 * at + basis) if wanted else 0
        product = 0.0
        for turn in range(own):
            i = turn * lanes + chain.lane
            if i < r:
                product += chain.memory[Index(at + s * pitch + i)] * vectors[Index(t), Index(i)]
        product = group_sum(product)
        leaving = chain.whole[Index(2 * at + basis + s)]
        ratio = raised(product) * masses[Index(t)] / masses[Index(leaving)]
        if rule == METROPOLIS:
            chance = min(1.0, ratio)
        else:
            chance = ratio / (1.0 + ratio) if ratio < 1e300 else 1.0
        return s, t if wanted and level < chance else -1

    return propose
