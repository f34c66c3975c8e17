"""The package's kernels, each alone in a compiled loop, with what it does counted.

Counts are of what the algorithm needs: an entry that a kernel reads twice counts once, except
where the algorithm itself comes back to it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import SEED
from zonodpp import Exchange
from zonodpp._types import Floats, Integers
from zonodpp.chains.columns import (
    UnitColumns,
    basis_matrix,
    tableau_column,
    tableau_row,
)
from zonodpp.chains.contract import only_chain
from zonodpp.chains.inverse import independent_items, replace_item
from zonodpp.chains.tracking import NO_SETS, Recording
from zonodpp.exact import picks
from zonodpp.exchange.walk import (
    ExchangeChain,
    entering_weights,
    pick_by_level,
    propose_entering,
    read_column,
)
from zonodpp.numerics.compiled import VECTOR, jit, no_refcount
from zonodpp.zonotope.frame import frame_of
from zonodpp.zonotope.long_steps import long_ratio_test
from zonodpp.zonotope.pool import price_basis, set_bounds
from zonodpp.zonotope.tile import (
    TileScratch,
    TileState,
    copy_of,
    find_ratios,
    first_minimum,
    lower_gaps,
    next_break,
    pivot,
    tile_at,
    tile_rows,
    tile_scratch,
)
from zonodpp.zonotope.tilings import tile_from_basis

NUMBER = 8  # bytes


class Count(NamedTuple):
    """What one call of a kernel does."""

    flops: float = 0.0
    loads: float = 0.0  # bytes
    stores: float = 0.0  # bytes
    divisions: float = 0.0
    data: float = 0.0  # bytes that it works on

    def __add__(self, other: tuple[float, ...]) -> Count:  # type: ignore[override]
        """Add counts, entry by entry."""
        return Count(*(a + b for a, b in zip(self, other, strict=True)))


class Kernel(NamedTuple):
    """A kernel: ``call(repeats)`` runs it so many times, ``count`` is the work of one run."""

    call: Callable[[int], Any]
    count: Count


@no_refcount
def many_rows(columns: UnitColumns, weights: Floats, work: TileScratch, repeats: int) -> None:
    for _ in range(repeats):
        tableau_row(columns, weights, work.row)
        weights[0] += 1e-200 * work.row[0]


@no_refcount
def many_ratio_tests(tile: TileState, entries: Floats, work: TileScratch, repeats: int) -> int:
    """Find the entering item and update the reduced costs, as crossing a facet does."""
    gap, side, row, ratio = tile.gap, tile.side, work.row, work.ratio
    n = row.shape[0]
    found = 0
    hashed = 1
    for _ in range(repeats):
        hashed = (hashed * 1103515245 + 12345) % 2147483648
        place = hashed // 65536 % n  # the minimum moves about, which no branch can foresee
        kept = gap[place]
        gap[place] = 1e-9
        for j in range(n):
            row[j] = entries[j]
        find_ratios(row, gap, side, 1.0, 1e-9, ratio)
        found = first_minimum(ratio)
        lower_gaps(gap, row, 1e-200 * ratio[found])  # too small to change them, but no denormal
        gap[place] = kept
    return found


@no_refcount
def many_long_tests(
    tile: TileState,
    entries: Floats,
    lengths: Floats,
    slope: float,
    work: TileScratch,
    repeats: int,
) -> int:
    """Find the entering item by long steps, past those that flip on the way."""
    row, ratio = work.row, work.ratio
    passed = 0
    for _ in range(repeats):
        for j in range(row.shape[0]):
            row[j] = entries[j]
        find_ratios(row, tile.gap, tile.side, 1.0, 1e-9, ratio)
        passed = long_ratio_test(lengths, slope, 0.0, work)
    return passed


@no_refcount
def many_pivots(
    columns: UnitColumns, tile: TileState, p: int, item: int, work: TileScratch, repeats: int
) -> None:
    """Let an item enter and leave again."""
    other = tile.basis[p]
    for k in range(repeats):
        entering = item if k % 2 == 0 else other
        tableau_column(columns, tile.T, entering, work.column)
        pivot(tile.T, tile.v, p, work.column, work.vector)


@no_refcount
def many_breaks(tile: TileState, repeats: int) -> float:
    """Find the next facet and take a tiny step towards it."""
    u, v = tile.u, tile.v
    total = 0.0
    for _ in range(repeats):
        length, p = next_break(u, v, tile.reach)
        total += length + p
        for k in range(u.shape[0]):
            u[k] += 1e-200 * length * v[k]
    return total


@no_refcount
def many_prices(
    columns: UnitColumns, tile: TileState, c: Floats, weights: Floats, repeats: int
) -> None:
    """Compute reduced costs for a new tiling."""
    for _ in range(repeats):
        price_basis(tile.basis, tile.T, c, weights)
        set_bounds(columns, weights, c, tile.basis, tile.gap, tile.side)
        c[0] += 1e-200 * tile.gap[0]


@no_refcount
def many_exchanges(chain: ExchangeChain, s: int, item: int, repeats: int) -> None:
    """Let an item take a place of the tableau and give it back."""
    tableau, column, whole = chain.basis.tableau, chain.scratch.column, chain.whole
    other = chain.basis.inside[s]
    for k in range(repeats):
        entering = item if k % 2 == 0 else other
        read_column(chain.columns, tableau, whole, entering, column)
        replace_item(tableau, s, column, chain.scratch.row)


@no_refcount
def many_entering(rng: np.random.Generator, chain: ExchangeChain, repeats: int) -> int:
    """Draw the item that takes the place of another."""
    total = 0
    for k in range(repeats):
        s = k % chain.basis.inside.shape[0]
        t = -1
        if chain.alias.shape[0] > 0:
            t = propose_entering(rng, chain, s, -1)
        if t < 0:
            entering_weights(chain, s)
            t = pick_by_level(rng.random(), chain.scratch.weights, chain.scratch.sums)
        total += t
    return total


@jit
def many_rejections(
    W: Floats, columns: Floats, tries: Integers, N: Floats, c: Floats, repeats: int
) -> float:
    """Take shares outside the span, tries[m - 1] of them with m rows left."""
    total = 0.0
    N[:] = W
    for _ in range(repeats):
        for m in range(W.shape[0], 0, -1):
            for k in range(tries[m - 1]):
                total += picks.outside(N, m, N.shape[1], columns[k % W.shape[0]], c)
        N[0, 0] += 1e-300 * total
    return total


@jit
def many_picks(
    W: Floats, columns: Floats, N: Floats, c: Floats, row: Floats, repeats: int
) -> float:
    """Pick r items, one after another: a share and a reflection each."""
    r = W.shape[0]
    total = 0.0
    for _ in range(repeats):
        N[:] = W
        for m in range(r, 0, -1):
            left = picks.outside(N, m, N.shape[1], columns[m - 1], c)
            picks.reflect(N, m, N.shape[1], c, np.sqrt(left), row)
            total += left
    return total


def zonotope_kernels(target: Any) -> dict[str, Kernel]:
    """Return the parts of one tile of the walk."""
    rng = np.random.default_rng(SEED)
    scale = None if target.weights is None else np.sqrt(target.weights)
    unit = frame_of(target.A, scale).columns
    r, n = target.r, target.n
    basis, work = independent_items(unit, np.arange(n)), tile_scratch(r, n)
    tile = tile_from_basis(unit, basis, np.zeros(unit.lengths.size))
    weights = rng.standard_normal(r)
    sparse = unit.dense.shape[0] == 0
    outside = np.setdiff1d(np.arange(n), tile.basis)
    columns = tile.T @ basis_matrix(unit, np.arange(n))
    p, k = np.unravel_index(np.argmax(abs(columns[:, outside])), (r, outside.size))
    item = int(outside[k])
    # Entries of T e_item that are not zero, for the item and, on its way out, the other one.
    touched = float(np.count_nonzero(abs(columns[:, item]) > 1e-12))
    entries = len(unit.data) / (2 * n) if sparse else float(r)
    column = Count(2 * r * entries, NUMBER * r * entries)
    change = Count(2 * touched * r, NUMBER * touched * r, NUMBER * touched * r)
    values = rng.standard_normal(n)
    signs = np.sign(values)
    single, room = tile_at(tile_rows(1, n, 1)[0], 1, n), tile_scratch(1, n)
    single.gap[:] = rng.random(n)
    single.side[:] = rng.choice([-1.0, 1.0], n)
    other, other_room = copy_of(single), tile_scratch(1, n)
    priced = copy_of(tile)
    point = copy_of(tile)
    point.u[:] = point.reach * rng.random(r)
    point.v[:] = rng.standard_normal(r)
    test = Count(5 * n, NUMBER * 7 * n, NUMBER * 4 * n, n, NUMBER * 6 * n)
    slope = 0.05 * n  # a few items are passed
    return {
        "row product": Kernel(
            partial(many_rows, unit, weights, work),
            Count(2 * r * n, NUMBER * r * n, NUMBER * n, 0.0, NUMBER * (r * n + n)),
        ),
        "ratio test": Kernel(partial(many_ratio_tests, single, signs, room), test),
        "long-step ratio test": Kernel(
            partial(many_long_tests, other, signs, np.abs(values), slope, other_room),
            Count(4 * n, NUMBER * 6 * n, NUMBER * 3 * n, n, NUMBER * 6 * n),
        ),
        "column and pivot": Kernel(
            partial(many_pivots, unit, tile, int(p), item, work),
            column + change + Count(data=NUMBER * r * r),
        ),
        "next break": Kernel(
            partial(many_breaks, point),
            Count(4 * r, NUMBER * 3 * r, NUMBER * r, r, NUMBER * 3 * r),
        ),
        "pricing": Kernel(
            partial(many_prices, unit, priced, rng.standard_normal(n), work.vector),
            Count(
                2 * r * (n + r) + n,
                NUMBER * (r * n + r * r + n),
                NUMBER * 2 * n,
                0.0,
                NUMBER * (r * n + r * r + 4 * n),
            ),
        ),
    }


def exchange_kernels(target: Any) -> dict[str, Kernel]:
    """Return the parts of a heat-bath step."""
    sampler = Exchange().prepare(target)
    record = Recording(*NO_SETS, np.empty((0, target.r), np.int32), np.empty((0, 0)), thin=1)
    starts = (sampler.start([np.random.default_rng(SEED)], None, NO_SETS) for _ in range(2))
    moving, still = (sampler.chain(only_chain(state), record) for state in starts)
    basis = moving.basis
    r, width = basis.tableau.shape
    kept = sampler.whole
    D = basis_matrix(sampler.columns, np.arange(target.n))
    T = basis.tableau if not kept else np.linalg.inv(D[:, basis.inside])
    columns = T @ D[:, basis.outside]
    s, k = np.unravel_index(np.argmax(abs(columns)), columns.shape)
    touched = float(np.count_nonzero(abs(columns[:, k]) > 1e-12))
    column = Count(0.0, NUMBER * r) if kept else Count(2.0 * r * r, NUMBER * r * r)
    size = touched * width
    if kept:  # all weights and their running sums
        draw = Count(3.0 * width, NUMBER * 2 * width, NUMBER * 1.25 * width)
    else:  # about r proposals, a dot product each
        draw = Count(2.0 * r * r, NUMBER * 2 * r * r, 0.0, 0.0, NUMBER * r * target.n)
    rng = np.random.default_rng(SEED)
    return {
        "entering item": Kernel(partial(many_entering, rng, still), draw),
        "tableau pivot": Kernel(
            partial(many_exchanges, moving, int(s), int(basis.outside[k])),
            column + Count(2 * size, NUMBER * size, NUMBER * size, 0.0, NUMBER * r * width),
        ),
    }


def exact_kernels(target: Any) -> dict[str, Kernel]:
    """Return the parts of a rejection draw."""
    r = target.r
    fill = ((0, 0), (0, -r % VECTOR))  # as the sampler does
    W = np.pad(np.linalg.qr(np.random.default_rng(SEED).standard_normal((r, r)))[0], fill)
    columns = np.pad(np.random.default_rng(SEED).standard_normal((r, r)), fill)
    N, c, row = np.empty_like(W), np.empty(r), np.empty(W.shape[1])
    left = np.arange(1, r + 1)  # rows left; one out of r / left proposals is accepted
    tries = np.maximum(np.rint(r / left - 1).astype(np.int64), 0)
    rejected, accepted = (tries * left).sum() * r / tries.sum(), left.mean() * r
    counts = [
        Count(2 * size, NUMBER * size, 0.0, 0.0, NUMBER * r * r) for size in (rejected, accepted)
    ]
    turn = Count(4 * accepted, NUMBER * 2 * accepted, NUMBER * accepted)
    rejections = partial(many_rejections, W, columns, tries, N, c)
    picks = partial(many_picks, W, columns, N.copy(), c.copy(), row)
    return {
        "rejected proposal": Kernel(lambda k: rejections(-(-k // int(tries.sum()))), counts[0]),
        "accepted proposal": Kernel(lambda k: picks(-(-k // r)), counts[1] + turn),
    }
