"""Exact draws on the device: a block of threads makes a draw, groups of threads hold proposals.

As in `zonodpp.exact.projection`, items are proposed by their leverage scores and accepted with the
share of their column that lies outside the span of the items taken before. Pending proposals are
kept in coordinates of the space orthogonal to that span. When one is accepted, a Householder
reflection turns it onto the last coordinate, the same reflection is applied to all pending
proposals, and the coordinate is dropped. So nothing is computed twice. A vector is spread over the
registers of a group of threads (`zonodpp.exact.gpu_groups`), so that a thread needs few registers,
and the device holds many blocks.

At first the reflections themselves are kept, and a batch of proposals goes through all of them.
When few coordinates are left, the reflections are multiplied out to the matrix N that brings a
proposal to the coordinates left (m x r), from the last reflection to the first, so that only the
rows that are left are computed. From then on, a batch is multiplied by N, and the reflections of
the batch are applied to N after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import cuda, float64, int32

from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.chains.contract import Block, State
from zonodpp.chains.gpu import DeviceChains, OnDevice, SetsOnDevice, need_shared
from zonodpp.chains.gpu_state import write_sorted
from zonodpp.chains.tracking import TrackedSets
from zonodpp.exact.gpu_groups import Board, Layout, Vectors, vector_functions
from zonodpp.exact.gpu_proposals import (
    INSIDE,
    INSIDE_AT_START,
    batch_acceptance,
    chooser,
    multiplier,
    proposer,
    reader,
)
from zonodpp.exact.mixture import DRAWS, PROPOSALS, Mixture
from zonodpp.numerics.arrays import column_chunks
from zonodpp.numerics.gpu import launch, to_device
from zonodpp.numerics.gpu_compile import Function, Index, Word, Words, inlined, kernel_with
from zonodpp.numerics.gpu_warps import block_barrier

if TYPE_CHECKING:
    from zonodpp.exact.projection import ExactDraws


def layout_for(r: int) -> Layout:
    """Return the layout that was the fastest for about this r on an H200, see docs/gpu.md."""
    fastest = {
        10: Layout(1, 1),
        24: Layout(2, 1),
        56: Layout(4, 1, guard=2),
        88: Layout(4, 2, 168),
        112: Layout(4, 3, 168),
        136: Layout(4, 4, 168),
    }
    return next((layout for most, layout in fastest.items() if r <= most), Layout(8, 8, 128))


class Sizes(NamedTuple):
    """The sizes of a draw on the device."""

    entries: int  # numbers of a vector in a thread before N is formed
    few: int  # the same after N is formed
    room: int  # numbers of a whole vector, with those beyond r
    pitch: int  # numbers of a column of N
    pool: int  # doubles of shared memory for reflections and N
    base: int  # where N begins


def draw_sizes(r: int, layout: Layout) -> Sizes:
    """Return the sizes of draws of r items."""
    lanes = layout.lanes
    entries = -(-r // lanes)
    few = min(max(1, entries // 4), layout.vectors // lanes)
    room, pitch = entries * lanes, few * lanes
    reflections = sum(layout.stored_length(m, entries) for m in range(1, r + 1))
    pool = max(reflections, room * pitch + pitch * pitch, layout.threads)
    return Sizes(entries, few, room, pitch, pool, pool - room * pitch)


def _early_batch(layout: Layout, sizes: Sizes, vectors: Vectors) -> tuple[Function, Function]:
    """Compile what is done while reflections are kept: a batch, and the step to the matrix N."""
    lanes, entries, pitch, base = layout.lanes, sizes.entries, sizes.pitch, sizes.base
    wait, length, reflect = block_barrier(layout.threads), vectors.length, vectors.reflect
    accept = batch_acceptance(layout, vectors)

    @inlined
    def test_early(
        x: Floats, m: int, r: int, group: int, level: float, board: Board
    ) -> tuple[int, int, int]:
        """Apply all reflections to a batch, and accept what passes."""
        at = 0
        for q in range(r, m, -1):
            reflect(x, board.pool, at, q, board.betas[Index(r - q)])
            at += length(q)
        return accept(x, m, r, r, at, group, level, board)

    @inlined
    def form_matrix(x: Floats, m: int, r: int, at: int, group: int, board: Board) -> None:
        """Form N: its rows are unit vectors, to which all reflections are applied."""
        lane = cuda.threadIdx.x % lanes
        for k in range(entries):
            x[k] = 1.0 if k * lanes == group - lane else 0.0
        for q in range(m + 1, r + 1):
            at -= length(q)
            reflect(x, board.pool, at, q, board.betas[Index(r - q)])
        wait()
        for k in range(entries):
            if group < m:
                board.pool[Index(base + (k * lanes + lane) * pitch + group)] = x[k]

    return test_early, form_matrix


def _late_batch(
    layout: Layout, sizes: Sizes, vectors: Vectors, mixture: bool
) -> tuple[Function, Function]:
    """Compile what is done when there is the matrix N: a batch, and the update of N after it."""
    lanes, few, pitch, base = layout.lanes, sizes.few, sizes.pitch, sizes.base
    length, reflect, groups = vectors.length, vectors.reflect, layout.vectors
    accept = batch_acceptance(layout, vectors)
    multiply_one = multiplier(layout, few, 1, mixture)
    multiply_all = multiplier(layout, few, few, mixture)

    @inlined
    def test_late(
        z: Floats, m: int, r: int, group: int, level: float, board: Board, rows: Floats, item: int
    ) -> tuple[int, int, int]:
        """Multiply a batch by N, and accept what passes."""
        lane = cuda.threadIdx.x % lanes
        for e in range(few):
            z[e] = 0.0
        if m > lanes:
            multiply_all(z, rows, item, r, board, base, lane)
        else:
            multiply_one(z, rows, item, r, board, base, lane)
        return accept(z, m, r, m, 0, group, level, board)

    @inlined
    def update_matrix(z: Floats, begun: int, m: int, r: int, group: int, board: Board) -> None:
        """Apply the reflections of a batch, from ``begun`` numbers to m, to the columns of N."""
        for begin in range(0, r, groups):
            first = base + (begin + group) * pitch + cuda.threadIdx.x % lanes
            for e in range(few):
                if begin + group < r:
                    z[e] = board.pool[Index(first + e * lanes)]
            at = 0
            for q in range(begun, m, -1):
                reflect(z, board.pool, at, q, board.betas[Index(begun - q)])
                at += length(q)
            for e in range(few):
                if begin + group < r:
                    board.pool[Index(first + e * lanes)] = z[e]

    return test_late, update_matrix


def _batch_proposal(
    layout: Layout, sizes: Sizes, square: Function, mixture: bool, start: bool
) -> Function:
    """Compile the proposal of a batch."""
    lanes, vectors, entries = layout.lanes, layout.vectors, sizes.entries
    least = INSIDE_AT_START if start else INSIDE
    propose, read, wait = proposer(mixture), reader(mixture), block_barrier(layout.threads)

    @inlined
    def propose_batch(
        x: Floats,
        key: Word,
        draw: int,
        proposed: int,
        rows: Floats,
        table: Floats,
        r: int,
        loaded: bool,
        board: Board,
    ) -> tuple[int, float]:
        """Propose an item in each group; return it with its level, and load it into x if asked."""
        thread, group, lane = cuda.threadIdx.x, cuda.threadIdx.x // lanes, cuda.threadIdx.x % lanes
        if thread < vectors:
            item, chance = propose(key, draw, proposed + thread, table, board.chosen, r)
            board.proposals[thread], board.levels[thread] = item, chance
        wait()
        item = board.proposals[Index(group)]
        level = least if start else max(board.levels[Index(group)], least)
        if mixture or loaded:
            for k in range(entries):
                x[k] = read(rows, item, board.chosen, k * lanes, lane, r)
        if mixture:
            level *= square(x, r)
        return item, level

    return propose_batch


@inlined
def _write_draw(items: Integers, r: int, to: Subsets) -> None:
    """Write the r items of a draw in ascending order, and -1 behind them."""
    write_sorted(items, 0, r, to, cuda.threadIdx.x, cuda.blockDim.x)
    for k in range(r + cuda.threadIdx.x, to.shape[0], cuda.blockDim.x):
        to[k] = -1


@lru_cache(maxsize=64)
def exact_kernel(width: int, mixture: bool, start: bool, layout: Layout) -> Any:
    """Compile the kernel for draws of at most ``width`` items.

    Parameters
    ----------
    mixture : bool
        Whether each draw begins with the choice of eigenvectors (DPPs and k-DPPs).
    start : bool
        Accept every proposal outside the span: the first independent items of a random order, from
        which Markov chains start.
    """
    lanes, vectors, warps = layout.lanes, layout.vectors, layout.warps
    sizes = draw_sizes(width, layout)
    entries, few, room, pitch, total_pool, _ = sizes
    wait, choose = block_barrier(layout.threads), chooser(width)
    long, short = vector_functions(layout, entries), vector_functions(layout, few)
    test_early, form_matrix = _early_batch(layout, sizes, long)
    test_late, update_matrix = _late_batch(layout, sizes, short, mixture)
    propose_batch = _batch_proposal(layout, sizes, long.square, mixture, start)

    @kernel_with(layout.registers)
    def draw_subsets(
        rows: Floats,
        table: Floats,
        taking: Floats,
        keys: Words,
        first_draw: int,
        subsets: Subsets,
        looked_at: Integers,
    ) -> None:
        """Fill subsets (draws, chains, width); rows are unit vectors, except for a mixture."""
        board = Board(
            cuda.shared.array(0, float64),
            cuda.shared.array(room, float64),
            cuda.shared.array(room, int32),
            cuda.shared.array(room, int32),
            cuda.shared.array(vectors, int32),
            cuda.shared.array(vectors, float64),
            cuda.shared.array(warps, int32),
        )
        size = cuda.shared.array(1, int32)
        x = cuda.local.array(entries, float64)
        z = cuda.local.array(few, float64)
        thread, group = cuda.threadIdx.x, cuda.threadIdx.x // lanes
        for k in range(thread, total_pool, cuda.blockDim.x):
            board.pool[k] = 0.0  # entries beyond a vector's end are read, and must be finite
        wait()
        chains = subsets.shape[1]
        for place in range(cuda.blockIdx.x, subsets.shape[0] * chains, cuda.gridDim.x):
            chain, draw = place % chains, first_draw + place // chains
            r = width
            if mixture:
                r = choose(keys[chain], draw, taking, board.chosen, board.pool, size)
            m, proposed, count = r, 0, 0
            formed = False  # whether there is the matrix N
            while m > 0:
                item, level = propose_batch(
                    x, keys[chain], draw, proposed, rows, table, r, not formed, board
                )
                begun = m
                if formed:
                    m, tested, at = test_late(z, m, r, group, level, board, rows, item)
                else:
                    m, tested, at = test_early(x, m, r, group, level, board)
                proposed += vectors
                count += vectors if m > 0 else tested + 1
                if m == 0:
                    break
                wait()
                if formed and m < begun:
                    update_matrix(z, begun, m, r, group, board)
                elif not formed and m <= pitch:
                    form_matrix(x, m, r, at, group, board)
                    formed = True
                wait()
            wait()
            _write_draw(board.items, r, subsets[place // chains, chain])
            if thread == 0:
                cuda.atomic.add(looked_at, chain, count)
            wait()

    return draw_subsets


class DrawMaker:
    """The kernel of exact draws, and what it reads: vectors (n, r) and the table of proposals.

    For DPPs and k-DPPs, ``taking`` has the probabilities with which eigenvectors are chosen.
    """

    def __init__(self, width: int, vectors: Any, table: Any, taking: Floats | None = None) -> None:
        self.width, self.mixture = width, taking is not None
        self.arrays = vectors, table, to_device(np.zeros((1, 1)) if taking is None else taking)
        self.lay_out(layout_for(width))

    def lay_out(self, layout: Layout, every: bool = False) -> None:
        """Choose how threads hold proposals, which changes no draw.

        With ``every``, each proposal that is independent of the earlier ones is accepted. That
        is another law than that of the target; chains start from such draws.
        """
        self.kernel = exact_kernel(self.width, self.mixture, every, layout)
        self.threads = layout.threads
        self.shared = 8 * draw_sizes(self.width, layout).pool
        need_shared(self.shared, f"a draw of {self.width} items")

    def make(self, keys: Any, first: int, subsets: Any, tested: Any) -> None:
        """Fill subsets (draws, chains, width); every block makes one draw at a time."""
        draws = subsets.shape[0] * subsets.shape[1]
        arguments = (*self.arrays, keys, first, subsets, tested)
        launch(self.kernel, draws, self.threads, self.shared, *arguments)


def first_bases(keys: Integers, width: int, vectors: Any, table: Any) -> Subsets:
    """Return a basis for each chain on bases: the first independent items proposed."""
    draws = DrawMaker(width, vectors, table)
    draws.lay_out(layout_for(width), every=True)
    bases = cuda.device_array((1, len(keys), width), np.int32)
    draws.make(to_device(keys), 0, bases, to_device(np.zeros(len(keys), np.int64)))
    found: Subsets = bases.copy_to_host()[0]
    return found


class ExactOnDevice(DeviceChains):
    """Exact draws of a projection DPP, or of a DPP or k-DPP through its eigenvectors."""

    independent: ClassVar[bool] = True
    counted: ClassVar[tuple[str, ...]] = ("tested",)
    changing: ClassVar[tuple[str, ...]] = ("tested",)

    def __init__(self, sampler: ExactDraws | Mixture, draws: DrawMaker, checkpointed: bool) -> None:
        if sampler.algorithm != "rejection":
            raise ValueError("device='cuda' draws by algorithm='rejection'; leave algorithm out")
        super().__init__(sampler.n, sampler.width, sampler.counters, checkpointed)
        self.draws = draws

    def fresh(self, keys: Integers, init: Integers | None) -> State:
        """Return the number of proposals alone: independent draws have no other state."""
        return {"tested": np.zeros(len(keys), np.int64)}

    def advance(self, state: State, rngs: Sequence[Rng], block: Block, sets: TrackedSets) -> int:
        """Draw, and count draws and proposals."""
        made = super().advance(state, rngs, block, sets)
        state["counts"][:, DRAWS] += made
        state["counts"][:, PROPOSALS] = state["tested"]
        return made

    def fill(
        self, state: OnDevice, first: int, subsets: Any, tracked: Any, thin: int, sets: SetsOnDevice
    ) -> None:
        """Draw; independent draws have no steps between them."""
        self.draws.make(state["keys"], first, subsets, state["tested"])


def projection_on_device(sampler: ExactDraws, checkpointed: bool) -> ExactOnDevice:
    """Return the sampler that does on the device what one for a projection DPP does."""
    arrays = to_device(_unit_rows(sampler)), to_device(sampler.alias)
    return ExactOnDevice(sampler, DrawMaker(sampler.width, *arrays), checkpointed)


def mixture_on_device(sampler: Mixture, checkpointed: bool) -> ExactOnDevice:
    """Return the sampler that does on the device what one for a DPP or k-DPP does."""
    arrays = to_device(sampler.vectors), to_device(sampler.cumulative), sampler.taking
    return ExactOnDevice(sampler, DrawMaker(sampler.width, *arrays), checkpointed)


def _unit_rows(sampler: ExactDraws) -> Floats:
    """Return the whitened columns as unit rows (n, r)."""
    W, columns = sampler.whitening, sampler.columns
    rows = np.zeros((sampler.n, len(W)))
    A = columns.dense.T
    if columns.dense.shape[0] == 0:
        A = sp.csc_array((columns.data, columns.indices, columns.indptr), shape=(len(W), sampler.n))
    for span, chunk in column_chunks(A, None):
        rows[span] = (W @ chunk).T
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)
