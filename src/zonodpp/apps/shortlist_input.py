"""What people pass to `shortlist`, checked and laid out for the search."""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Integers, ItemsLike, Matrix, MatrixLike
from zonodpp.apps.shortlist_search import Candidates, Limits
from zonodpp.arguments import as_count, as_matrix, as_scores, check_finite, is_dataframe

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))  # computed with as they are


def names_of(
    features: MatrixLike, labels: Sequence[Hashable] | None, n: int
) -> Sequence[Hashable] | None:
    """Return the names of all items: those given, or those of a DataFrame's rows."""
    if labels is None and is_dataframe(features):
        return list(features.index)
    if labels is not None and len(labels) != n:
        raise ValueError(f"labels must name each of the {n} items, got {len(labels)}")
    return labels


def as_rows(features: MatrixLike) -> Matrix:
    """Return features as a matrix; single precision stays as it is."""
    if type(features) is np.ndarray and features.dtype in _FLOATS and features.ndim == 2:
        return features
    rows = as_matrix(features, "features")
    return rows if isinstance(rows, np.ndarray) else rows.tocsr()


def as_column(values: ArrayLike, n: int, name: str) -> Floats:
    """Return one finite number for each item."""
    column: Floats = np.asarray(values, dtype=np.float64)
    if column.shape != (n,):
        raise ValueError(
            f"{name} must have one entry for each of the {n} items, got shape {column.shape}"
        )
    return column


def as_share(diversity: float) -> float:
    """Return the share of relevance that may be given up, from 0 to 1."""
    try:
        share = float(diversity)
    except (TypeError, ValueError):
        raise TypeError(f"diversity must be a number from 0 to 1, got {diversity!r}") from None
    if not 0.0 <= share <= 1.0:
        raise ValueError(
            f"diversity must be from 0 to 1, the share of relevance to give up; got {share:g}"
        )
    return share


def in_order(
    scores: Floats, include: ItemsLike, exclude: ItemsLike, labels: Sequence[Hashable] | None
) -> tuple[Integers, int]:
    """Return the items that may be picked, and how many of them must be: these come first."""
    order = np.argsort(-scores, kind="stable")
    if isinstance(include, tuple) and isinstance(exclude, tuple) and not include + exclude:
        return order, 0
    # These rooms import SciPy, which takes longer than a list.
    naming = importlib.import_module("zonodpp.targets.labels").Naming(len(scores), labels)
    condition = importlib.import_module("zonodpp.targets.conditioning").Condition
    first, never = condition.of(include, exclude, naming)
    rest = order[~np.isin(order, np.append(first, never))]
    return np.append(order[np.isin(order, first)], rest), len(first)


def as_length(k: int | None, budget: float | None, fixed: int, available: int, n: int) -> int:
    """Return how many items to pick, those that must be picked among them."""
    if k is None and budget is None:
        raise TypeError("k must be a whole number; it may be left out with costs and a budget")
    k = available if k is None else as_count(k, "k", 1)
    if fixed > k:
        raise ValueError(f"include names {fixed} items, but k={k} are to be picked")
    if available < k:
        raise ValueError(
            f"k={k} items asked for, but only {available} of {n} can be picked: the others are "
            "excluded"
        )
    return k


def candidates(rows: Matrix, scores: Floats, k: int, duplicates: float | None) -> Candidates:
    """Return items with their similarity: the cosine, or for fewer than k columns of distances."""
    if duplicates is not None and not 0.0 < duplicates <= 1.0:
        raise ValueError(f"duplicates must be above 0 and at most 1, got {duplicates}")
    near = -1.0 if duplicates is None else 1.0 - duplicates
    if rows.shape[1] < k and isinstance(rows, np.ndarray):
        check_finite(rows, "features")
        spread = float(np.sqrt(rows.var(axis=0).sum())) or 1.0
        return Candidates(scores, rows, None, spread, near)
    if isinstance(rows, np.ndarray):
        squares = np.einsum("ij,ij->i", rows, rows)
    else:
        squares = rows.multiply(rows).sum(axis=1)
    if not (squares.min() > 0.0 and squares.max() < np.inf):  # zero, or beyond floating point
        check_finite(rows, "features")
        rows = importlib.import_module("zonodpp.linalg.dense").unit_rows(rows)
        squares = np.ones(len(scores))
    return Candidates(scores, rows, 1.0 / np.sqrt(squares), 1.0, near)


def limits_of(
    order: Integers,
    n: int,
    costs: ArrayLike | None,
    budget: float | None,
    groups: Sequence[Hashable] | None,
    at_least: Mapping[Hashable, int],
    at_most: Mapping[Hashable, int] | int | None,
) -> Limits | None:
    """Return the limits of the items in order, or None where there are none."""
    if (costs is None) != (budget is None):
        raise ValueError("costs and budget come together: pass both or neither")
    quotas = bool(at_least) or at_most is not None
    if groups is None and quotas:
        raise ValueError("at_least and at_most are quotas of groups: pass groups too")
    if costs is None and not quotas:
        return None
    names = [None] * n if groups is None else list(groups)
    if len(names) != n:
        raise ValueError(f"groups must name the group of each of the {n} items, got {len(names)}")
    codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
    most = dict.fromkeys(codes, at_most) if isinstance(at_most, int) else dict(at_most or {})
    unknown = [name for name in (*at_least, *most) if name not in codes]
    if unknown:
        raise ValueError(f"no item is in the group {unknown[0]!r}")
    return Limits(
        np.zeros(n) if costs is None else as_scores(costs, n, "costs")[order],
        np.inf if budget is None else float(budget),
        np.array([codes[name] for name in names])[order],
        np.array([at_least.get(name, 0) for name in codes]),
        np.array([most.get(name, n) for name in codes]),
    )
