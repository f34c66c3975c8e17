"""One step of an exchange walk, for each rule, and the loop over steps.

A part of `zonodpp.samplers._exchange`, where the mathematics is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from zonodpp._basis.alias import draw_alias
from zonodpp._basis.columns import UnitColumns, dot, tableau_column, tableau_entry, tableau_row
from zonodpp._basis.inverse import replace_item, row_length
from zonodpp._jit import forceinline, inline_source, no_refcount
from zonodpp._kernel_arguments import generator_at
from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.samplers._chains import ACCEPTED, BASIS_COUNTERS, STEPS
from zonodpp.samplers._tracking import Recording

HEAT_BATH, METROPOLIS, BARKER = range(3)
COUNTERS = (*BASIS_COUNTERS, "tiny pivots")
TINY_PIVOTS = len(BASIS_COUNTERS)
ZERO = 1e-12  # a pivot that is smaller, relative to its column or its row of T, is a rounding error
SMALL = 1e-8  # before a pivot that is smaller, relative to its column, T is computed anew
BLOCK = 4  # weights that are summed together; they lie n / 4 apart, so that sums are vectorised


class BasisState(NamedTuple):
    """A basis, changed in place.

    Item ``inside[k]`` has ``place`` k and row k of the tableau; ``outside[k]`` has place -1 - k.
    """

    inside: Integers
    outside: Integers
    place: Integers
    tableau: Floats  # T, or all of T E
    age: Integers  # (1,) updates since the tableau was computed from the basis


class ExchangeScratch(NamedTuple):
    """Memory for rows, columns and sums, so that compiled code allocates nothing."""

    row: Floats  # (n,)
    weights: Floats  # (n,)
    sums: Floats  # (n / BLOCK,) running
    column: Floats  # (r,)
    ordered: Subsets  # (r,) the basis, ascending
    others: Subsets  # (r + 1,)


class ExchangeChain(NamedTuple):
    """All that the steps of a chain read and write."""

    rule: int
    power: float
    columns: UnitColumns
    alias: Floats  # (n, 2) the table from which items are proposed, or (0, 2)
    whole: bool  # whether the tableau is all of T E, not T alone
    oldest: int  # updates after which the tableau is computed anew
    basis: BasisState
    scratch: ExchangeScratch
    record: Recording
    progress: Integers  # (4,) draw, step; place and item of an exchange that waits for a new T
    counts: Integers


@forceinline
def raised(x: float, power: float) -> float:
    """Return x**power; powers 1 and 2 take no call."""
    if power == 2.0:
        return x * x
    if power == 1.0:
        return x
    result: float = x**power
    return result


@forceinline
def acceptance(rule: int, ratio: float) -> float:
    """Return the probability to accept a proposal with this ratio of probabilities."""
    if rule == METROPOLIS:
        return min(1.0, ratio)
    return ratio / (1.0 + ratio) if ratio < 1e300 else 1.0  # inf / inf would be NaN


@inline_source
def _propose_exchange(rng: Rng, chain: ExchangeChain) -> tuple[int, int]:
    """Return the place of s and the item t if their exchange is accepted, t = -1 if not."""
    inside, outside, rule = chain.basis.inside, chain.basis.outside, chain.rule
    lengths = chain.columns.lengths
    r, others = inside.shape[0], outside.shape[0]
    level = rng.random()
    if rule == BARKER:  # given that it is below 1/2, twice the number is uniform again
        level *= 2.0
    if level >= 1.0 or others == 0:
        return 0, -1
    s = min(int(rng.random() * r), r - 1)
    t = outside[min(int(rng.random() * others), others - 1)]
    det_ratio = abs(tableau_entry(chain.columns, chain.basis.tableau[s], t))
    ratio = raised(det_ratio * lengths[t] / lengths[inside[s]], chain.power)
    return s, t if level < acceptance(rule, ratio) else -1


@forceinline
def _raised_weights(
    entries: Floats, lengths: Floats, power: float, noise: float, weights: Floats
) -> None:
    """Set weights[t] = (|entries[t]| lengths[t])^power, up to a factor; noise counts as zero."""
    n = weights.shape[0]
    if power == 2.0:
        for t in range(n):
            weights[t] = (entries[t] * lengths[t]) ** 2
        return
    for t in range(n):
        weights[t] = abs(entries[t] * lengths[t])
    if power != 1.0:
        largest = 0.0  # all weights are divided by it, so that powers do not overflow
        for t in range(n):
            largest = max(largest, weights[t])
        for t in range(n):  # a low power would make rounding errors large
            above = weights[t] > noise * lengths[t]
            weights[t] = (weights[t] / largest) ** power if above else 0.0


@inline_source
def entering_weights(chain: ExchangeChain, s: int) -> None:
    """Set weights[t] in proportion to P(B - s + t) for all t, the item at place s included."""
    columns, power, scratch = chain.columns, chain.power, chain.scratch
    inside, tableau, row = chain.basis.inside, chain.basis.tableau, scratch.row
    if not chain.whole:
        if columns.dense.shape[0] > 0:
            for t in range(row.shape[0]):
                row[t] = tableau_entry(columns, tableau[s], t)
        else:
            tableau_row(columns, tableau[s], row)
    noise = 0.0 if power == 1.0 or power == 2.0 else ZERO * row_length(tableau, s)
    entries = tableau[s] if chain.whole else row
    _raised_weights(entries, columns.lengths, power, noise, scratch.weights)
    for k in range(inside.shape[0]):  # the weights of other items of the basis are rounding errors
        if k != s:
            scratch.weights[inside[k]] = 0.0


@forceinline
def pick(level: float, weights: Floats, sums: Floats) -> int:
    """Return the item at which the running sum of weights passes a level between 0 and 1.

    There are no branches. A block is an item b and those that lie one, two and three times
    ``blocks`` after it.
    """
    blocks = sums.shape[0]
    for b in range(blocks):
        pair = weights[b] + weights[b + blocks]
        sums[b] = pair + (weights[b + 2 * blocks] + weights[b + 3 * blocks])
    total = 0.0
    for b in range(blocks):
        total += sums[b]
        sums[b] = total
    level *= total
    item = 0
    for b in range(blocks - 1):
        item += 1 if sums[b] <= level else 0
    reached = sums[item - 1] if item > 0 else 0.0
    for t in range(item, weights.shape[0] - blocks, blocks):
        reached += weights[t]
        item += blocks if reached <= level else 0
    return item


@inline_source
def propose_entering(rng: Rng, chain: ExchangeChain, s: int) -> int:
    """Draw t in proportion to P(B - s + t), by n proposals at most; return -1 if all fail.

    The item at place s may be drawn too. Failed proposals are independent of the t that is drawn in
    the end, so the law stays exact if t is then drawn in another way.
    """
    columns, alias, place, T = chain.columns, chain.alias, chain.basis.place, chain.basis.tableau
    size = row_length(T, s)
    for _ in range(alias.shape[0]):
        t: int = draw_alias(rng, alias)
        if place[t] < 0 or place[t] == s:
            cosine = abs(tableau_entry(columns, T[s], t)) / size
            possible = cosine > ZERO and columns.lengths[t] > 0.0
            if possible and rng.random() < raised(cosine, chain.power):
                return t
    return -1


@forceinline
def _reorder(ordered: Subsets, others: Subsets, leaving: int, entering: int) -> None:
    """Replace one entry of an ascending array by another and keep it so, without branches."""
    r = ordered.shape[0]
    others[0] = -1
    for i in range(r - 1):
        others[i + 1] = ordered[i] if ordered[i] < leaving else ordered[i + 1]
    others[r] = entering
    for i in range(r):
        ordered[i] = max(others[i], min(others[i + 1], entering))


@forceinline
def read_column(columns: UnitColumns, tableau: Floats, whole: bool, t: int, column: Floats) -> None:
    """Set column = T e_t."""
    if whole:
        for k in range(column.shape[0]):
            column[k] = tableau[k, t]
    else:
        tableau_column(columns, tableau, t, column)


@inline_source
def enter(chain: ExchangeChain, s: int, t: int) -> bool:
    """Let item t take place s, unless it depends on the other items of the basis.

    Returns False if nothing was done, because the pivot is so small that the tableau must be
    computed anew first.
    """
    inside, outside, place, tableau, age = chain.basis
    scratch, counts, column = chain.scratch, chain.counts, chain.scratch.column
    read_column(chain.columns, tableau, chain.whole, t, column)
    pivot, length = abs(column[s]), math.sqrt(dot(column, column))
    if age[0] > 0 and not pivot > SMALL * length:  # also if the column has become NaN
        counts[TINY_PIVOTS] += 1
        return False
    if pivot > ZERO * length:
        replace_item(tableau, s, column, scratch.row)
        leaving = inside[s]
        _reorder(scratch.ordered, scratch.others, leaving, t)
        inside[s] = t
        outside[-1 - place[t]] = leaving
        place[leaving] = place[t]
        place[t] = s
        counts[ACCEPTED] += 1
        age[0] += 1
    return True


@no_refcount
def walk(address: int, chain: ExchangeChain) -> bool:
    """Fill subsets with draws ``thin`` steps apart; add to tracked the presence at each step.

    Returns False when the tableau is to be computed anew: after ``oldest`` updates, and before a
    small pivot. ``progress`` says where to go on when the caller has done so.
    """
    rng = generator_at(address)
    inside, _, place, _, age = chain.basis
    starts, items, subsets, tracked, thin = chain.record
    progress, weights, ordered = chain.progress, chain.scratch.weights, chain.scratch.ordered
    r, sets = inside.shape[0], starts.shape[0] - 1
    k, step, s, t = progress
    while k < subsets.shape[0]:
        while step < thin:
            if age[0] >= chain.oldest:
                progress[0], progress[1], progress[2], progress[3] = k, step, s, t
                return False
            if t < 0 and chain.rule != HEAT_BATH:
                s, t = _propose_exchange(rng, chain)
            elif t < 0:
                spot = rng.random() * r
                s = min(int(spot), r - 1)
                if chain.alias.shape[0] > 0:
                    t = propose_entering(rng, chain, s)
                if t < 0:
                    entering_weights(chain, s)
                    # The fractional part of ``spot`` is uniform and independent of s.
                    t = pick(spot - s, weights, chain.scratch.sums)
                    if weights[t] == 0.0:  # rounding led past the last item that has weight
                        t = inside[s]
            if t >= 0 and place[t] < 0 and not enter(chain, s, t):
                age[0] = chain.oldest
                continue
            t = -1
            for j in range(sets):
                present = 1.0
                for m in range(starts[j], starts[j + 1]):
                    present = present if place[items[m]] >= 0 else 0.0
                tracked[k, j] += present
            step += 1
        for i in range(r):
            subsets[k, i] = ordered[i]
        k += 1
        step = 0
    chain.counts[STEPS] += subsets.shape[0] * thin
    return True
