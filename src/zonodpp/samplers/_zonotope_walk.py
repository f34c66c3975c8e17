"""The sampler that hit-and-run on the zonotope prepares: chains, and what keeps them accurate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import as_items
from zonodpp._basis.inverse import inverse_of
from zonodpp._kernel_arguments import address_of
from zonodpp._tiles.chord import Ellipsoid
from zonodpp._tiles.pivots import put_tile, tile_at, tile_rows
from zonodpp._tiles.tilings import find_tile, point_of, tile_from_basis
from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.samplers import _lines as lines
from zonodpp.samplers._chains import ChainOnBases, renew
from zonodpp.samplers._contract import State
from zonodpp.samplers._line_steps import run_by_long_steps, run_by_walk
from zonodpp.samplers._lines import Rule, ZonotopeChain
from zonodpp.samplers._tracking import Recording


@dataclass(frozen=True)
class ZonotopeWalk(ChainOnBases):
    """A prepared zonotope sampler."""

    rule: Rule
    ellipsoid: Ellipsoid
    costs: Floats | None  # of the fixed tiling, for unit columns
    counters: tuple[str, ...] = lines.COUNTERS

    def start(self, rng: Rng, init: ArrayLike | None) -> State:
        """Start at a uniform point of the tile of the given basis, or of a random one."""
        if init is None and not self.rule.fresh:  # each chain has a tiling of its own
            return self._random_start(rng)
        return super().start(rng, init)

    def _at(self, basis: Integers, rng: Rng) -> State:
        """Return the state of a chain at a uniform point of the tile of a basis."""
        costs = rng.standard_normal(self.columns.lengths.size)
        if self.costs is not None:
            costs[: self.costs.size] = self.costs
        tile = tile_from_basis(self.columns, basis, costs)
        tile.u[:] = rng.random(self.width) * tile.reach
        row = tile_rows(self.width, costs.size, 1)[0]
        put_tile(tile_at(row, self.width, costs.size), tile)
        x = np.ascontiguousarray(point_of(self.columns, tile))
        return {"tile": row, "x": x, "c": costs, "counts": np.zeros(len(lines.COUNTERS), np.int64)}

    def _walk(self, state: State, rng: Rng, subsets: Subsets, tracked: Floats, thin: int) -> None:
        """Make thin * len(subsets) steps."""
        r, n, tracker = self.width, self.columns.lengths.size, self.tracker
        stack, memory = tile_rows(r, n, 3), lines.line_memory(r, n, tracker)
        stack[lines.HOME] = state["tile"]
        record = Recording(tracker.starts, tracker.items, subsets, tracked, thin)
        x, c, progress, counts = state["x"], state["c"], np.zeros(3, np.int64), state["counts"]
        chain = ZonotopeChain(
            self.columns, self.rule, stack, memory, x, c, record, progress, counts
        )
        run = run_by_long_steps if self.rule.long_steps else run_by_walk
        more = (self.ellipsoid,) if self.rule.long_steps else ()
        while (status := run(address_of(rng), chain, *more)) != lines.DONE:
            self._mend(chain, status)
        subsets.sort(axis=1)
        state["tile"][:] = stack[lines.HOME]

    def _mend(self, chain: ZonotopeChain, status: int) -> None:
        """Compute T anew, or find a lost tile again, as the status of a kernel asks."""
        r, n, x, c = self.width, len(chain.c), chain.x, chain.c
        home, walker, _ = (tile_at(row, r, n) for row in chain.stack)
        line = lines.line_at(chain.memory, r, n, chain.record.starts, chain.record.items)
        tile = walker if status == lines.OLD_WALKER else home
        renew(tile.T, tile.age, chain.counts, lambda: inverse_of(self.columns, tile.basis))
        if status == lines.OLD_WALKER:
            tile.v[:] = tile.T @ line.along
            return
        fresh, lost = self.rule.fresh, status == lines.LOST
        if lost or not fresh:  # if tilings are fresh, the next step draws all but the basis anew
            corner = tile_from_basis(self.columns, home.basis, c)
            found = corner if fresh else find_tile(self.columns, x, c, corner)
            chain.counts[lines.LOST_TILES] += lost or (found.basis != corner.basis).any()
            put_tile(home, found)
            line.share[:] = line.tally[:] = chain.progress[lines.HALF] = 0

    def check(self, state: State) -> None:
        """Check the basis, the lengths of its columns, and the bounds of all other items."""
        lengths = self.columns.lengths
        tile = tile_at(state["tile"], self.width, lengths.size)
        basis = as_items(tile.basis, lengths.size, "the basis")
        if not (lengths[basis] > 0).all() or (tile.reach != lengths[basis]).any():
            raise ValueError("the lengths of the columns of the basis are not those of the target")
        if not np.isin(tile.side, (-1.0, 0.0, 1.0)).all() or (tile.gap < 0).any():
            raise ValueError("sides must be -1, 0 or 1, and gaps must not be negative")
