"""Hit-and-run on the zonotope on the device; the step is that of `zonodpp.zonotope.step`.

A group of threads of one warp works on a chain, so that no barrier is wider than a warp. Each lane
computes single numbers (lengths, weights, the pick) for itself. The chains of a warp go through the
tiles of their lines side by side, and wait for the longest of these lines.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numba import cuda, float64, int32

from zonodpp._types import Floats, Integers
from zonodpp.chains.bases import ACCEPTED, STEPS
from zonodpp.chains.contract import State
from zonodpp.chains.gpu import WITHOUT, BasesOnDevice, OnDevice, SetsOnDevice, need_shared
from zonodpp.chains.gpu_inverses import copier, inverse_functions, lanes_for, places_for, turns
from zonodpp.chains.gpu_rows import ItemShares, share_items
from zonodpp.chains.gpu_state import (
    ChainMemory,
    Geometry,
    LineState,
    Records,
    Tiles,
    ZonotopeArrays,
    holds_set,
    write_sorted,
)
from zonodpp.chains.small_pivots import refuse_thin
from zonodpp.exact.gpu import first_bases
from zonodpp.numerics.gpu import to_device
from zonodpp.numerics.gpu_compile import Function, Index, Words, inlined, kernel_with
from zonodpp.numerics.gpu_philox import PLACE, POINT, uniforms
from zonodpp.numerics.gpu_warps import WARP, any_thread, wait
from zonodpp.zonotope import line as lines
from zonodpp.zonotope.gpu_line import (
    AGE,
    LOST,
    PASSED,
    PICKED_AGE,
    PICKED_RATIO,
    PICKS,
    TALLY,
    half_walk,
    place_window,
)
from zonodpp.zonotope.gpu_start import direction_draw, tiling_draw
from zonodpp.zonotope.gpu_tile import REFRESH, tile_size
from zonodpp.zonotope.step import FIRST_AHEAD, FIRST_BACK, OTHERS, STAY, VISITED
from zonodpp.zonotope.tile import PIVOT

if TYPE_CHECKING:
    from zonodpp.zonotope.walk import ZonotopeWalk

NEW = 2 * REFRESH  # the age of a chain that has a basis and nothing else
_LONG_LINE = 10  # times r items; with more, long steps are far faster, and the GPU has none
_FEW_REGISTERS = 80  # of a thread: the fastest on an H200
_OWN_MEMORY = 8192  # bytes of shared memory of a warp that do not limit the number of warps


def registers_for(r: int, lanes: int) -> int:
    """Return the most registers of a thread, 0 for no limit: what was fastest on an H200.

    Few registers let more warps run at once, unless shared memory allows few of them anyway.
    """
    return _FEW_REGISTERS if 8 * WARP // lanes * tile_size(r, lanes) <= _OWN_MEMORY else 0


def _share_record(gibbs: bool, r: int, lanes: int) -> Function:
    """Compile the end of what is tracked in a step."""

    @inlined
    def record(
        draw: int, chain: ChainMemory, basis: Integers, records: Records, line: LineState
    ) -> None:
        """Add the shares of the tracked sets in this step to those of the draw."""
        weight = line.tally[STAY] + line.tally[OTHERS]
        number = chain.number
        s = chain.lane
        while s < records.starts.shape[0] - 1:
            share = records.shares[number, s]
            if not gibbs and holds_set(basis, 0, r, records, s):
                share += weight - line.tally[PASSED]
            if chain.exists:
                records.tracked[draw, number, s] += share / weight
                records.shares[number, s] = 0.0
            s += lanes

    return record


def _step_ending(gibbs: bool, fresh: bool, r: int, items: ItemShares) -> Function:
    """Compile the choice between the first tile and the pick."""
    lanes, own, pitch, d = items.lanes, turns(r, items.lanes), places_for(r).pitch, places_for(r).d
    copy_inverse, copy_vector = copier(r * pitch, lanes), copier(r, lanes)
    copy_costs = copier(items.total, lanes)

    @inlined
    def move(chain: ChainMemory, home: Tiles, picked: Tiles) -> None:
        """Go to the picked tile."""
        number, lane = Index(chain.number), chain.lane
        copy_inverse(picked.inverses[number], 0, home.inverses[number], 0, lane)
        copy_vector(picked.bases[number], 0, home.bases[number], 0, lane)
        if not fresh:
            copy_vector(picked.points[number], 0, home.points[number], 0, lane)
            copy_costs(picked.reduced[number], 0, home.reduced[number], 0, lane)

    @inlined
    def shift(chain: ChainMemory, home: Tiles, line: LineState, within: float) -> None:
        """Go to a uniform point of the line in the first tile."""
        number, back = Index(chain.number), line.tally[FIRST_BACK]
        alpha = (line.tally[FIRST_AHEAD] + back) * within - back
        for turn in range(own):
            p = turn * lanes + chain.lane
            if p < r:
                velocity = 0.0
                for i in range(r):
                    entry = home.inverses[number, Index(p * pitch + i)]
                    velocity += entry * chain.memory[Index(chain.at + d + i)]
                home.points[number, Index(p)] += alpha * velocity

    @inlined
    def end(
        choosing: float, chain: ChainMemory, step: int, arrays: ZonotopeArrays, line: LineState
    ) -> tuple[bool, bool]:
        """Set the tile and the point of the chain; return whether it moved, and was accepted."""
        testing, within = uniforms(chain.keys[chain.number], step, 1, PLACE)
        tally, lost = line.tally, line.marks[LOST] != 0
        weight = tally[STAY] + tally[OTHERS]
        moves = choosing * weight >= tally[STAY] and tally[OTHERS] > 0.0 and not lost
        accepted = gibbs or not moves or testing < math.exp(min(tally[PICKED_RATIO], 0.0))
        if chain.exists and moves and accepted:
            move(chain, arrays.home, arrays.picked)
        elif chain.exists and not (moves or fresh or lost):
            shift(chain, arrays.home, line, within)
        return moves and accepted, accepted

    return end


def _step_beginning(fresh: bool, r: int, items: ItemShares) -> Function:
    """Compile what a step begins with: the tile of the chain, a tiling, a point, a direction."""
    lanes, own, basis = items.lanes, turns(r, items.lanes), places_for(r).basis
    inverse = inverse_functions(r, lanes)
    load, save, renew = inverse.load, inverse.save, inverse.renew
    draw_tiling, draw_direction = tiling_draw(fresh, r, items), direction_draw(r, lanes)

    @inlined
    def begin(
        age: int, chain: ChainMemory, step: int, arrays: ZonotopeArrays, products: Floats
    ) -> int:
        """Load the tile of the chain, complete it, and draw the direction; return its new age."""
        geometry, home = arrays.geometry, arrays.home
        load(chain, home.inverses, home.bases)
        wait()
        new, old = age >= NEW, age >= REFRESH
        if any_thread(old):
            renew(old, not new, chain, geometry.vectors, arrays.records.counts)
            if old and chain.exists:
                save(chain, home.inverses, home.bases)
        if fresh or any_thread(old):
            wanted = chain.exists and (fresh or old)
            draw_tiling(wanted, chain, step, geometry, home.reduced, products)
        for turn in range(own):
            p = turn * lanes + chain.lane
            if chain.exists and (fresh or new) and p < r:
                share, _ = uniforms(chain.keys[chain.number], step, p, POINT)
                length = geometry.lengths[Index(chain.whole[Index(2 * chain.at + basis + p)])]
                home.points[Index(chain.number), Index(p)] = share * length
        draw_direction(chain, step, geometry.factor)
        return 0 if old else age

    return begin


@inlined
def _count_step(
    counts: Integers, chain: ChainMemory, accepted: bool, moved: bool, tiles: int, lost: int
) -> None:
    """Count a step and what has come of it."""
    if chain.exists and chain.lane == 0:
        counts[chain.number, STEPS] += 1
        counts[chain.number, ACCEPTED] += 1 if accepted else 0
        counts[chain.number, lines.MOVED] += 1 if moved else 0
        counts[chain.number, lines.TILES] += tiles
        counts[chain.number, lines.LOST_TILES] += lost


@lru_cache(maxsize=32)
def zonotope_kernel(
    gibbs: bool, fresh: bool, exponent: float, r: int, items: ItemShares, registers: int
) -> Any:
    """Compile the kernel for a rule and a size, with at most so many registers for a thread."""
    lanes, each, part = items.lanes, items.each, items.part
    chains, size = WARP // lanes, tile_size(r, lanes)
    begin_step, end_step = _step_beginning(fresh, r, items), _step_ending(gibbs, fresh, r, items)
    walk_half = half_walk(gibbs, fresh, exponent, r, items)
    record = _share_record(gibbs, r, lanes)

    @kernel_with(registers)
    def walk(
        geometry: Geometry,
        keys: Words,
        ages: Integers,
        home: Tiles,
        picked: Tiles,
        records: Records,
        first_step: int,
        thin: int,
    ) -> None:
        """Fill records.subsets, ``thin`` steps apart; add to records.tracked."""
        memory = cuda.shared.array(0, float64)
        whole = cuda.shared.array(0, int32)
        line = LineState(
            cuda.local.array(TALLY, float64),
            cuda.local.array(4, int32),
            cuda.local.array(each, float64),
            cuda.local.array(each, float64),
            cuda.local.array(part, float64),
        )
        arrays = ZonotopeArrays(geometry, home, picked, records)
        tally, marks = line.tally, line.marks
        slot, lane = cuda.threadIdx.x // lanes, cuda.threadIdx.x & (lanes - 1)
        total = home.bases.shape[0]
        begin = cuda.blockIdx.x * chains
        while begin < total:
            number, exists = min(begin + slot, total - 1), begin + slot < total
            chain = ChainMemory(memory, whole, slot * size, lane, number, exists, keys)
            age = ages[number]
            for done in range(records.subsets.shape[0] * thin):
                step, draw = first_step + done, done // thin
                age = begin_step(age, chain, step, arrays, line.products)
                placing, choosing = uniforms(keys[number], step, 0, PLACE)
                place_window(tally, geometry.window, placing)
                marks[PICKS], marks[LOST], tiles = 0, 0, 0
                for half in range(2):
                    marks[AGE] = age
                    walk_half(half, chain, step, arrays, line)
                    tiles += int(tally[VISITED])
                record(draw, chain, home.bases[Index(number)], records, line)
                moved, accepted = end_step(choosing, chain, step, arrays, line)
                age = marks[PICKED_AGE] if moved else age
                age = REFRESH if marks[LOST] != 0 else age
                wait()
                _count_step(records.counts, chain, accepted, moved, tiles, marks[LOST])
                if exists and (done + 1) % thin == 0:
                    to = records.subsets[draw, number]
                    write_sorted(home.bases[Index(number)], 0, r, to, lane, lanes)
            if exists and lane == 0:
                ages[number] = age
            begin += cuda.gridDim.x * chains

    return walk


class ZonotopeOnDevice(BasesOnDevice):
    """Hit-and-run on the zonotope."""

    changing: ClassVar[tuple[str, ...]] = (
        *("bases", "inverses", "points", "reduced costs", "ages", "counts"),
    )

    def __init__(self, walk: ZonotopeWalk, checkpointed: bool) -> None:
        rule, columns, n = walk.rule, walk.columns, walk.elements
        lengths = columns.lengths[:n]
        super().__init__(walk, lengths / lengths.max(), checkpointed)
        if rule.reflect:
            raise ValueError("device='cuda' has no reflect=True; leave reflect or device out")
        if rule.long_steps and n >= _LONG_LINE * walk.width:
            raise ValueError(
                "device='cuda' walks through every tile of a line, and these lines have so many "
                "that the processor takes long steps; pass window=..., or leave device out"
            )
        if rule.careful:
            refuse_thin(columns, rule.log_weight, rule.exponent + 1.0, PIVOT, WITHOUT)
        self.rule = rule
        self.lay_out()
        given = np.zeros(0) if walk.costs is None else walk.costs
        self.geometry = Geometry(
            self.padded_rows(self.items.total),
            self.vectors,
            to_device(lengths),
            to_device(rule.log_mass[:n]),
            to_device(rule.factor.T),
            to_device(given),
            float(rule.window),
        )
        self.scratch: dict[tuple[int, int], tuple[Any, ...]] = {}

    def lay_out(
        self, lanes: int = 0, registers: int | None = None, exponent: float | None = None
    ) -> None:
        """Choose how many threads work on a chain, and with how many registers each.

        An ``exponent`` other than the rule's gives another law, for checks by a broken twin.
        """
        rule = self.rule
        lanes = lanes or lanes_for(self.n)
        registers = registers_for(self.width, lanes) if registers is None else registers
        self.items = share_items(self.n, lanes)
        self.chains, self.threads = WARP // lanes, WARP
        self.shared = 8 * self.chains * tile_size(self.width, lanes)
        need_shared(self.shared, f"a chain on bases of {self.width} items")
        power = rule.exponent if exponent is None else exponent
        self.kernel = zonotope_kernel(
            rule.gibbs, rule.fresh, power, self.width, self.items, registers
        )

    def fresh(self, keys: Integers, init: Integers | None) -> State:
        """Start at a uniform point of the tile of the given bases, or of random ones."""
        chains, r = len(keys), self.width
        given = None if init is None else self.given_bases(init)
        return {
            "bases": first_bases(keys, r, self.vectors, self.table) if given is None else given,
            "inverses": np.zeros((chains, places_for(r).column)),
            "points": np.zeros((chains, r)),
            "reduced costs": np.zeros((chains, self.items.total)),
            "ages": np.full(chains, NEW, np.int64),
        }

    def fill(
        self, state: OnDevice, first: int, subsets: Any, tracked: Any, thin: int, sets: SetsOnDevice
    ) -> None:
        """Make ``thin`` steps for each draw."""
        chains = subsets.shape[1]
        names = ("bases", "inverses", "points", "reduced costs")
        home = Tiles(*(state[name] for name in names))
        if (chains, sets.size) not in self.scratch:
            picked = Tiles(*(cuda.device_array_like(array) for array in home))
            shares = to_device(np.zeros((chains, sets.size)))
            self.scratch[chains, sets.size] = picked, shares
        picked, shares = self.scratch[chains, sets.size]
        own = sets.starts, sets.items, state["counts"]
        records = Records(subsets, tracked, shares, *own)
        given = self.geometry, state["keys"], state["ages"], home, picked, records, first, thin
        self.launch(chains, *given)
