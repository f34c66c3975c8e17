"""The farthest point: each pick is the item farthest from all picks before it (Gonzalez 1985)."""

from __future__ import annotations

from collections.abc import Sequence

from zonodpp.best.arrays import Array, eps_of, namespace_of
from zonodpp.best.greedy import TIE, Level
from zonodpp.best.items import Items, Key


class Farthest:
    """The gain of j is q_j^2 times its smallest squared distance S_jj + S_ss - 2 S_js to a pick s.

    Before any pick, gains are upper bounds of all distances: the first pick is the most relevant
    item.
    """

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.diagonal: list[Array] = []  # S_ss of the picks

    def first_level(self, items: Items, weights: Array, longest: float) -> Level:
        """Return items; weights are q^2, and ``longest`` is the largest S_jj of all items."""
        gains = weights * (4.0 * longest)
        sizes = 2.0 * weights * items.diagonal
        return Level(items, gains, sizes, TIE * eps_of(gains), parts=weights[None, :])

    def add(self, level: Level, place: int) -> Array:
        """Pick an item; what the first one gains is infinite."""
        gain = level.gains[place] + (0.0 if self.keys else float("inf"))
        self.condition(level, place)
        return gain

    def condition(self, level: Level, place: int) -> None:
        """Let an item count as picked."""
        self.keys.append(level.items.key(place))
        self.diagonal.append(level.items.diagonal[place])

    def lower(self, level: Level) -> None:
        """Let new picks come nearer."""
        if level.seen == len(self.keys):
            return
        assert level.parts is not None
        xp = namespace_of(level.gains)
        near = nearest(level.items, self.keys[level.seen :], self.diagonal[level.seen :])
        level.gains = xp.minimum(level.gains, near * level.parts[0, :])
        level.seen = len(self.keys)


def nearest(items: Items, keys: Sequence[Key], diagonal: Sequence[Array]) -> Array:
    """Return the smallest squared distance to items with such keys, for each item."""
    xp = namespace_of(items.diagonal)
    apart = items.diagonal[:, None] + (xp.stack(list(diagonal)) - 2.0 * items.columns(keys))
    closest = xp.min(apart, axis=1)
    return xp.where(closest > 0, closest, xp.zeros_like(closest))
