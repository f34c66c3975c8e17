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
    s uniform, t in proportion to (|T_s . d_t| f_t)^p: no rejection. This is the down-up walk
    of the law (Anari, Liu, Oveis Gharan, Vinzant 2021). In small problems all of T D is kept up to
    date; in large ones t is proposed in proportion to f_t^p and taken with the share
    |cos(T_s, d_t)|^p, for p = 2 about r proposals whatever n is; a sparse A takes one sparse row
    product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Integers, Subsets
from zonodpp.arguments import as_items, one_of
from zonodpp.basis.alias import alias_table
from zonodpp.basis.columns import (
    UnitColumns,
    basis_matrix,
    keep_columns,
    matrix_of,
    unit_vectors,
)
from zonodpp.basis.inverse import has_drifted, independent_items, inverse_of
from zonodpp.linalg.columns import frozen
from zonodpp.linalg.coordinates import LEAST_SCALE, column_factors
from zonodpp.linalg.dense import column_chunks, largest_entries
from zonodpp.samplers import Sampler, Sets, State, remembered_start
from zonodpp.samplers.dilation import chain_on_bases
from zonodpp.samplers.exchange_walk import (
    COUNTERS,
    DRIFTS,
    REFACTORISATIONS,
    ZERO,
    BasisState,
    aligned,
    exchange_scratch,
    walk,
)
from zonodpp.samplers.tracking import SetTracker

if TYPE_CHECKING:
    from zonodpp.targets.family import VolumeSampling
    from zonodpp.targets.target import Target

RULES = ("heat-bath", "metropolis", "barker")  # as HEAT_BATH, METROPOLIS, BARKER of the walk
PROPOSALS = 10  # items for each expected proposal from which on proposals beat keeping T D
POWERS = 2  # the same where powers take a call for each item
SMALL_TABLEAU = 1024  # entries of T D that are worth keeping for a sparse A
# Updates after which the tableau is computed anew: so many that this, which takes some 0.3 ms in
# small problems and as long as r updates in large ones, takes no notable time.
OLDEST, OLDEST_PER_ITEM = 500_000, 50
WIDTH = 16  # items are padded to a multiple of this: four vectors of four numbers


