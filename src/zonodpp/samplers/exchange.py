"""Walks on the graph of bases: one item s leaves, one item t enters.

All rules leave P(B) proportional to |det A_B|^p prod q_B invariant, for any p > 0. Write each
weighted column as a factor f_j times a direction d_j, and T = D_B^{-1}. Then |det| changes by
|T_s . d_t| f_t / f_s when t takes the place of s: one dot product, and T follows by a rank-one
change.

``barker``
    Algorithm 1 of the paper: stay with probability 1/2, else propose s and t uniformly and accept
    with x / (1 + x), where x is the ratio of probabilities.
``metropolis``
    The same without staying, accepted with min(1, x).
``heat-bath``
    s uniform, t in proportion to (|T_s . d_t| f_t)^p: no rejection. For p = 2 this is the down-up
    walk (Anari, Liu, Oveis Gharan, Vinzant 2021). With few items the weights of all t come from one
    row product. With many, t is proposed in proportion to f_t^p and taken with the share
    |cos(T_s, d_t)|^p: for p = 2 about r proposals, whatever n is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog

from zonodpp._jit import inlined, lean
from zonodpp.columns import Columns, Floats, Integers, columns_of, frozen
from zonodpp.gram import column_chunks, factorise
from zonodpp.inputs import as_items, one_of
from zonodpp.samplers import State
from zonodpp.samplers.exact import alias_table
from zonodpp.samplers.tracking import SetTracker
from zonodpp.targets import VolumeSampling

RULES = ("heat-bath", "metropolis", "barker")
HEAT_BATH, METROPOLIS, BARKER = range(3)
REFRESH = 20  # changes of T for each of its rows until it is computed anew: a tenth of the work
DRIFT = 1e-9  # entries of T D_B - I beyond this are counted as drift
ZERO = 1e-12  # |cos(T_s, d_t)| that is taken for rounding noise: t depends on B - s
SMALL = 1e-8  # ... before which T is computed anew, to be divided by it
PROPOSALS = 10  # items for each expected proposal from which on proposals beat a row product
BLOCK = 8  # weights summed together


class Items(NamedTuple):
    """The items: weighted column j of A is ``factors[j]`` times direction j.

    ``rows`` has the rows of the directions, laid out like columns, for row products, and ``alias``
    the table from which items are proposed; what the rule does not need is empty. Rows and factors
    are filled up with zeros: rows to a multiple of four, items to whole blocks.
    """

    directions: Columns
    rows: Columns
    factors: Floats
    alias: Floats


class Basis(NamedTuple):
    """A basis, changed in place.

    Item ``inside[k]`` has ``place`` k and row k of T; item ``outside[k]`` has place -1 - k.
    """

    inside: Integers
    outside: Integers
    place: Integers
    free: Floats  # (n in whole blocks,) factors of the items outside, zero for those inside
    T: Floats
    age: Integers  # (1,) rank-one changes since T was computed from the basis


class Scratch(NamedTuple):
    """Room for rows, columns and sums, so that kernels allocate nothing."""

    weights: Floats  # (n in whole blocks,)
    sums: Floats  # (blocks,)
    column: Floats  # (r,)
    row: Floats  # (r + 3,), zeros at the end
    nonzero: Integers  # (r,)
    former: Integers  # (r,)
    ordered: NDArray[np.int32]  # (r,) the basis, ascending
    others: NDArray[np.int32]  # (r + 1,), -1 in front


@dataclass(frozen=True)
class Exchange:
    """A prepared exchange walk."""

    rule: str
    power: float
    n: int
    r: int
    items: Items
    tracker: SetTracker
    counters: tuple[str, ...] = ("steps", "accepted", "refactorisations", "drifts", "tiny pivots")
    independent: bool = False

    def start(self, rng: np.random.Generator, init: Any) -> State:
        """Start in the given basis, or in a random one."""
        inside, T = self._initial_basis(rng) if init is None else self._given_basis(init)
        outside = np.setdiff1d(np.arange(self.n), inside)
        place = np.empty(self.n, np.int64)
        place[inside] = np.arange(self.r)
        place[outside] = -1 - np.arange(self.n - self.r)
        free = self.items.factors.copy()
        free[inside] = 0.0
        basis = Basis(inside, outside, place, free, T, np.zeros(1, np.int64))
        return {**basis._asdict(), "counts": np.zeros(len(self.counters), np.int64)}

    def advance(
        self,
        state: State,
        rng: np.random.Generator,
        subsets: NDArray[np.int32],
        tracked: Floats,
        thin: int,
    ) -> None:
        """Walk ``thin`` steps for each of len(subsets) draws."""
        basis = Basis(*(state[name] for name in Basis._fields))
        scratch = scratch_for(self.r, self.n)
        scratch.ordered[:] = np.sort(basis.inside)
        walk(
            rng,
            RULES.index(self.rule),
            self.power,
            self.items,
            basis,
            scratch,
            self.tracker.starts,
            self.tracker.items,
            subsets,
            tracked,
            thin,
            state["counts"],
        )

    def _given_basis(self, init: Any) -> tuple[Integers, Floats]:
        """Check that init holds r items of positive weight with independent columns."""
        hint = "pass a basis, such as a row of earlier subsets, or leave init out"
        given = as_items(init, self.n, "init")
        if given.shape != (self.r,):
            raise ValueError(f"init must hold r = {self.r} items, got shape {given.shape}; {hint}")
        never = given[self.items.factors[given] == 0].tolist()
        if never:
            raise ValueError(f"init holds items {never}, whose weight or column is zero; {hint}")
        inside, T, placed = self._choose(given, ZERO)
        if placed < self.r:
            raise ValueError(
                f"init = {given.tolist()} is not a basis: its {self.r} columns have rank {placed}; "
                + hint
            )
        return inside, T

    def _initial_basis(self, rng: np.random.Generator) -> tuple[Integers, Floats]:
        """Choose the tile of A u, u uniform, for Gaussian costs c: Algorithm 3, a linear program.

        Its basis are the entries strictly between their bounds. Where rounding blurs them, the
        basis is made up of the items whose entries are farthest from a bound.
        """
        D = self.items.directions
        matrix = D.dense.T if len(D.dense) else sp.csc_array((D.data, D.indices, D.indptr))
        possible = np.flatnonzero(self.items.factors)
        matrix = matrix[:, possible]
        x = matrix @ rng.random(possible.size)
        c = rng.standard_normal(possible.size)
        y = linprog(c, A_eq=matrix, b_eq=x, bounds=(0, 1), method="highs").x
        inner = np.zeros(possible.size) if y is None else np.minimum(y, 1 - y)
        ranked = possible[np.argsort(-inner, kind="stable")]
        for least in (SMALL, ZERO):
            inside, T, placed = self._choose(ranked, least)
            if placed == self.r:
                return inside, T
        raise ArithmeticError("A is too close to singular to find a basis; pass one as init")

    def _choose(self, candidates: Integers, least: float) -> tuple[Integers, Floats, int]:
        """Return the first independent items among candidates, T, and how many there are."""
        inside, T = np.empty(self.r, np.int64), np.empty((self.r, self.r))
        scratch = scratch_for(self.r, self.n)
        placed = invert(self.items.directions, candidates, least, inside, T, scratch)
        return inside, T, placed


def prepare(target: VolumeSampling, track: Any = None, *, rule: str | None = None) -> Exchange:
    """Split the weighted columns into directions and factors; build what t is drawn from."""
    rule = one_of("heat-bath" if rule is None else rule, "rule", RULES)
    r, n, p = target.r, target.n, target.power
    sparse = sp.issparse(target.A)
    D, factors = _sparse_directions(target) if sparse else _white_directions(target)
    rows, alias = columns_of(np.empty((0, 0))), np.empty((0, 2))
    if rule == "heat-bath":
        # Were directions spread evenly, 1 / E|cos|^p proposals would be expected.
        logs = [math.lgamma(k / 2) for k in (r + p, 1, r, p + 1)]
        expected = math.exp(min(logs[0] + logs[1] - logs[2] - logs[3], 100.0))
        if sparse:
            rows = columns_of(D.T)
        elif n < PROPOSALS * expected:
            rows = columns_of(np.pad(D, ((0, -r % 4), (0, -n % BLOCK))).T)
        else:
            alias = alias_table((factors / factors.max()) ** p)
    items = Items(columns_of(D), rows, frozen(np.pad(factors, (0, -n % BLOCK))), frozen(alias))
    return Exchange(rule, p, n, r, items, SetTracker.of(track, n))


def scratch_for(r: int, n: int) -> Scratch:
    """Allocate scratch."""
    blocks = -(-n // BLOCK)
    return Scratch(
        weights=np.zeros(blocks * BLOCK),
        sums=np.zeros(blocks),
        column=np.zeros(r),
        row=np.zeros(r + 3),
        nonzero=np.zeros(r, np.int64),
        former=np.zeros(r, np.int64),
        ordered=np.zeros(r, np.int32),
        others=np.full(r + 1, -1, np.int32),
    )


def _white_directions(target: VolumeSampling) -> tuple[Floats, Floats]:
    """Return the whitened columns as unit vectors (zero if they are), and their factors."""
    gram = target.whitening
    if not gram.well_conditioned:  # weights that lie far apart must not cost digits of W A
        norms = np.linalg.norm(target.A, axis=0)
        gram = factorise(target.A, np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0))
    D = np.empty((target.r, target.n), order="F")
    lengths = np.empty(target.n)
    for span, chunk in column_chunks(target.A, None):
        white = gram.W @ chunk
        lengths[span] = np.linalg.norm(white, axis=0)
        D[:, span] = white / np.where(lengths[span] > 0, lengths[span], 1.0)
    return D, lengths if target.scale is None else lengths * target.scale


def _sparse_directions(target: VolumeSampling) -> tuple[sp.csc_array, Floats]:
    """Return columns with largest entry 1, rows being scaled alike; a graph's stay +-1."""
    heights = abs(target.A).max(axis=1).toarray().ravel()
    D = sp.diags_array(1.0 / heights) @ target.A
    widths = abs(D).max(axis=0).toarray().ravel()
    D = sp.csc_array(D @ sp.diags_array(1.0 / np.where(widths > 0, widths, 1.0)))
    return D, widths if target.scale is None else widths * target.scale


