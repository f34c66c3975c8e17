"""Coverage: every item is as similar as can be to the pick that is most similar to it.

Facility location, F(S) = sum_i max(0, max_{s in S} L_is): with c_i the largest similarity of item i
so far, item j gains sum_i max(L_ij - c_i, 0). A pick raises c_i to c_i' for a few items only, and
each gain falls by sum_i max(min(L_ij, c_i') - c_i, 0) over these. So all gains are kept up to date
with the rows of the kernel that change, which are few passes over the kernel in all. Differences
lose digits: the gains that may be the best are computed anew before one of them is picked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zonodpp._arguments import available_memory
from zonodpp.best.arrays import Array, eps_of, indices_like, namespace_of, put
from zonodpp.best.greedy import TIE
from zonodpp.best.items import Items

_BLOCK = 2**22  # entries of the kernel that are made at a time: for long matrix products
_CACHED = 2**18  # entries of the kernel that are compared at a time: 1 or 2 MiB
# The kernel is kept if it has at most so many bytes, and at most this share of the free memory.
_KEPT = 2**31
_SHARE = 1 / 4


class Coverage:
    """What all items gain, and rows of the kernel, which is symmetric."""

    def __init__(self, items: Items) -> None:
        xp = namespace_of(items.diagonal)
        n = items.diagonal.shape[0]
        self.items = items
        self.kept: Array | None = None
        self.tie = TIE * eps_of(items.diagonal)
        self.covered = xp.zeros_like(items.diagonal)
        kind = {"dtype": items.diagonal.dtype, "device": items.diagonal.device}
        entry = xp.finfo(items.diagonal.dtype).bits // 8
        kept = None
        if n * n * entry <= min(_KEPT, _SHARE * available_memory()):
            kept = xp.zeros((n, n), **kind)
        numbers = xp.arange(n, device=items.diagonal.device)
        firsts = []
        for found in _pieces(numbers, _BLOCK // n):
            rows = self.rows(found)
            firsts += [_above(rows[part, :], self.covered) for part in _parts(rows)]
            if kept is not None:
                first = int(found[0])
                kept = put(kept, slice(first, first + found.shape[0]), rows)
        self.kept = kept
        self.gains = xp.concat(firsts)
        # Sums of the entries of which gains are differences, when they were last computed: upper
        # bounds later. Rounding errors are a share of these.
        self.sizes = self.gains + 0.0
        self.exact = xp.ones_like(self.gains, dtype=xp.bool)

    def rows(self, found: Array) -> Array:
        """Return the rows of the kernel, (b, n), of the items at some places."""
        if self.kept is None:
            return self.items.rows_of_kernel(found)
        return namespace_of(found).take(self.kept, found, axis=0)

    def add(self, item: int) -> None:
        """Let an item cover others; it gains nothing more."""
        xp = namespace_of(self.covered)
        row = self.rows(indices_like(self.covered, [item]))[0, :]
        raised = xp.nonzero(row > self.covered)[0]
        fall = xp.zeros_like(self.gains)
        for found in _pieces(raised, _BLOCK // row.shape[0]):
            low, high = xp.take(self.covered, found)[:, None], xp.take(row, found)[:, None]
            rows = self.rows(found)
            for part in _parts(rows):
                within = xp.maximum(xp.minimum(rows[part, :], high[part, :]), low[part, :])
                fall = fall + xp.sum(within - low[part, :], axis=0)
        self.covered = xp.maximum(self.covered, row)
        self.gains = put(self.gains - fall, item, -float("inf"))
        self.exact = self.exact & (fall == 0)

    def best(self) -> int:
        """Return the item of largest gain; of gains that rounding may tell apart, the first."""
        xp = namespace_of(self.gains)
        while True:
            noise = self.tie * self.sizes
            place = int(xp.argmax(self.gains))
            least = float(self.gains[place] - 2 * noise[place])
            open_places = xp.nonzero(~self.exact & (self.gains + 2 * noise >= least))[0]
            if open_places.shape[0] == 0:
                equal = self.gains >= float(self.gains[place] - noise[place])
                return int(xp.nonzero(equal)[0][0])
            for found in _pieces(open_places, _CACHED // self.gains.shape[0]):
                rows = self.rows(found)
                above = rows > self.covered
                sizes = xp.sum(xp.where(above, rows, xp.zeros_like(rows)), axis=1)
                self.gains = put(self.gains, found, _above(rows, self.covered))
                self.sizes = put(self.sizes, found, sizes)
                self.exact = put(self.exact, found, True)


def pick_covering(items: Items, k: int, given: Sequence[int]) -> tuple[list[int], list[Array]]:
    """Pick k items one by one, each the best addition to those picked and given."""
    coverage = Coverage(items)
    for item in given:
        coverage.add(item)
    picks: list[int] = []
    gains: list[Array] = []
    while len(picks) < k:
        item = coverage.best()
        picks.append(item)
        gains.append(coverage.gains[item] + 0.0)
        coverage.add(item)
    return picks, gains


def _above(rows: Array, covered: Array) -> Array:
    """Return what each row has above what is covered."""
    xp = namespace_of(rows)
    return xp.sum(xp.maximum(rows, covered) - covered, axis=1)


def _pieces(found: Array, step: int) -> Iterator[Array]:
    """Yield item numbers, at most ``step`` at a time."""
    step = max(1, step)
    for start in range(0, found.shape[0], step):
        yield found[start : min(start + step, found.shape[0])]


def _parts(rows: Array) -> Iterator[slice]:
    """Yield spans of rows that stay in the cache."""
    count, n = rows.shape
    step = max(1, _CACHED // n)
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
