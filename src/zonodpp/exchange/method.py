"""Walks on the graph of bases: one item s leaves, one item t enters.

All rules leave P(B) proportional to |det A_B|^p prod q_B invariant, for any p > 0. Write each
weighted column as a length l_j times a vector e_j of about unit size, and let T = E_B^{-1}. When t
takes the place of s, |det| is multiplied by |T_s . e_t| l_t / l_s, which costs one dot product, and
T gets a rank-one update.

``barker``
    Algorithm 1 of the paper: stay with probability 1/2, else propose s and t uniformly and accept
    with x / (1 + x), where x is the ratio of probabilities.
``metropolis``
    The same without staying, accepted with min(1, x).
``heat-bath``
    s uniform, t in proportion to (|T_s . e_t| l_t)^p: no rejection. This is the down-up walk
    of the law (Anari, Liu, Oveis Gharan, Vinzant 2021). In small problems all of T E is kept up to
    date. In large ones t is proposed in proportion to l_t^p and accepted with probability
    |cos(T_s, e_t)|^p: for p = 2 this takes about r proposals whatever n is. If A is sparse, one
    sparse product gives row s of T E.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
import scipy.sparse as sp

from zonodpp._arguments import as_items, one_of
from zonodpp._imports import on_use
from zonodpp._types import Floats, Integers, Rng
from zonodpp.chains.bases import ChainOnBases, line_aligned, renew
from zonodpp.chains.columns import even_rows, keep_columns, matrix_of, unit_vectors
from zonodpp.chains.contract import Sampler, State, only_chain
from zonodpp.chains.inverse import inverse_of
from zonodpp.chains.small_pivots import equal_copies, needs_care, refuse_hidden
from zonodpp.chains.tracking import Recording, TrackedSets
from zonodpp.exchange import walk as exchange_walk
from zonodpp.exchange.walk import BasisState, ExchangeChain, ExchangeScratch
from zonodpp.numerics.alias import alias_table
from zonodpp.numerics.arguments import address_of
from zonodpp.numerics.arrays import column_chunks, frozen
from zonodpp.numerics.compiled import VECTOR
from zonodpp.numerics.hidden import hidden_sets
from zonodpp.numerics.scale import LEAST_SCALE, column_factors, plain_coordinates
from zonodpp.numerics.threads import one_thread
from zonodpp.targets.base import Target
from zonodpp.targets.family import VolumeSampling

RULES = ("heat-bath", "metropolis", "barker")  # as HEAT_BATH, METROPOLIS, BARKER of the walk
# Proposals are used if there are more than this many items for each expected proposal; else T E is
# kept up to date. The second number is for powers p other than 1 and 2, each of which takes a call
# for each item.
ITEMS_PER_PROPOSAL, ITEMS_PER_POWER = 10, 2
SMALL_TABLEAU = 1024  # entries of T E that are worth keeping for a sparse A
# The tableau is computed anew after 500,000 / r updates or, if that is more, after 50 r. This takes
# some 0.3 ms in small problems and as long as r updates in large ones: rare enough not to matter.
_UPDATES_TIMES_ITEMS, _UPDATES_PER_ITEM = 500_000, 50
_WIDEST = 600.0  # range of logs whose exponentials floats hold with all digits: 260 orders


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

    def prepare(self, target: Target) -> Sampler:
        """Split the columns into unit vectors and lengths; the target keeps the sampler."""
        found: ExchangeWalk | None = target.prepared.get(self)
        if found is None:
            with one_thread(target.r**2 * target.n):
                on_bases = cast(VolumeSampling, target.on_bases(self.name))
                found = self._on_bases(on_bases, target.n)
            target.prepared[self] = found
        return found

    def _on_bases(self, target: VolumeSampling, items: int) -> ExchangeWalk:
        """Split the weighted columns into vectors e_j and lengths; build what t is drawn from.

        The first columns are the ``items`` that draws are made of.
        """
        r, n, p = target.r, target.n, target.power
        scale, _ = column_factors(target.weights, p, n)
        even = scale is None or bool(scale[scale > 0].min() > LEAST_SCALE)
        sparse = sp.issparse(target.A) and even
        if sparse:  # rows are scaled alike, by powers of two; columns of a graph stay +-1
            E, lengths = unit_vectors(even_rows(target.A, None)[0])
        else:
            E, lengths = _white_vectors(target)
            scale = None if p < 1 else target.coordinates.scale
        lengths = lengths if scale is None else lengths * scale
        lengths = lengths / lengths.max()
        with np.errstate(divide="ignore"):
            log_weight = p * np.log(lengths)
        careful = p < 1 and needs_care(log_weight[lengths > 0], p, exchange_walk.ZERO)
        whole = self.rule == "heat-bath" and _is_small(target, sparse) and not careful
        large = not whole and not sparse and not _is_small(target, sparse)
        proposes = self.rule == "heat-bath" and large
        # Metropolis accepts every exchange of two equally likely items, which would take turns.
        rule = "barker" if self.rule == "metropolis" and n == 2 else self.rule
        multiple = exchange_walk.BLOCK * VECTOR
        columns = keep_columns(E, lengths, by_rows=False, multiple=multiple)
        if careful:
            columns = equal_copies(columns, target.A)
            refuse_hidden(columns, log_weight, p)
        return ExchangeWalk(
            columns=columns,
            elements=n,
            n=items,
            rule=rule,
            power=p,
            alias=frozen(alias_table(lengths**p) if proposes else np.empty((0, 2))),
            whole=whole,
            careful=careful,
            oldest=max(_UPDATES_TIMES_ITEMS // r, _UPDATES_PER_ITEM * r),
        )


@dataclass(frozen=True)
class ExchangeWalk(ChainOnBases):
    """A prepared exchange walk; `ExchangeChain` says what its parts are."""

    rule: str
    power: float
    alias: Floats
    whole: bool
    careful: bool
    oldest: int
    counters: ClassVar[tuple[str, ...]] = exchange_walk.COUNTERS

    def _at(self, basis: Integers, rng: Rng, sets: TrackedSets) -> State:
        """Return the state of a chain at a basis."""
        r, n = self.width, self.elements
        outside = np.setdiff1d(np.arange(n), basis)
        place = np.empty(n, np.int64)
        place[basis] = np.arange(r)
        place[outside] = -1 - np.arange(n - r)
        state = BasisState(basis, outside, place, self._tableau(basis), np.zeros(1, np.int64))
        return {**state._asdict(), "counts": np.zeros(len(self.counters), np.int64)}

    def chain(self, state: State, record: Recording) -> ExchangeChain:
        """Return what compiled steps work on."""
        basis = BasisState(*(state[name] for name in BasisState._fields))
        r, n = self.width, self.columns.lengths.size
        row, weights = line_aligned(8 * 2 * n).view(np.float64).reshape(2, n)
        sums = np.empty(n // exchange_walk.BLOCK)
        ordered, others = np.sort(basis.inside).astype(np.int32), np.empty(r + 1, np.int32)
        scratch = ExchangeScratch(row, weights, sums, np.empty(r), ordered, others)
        progress, counts = np.array([0, 0, 0, -1]), state["counts"]
        settings = self.rule_number, self.power, self.columns, self.alias, self.whole
        walked = basis, scratch, record, progress, counts
        return ExchangeChain(*settings, self.oldest, *walked, self.careful)

    def _walk(self, state: State, rng: Rng, record: Recording) -> int:
        """Walk ``thin`` steps for each draw."""
        chain = self.chain(state, record)
        inside, _, _, tableau, age = chain.basis
        while status := exchange_walk.walk(address_of(rng), chain):
            if status == exchange_walk.HIDDEN:
                raise ArithmeticError(hidden_sets(self.power))
            renew(tableau, age, chain.counts, lambda: self._tableau(inside))
        return len(record.subsets)

    def _tableau(self, inside: Integers) -> Floats:
        """Return T, or all of T E, whose columns of the basis are unit vectors."""
        # A basis that was entered by a pivot that was judged may be as thin as it likes.
        largest = [np.inf] if self.careful else []
        T = inverse_of(self.columns, inside, *largest)
        if not self.whole:
            return T
        tableau: Floats = T @ matrix_of(self.columns)
        tableau[:, inside] = np.eye(len(T))
        return tableau

    @property
    def rule_number(self) -> int:
        """The rule, as kernels know it."""
        return RULES.index(self.rule)

    def on_device(self, checkpointed: bool) -> Sampler:
        """Walk on a GPU."""
        found: Sampler = on_use("zonodpp.exchange.gpu").ExchangeOnDevice(self, checkpointed)
        return found

    def check(self, state: State) -> None:
        """Check that the basis and the places of all items agree."""
        chain, n = only_chain(state), self.elements
        place = chain["place"]
        inside = as_items(chain["inside"], n, "the basis")
        outside = as_items(chain["outside"], n, "the other items")
        fits = np.array_equal(place[inside], np.arange(inside.size))
        if not (fits and np.array_equal(place[outside], -1 - np.arange(outside.size))):
            raise ValueError("the places of the items do not agree with the basis")


def _is_small(target: VolumeSampling, sparse: bool) -> bool:
    """Tell whether keeping T E up to date is faster than proposals, or sparse products."""
    r, n, p = target.r, target.n, target.power
    if sparse:
        return r * n <= SMALL_TABLEAU
    # If the e_t are spread evenly over all directions, 1 / mean(|cos|^p) proposals are expected.
    logs = [math.lgamma(k / 2) for k in (r + p, 1, r, p + 1)]
    expected = math.exp(min(logs[0] + logs[1] - logs[2] - logs[3], 100.0))
    return n < (ITEMS_PER_PROPOSAL if p in (1.0, 2.0) else ITEMS_PER_POWER) * expected


def _white_vectors(target: VolumeSampling) -> tuple[Floats, Floats]:
    """Return the whitened columns as unit vectors, and their lengths; zero columns stay zero.

    Weights q^{1/p} that lie far apart turn a whitened column towards the lightest item that it can
    replace. To replace a heavier item takes a pivot that counts as a rounding error, although
    a power p below one makes it likely. Then the unit vectors are those of columns without weights,
    relative to a heavy basis: in these coordinates entries that are zero or tiny keep their digits,
    and the lengths hold the weights.
    """
    where = target.coordinates
    if target.power < 1:
        plain, logs = plain_coordinates(target.A, target.weights, target.power, where)
        if np.ptp(logs[logs > -np.inf]) > _WIDEST:
            raise ValueError(
                "for these weights q ** (1 / power) spans more than 260 orders of magnitude: an "
                "exchange walk would miss sets; use method='zonotope'"
            )
        E, lengths = unit_vectors(plain)
        return E, lengths * np.exp(logs - logs.max())
    E, lengths = np.empty((target.r, target.n), order="F"), np.empty(target.n)
    for span, chunk in column_chunks(where.matrix, None):
        E[:, span], lengths[span] = unit_vectors(where.gram.W @ chunk)
    return E, lengths
