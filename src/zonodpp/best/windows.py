"""Endless lists: items are repelled only by the last few picks, and may come near older ones."""

from __future__ import annotations

from collections.abc import Sequence

from zonodpp.best.arrays import Array, eps_of, indices_like, namespace_of, put
from zonodpp.best.farthest import nearest
from zonodpp.best.greedy import TIE
from zonodpp.best.items import Items
from zonodpp.best.volume import too_many_picks


class WindowedVolume:
    """Gains L_jj - L_jW (L_WW)^{-1} L_Wj for the last picks W, computed anew for each pick.

    Gains rise when a pick leaves the window, so none is a bound of a later one.
    """

    def __init__(self, items: Items, window: int, ridge: float) -> None:
        xp = namespace_of(items.diagonal)
        self.items, self.window, self.ridge = items, window, ridge
        n = items.diagonal.shape[0]
        kind = {"dtype": items.diagonal.dtype, "device": items.diagonal.device}
        self.columns = xp.zeros((window, n), **kind)  # in no order: a new pick replaces the oldest
        self.inside = list[int]()
        self.count = 0

    @property
    def sizes(self) -> Array:
        """Numbers to which rounding errors are relative."""
        return self.items.diagonal + self.ridge

    def add(self, item: int) -> None:
        """Let an item repel the next picks."""
        slot = self.count % self.window
        self.columns = put(self.columns, slot, self.items.columns([self.items.key(item)])[:, 0])
        self.inside[slot : slot + 1] = [item]
        self.count += 1

    def gains(self) -> Array:
        """Return the gains of all items."""
        xp = namespace_of(self.columns)
        if not self.inside:
            return self.sizes
        C = self.columns[: len(self.inside), :]
        members = indices_like(C, self.inside)
        kernel = xp.take(C, members, axis=1)
        unit = xp.eye(len(self.inside), dtype=C.dtype, device=C.device)
        weights = xp.linalg.solve(kernel + self.ridge * unit, C)
        return self.sizes - xp.sum(C * weights, axis=0)


class WindowedFarthest:
    """Gains are squared distances to the nearest of the last picks, times weights q^2."""

    def __init__(self, items: Items, window: int, weights: Array) -> None:
        xp = namespace_of(weights)
        self.items, self.window, self.weights = items, window, weights
        shape = (window, weights.shape[0])
        self.distances = xp.zeros(shape, dtype=weights.dtype, device=weights.device)
        self.count = 0

    @property
    def sizes(self) -> Array:
        """Numbers to which rounding errors are relative."""
        return 2.0 * self.weights * self.items.diagonal

    def add(self, item: int) -> None:
        """Let an item repel the next picks."""
        row = nearest(self.items, [self.items.key(item)], [self.items.diagonal[item]])
        self.distances = put(self.distances, self.count % self.window, row)
        self.count += 1

    def gains(self) -> Array:
        """Return the gains of all items; before any pick, the weights."""
        xp = namespace_of(self.distances)
        if self.count == 0:
            return self.weights
        return xp.min(self.distances[: min(self.count, self.window), :], axis=0) * self.weights


def pick_windowed(
    objective: WindowedVolume | WindowedFarthest, k: int, given: Sequence[int]
) -> tuple[list[int], list[Array]]:
    """Pick k items one by one, each the best addition to the last of those picked and given."""
    for item in given[-objective.window :]:
        objective.add(item)
    sizes = objective.sizes
    xp = namespace_of(sizes)
    free = put(xp.ones_like(sizes, dtype=xp.bool), indices_like(sizes, given), False)
    none = xp.full_like(sizes, -float("inf"))
    slack = TIE * eps_of(sizes)
    volume = isinstance(objective, WindowedVolume)
    picks: list[int] = []
    gains: list[Array] = []
    while len(picks) < k:
        found = xp.where(free, objective.gains(), none)
        place = int(xp.argmax(found))
        noise = slack * float(sizes[place])
        item = int(xp.nonzero(found >= float(found[place]) - noise)[0][0])
        if volume and float(found[item]) <= noise:
            raise too_many_picks(min(objective.count, objective.window))
        first = not volume and objective.count == 0
        gains.append(found[item] + (float("inf") if first else 0.0))
        objective.add(item)
        picks.append(item)
        free = put(free, item, False)
    return picks, gains
