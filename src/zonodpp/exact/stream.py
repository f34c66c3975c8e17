"""Exact draws from rows that are read in passes: the rejection sampler with a pool of proposals.

A pass over the rows draws proposals from their leverage scores (`StreamedDPP.propose`). A draw
takes about 1.3 r H_r of them, H_r = 1 + 1/2 + ... + 1/r. If the pool runs dry in the middle of a
draw, the next pass goes on with that draw.

The pool belongs to a generator: to the one that a user passes to `PreparedSampler.draw` again and
again, or to the one that calls of `sample` without a seed share. It cannot belong to the target
alone: draws of a seed would then depend on the draws before.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.chains.contract import Block, State, only_chain, with_chains
from zonodpp.chains.tracking import TrackedSets
from zonodpp.exact.picks import outside, reflect
from zonodpp.numerics.arguments import address_of, generator_at
from zonodpp.numerics.compiled import jit
from zonodpp.targets.stream import StreamedDPP

_POOL = 2**22  # bytes of proposals from one pass, if that is enough for one draw
_SPREADS = 8.0  # standard deviations of a Poisson number that the pool has room for
DRAWS, PROPOSALS, PASSES = range(3)  # the entries of ``counts``


class _Last(threading.local):
    """The generator that a thread used last, and the pool that its draws have left.

    It is not pickled: an unpickled sampler begins with a pass over the rows.
    """

    rng: Rng | None = None
    state: State

    def __reduce__(self) -> tuple[type[_Last], tuple[()]]:
        return _Last, ()


@dataclass(frozen=True)
class StreamedDraws:
    """A prepared sampler for a streamed target."""

    target: StreamedDPP
    pool: int  # proposals from one pass, on average
    last: _Last = field(repr=False, compare=False)
    counters: ClassVar[tuple[str, ...]] = ("draws", "proposals", "passes")
    independent: ClassVar[bool] = True
    batch: ClassVar[int | None] = 1

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.target.n

    @property
    def width(self) -> int:
        """The number of items of every draw."""
        return self.target.r

    def start(self, rngs: Sequence[Rng], init: Integers | None, sets: TrackedSets) -> State:
        """Return an empty pool and an empty draw, or what this generator has left."""
        [rng] = rngs
        if self.last.rng is not rng:
            self.last.rng, self.last.state = rng, with_chains(self._empty())
        self.last.state["counts"][:] = 0
        return self.last.state

    def _empty(self) -> State:
        r = self.target.r
        room = int(self.pool + _SPREADS * np.sqrt(self.pool)) + 1
        return {
            "counts": np.zeros(len(self.counters), np.int64),
            "items": np.zeros(room, np.int64),
            "rows": np.zeros((room, r)),
            # The next proposal, how many proposals there are, how many items the draw still lacks.
            "pool": np.array([0, 0, r]),
            "N": np.eye(r),
            "picks": np.zeros(r, np.int64),
        }

    def advance(self, state: State, rngs: Sequence[Rng], block: Block, sets: TrackedSets) -> int:
        """Make draws, and pass over the rows whenever the pool is empty."""
        [rng], [subsets], chain = rngs, block.subsets, only_chain(state)
        pool = [chain[name] for name in ("items", "rows", "pool", "N", "picks")]
        done = 0
        while done < len(subsets):
            first, last, _ = chain["pool"]
            if first == last:
                self._fill(chain, rng)
            done += _draw_from_pool(address_of(rng), *pool, subsets[done:], chain["counts"])
        return done

    def _fill(self, state: State, rng: Rng) -> None:
        """Fill the pool by a pass over the rows.

        What does not fit is left out: the proposals come in random order, so those that stay are
        independent draws all the same.
        """
        items, rows = self.target.propose(self.pool, int(rng.integers(2**63)))
        count = min(len(items), len(state["items"]))
        state["items"][:count] = items[:count]
        state["rows"][:count] = rows[:count]
        state["pool"][:2] = 0, count
        state["counts"][PASSES] += 1

    def check(self, state: State) -> None:
        """Check the pool and the unfinished draw."""
        [(first, last, left)] = state["pool"]
        if not 0 <= first <= last <= state["items"].size:
            raise ValueError(f"the pool ends at {last} and its next proposal is {first}")
        if not 1 <= left <= self.target.r:
            raise ValueError(f"{left} items are to be picked, of {self.target.r}")


def prepare_stream(target: StreamedDPP, pool: int | None) -> StreamedDraws:
    """Choose the pool, if it is not given: 4 MiB of proposals, or more if one draw needs more."""
    r = target.r
    enough = max(_POOL / (8 * (r + 1)), 1.5 * r * (np.log(r + 1.0) + 1.0))
    pool = pool or int(enough)
    last = target.prepared.setdefault(("pool", pool), _Last())
    return StreamedDraws(target, pool, last)


@jit
def _draw_from_pool(
    address: int,
    items: Integers,
    rows: Floats,
    pool: Integers,
    N: Floats,
    picks: Integers,
    subsets: Subsets,
    counts: Integers,
) -> int:
    """Go on with a draw until all subsets are filled or the pool is empty; return how many are.

    The rows are whitened, so a draw begins with N = I.
    """
    rng = generator_at(address)
    r = N.shape[0]
    residual = np.empty(r)
    row = np.empty(r)
    head, last, m = pool
    done = 0
    while done < subsets.shape[0] and head < last:
        length = 0.0
        for i in range(r):
            length += rows[head, i] * rows[head, i]
        remaining = outside(N, m, r, rows[head], residual)
        accepted = rng.random() * length < remaining
        head += 1
        counts[PROPOSALS] += 1
        if not accepted:
            continue
        picks[r - m] = items[head - 1]
        reflect(N, m, r, residual, np.sqrt(remaining), row)
        m -= 1
        if m == 0:
            subsets[done] = np.sort(picks)
            done += 1
            counts[DRAWS] += 1
            m = r
            for i in range(r):
                for j in range(r):
                    N[i, j] = 1.0 if i == j else 0.0
    pool[0], pool[2] = head, m
    return done
