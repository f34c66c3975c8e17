"""`deduplicate`: the first of each group of rows or texts that are nearly the same.

Rows are looked at in their order. A row is kept unless a row kept before is as similar as the
threshold. Blocks of rows are compared with all rows kept by matrix products in single precision,
and pairs near the threshold again in double precision.

Of many rows that takes too long. Then rows are compared with those of the same bucket only: the
signs of a few random projections are the name of a bucket, and there are so many tables of buckets
that a pair at the threshold is missed by all of them with a probability of 1% at most (Charikar,
2002).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from zonodpp._arguments import as_flag, as_matrix, as_positive, check_finite, in_one_line
from zonodpp._imports import optional
from zonodpp._types import Floats, Integers
from zonodpp.apps.landmarks.rows import row_keys
from zonodpp.apps.tables import is_table, numbers_of
from zonodpp.numerics.arrays import unit_rows

Pairs = tuple[Integers, Integers]

_BLOCK = 1024  # rows that are compared at a time
_ENTRIES = 2**22  # cosines that are computed at a time
_SLACK = 1e-5  # more than the error of a cosine in single precision
_ROUNDING = 1e-12  # more than the error of a cosine in double precision
_EXACT = 100_000  # rows up to which all pairs are compared: about a minute with 384 columns
_MISSED = 0.01  # probability that buckets miss a pair at the threshold
_IN_A_BUCKET = 8  # rows of a bucket, if all buckets were equally full


@dataclass(frozen=True)
class Duplicates:
    """The rows to keep, and for each row the one that stands for it.

    Attributes
    ----------
    indices : (m,) array of int
        The rows kept, ascending: no two of them are as similar as the threshold.
    groups : (n,) array of int
        For each row the row kept that it repeats; for a row that is kept, its own number.

    See Also
    --------
    deduplicate : The function that makes it.

    Examples
    --------
    >>> from zonodpp.apps import deduplicate
    >>> found = deduplicate([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]])
    >>> found.indices.tolist(), found.groups.tolist()
    ([0, 1], [0, 1, 0])
    """

    indices: Integers
    groups: Integers

    def __len__(self) -> int:
        return len(self.indices)


def deduplicate(
    items: Any,
    threshold: float = 0.97,
    *,
    columns: list[str] | str | None = None,
    exact: bool | None = None,
) -> Duplicates:
    """Keep the first of each group of rows or texts that are nearly the same.

    Parameters
    ----------
    items : (n, d) array_like, table, scipy.sparse matrix, or sequence of str
        Rows that are compared by the cosine of the angle between them, such as embeddings; a table
        of pandas, polars or Arrow, or the path of one; or texts, which become rows by tf-idf of
        their words.
    threshold : float, default 0.97
        The cosine from which two rows are nearly the same.
    columns : list of names, or one name, optional
        The columns of a table that count; None: all. Cells may be lists of numbers.
    exact : bool, optional
        Whether all pairs are compared. None: if there are 100,000 rows or fewer, or if rows are
        sparse. Otherwise each pair of dense rows that is as similar as the threshold is found with
        a probability of 0.99 or more; which ones is the same each time.

    Returns
    -------
    Duplicates
        ``found.indices`` are the rows to keep, ``found.groups`` says which row stands for each.

    See Also
    --------
    near_duplicates : A report of pairs, and whether a diverse list would differ.
    coreset : Rows that stand for all rows, as many as you like.

    References
    ----------
    M. S. Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002.

    Examples
    --------
    >>> from zonodpp.apps import deduplicate
    >>> texts = ["A cat sat down.", "Dogs bark loudly.", "A cat sat down!"]
    >>> deduplicate(texts, 0.9).indices
    array([0, 1])
    """
    threshold = as_positive(threshold, "threshold")
    if threshold > 1.0:
        raise ValueError(f"threshold must be above 0 and at most 1, got {threshold:g}")
    if exact is not None:
        as_flag(exact, "exact")
    rows, first = _rows_and_copies(items, columns)
    distinct = np.unique(first)
    groups = np.arange(len(first))
    if sp.issparse(rows):
        if exact is False:
            raise ValueError("exact=False is for dense rows; leave it out")
        found = _first_of(rows[distinct], _sparse_pairs(rows[distinct], threshold))
    else:
        unit = np.ascontiguousarray(rows[distinct])
        if exact is None:
            exact = len(unit) <= _EXACT
        found = _by_blocks(unit, threshold) if exact else _by_buckets(unit, threshold)
    groups[distinct] = distinct[found]
    groups = groups[first]
    return Duplicates(np.flatnonzero(groups == np.arange(len(groups))), groups)


def _rows_and_copies(items: Any, columns: Any) -> tuple[Any, Integers]:
    """Return rows of length one, and for each the first one that is equal."""
    names = [columns] if isinstance(columns, str) else columns
    if (
        is_table(items)
        or (isinstance(items, str) and names is not None)
        or hasattr(items, "suffix")
    ):
        items = numbers_of(items, names, "items")
    elif names is not None:
        raise TypeError("columns= names columns of a table, and items are none; leave it out")
    if isinstance(items, str):
        items = numbers_of(items, None, "items")
    if _are_texts(items):
        return _rows_of_texts(items)
    X = as_matrix(items, "items")
    check_finite(X, "items")
    X = sp.csr_array(X) if sp.issparse(X) else X
    _, first, copies = np.unique(row_keys(X), return_index=True, return_inverse=True)
    return unit_rows(X), first[copies]


def _are_texts(items: Any) -> bool:
    if isinstance(items, np.ndarray):
        return (
            items.ndim == 1
            and items.size > 0
            and items.dtype.kind in "UTO"
            and isinstance(items[0], str)
        )
    return isinstance(items, Sequence) and len(items) > 0 and isinstance(items[0], str)


def _rows_of_texts(texts: Sequence[str]) -> tuple[Any, Integers]:
    wrong = next((text for text in texts if not isinstance(text, str)), None)
    if wrong is not None:
        raise TypeError(f"items must all be texts, got {in_one_line(repr(wrong))} among them")
    text = optional("sklearn.feature_extraction.text", "ml", "comparing texts")
    place: dict[str, int] = {}
    first = np.array([place.setdefault(one, number) for number, one in enumerate(texts)])
    try:
        found = text.TfidfVectorizer(token_pattern=r"(?u)\b\w+\b").fit_transform(texts)
    except ValueError:  # no text has a word
        found = sp.csr_array((len(texts), 1))
    return sp.csr_array(found), first


def _by_blocks(rows: Floats, threshold: float) -> Integers:
    """Compare each block of rows with the rows kept before it, and with itself."""
    single = rows.astype(np.float32)
    groups = np.arange(len(rows))
    kept = np.empty_like(single)
    numbers = np.empty(len(rows), dtype=np.int64)
    count = 0
    for start in range(0, len(rows), _BLOCK):
        span = np.arange(start, min(start + _BLOCK, len(rows)))
        step = max(1, _ENTRIES // len(span))
        for low in range(0, count, step):
            high = min(low + step, count)
            near = single[span] @ kept[low:high].T
            row, other = np.nonzero(near >= threshold - _SLACK)
            _assign(groups, _verified(rows, (span[row], numbers[low + other]), threshold))
        new = _first_within(rows, single, span[groups[span] == span], groups, threshold)
        kept[count : count + len(new)] = single[new]
        numbers[count : count + len(new)] = new
        count += len(new)
    return groups


def _first_within(
    rows: Floats, single: NDArray[np.float32], span: Integers, groups: Integers, threshold: float
) -> Integers:
    """Compare rows with each other; return those that are kept."""
    near = np.tril(single[span] @ single[span].T >= threshold - _SLACK, -1)
    row, other = np.nonzero(near)
    late, early = _verified(rows, (span[row], span[other]), threshold)
    for i, j in zip(late.tolist(), early.tolist(), strict=True):  # in the order of rows
        if groups[i] == i and groups[j] == j:
            groups[i] = j
    kept: Integers = span[groups[span] == span]
    return kept


def _verified(rows: Floats, pairs: Pairs, threshold: float) -> Pairs:
    """Return the pairs whose cosine in double precision reaches the threshold."""
    late, early = pairs
    true = np.empty(len(late), dtype=bool)
    step = max(1, _ENTRIES // rows.shape[1])
    for start in range(0, len(late), step):
        s = slice(start, start + step)
        cosines = np.einsum("ij,ij->i", rows[late[s]], rows[early[s]])
        true[s] = cosines >= threshold - _ROUNDING
    return late[true], early[true]


def _assign(groups: Integers, pairs: Pairs) -> None:
    """Give each row to the first row kept that is near, unless it has been given already."""
    late, early = pairs
    open_rows = groups[late] == late
    late, early = late[open_rows], early[open_rows]
    order = np.lexsort([early, late])
    rows, first = np.unique(late[order], return_index=True)
    groups[rows] = early[order][first]


def _sparse_pairs(rows: Any, threshold: float) -> Iterator[Pairs]:
    """Yield pairs of rows, the later one first, block by block."""
    others = rows.T.tocsc()
    for start in range(0, rows.shape[0], _BLOCK):
        block = rows[start : start + _BLOCK]
        near = sp.coo_array(block @ others[:, : start + block.shape[0]])
        late, early = near.coords
        wanted = (near.data >= threshold - _ROUNDING) & (early < late + start)
        order = np.lexsort([early[wanted], late[wanted]])
        yield late[wanted][order].astype(np.int64) + start, early[wanted][order].astype(np.int64)


def _first_of(rows: Any, pairs: Iterator[Pairs]) -> Integers:
    groups = np.arange(rows.shape[0])
    for late, early in pairs:
        for i, j in zip(late.tolist(), early.tolist(), strict=True):
            if groups[i] == i and groups[j] == j:
                groups[i] = j
    return groups


def _by_buckets(rows: Floats, threshold: float) -> Integers:
    """Compare rows with those kept before them in the same buckets, and within their block."""
    n = len(rows)
    single = rows.astype(np.float32)
    tables = [_Table.of(names) for names in _bucket_names(single, threshold)]
    groups = np.arange(n)
    block = _BLOCK // 2
    for start in range(0, n, block):
        span = np.arange(start, min(start + block, n))
        for table in tables:
            pairs = table.before(span[groups[span] == span], start, groups)
            _assign(groups, _verified(rows, pairs, threshold))
        _first_within(rows, single, span[groups[span] == span], groups, threshold)
    return groups


@dataclass(frozen=True)
class _Table:
    """Rows in the order of their buckets, and within a bucket in their own order."""

    order: Integers
    place: Integers  # of each row in that order
    first: Integers  # for each row the place where its bucket begins

    @classmethod
    def of(cls, names: Integers) -> _Table:
        order = np.argsort(names, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        begins = np.searchsorted(names[order], names)
        return cls(order, place, begins)

    def before(self, some: Integers, start: int, groups: Integers) -> Pairs:
        """Pair rows with those rows kept of their buckets whose numbers are below ``start``."""
        counts = self.place[some] - self.first[some]
        late = np.repeat(some, counts)
        steps = np.arange(len(late)) - np.repeat(np.cumsum(counts) - counts, counts)
        early = self.order[self.first[late] + steps]
        kept = (early < start) & (groups[early] == early)
        return late[kept], early[kept]


def _bucket_names(single: NDArray[np.float32], threshold: float) -> Iterator[Integers]:
    """Yield the buckets of all rows, table by table: signs of random projections."""
    n, d = single.shape
    bits = max(1, int(np.ceil(np.log2(max(2.0, n / _IN_A_BUCKET)))))
    equal = 1.0 - np.arccos(min(threshold, 1.0)) / np.pi  # probability of an equal sign
    tables = int(np.ceil(np.log(_MISSED) / np.log1p(-min(equal**bits, 0.999))))
    rng = np.random.default_rng(0)
    powers = 2 ** np.arange(bits, dtype=np.int64)
    for _ in range(tables):
        directions = rng.standard_normal((d, bits), dtype=np.float32)
        names = np.empty(n, dtype=np.int64)
        step = max(1, _ENTRIES // max(d, bits))
        for start in range(0, n, step):
            names[start : start + step] = (single[start : start + step] @ directions > 0) @ powers
        yield names