@dataclass(frozen=True)
class Exchange:
    """A Markov chain on bases: one item leaves, one item enters.

    Parameters
    ----------
    rule : {"heat-bath", "metropolis", "barker"}
        How the two items are chosen; "barker" is Algorithm 1 of the paper.

    See Also
    --------
    sample : Where to pass it.
    HitAndRun : A chain that exchanges many items in one step.
    Exact : Independent draws, for power 2.

    References
    ----------
    N. Anari, S. Oveis Gharan, A. Rezaei, "Monte Carlo Markov chain algorithms for sampling strongly
    Rayleigh distributions and determinantal point processes", COLT 2016.

    C. Li, S. Jegelka, S. Sra, "Fast mixing Markov chains for strongly Rayleigh measures, DPPs, and
    constrained sampling", NeurIPS 2016.

    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, algorithm 1 and section 2.5.

    Examples
    --------
    >>> from zonodpp import Exchange, VolumeSampling, sample
    >>> target = VolumeSampling([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> sample(target, 100, method=Exchange(rule="barker"), rng=0).method
    'exchange'
    """

    rule: str = "heat-bath"
    name: ClassVar[str] = "exchange"

    def __post_init__(self) -> None:
        one_of(self.rule, "rule", RULES)

    def suits(self, target: Target) -> bool:
        """Return True: a chain on bases exists for every target that names this method."""
        return True

    def prepare(self, target: Target, track: Sets = None) -> Sampler:
        """Split the columns into directions and lengths, and build what items are drawn from."""
        return chain_on_bases(target, self.name, self, track, self._on_bases)

    def _on_bases(self, target: VolumeSampling) -> ExchangeWalk:
        """Split the weighted columns into directions and factors; build what t is drawn from."""
        r, n, p = target.r, target.n, target.power
        scale, _ = column_factors(target.weights, p)
        sparse = sp.issparse(target.A) and (scale is None or scale[scale > 0].min() > LEAST_SCALE)
        D, factors = _sparse_directions(target.A, scale) if sparse else _white_directions(target)
        factors = factors / factors.max()
        whole = self.rule == "heat-bath" and _is_small(target, sparse)
        proposes = self.rule == "heat-bath" and not whole and not sparse
        return ExchangeWalk(
            rule=self.rule,
            power=p,
            n=n,
            r=r,
            columns=keep_columns(D, factors, by_rows=False, multiple=WIDTH),
            alias=frozen(alias_table(factors**p) if proposes else np.empty((0, 2))),
            whole=whole,
            oldest=max(OLDEST // r, OLDEST_PER_ITEM * r),
            tracker=SetTracker.of(None, n),
        )


@dataclass(frozen=True)
class ExchangeWalk:
    """A prepared exchange walk."""

    rule: str
    power: float
    n: int
    r: int
    columns: UnitColumns
    alias: Floats  # (n, 2) the table from which items are proposed, or (0, 2)
    whole: bool  # whether the tableau is all of T D, not T alone
    oldest: int  # updates after which the tableau is computed anew
    tracker: SetTracker
    starts: dict[int, State] = field(default_factory=dict)  # those that were made so far
    counters: tuple[str, ...] = COUNTERS
    independent: bool = False

    @property
    def width(self) -> int:
        """The number of items of every draw."""
        return self.r

    def start(self, rng: np.random.Generator, init: ArrayLike | None) -> State:
        """Start in the given basis, or in a random one."""
        if init is None:
            state = remembered_start(
                self.starts, rng, lambda own: self._at(self._initial_basis(own))
            )
        else:
            state = self._at(self._given_basis(init))
        tableau = aligned(state["tableau"].shape)
        tableau[:] = state["tableau"]
        return {**state, "tableau": tableau}

    def _at(self, inside: Integers) -> State:
        """Return the state of a chain at a basis."""
        outside = np.setdiff1d(np.arange(self.n), inside)
        place = np.empty(self.n, np.int64)
        place[inside] = np.arange(self.r)
        place[outside] = -1 - np.arange(self.n - self.r)
        basis = BasisState(inside, outside, place, self._tableau(inside), np.zeros(1, np.int64))
        return {**basis._asdict(), "counts": np.zeros(len(self.counters), np.int64)}

    def advance(
        self, state: State, rng: np.random.Generator, subsets: Subsets, tracked: Floats, thin: int
    ) -> None:
        """Walk ``thin`` steps for each of len(subsets) draws."""
        basis = BasisState(*(state[name] for name in BasisState._fields))
        scratch = exchange_scratch(self.r, self.columns.lengths.size)
        scratch.ordered[:] = np.sort(basis.inside)
        progress = np.array([0, 0, 0, -1])
        while not walk(
            rng,
            RULES.index(self.rule),
            self.power,
            self.columns,
            self.alias,
            self.whole,
            self.oldest,
            basis,
            scratch,
            self.tracker.starts,
            self.tracker.items,
            subsets,
            tracked,
            thin,
            progress,
            state["counts"],
        ):
            self._renew(state)

    def _renew(self, state: State) -> None:
        """Compute the tableau anew from the basis, and count whether it had drifted."""
        counts = state["counts"]
        counts[REFACTORISATIONS] += 1
        state["age"][0] = 0
        try:
            tableau = self._tableau(state["inside"])
        except ArithmeticError:
            counts[DRIFTS] += 1
            return
        counts[DRIFTS] += has_drifted(state["tableau"], tableau)
        state["tableau"][:] = tableau

    def _tableau(self, inside: Integers) -> Floats:
        """Return T, or all of T D, whose columns of the basis are unit vectors."""
        T = inverse_of(self.columns, inside)
        if not self.whole:
            return T
        tableau: Floats = T @ matrix_of(self.columns)
        tableau[:, inside] = np.eye(self.r)
        return tableau

    def check(self, state: State) -> None:
        """Check that the basis and the places of all items agree."""
        inside = as_items(state["inside"], self.n, "the basis")
        outside = as_items(state["outside"], self.n, "the other items")
        place = state["place"]
        fits = np.array_equal(place[inside], np.arange(self.r))
        if not (fits and np.array_equal(place[outside], -1 - np.arange(self.n - self.r))):
            raise ValueError("the places of the items do not agree with the basis")

    def _given_basis(self, init: ArrayLike) -> Integers:
        """Check that init holds r items of positive weight with independent columns."""
        hint = "pass a basis, such as a row of earlier subsets, or leave init out"
        given = as_items(init, self.n, "init")
        if given.shape != (self.r,):
            raise ValueError(f"init must hold r = {self.r} items, got shape {given.shape}; {hint}")
        never = given[self.columns.lengths[given] == 0].tolist()
        if never:
            raise ValueError(f"init holds items {never}, whose weight or column is zero; {hint}")
        rank = np.linalg.matrix_rank(basis_matrix(self.columns, given), tol=ZERO)
        if rank < self.r:
            raise ValueError(
                f"init = {given.tolist()} is not a basis: its {self.r} columns have rank {rank}; "
                + hint
            )
        return given

    def _initial_basis(self, rng: np.random.Generator) -> Integers:
        """Choose independent items among the first of a random order, heavy items first."""
        factors = self.columns.lengths[: self.n]
        usable = np.flatnonzero(factors)
        keys = self.power * np.log(factors[usable]) + rng.gumbel(size=usable.size)
        order = usable[np.argsort(-keys)]
        return independent_items(self.columns, order)


def _is_small(target: VolumeSampling, sparse: bool) -> bool:
    """Tell whether to keep all of T D is faster than row products of a sparse A, or proposals."""
    r, n, p = target.r, target.n, target.power
    if sparse:
        return r * n <= SMALL_TABLEAU
    # Were directions spread evenly, 1 / E|cos|^p proposals would be expected.
    logs = [math.lgamma(k / 2) for k in (r + p, 1, r, p + 1)]
    expected = math.exp(min(logs[0] + logs[1] - logs[2] - logs[3], 100.0))
    return n < (PROPOSALS if p in (1.0, 2.0) else POWERS) * expected


def _white_directions(target: VolumeSampling) -> tuple[Floats, Floats]:
    """Return the whitened columns as unit vectors (zero if they are), and their factors."""
    W, where = target.whitening.W, target.coordinates
    D = np.empty((target.r, target.n), order="F")
    lengths = np.empty(target.n)
    for span, chunk in column_chunks(where.matrix, None):
        D[:, span], lengths[span] = unit_vectors(W @ chunk)
    return D, lengths if where.scale is None else lengths * where.scale


def _sparse_directions(A: sp.sparray, scale: Floats | None) -> tuple[sp.csc_array, Floats]:
    """Return columns with largest entry 1, rows being scaled alike; a graph's stay +-1."""
    heights = np.frexp(largest_entries(A, axis=1))[1]
    D = sp.csc_array(A, copy=True)
    D.data = np.ldexp(D.data, -heights[D.indices])
    D, widths = unit_vectors(D)
    return D, widths if scale is None else widths * scale
