"""Coresets: a few rows that stand for all rows of a source of any size.

For coverage, each batch of rows keeps the picks of the farthest-point rule (Gonzalez, 1985); what
batches keep is joined, and thinned by the same rule whenever it is too much for memory. At the end
the rule picks k rows of what is left, and a second pass gives each row to the nearest of them. The
rule on parts of the rows, and then on what the parts keep, is at most a constant factor from the
best radius (Malkomes et al., 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zonodpp._arguments import as_count, check_finite, one_of, spawn
from zonodpp._types import Floats, Integers, SeedLike
from zonodpp.apps.tables import rows_of
from zonodpp.best import pick
from zonodpp.numerics.arrays import row_chunks
from zonodpp.targets.batches import Batch, RowSource

OBJECTIVES = ("coverage", "volume", "trace")
Reals = NDArray[Any]  # float32 or float64

# Entries of the rows that several batches keep together: 64 MiB as float64. More are thinned.
_MEMORY = 2**23
_PAIRS = 2**21  # distances that are computed at a time
_AT_A_TIME = 256  # candidates of which several are picked at a time
_SHARE = 0.8  # of the largest distance: rows at least so far are picked at a time
_TIE = 64.0  # roundings of squares of entries up to which a distance counts as zero
# Squares of larger or smaller distances leave the range of the type: largest, smallest.
_RANGE = {np.float32: (1e17, 1e-17), np.float64: (1e150, 1e-140)}


@dataclass(frozen=True)
class Coreset:
    """Rows that stand for all rows of a source.

    Attributes
    ----------
    indices : (k,) array of int
        The rows picked, in the order of the picks.
    weights : (k,) array
        How many rows each one stands for: those to which it is the nearest.
    radius : float
        The largest distance of a row from the nearest row picked.
    rows : (k, d) array
        The rows picked.

    See Also
    --------
    coreset : The function that makes it.

    Examples
    --------
    >>> from zonodpp.apps import coreset
    >>> found = coreset([[0.0], [1.0], [9.0], [10.0], [10.5]], 2)
    >>> found.indices.tolist(), found.weights.tolist(), found.radius
    ([0, 4], [2.0, 3.0], 1.5)
    """

    indices: Integers
    weights: Floats
    radius: float
    rows: Reals

    def __len__(self) -> int:
        return len(self.indices)


def coreset(
    source: Any,
    k: int,
    *,
    objective: str = "coverage",
    columns: list[str] | str | None = None,
    rng: SeedLike = None,
) -> Coreset:
    """Pick k rows that stand for all rows, and say how many rows each of them stands for.

    Distances are Euclidean, in the columns as they are: bring columns of different units to one
    scale first (`zonodpp.features.standardize`).

    Parameters
    ----------
    source : (n, d) array_like, table, path, Dask collection or function
        The rows: an array, a memory map, a sparse matrix, a table of pandas, polars or Arrow, the
        path of a .npy file or of Parquet, a Dask array or dataframe, or a function that returns an
        iterator of batches. Rows that are not in memory are read in passes and never all at once;
        on Dask, batches are tasks, and the answer does not depend on the workers.
    k : int
        How many rows, at most as many as there are. Copies of a row are picked only when there are
        fewer distinct rows.
    objective : {"coverage", "volume", "trace"}
        ``"coverage"`` makes the radius small: every group of rows gets a pick before a large group
        gets many, and so do outliers. Two passes; nothing is random.

        ``"volume"`` makes det(X_S X_S' + ridge I) large, by the picks of `zonodpp.pick` with the
        kernel "linear": long rows in different directions. It takes more passes; nothing is random.

        ``"trace"`` makes the mean error small that rows leave of an rbf kernel, or of the mean
        squared distance: large groups get more picks. The search looks at a random sample of the
        rows. Three passes.
    columns : list of names, or one name, optional
        The columns of a table that count; None: all. A column of lists of numbers, such as an
        embedding, stands for as many columns as its lists are long.
    rng : seed or Generator, optional
        For the sample of ``objective="trace"``.

    Returns
    -------
    Coreset
        With ``indices``, ``weights``, ``radius`` and ``rows``.

    Raises
    ------
    ValueError
        When there are fewer than k rows.

    See Also
    --------
    LandmarkSelector : The rows as landmarks of a kernel, in the manner of scikit-learn.
    zonodpp.pick : The same picks with relevance, and with items that are given.

    References
    ----------
    T. F. Gonzalez, "Clustering to minimize the maximum intercluster distance", Theoretical Computer
    Science 38 (1985).

    G. Malkomes, M. J. Kusner, W. Chen, K. Q. Weinberger, B. Moseley, "Fast distributed k-center
    clustering with outliers on massive data", NeurIPS 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.apps import coreset
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(990, 5)), 20 + rng.normal(size=(10, 5))])
    >>> found = coreset(X, 5)
    >>> float(found.weights.sum()), float(found.weights[found.indices >= 990].sum())
    (1000.0, 10.0)
    """
    k = as_count(k, "k", 1)
    one_of(objective, "objective", OBJECTIVES)
    rows = rows_of(source, columns, "source")
    if objective == "coverage":
        return cover(rows, k)
    if objective == "volume":
        indices = np.asarray(pick(rows, k, kernel="linear"), dtype=np.int64)
        return _weighed(rows, indices, rows.take(indices).rows)
    from zonodpp.apps.coresets_by_trace import pick_by_trace

    [generator] = spawn(rng, purpose="coreset")
    return _weighed(rows, *pick_by_trace(rows, k, generator))


class _Kept(NamedTuple):
    """The rows that consecutive batches keep."""

    rows: Reals
    batches: Integers  # for each row the number of its batch
    places: Integers  # and its place there
    lengths: dict[int, int]  # rows of each batch


def cover(source: RowSource, k: int) -> Coreset:
    """Pick k rows by the farthest-point rule, batch by batch, and weigh them."""
    found = source.fold(partial(_keep_far, k), partial(_join, k), "picking")
    there = 0 if found is None else sum(found.lengths.values())
    check_count(k, there)
    assert found is not None
    kept = _thinned(found, k, 1.0) if len(found.rows) > k else found
    starts = np.concatenate(
        [[0], np.cumsum([length for _, length in sorted(kept.lengths.items())])]
    )
    return _weighed(source, starts[kept.batches] + kept.places, kept.rows)


def check_count(k: int, there: int) -> None:
    """Raise if there are fewer than k rows of positive weight."""
    if k > there:
        raise ValueError(f"k = {k} rows asked for, but there are {there}; pass a smaller k")


def _keep_far(k: int, number: int, batch: Batch) -> _Kept:
    rows, weights = numbers_of_batch(number, batch)
    places = np.arange(len(rows)) if weights is None else np.flatnonzero(weights)
    kept = _Kept(rows[places], np.full(len(places), number), places, {number: len(rows)})
    return _thinned(kept, k) if len(places) > k else kept


def _join(k: int, a: _Kept, b: _Kept) -> _Kept:
    if a.rows.shape[1] != b.rows.shape[1] and len(a.rows) and len(b.rows):
        raise ValueError(
            f"batches of source have {a.rows.shape[1]} and {b.rows.shape[1]} columns; let all have "
            "the same"
        )
    parts = [kept.rows for kept in (a, b) if len(kept.rows)] or [a.rows]
    kept = _Kept(
        np.concatenate(parts),
        np.concatenate([a.batches, b.batches]),
        np.concatenate([a.places, b.places]),
        a.lengths | b.lengths,
    )
    # Thinning loses quality, so it is done as rarely as memory allows.
    return _thinned(kept, k) if kept.rows.size > _MEMORY and len(kept.rows) > 2 * k else kept


def _thinned(kept: _Kept, k: int, share: float = _SHARE) -> _Kept:
    """Keep k rows that are far apart, in the order of the picks."""
    centred = kept.rows - kept.rows.mean(axis=0, dtype=np.float64).astype(kept.rows.dtype)
    places = far_apart(centred, k, share)
    return _Kept(kept.rows[places], kept.batches[places], kept.places[places], kept.lengths)


def far_apart(rows: Reals, k: int, share: float) -> Integers:
    """Pick k rows, each at least ``share`` times as far from all before it as any row is.

    Several rows are picked at a time among those that are far enough, so that distances to them are
    one matrix product. With a share of 1 these are the picks of Gonzalez. The origin must be near.
    """
    squares = np.einsum("ij,ij->i", rows, rows)
    none = _TIE * np.finfo(rows.dtype).eps * float(squares.max())  # rounding of a distance of zero
    picks = [0]
    left = np.full(len(rows), np.inf, dtype=rows.dtype)
    new = picks
    while True:
        apart = rows @ (-2.0 * rows[new]).T
        apart += squares[new]
        np.minimum(left, apart.min(axis=1) + squares, out=left)
        left[new] = -np.inf
        if len(picks) >= k:
            return np.asarray(picks, dtype=np.int64)
        most = float(left.max())
        if most <= none:  # all others are copies
            others = np.flatnonzero(left > -np.inf)
            return np.concatenate([picks, others[: k - len(picks)]]).astype(np.int64)
        new = _far_among(rows, squares, left, share * share * most, k - len(picks))
        picks = picks + new


def _far_among(rows: Reals, squares: Reals, left: Reals, least: float, most: int) -> list[int]:
    """Pick rows whose squared distance from all others picked is at least ``least``."""
    places = np.flatnonzero(left >= least)
    if len(places) > _AT_A_TIME:
        first = np.argmax(left[places])
        spread = np.linspace(0, len(places) - 1, _AT_A_TIME).astype(np.int64)
        places = places[np.union1d(spread, first)]
    some = rows[places]
    apart = some @ (-2.0 * some).T
    apart += squares[places]
    apart += squares[places][:, None]
    near, found = left[places], list[int]()
    while len(found) < most:
        place = int(np.argmax(near))
        if near[place] < least:
            break
        found.append(int(places[place]))
        np.minimum(near, apart[place], out=near)
        near[place] = -np.inf
    return found


def numbers_of_batch(number: int, batch: Batch) -> tuple[Reals, Floats | None]:
    """Return rows as finite floats whose squares are finite too, and their weights."""
    rows = np.asarray(batch.rows)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    check_finite(rows, f"batch {number} of source")
    largest, smallest = _RANGE[rows.dtype.type]
    size = float(np.abs(rows).max(initial=0.0))
    if size > largest or 0.0 < size < smallest:
        raise ValueError(
            f"batch {number} of source has entries up to {size:.3g} in size, whose squares leave "
            f"the range of {rows.dtype}; bring the columns to a scale between {smallest:g} and "
            f"{largest:g}"
        )
    if batch.weights is None:
        return rows, None
    weights = np.asarray(batch.weights, dtype=np.float64)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(f"the weights of batch {number} must be finite and not negative")
    return rows, weights


class _Shares(NamedTuple):
    weights: Floats  # of the rows that are nearest to each pick
    radius: float


def _weighed(source: RowSource, indices: Integers, rows: Reals) -> Coreset:
    """Give each row of the source to the nearest of the rows picked."""
    if rows.dtype not in (np.float32, np.float64):
        rows = np.asarray(rows, dtype=np.float64)
    shares = source.fold(partial(_share, rows), _add_shares, "weighing")
    assert shares is not None
    return Coreset(indices, shares.weights, shares.radius, rows)


def _share(picks: Reals, number: int, batch: Batch) -> _Shares:
    rows, weights = numbers_of_batch(number, batch)
    if not len(rows):
        return _Shares(np.zeros(len(picks)), 0.0)
    nearest, radius = nearest_of(rows, picks)
    shares = np.bincount(nearest, weights, minlength=len(picks)).astype(np.float64)
    if weights is not None:
        radius = radius[weights > 0]
    return _Shares(shares, float(radius.max(initial=0.0)))


def _add_shares(a: _Shares, b: _Shares) -> _Shares:
    return _Shares(a.weights + b.weights, max(a.radius, b.radius))


def nearest_of(rows: Reals, picks: Reals) -> tuple[Integers, Floats]:
    """Return for each row the nearest pick, and its distance, which is computed exactly."""
    dtype = np.result_type(rows, picks)
    centre = picks.mean(axis=0, dtype=np.float64).astype(dtype)
    moved = (picks - centre).astype(dtype)
    squares = np.einsum("ij,ij->i", moved, moved)
    nearest = np.empty(len(rows), dtype=np.int64)
    distances = np.empty(len(rows))
    for span, block in row_chunks(rows, max(1, _PAIRS // max(len(picks), picks.shape[1]))):
        apart = (block - centre) @ moved.T
        apart *= -2.0
        apart += squares
        nearest[span] = np.argmin(apart, axis=1)
        difference = block - picks[nearest[span]]
        distances[span] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return nearest, distances
