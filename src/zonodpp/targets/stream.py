"""Projection DPPs of rows that are read batch by batch and never held in memory."""

from __future__ import annotations

import operator
from functools import cached_property, partial
from typing import NoReturn

import numpy as np

from zonodpp._arguments import as_count, as_items
from zonodpp._types import Floats, Integers, ItemsLike, Labels
from zonodpp.numerics.arrays import log_dets
from zonodpp.numerics.gram import DenseGram, RankError, from_gram, from_triangle, numerical_rank
from zonodpp.numerics.spectrum import need_directions
from zonodpp.targets import passes
from zonodpp.targets.batches import RowSource
from zonodpp.targets.labels import one_set
from zonodpp.targets.passes import RowMoments, View
from zonodpp.targets.projection import ProjectionDPP

_SAME = 1e-9  # relative difference that two sums of the same numbers may have
_SAFE = 1e-6  # relative size of eigenvalues of a scatter matrix that are known to ten digits


class StreamedDPP(ProjectionDPP):
    """The projection DPP of rows that are read in passes; made by `ProjectionDPP.from_features`.

    The first pass takes the Gram matrix of the rows, and a second one R of their QR factorisation
    where the Gram matrix would lose digits. Every further pass proposes rows for the exact sampler:
    see `propose`.

    Parameters
    ----------
    source : RowSource
        Where the rows come from.
    view : View, optional
        The features of the rows: the rows as they are (the default), or principal coordinates.
    ids : RowSource, optional
        Where the labels of the rows come from.

    Attributes
    ----------
    n, r : int
        Number of rows, and of items in a draw.
    source : RowSource
        Where the rows come from.

    See Also
    --------
    zonodpp.ProjectionDPP.from_features : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp import ProjectionDPP, sample
    >>> def batches():
    ...     rng = np.random.default_rng(0)
    ...     return (rng.normal(size=(1000, 5)) for _ in range(20))
    >>> target = ProjectionDPP.from_features(batches)
    >>> target
    StreamedDPP(r=5, n=20000, batches=20)
    >>> sample(target, 3, rng=0).subsets.shape
    (1, 3, 5)
    """

    source: RowSource
    _ids: RowSource | None
    _view: View
    _gram: DenseGram
    _fingerprint: Floats  # of `RowMoments`
    exact_draws = "passes"

    def __init__(
        self, source: RowSource, view: View | None = None, ids: RowSource | None = None
    ) -> None:
        view = View() if view is None else view
        moments = take_moments(source, view, centred=False)
        n, d = moments.rows, moments.mean.size
        if n < d:
            raise ValueError(
                f"there are {n} rows with {d} features: a draw of {d} out of {n} items is "
                f"impossible; pass rank=r for r < {n} items a draw"
            )
        gram = from_gram(moments.scatter)
        if gram is None:
            view, gram = _whiten_accurately(source, view, d)
        facts = {"_view": view, "_gram": gram, "_fingerprint": moments.fingerprint}
        self.__dict__.update(source=source, _ids=ids, n=n, r=len(gram.W), **facts)

    def __repr__(self) -> str:
        return f"StreamedDPP(r={self.r}, n={self.n}, batches={len(self._fingerprint)})"

    @cached_property
    def _starts(self) -> Integers:
        """The number of the first row of each batch."""
        return np.concatenate([[0], np.cumsum(self._fingerprint[:-1, 0])]).astype(np.int64)

    def propose(self, mean: float, seed: int) -> tuple[Integers, Floats]:
        """Pass over the rows and draw about ``mean`` of them from their leverage scores.

        Returns
        -------
        items, rows : (m,) and (m, r) arrays
            Independent draws in random order, and their rows after whitening. Their number m is
            Poisson distributed and says nothing about them.
        """
        task = partial(passes.propose_rows, self._view, self._gram.W, mean, seed)
        found = self.source.fold(task, operator.add, "drawing rows") or []
        _need_same(self._fingerprint, np.array([part.fingerprint for part in found]))
        numbers = (start + part.items for start, part in zip(self._starts, found, strict=True))
        items, rows = np.concatenate(list(numbers)), np.concatenate([part.rows for part in found])
        order = np.random.default_rng([seed]).permutation(len(items))
        return items[order], rows[order]

    def _features(self, items: Integers) -> Floats:
        """Fetch rows by number, and whiten them."""
        distinct, places = np.unique(items, return_inverse=True)
        batch = self.source.take(distinct, self._starts)
        blocks = [block.scaled() @ self._gram.W.T for block in self._view.blocks(0, batch)]
        return np.asarray(np.concatenate(blocks)[places.reshape(items.shape)])

    def rows_of(self, items: Integers) -> Floats:
        """Fetch rows by number, as they are stored.

        Parameters
        ----------
        items : (k,) array of int
            Numbers of rows.

        Returns
        -------
        (k, d) array
            The rows.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import ProjectionDPP
        >>> X = np.arange(20.0).reshape(10, 2) ** 2
        >>> ProjectionDPP.from_features(lambda: iter([X[:5], X[5:]])).rows_of(np.array([6]))
        array([[144., 169.]])
        """
        numbers = one_set(self, items, "items")
        return np.asarray(self.source.take(numbers, self._starts).rows, dtype=np.float64)

    def _log_probs(self, sets: Integers) -> Floats:
        return 2.0 * log_dets(self._features(sets))

    def marginals(self, items: ItemsLike | None = None) -> Floats:
        """Return the exact probabilities of the given rows, which are fetched.

        Parameters
        ----------
        items : (k,) array_like of int
            Numbers of rows.

        Returns
        -------
        (k,) array
            The probability that a draw holds each of them.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import ProjectionDPP
        >>> X = np.random.default_rng(0).normal(size=(10, 2))
        >>> target = ProjectionDPP.from_features(lambda: iter([X[:5], X[5:]]))
        >>> round(float(target.marginals(range(10)).sum()), 12)
        2.0
        """
        if items is None:
            raise ValueError(
                f"marginals of all {self.n:,} rows of a stream are not kept; pass the rows wanted: "
                "target.marginals(items)"
            )
        white = self._features(one_set(self, items, "items"))
        leverages: Floats = np.einsum("ij,ij->i", white, white)
        return np.clip(leverages, 0.0, 1.0)

    def labels_of(self, items: Integers) -> Labels:
        """Return the ids of these rows, which are fetched; without ids, their numbers."""
        if self._ids is None or self.labels is not None:
            return super().labels_of(items)
        items = as_items(items, self.n, "items")
        return list(self._ids.take(items, self._starts).rows[:, 0])

    @property
    def A(self) -> NoReturn:  # noqa: N802
        """Raise an error: the matrix is not in memory, so all that needs it is impossible."""
        raise ValueError(
            "this needs the whole matrix in memory, and the target reads its rows in passes; for "
            "exact draws use method='exact', for all else load the rows, as in "
            "ProjectionDPP.from_features(np.asarray(X))"
        )


