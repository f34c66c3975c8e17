"""One step of an exchange walk, for each rule, and the loop over steps.

A part of `zonodpp.samplers.exchange`, where the mathematics is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zonodpp._jit import inlined, lean
from zonodpp.matrices.columns import Floats, Integers
from zonodpp.samplers.exchange_tableau import (
    Basis,
    Items,
    Scratch,
    current_column,
    entry,
    frame_row,
    length,
    pivot,
    pivot_late,
    refactorise,
    share_of,
    weighted_row,
)

HEAT_BATH, METROPOLIS, BARKER = range(3)
REFRESH = 50  # changes of T for each of its rows until it is computed anew, which takes one each
ZERO = 1e-12  # pivots, relative to their column, that are taken for rounding noise
SMALL = 1e-8  # ... and those before which T is computed anew


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
def probability_ratio(power: float, items: Items, basis: Basis, s: int, t: int) -> float:
    """Return P(B - s + t) / P(B), where s is a place."""
    volume = abs(entry(items, basis.tableau, s, t))
    ratio: float = raised(volume * items.factors[t] / items.factors[basis.inside[s]], power)
    return ratio


@inlined
def acceptance(rule: int, ratio: float) -> float:
    """Return the probability to accept a proposal with this ratio of probabilities."""
    if rule == METROPOLIS:
        return min(1.0, ratio)
    return ratio / (1.0 + ratio) if ratio < 1e300 else 1.0


@inlined
def propose(
    rng: np.random.Generator, rule: int, power: float, items: Items, basis: Basis
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
def heat_bath_weights(power: float, items: Items, basis: Basis, s: int, scratch: Scratch) -> float:
    """Set weights[t] in proportion to P(B - s + t) for all t, t = s too, and running sums.

    Returns the sum of all.
    """
    weights, sums, factors, inside = scratch.weights, scratch.sums, items.factors, basis.inside
    n = weights.shape[0]
    tableau = basis.tableau
    fused = items.frame.shape[1] > 0 and (power == 1.0 or power == 2.0)
    row = scratch.row
    if items.frame.shape[1] > 0:
        frame_row(basis, s, scratch)
    if not fused:
        weighted_row(items, tableau, s, scratch)
    if items.frame.shape[1] == 0:  # they are zero, but for rounding
        for k in range(inside.shape[0]):
            weights[inside[k]] = factors[inside[k]] if k == s else 0.0
    if power != 1.0 and power != 2.0:
        largest = 0.0  # becomes 1, lest powers overflow
        for t in range(n):
            largest = max(largest, abs(weights[t]))
        noise = ZERO * length(items, tableau, s, scratch)  # would not be small to a low power
        for t in range(n):
            above = abs(weights[t]) > noise * factors[t]
            weights[t] = (abs(weights[t]) / largest) ** power if above else 0.0
    for t in range(n):
        weight = row[t] * factors[t] if fused else weights[t]
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
    items: Items,
    basis: Basis,
    s: int,
    scratch: Scratch,
) -> int:
    """Draw t in proportion to P(B - s + t), t = s too, by proposals or from the weights of all.

    ``level`` is what drawing s has left of a uniform number: uniform itself, whatever s is.
    Proposals that fail say nothing about t, so to give up on them after a while is exact.
    """
    tableau, place = basis.tableau, basis.place
    n: int = items.alias.shape[0]
    size = length(items, tableau, s, scratch) if n > 0 else 1.0
    for _ in range(n):
        spot = rng.random() * n
        t = min(int(spot), n - 1)
        if spot - t >= items.alias[t, 0]:
            t = int(items.alias[t, 1])
        if place[t] < 0 or place[t] == s:
            share = abs(entry(items, tableau, s, t)) / size
            possible = share > ZERO and items.factors[t] > 0.0
            if possible and rng.random() < raised(share, power):
                return t
    total = heat_bath_weights(power, items, basis, s, scratch)
    entering: int = pick(level * total, scratch.weights, scratch.sums)
    if scratch.weights[entering] > 0.0:
        return entering
    return int(basis.inside[s])  # rounding led past the last item that has weight


@inlined
def enter(items: Items, basis: Basis, s: int, t: int, scratch: Scratch, counts: Integers) -> None:
    """Let item t take place s, unless it depends on the other items of the basis."""
    tableau, place, column = basis.tableau, basis.place, scratch.column
    leaving = basis.inside[s]
    current_column(items, basis, t, column)
    share = share_of(column, s)
    if share <= SMALL * SMALL and basis.age[0] > 0:
        counts[4] += 1
        refactorise(items, basis, scratch, counts)
        current_column(items, basis, t, column)
        frame_row(basis, s, scratch)
        share = share_of(column, s)
    if share <= ZERO * ZERO:
        return
    if items.frame.shape[1] > 0 and items.directions.dense.shape[0] > 0:
        pivot_late(basis, s, t, scratch)
    else:
        pivot(items, tableau, s, t, scratch)
    reorder(scratch.ordered, scratch.others, leaving, t)
    basis.inside[s] = t
    basis.outside[-1 - place[t]] = leaving
    place[leaving] = place[t]
    place[t] = s
    counts[1] += 1
    basis.age[0] += 1
    if basis.age[0] >= REFRESH * basis.inside.shape[0]:
        refactorise(items, basis, scratch, counts)


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
    items: Items,
    basis: Basis,
    scratch: Scratch,
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
                s, t = propose(rng, rule, power, items, basis)
            if t >= 0 and place[t] < 0:
                enter(items, basis, s, t, scratch, counts)
            for j in range(sets):
                present = 1.0
                for m in range(starts[j], starts[j + 1]):
                    present = present if place[members[m]] >= 0 else 0.0
                tracked[k, j] += present
        for i in range(r):
            subsets[k, i] = ordered[i]
    counts[0] += subsets.shape[0] * thin
