"""`shortlist`: a few items that are relevant and differ from each other."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import (
    as_column,
    as_count,
    as_labels,
    as_matrix,
    as_reals,
    one_of,
    spawn,
    table_labels,
)
from zonodpp._imports import on_use
from zonodpp._types import Floats, Integers, ItemsLike, Matrix, MatrixLike, SeedLike
from zonodpp.apps.shortlists.candidates import Candidates
from zonodpp.apps.shortlists.limits import Limits
from zonodpp.apps.shortlists.search import ROUNDING, diversify, extended, most_relevant

# The search looks at the _TIMES_K * k most relevant items at least. Where the level asked for is a
# distance d below the top, it also looks at all items down to _REACH * d below the level, because
# more relevant items can make up for them. Wider pools found no better lists on the collections of
# benchmarks/bench_shortlists.py.
_TIMES_K = 3
_REACH = 2.0


@dataclass(frozen=True)
class Shortlist:
    """The items picked, the most relevant first, or in the order of picks.

    Attributes
    ----------
    indices : (k,) array of int
        Numbers of the items.
    relevance : (k,) array
        Relevance of these items.
    labels : list
        Labels of these items; their indices if no labels were given.
    given_up : float
        The share of the relevance above average that the list gives up, from 0 to 1.
    log_prob : float or None
        Log probability of a draw.

    See Also
    --------
    shortlist : The function that makes it.

    Examples
    --------
    >>> from zonodpp.apps import shortlist
    >>> rows = [[1, 0], [1, 0.1], [0, 1]]
    >>> found = shortlist([3, 2, 1], rows, 2, diversity=1, labels=["a", "b", "c"])
    >>> found.labels, len(found)
    (['a', 'c'], 2)
    """

    indices: Integers
    relevance: Floats
    labels: list[Hashable]
    given_up: float
    log_prob: float | None = None
    _items: Candidates = field(kw_only=True, repr=False)

    @cached_property
    def similarity(self) -> Floats:
        """How alike the items are, (k, k)."""
        return self._items.similarity(self._items.rows)

    @property
    def diversity(self) -> float:
        """One minus the mean similarity of two of the items."""
        alike = self.similarity[np.triu_indices(len(self), 1)]
        return 1.0 - float(alike.mean()) if alike.size else 1.0

    @property
    def nearest(self) -> float:
        """One minus the similarity of the two items that are most alike."""
        alike = self.similarity[np.triu_indices(len(self), 1)]
        return 1.0 - float(alike.max()) if alike.size else 1.0

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())

    def __str__(self) -> str:
        width = len(str(len(self)))
        pairs = zip(self.labels, self.relevance.tolist(), strict=True)
        return "\n".join(
            f"{place:>{width}}. {' '.join(str(label).splitlines())}  ({relevance:.4g})"
            for place, (label, relevance) in enumerate(pairs, 1)
        )

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.labels[:10])) + (", ..." if len(self) > 10 else "")
        mean = float((self.relevance / len(self)).sum())  # the plain sum may overflow
        means = f"mean relevance {mean:.4g}, diversity {self.diversity:.3f}"
        return f"Shortlist({len(self)} items: {shown}; {means})"


def shortlist(
    relevance: ArrayLike,
    features: MatrixLike,
    k: int | None = None,
    *,
    diversity: float = 0.1,
    duplicates: float | None = 0.97,
    answer: str = "best",
    order: str = "relevance",
    include: ItemsLike = (),
    exclude: ItemsLike = (),
    given: ItemsLike = (),
    window: int | None = None,
    costs: ArrayLike | None = None,
    budget: float | None = None,
    groups: Sequence[Hashable] | None = None,
    at_least: Mapping[Hashable, int] | None = None,
    at_most: Mapping[Hashable, int] | int | None = None,
    labels: Sequence[Hashable] | None = None,
    n_draws: int = 1,
    rng: SeedLike = None,
) -> Shortlist | list[Shortlist]:
    """Pick k items that are relevant and differ from each other.

    Parameters
    ----------
    relevance : (n,) or (B, n) array_like
        How good each item is: any scores, higher is better.
    features : (n, d) array_like, DataFrame or scipy.sparse matrix, or (B, n, d) array
        One row for each item: the similarity of two items is the cosine of their rows. For a dense
        array of fewer than k columns it is ``exp(-distance / spread)`` instead. Relevance (B, n)
        gives B shortlists, with features of their own or with features (n, d) that they share; all
        other arguments hold for each of them. Without any rows the list is empty.
    k : int, optional
        How many items; may be left out with a budget.
    diversity : float from 0 to 1, default 0.1
        The share of relevance that may be given up. At 0 the list is as relevant as the k most
        relevant items are; at 1 it may be as little relevant as items picked at random are, and
        its items differ as much as the search can achieve. Only differences of relevance count, and
        only relative to their range, so that a value means the same for all data.
    duplicates : float or None, default 0.97
        Two items of this similarity or more are never picked together. None: no such limit.
    answer : {"best", "draw"}
        "best": the most diverse list that a search finds, always the same. "draw": a random list,
        for exploration, from the k-DPP whose expected relevance is what ``diversity`` asks for.
    order : {"relevance", "picked"}
        "relevance": the most relevant item first. "picked": in the order in which `zonodpp.pick`
        would take these items, so that the beginning is a good shorter list.
    include, exclude : list of items
        Items that must be picked, and items that must not; by number, from 0, or by label.
    given : list of items
        Items shown before, the last one at the end: they are not picked, nor are near-duplicates
        of them, and the list differs from them as its items do from each other.
    window : int, optional
        Only so many of the items given, the last ones, repel; none of them is picked.
    costs, budget : (n,) array_like and float, optional
        The costs of the items picked (tokens, say) add up to at most ``budget``.
    groups : (n,) sequence, optional
        The group that each item belongs to.
    at_least, at_most : dict from group to int, optional
        Quotas of groups; ``at_most`` may be one number for every group.
    labels : sequence, optional
        Names of all n items; by default those of a DataFrame's rows.
    n_draws : int, default 1
        With ``answer="draw"``: number of draws, of which the most probable one is kept.
    rng : seed or Generator, optional
        For draws.

    Returns
    -------
    Shortlist, or list of Shortlist for a batch
        With fewer than k items where near-duplicates or the limits leave no more.

    Raises
    ------
    ValueError
        When no list keeps to the limits, or when limits or items given are combined with
        ``answer="draw"``.

    See Also
    --------
    near_duplicates : Whether a diverse list can help at all.
    zonodpp.pick : The best subset by determinants, coverage or distance, in order.
    diverse_rows : Rows of a table, without relevance.
    zonodpp.KDPP : The law of a draw.

    References
    ----------
    A. Kulesza, B. Taskar, "k-DPPs: fixed-size determinantal point processes", ICML 2011.

    Examples
    --------
    >>> from zonodpp.apps import shortlist
    >>> from zonodpp.datasets import foods
    >>> table = foods()
    >>> protein, others = table.values[:, 0], table.values[:, 1:]
    >>> found = shortlist(protein, others, 3, labels=table.names, exclude=[0])
    >>> len(found), 0 <= found.given_up <= 0.1
    (3, True)
    """
    if getattr(features, "ndim", 2) == 3 or _has_rows(relevance):
        return _batch(**locals())  # the arguments: nothing else has a name yet

    if _is_empty(features):
        as_column(relevance, 0, "relevance")
        return _none()
    rows = as_rows(features)
    n = rows.shape[0]
    labels = table_labels(features, "index") if labels is None else as_labels(labels, n, "labels")
    scores = as_column(relevance, n, "relevance")
    share = _as_diversity(diversity)
    one_of(answer, "answer", ("best", "draw"))
    one_of(order, "order", ("relevance", "picked"))
    ranked, fixed, shown = _in_order(scores, include, exclude, given, labels)
    k = _as_length(k, budget, fixed, len(ranked), n)
    if len(shown):
        if answer == "draw":
            raise ValueError("given needs answer='best'; draws leave items out by exclude")
        shown = shown if window is None else shown[-as_count(window, "window", 1) :]
        around = Candidates.of(rows, ranked, scores[ranked], k, duplicates, shown)
        ranked = ranked[~around.near_shown() | (np.arange(len(ranked)) < fixed)]
        if not len(ranked):
            return _none()
    limits = Limits.of(ranked, n, costs, budget, groups, at_least or {}, at_most)
    if limits is not None and answer == "draw":
        raise ValueError("costs and groups need answer='best': draws cannot keep to them")

    ordered = _on_one_scale(scores[ranked])
    mean = float(ordered.sum()) / len(ranked)
    size, most = len(ranked), k
    if answer == "best" and (limits is None or limits.budget == np.inf):
        size, most = _pool(ordered, mean, k, fixed, share, limits)
    for count in sorted({size, len(ranked)}):  # all items, where near-duplicates leave too few
        items = Candidates.of(rows, ranked[:count], ordered[:count], k, duplicates, shown)
        allowed = None if limits is None else limits.of_first(count)
        chosen = most_relevant(items, k, fixed, allowed)
        if len(chosen) == most:
            break
    top = float(items.relevance[chosen].sum())
    largest = float(items.relevance[chosen[fixed:]].max(initial=0.0))
    lift = max(0.0, top - float(items.relevance[:fixed].sum()) - (len(chosen) - fixed) * mean)
    log_prob = None
    if answer == "best":
        chosen = diversify(items, chosen, fixed, share * lift, allowed)
        kept = float(items.relevance[chosen].sum())
        if allowed is not None and len(chosen) < k:  # exchanges may have left room in the budget
            chosen = extended(items, chosen, k, allowed)
    else:
        draws = on_use("zonodpp.apps.shortlists.draws")  # compiles; `best` does not
        level = top - share * lift
        chosen, log_prob = draws.draw(items, len(chosen), fixed, level, n_draws, rng)
        kept = float(items.relevance[chosen].sum())

    chosen = chosen[np.lexsort((chosen, -scores[ranked[chosen]]))]
    if order == "picked":
        chosen = on_use("zonodpp.apps.shortlists.order").in_picked_order(items, chosen)
    return Shortlist(
        ranked[chosen],
        scores[ranked[chosen]],
        [i if labels is None else labels[i] for i in ranked[chosen].tolist()],
        _share_of(top - kept, lift, ROUNDING * largest),
        log_prob,
        _items=items.take(chosen),
    )


def _has_rows(relevance: ArrayLike) -> bool:
    """Tell whether relevance has two dimensions, one row for each list of a batch."""
    if isinstance(relevance, list | tuple):
        return bool(relevance) and isinstance(relevance[0], list | tuple | np.ndarray)
    return getattr(relevance, "ndim", 1) == 2


def _is_empty(features: MatrixLike) -> bool:
    if isinstance(features, list | tuple):
        return not features
    return 0 in getattr(features, "shape", ())[:1]


def _none() -> Shortlist:
    """Return a list without items."""
    items = Candidates(np.zeros(0), np.zeros((0, 0)), None, -1.0)
    return Shortlist(np.zeros(0, dtype=np.int64), np.zeros(0), [], 0.0, _items=items)


def _batch(
    relevance: ArrayLike, features: MatrixLike, rng: SeedLike, **shared: Any
) -> list[Shortlist]:
    """Return the shortlists of a batch, whose lists share all other arguments."""
    wanted = (None, None, None)
    if getattr(features, "ndim", 2) == 3:
        matrices = as_reals(features, "features of a batch", wanted, "shape (B, n, d)", dtype=None)
        shape: tuple[int | None, int] = matrices.shape[:2]
    else:
        rows = as_rows(features)
        if shared["labels"] is None:
            shared["labels"] = table_labels(features, "index")
        matrices, shape = None, (None, rows.shape[0])
    expected = f"one row of scores for each list, {shape}"
    scores = as_reals(relevance, "relevance of a batch", shape, expected)
    draws = shared["answer"] == "draw"  # the best list needs no generator
    generators = spawn(rng, len(scores), purpose="shortlists") if draws else itertools.repeat(None)
    each = itertools.repeat(rows) if matrices is None else matrices
    batch = zip(scores, each, generators, strict=False)
    found = [shortlist(own, rows, rng=generator, **shared) for own, rows, generator in batch]
    return [one for one in found if isinstance(one, Shortlist)]


def _on_one_scale(relevance: Floats) -> Floats:
    """Return relevance from zero to between one half and one: only differences count."""
    lowest = relevance.min()
    with np.errstate(over="ignore"):
        above = relevance - lowest
    if above.max() == np.inf:
        above = relevance / 2 - lowest / 2
    return np.asarray(np.ldexp(above, -int(np.frexp(above.max())[1])))


def _share_of(lost: float, lift: float, rounding: float) -> float:
    """Return which share of the lift was lost; of differences that are rounding errors, zero."""
    return min(lost / lift, 1.0) if lost > rounding and lift > 0.0 else 0.0


def _pool(
    ordered: Floats, mean: float, k: int, fixed: int, share: float, limits: Limits | None
) -> tuple[int, int]:
    """Return how many of the items in order are candidates, and the length of the list at most."""
    if limits is None:
        chosen, least = np.arange(min(k, len(ordered))), fixed + _TIMES_K * k
    else:
        chosen = limits.by_quotas(fixed, k)
        least = limits.reach(chosen, _TIMES_K)
    top = float(ordered[chosen[fixed:]].sum()) / max(1, k - fixed)
    level = top - (1.0 + _REACH) * share * (top - mean)
    rest = ordered[fixed:]
    within = len(rest) - int(rest[::-1].searchsorted(level))
    return min(len(ordered), max(least, fixed + within)), len(chosen)


def as_rows(features: MatrixLike) -> Matrix:
    """Return features as a matrix; single precision stays as it is."""
    array = features if type(features) is np.ndarray else None
    if array is not None and array.ndim == 2 and array.size and array.dtype == np.float32:
        return array
    rows = as_matrix(features, "features")
    return rows if isinstance(rows, np.ndarray) else rows.tocsr()


def _as_diversity(diversity: float) -> float:
    """Return the share of relevance that may be given up, from 0 to 1."""
    try:
        share = float(diversity)
    except (TypeError, ValueError):
        raise TypeError(f"diversity must be a number from 0 to 1, got {diversity!r}") from None
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"diversity must be from 0 to 1, a share of relevance; got {share:g}")
    return share


def _in_order(
    scores: Floats,
    include: ItemsLike,
    exclude: ItemsLike,
    given: ItemsLike,
    labels: Sequence[Hashable] | None,
) -> tuple[Integers, int, Integers]:
    """Return the items that may be picked, how many of them must be, and those given.

    The items that must be picked come first.
    """
    ranked = np.argsort(-scores, kind="stable")
    if all(isinstance(items, tuple) and not items for items in (include, exclude, given)):
        return ranked, 0, np.zeros(0, dtype=np.int64)
    names = on_use("zonodpp.targets.labels")  # imports SciPy, which takes long
    known = names.LabelledItems(len(scores), labels)
    first, never = names.include_and_exclude(known, include, exclude)
    shown = names.one_set(known, given, "given")
    both = np.intersect1d(first, shown)
    if both.size:
        raise ValueError(f"item {both[0]} (from 0) is in include and in given; choose one")
    rest = ranked[~np.isin(ranked, np.concatenate([first, never, shown]))]
    return np.append(ranked[np.isin(ranked, first)], rest), len(first), shown


def _as_length(k: int | None, budget: float | None, fixed: int, available: int, n: int) -> int:
    """Return how many items to pick, including those that must be picked."""
    if k is None and budget is None:
        raise TypeError("k must be a whole number; it may be left out with costs and a budget")
    k = available if k is None else as_count(k, "k", 1)
    if fixed > k:
        raise ValueError(f"include names {fixed} items, but k={k} are to be picked")
    if k > n:
        raise ValueError(f"k={k} items asked for, but there are {n}; pass k={n} or less")
    if not available:
        raise ValueError(f"exclude names all {n} items, with those given: none can be picked")
    if available < k:
        can = f"only {available} of {n} can be picked: the others are excluded or given"
        raise ValueError(f"k={k} items asked for, but {can}")
    return k
