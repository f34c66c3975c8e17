"""Exact, independent draws from a projection DPP.

Both algorithms pick items one after another, each in proportion to the squared length of what its
whitened column has outside the span of those already picked (Hough, Krishnapur, Peres, Virag
2006). What is left outside is kept as a matrix N: with m items still to pick, N is m x r and
|N a_i|^2 is the conditional weight of item i. A pick turns N by one Householder reflection and
drops a row. So no n x n matrix appears, nothing has to be orthogonalised again, and an item inside
the span gets weight zero without cancellation.

``rejection`` proposes items from their leverage scores and accepts with the share outside the span:
about r log r proposals whatever n is (Barthelme, Tremblay, Amblard 2023).
``chain-rule`` computes all n conditional weights at each pick; it is slower and serves as oracle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import VECTOR, jit
from zonodpp._types import Floats, Integers
from zonodpp.arguments import one_of
from zonodpp.basis.alias import alias_table
from zonodpp.linalg.columns import Columns, frozen
from zonodpp.linalg.dense import column_chunks
from zonodpp.samplers import State, need_between, refuse_init
from zonodpp.samplers.tracking import SetTracker
from zonodpp.targets import VolumeSampling

PATIENCE, STUCK = 1000, -1
BATCH = 64  # proposals fetched together, so that their cache misses overlap
_prepared: WeakKeyDictionary[VolumeSampling, ExactDraws] = WeakKeyDictionary()


@dataclass(frozen=True)
class ExactDraws:
    """A prepared exact sampler."""

    algorithm: str
    columns: Columns
    whitening: Floats
    lengths: Floats
    leverages: Floats
    alias: Floats
    tracker: SetTracker
    counters: tuple[str, ...] = ("draws", "proposals")
    independent: bool = True

    @property
    def width(self) -> int:
        """The number of items of every draw."""
        return len(self.whitening)

    def start(self, rng: np.random.Generator, init: Any) -> State:
        """Return an empty queue of proposals."""
        refuse_init(init)
        return {
            "counts": np.zeros(len(self.counters), np.int64),
            "pending": np.zeros(BATCH, np.int64),
            "levels": np.zeros(BATCH),
            "head": np.full(1, BATCH),
        }

    def advance(
        self,
        state: State,
        rng: np.random.Generator,
        subsets: NDArray[np.int32],
        tracked: Floats,
        thin: int,
    ) -> None:
        """Draw len(subsets) bases."""
        if self.algorithm == "rejection":
            draw_by_rejection(
                rng,
                self.columns,
                self.whitening,
                self.lengths,
                self.alias,
                subsets,
                state["pending"],
                state["levels"],
                state["head"],
                state["counts"],
            )
            if state["head"][0] == STUCK:
                raise ArithmeticError(
                    f"more than {PATIENCE} r proposals in a row were rejected: the array that the "
                    "target was made of has changed since; make the target anew"
                )
        else:
            draw_by_chain_rule(
                rng,
                self.columns,
                self.whitening,
                self.lengths,
                self.leverages,
                subsets,
                state["counts"],
            )
        self.tracker.fill(subsets, tracked)

    def check(self, state: State) -> None:
        """Check the queue of proposals."""
        need_between(state["pending"], 0, len(self.alias) - 1, "pending items")
        need_between(state["head"], 0, BATCH, "the first pending item")


def prepare(
    target: VolumeSampling, track: Any = None, *, algorithm: str = "rejection"
) -> ExactDraws:
    """Do what draws share, or take it from an earlier call with the same target."""
    one_of(algorithm, "algorithm", ("rejection", "chain-rule"))
    if not target.has_inclusion:
        raise ValueError(
            f"method='exact' draws from projection DPPs (power 2), not from power "
            f"{target.power:g}; use method='exchange' or 'zonotope'"
        )
    tracker = SetTracker.of(track, target.n)
    if target not in _prepared:
        _prepared[target] = _set_up(target)
    return replace(_prepared[target], algorithm=algorithm, tracker=tracker)


def _set_up(target: VolumeSampling) -> ExactDraws:
    """Whiten, take leverage scores, and build the table that proposals are drawn from."""
    W, where = target.whitening.W, target.coordinates
    lengths = np.empty(target.n)
    for span, chunk in column_chunks(where.matrix, None):
        lengths[span] = where.gram.diagonal(chunk)
    leverages = lengths if where.scale is None else lengths * where.scale**2
    return ExactDraws(
        "rejection",
        target.columns,
        frozen(W),
        frozen(lengths),
        frozen(leverages),
        frozen(alias_table(leverages)),
        SetTracker.of(None, target.n),
    )


@jit
def propose(
    rng: np.random.Generator, alias: Floats, lengths: Floats, pending: Integers, levels: Floats
) -> None:
    """Draw a batch of items, and for each the level that its share outside the span must exceed.

    Reads of the table come by themselves and decide no branch, so that their cache misses overlap.
    """
    n = alias.shape[0]
    for b in range(BATCH):
        place = rng.random() * n
        cell = min(int(place), n - 1)
        pending[b] = cell
        levels[b] = place - cell
    for b in range(BATCH):
        cell = pending[b]
        share = alias[cell, 0]
        other = int(alias[cell, 1])
        pending[b] = cell if levels[b] < share else other
    for b in range(BATCH):
        levels[b] = rng.random() * lengths[pending[b]]


@jit
def fetch(dense: Floats, pending: Integers, first: int, fetched: Floats) -> None:
    """Copy the columns of pending items; plain loops, for assignment of slices would wait."""
    for b in range(first, BATCH):
        item = pending[b]
        for i in range(dense.shape[1]):
            fetched[b, i] = dense[item, i]


@jit
def outside(N: Floats, m: int, column: Floats, c: Floats) -> float:
    """Set c = N a for a dense column a and return |c|^2."""
    total = 0.0
    for j in range(m):
        product = 0.0
        for i in range(column.shape[0]):
            product += N[j, i] * column[i]
        c[j] = product
        total += product * product
    return total


@jit
def outside_sparse(N: Floats, m: int, columns: Columns, item: int, c: Floats) -> float:
    """Set c = N a for a sparse column a and return |c|^2."""
    total = 0.0
    for j in range(m):
        product = 0.0
        for k in range(columns.indptr[item], columns.indptr[item + 1]):
            product += N[j, columns.indices[k]] * columns.data[k]
        c[j] = product
        total += product * product
    return total


@jit
def reflect(N: Floats, m: int, c: Floats, length: float, row: Floats) -> None:
    """Turn the m rows of N so that the pick, c in their coordinates, is the last; drop that row.

    ``row`` receives what was dropped: row . a_i is the coordinate of item i along the pick.
    """
    r = N.shape[1]
    inverse = 1.0 / length  # c becomes a unit vector first: then no product can underflow
    for j in range(m):
        c[j] *= inverse
    sign = -1.0 if c[m - 1] < 0.0 else 1.0
    c[m - 1] += sign
    beta = sign / c[m - 1]
    row[:] = 0.0
    for j in range(m):
        for i in range(r):
            row[i] += c[j] * N[j, i]
    for j in range(m - 1):
        factor = beta * c[j]
        for i in range(r):
            N[j, i] -= factor * row[i]
    for i in range(r):
        row[i] = sign * row[i] - N[m - 1, i]


@jit
def draw_by_rejection(
    rng: np.random.Generator,
    columns: Columns,
    W: Floats,
    lengths: Floats,
    alias: Floats,
    subsets: NDArray[np.int32],
    pending: Integers,
    levels: Floats,
    head: Integers,
    counts: Integers,
) -> None:
    """Fill subsets with draws; proposals not yet looked at carry over from call to call.

    A column's weight scales its leverage and its share outside the span alike. So it enters the
    proposal table alone, and ``lengths`` are |W a_i|^2 without it.
    """
    r = W.shape[0]
    dense = columns.dense
    sparse = dense.shape[0] == 0
    width = r + -r % VECTOR  # zeros fill rows up to whole vectors
    N = np.zeros((r, width))
    c = np.empty(r)
    row = np.empty(width)
    fetched = np.zeros((BATCH, width))
    h = head[0]
    if not sparse:
        fetch(dense, pending, h, fetched)
    for k in range(subsets.shape[0]):
        N[:, :r] = W
        for m in range(r, 0, -1):
            last = counts[1] + PATIENCE * r  # one proposal out of r is accepted at least
            while True:
                if counts[1] > last:
                    head[0] = STUCK
                    return
                if h == BATCH:
                    propose(rng, alias, lengths, pending, levels)
                    if not sparse:
                        fetch(dense, pending, 0, fetched)
                    h = 0
                item = pending[h]
                if sparse:
                    left = outside_sparse(N, m, columns, item, c)
                else:
                    left = outside(N, m, fetched[h], c)
                h += 1
                counts[1] += 1
                if levels[h - 1] < left:
                    break
            subsets[k, r - m] = item
            reflect(N, m, c, np.sqrt(left), row)
        subsets[k].sort()
        counts[0] += 1
    head[0] = h


@jit
def draw_by_chain_rule(
    rng: np.random.Generator,
    columns: Columns,
    W: Floats,
    lengths: Floats,
    leverages: Floats,
    subsets: NDArray[np.int32],
    counts: Integers,
) -> None:
    """Fill subsets with draws, keeping the conditional weights of all n items up to date."""
    n = lengths.shape[0]
    r = W.shape[0]
    sparse = columns.dense.shape[0] == 0
    N = np.empty((r, r))
    c = np.empty(r)
    row = np.empty(r)
    weights = np.empty(n)
    for k in range(subsets.shape[0]):
        N[:] = W
        weights[:] = leverages
        for m in range(r, 0, -1):
            level = rng.random() * weights.sum()
            item = -1
            for i in range(n):
                if weights[i] > 0.0:
                    item = i
                    level -= weights[i]
                    if level < 0.0:
                        break
            if sparse:
                left = outside_sparse(N, m, columns, item, c)
            else:
                left = outside(N, m, columns.dense[item], c)
            subsets[k, r - m] = item
            reflect(N, m, c, np.sqrt(left), row)
            for i in range(n):
                along = 0.0
                if sparse:
                    for j in range(columns.indptr[i], columns.indptr[i + 1]):
                        along += row[columns.indices[j]] * columns.data[j]
                else:
                    for j in range(r):
                        along += row[j] * columns.dense[i, j]
                if lengths[i] > 0.0:
                    weights[i] = max(0.0, weights[i] - along * along * leverages[i] / lengths[i])
            weights[item] = 0.0
        subsets[k].sort()
        counts[0] += 1
        counts[1] += r
