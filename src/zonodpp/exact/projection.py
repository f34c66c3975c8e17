"""Exact, independent draws from a projection DPP.

`zonodpp.exact.picks` says how items are picked one after another; `zonodpp.exact.mixture`
draws from other DPPs.

``rejection`` proposes items from their leverage scores and accepts with the share outside the span:
about r log r proposals whatever n is (Barthelme, Tremblay, Amblard 2023).
``chain-rule`` computes all n conditional weights at each pick; it is slower and is used as a check.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from zonodpp._arguments import as_count, one_of
from zonodpp._imports import on_use
from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.chains.contract import Block, Sampler, State, need_between
from zonodpp.chains.tracking import TrackedSets
from zonodpp.exact.designs import DesignDraws
from zonodpp.exact.mixture import COUNTERS, DRAWS, PROPOSALS, Mixture, prepare_mixture
from zonodpp.exact.picks import draw_by_chain_rule, outside, outside_sparse, reflect
from zonodpp.exact.stream import prepare_stream
from zonodpp.numerics.alias import alias_table
from zonodpp.numerics.arguments import address_of, generator_at
from zonodpp.numerics.arrays import Columns, frozen, row_chunks
from zonodpp.numerics.compiled import VECTOR, inline_source, no_refcount
from zonodpp.numerics.threads import one_thread
from zonodpp.targets.base import Target
from zonodpp.targets.family import VolumeSampling

ALGORITHMS = ("rejection", "chain-rule")
# Rejections in a row, for each item of a draw, that cannot be mere chance. A proposal is accepted
# with probability 1 / r at least, so the probability of so many rejections is exp(-1000) at most.
PATIENCE = 1000
_LENGTHS_AT_ONCE = 1024  # columns that are whitened together, to take their lengths
BATCH = 64  # proposals fetched together, so that their cache misses overlap


@dataclass(frozen=True)
class Exact:
    """Independent draws: projection DPPs, general DPPs, k-DPPs and designs.

    Parameters
    ----------
    algorithm : {"rejection", "chain-rule"}
        Propose items by their leverage scores and accept each with the share of its column that is
        new: a draw costs the same whatever n is. Or compute the conditional probabilities of all
        items for each pick, as the paper does.
    pool : int, optional
        Proposals that one pass over rows beyond memory draws, on average; see docs/streams.md.

    See Also
    --------
    sample : Where to pass it.
    Trees : Independent spanning trees, without linear algebra.
    HitAndRun : A Markov chain with the same law.

    References
    ----------
    J. B. Hough, M. Krishnapur, Y. Peres, B. Virag, "Determinantal processes and independence",
    Probability Surveys 3 (2006), algorithm 18.

    S. Barthelme, N. Tremblay, P.-O. Amblard, "A faster sampler for discrete determinantal point
    processes", AISTATS 2023.

    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, section 2.4.

    Examples
    --------
    >>> from zonodpp import Exact, ProjectionDPP, sample
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> sample(target, 100, method=Exact(algorithm="chain-rule"), rng=0).method
    'exact'
    """

    algorithm: str = "rejection"
    pool: int | None = None
    name: ClassVar[str] = "exact"

    def __post_init__(self) -> None:
        one_of(self.algorithm, "algorithm", ALGORITHMS)
        if self.pool is not None:
            as_count(self.pool, "pool", 1)

    def prepare(self, target: Target) -> Sampler:
        """Whiten the columns, or tabulate the eigenvectors; the target keeps the tables."""
        if not target.has_inclusion:
            raise ValueError(
                f"method='exact' draws from projection DPPs (power 2), not from power "
                f"{target.power:g}; use method='exchange' or 'zonotope'"
            )
        kind: Any = target  # of the class that goes with ``exact_draws``
        if target.exact_draws in ("passes", "design"):
            return self._on_rows(kind)
        sampler: ExactDraws | Mixture | None = target.prepared.get(self.name)
        if sampler is None:
            with one_thread(target.r**2 * target.n):
                mixed = target.exact_draws == "mixture"
                sampler = prepare_mixture(kind) if mixed else prepare_projection(kind)
            target.prepared[self.name] = sampler
        if sampler.algorithm != self.algorithm:
            sampler = replace(sampler, algorithm=self.algorithm)
        return sampler

    def _on_rows(self, target: Any) -> Sampler:
        """Prepare draws of rows that are read in passes, or of a design."""
        if target.exact_draws == "passes":
            return prepare_stream(target, self.pool)
        return DesignDraws(self.prepare(target.base), target.k, target.n)


@dataclass(frozen=True)
class ExactDraws:
    """A prepared exact sampler."""

    algorithm: str
    width: int
    columns: Columns
    whitening: Floats
    lengths: Floats
    leverages: Floats
    alias: Floats
    counters: ClassVar[tuple[str, ...]] = COUNTERS
    independent: ClassVar[bool] = True
    batch: ClassVar[int | None] = 1

    @property
    def n(self) -> int:
        """The number of items."""
        return self.leverages.size

    def start(self, rngs: Sequence[Rng], init: Integers | None, sets: TrackedSets) -> State:
        """Return an empty queue of proposals."""
        return {
            "counts": np.zeros((1, len(self.counters)), np.int64),
            "pending": np.zeros((1, BATCH), np.int64),
            "levels": np.zeros((1, BATCH)),
            "head": np.array([[BATCH]]),
        }

    def advance(self, state: State, rngs: Sequence[Rng], block: Block, sets: TrackedSets) -> int:
        """Draw as many bases as there is room for."""
        [rng], subsets, counts = rngs, block.subsets[0], state["counts"][0]
        tables, r = (self.columns, self.whitening, self.lengths), self.width
        queue = state["pending"][0], state["levels"][0], state["head"][0]
        # N, a batch of columns and two rows, filled up to whole vectors of the processor.
        scratch = np.zeros((r + BATCH + 2, r + -r % VECTOR))
        if self.algorithm == "chain-rule":
            draw_by_chain_rule(address_of(rng), *tables, self.leverages, subsets)
            counts += len(subsets), subsets.size
        elif not draw_by_rejection(
            address_of(rng), *tables, self.alias, subsets, counts, *queue, scratch
        ):
            raise ArithmeticError(
                f"more than {PATIENCE} r proposals in a row were rejected: the array that the "
                "target was made of has changed since; make the target anew"
            )
        subsets.sort(axis=1)
        return len(subsets)

    def on_device(self, checkpointed: bool) -> Sampler:
        """Draw on a GPU."""
        found: Sampler = on_use("zonodpp.exact.gpu").projection_on_device(self, checkpointed)
        return found

    def check(self, state: State) -> None:
        """Check the queue of proposals."""
        need_between(state["pending"], 0, len(self.alias) - 1, "pending items")
        need_between(state["head"], 0, BATCH, "the first pending item")


def prepare_projection(target: VolumeSampling) -> ExactDraws:
    """Whiten, take leverage scores, and build the table that proposals are drawn from."""
    where, columns = target.coordinates, target.columns
    rows = columns.dense if len(columns.dense) else where.matrix.T
    with one_thread():  # each of the products is small
        chunks = row_chunks(rows, _LENGTHS_AT_ONCE)
        lengths = np.concatenate([where.gram.diagonal(chunk.T) for _, chunk in chunks])
    leverages = lengths if where.scale is None else lengths * where.scale**2
    W, alias = frozen(where.gram.W), frozen(alias_table(leverages))
    tables = columns, W, frozen(lengths), frozen(leverages), alias
    return ExactDraws("rejection", target.r, *tables)


@inline_source
def propose(rng: Rng, alias: Floats, lengths: Floats, pending: Integers, levels: Floats) -> None:
    """Draw a batch of items, and for each the level that its share outside the span must exceed.

    A loop of its own reads the table, and no branch depends on it, so that cache misses overlap.
    """
    n = alias.shape[0]
    for b in range(BATCH):
        spot = rng.random() * n
        cell = min(int(spot), n - 1)
        pending[b] = cell
        levels[b] = spot - cell
    for b in range(BATCH):
        cell = pending[b]
        share = alias[cell, 0]
        other = int(alias[cell, 1])
        pending[b] = cell if levels[b] < share else other
    for b in range(BATCH):
        levels[b] = rng.random() * lengths[pending[b]]


@no_refcount
def draw_by_rejection(
    address: int,
    columns: Columns,
    W: Floats,
    lengths: Floats,
    alias: Floats,
    subsets: Subsets,
    counts: Integers,
    pending: Integers,
    levels: Floats,
    head: Integers,
    scratch: Floats,
) -> bool:
    """Fill subsets with draws; False if too many proposals in a row are rejected.

    The weight of a column multiplies both its leverage and its squared length outside the span, and
    so cancels in the acceptance test. Only the proposal table has the weights; ``lengths`` are
    |W a_i|^2 without them.
    """
    rng = generator_at(address)
    r, width = W.shape[0], scratch.shape[1]
    N, fetched = scratch[:r], scratch[r : r + BATCH]
    residual, row = scratch[r + BATCH], scratch[r + BATCH + 1]
    dense = columns.dense
    sparse = dense.shape[0] == 0
    # Counts stay in registers: two chains may have theirs in one line of the cache.
    proposals, h, last = counts[PROPOSALS], head[0], counts[PROPOSALS] + PATIENCE * r
    is_fetched = sparse
    for drawn in range(subsets.shape[0]):
        for j in range(r):
            for i in range(r):
                N[j, i] = W[j, i]
        m = r
        while m > 0:
            if h == BATCH:
                if proposals > last:
                    return False
                propose(rng, alias, lengths, pending, levels)
                h = 0
                is_fetched = sparse
            if not is_fetched:  # in loops several columns are fetched at once, unlike in slices
                for b in range(h, BATCH):
                    item = pending[b]
                    for i in range(r):
                        fetched[b, i] = dense[item, i]
                is_fetched = True
            item = pending[h]
            if sparse:
                remaining = outside_sparse(N, m, columns, item, residual)
            else:
                remaining = outside(N, m, width, fetched[h], residual)
            proposals += 1
            if levels[h] < remaining:
                subsets[drawn, r - m] = item
                reflect(N, m, width, residual, math.sqrt(remaining), row)
                last = proposals + PATIENCE * r
                m -= 1
            h += 1
    counts[DRAWS] += subsets.shape[0]
    counts[PROPOSALS], head[0] = proposals, h
    return True
