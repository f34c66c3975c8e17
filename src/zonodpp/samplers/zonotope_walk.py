"""The sampler that hit-and-run on the zonotope prepares: chains, and what keeps them accurate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Integers, Subsets
from zonodpp.arguments import as_items
from zonodpp.basis.inverse import inverse_of
from zonodpp.samplers import State
from zonodpp.samplers.chains import ChainOnBases, renew
from zonodpp.samplers.jump_line import run_by_long_steps
from zonodpp.samplers.lines import (
    COUNTERS,
    DONE,
    HALF,
    LOST,
    LOST_TILES,
    OLD_HOME,
    OLD_WALKER,
    Chain,
    Draws,
    Rule,
    new_line,
)
from zonodpp.samplers.walk_line import run_by_walk
from zonodpp.tiles.chord import Ellipsoid
from zonodpp.tiles.pivots import TileState, put_tile, tile_scratch, tile_stack
from zonodpp.tiles.start import find_tile, point_of, tile_from_basis, tile_with_point


@dataclass(frozen=True)
class ZonotopeWalk(ChainOnBases):
    """A prepared zonotope sampler."""

    rule: Rule
    ellipsoid: Ellipsoid
    costs: Floats | None  # of the fixed tiling, for unit columns
    counters: tuple[str, ...] = COUNTERS

    def start(self, rng: np.random.Generator, init: ArrayLike | None) -> State:
        """Start at a uniform point of the tile of the given basis, or of a random one."""
        if init is None and not self.rule.fresh:  # each chain has a tiling of its own
            return self._random_start(rng)
        return super().start(rng, init)

    def _at(self, basis: Integers, rng: np.random.Generator) -> State:
        """Return the state of a chain at a uniform point of the tile of a basis."""
        costs = rng.standard_normal(self.columns.lengths.size)
        if self.costs is not None:
            costs[: self.costs.size] = self.costs
        tile = tile_from_basis(self.columns, basis, costs)
        tile.u[:] = rng.random(self.width) * tile.reach
        state = {name: array.copy() for name, array in tile._asdict().items()}
        state |= {"x": np.ascontiguousarray(point_of(self.columns, tile)), "c": costs}
        state["counts"] = np.zeros(len(COUNTERS), np.int64)
        return state

    def advance(
        self, state: State, rng: np.random.Generator, subsets: Subsets, tracked: Floats, thin: int
    ) -> None:
        """Make thin * len(subsets) steps."""
        r, n = self.width, self.columns.lengths.size
        stack, (home, walker, _) = tile_stack(r, n, 3)
        put_tile(home, TileState(*(state[name] for name in TileState._fields)))
        line = new_line(state["x"], state["c"], self.tracker)
        draws = Draws(subsets, tracked, thin, np.zeros(3, np.int64), state["counts"])
        scratch = tile_scratch(r, n)
        chain = Chain(self.columns, self.rule, stack, home, walker, line, scratch, draws)
        status = LOST
        while status != DONE:
            if self.rule.long_steps:
                status = run_by_long_steps(rng, chain, self.ellipsoid)
            else:
                status = run_by_walk(rng, chain)
            if status == OLD_WALKER:
                self._renew(walker, line.along, draws.counts)
            elif status == LOST or (status == OLD_HOME and not self._renew_home(chain)):
                self._find_home(chain)
        subsets.sort(axis=1)
        for name, array in home._asdict().items():
            state[name][...] = array

    def _renew(self, tile: TileState, d: Floats, counts: Integers) -> None:
        """Compute T and the speeds anew from the basis."""
        renew(tile.T, tile.age, counts, lambda: inverse_of(self.columns, tile.basis))
        tile.v[:] = tile.T @ d

    def _renew_home(self, chain: Chain) -> bool:
        """Compute everything anew from the basis and the point; False if the tile was lost."""
        home, line = chain.home, chain.line
        self._renew(home, line.d, chain.draws.counts)
        if self.rule.fresh:
            return True
        tile = tile_with_point(self.columns, home.basis, line.c, line.x)
        put_tile(home, tile)
        beyond = max(-tile.u.min(), (tile.u - tile.reach).max())
        return bool(beyond <= 100.0 * self.columns.tolerance)

    def _find_home(self, chain: Chain) -> None:
        """Find the tile of the point again, and count that it was lost."""
        home, line = chain.home, chain.line
        chain.draws.counts[LOST_TILES] += 1
        if self.rule.fresh:  # there is no point to find
            put_tile(home, tile_from_basis(self.columns, home.basis, line.c))
        else:
            put_tile(home, find_tile(self.columns, line.x, line.c, home.basis))
        line.share[:] = line.tally[:] = chain.draws.progress[HALF] = 0

    def check(self, state: State) -> None:
        """Check the basis, and that bounds are bounds; the rest is measured against these."""
        lengths = self.columns.lengths
        basis = as_items(state["basis"], lengths.size, "the basis")
        if not (lengths[basis] > 0).all() or (state["reach"] != lengths[basis]).any():
            raise ValueError("the lengths of the basis' columns are others")
        if not np.isin(state["side"], (-1.0, 0.0, 1.0)).all() or (state["gap"] < 0).any():
            raise ValueError("the bounds of the items outside the basis are none")
