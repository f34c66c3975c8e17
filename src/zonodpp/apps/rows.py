"""`diverse_rows`: a few rows of a table that differ from each other; its columns as numbers."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp._arguments import (
    as_count,
    as_weights,
    check_finite,
    is_dataframe,
    listed,
    one_of,
    spawn,
)
from zonodpp._imports import optional
from zonodpp._types import Floats, Integers, Rng, SeedLike
from zonodpp.apps.landmarks.rows import merge, row_keys
from zonodpp.apps.tables import table_of
from zonodpp.best import find_map, pick
from zonodpp.features import standardize
from zonodpp.numerics.arrays import EPS
from zonodpp.numerics.kernel import KernelColumns, partial_factor
from zonodpp.numerics.kernel_function import exponential, spread_of
from zonodpp.numerics.spectrum import principal_scores
from zonodpp.runs.sample import sample
from zonodpp.targets import ProjectionDPP
from zonodpp.targets.tables import has_lists, numbers_in

# What tables need: the module, its extra, and what needs it.
PANDAS = ("pandas", "parquet", "a table with columns of several types")

# The approximation of the kernel has so many directions for each of the k rows, and at least the
# second number, which is enough for a table of a few hundred rows. Only the k leading directions of
# these are used. They are close to the leading directions of the kernel, as there are more than k.
_DIRECTIONS_PER_ROW, _LEAST_DIRECTIONS = 4, 100
_TRACE_LEFT = 1e-10  # share of the trace below which the approximation counts as exact
_DIGITS = 4  # rows that differ by less than 10^-4 standard deviations count as equal

_MOST_LEVELS = 20  # levels of a category that have a column of their own; the others share one
_RARE = 0.01  # a level that a smaller share of the rows has is pooled with other rare ones
_COVERED = 0.5  # share of the rows that the levels kept must have, or the column is left out
_FEW_ROWS = 20  # in shorter tables, consecutive numbers may be measurements
# The squared length of an encoded column is divided by its variance, at least by this: the variance
# of a column that is true in one row of twenty. Otherwise the rarest level would decide everything.
_LEAST_VARIANCE = 0.095
_ID_NAME = re.compile(r"(?i:(^|[\W_])(id|uuid|guid|index)$)|[a-z]I[dD]$|^Unnamed: \d+$")
_MANY = 2**22  # encoded cells beyond which a search takes minutes: 50,000 x 384 took 75 s
_RIDGE = 1e-3  # of greedy picks in large tables: rows that are equal but for noise add nothing
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")  # as pandas calls them
_ISO_DATE = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?"


def diverse_rows(
    table: Any,
    k: int,
    *,
    columns: Sequence[Hashable] | Hashable | None = None,
    weights: Hashable | ArrayLike | None = None,
    by: Hashable | None = None,
    answer: str = "best",
    rng: SeedLike = None,
) -> Any:
    """Pick k rows of a table that differ from each other.

    Numbers and dates are standardised, categories and booleans become columns of zeros and ones
    (rare levels together), and each column counts the same. A missing number is replaced by the
    median and flagged; a missing category is a level of its own. Constant and empty columns, whole
    numbers that look like identifiers and text of too many values are left out.

    Sets of rows have the probabilities of the projection DPP of the k leading directions of the
    kernel ``exp(-distance / spread)``, so that k may be larger than the number of columns. Equal
    rows are picked together only if k is larger than the number of distinct rows. Of a table with
    more than four million encoded cells the best answer is the picks of `zonodpp.pick` with this
    kernel, one by one and without exchanges.

    Parameters
    ----------
    table : table or path
        The rows to choose from: a table of pandas, of polars, Arrow or another library that
        narwhals knows, or the path of a Parquet, CSV or Feather file. A column whose cells are
        lists of numbers, such as an embedding, counts as one column.
    k : int
        How many rows, at most as many as there are.
    columns : list of names, or one name, optional
        The columns that count, even if they look like identifiers or like text. Text whose values
        are all different is left out even then. None: all columns that can be used.
    weights : column name or (n,) array_like, optional
        The probability of a set is multiplied by the product of the weights of its rows. A row of
        weight zero is never picked. A column of weights does not count for distances.
    by : column name, optional
        Rows with the same value in this column are a stratum. Each stratum gets a share of the k
        rows in proportion to its number of rows, and at least one row if k is large enough; rows
        that differ are picked within each. The column does not count for distances.
    answer : {"best", "draw"}
        The likeliest set that a search finds, the same each time, or a random draw.
    rng : seed or Generator, optional
        For draws.

    Returns
    -------
    table of the kind that was passed
        The rows picked, in the order of the table, with all columns; of a path a pandas DataFrame.
        In pandas ``attrs["diverse_rows"]`` says how each column was used, and how many rows are
        distinct.

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
    whole = table_of(table)
    table = whole.frame
    one_of(answer, "answer", ("best", "draw"))
    n = len(table)
    k = as_count(k, "k", 1)
    if k > n:
        raise ValueError(f"k = {k} rows asked for, but the table has {n}")
    counted = table
    named = isinstance(weights, Hashable) and not isinstance(weights, tuple | None)
    if named and np.ndim(weights) == 0:  # type: ignore[arg-type]
        if weights not in table.columns:
            raise ValueError(f"weights={weights!r} is no column of the table")
        counted, weights = table.drop(columns=weights), table[weights]
    strata = np.zeros(n, dtype=np.int64)
    if by is not None:
        if by not in table.columns:
            raise ValueError(f"by={by!r} is no column of the table")
        strata = optional(*PANDAS).factorize(table[by], use_na_sentinel=False)[0]
        counted = counted.drop(columns=by, errors="ignore")
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
    chosen = _pick_within(strata, points, q, k, answer, rng)
    found = whole.take(chosen)
    if is_dataframe(found):
        found.attrs["diverse_rows"] = {
            "columns": {str(column.name): str(column) for column in encoded.columns},
            "distinct_rows": len(merge(points, np.ones(n)).rows),
        }
    return found


