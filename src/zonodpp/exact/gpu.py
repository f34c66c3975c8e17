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

from functools import lru_cache
from typing import Any, NamedTuple

from numba import cuda, float64, int32

from zonodpp._types import Floats, Integers, Subsets
from zonodpp.chains.gpu_state import write_sorted
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
from zonodpp.numerics.gpu_compile import Function, Index, Word, Words, inlined, kernel_with
from zonodpp.numerics.gpu_warps import block_barrier


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
