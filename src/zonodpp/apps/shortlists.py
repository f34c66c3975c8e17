"""`shortlist`: a few items that are relevant and differ from each other."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from zonodpp._types import Booleans, Floats, Integers, ItemsLike, Matrix, MatrixLike, SeedLike
from zonodpp.apps.shortlist_law import ItemFeatures, item_features, target_of
from zonodpp.arguments import as_count, as_matrix, check_finite, is_dataframe, one_of
from zonodpp.features.quality import as_quality
from zonodpp.linalg.dense import to_dense, unit_rows
from zonodpp.maximum import find_map
from zonodpp.runs.sampling import sample
from zonodpp.targets.conditioning import Condition
from zonodpp.targets.labels import Naming


@dataclass(frozen=True)
class Shortlist:
    """The items picked, the most relevant first.

    Attributes
    ----------
    indices : (k,) array of int
    relevance : (k,) array
        Of these items, descending.
    labels : list
        Of these items; their indices if none were given.
    log_prob : float
        Log probability of this set, given the items that had to be in or out.
    diversity : float
        One minus the mean similarity of two of the items: 1 when all are unrelated, 0 when all are
        the same.

    Examples
    --------
    >>> from zonodpp.apps import shortlist
    >>> found = shortlist([3, 2, 1], [[1, 0], [1, 0.1], [0, 1]], 2, labels=["a", "b", "c"], rng=0)
    >>> found.labels, len(found)
    (['a', 'c'], 2)
    """

    indices: Integers
    relevance: Floats
    labels: list[Hashable]
    log_prob: float
    diversity: float

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())

    def __str__(self) -> str:
        width = len(str(len(self)))
        return "\n".join(
            f"{place:>{width}}. {' '.join(str(label).splitlines())}  ({relevance:.4g})"
            for place, label, relevance in zip(
                range(1, len(self) + 1), self.labels, self.relevance.tolist(), strict=True
            )
        )

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.labels[:10])) + (", ..." if len(self) > 10 else "")
        return (
            f"Shortlist({len(self)} items: {shown}; mean relevance "
            f"{float(self.relevance.mean()):.4g}, diversity {self.diversity:.3f})"
        )


def shortlist(
    relevance: ArrayLike,
    features: MatrixLike,
    k: int,
    *,
    diversity: float = 1.0,
    include: ItemsLike = (),
    exclude: ItemsLike = (),
    labels: Sequence[Hashable] | None = None,
    answer: str = "draw",
    n_draws: int = 1,
    rng: SeedLike = None,
) -> Shortlist:
    """Pick k items that are relevant and differ from each other.

    A set B is picked with probability proportional to
    ``det(V_B)**2 * prod(relevance[B] ** (2 / diversity))``, where V has k columns: the leading
    left singular vectors of the features, whose rows are brought to length one first. This is the
    projection DPP of quality times diversity. Items whose features point the same way (one row is
    a multiple of the other) are never picked together, unless diversity is 0. Nor is an item of
    relevance zero ever picked.

    Parameters
    ----------
    relevance : (n,) array_like
        How good each item is, zero or more. Of scores that can be negative, pass ``numpy.exp``.
    features : (n, d) array_like, DataFrame or scipy.sparse matrix
        What makes items alike, one row for each. With fewer than k independent columns, V are the
        leading eigenvectors of the kernel ``exp(-distance / spread)`` of the rows as they are.
    k : int
        How many items.
    diversity : float, default 1
        How much difference counts against relevance. 0: the k most relevant items, whatever their
        features; infinity: relevance only has to be positive. In between, the expected sum of log
        relevance falls as diversity grows.
    include, exclude : list of items
        Items that must be picked, whatever their relevance, and items that must not; by number,
        from 0, or by label.
    labels : sequence, optional
        Names of all n items; by default those of a DataFrame's rows.
    answer : {"draw", "best"}
        A random draw, or the set of highest probability that a search finds (`find_map`).
    n_draws : int, default 1
        Number of draws, of which the most probable one is kept.
    rng : seed or Generator, optional

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.apps import shortlist
    >>> from zonodpp.datasets import foods
    >>> table = foods()
    >>> protein, others = table.values[:, 0], table.values[:, 1:]
    >>> found = shortlist(protein, others, 3, labels=table.names, exclude=[0], answer="best")
    >>> len(found), bool((np.diff(found.relevance) <= 0).all())
    (3, True)
    """
    if labels is None and is_dataframe(features):
        labels = list(features.index)
    rows = as_matrix(features, "features")
    check_finite(rows, "features")
    n = rows.shape[0]
    worth = as_quality(relevance, n, "relevance")
    k = as_count(k, "k", 1)
    diversity = _as_diversity(diversity)
    n_draws = as_count(n_draws, "n_draws", 1)
    one_of(answer, "answer", ("draw", "best"))
    if labels is not None and len(labels) != n:
        raise ValueError(f"labels must name each of the {n} items, got {len(labels)}")
    condition = Condition.of(include, exclude, Naming(n, labels))
    usable = _usable(worth, condition, k)

    if diversity == 0:
        ranks = np.where(usable, worth, -1.0)
        ranks[condition.include] = np.inf
        chosen, log_prob = np.argsort(-ranks, kind="stable")[:k], 0.0
        similar = ItemFeatures(np.zeros((n, 0)), unit_rows(rows), None)
    else:
        similar = item_features(rows, k)
        target = target_of(similar.features, worth, diversity, usable, condition.include)
        if condition.include.size:
            target = target.condition(include=condition.include)
        if answer == "best":
            chosen = np.asarray(find_map(target).subset, dtype=np.int64)
        else:
            draws = sample(target, n_draws, rng=rng, progress=False)
            chosen = draws.best().astype(np.int64)
        log_prob = float(target.log_prob(chosen))

    chosen = chosen[np.lexsort((chosen, -worth[chosen]))]
    return Shortlist(
        chosen,
        worth[chosen],
        [i if labels is None else labels[i] for i in chosen.tolist()],
        min(log_prob, 0.0),
        _dissimilarity(similar.rows, chosen, similar.spread),
    )


def _as_diversity(diversity: float) -> float:
    try:
        value = float(diversity)
    except (TypeError, ValueError):
        raise TypeError(f"diversity must be a number, got {diversity!r}") from None
    if not value >= 0:
        raise ValueError(f"diversity must be zero or more, got {value:g}")
    return value


def _usable(worth: Floats, condition: Condition, k: int) -> Booleans:
    """Tell which items may be picked; raise if they are too few, or too many have to be."""
    if condition.include.size > k:
        raise ValueError(
            f"include names {condition.include.size} items, but k={k} are to be picked"
        )
    usable = worth > 0
    usable[condition.include] = True
    usable[condition.exclude] = False
    count = int(usable.sum())
    if count < k:
        raise ValueError(
            f"k={k} items asked for, but only {count} of {len(worth)} can be picked: the others "
            "are excluded or have relevance zero"
        )
    return usable


def _dissimilarity(rows: Matrix, chosen: Integers, spread: float | None) -> float:
    """One minus the mean similarity of two of the chosen items."""
    if len(chosen) == 1:
        return 1.0
    few = to_dense((rows if isinstance(rows, np.ndarray) else rows.tocsr())[chosen])
    alike = few @ few.T if spread is None else np.exp(-cdist(few, few) / spread)
    return float(np.clip(1.0 - alike[np.triu_indices(len(few), 1)].mean(), 0.0, 2.0))