def _pick_within(
    strata: Integers, points: Floats, weights: Floats, k: int, answer: str, rng: SeedLike
) -> Integers:
    """Return k rows, sorted, so many of each stratum as its share is."""
    if not strata.any():
        return _pick(points, weights.copy(), k, answer, rng)
    shares = _shares_of(np.bincount(strata, weights > 0).astype(np.int64), k)
    seeds = spawn(rng, len(shares), purpose="strata")
    picks = []
    for stratum in np.flatnonzero(shares):
        rows = np.flatnonzero(strata == stratum)
        share = int(shares[stratum])
        picks.append(rows[_pick(points[rows], weights[rows], share, answer, seeds[stratum])])
    return np.sort(np.concatenate(picks))


def _shares_of(sizes: Integers, k: int) -> Integers:
    """Share k among strata by their sizes, at least one each if there are enough, none too many.

    The next one goes to the stratum with the largest size for each of its rows (Webster's rule);
    strata without a row come first, the large ones before the small ones.
    """
    shares = np.zeros_like(sizes)
    for _ in range(k):
        claims = np.where(shares == 0, sizes.sum() + sizes, sizes / (shares + 0.5))
        shares[np.argmax(np.where(shares < sizes, claims, -1.0))] += 1
    return shares


def _pick(points: Floats, weights: Floats, k: int, answer: str, rng: SeedLike) -> Integers:
    """Return k rows, sorted; no second copy of a row is picked before all distinct rows."""
    [generator] = spawn(rng, purpose="rows")
    if k == len(points):
        return np.arange(k)
    usable = np.flatnonzero(weights)
    copy = _copy_numbers(row_keys(points)[usable])
    # Copy 0 of every distinct row is picked, then copy 1, and so on, as long as all of them fit.
    rounds = np.searchsorted(np.cumsum(np.bincount(copy)), k, side="right")
    chosen = usable[copy < rounds]
    if left := k - chosen.size:
        weights[chosen] = 0.0
        _, rows, merged = merge(points, weights)
        rows = rows[_draw(points[rows], merged, left, answer, generator)]
        chosen = np.append(chosen, rows)
    return np.sort(chosen)


def _copy_numbers(keys: NDArray[np.uint64]) -> Integers:
    """Return for each entry how many entries before it are equal to it."""
    order = np.argsort(keys, kind="stable")
    first = np.searchsorted(keys[order], keys[order])
    copy = np.empty(keys.size, np.int64)
    copy[order] = np.arange(keys.size) - first
    return copy


