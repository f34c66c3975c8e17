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
    walk (Anari, Liu, Oveis Gharan, Vinzant 2021). In small problems all of T D is kept up to date;
    in large ones t is proposed in proportion to f_t^p and taken with the share |cos(T_s, d_t)|^p,
    for p = 2 about r proposals whatever n is; a sparse A takes one sparse row product.
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
REFRESH = 20  # changes of T for each of its rows until it is computed anew, which takes one each
DRIFT = 1e-9  # what that may change, relative to the largest entry, without counting as drift
ZERO = 1e-12  # pivots, relative to their column, that are taken for rounding noise
SMALL = 1e-8  # ... and those before which T is computed anew
PROPOSALS = 10  # items for each expected proposal from which on proposals beat keeping T D
POWERS = 2  # the same where powers take a call for each item
SMALL_GRAPH = 1024  # entries of T D that are worth keeping for a sparse A
BLOCK = 4  # weights summed together
WIDTH = 16  # items are filled up to a multiple of this, which is what loops take at once


class Items(NamedTuple):
    """The items: weighted column j of A is ``factors[j]`` times direction j.

    ``frame`` has all directions, if T D is kept; ``rows`` the rows of sparse directions, laid out
    like columns; ``alias`` the table from which items are proposed. What the walk does not need is
    empty.
    """

    directions: Columns
    rows: Columns
    factors: Floats
    alias: Floats
    frame: Floats


class Basis(NamedTuple):
    """A basis, changed in place.

    Item ``inside[k]`` has ``place`` k and row k of the tableau; ``outside[k]`` has place -1 - k.
    The tableau is T, or all of T D if the items have a frame.
    """

    inside: Integers
    outside: Integers
    place: Integers
    tableau: Floats
    age: Integers  # (1,) rank-one changes since the tableau was computed from the basis


class Scratch(NamedTuple):
    """Room for rows, columns and sums, so that kernels allocate nothing."""

    weights: Floats  # (n filled up,)
    sums: Floats  # (blocks,) running
    matrix: Floats  # like the tableau
    row: Floats  # like a row of it
    column: Floats  # (r,)
    nonzero: Integers  # (r,)
    owner: Integers  # (r,)
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
        tableau = T
        if self.items.frame.size:
            tableau = aligned(self.items.frame.shape)
            np.matmul(T, self.items.frame, out=tableau)
            tableau[:, inside] = np.eye(self.r)
        basis = Basis(inside, outside, place, tableau, np.zeros(1, np.int64))
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
        scratch = scratch_for(self.items)
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
        plain = self.items._replace(frame=frozen(np.empty((self.r, 0))))
        scratch = scratch_for(plain)
        placed = invert(plain, candidates, least, scratch)
        return scratch.owner, scratch.matrix, placed


