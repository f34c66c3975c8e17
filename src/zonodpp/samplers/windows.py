"""How far hit-and-run moves: the window of a step, chosen by short runs before the first draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from zonodpp.arguments import spawn
from zonodpp.samplers.lines import TILES
from zonodpp.samplers.zonotope_walk import ZonotopeWalk

TILES_PER_ITEM = 4  # tiles that a step crosses for each item of the basis, see `default_window`
TILES_PER_ITEM_TRACKED = 32  # the same where all tiles count in averages
# Steps of the runs that choose a window: a few for each guess, more for the last one, which the
# mean number of tiles then corrects. At most PROBES * PROBE_STEPS + PILOT_STEPS, 30, are made.
PROBES, PROBE_STEPS, PILOT_STEPS = 6, 3, 12


def default_window(sampler: ZonotopeWalk) -> float:
    """Choose the window in which a step crosses about TILES_PER_ITEM * r tiles.

    With fresh tilings only the basis carries over from step to step, and it is renewed once each
    of its r items had several chances to leave: longer walks cost more and gain nothing. Where
    chords are shorter than that, whole chords are walked. With reflection there is no end to walk
    to, and the walk is longer: its tiles are cheap, and all of them count in the averages.
    """
    per_item = TILES_PER_ITEM_TRACKED if sampler.rule.reflect else TILES_PER_ITEM
    wanted = per_item * len(sampler.rule.factor)
    pilot = _Pilot(sampler)
    tiles, stalled, window = 0.0, 0, _unit_window(sampler)
    for _ in range(PROBES):
        before, tiles = tiles, max(tiles, pilot.tiles(PROBE_STEPS, window))
        if tiles >= wanted / 2:
            break
        stalled = stalled + 1 if tiles < 1.2 * before else 0
        if stalled == 2 and not sampler.rule.reflect:  # the window has outgrown the chord
            return np.inf
        window *= min(max(4.0, wanted / tiles), 16.0)
    window *= wanted / tiles
    return window * wanted / pilot.tiles(PILOT_STEPS, window)


def _unit_window(sampler: ZonotopeWalk) -> float:
    """Half a unit of whitened length, in units of the directions."""
    reach = sampler.ellipsoid.whitener @ sampler.rule.factor
    return 0.5 / float(np.sqrt(np.mean(np.einsum("ij,ij->j", reach, reach))))


class _Pilot:
    """A short run with a seed of its own, in which the rule changes.

    Tiles are counted, not seconds: the same options mean the same draws on every machine.
    """

    def __init__(self, sampler: ZonotopeWalk) -> None:
        [self.rng] = spawn(0, purpose="pilot")  # not a stream from which A may have been drawn
        self.sampler, self.state = sampler, sampler.start(self.rng, None)

    def tiles(self, steps: int, window: float) -> float:
        """Return the mean number of tiles of so many steps."""
        rule = self.sampler.rule._replace(window=window)
        before = self.state["counts"][TILES]
        subsets = np.empty((1, self.sampler.width), np.int32)
        trial = replace(self.sampler, rule=rule)
        trial.advance(self.state, self.rng, subsets, np.zeros((1, 0)), steps)
        return float(self.state["counts"][TILES] - before) / steps
