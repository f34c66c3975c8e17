"""One step of an exchange walk, for each rule, and the loop over steps.

A part of `zonodpp.samplers.exchange`, where the mathematics is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import inlined, lean
from zonodpp._types import Floats, Integers
from zonodpp.basis.alias import draw_alias
from zonodpp.basis.columns import UnitColumns, tableau_column, tableau_entry, tableau_row
from zonodpp.basis.inverse import InverseScratch, inverse_scratch, invert, replace_item, share_of

HEAT_BATH, METROPOLIS, BARKER = range(3)
COUNTERS = ("steps", "accepted", "refactorisations", "drifts", "tiny pivots")
STEPS, ACCEPTED, REFACTORISATIONS, DRIFTS, TINY_PIVOTS = range(5)
REFRESH = 50  # updates of T for each of its r rows until it is computed anew, at the cost of r
ZERO = 1e-12  # a pivot that is smaller, relative to its column, is a rounding error
SMALL = 1e-8  # before a pivot that is smaller, relative to its column, T is computed anew
DRIFT = 1e-9  # an error of T, relative to its largest entry, that is counted as drift
BLOCK = 4  # weights that are summed together; they lie n / 4 apart, so that sums are vectorised
CACHE_LINE = 8  # numbers


class ExchangeItems(NamedTuple):
    """What all steps read."""

    columns: UnitColumns
    alias: Floats  # (n, 2) the table from which items are proposed, or (0, 2)
    whole: bool  # whether the tableau is all of T E, not T alone


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

    weights: Floats  # (n,)
    sums: Floats  # (n / BLOCK,) running
    row: Floats  # like a row of the tableau
    column: Floats  # (r,)
    touched: Integers  # (r,)
    ordered: NDArray[np.int32]  # (r,) the basis, ascending
    others: NDArray[np.int32]  # (r + 1,), -1 in front
    inverse: InverseScratch


def aligned(shape: tuple[int, ...]) -> Floats:
    """Allocate an array that begins with a cache line: updates of T are faster by a third."""
    size = math.prod(shape)
    memory = np.empty(size + CACHE_LINE - 1)
    first = -memory.ctypes.data // memory.itemsize % CACHE_LINE
    return memory[first : first + size].reshape(shape)


def exchange_scratch(items: ExchangeItems) -> ExchangeScratch:
    """Allocate scratch."""
    r, n = items.columns.rows.shape[0], items.columns.lengths.shape[0]
    return ExchangeScratch(
        weights=np.zeros(n),
        sums=np.zeros(n // BLOCK),
        row=aligned((n if items.whole else r,)),
        column=np.empty(r),
        touched=np.empty(r, np.int64),
        ordered=np.empty(r, np.int32),
        others=np.full(r + 1, -1, np.int32),
        inverse=inverse_scratch(r),
    )


@inlined
def entry(items: ExchangeItems, tableau: Floats, s: int, t: int) -> float:
    """Return T_s . e_t: by this |det E_B| changes when item t takes place s."""
    value: float = tableau[s, t] if items.whole else tableau_entry(items.columns, tableau, s, t)
    return value


@inlined
def entering_column(items: ExchangeItems, tableau: Floats, t: int, column: Floats) -> None:
    """Set column = T e_t."""
    if items.whole:
        for k in range(column.shape[0]):
            column[k] = tableau[k, t]
    else:
        tableau_column(items.columns, tableau, t, column)


@inlined
def signed_weights(
    items: ExchangeItems, basis: BasisState, s: int, scratch: ExchangeScratch
) -> None:
    """Set weights[t] = l_t T_s . e_t for all t, from T."""
    weights, row, tableau, inside = scratch.weights, scratch.row, basis.tableau, basis.inside
    lengths = items.columns.lengths
    if items.alias.shape[0] > 0:
        for t in range(items.alias.shape[0]):
            weights[t] = tableau_entry(items.columns, tableau, s, t)
    else:
        for i in range(row.shape[0]):
            row[i] = tableau[s, i]
        tableau_row(items.columns, row, weights, scratch.touched)
    for t in range(weights.shape[0]):
        weights[t] *= lengths[t]
    for k in range(inside.shape[0]):  # known exactly
        weights[inside[k]] = lengths[inside[k]] if k == s else 0.0


@inlined
def row_length(tableau: Floats, s: int) -> float:
    """Return the Euclidean norm of row s."""
    total = 0.0
    for i in range(tableau.shape[1]):
        total += tableau[s, i] * tableau[s, i]
    return math.sqrt(total)


@lean
def renew_tableau(
    items: ExchangeItems, basis: BasisState, scratch: ExchangeScratch, counts: Integers
) -> None:
    """Compute the tableau anew from the basis; count this, and whether it had drifted."""
    tableau, inside, row, column = basis.tableau, basis.inside, scratch.row, scratch.column
    r = inside.shape[0]
    counts[REFACTORISATIONS] += 1
    basis.age[0] = 0
    placed, _ = invert(items.columns, inside, 0.0, scratch.inverse)
    if placed < r:
        counts[DRIFTS] += 1
        return
    change = 0.0
    largest = 0.0
    for i in range(r):
        p = scratch.inverse.owner[i]
        for k in range(r):
            column[k] = scratch.inverse.matrix[i, k]
        if items.whole:
            tableau_row(items.columns, column, row, scratch.touched)
            for k in range(r):
                row[inside[k]] = 1.0 if k == p else 0.0
        else:
            for k in range(r):
                row[k] = column[k]
        for j in range(row.shape[0]):
            change = max(change, abs(row[j] - tableau[p, j]))
            largest = max(largest, abs(row[j]))
            tableau[p, j] = row[j]
    counts[DRIFTS] += 0 if change <= DRIFT * largest else 1


@inlined
def raised(x: float, power: float) -> float:
    """Return x**power, common powers without a call."""
    if power == 2.0:
        return x * x
    if power == 1.0:
        return x
    result: float = x**power
    return result


@inlined
def probability_ratio(
    power: float, items: ExchangeItems, basis: BasisState, s: int, t: int
) -> float:
    """Return P(B - s + t) / P(B), where s is a place."""
    volume = abs(entry(items, basis.tableau, s, t))
    ratio: float = raised(
        volume * items.columns.lengths[t] / items.columns.lengths[basis.inside[s]], power
    )
    return ratio


@inlined
def acceptance(rule: int, ratio: float) -> float:
    """Return the probability to accept a proposal with this ratio of probabilities."""
    if rule == METROPOLIS:
        return min(1.0, ratio)
    return ratio / (1.0 + ratio) if ratio < 1e300 else 1.0


@inlined
def propose_exchange(
    rng: np.random.Generator, rule: int, power: float, items: ExchangeItems, basis: BasisState
) -> tuple[int, int]:
    """Return the place of s and the item t if their exchange is accepted, t = -1 if not."""
    r, left = basis.inside.shape[0], basis.outside.shape[0]
    level = rng.random()
    if rule == BARKER:  # given that it is below 1/2, twice the number is uniform again
        level *= 2.0
    if level >= 1.0 or left == 0:
        return 0, -1
    s = min(int(rng.random() * r), r - 1)
    t = basis.outside[min(int(rng.random() * left), left - 1)]
    if level < acceptance(rule, probability_ratio(power, items, basis, s, t)):
        return s, t
    return s, -1


@inlined
def heat_bath_weights(
    power: float, items: ExchangeItems, basis: BasisState, s: int, scratch: ExchangeScratch
) -> float:
    """Set weights[t] in proportion to P(B - s + t) for all t, t = s too, and running sums.

    Returns the sum of all.
    """
    weights, sums, tableau, lengths = (
        scratch.weights,
        scratch.sums,
        basis.tableau,
        items.columns.lengths,
    )
    n = weights.shape[0]
    direct = items.whole and (power == 1.0 or power == 2.0)  # in one pass over the row
    if not items.whole:
        signed_weights(items, basis, s, scratch)
    elif not direct:
        for t in range(n):
            weights[t] = tableau[s, t] * lengths[t]
    if power != 1.0 and power != 2.0:
        largest = 0.0  # becomes 1, so that powers do not overflow
        for t in range(n):
            largest = max(largest, abs(weights[t]))
        noise = ZERO * row_length(tableau, s)  # a low power would make rounding errors large
        for t in range(n):
            above = abs(weights[t]) > noise * lengths[t]
            weights[t] = (abs(weights[t]) / largest) ** power if above else 0.0
    for t in range(n):
        weight = tableau[s, t] * lengths[t] if direct else weights[t]
        weights[t] = weight * weight if power == 2.0 else abs(weight)
    blocks = sums.shape[0]
    for b in range(blocks):
        pair = weights[b] + weights[b + blocks]
        sums[b] = pair + (weights[b + 2 * blocks] + weights[b + 3 * blocks])
    total = 0.0
    for b in range(blocks):
        total += sums[b]
        sums[b] = total
    return total


@inlined
def pick(level: float, weights: Floats, sums: Floats) -> int:
    """Return the item at which the running sum of weights passes level, without branches.

    A block is an item b and those that lie one, two and three times ``blocks`` after it.
    """
    item = 0
    blocks = sums.shape[0]
    for b in range(blocks - 1):
        item += 1 if sums[b] <= level else 0
    reached = sums[item - 1] if item > 0 else 0.0
    for t in range(item, weights.shape[0] - blocks, blocks):
        reached += weights[t]
        item += blocks if reached <= level else 0
    return item


@inlined
def draw_entering(
    rng: np.random.Generator,
    level: float,
    power: float,
    items: ExchangeItems,
    basis: BasisState,
    s: int,
    scratch: ExchangeScratch,
) -> int:
    """Draw t in proportion to P(B - s + t), t = s too, by proposals or from the weights of all.

    ``level`` is what drawing s has left of a uniform number: uniform itself, whatever s is.
    Proposals that fail say nothing about t, so to give up on them after a while is exact.
    """
    tableau, place = basis.tableau, basis.place
    tries = items.alias.shape[0]
    size = row_length(tableau, s) if tries > 0 else 1.0
    for _ in range(tries):
        t: int = draw_alias(rng, items.alias)
        if place[t] < 0 or place[t] == s:
            share = abs(tableau_entry(items.columns, tableau, s, t)) / size
            possible = share > ZERO and items.columns.lengths[t] > 0.0
            if possible and rng.random() < raised(share, power):
                return t
    total = heat_bath_weights(power, items, basis, s, scratch)
    entering: int = pick(level * total, scratch.weights, scratch.sums)
    if scratch.weights[entering] > 0.0:
        return entering
    return int(basis.inside[s])  # rounding led past the last item that has weight


@inlined
def enter(
    items: ExchangeItems,
    basis: BasisState,
    s: int,
    t: int,
    scratch: ExchangeScratch,
    counts: Integers,
) -> None:
    """Let item t take place s, unless it depends on the other items of the basis."""
    tableau, place, column = basis.tableau, basis.place, scratch.column
    leaving = basis.inside[s]
    entering_column(items, tableau, t, column)
    share = share_of(column, s)
    if share <= SMALL * SMALL and basis.age[0] > 0:
        counts[TINY_PIVOTS] += 1
        renew_tableau(items, basis, scratch, counts)
        entering_column(items, tableau, t, column)
        share = share_of(column, s)
    if share <= ZERO * ZERO:
        return
    replace_item(tableau, s, column, t if items.whole else -1, scratch.touched)
    reorder(scratch.ordered, scratch.others, leaving, t)
    basis.inside[s] = t
    basis.outside[-1 - place[t]] = leaving
    place[leaving] = place[t]
    place[t] = s
    counts[ACCEPTED] += 1
    basis.age[0] += 1
    if basis.age[0] >= REFRESH * basis.inside.shape[0]:
        renew_tableau(items, basis, scratch, counts)


@inlined
def reorder(
    ordered: NDArray[np.int32], others: NDArray[np.int32], leaving: int, entering: int
) -> None:
    """Replace one entry of an ascending array by another and keep it so, without branches."""
    r = ordered.shape[0]
    for i in range(r - 1):
        others[i + 1] = ordered[i] if ordered[i] < leaving else ordered[i + 1]
    others[r] = entering
    for i in range(r):
        ordered[i] = max(others[i], min(others[i + 1], entering))


@lean
def walk(
    rng: np.random.Generator,
    rule: int,
    power: float,
    items: ExchangeItems,
    basis: BasisState,
    scratch: ExchangeScratch,
    starts: Integers,
    members: Integers,
    subsets: NDArray[np.int32],
    tracked: Floats,
    thin: int,
    counts: Integers,
) -> None:
    """Fill subsets with draws ``thin`` steps apart; add to tracked the presence at each step."""
    place, ordered = basis.place, scratch.ordered
    r, sets = ordered.shape[0], starts.shape[0] - 1
    for k in range(subsets.shape[0]):
        for _ in range(thin):
            if rule == HEAT_BATH:
                spot = rng.random() * r
                s = min(int(spot), r - 1)
                t = draw_entering(rng, spot - s, power, items, basis, s, scratch)
            else:
                s, t = propose_exchange(rng, rule, power, items, basis)
            if t >= 0 and place[t] < 0:
                enter(items, basis, s, t, scratch, counts)
            for j in range(sets):
                present = 1.0
                for m in range(starts[j], starts[j + 1]):
                    present = present if place[members[m]] >= 0 else 0.0
                tracked[k, j] += present
        for i in range(r):
            subsets[k, i] = ordered[i]
    counts[STEPS] += subsets.shape[0] * thin