def prepare(target: VolumeSampling, track: Any = None, *, rule: str | None = None) -> Exchange:
    """Split the weighted columns into directions and factors; build what t is drawn from."""
    rule = one_of("heat-bath" if rule is None else rule, "rule", RULES)
    r, n, p = target.r, target.n, target.power
    sparse = sp.issparse(target.A)
    D, factors = _sparse_directions(target) if sparse else _white_directions(target)
    factors = factors / factors.max()
    filled = -(-n // WIDTH) * WIDTH
    frame, rows, alias = np.empty((r, 0)), np.empty((0, 0)), np.empty((0, 2))
    if rule == "heat-bath" and _is_small(target):
        frame = np.zeros((r, filled))
        frame[:, :n] = D.toarray() if sparse else D  # type: ignore[union-attr]
    elif rule == "heat-bath" and sparse:
        rows = D.T
    elif rule == "heat-bath":
        alias = alias_table(factors**p)
    items = Items(
        directions=columns_of(D),
        rows=columns_of(rows),
        factors=frozen(np.pad(factors, (0, filled - n))),
        alias=frozen(alias),
        frame=frozen(frame),
    )
    return Exchange(rule, p, n, r, items, SetTracker.of(track, n))


def _is_small(target: VolumeSampling) -> bool:
    """Tell whether to keep all of T D is faster than row products of a sparse A, or proposals."""
    r, n, p = target.r, target.n, target.power
    if sp.issparse(target.A):
        return r * n <= SMALL_GRAPH
    # Were directions spread evenly, 1 / E|cos|^p proposals would be expected.
    logs = [math.lgamma(k / 2) for k in (r + p, 1, r, p + 1)]
    expected = math.exp(min(logs[0] + logs[1] - logs[2] - logs[3], 100.0))
    return n < (PROPOSALS if p in (1.0, 2.0) else POWERS) * expected


def aligned(shape: tuple[int, ...]) -> Floats:
    """Allocate an array that begins with a cache line: rank-one changes are faster by a third."""
    size = math.prod(shape)
    room = np.empty(size + 7)
    first = -room.ctypes.data // 8 % 8
    return room[first : first + size].reshape(shape)


def scratch_for(items: Items) -> Scratch:
    """Allocate scratch."""
    r, filled = items.frame.shape[0], items.factors.shape[0]
    width = items.frame.shape[1] or r
    return Scratch(
        weights=np.zeros(filled),
        sums=np.zeros(filled // BLOCK),
        matrix=np.empty((r, width)),
        row=aligned((width,)),
        column=np.empty(r),
        nonzero=np.empty(r, np.int64),
        owner=np.empty(r, np.int64),
        ordered=np.empty(r, np.int32),
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
def entry(items: Items, tableau: Floats, s: int, t: int) -> float:
    """Return T_s . d_t: by this the determinant of directions changes when t replaces s."""
    directions = items.directions
    total = 0.0
    if items.frame.shape[1] > 0:
        total = tableau[s, t]
    elif directions.dense.shape[0] > 0:
        for i in range(tableau.shape[0]):
            total += tableau[s, i] * directions.dense[t, i]
    else:
        for e in range(directions.indptr[t], directions.indptr[t + 1]):
            total += tableau[s, directions.indices[e]] * directions.data[e]
    return total


@inlined
def tableau_column(items: Items, tableau: Floats, t: int, column: Floats) -> None:
    """Set column = T d_t."""
    directions = items.directions
    r = tableau.shape[0]
    if items.frame.shape[1] > 0:
        for k in range(r):
            column[k] = tableau[k, t]
    elif directions.dense.shape[0] > 0:
        for k in range(r):
            column[k] = entry(items, tableau, k, t)
    else:
        for k in range(r):
            column[k] = 0.0
        for e in range(directions.indptr[t], directions.indptr[t + 1]):
            i = directions.indices[e]
            for k in range(r):
                column[k] += tableau[k, i] * directions.data[e]


@inlined
def weighted_row(items: Items, tableau: Floats, s: int, scratch: Scratch) -> None:
    """Set weights[t] = T_s . d_t f_t for all items t."""
    rows, factors, weights, nonzero = items.rows, items.factors, scratch.weights, scratch.nonzero
    if items.frame.shape[1] > 0:
        for t in range(weights.shape[0]):
            weights[t] = tableau[s, t] * factors[t]
    elif rows.indptr.shape[0] > 0:
        for t in range(weights.shape[0]):
            weights[t] = 0.0
        active = 0
        for i in range(tableau.shape[0]):  # few in a graph; to find them first saves branches
            nonzero[active] = i
            active += 1 if tableau[s, i] != 0.0 else 0
        for a in range(active):
            i = nonzero[a]
            for e in range(rows.indptr[i], rows.indptr[i + 1]):
                weights[rows.indices[e]] += tableau[s, i] * rows.data[e]
        for t in range(weights.shape[0]):
            weights[t] *= factors[t]
    else:
        for t in range(items.directions.dense.shape[0]):
            weights[t] = entry(items, tableau, s, t) * factors[t]


@inlined
def length(tableau: Floats, s: int) -> float:
    """Return the length of row s."""
    total = 0.0
    for i in range(tableau.shape[1]):
        total += tableau[s, i] * tableau[s, i]
    return math.sqrt(total)


@inlined
def share_of(column: Floats, s: int) -> float:
    """Return the share that entry s has in the squared length of the column."""
    total = 0.0
    for k in range(column.shape[0]):
        total += column[k] * column[k]
    return column[s] * column[s] / total if total > 0.0 else 0.0


@inlined
def pivot(items: Items, tableau: Floats, s: int, t: int, scratch: Scratch) -> None:
    """Let item t take place s, where ``column`` is T d_t: a rank-one change."""
    column, row, nonzero = scratch.column, scratch.row, scratch.nonzero
    r = column.shape[0]
    inverse = 1.0 / column[s]
    for i in range(row.shape[0]):
        row[i] = tableau[s, i] * inverse
    if items.frame.shape[1] > 0:
        row[t] = 1.0
    column[s] = 0.0
    active = 0
    for k in range(r):
        nonzero[active] = k
        active += 1 if column[k] != 0.0 else 0
    if active < r - 1:  # a graph: to find the few first saves branches
        for a in range(active):
            k = nonzero[a]
            factor = column[k]
            for i in range(row.shape[0]):
                tableau[k, i] -= factor * row[i]
    else:
        for k in range(r):
            factor = column[k]
            if k != s:
                for i in range(row.shape[0]):
                    tableau[k, i] -= factor * row[i]
    for i in range(row.shape[0]):
        tableau[s, i] = row[i]


@lean
def invert(items: Items, candidates: Integers, least: float, scratch: Scratch) -> int:
    """Set matrix to the tableau of the first r independent candidates: Gauss-Jordan elimination.

    Each takes the free row where its pivot is largest; ``owner`` says who has which. A candidate
    whose pivot is below ``least``, relative to its column, depends on those before. Returns how
    many were found.
    """
    matrix, owner, column = scratch.matrix, scratch.owner, scratch.column
    r = owner.shape[0]
    for k in range(r):
        owner[k] = -1
        for i in range(matrix.shape[1]):
            if items.frame.shape[1] > 0:
                matrix[k, i] = items.frame[k, i]
            else:
                matrix[k, i] = 1.0 if i == k else 0.0
    placed = 0
    for c in range(candidates.shape[0]):
        tableau_column(items, matrix, candidates[c], column)
        best = -1
        for k in range(r):
            if owner[k] < 0 and (best < 0 or abs(column[k]) > abs(column[best])):
                best = k
        if share_of(column, best) > least * least:
            pivot(items, matrix, best, candidates[c], scratch)
            owner[best] = candidates[c]
            placed += 1
            if placed == r:
                break
    return placed


@lean
def refactorise(items: Items, basis: Basis, scratch: Scratch, counts: Integers) -> None:
    """Compute the tableau anew; count it, and whether it had drifted."""
    tableau, matrix = basis.tableau, scratch.matrix
    counts[2] += 1
    basis.age[0] = 0
    if invert(items, basis.inside, 0.0, scratch) < basis.inside.shape[0]:
        counts[3] += 1
        return
    drift = 0.0
    largest = 0.0
    for i in range(tableau.shape[0]):
        k = basis.place[scratch.owner[i]]
        for j in range(tableau.shape[1]):
            drift = max(drift, abs(matrix[i, j] - tableau[k, j]))
            largest = max(largest, abs(matrix[i, j]))
            tableau[k, j] = matrix[i, j]
    counts[3] += 0 if drift <= DRIFT * largest else 1


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
    weighted_row(items, basis.tableau, s, scratch)
    if items.frame.shape[1] == 0:  # they are zero, but for rounding
        for k in range(inside.shape[0]):
            weights[inside[k]] = factors[inside[k]] if k == s else 0.0
    if power != 1.0 and power != 2.0:
        largest = 0.0  # becomes 1, lest powers overflow
        for t in range(n):
            largest = max(largest, abs(weights[t]))
        noise = ZERO * length(basis.tableau, s)  # would not be small to a low power
        for t in range(n):
            above = abs(weights[t]) > noise * factors[t]
            weights[t] = (abs(weights[t]) / largest) ** power if above else 0.0
    total = 0.0
    for b in range(sums.shape[0]):
        part = 0.0
        for t in range(b * BLOCK, b * BLOCK + BLOCK):
            weights[t] = weights[t] * weights[t] if power == 2.0 else abs(weights[t])
            part += weights[t]
        total += part
        sums[b] = total
    return total


@inlined
def pick(level: float, weights: Floats, sums: Floats) -> int:
    """Return the item at which the running sum of weights passes level, without branches."""
    block = 0
    for b in range(sums.shape[0] - 1):
        block += 1 if sums[b] <= level else 0
    first: int = block * BLOCK
    reached = sums[block - 1] if block > 0 else 0.0
    item = first
    for t in range(first, first + BLOCK - 1):
        reached += weights[t]
        item += 1 if reached <= level else 0
    return item


@inlined
def draw_entering(
    rng: np.random.Generator, power: float, items: Items, basis: Basis, s: int, scratch: Scratch
) -> int:
    """Draw t in proportion to P(B - s + t), t = s too, by proposals or from the weights of all.

    Proposals that fail say nothing about t, so to give up on them after a while is exact.
    """
    tableau, place = basis.tableau, basis.place
    n: int = items.alias.shape[0]
    size = length(tableau, s) if n > 0 else 1.0
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
    entering: int = pick(rng.random() * total, scratch.weights, scratch.sums)
    if scratch.weights[entering] > 0.0:
        return entering
    return int(basis.inside[s])  # rounding led past the last item that has weight


@inlined
def enter(items: Items, basis: Basis, s: int, t: int, scratch: Scratch, counts: Integers) -> None:
    """Let item t take place s, unless it depends on the other items of the basis."""
    tableau, place, column = basis.tableau, basis.place, scratch.column
    leaving = basis.inside[s]
    tableau_column(items, tableau, t, column)
    share = share_of(column, s)
    if share <= SMALL * SMALL and basis.age[0] > 0:
        counts[4] += 1
        refactorise(items, basis, scratch, counts)
        tableau_column(items, tableau, t, column)
        share = share_of(column, s)
    if share <= ZERO * ZERO:
        return
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
                tracked[k, j] += present
        for j in range(sets):
            tracked[k, j] /= thin
        for i in range(r):
            subsets[k, i] = ordered[i]
    counts[0] += subsets.shape[0] * thin