@inlined
def entry(directions: Columns, T: Floats, s: int, t: int) -> float:
    """Return T_s . d_t: by this the determinant of directions changes when t replaces s."""
    total = 0.0
    if directions.dense.shape[0] > 0:
        for i in range(T.shape[0]):
            total += T[s, i] * directions.dense[t, i]
    else:
        for e in range(directions.indptr[t], directions.indptr[t + 1]):
            total += T[s, directions.indices[e]] * directions.data[e]
    return total


@inlined
def tableau_column(directions: Columns, T: Floats, t: int, column: Floats) -> None:
    """Set column = T d_t."""
    r = T.shape[0]
    if directions.dense.shape[0] > 0:
        for k in range(r):
            column[k] = entry(directions, T, k, t)
    else:
        for k in range(r):
            column[k] = 0.0
        for e in range(directions.indptr[t], directions.indptr[t + 1]):
            i = directions.indices[e]
            for k in range(r):
                column[k] += T[k, i] * directions.data[e]


@inlined
def tableau_row(items: Items, T: Floats, s: int, unit: float, scratch: Scratch) -> None:
    """Set weights[t] = unit T_s . d_t for all items t."""
    weights, row, nonzero = scratch.weights, scratch.row, scratch.nonzero
    dense, indptr = items.rows.dense, items.rows.indptr
    r = T.shape[0]
    for i in range(r):
        row[i] = T[s, i] * unit
    if dense.shape[0] > 0:
        # Four rows at a time: the result is read and written a quarter as often.
        a, b, c, d = row[0], row[1], row[2], row[3]
        for t in range(weights.shape[0]):
            weights[t] = (a * dense[0, t] + b * dense[1, t]) + (c * dense[2, t] + d * dense[3, t])
        for i in range(4, dense.shape[0], 4):
            a, b, c, d = row[i], row[i + 1], row[i + 2], row[i + 3]
            for t in range(weights.shape[0]):
                weights[t] += (a * dense[i, t] + b * dense[i + 1, t]) + (
                    c * dense[i + 2, t] + d * dense[i + 3, t]
                )
    elif indptr.shape[0] > 0:
        for t in range(weights.shape[0]):
            weights[t] = 0.0
        active = 0
        for i in range(r):  # most are zero in a graph; to find them first avoids branches
            nonzero[active] = i
            active += 1 if row[i] != 0.0 else 0
        for k in range(active):
            i = nonzero[k]
            for e in range(indptr[i], indptr[i + 1]):
                weights[items.rows.indices[e]] += row[i] * items.rows.data[e]
    else:
        for t in range(items.directions.dense.shape[0]):
            weights[t] = unit * entry(items.directions, T, s, t)