def _draw(points: Floats, weights: Floats, k: int, answer: str, rng: Rng) -> Integers:
    """Draw k of the distinct points from the projection DPP of the leading directions."""
    count = min(len(points), max(_DIRECTIONS_PER_ROW * k, _LEAST_DIRECTIONS))
    spread = spread_of(points)
    if answer == "best" and points.size > _MANY:
        kernel = partial(exponential, spread=spread)
        relevance = np.sqrt(weights / weights.max())
        greedy = pick(points, k, kernel=kernel, relevance=relevance, ridge=_RIDGE)
        return np.asarray(greedy, dtype=np.int64)

    def columns(span: slice, items: Integers) -> Floats:
        return exponential(points[span], points[items], spread)

    kernel_columns = KernelColumns(np.ones(len(points)), columns, EPS)
    [generator] = spawn(0 if answer == "best" else rng, purpose="features")
    # The factor takes most of the memory. Only its coordinates along k directions are kept.
    factor = partial_factor(kernel_columns, count, _TRACE_LEFT, generator)[0]
    target = ProjectionDPP.from_features(principal_scores(factor, k), weights=weights)
    if answer == "best":
        return find_map(target).subset
    draws = sample(target, 1, rng=rng, progress=False)
    return np.asarray(draws.subsets[0, 0], dtype=np.int64)


@dataclass(frozen=True)
class Column:
    """A column of a table and what becomes of it.

    Attributes
    ----------
    name : hashable
    kind : str
        number, vector, boolean, category, date, text, id, constant or empty.
    missing : int
        How many of its cells are empty.
    width : int
        How many numbers stand for one of its cells; 0 if the column is left out.
    note : str
        How it is encoded, or why it is left out.
    """

    name: Hashable
    kind: str
    missing: int
    width: int
    note: str

    def __str__(self) -> str:
        gaps = f", {self.missing:,} missing" if self.missing else ""
        return f"{'used' if self.width else 'left out'}: {self.kind}{gaps}; {self.note}"


class _EncodedTable(NamedTuple):
    """The rows of a table as points, and what became of each of its columns."""

    points: Floats
    columns: list[Column]


def encode(table: Any, columns: Sequence[Hashable] | Hashable | None = None) -> _EncodedTable:
    """Turn the columns of a DataFrame into numbers, so that distances of rows mean something.

    Each column that is used adds the same to the mean squared distance of two rows, whether it is
    a number or a category of many levels. Columns that are named are used even if they look like
    identifiers or like text, unless they are text whose values are all different: such a column
    adds the same to all distances.

    Examples
    --------
    >>> import pandas
    >>> from zonodpp.apps.rows import encode
    >>> table = pandas.DataFrame({"size": [1.0, 3.0], "colour": ["red", "blue"], "unit": "cm"})
    >>> [(column.name, column.kind, column.width) for column in encode(table).columns]
    [('size', 'number', 1), ('colour', 'text', 0), ('unit', 'constant', 0)]
    """
    if not table.columns.is_unique:
        twice = list(table.columns[table.columns.duplicated()].unique())
        raise ValueError(f"several columns are called {listed(twice)}; rename them")
    if columns is not None and (isinstance(columns, str) or not isinstance(columns, Iterable)):
        columns = [columns]
    unknown = [name for name in columns or () if name not in table.columns]
    if unknown:
        raise ValueError(f"no column {listed(unknown)}; there are {listed(list(table.columns))}")
    names = table.columns if columns is None else dict.fromkeys(columns)
    found = [_encode_column(name, table[name], columns is not None) for name in names]
    blocks = [np.zeros((len(table), 0)), *(block for _, block in found)]
    return _EncodedTable(np.hstack(blocks), [column for column, _ in found])


