"""The sampler that hit-and-run on the zonotope prepares: chains, and what keeps them accurate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from zonodpp._arguments import as_items
from zonodpp._imports import on_use
from zonodpp._types import Floats, Integers, Rng
from zonodpp.chains.bases import ChainOnBases, renew
from zonodpp.chains.contract import Sampler, State, only_chain
from zonodpp.chains.inverse import inverse_of
from zonodpp.chains.tracking import Recording, TrackedSets
from zonodpp.numerics.arguments import address_of
from zonodpp.numerics.hidden import hidden_sets
from zonodpp.zonotope import line as lines
from zonodpp.zonotope.chord import Ellipsoid
from zonodpp.zonotope.line import Rule, ZonotopeChain
from zonodpp.zonotope.step import VISITED, run_by_long_steps, run_by_walk
from zonodpp.zonotope.tile import put_tile, scratch_size, tile_at, tile_rows
from zonodpp.zonotope.tilings import find_tile, point_of, tile_from_basis

_MENDS = 100  # times that one step is mended before Python has control again


@dataclass(frozen=True)
class ZonotopeWalk(ChainOnBases):
    """A prepared zonotope sampler."""

    rule: Rule
    tracking: Rule  # the same where sets are tracked, whose averages gain from longer walks
    ellipsoid: Ellipsoid
    costs: Floats | None  # of the fixed tiling, for unit columns
    counters: ClassVar[tuple[str, ...]] = lines.COUNTERS

    def _at(self, basis: Integers, rng: Rng, sets: TrackedSets) -> State:
        """Return the state of a chain at a uniform point of the tile of a basis.

        With fresh tilings each step draws the costs and the point anew; the state needs neither.
        """
        r, n, fresh = self.width, self.columns.lengths.size, self.rule.fresh
        stack, x, costs = tile_rows(r, n, 3), np.zeros(r), np.zeros(n)
        home = tile_at(stack[lines.HOME], r, n)
        if fresh:
            home.basis[:], home.reach[:] = basis, self.columns.lengths[basis]
            home.T[:] = inverse_of(self.columns, basis)
        else:
            costs[:] = rng.standard_normal(n)  # each chain has a tiling of its own
            if self.costs is not None:
                costs[: self.costs.size] = self.costs
            put_tile(home, tile_from_basis(self.columns, basis, costs))
            home.u[:] = rng.random(r) * home.reach
            x[:] = point_of(self.columns, home)
        stack[1:] = stack[lines.HOME]
        return {
            "tiles": stack,
            "line": lines.line_memory(r, n, sets),
            "x": x,
            "c": costs,
            "progress": np.zeros(3, np.int64),
            "counts": np.zeros(len(lines.COUNTERS), np.int64),
        }

    def _walk(self, state: State, rng: Rng, record: Recording) -> int:
        """Make draws, or fewer if a step takes long; return how many are finished.

        ``progress`` holds the steps of a draw that is not finished, and the next call goes on.
        """
        thin, progress = record.thin, state["progress"]
        if progress[lines.STEP] >= thin:  # the loop over steps would not end
            raise ValueError(f"a draw of {thin} steps has {progress[lines.STEP]} steps already")
        kernel, arguments = self._kernel(state, record)
        mended, reached = 0, -1
        while (status := kernel(address_of(rng), *arguments)) not in (lines.DONE, lines.PAUSED):
            if status == lines.HIDDEN:
                raise ArithmeticError(hidden_sets(self.rule.exponent + 1.0))
            self._mend(arguments, status)
            made = int(progress[lines.DRAW]) * thin + int(progress[lines.STEP])
            mended, reached = (mended + 1 if made == reached else 1), made
            if mended > _MENDS:
                break
        draws = int(progress[lines.DRAW])
        progress[lines.DRAW] = 0
        record.subsets[:draws].sort(axis=1)
        return draws

    def _kernel(self, state: State, record: Recording) -> tuple[Callable[..., int], Any]:
        """Return the compiled steps, and what they take after the generator."""
        r, n = self.width, self.columns.lengths.size
        chain = ZonotopeChain(
            self.columns,
            self.rule_for(record),
            state["tiles"],
            np.empty(scratch_size(r, n)),
            state["line"],
            state["x"],
            state["c"],
            record,
            state["progress"],
            state["counts"],
            lines.patience_for(r, n),
        )
        if self.rule.long_steps:
            return run_by_long_steps, (chain, self.ellipsoid)
        return run_by_walk, (chain,)

    def rule_for(self, record: Recording) -> Rule:
        """Return the rule of steps, which is another one where sets are tracked."""
        return self.rule if len(record.starts) == 1 else self.tracking

    def _mend(self, arguments: Any, status: int) -> None:
        """Compute T anew, or find a lost tile again, as the status of a kernel asks."""
        chain: ZonotopeChain = arguments[0]
        r, n, x, c = self.width, len(chain.c), chain.x, chain.c
        home, walker, _ = (tile_at(row, r, n) for row in chain.stack)
        line = lines.line_at(chain.line, r, n, chain.record.starts, chain.record.items)
        tile = walker if status == lines.OLD_WALKER else home
        renew(tile.T, tile.age, chain.counts, lambda: inverse_of(self.columns, tile.basis, np.inf))
        if status == lines.OLD_WALKER:
            tile.v[:] = tile.T @ line.along
            if line.tally[VISITED] == lines.BEGUN:  # it is the tile of the point
                home.T[:], home.age[:] = tile.T, tile.age
            return
        fresh, lost = self.rule.fresh, status == lines.LOST
        if lost or not fresh:  # if tilings are fresh, the next step draws all but the basis anew
            corner = tile_from_basis(self.columns, home.basis, c)
            found = corner if fresh else find_tile(self.columns, x, c, corner)
            chain.counts[lines.LOST_TILES] += lost or (found.basis != corner.basis).any()
            put_tile(home, found)
            line.share[:] = line.tally[:] = chain.progress[lines.HALF] = 0
            chain.stack[1:] = chain.stack[lines.HOME]

    def on_device(self, checkpointed: bool) -> Sampler:
        """Walk on a GPU."""
        found: Sampler = on_use("zonodpp.zonotope.gpu").ZonotopeOnDevice(self, checkpointed)
        return found

    def check(self, state: State) -> None:
        """Check the bases, the lengths of their columns, and the bounds of all other items."""
        lengths, chain = self.columns.lengths, only_chain(state)
        draw, step, half = chain["progress"].tolist()
        if draw != 0 or step < 0 or half not in (0, 1):
            raise ValueError(f"draw {draw}, step {step}, half {half} of a line cannot be")
        for row in chain["tiles"]:
            tile = tile_at(row, self.width, lengths.size)
            basis = as_items(tile.basis, lengths.size, "the basis")
            if not (lengths[basis] > 0).all() or (tile.reach != lengths[basis]).any():
                raise ValueError("the lengths of the columns of a basis are not the target's")
            if not np.isin(tile.side, (-1.0, 0.0, 1.0)).all() or (tile.gap < 0).any():
                raise ValueError("sides must be -1, 0 or 1, and gaps must not be negative")