@inlined
def length(T: Floats, s: int) -> float:
    """Return |T_s|."""
    total = 0.0
    for i in range(T.shape[0]):
        total += T[s, i] * T[s, i]
    return math.sqrt(total)


@inlined
def pivot(T: Floats, s: int, scratch: Scratch) -> None:
    """Change row s of T to that of the item with ``column`` T d_t, a rank-one change."""
    column, row, nonzero = scratch.column, scratch.row, scratch.nonzero
    r = T.shape[0]
    inverse = 1.0 / column[s]
    for i in range(r):
        row[i] = T[s, i] * inverse
        T[s, i] = row[i]
    column[s] = 0.0
    active = 0
    for k in range(r):
        nonzero[active] = k
        active += 1 if column[k] != 0.0 else 0
    for a in range(active):
        k = nonzero[a]
        for i in range(r):
            T[k, i] -= column[k] * row[i]


@lean
def invert(
    directions: Columns,
    candidates: Integers,
    least: float,
    inside: Integers,
    T: Floats,
    scratch: Scratch,
) -> int:
    """Set T = D_B^{-1} for the first r independent candidates B: Gauss-Jordan elimination.

    Each takes the free place where its pivot is largest; the cosine of one that does not depend on
    those before is above ``least``. Returns how many were found.
    """
    column = scratch.column
    r = T.shape[0]
    for k in range(r):
        inside[k] = -1
        for i in range(r):
            T[k, i] = 1.0 if i == k else 0.0
    placed = 0
    for c in range(candidates.shape[0]):
        tableau_column(directions, T, candidates[c], column)
        best = -1
        for k in range(r):
            if inside[k] < 0 and (best < 0 or abs(column[k]) > abs(column[best])):
                best = k
        if abs(column[best]) > least * length(T, best):
            pivot(T, best, scratch)
            inside[best] = candidates[c]
            placed += 1
            if placed == r:
                break
    return placed