def take_moments(source: RowSource, view: View, *, centred: bool) -> RowMoments:
    """Pass over the rows for their moments."""
    task = partial(passes.moments_of, view, centred)
    moments = source.fold(task, passes.merge_moments, "reading rows")
    if moments is None or not moments.rows:
        raise ValueError("the source has no rows")
    return moments


def take_triangle(source: RowSource, view: View) -> Floats:
    """Pass over the rows for R of their QR factorisation."""
    task, work = partial(passes.triangle_of, view), "reading rows for more digits"
    found = source.fold(task, passes.merge_triangles, work)
    assert found is not None
    return found


def principal_view(source: RowSource, rank: int) -> View:
    """Pass over the rows for the view along their leading principal directions."""
    rank = as_count(rank, "rank", 1)
    moments = take_moments(source, View(weighted=False), centred=True)
    n, d = moments.rows, moments.mean.size
    need_directions(rank, n, d, min(n - 1, d))
    directions, spread = directions_of_moments(source, moments, rank, weighted=False)
    need_directions(rank, n, d, len(spread))
    return View(moments.mean, directions)


def directions_of_moments(
    source: RowSource, moments: RowMoments, rank: int, *, weighted: bool
) -> tuple[Floats, Floats]:
    """Return the leading principal directions (d, rank), and the spread along each, or fewer.

    The directions are eigenvectors of the scatter matrix. Where this would lose too many digits,
    another pass factorises the centred rows.
    """
    rank = min(rank, moments.mean.size)
    values, vectors = np.linalg.eigh(moments.scatter)
    values, vectors = values[::-1], vectors[:, ::-1]
    if rank == 0 or values[rank - 1] > _SAFE * values[0]:
        spread = np.sqrt(values[:rank])
    else:
        R = take_triangle(source, View(moments.mean, weighted=weighted))
        _, spread, rows = np.linalg.svd(R)
        spread = spread[: min(rank, numerical_rank(spread))]
        vectors = rows.T
    return np.ascontiguousarray(vectors[:, : len(spread)]), spread


def _whiten_accurately(source: RowSource, view: View, d: int) -> tuple[View, DenseGram]:
    """Whiten rows that are nearly dependent: by R of a QR factorisation, then by a Gram matrix.

    Rows times R^{-1}, computed to more than double precision, span the same space, and their Gram
    matrix, which is close to the identity, corrects the rounding errors of R.
    """
    try:
        W = from_triangle(take_triangle(source, view)).W
    except RankError as error:
        raise ValueError(
            f"the rows have numerical rank {error.rank} but {d} columns, which must be linearly "
            f"independent. Ways out: pass rank={error.rank} (or less); drop columns that depend on "
            "others"
        ) from None
    view = view.times(W.T)
    gram = from_gram(take_moments(source, view, centred=False).scatter)
    if gram is None:
        raise ValueError("the rows are so nearly dependent that their law cannot be computed")
    return view, gram


def _need_same(before: Floats, now: Floats) -> None:
    """Raise an error if the source has other rows than in the first pass."""
    if len(before) != len(now):
        change = f"the source had {len(before)} batches in its first pass and {len(now)} now"
    else:
        apart = np.abs(before - now) > np.array([0.0, _SAME]) * np.abs(before)  # counts, sums
        if not apart.any():
            return
        k = int(np.argmax(apart.any(axis=1)))
        change = f"the rows of batch {k}, or their order, are not those of the first pass"
        if apart[k, 0]:
            (old, _), (new, _) = before[k], now[k]
            change = f"batch {k} had {old:.0f} rows in the first pass and {new:.0f} in this one"
    raise ValueError(
        f"{change}; the source must yield the same rows in the same order each time, also where "
        "several threads read it at once"
    )
