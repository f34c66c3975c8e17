"""Greedy picks of an objective whose gains only fall, exact at any k.

A gain that was computed some picks ago is an upper bound of the gain now (lazy greedy, Minoux
1978). So items stand on levels: all of them on the first, those with the largest gains on the next.
The gains of the last level are kept up to date. Each level knows the largest gain outside of it,
its floor. While the best gain of the last level is above its floor, it is the best of all. When it
is not, the level is given up, and the level before it takes in all picks made since, in one matrix
product. Every level gives one pick before the next level is made of it, so that there is progress
even where all gains are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from zonodpp.best.arrays import Array, indices_like, largest, namespace_of, put
from zonodpp.best.items import Items

# Gains that differ by less than so many roundings of the numbers behind them count as equal, and
# the smaller index is picked: rows that are equal may get different gains from a matrix product.
TIE = 64.0
# A level has at most this share of the items of the level before it, or so many numbers in the rows
# of its items: with fewer, calls of functions take longer than the work in them.
_SHARE = 1 / 16
_SMALL = 2**19
_FRUIT = 3  # picks that a level must bring: to make it takes about as long as two picks without it


@dataclass
class Level:
    """Items with gains that are exact after ``seen`` picks, and upper bounds later."""

    items: Items
    gains: Array  # -inf for items that are picked or given
    sizes: Array  # numbers whose difference a gain is: its rounding errors are a share of them
    tie: float  # relative to sizes: gains that differ by less are equal
    seen: int = 0
    left_out: int = 0  # how many of the picks have the gain -inf
    floor: float = -float("inf")  # the largest bound outside of this level
    born: int = 0  # how many picks had been made when the level was
    # Where many gains are equal, a level is given up after a pick or two. Then so many picks are
    # made of all items of the level before it until the next level is tried.
    pause: int = 0
    idle: int = 0  # picks until the end of the pause
    parts: Array | None = None  # (k, n), what the objective keeps for each item and pick

    def number_of(self, place: int) -> int:
        """Return the number among all items of the item at a place."""
        index = self.items.index
        return place if index is None else int(index[place])

    def best(self) -> tuple[int, bool]:
        """Return the place of the best gain, and whether no gain of other items is as good."""
        xp = namespace_of(self.gains)
        place = int(xp.argmax(self.gains))
        least = float(self.gains[place]) - self.tie * float(self.sizes[place])
        ties = xp.nonzero(self.gains >= least)[0]
        return int(ties[0]), least > self.floor

    def leave_out(self, picks: Sequence[int]) -> None:
        """Give the gain -inf to those of all picks that do not have it yet."""
        if self.left_out < len(picks):
            where = indices_like(self.gains, picks[self.left_out :])
            if self.items.index is not None:  # a level made earlier holds these picks
                where = namespace_of(where).searchsorted(self.items.index, where)
            self.gains = put(self.gains, where, -float("inf"))
            self.left_out = len(picks)

    def restricted(self, count: int) -> Level:
        """Return a level of the items with the largest gains; there must be more items."""
        found, bound = largest(self.gains, count)
        level = self.restricted_to(found)
        level.floor = max(self.floor, bound)
        level.pause = level.idle = 0
        return level

    def restricted_to(self, found: Array) -> Level:
        """Return a level of the items at some places, ascending."""
        xp = namespace_of(self.gains)
        return replace(
            self,
            items=self.items.take(found),
            gains=xp.take(self.gains, found),
            sizes=xp.take(self.sizes, found),
            parts=None if self.parts is None else xp.take(self.parts, found, axis=1),
        )


class GreedyObjective(Protocol):
    """What greedy picks maximise; the gain of an item never rises while others are picked."""

    def add(self, level: Level, place: int) -> Array:
        """Pick the item at a place of a level; return what it gains."""

    def condition(self, level: Level, place: int) -> None:
        """Let an item be given: it repels others, and gains nothing."""

    def lower(self, level: Level) -> None:
        """Let the gains of a level take in the picks that it has not seen."""


def pick_items(
    objective: GreedyObjective, first: Level, k: int, given: Sequence[int] = ()
) -> tuple[list[int], list[Array]]:
    """Pick k items of a level one by one, each the best addition to those picked and given.

    Returns the picks in their order, and the gain of each.
    """
    for item in given:
        objective.condition(first, item)
    taken, gains = list(given), list[Array]()
    pick_from(objective, first, k, taken, gains)
    return taken[len(given) :], gains


def pick_from(
    objective: GreedyObjective, first: Level, k: int, taken: list[int], gains: list[Array]
) -> None:
    """Go on to pick, until there are k gains, or the best item may be outside of the level."""
    levels = [first]
    while levels and len(gains) < k:
        level = levels[-1]
        objective.lower(level)
        level.leave_out(taken)
        place, best_of_all = level.best()
        if not best_of_all:
            levels.pop()
            if levels:
                fruitless = len(gains) - level.born < _FRUIT
                levels[-1].pause = 2 * levels[-1].pause + 1 if fruitless else 0
                levels[-1].idle = levels[-1].pause
            continue
        pick_at(objective, level, place, taken, gains)
        n, width = level.items.shape
        if level.idle > 0:
            level.idle -= 1
        elif n * width > _SMALL:
            count = max(int(_SHARE * n), _SMALL // width, 1)
            if 2 * count < n:
                levels.append(level.restricted(count))
                levels[-1].born = len(gains)


def pick_at(
    objective: GreedyObjective, level: Level, place: int, taken: list[int], gains: list[Array]
) -> None:
    """Pick the item at a place of a level."""
    gains.append(objective.add(level, place))
    taken.append(level.number_of(place))
    level.gains = put(level.gains, place, -float("inf"))
    level.left_out = len(taken)