@lean
def refactorise(items: Items, basis: Basis, scratch: Scratch, counts: Integers) -> None:
    """Compute T anew, which may change places; count it, and whether T had drifted."""
    inside, column, former = basis.inside, scratch.column, scratch.former
    r = inside.shape[0]
    drift = 0.0
    for k in range(r):
        former[k] = inside[k]
        tableau_column(items.directions, basis.T, inside[k], column)
        column[k] -= 1.0
        for i in range(r):
            drift = max(drift, abs(column[i]))
    counts[2] += 1
    counts[3] += 0 if drift <= DRIFT else 1
    invert(items.directions, former, 0.0, inside, basis.T, scratch)
    for k in range(r):
        basis.place[inside[k]] = k
    basis.age[0] = 0


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
    volume = abs(entry(items.directions, basis.T, s, t))
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
def heat_bath_weights(
    power: float, items: Items, basis: Basis, s: int, scratch: Scratch
) -> tuple[float, float]:
    """Set weights[t] = P(B - s + t) / P(B) for t outside B, and sums of blocks of them.

    Returns the weight of staying, which is 1, and the sum of all others. For powers other than 1
    and 2 all may be scaled by a common factor, lest they overflow.
    """
    weights, sums, free = scratch.weights, scratch.sums, basis.free
    unit = 1.0 / items.factors[basis.inside[s]]
    tableau_row(items, basis.T, s, unit, scratch)
    stay = 1.0
    total = 0.0
    for b in range(sums.shape[0]):
        part = 0.0
        for t in range(b * BLOCK, b * BLOCK + BLOCK):
            ratio = weights[t] * free[t]
            weights[t] = ratio * ratio if power == 2.0 else abs(ratio)
            part += weights[t]
        sums[b] = part
        total += part
    if power != 1.0 and power != 2.0:
        noise = ZERO * length(basis.T, s) * unit  # would not be small to a low power
        largest = 1.0
        for t in range(weights.shape[0]):
            largest = max(largest, weights[t])
        stay = largest**-power
        total = 0.0
        for b in range(sums.shape[0]):
            sums[b] = 0.0
            for t in range(b * BLOCK, b * BLOCK + BLOCK):
                above = weights[t] > noise * free[t]
                weights[t] = (weights[t] / largest) ** power if above else 0.0
                sums[b] += weights[t]
            total += sums[b]
    return stay, total


