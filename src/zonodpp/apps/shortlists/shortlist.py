"""`shortlist`: a few items that are relevant and differ from each other."""

from __future__ import annotations

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
    """The items picked, the most relevant first.

    Attributes
    ----------
    indices : (k,) array of int
        Numbers of the items.
    relevance : (k,) array
        Relevance of these items, descending.
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
    include: ItemsLike = (),
    exclude: ItemsLike = (),
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
    relevance : (n,) array_like
        How good each item is: any scores, higher is better.
    features : (n, d) array_like, DataFrame or scipy.sparse matrix, or (B, n, d) array
        One row for each item: the similarity of two items is the cosine of their rows. For a dense
        array of fewer than k columns it is ``exp(-distance / spread)`` instead. A batch of B lists,
        with relevance (B, n), gives B shortlists; all other arguments hold for each of them.
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
    include, exclude : list of items
        Items that must be picked, and items that must not; by number, from 0, or by label.
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
        When no list keeps to the limits, or when limits are combined with ``answer="draw"``.

    See Also
    --------
    near_duplicates : Whether a diverse list can help at all.
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
    if getattr(features, "ndim", 2) == 3:
        return _batch(**locals())  # the arguments: nothing else has a name yet

    rows = as_rows(features)
    n = rows.shape[0]
    labels = table_labels(features, "index") if labels is None else as_labels(labels, n, "labels")
    scores = as_column(relevance, n, "relevance")
    share = _as_diversity(diversity)
    one_of(answer, "answer", ("best", "draw"))
    order, fixed = _in_order(scores, include, exclude, labels)
    k = _as_length(k, budget, fixed, len(order), n)
    limits = Limits.of(order, n, costs, budget, groups, at_least or {}, at_most)
    if limits is not None and answer == "draw":
        raise ValueError("costs and groups need answer='best': draws cannot keep to them")

    ordered = _on_one_scale(scores[order])
    mean = float(ordered.sum()) / len(order)
    size = len(order)
    if answer == "best" and limits is None:
        size = _pool(ordered, mean, k, fixed, share)
    for count in sorted({size, len(order)}):  # all items, where near-duplicates leave too few
        items = Candidates.of(rows, order[:count], ordered[:count], k, duplicates)
        chosen = most_relevant(items, k, fixed, limits)
        if len(chosen) == k:
            break
    top = float(items.relevance[chosen].sum())
    largest = float(items.relevance[chosen[fixed:]].max(initial=0.0))
    lift = max(0.0, top - float(items.relevance[:fixed].sum()) - (len(chosen) - fixed) * mean)
    log_prob = None
    if answer == "best":
        chosen = diversify(items, chosen, fixed, share * lift, limits)
        kept = float(items.relevance[chosen].sum())
        if limits is not None and len(chosen) < k:  # exchanges may have left room in the budget
            chosen = extended(items, chosen, k, limits)
    else:
        draws = on_use("zonodpp.apps.shortlists.draws")  # compiles; `best` does not
        level = top - share * lift
        chosen, log_prob = draws.draw(items, len(chosen), fixed, level, n_draws, rng)
        kept = float(items.relevance[chosen].sum())

    chosen = chosen[np.lexsort((chosen, -scores[order[chosen]]))]
    return Shortlist(
        order[chosen],
        scores[order[chosen]],
        [i if labels is None else labels[i] for i in order[chosen].tolist()],
        _share_of(top - kept, lift, ROUNDING * largest),
        log_prob,
        _items=items.take(chosen),
    )


def _batch(
    relevance: ArrayLike, features: MatrixLike, rng: SeedLike, **shared: Any
) -> list[Shortlist]:
    """Return the shortlists of a batch, whose lists share all other arguments."""
    wanted = (None, None, None)
    matrices = as_reals(features, "features of a batch", wanted, "shape (B, n, d)", dtype=None)
    expected = f"one row of scores for each list, {matrices.shape[:2]}"
    scores = as_reals(relevance, "relevance of a batch", matrices.shape[:2], expected)
    generators = spawn(rng, len(matrices), purpose="shortlists")
    batch = zip(scores, matrices, generators, strict=True)
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


def _pool(ordered: Floats, mean: float, k: int, fixed: int, share: float) -> int:
    """Return how many of the items in order are candidates of the search."""
    rest = ordered[fixed:]
    top = float(rest[: k - fixed].sum()) / max(1, k - fixed)
    level = top - (1.0 + _REACH) * share * (top - mean)
    within = len(rest) - int(rest[::-1].searchsorted(level))
    return min(len(ordered), fixed + max(_TIMES_K * k, within))


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
    scores: Floats, include: ItemsLike, exclude: ItemsLike, labels: Sequence[Hashable] | None
) -> tuple[Integers, int]:
    """Return the items that may be picked, and how many of them must be: these come first."""
    order = np.argsort(-scores, kind="stable")
    if isinstance(include, tuple) and isinstance(exclude, tuple) and not include + exclude:
        return order, 0
    names = on_use("zonodpp.targets.labels")  # imports SciPy, which takes long
    known = names.LabelledItems(len(scores), labels)
    first, never = names.include_and_exclude(known, include, exclude)
    rest = order[~np.isin(order, np.append(first, never))]
    return np.append(order[np.isin(order, first)], rest), len(first)


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
        raise ValueError(f"exclude names all {n} items: none can be picked")
    if available < k:
        can = f"only {available} of {n} can be picked: the others are excluded"
        raise ValueError(f"k={k} items asked for, but {can}")
    return k
