"""One step of an exchange walk, for each rule, and the loop over steps.

A part of `zonodpp.exchange.method`, where the mathematics is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from zonodpp._types import Floats, Integers, Rng, Subsets
from zonodpp.chains.bases import ACCEPTED, BASIS_COUNTERS, STEPS
from zonodpp.chains.columns import UnitColumns, dot, tableau_column, tableau_entry, tableau_row
from zonodpp.chains.inverse import LARGE, replace_item, row_length
from zonodpp.chains.small_pivots import (
    TINY,
    is_copy,
    rounding_error,
    rounding_weights,
)
from zonodpp.chains.tracking import Recording
from zonodpp.numerics.alias import draw_alias
from zonodpp.numerics.arguments import generator_at
from zonodpp.numerics.compiled import forceinline, inline_source, no_refcount
from zonodpp.numerics.hidden import NEGLIGIBLE

HEAT_BATH, METROPOLIS, BARKER = range(3)
COUNTERS = (*BASIS_COUNTERS, "tiny pivots")
TINY_PIVOTS = len(BASIS_COUNTERS)
ZERO = 1e-12  # a pivot that is smaller, relative to its column or its row of T, is a rounding error
# Why the walk returns: all draws are made, or the tableau is to be computed anew, or rounding hides
# an exchange that may be likely.
DONE, OLD, HIDDEN = range(3)
# In place of an item t that enters: none is drawn yet; it is to be drawn with a fresh tableau, for
# the same s; or the exchange with item REPEATED - t is to be judged with one.
NONE, AGAIN, REPEATED = -1, -2, -3
# A single entry is judged if it is smaller than this, relative to its row: rounding errors of thin
# bases reach so far.
LARGEST_SMALL = 1e-3
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
    careful: bool  # whether small entries of the tableau may be likely, and are judged


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
    """Return the place of s, and what `_judge_exchange` returns of it and an item t."""
    inside, outside, rule = chain.basis.inside, chain.basis.outside, chain.rule
    r, others = inside.shape[0], outside.shape[0]
    level = rng.random()
    if rule == BARKER:  # given that it is below 1/2, twice the number is uniform again
        level *= 2.0
    if level >= 1.0 or others == 0:
        return 0, -1
    s = min(int(rng.random() * r), r - 1)
    t: int = outside[min(int(rng.random() * others), others - 1)]
    return s, _judge_exchange(chain, s, t, level)


@inline_source
def _judge_exchange(chain: ExchangeChain, s: int, t: int, level: float) -> int:
    """Return t if the exchange is accepted at this level, NONE if not, or REPEATED - t."""
    lengths, T, item = chain.columns.lengths, chain.basis.tableau, chain.basis.inside[s]
    det_ratio = abs(tableau_entry(chain.columns, T[s], t))
    if chain.careful and det_ratio <= LARGEST_SMALL * row_length(T, s) and det_ratio > 0.0:
        rounding_weights(T, s, chain.scratch.column)
        error = rounding_error(chain.columns, T, s, chain.scratch.column, t, det_ratio)
        likely = raised(max(det_ratio, error) * lengths[t] / lengths[item], chain.power)
        hidden = det_ratio <= error and not is_copy(chain.columns, chain.basis.inside, s, t)
        if likely > NEGLIGIBLE and (chain.basis.age[0] > 0 or hidden):
            return REPEATED - t
        det_ratio = det_ratio if det_ratio > error else 0.0
    ratio = raised(det_ratio * lengths[t] / lengths[item], chain.power)
    return t if level < acceptance(chain.rule, ratio) else NONE


@forceinline
def _raised_weights(entries: Floats, lengths: Floats, power: float, weights: Floats) -> None:
    """Set weights[t] = (|entries[t]| lengths[t])^power, up to a factor."""
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
        for t in range(n):
            weights[t] = (weights[t] / largest) ** power if weights[t] > 0.0 else 0.0


@inline_source
def _judge_row(chain: ExchangeChain, s: int, row: Floats) -> bool:
    """Set small entries of a row to zero that rounding explains; False if no answer is possible.

    Entries that may be likely are judged with a fresh T.
    """
    columns, T, lengths, total = (
        chain.columns,
        chain.basis.tableau,
        chain.columns.lengths,
        chain.scratch.column,
    )
    least = max(rounding_weights(T, s, total), TINY * row_length(T, s))
    largest = 0.0
    for t in range(row.shape[0]):
        largest = max(largest, abs(row[t]) * lengths[t])
    clear, fresh = True, chain.basis.age[0] == 0
    for t in range(row.shape[0]):
        size = abs(row[t])
        if 0.0 < size <= least and chain.basis.place[t] < 0:
            error = rounding_error(columns, T, s, total, t, size)
            likely = raised(max(size, error) * lengths[t] / largest, chain.power) > NEGLIGIBLE
            if likely and size <= error:
                likely = not is_copy(columns, chain.basis.inside, s, t)
            clear = clear and (not likely or (fresh and size > error))
            row[t] = row[t] if size > error else 0.0
    return clear


@inline_source
def entering_weights(chain: ExchangeChain, s: int) -> bool:
    """Set weights[t] in proportion to P(B - s + t) for all t, the item at place s included.

    Returns False if rounding hides weights that may be large.
    """
    columns, power, scratch = chain.columns, chain.power, chain.scratch
    inside, tableau, row = chain.basis.inside, chain.basis.tableau, scratch.row
    if not chain.whole:
        if columns.dense.shape[0] > 0:
            for t in range(row.shape[0]):
                row[t] = tableau_entry(columns, tableau[s], t)
        else:
            tableau_row(columns, tableau[s], row)
    clear = not chain.careful or _judge_row(chain, s, row)
    entries = tableau[s] if chain.whole else row
    _raised_weights(entries, columns.lengths, power, scratch.weights)
    for k in range(inside.shape[0]):  # the weights of other items of the basis are rounding errors
        if k != s:
            scratch.weights[inside[k]] = 0.0
    return clear


@forceinline
def pick_by_level(level: float, weights: Floats, sums: Floats) -> int:
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
def propose_entering(rng: Rng, chain: ExchangeChain, s: int, proposed: int) -> int:
    """Draw t in proportion to P(B - s + t), by n proposals at most; return NONE if all fail.

    The first proposal is ``proposed``, unless that is negative. REPEATED - t: rounding hides
    whether item t is to be accepted.

    The item at place s may be drawn too. Failed proposals are independent of the t that is drawn in
    the end, so the law stays exact if t is then drawn in another way.
    """
    columns, alias, place, T = chain.columns, chain.alias, chain.basis.place, chain.basis.tableau
    size = row_length(T, s)
    for _ in range(alias.shape[0]):
        t: int = proposed if proposed >= 0 else draw_alias(rng, alias)
        proposed = -1
        if place[t] < 0 or place[t] == s:
            cosine = abs(tableau_entry(columns, T[s], t)) / size
            # The entry of the item at place s is one: it needs no judgement.
            if chain.careful and 0.0 < cosine <= LARGEST_SMALL and place[t] < 0:
                rounding_weights(T, s, chain.scratch.column)
                entry, total = cosine * size, chain.scratch.column
                error = rounding_error(columns, T, s, total, t, entry) / size
                likely = raised(max(cosine, error), chain.power) > NEGLIGIBLE
                hidden = cosine <= error and not is_copy(columns, chain.basis.inside, s, t)
                if likely and (chain.basis.age[0] > 0 or hidden):
                    return REPEATED - t
                cosine = cosine if cosine > error else 0.0
            possible = columns.lengths[t] > 0.0 and (chain.careful or cosine > ZERO)
            if possible and rng.random() < raised(cosine, chain.power):
                return t
    return NONE


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
    if pivot > (0.0 if chain.careful else ZERO * length):
        replace_item(tableau, s, column, scratch.row)
        leaving = inside[s]
        _reorder(scratch.ordered, scratch.others, leaving, t)
        inside[s] = t
        outside[-1 - place[t]] = leaving
        place[leaving] = place[t]
        place[t] = s
        counts[ACCEPTED] += 1
        ordinary = 1.0 < LARGE * pivot < LARGE * LARGE
        age[0] += 1 if ordinary or not chain.careful else chain.oldest
    return True


@no_refcount
def walk(address: int, chain: ExchangeChain) -> int:
    """Fill subsets with draws ``thin`` steps apart; add to tracked the presence at each step.

    Returns OLD when the tableau is to be computed anew: after ``oldest`` updates, and before a
    small pivot. ``progress`` says where to go on when the caller has done so. DONE is the end, and
    HIDDEN means that the walk cannot go on.
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
                return OLD
            if t < 0 and chain.rule != HEAT_BATH:
                if t <= REPEATED:
                    t = _judge_exchange(chain, s, REPEATED - t, rng.random())
                else:
                    s, t = _propose_exchange(rng, chain)
            elif t < 0:
                spot = rng.random()
                if t == NONE:
                    spot *= r
                    s = min(int(spot), r - 1)
                    spot -= s  # uniform, and independent of s
                proposed = REPEATED - t
                t = NONE
                if chain.alias.shape[0] > 0:
                    t = propose_entering(rng, chain, s, proposed)
                if t == NONE and entering_weights(chain, s):
                    t = pick_by_level(spot, weights, chain.scratch.sums)
                    if weights[t] == 0.0:  # rounding led past the last item that has weight
                        t = inside[s]
                elif t == NONE:
                    t = AGAIN
            if t < NONE:
                if age[0] == 0:
                    return HIDDEN
                age[0] = chain.oldest
                continue
            if t >= 0 and place[t] < 0 and not enter(chain, s, t):
                age[0] = chain.oldest
                continue
            t = NONE
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
    return DONE