def _encode_column(name: Hashable, cells: Any, asked: bool) -> tuple[Column, Floats]:
    """Encode one column; ``asked`` if the user named it."""
    if has_lists(cells, equal=True):
        vectors = numbers_in({name: cells}, {name: f"column {name!r}"}).astype(np.float64)
        check_finite(vectors, f"column {name!r}")
        vectors = vectors - vectors.mean(axis=0)
        spread = float(np.sqrt(vectors.var(axis=0).sum())) or 1.0
        note = f"lists of {vectors.shape[1]} numbers, standardised as one column"
        return Column(name, "vector", 0, vectors.shape[1], note), vectors / spread
    kind, numbers = _read_cells(cells)
    empty = ~np.isfinite(numbers)  # infinity is no measurement either
    present = numbers[~empty]
    missing, distinct = int(empty.sum()), np.unique(present).size

    def left_out(kind: str, why: str) -> tuple[Column, Floats]:
        return Column(name, kind, missing, 0, why), np.zeros((len(cells), 0))

    if not present.size:
        return left_out("empty", "no cell has a value")
    if distinct == 1 and not missing:
        return left_out("constant", f"every cell is {cells.iloc[0]}")
    if kind in ("number", "date"):
        if kind == "number" and not asked and _is_id(name, present, distinct):
            return left_out("id", "whole numbers that only tell rows apart")
        # An empty cell gets the median, and a second column says that it was empty.
        filled = standardize(np.where(empty, np.median(present), numbers)[:, None])
        block = np.column_stack([filled, empty]) if missing else filled
        note = "standardised" + (", missing values by median and flag" if missing else "")
    else:
        counts = np.bincount(present.astype(np.int64))  # descending, see `_read_cells`
        kept = int((counts >= max(2.0, _RARE * len(cells))).sum())
        if asked and not kept:  # levels that several rows have, even if they are rare
            kept = int((counts >= 2).sum())
        kept = min(_MOST_LEVELS, kept)
        used = asked and (kept or missing)  # not if one level would stand for all cells
        if not used and counts[:kept].sum() < _COVERED * present.size:
            all_differ = "; every one differs" if distinct == present.size else ""
            return left_out("text", f"{distinct:,} values{all_differ}")
        pooled = np.where(empty, kept + 1, np.minimum(numbers, kept))
        block = (pooled[:, None] == np.unique(pooled)).astype(np.float64)
        note = f"{distinct} levels"
        if kept < distinct:
            note += f", the {distinct - kept} rarest as one"
        if missing:
            note += ", missing as one more"
    block = block - block.mean(axis=0)
    # Each column adds the same to the mean squared distance of two rows.
    block = block / np.sqrt(max(float(block.var(axis=0).sum()), _LEAST_VARIANCE))
    return Column(name, kind, missing, block.shape[1], note), block


def _read_cells(cells: Any) -> tuple[str, Floats]:
    """Return what a column holds, and its cells as numbers: NaN where a cell is empty.

    A level of a category becomes its place in the order of frequency, 0 for the most frequent.
    """
    pandas = optional(*PANDAS)
    if isinstance(cells.dtype, pandas.ArrowDtype):  # types of NumPy and Python objects instead
        cells = cells.array.__arrow_array__().to_pandas()
    empty = cells.isna().to_numpy(dtype=bool)
    present, numbers = cells[~empty], np.full(len(cells), np.nan)
    if not present.size:
        return "empty", numbers
    inferred = pandas.api.types.infer_dtype(present)
    if inferred in _NUMBERS:
        numbers[~empty] = present.astype(np.float64)
        return "number", numbers
    if inferred != "boolean" and present.dtype.kind not in "mM":  # durations and dates
        present = present.map(str)
        if present.str.fullmatch(_ISO_DATE).all():
            dates = pandas.to_datetime(present, errors="coerce", utc=True, format="ISO8601")
            present = present if dates.isna().any() else dates
    if present.dtype.kind in "mM":
        numbers[~empty] = present.astype("int64")
        return "date", numbers
    codes, _ = pandas.factorize(present)
    ranks = np.argsort(np.argsort(-np.bincount(codes), kind="stable"))
    numbers[~empty] = ranks[codes]
    return ("boolean" if inferred == "boolean" else "category"), numbers


def _is_id(name: Hashable, numbers: Floats, distinct: int) -> bool:
    """Tell whole numbers that are called an id, or that count the rows, from measurements."""
    n = len(numbers)
    whole = bool((numbers == np.floor(numbers)).all())
    called_id = isinstance(name, str) and _ID_NAME.search(name) is not None
    counts_rows = n > _FEW_ROWS and distinct == n == numbers.max() - numbers.min() + 1
    return whole and (called_id or counts_rows)
