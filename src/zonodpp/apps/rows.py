"""`diverse_rows`: a few rows of a table that differ from each other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from zonodpp._types import Floats, Integers, SeedLike
from zonodpp.apps.landmark_rows import merge
from zonodpp.apps.table_columns import encode
from zonodpp.arguments import as_count, as_weights, is_dataframe, one_of, spawn
from zonodpp.features import rp_cholesky
from zonodpp.maximum import find_map
from zonodpp.runs.sampling import sample
from zonodpp.targets import ProjectionDPP

# The kernel is approximated by this many directions, of which the k leading ones are used: more
# than k, so that these are close to its own, and at least enough for a table of a few hundred rows.
_DIRECTIONS_PER_ROW, _LEAST_DIRECTIONS = 4, 100
_DIGITS = 4  # rows that differ by less than 10^-4 standard deviations count as equal


def diverse_rows(
    table: Any,
    k: int,
    *,
    columns: Sequence[Hashable] | None = None,
    weights: Hashable | ArrayLike | None = None,
    answer: str = "best",
    rng: SeedLike = None,
) -> Any:
    """Pick k rows of a pandas DataFrame that differ from each other.

    Numbers and dates are standardised, categories and booleans become columns of zeros and ones
    (rare levels together), and each column counts the same. A missing number is replaced by the
    median and flagged; a missing category is a level of its own. Constant and empty columns, whole
    numbers that look like identifiers and text of too many values are left out.

    Sets of rows have the probabilities of the projection DPP of the k leading directions of the
    kernel ``exp(-distance / spread)``, so that k may be larger than the number of columns. Equal
    rows are picked together only if k is larger than the number of distinct rows.

    Parameters
    ----------
    table : pandas.DataFrame
        The rows to choose from.
    k : int
        How many rows, at most as many as there are.
    columns : list of names, or one name, optional
        The columns that count, even if they look like identifiers or like text. Text of which
        every value differs is left out all the same. None: all that can be used.
    weights : column name or (n,) array_like, optional
        Chances are proportional to the product of the weights of the rows. A row of weight zero is
        never picked. The column does not count for distances.
    answer : {"best", "draw"}
        The likeliest set that a search finds, the same each time, or a random draw.
    rng : seed or Generator, optional
        For draws.

    Returns
    -------
    pandas.DataFrame
        The rows picked, in their order, with all columns. ``attrs["diverse_rows"]`` says what was
        made of each column, and how many rows are distinct.

    Raises
    ------
    ValueError
        When k is larger than the number of rows of positive weight, or when no column can be used
        to choose from more than k rows.

    See Also
    --------
    shortlist : Items that are relevant and differ from each other.
    zonodpp.ProjectionDPP.from_features : The law behind it.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, section 2.3.

    Examples
    --------
    >>> import pandas
    >>> from zonodpp.apps import diverse_rows
    >>> table = pandas.DataFrame({"size": [1, 1, 9, 9], "colour": ["red", "blue", "red", "red"]})
    >>> found = diverse_rows(table, 3)
    >>> len(found), found.attrs["diverse_rows"]["columns"]["size"]
    (3, 'used: number; standardised')
    """
    if not is_dataframe(table):
        raise TypeError(f"table must be a pandas DataFrame, got {type(table).__name__}")
    one_of(answer, "answer", ("best", "draw"))
    n = len(table)
    k = as_count(k, "k", 1)
    if k > n:
        raise ValueError(f"k = {k} rows asked for, but the table has {n}")
    counted = table
    if weights is not None and np.ndim(weights) == 0:  # type: ignore[arg-type]
        if weights not in table.columns:
            raise ValueError(f"weights={weights!r} is no column of the table")
        counted, weights = table.drop(columns=weights), table[weights].to_numpy(dtype=np.float64)
    q = as_weights(weights, n)  # type: ignore[arg-type]
    q = np.ones(n) if q is None else q
    if np.count_nonzero(q) < k:
        raise ValueError(f"k = {k} rows asked for, but {np.count_nonzero(q)} have positive weight")
    encoded = encode(counted, columns)
    points = np.round(encoded.points, _DIGITS) + 0.0  # minus zero becomes zero
    if not points.shape[1]:
        if k < n:
            reasons = "; ".join(f"{column.name}: {column}" for column in encoded.columns[:8])
            hint = "columns=[...] makes columns count" if columns is None else "name other columns"
            raise ValueError(f"no column can be used ({reasons}); {hint}")
        points = np.zeros((n, 1))  # all rows are equal, and all of them are picked
    chosen = _pick(points, q.copy(), k, answer, rng)
    found = table.iloc[chosen]
    found.attrs["diverse_rows"] = {
        "columns": {str(column.name): str(column) for column in encoded.columns},
        "distinct_rows": len(merge(points, np.ones(n)).rows),
    }
    return found


def _pick(points: Floats, weights: Floats, k: int, answer: str, rng: SeedLike) -> Integers:
    """Return k rows, sorted; all distinct rows come in before a second copy of any of them."""
    [generator] = spawn(rng, purpose="rows")
    if k == len(points):
        return np.arange(k)
    chosen = np.zeros(0, dtype=np.int64)
    while chosen.size < k:
        _, rows, merged = merge(points, weights)
        left = k - chosen.size
        if left < rows.size:
            rows = rows[_draw(points[rows], merged, left, answer, generator)]
        chosen = np.append(chosen, rows)
        weights[rows] = 0.0
    return np.sort(chosen)


def _draw(
    points: Floats, weights: Floats, k: int, answer: str, rng: np.random.Generator
) -> Integers:
    """Draw k of the distinct points from the projection DPP of the leading directions."""
    spread = np.sqrt(points.var(axis=0).sum())
    features = rp_cholesky(
        points,
        min(len(points), max(_DIRECTIONS_PER_ROW * k, _LEAST_DIRECTIONS)),
        kernel=lambda a, b: np.exp(-cdist(a, b) / spread),
        rng=0 if answer == "best" else rng,
    )
    target = ProjectionDPP.from_features(features, rank=k, weights=weights)
    if answer == "best":
        return find_map(target).subset
    draws = sample(target, 1, rng=rng, progress=False)
    return np.asarray(draws.subsets[0, 0], dtype=np.int64)
