"""Exchange walks on the device; the rules are those of `zonodpp.exchange.method`.

A group of threads of one warp works on a chain; for the heat-bath rule, all threads of a block
compute products together (`zonodpp.exchange.gpu_entering`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numba import cuda, float64, int32

from zonodpp._types import Floats, Integers
from zonodpp.chains.bases import ACCEPTED, STEPS
from zonodpp.chains.contract import State
from zonodpp.chains.gpu import (
    RESERVED,
    WITHOUT,
    BasesOnDevice,
    OnDevice,
    SetsOnDevice,
    need_shared,
)
from zonodpp.chains.gpu_inverses import SMALL, ZERO, inverse_functions, places_for, turns
from zonodpp.chains.gpu_state import ChainMemory, Records, holds_set, write_sorted
from zonodpp.chains.small_pivots import TINY, refuse_thin
from zonodpp.exact.gpu import first_bases
from zonodpp.exchange.gpu_entering import BlockShape, blocks_for, heat_bath, proposal
from zonodpp.exchange.walk import HEAT_BATH, TINY_PIVOTS
from zonodpp.numerics.gpu import shared_limit, to_device
from zonodpp.numerics.gpu_compile import Function, Index, Words, inlined, kernel_with
from zonodpp.numerics.gpu_warps import any_thread, block_barrier, group_functions, wait

if TYPE_CHECKING:
    from zonodpp.exchange.method import ExchangeWalk

REFRESH = 50  # steps for each item of a basis after which T is computed anew


class ItemArrays(NamedTuple):
    """The target on the device."""

    rows: Floats  # (r * items,) the unit vectors e_j, one coordinate after another
    vectors: Floats  # (n, r) the unit vectors
    masses: Floats  # (n,) the lengths of columns to the power p


def _exchange_function(r: int, blocks: BlockShape) -> Function:
    """Compile the exchange itself."""
    lanes, own, places = blocks.lanes, turns(r, blocks.lanes), places_for(r)
    column, basis = places.column, places.basis
    group_sum, inverse = group_functions(lanes).sum, inverse_functions(r, lanes)
    times, replace, renew = inverse.times, inverse.replace, inverse.renew

    @inlined
    def exceeds(bound: float, chain: ChainMemory, s: int) -> bool:
        """Tell whether the pivot is larger than ``bound``, relative to its column."""
        memory, first = chain.memory, chain.at + column
        total = 0.0
        for turn in range(own):
            k = turn * lanes + chain.lane
            if k < r:
                total += memory[Index(first + k)] * memory[Index(first + k)]
        pivot = memory[Index(first + s)]
        return pivot * pivot > bound * bound * group_sum(total)

    @inlined
    def exchange(chain: ChainMemory, s: int, t: int, vectors: Floats, counts: Integers) -> int:
        """Let item t take place s, unless t is -1 or there already; return 1 if t entered."""
        moves = chain.exists and t >= 0 and t != chain.whole[Index(2 * chain.at + basis + s)]
        if not any_thread(moves):
            return 0
        t = max(t, 0)
        times(chain, vectors, t)
        tiny = not exceeds(SMALL, chain, s) and moves
        if any_thread(tiny):
            renew(tiny, True, chain, vectors, counts)
            if tiny and chain.lane == 0:
                counts[chain.number, TINY_PIVOTS] += 1
            times(chain, vectors, t)
            moves = exceeds(ZERO, chain, s) and moves
        if moves:
            replace(chain, s)
            if chain.lane == 0:
                chain.whole[Index(2 * chain.at + basis + s)] = t
        wait()
        return 1 if moves else 0

    return exchange


def _exchange_choice(rule: int, power: float, r: int, n: int, blocks: BlockShape) -> Function:
    """Compile the choice of the item that leaves and the item that enters."""
    lanes, chains, threads, shared = blocks
    end, size, total = places_for(r).size + 1, blocks.size(r, n), blocks.items(n).total
    stride, wait_for_all = size if shared else total, block_barrier(threads)
    draw_level, multiply, chosen_item = heat_bath(power, r, n, blocks)
    propose = proposal(rule, power, r, n, blocks)

    @inlined
    def choose(
        busy: bool, chain: ChainMemory, step: int, items: ItemArrays, scratch: Floats
    ) -> tuple[int, int]:
        """Return the place of the item that leaves, and the item that enters or -1."""
        products = chain.memory if shared else scratch
        first = end if shared else cuda.blockIdx.x * chains * total
        level, s, t = 0.0, 0, -1
        if rule == HEAT_BATH:
            if busy:
                level = draw_level(chain, step)
            wait_for_all()
            multiply(chain, items.rows, products, first)
            wait_for_all()
            if busy:
                own = first + cuda.threadIdx.x // lanes * stride
                s, t = chosen_item(level, chain, products, own, items.masses)
        elif busy:
            s, t = propose(chain, step, items.vectors, items.masses)
        return s, t

    return choose


@inlined
def _track(chain: ChainMemory, basis: int, r: int, lanes: int, draw: int, records: Records) -> None:
    """Add the presence of the tracked sets to that of a draw."""
    for j in range(chain.lane, records.starts.shape[0] - 1, lanes):
        if chain.exists and holds_set(chain.whole, 2 * chain.at + basis, r, records, j):
            records.tracked[draw, chain.number, j] += 1.0


@lru_cache(maxsize=32)
def exchange_kernel(
    rule: int, power: float, r: int, n: int, blocks: BlockShape, registers: int = 0
) -> Any:
    """Compile the kernel for a rule, a power and a size, with at most so many registers."""
    lanes, chains, threads, _ = blocks
    size, basis = blocks.size(r, n), places_for(r).basis
    spare, inverse = chains * lanes < threads, inverse_functions(r, lanes)
    load, save, renew = inverse.load, inverse.save, inverse.renew
    choose = _exchange_choice(rule, power, r, n, blocks)
    exchange = _exchange_function(r, blocks)

    @kernel_with(registers)
    def walk(
        items: ItemArrays,
        keys: Words,
        first_step: int,
        bases: Integers,
        inverses: Floats,
        scratch: Floats,
        records: Records,
        thin: int,
    ) -> None:
        """Fill records.subsets, ``thin`` steps apart; add to records.tracked the presence."""
        memory = cuda.shared.array(0, float64)
        whole = cuda.shared.array(0, int32)
        slot, lane = cuda.threadIdx.x // lanes, cuda.threadIdx.x & (lanes - 1)
        busy = not spare or slot < chains
        begin = cuda.blockIdx.x * chains
        while begin < bases.shape[0]:
            number = min(begin + slot, bases.shape[0] - 1)
            exists = busy and begin + slot < bases.shape[0]
            chain = ChainMemory(memory, whole, slot * size, lane, number, exists, keys)
            if busy:
                load(chain, inverses, bases)
                wait()
            accepted, step = 0, first_step
            until_renewal = (REFRESH * r - first_step % (REFRESH * r)) % (REFRESH * r)
            for draw in range(records.subsets.shape[0]):
                for _ in range(thin):
                    if busy and until_renewal == 0:
                        # Before the first step there is no inverse yet that could be renewed.
                        renew(True, step > 0, chain, items.vectors, records.counts)
                    until_renewal = (until_renewal if until_renewal > 0 else REFRESH * r) - 1
                    s, t = choose(busy, chain, step, items, scratch)
                    if busy:
                        accepted += exchange(chain, s, t, items.vectors, records.counts)
                        _track(chain, basis, r, lanes, draw, records)
                    step += 1
                if exists:
                    to = records.subsets[draw, number]
                    write_sorted(whole, 2 * chain.at + basis, r, to, lane, lanes)
            if exists:
                save(chain, inverses, bases)
                if lane == 0:
                    records.counts[number, STEPS] += records.subsets.shape[0] * thin
                    records.counts[number, ACCEPTED] += accepted
            if busy:
                wait()
            begin += cuda.gridDim.x * chains

    return walk


class ExchangeOnDevice(BasesOnDevice):
    """Exchange walks."""

    changing: ClassVar[tuple[str, ...]] = ("bases", "inverses", "counts")

    def __init__(self, walk: ExchangeWalk, checkpointed: bool) -> None:
        columns = walk.columns
        masses = columns.lengths[: walk.elements] ** walk.power
        super().__init__(walk, masses, checkpointed)
        if walk.careful:
            with np.errstate(divide="ignore"):
                log_weight = walk.power * np.log(columns.lengths)
            refuse_thin(columns, log_weight, walk.power, TINY, WITHOUT)
        self.walk = walk
        self.masses, self.no_shares = to_device(masses), to_device(np.zeros((1, 1)))
        self.lay_out()

    def lay_out(
        self, blocks: BlockShape | None = None, registers: int = 0, power: float | None = None
    ) -> None:
        """Choose how blocks hold chains, and with how many registers threads work.

        A ``power`` other than the sampler's gives another law, for checks by a broken twin.
        """
        r, n, rule = self.width, self.n, self.walk.rule_number
        self.blocks = blocks or blocks_for(rule, r, n, shared_limit() - RESERVED)
        self.chains, self.threads = self.blocks.chains, self.blocks.threads
        self.shared = 8 * self.chains * self.blocks.size(r, n)
        need_shared(self.shared, f"a chain on bases of {r} items")
        self.rows = self.padded_rows(self.blocks.items(n).total)
        power = self.walk.power if power is None else power
        self.kernel = exchange_kernel(rule, power, r, n, self.blocks, registers)

    def fresh(self, keys: Integers, init: Integers | None) -> State:
        """Start in the given bases, or in random ones; the first step computes the inverses."""
        given = None if init is None else self.given_bases(init)
        arrays = self.width, self.vectors, self.table
        return {
            "bases": first_bases(keys, *arrays) if given is None else given,
            "inverses": np.zeros((len(keys), places_for(self.width).column)),
        }

    def fill(
        self, state: OnDevice, first: int, subsets: Any, tracked: Any, thin: int, sets: SetsOnDevice
    ) -> None:
        """Walk ``thin`` steps for each draw."""
        chains, room = subsets.shape[1], 1
        if self.walk.rule_number == HEAT_BATH and not self.blocks.products_shared:
            room = (chains + self.chains) * self.blocks.items(self.n).total
        items = ItemArrays(self.rows, self.vectors, self.masses)
        own = sets.starts, sets.items, state["counts"]
        records = Records(subsets, tracked, self.no_shares, *own)
        places = state["bases"], state["inverses"], cuda.device_array(room)
        self.launch(chains, items, state["keys"], first, *places, records, thin)
