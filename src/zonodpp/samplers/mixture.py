"""Exact, independent draws from general DPPs and k-DPPs.

First the eigenvectors that take part are drawn: each by itself for a DPP, k of them for a k-DPP.
Then the projection DPP of these eigenvectors is drawn as in `zonodpp.samplers.exact`, with one
difference: leverage scores now change from draw to draw. They need not be known. One of the
eigenvectors taken at random, then an item with probability v_ij^2, is an item drawn from them. So
n enters through the number of eigenvectors, a search in log n steps, and cache misses alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import jit
from zonodpp._types import Floats, Integers
from zonodpp.arguments import one_of
from zonodpp.linalg.columns import frozen
from zonodpp.samplers import State, refuse_init
from zonodpp.samplers.exact import outside, reflect
from zonodpp.samplers.tracking import SetTracker
from zonodpp.targets.dpp import DPP
from zonodpp.targets.kdpp import KDPP

NEVER = 1e-18  # the chance of larger draws than there is room for; such draws are made again
_prepared: WeakKeyDictionary[DPP | KDPP, Mixture] = WeakKeyDictionary()


@dataclass(frozen=True)
class Mixture:
    """A prepared exact sampler for a DPP or k-DPP."""

    algorithm: str
    vectors: Floats
    cumulative: Floats  # (r, n): for each eigenvector, running sums of its squared entries
    sure: int
    chances: Floats  # of each eigenvector, (r,), for a DPP
    taking: Floats  # `symmetric_polynomials`, for a k-DPP; empty for a DPP
    width: int
    tracker: SetTracker
    counters: tuple[str, ...] = ("draws", "proposals")
    independent: bool = True

    def start(self, rng: np.random.Generator, init: Any) -> State:
        """Return the counts alone: draws leave nothing behind."""
        refuse_init(init)
        return {"counts": np.zeros(len(self.counters), np.int64)}

    def advance(
        self,
        state: State,
        rng: np.random.Generator,
        subsets: NDArray[np.int32],
        tracked: Floats,
        thin: int,
    ) -> None:
        """Draw len(subsets) sets."""
        draw_sets(
            rng,
            self.vectors,
            self.cumulative,
            self.sure,
            self.chances,
            self.taking,
            self.algorithm == "chain-rule",
            subsets,
            state["counts"],
        )
        self.tracker.fill(subsets, tracked)

    def check(self, state: State) -> None:
        """Accept any state: counts are not used as indices."""


def prepare(target: DPP | KDPP, track: Any = None, *, algorithm: str = "rejection") -> Mixture:
    """Do what draws share, or take it from an earlier call with the same target."""
    one_of(algorithm, "algorithm", ("rejection", "chain-rule"))
    tracker = SetTracker.of(track, target.n)
    if target not in _prepared:
        _prepared[target] = _set_up(target)
    return replace(_prepared[target], algorithm=algorithm, tracker=tracker)


def _set_up(target: DPP | KDPP) -> Mixture:
    """Tabulate the eigenvectors' squares, and find how much room draws need."""
    cumulative = np.empty((target.r, target.n))
    np.square(target.vectors.T, out=cumulative)
    np.cumsum(cumulative, axis=1, out=cumulative)
    cumulative /= cumulative[:, -1:]
    sure = target.sure.shape[1]
    tail = np.cumsum(target.size_law()[::-1])[::-1]
    width = int(np.sum(tail > NEVER)) - 1
    return Mixture(
        "rejection",
        target.vectors,
        frozen(cumulative),
        sure,
        target.chances,
        target.taking,
        max(1, width),
        SetTracker.of(None, target.n),
    )


@jit
def choose_each(rng: np.random.Generator, chances: Floats, chosen: Integers) -> int:
    """Choose each eigenvector with its own chance; return how many were chosen."""
    count = 0
    for j in range(chances.shape[0]):
        if chances[j] >= 1.0 or rng.random() < chances[j]:
            chosen[count] = j
            count += 1
    return count


@jit
def choose_some(rng: np.random.Generator, sure: int, taking: Floats, chosen: Integers) -> int:
    """Choose all sure eigenvectors, then others; tables begin with the smallest eigenvalue."""
    for j in range(sure):
        chosen[j] = j
    count = sure
    m = taking.shape[0]
    left = taking.shape[1] - 1
    for j in range(m - 1, -1, -1):
        if left == 0:
            break
        if rng.random() < taking[j, left]:
            chosen[count] = sure + m - 1 - j
            count += 1
            left -= 1
    return count


@jit
def gather(vectors: Floats, item: int, chosen: Integers, column: Floats) -> float:
    """Copy the item's entries in the chosen eigenvectors; return the sum of their squares."""
    total = 0.0
    for j in range(column.shape[0]):
        entry = vectors[item, chosen[j]]
        column[j] = entry
        total += entry * entry
    return total


@jit
def pick_by_rejection(
    rng: np.random.Generator,
    vectors: Floats,
    cumulative: Floats,
    chosen: Integers,
    N: Floats,
    m: int,
    column: Floats,
    c: Floats,
    counts: Integers,
) -> tuple[int, float]:
    """Propose items from the leverage scores until one is accepted."""
    size = column.shape[0]
    while True:
        j = chosen[min(int(rng.random() * size), size - 1)]
        item = int(np.searchsorted(cumulative[j], rng.random(), side="right"))
        length = gather(vectors, item, chosen, column)
        left = outside(N, m, column, c)
        counts[1] += 1
        if rng.random() * length < left:
            return item, left


@jit
def pick_by_chain_rule(
    rng: np.random.Generator,
    vectors: Floats,
    chosen: Integers,
    N: Floats,
    m: int,
    column: Floats,
    c: Floats,
    weights: Floats,
    counts: Integers,
) -> tuple[int, float]:
    """Compute the conditional weights of all items, and pick one of them."""
    n = vectors.shape[0]
    for i in range(n):
        gather(vectors, i, chosen, column)
        weights[i] = outside(N, m, column, c)
    level = rng.random() * weights.sum()
    item = -1
    for i in range(n):
        if weights[i] > 0.0:
            item = i
            level -= weights[i]
            if level < 0.0:
                break
    counts[1] += 1
    gather(vectors, item, chosen, column)
    return item, outside(N, m, column, c)


@jit
def draw_sets(
    rng: np.random.Generator,
    vectors: Floats,
    cumulative: Floats,
    sure: int,
    chances: Floats,
    taking: Floats,
    chain_rule: bool,
    subsets: NDArray[np.int32],
    counts: Integers,
) -> None:
    """Fill subsets with draws; rows end in -1 where a draw has fewer items than there is room."""
    n, r = vectors.shape
    room = subsets.shape[1]
    chosen = np.empty(r, np.int64)
    weights = np.empty(n)
    for k in range(subsets.shape[0]):
        while True:
            if taking.shape[1] > 0:
                size = choose_some(rng, sure, taking, chosen)
            else:
                size = choose_each(rng, chances, chosen)
            if size <= room:
                break
        N = np.eye(size)
        column = np.empty(size)
        c = np.empty(size)
        row = np.empty(size)
        for m in range(size, 0, -1):
            if chain_rule:
                item, left = pick_by_chain_rule(
                    rng, vectors, chosen, N, m, column, c, weights, counts
                )
            else:
                item, left = pick_by_rejection(
                    rng, vectors, cumulative, chosen, N, m, column, c, counts
                )
            subsets[k, size - m] = item
            reflect(N, m, c, np.sqrt(left), row)
        subsets[k, :size].sort()
        subsets[k, size:] = -1
        counts[0] += 1
