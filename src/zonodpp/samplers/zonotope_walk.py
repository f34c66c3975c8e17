"""The sampler that hit-and-run on the zonotope prepares: chains, and what keeps them accurate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Integers, Subsets
from zonodpp.arguments import as_items
from zonodpp.basis.columns import UnitColumns
from zonodpp.basis.inverse import has_drifted, inverse_of
from zonodpp.samplers import State, remembered_start
from zonodpp.samplers.jump_line import run_by_long_steps
from zonodpp.samplers.lines import (
    COUNTERS,
    DONE,
    DRIFTS,
    HALF,
    LOST,
    LOST_TILES,
    OLD_HOME,
    OLD_WALKER,
    REFACTORISATIONS,
    Line,
    Rule,
    TrackedSets,
    new_line,
)
from zonodpp.samplers.tracking import SetTracker
from zonodpp.samplers.walk_line import run_by_walk
from zonodpp.tiles.chord import Ellipsoid
from zonodpp.tiles.long_step import order_scratch
from zonodpp.tiles.pivots import TileState, put_tile, tile_scratch, tile_stack
from zonodpp.tiles.start import (
    any_basis,
    checked_basis,
    find_tile,
    point_of,
    tile_from_basis,
    tile_with_point,
)


@dataclass(frozen=True)
class ZonotopeWalk:
    """A prepared zonotope sampler."""

    columns: UnitColumns
    rule: Rule
    ellipsoid: Ellipsoid
    costs: Floats | None  # of the fixed tiling, for unit columns
    tracker: SetTracker
    starts: dict[int, State] = field(default_factory=dict)  # those that were made so far
    counters: tuple[str, ...] = COUNTERS
    independent: bool = False

    @property
    def width(self) -> int:
        """The number of items of every draw."""
        return len(self.rule.factor)

    def start(self, rng: np.random.Generator, init: ArrayLike | None) -> State:
        """Start at a uniform point of the tile of the given basis, or of a random one."""
        if init is not None:
            return self._at(checked_basis(init, self.columns, self.tracker.n), rng)
        if not self.rule.fresh:
            return self._random_start(rng)
        return remembered_start(self.starts, rng, self._random_start)

    def _random_start(self, rng: np.random.Generator) -> State:
        lengths = self.columns.lengths
        return self._at(
            any_basis(self.columns, lengths * rng.standard_exponential(lengths.size)), rng
        )

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
        in_sets = np.zeros(n, np.bool_)
        in_sets[self.tracker.items] = True
        sets = TrackedSets(self.tracker.starts, self.tracker.items, in_sets)
        stack, (home, walker, _) = tile_stack(r, n, 3)
        put_tile(home, TileState(*(state[name] for name in TileState._fields)))
        line = new_line(state["x"], state["c"], self.tracker.size)
        scratch, counts, progress = tile_scratch(r, n), state["counts"], np.zeros(3, np.int64)
        tiles = (home, walker, stack, line, scratch)
        draws = (subsets, tracked, progress, thin, counts)
        status = LOST
        while status != DONE:
            if self.rule.long_steps:
                more = (self.ellipsoid, sets, order_scratch(n), np.empty((4, r)))
                status = run_by_long_steps(rng, self.columns, self.rule, *more, *tiles, *draws)
            else:
                status = run_by_walk(rng, self.columns, self.rule, sets, *tiles, *draws)
            if status == OLD_WALKER:
                self._renew(walker, line.along, counts)
            elif status == LOST or (
                status == OLD_HOME and not self._renew_home(home, line, counts)
            ):
                self._find_home(home, line, counts)
                line.share[:] = line.tally[:] = progress[HALF] = 0
        subsets.sort(axis=1)
        for name, array in home._asdict().items():
            state[name][...] = array

    def _renew(self, tile: TileState, d: Floats, counts: Integers) -> None:
        """Compute T and the speeds anew from the basis; count whether T had drifted."""
        counts[REFACTORISATIONS] += 1
        tile.age[0] = 0
        try:
            T = inverse_of(self.columns, tile.basis)
        except ArithmeticError:
            counts[DRIFTS] += 1
            return
        counts[DRIFTS] += has_drifted(tile.T, T)
        tile.T[:] = T
        tile.v[:] = T @ d

    def _renew_home(self, home: TileState, line: Line, counts: Integers) -> bool:
        """Compute everything anew from the basis and the point; False if the tile was lost."""
        self._renew(home, line.d, counts)
        if self.rule.fresh:
            return True
        tile = tile_with_point(self.columns, home.basis, line.c, line.x)
        put_tile(home, tile)
        return bool(max(-tile.u.min(), (tile.u - tile.reach).max()) <= 100.0 * self.rule.tolerance)

    def _find_home(self, home: TileState, line: Line, counts: Integers) -> None:
        """Find the tile of the point again, and count that it was lost."""
        counts[LOST_TILES] += 1
        basis = home.basis.copy()
        if self.rule.fresh:  # there is no point to find
            tile = tile_from_basis(self.columns, basis, line.c)
        else:
            tile = find_tile(self.columns, line.x, line.c, basis)
        put_tile(home, tile)

    def check(self, state: State) -> None:
        """Check the basis, and that bounds are bounds; the rest is measured against these."""
        lengths = self.columns.lengths
        basis = as_items(state["basis"], lengths.size, "the basis")
        if not (lengths[basis] > 0).all() or (state["reach"] != lengths[basis]).any():
            raise ValueError("the lengths of the basis' columns are others")
        if not np.isin(state["side"], (-1.0, 0.0, 1.0)).all() or (state["gap"] < 0).any():
            raise ValueError("the bounds of the items outside the basis are none")
