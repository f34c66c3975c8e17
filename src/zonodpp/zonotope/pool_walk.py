"""The sampler of hit-and-run whose steps do not test all items: with a pool, or lazily."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from zonodpp._arguments import as_items
from zonodpp._types import Floats, Integers, Rng
from zonodpp.chains.bases import renew
from zonodpp.chains.columns import UnitColumns
from zonodpp.chains.contract import Sampler, State, need_between, only_chain
from zonodpp.chains.inverse import inverse_of
from zonodpp.chains.tracking import Recording, TrackedSets
from zonodpp.numerics.compiled import VECTOR
from zonodpp.zonotope import line as lines
from zonodpp.zonotope import pool as pools
from zonodpp.zonotope import pool_steps as steps
from zonodpp.zonotope.line import ZonotopeChain
from zonodpp.zonotope.pool_steps import Pools, run_by_pool
from zonodpp.zonotope.step import VISITED
from zonodpp.zonotope.tile import scratch_size, tile_at, tile_rows
from zonodpp.zonotope.tilings import find_tile, point_of, tile_from_basis
from zonodpp.zonotope.walk import ZonotopeWalk

# A pool holds so many times sqrt(n r) items outside the basis. A test takes time in proportion
# to the pool, and a pool lasts for the longer the larger it is: measured, see
# `benchmarks.bench_growth_zonotope`.
_ITEMS = 1.5
# Lazy tilings: room for items that are met on one line, for each item of a basis. A line that meets
# more of them draws all costs.
_MET_PER_ITEM = 16
_COSTS = 2.0**53  # what `draw_costs` draws lies below


@dataclass(frozen=True)
class PoolWalk(ZonotopeWalk):
    """A prepared zonotope sampler with pools."""

    lazy: bool = False
    asked: bool = False  # whether the option ``pricing`` was given
    met: int = _MET_PER_ITEM
    counters: ClassVar[tuple[str, ...]] = steps.COUNTERS

    @property
    def most(self) -> int:
        """Items outside the basis that a new pool may hold."""
        r, n = self.width, self.columns.lengths.size
        return int(np.ceil(_ITEMS * np.sqrt(n * r)))

    @property
    def room(self) -> int:
        """Items that a pool has room for: one is for an item that only a full test has found."""
        more = max(self.most + 1, self.met * self.width if self.lazy else 0)
        size = self.width + more
        return size + -size % VECTOR

    def _at(self, basis: Integers, rng: Rng, sets: TrackedSets) -> State:
        """Return the state of a chain at a uniform point of the tile of a basis."""
        r, n, fresh, room = self.width, self.columns.lengths.size, self.rule.fresh, self.room
        stack, x, costs = tile_rows(r, 0, 3), np.zeros(r), np.zeros(n)
        home = tile_at(stack[lines.HOME], r, 0)
        home.basis[:], home.reach[:] = basis, self.columns.lengths[basis]
        home.T[:] = inverse_of(self.columns, basis)
        largest = 1.0 if self.lazy else _COSTS
        if not fresh:
            costs[:] = rng.standard_normal(n)  # each chain has a tiling of its own
            if self.costs is not None:
                costs[: self.costs.size] = self.costs
            home.u[:] = rng.random(r) * home.reach
            tile = tile_from_basis(self.columns, basis, costs)
            tile.u[:] = home.u
            x[:] = point_of(self.columns, tile)
            largest = float(np.abs(costs).max())
        stack[1:] = stack[lines.HOME]
        walker = tile_at(stack[lines.WALKER], r, 0)
        walker.basis[:] = np.arange(r)
        facts = np.zeros(r + pools.FACTS)
        facts[r + pools.LONGEST] = longest_of(self.columns)
        facts[r + pools.LARGEST] = largest
        facts[r + pools.GUESS] = largest * self.most / n
        marked = n if len(sets.starts) > 1 else 0
        corners = room if self.lazy else 0
        return {
            "tiles": stack,
            "line": lines.line_memory(r, marked, sets),
            "x": x,
            "c": costs,
            "progress": np.zeros(3, np.int64),
            "counts": np.zeros(len(self.counters), np.int64),
            "pools": np.zeros(2 * pools.pool_size(r, room)),
            "dual": facts,
            "places": np.array([0, r, r, 0, 0]),
            "marks": np.ones(marked),
            "path": np.zeros((corners, r)),
        }

    def _kernel(self, state: State, record: Recording) -> tuple[Callable[..., int], Any]:
        """Return the compiled steps, and what they take after the generator."""
        r, n, room = self.width, self.columns.lengths.size, self.room
        tests = np.empty(2 * n + scratch_size(r, n))  # memory that is not touched costs nothing
        chain = ZonotopeChain(
            self.columns,
            self.rule_for(record),
            state["tiles"],
            tests[2 * n :],
            state["line"],
            state["x"],
            state["c"],
            record,
            state["progress"],
            state["counts"],
            lines.patience_for(r, room),
        )
        own = Pools(
            state["pools"],
            room,
            self.most,
            state["dual"],
            state["places"],
            state["marks"],
            tests[: 2 * n],
            state["path"],
            self.lazy,
        )
        return run_by_pool, (chain, own)

    def _mend(self, arguments: Any, status: int) -> None:
        """Compute T anew, or find a lost tile again, as the status of the kernel asks."""
        chain: ZonotopeChain = arguments[0]
        own: Pools = arguments[1]
        r, record = self.width, chain.record
        home, walker = (tile_at(row, r, 0) for row in chain.stack[: lines.PICKED])
        line = lines.line_at(chain.line, r, own.marks.size, record.starts, record.items)
        late = status == lines.OLD_WALKER
        tile = walker if late else home
        names = self._names(own.memory, int(own.places[steps.WHICH]))
        basis = names[walker.basis] if late else home.basis
        renew(tile.T, tile.age, chain.counts, lambda: inverse_of(self.columns, basis, np.inf))
        if late:
            tile.v[:] = tile.T @ line.along
            if line.tally[VISITED] == lines.BEGUN:  # it is the tile of the point
                home.T[:], home.age[:] = tile.T, tile.age
            return
        fresh, lost = self.rule.fresh, status == lines.LOST
        if lost or not fresh:  # if tilings are fresh, the next step draws all but the basis anew
            if not fresh:
                corner = tile_from_basis(self.columns, home.basis, chain.c)
                found = find_tile(self.columns, chain.x, chain.c, corner)
                lost = lost or bool((found.basis != corner.basis).any())
                for name in ("basis", "T", "u", "reach", "age"):
                    getattr(home, name)[:] = getattr(found, name)
            chain.counts[lines.LOST_TILES] += lost
            line.share[:] = line.tally[:] = chain.progress[lines.HALF] = 0

    def _names(self, memory: Floats, which: int) -> Integers:
        """Return the items in all places of a pool."""
        size, r = pools.pool_size(self.width, self.room), self.width
        first = which * size + (2 * r + 1) * self.room
        return memory[first : first + self.room].view(np.int64)

    def on_device(self, checkpointed: bool) -> Sampler:
        """Walk on a GPU, where each test looks at all items."""
        if self.asked:
            asked = "lazy" if self.lazy else "pool"
            raise ValueError(
                f"device='cuda' tests all items at each facet and has no pricing={asked!r}; leave "
                "pricing out, pass pricing='all', or leave device out"
            )
        return super().on_device(checkpointed)

    def check(self, state: State) -> None:
        """Check the bases, the lengths of their columns, and the items of pools."""
        state = only_chain(state)
        lengths, r, places = self.columns.lengths, self.width, state["places"]
        need_between(state["progress"], 0, 1, "the half of the line")
        need_between(places[[steps.WHICH, steps.DRAWN]], 0, 1, "the pool that is used")
        need_between(places[steps.HELD :][:2], r, self.room, "the size of a pool")
        need_between(places[[steps.CORNERS]], 0, len(state["path"]), "the corners of a path")
        for which in range(2):
            names = self._names(state["pools"], which)
            need_between(names, 0, lengths.size - 1, "the items of a pool")
        which = int(places[steps.WHICH])
        for k, row in enumerate(state["tiles"]):
            tile = tile_at(row, r, 0)
            basis = tile.basis
            if k == lines.WALKER:
                basis = as_items(basis, int(places[steps.HELD + which]), "a basis in a pool")
                if state["line"][2 * r + VISITED] > 0:
                    basis = self._names(state["pools"], which)[basis]
                else:  # the next step begins with another tile
                    continue
            basis = as_items(basis, lengths.size, "the basis")
            if not (lengths[basis] > 0).all() or (tile.reach != lengths[basis]).any():
                raise ValueError("the lengths of the columns of a basis are not the target's")


def longest_of(columns: UnitColumns) -> float:
    """Return the length of the longest vector e_j."""
    if columns.dense.size:
        return float(np.sqrt(np.einsum("ji,ji->j", columns.dense, columns.dense).max()))
    n, data = columns.lengths.size, columns.data
    counts = np.diff(columns.indptr[: n + 1])
    squares = np.bincount(np.repeat(np.arange(n), counts), data[: counts.sum()] ** 2)
    return float(np.sqrt(squares.max()))