@inlined
def pick(level: float, weights: Floats, sums: Floats) -> int:
    """Return the item at which the running sum of weights passes level, without branches."""
    block = 0
    reached = 0.0
    below = 0.0
    for b in range(sums.shape[0]):
        reached += sums[b]
        passed = reached <= level
        block += 1 if passed else 0
        below = reached if passed else below
    first: int = min(block, sums.shape[0] - 1) * BLOCK
    item = first
    for t in range(first, first + BLOCK):
        below += weights[t]
        item += 1 if below <= level else 0
    return min(item, first + BLOCK - 1)


@inlined
def draw_entering(
    rng: np.random.Generator, power: float, items: Items, basis: Basis, s: int, scratch: Scratch
) -> int:
    """Draw t in proportion to P(B - s + t), by proposals or by a row product.

    Proposals that fail say nothing about t, so to give up on them after a while is exact.
    """
    n: int = items.alias.shape[0]
    leaving: int = basis.inside[s]
    size = length(basis.T, s) if n > 0 else 1.0
    for _ in range(n):
        spot = rng.random() * n
        t = min(int(spot), n - 1)
        if spot - t >= items.alias[t, 0]:
            t = int(items.alias[t, 1])
        if basis.free[t] > 0.0 or t == leaving:
            share = abs(entry(items.directions, basis.T, s, t)) / size
            if share > ZERO and rng.random() < raised(share, power):
                return t
    stay, total = heat_bath_weights(power, items, basis, s, scratch)
    level = rng.random() * (stay + total) - stay
    if level >= 0.0:
        entering: int = pick(level, scratch.weights, scratch.sums)
        if scratch.weights[entering] > 0.0:  # rounding may lead past the last
            return entering
    return leaving


@inlined
def enter(items: Items, basis: Basis, s: int, t: int, scratch: Scratch, counts: Integers) -> None:
    """Let item t take place s, unless it depends on the other items of the basis."""
    T, place, column = basis.T, basis.place, scratch.column
    leaving = basis.inside[s]
    tableau_column(items.directions, T, t, column)
    size = length(T, s)
    if abs(column[s]) <= SMALL * size and basis.age[0] > 0:
        counts[4] += 1
        refactorise(items, basis, scratch, counts)
        s = place[leaving]
        size = length(T, s)
        tableau_column(items.directions, T, t, column)
    if abs(column[s]) <= ZERO * size:
        return
    pivot(T, s, scratch)
    reorder(scratch.ordered, scratch.others, leaving, t)
    basis.inside[s] = t
    basis.outside[-1 - place[t]] = leaving
    place[leaving] = place[t]
    place[t] = s
    basis.free[t] = 0.0
    basis.free[leaving] = items.factors[leaving]
    counts[1] += 1
    basis.age[0] += 1
    if basis.age[0] >= REFRESH * T.shape[0]:
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
    """Fill subsets with draws ``thin`` steps apart, tracked with averages over these steps."""
    place, ordered = basis.place, scratch.ordered
    r, sets = ordered.shape[0], starts.shape[0] - 1
    for k in range(subsets.shape[0]):
        for j in range(sets):
            tracked[k, j] = 0.0
        for _ in range(thin):
            if rule == HEAT_BATH:
                s = min(int(rng.random() * r), r - 1)
                t = draw_entering(rng, power, items, basis, s, scratch)
            else:
                s, t = propose(rng, rule, power, items, basis)
            if t >= 0 and place[t] < 0:
                enter(items, basis, s, t, scratch, counts)
            for j in range(sets):
                present = 1.0
                for m in range(starts[j], starts[j + 1]):
                    present = present if place[members[m]] >= 0 else 0.0
                tracked[k, j] += present / thin
        for i in range(r):
            subsets[k, i] = ordered[i]
    counts[0] += subsets.shape[0] * thin
