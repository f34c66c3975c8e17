"""`pick`: the best subset instead of a random one, in the order of the picks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zonodpp._arguments import as_count, as_flag, as_items, as_positive, one_of
from zonodpp._types import ItemsLike, MatrixLike
from zonodpp.best.arrays import Array, indices_like, is_foreign, namespace_of, real_array
from zonodpp.best.coverage import pick_covering
from zonodpp.best.farthest import Farthest
from zonodpp.best.greedy import pick_items
from zonodpp.best.passes import pick_in_passes, read_table_of
from zonodpp.best.problem import Problem, problem_of, unit_relevance
from zonodpp.best.swaps import exchanged
from zonodpp.best.volume import VolumeOfFeatures, pick_by_volume
from zonodpp.best.windows import WindowedFarthest, WindowedVolume, pick_windowed
from zonodpp.features.similarity import finite_rows
from zonodpp.numerics.kernel_function import KernelLike
from zonodpp.targets.batches import RowSource, source_of

OBJECTIVES = ("volume", "coverage", "farthest")
# The default ridge relative to the mean diagonal entry of the kernel.
_RIDGE = 0.1


def pick(
    features: MatrixLike | Array,
    k: int,
    *,
    relevance: ArrayLike | Array | None = None,
    given: ItemsLike | Array | None = None,
    kernel: KernelLike = "cosine",
    gamma: float | None = None,
    ridge: float | None = None,
    objective: str = "volume",
    window: int | None = None,
    swaps: int = 0,
    return_gains: bool = False,
) -> Array | tuple[Array, Array]:
    """Pick the best k items, which differ from each other, in the order of the picks.

    Items are picked one by one, each the best addition to those before it: the beginning of a list
    is the shorter list. Nothing is random. Equal gains go to the item of smaller index.

    The result is the same whatever the size of the problem: many items are not looked at in each
    step, but only if it is certain that they would not be picked.

    Parameters
    ----------
    features : (n, d) or (B, n, d) array_like, DataFrame or scipy.sparse matrix
        Items as rows, or a batch of B problems. An array of PyTorch, CuPy, JAX or another library
        that follows the array API standard is worked on where it lies. With
        ``kernel="precomputed"`` the kernel matrix, (n, n) or (B, n, n). A memory map, a path to
        Parquet, a Dask collection or a function that returns an iterator of batches of rows is read
        in passes, by kernels "cosine" and "linear".
    k : int
        How many.
    relevance : (n,) or (B, n) array_like, optional
        How good each item is, not negative. With features (n, d) and relevance (B, n) the B
        problems share their features.
    given : sequence of int, optional
        Items that are there already, for example those shown before, the last one at the end: they
        are not picked, nor is what is similar to them. (B, g) for a batch, filled up with -1.
    kernel : str or callable, default "cosine"
        How alike items are: "cosine", "linear", "rbf", "precomputed", another kernel of
        `zonodpp.features.similarity`, or a function of two arrays of rows that returns the block
        of the kernel.
    gamma : float, optional
        Inverse bandwidth for "rbf", by default that of `zonodpp.features.median_gamma`.
    ridge : float, optional
        For the objective "volume": what is added to the diagonal of the kernel, by default a tenth
        of the mean diagonal entry. With a ridge k may be larger than the rank of the kernel; a
        larger one lets relevance count for more, and differences for less.
    objective : {"volume", "coverage", "farthest"}
        With L = diag(q) S diag(q), for the relevance q and the kernel S:

        ``"volume"`` maximises det(L + ridge I) of the picks, as MAP inference of a DPP does: each
        pick is relevant, and not explained by those before it.

        ``"coverage"`` maximises the sum over all items of their similarity L to the most similar
        pick (facility location): picks stand for all items, as medoids do, and large groups get
        more of them. It reads the whole kernel, so its time grows with the square of n.

        ``"farthest"`` picks the item farthest from all picks, q times the distance in the geometry
        of the kernel: outliers and small groups come early.
    window : int, optional
        Items are repelled only by so many picks before them: for endless lists, where what was
        shown long ago may come back in another form.
    swaps : int, default 0
        For the objective "volume": after the picks, exchange at most so many items, as long as the
        determinant grows. The items are then in the order of greedy picks among themselves.
    return_gains : bool, default False
        Whether to return what each pick gained.

    Returns
    -------
    indices : (k,) or (B, k) array of int
        Of the library of the features, and on their device.
    gains : (k,) or (B, k) array
        With ``return_gains=True``: what each pick added to the coverage; its squared distance,
        times the square of its relevance, from the nearest pick (infinite for the first); or the
        factor by which it multiplied the determinant, so that the sum of their logarithms is
        log det(L + ridge I) of the picks, given the items that were given.

    Raises
    ------
    ValueError
        When there are fewer than k items that are not given, or fewer than the rank with
        ``ridge=0``.

    See Also
    --------
    find_map : The most likely subset of a target, with exchanges.
    sample : Random subsets.
    zonodpp.apps.shortlist : Relevant and diverse items at a level of relevance.

    References
    ----------
    L. Chen, G. Zhang, E. Zhou, "Fast greedy MAP inference for determinantal point process to
    improve recommendation diversity", NeurIPS 2018.

    M. Minoux, "Accelerated greedy algorithms for maximizing submodular set functions",
    Optimization Techniques (1978).

    T. F. Gonzalez, "Clustering to minimize the maximum intercluster distance", Theoretical Computer
    Science 38 (1985).

    Examples
    --------
    >>> from zonodpp import pick
    >>> rows = [[5.0, 0.0, 0.0], [4.0, 0.1, 0.0], [0.0, 1.0, 0.0], [3.0, 3.0, 3.0]]
    >>> pick(rows, 3)  # only directions count: rows 0 and 1 are nearly the same
    array([0, 2, 3])
    >>> pick(rows, 2, relevance=[0.5, 1.0, 0.1, 0.9])
    array([1, 3])
    >>> pick(rows, 1, given=[2])
    array([0])
    """
    as_flag(return_gains, "return_gains")
    goal = _Goal(
        as_count(k, "k", 0),
        kernel,
        gamma,
        None if ridge is None else as_positive(ridge, "ridge", or_zero=True),
        one_of(objective, "objective", OBJECTIVES),
        None if window is None else as_count(window, "window", 1),
        as_count(swaps, "swaps", 0),
    )
    goal.check()
    stream = source_of(features, None, None, None)
    if stream is not None:
        picks, gains = _reach_in_passes(goal, stream[0], relevance, given)
        return _answer(np.zeros(0), picks, gains, return_gains)
    X = (
        finite_rows(features, "features")
        if hasattr(features, "tocsr")
        else real_array(features, "features")
    )
    if X.ndim not in (2, 3) or 0 in X.shape:
        raise ValueError(
            "features must have a row for each item, in 2 dimensions, or in 3 for a batch of "
            f"problems, and not be empty; got an array of shape {tuple(X.shape)}"
        )
    q = None if relevance is None else _relevance_of(relevance, X, X.shape[-2])
    like = np.zeros(0) if hasattr(X, "tocsr") else X
    with np.errstate(over="ignore", invalid="ignore"):  # noticed, and then computed otherwise
        if X.ndim == 2 and (q is None or q.ndim == 1):
            shown = _given_items(given, X.shape[0], None)[0]
            return _answer(like, *goal.reach(X, q, shown), return_gains)
        return _reach_each(goal, X, q, given, like, return_gains)


@dataclass(frozen=True)
class _Goal:
    """What to pick, checked."""

    k: int
    kernel: KernelLike
    gamma: float | None
    ridge: float | None
    objective: str
    window: int | None
    swaps: int

    def check(self) -> None:
        """Raise if two options exclude each other."""
        if self.ridge is not None and self.objective != "volume":
            raise ValueError("ridge= is for objective='volume'; leave it out")
        if self.swaps and (self.objective != "volume" or self.window is not None):
            raise ValueError("swaps= is for objective='volume' without window=; leave it out")
        if self.window is not None and self.objective == "coverage":
            raise ValueError("window= is for objective='volume' or 'farthest'; leave it out")

    def check_count(self, n: int, given: int) -> None:
        """Raise if there are too few items."""
        if self.k > n - given:
            there = f"{n - given} items" + (" that are not given" if given else "")
            raise ValueError(f"k = {self.k} items asked for, but there are {there}; pass fewer")

    def reach(self, X: Any, q: Array | None, given: list[int]) -> tuple[list[int], list[Array]]:
        """Solve one problem: return the picks and their gains."""
        problem = problem_of(X, q, self.kernel, self.gamma)
        self.check_count(X.shape[0], len(given))
        if self.k == 0:
            return [], []
        if self.objective == "farthest":
            picks, gains = self._farthest(problem, given)
        elif self.objective == "coverage":
            picks, gains = pick_covering(problem.weighted(), self.k, given)
        else:
            picks, gains = self._volume(problem, given)
        scale = problem.top * problem.top
        return picks, gains if scale == 1.0 else [gain * scale for gain in gains]

    def _farthest(self, problem: Problem, given: list[int]) -> tuple[list[int], list[Array]]:
        items, q = problem.items, problem.relevance
        xp = namespace_of(items.diagonal)
        weights = xp.ones_like(items.diagonal) if q is None else q * q
        if self.window is not None:
            return pick_windowed(WindowedFarthest(items, self.window, weights), self.k, given)
        objective = Farthest()
        first = objective.first_level(items, weights, float(xp.max(items.diagonal)))
        return pick_items(objective, first, self.k, given)

    def _volume(self, problem: Problem, given: list[int]) -> tuple[list[int], list[Array]]:
        items = problem.weighted()
        if self.ridge is None:
            ridge = _RIDGE * float(namespace_of(items.diagonal).mean(items.diagonal))
        else:
            ridge = self.ridge / (problem.top * problem.top)
        if self.window is not None:
            return pick_windowed(WindowedVolume(items, self.window, ridge), self.k, given)
        picks, gains = pick_by_volume(items, self.k, given, ridge)
        if not self.swaps:
            return picks, gains
        return exchanged(items, picks, given, ridge, self.swaps)


def _reach_in_passes(
    goal: _Goal,
    source: RowSource,
    relevance: ArrayLike | Array | None,
    given: ItemsLike | Array | None,
) -> tuple[list[int], list[Array]]:
    """Solve a problem whose rows are read in passes."""
    if goal.kernel not in ("cosine", "linear") or goal.objective == "coverage":
        raise ValueError(
            "rows that are read in passes have kernel='cosine' or 'linear', and objective='volume' "
            "or 'farthest'; load them as one array for anything else"
        )
    if goal.window is not None or goal.swaps:
        raise ValueError("window= and swaps= need the rows in memory; load them as one array")
    table = read_table_of(source, str(goal.kernel))
    n = table.rows
    shown = _given_items(given, n, None)[0]
    goal.check_count(n, len(shown))
    q, top = None, 1.0
    if relevance is not None:
        q, top = unit_relevance(_relevance_of(relevance, np.zeros((n, 1)), n))
    if not goal.k:
        return [], []
    own = [d if q is None else d * q[a:b] ** 2 for d, a, b in table.spans()]
    largest = max(float(diagonal.max(initial=0.0)) for diagonal in own)
    ridge = _RIDGE * sum(map(np.sum, own)) / n if goal.ridge is None else goal.ridge / (top * top)
    if goal.objective == "farthest":
        objective: Farthest | VolumeOfFeatures = Farthest()
    else:
        like = table.items(np.zeros(1, dtype=np.int64)).rows
        objective = VolumeOfFeatures(like, goal.k + len(shown), float(ridge), largest)
    picks, gains = pick_in_passes(table, objective, q, goal.k, shown)
    return picks, [gain * (top * top) for gain in gains]


def _reach_each(
    goal: _Goal,
    X: Any,
    q: Array | None,
    given: ItemsLike | Array | None,
    like: Array,
    return_gains: bool,
) -> Any:
    """Solve problems one after the other; stack what was picked."""
    count = X.shape[0] if q is None or X.ndim == 3 else q.shape[0]
    if q is not None and q.ndim == 2 and q.shape[0] != count:
        raise ValueError(
            f"relevance must have a row for each of the {count} problems, got {q.shape[0]} rows"
        )
    shown = _given_items(given, X.shape[-2], count)
    answers = []
    for number in range(count):
        features = X[number, ...] if X.ndim == 3 else X
        of = q if q is None or q.ndim == 1 else q[number, :]
        answers.append(_answer(like, *goal.reach(features, of, shown[number]), True))
    xp = namespace_of(like)
    indices, gains = (xp.stack(parts) for parts in zip(*answers, strict=True))
    return (indices, gains) if return_gains else indices


def _answer(
    like: Array, picks: list[int], gains: list[Array], return_gains: bool
) -> Array | tuple[Array, Array]:
    indices = indices_like(like, picks)
    if not return_gains:
        return indices
    xp = namespace_of(like)
    none = xp.zeros(0, dtype=like.dtype, device=like.device)
    return indices, xp.stack(gains) if gains else none


def _relevance_of(relevance: ArrayLike | Array, X: Any, n: int) -> Array:
    """Return relevance as an array of the library, type and device of the features."""
    q = real_array(relevance, "relevance")
    if q.ndim not in (1, 2) or q.shape[-1] != n:
        raise ValueError(
            f"relevance must have one entry for each of the {n} items, or for each problem of a "
            f"batch a row of them; got shape {tuple(q.shape)}"
        )
    if not is_foreign(X):
        if is_foreign(q):
            raise TypeError(
                f"relevance is a {type(q).__module__} array and features are not: pass both as "
                "arrays of one library"
            )
        return q if hasattr(X, "tocsr") else np.asarray(q, dtype=X.dtype)
    xp = namespace_of(X)
    if is_foreign(q):
        if namespace_of(q) is not xp or q.device != X.device:
            raise TypeError(
                f"features are a {type(X).__module__} array on {X.device}, relevance is a "
                f"{type(q).__module__} array on {q.device}; bring both to one library and device"
            )
        return xp.astype(q, X.dtype)
    return xp.asarray(q, dtype=X.dtype, device=X.device)


def _given_items(given: ItemsLike | Array | None, n: int, count: int | None) -> list[list[int]]:
    """Return the given items of each problem; those of a batch may be filled up with -1."""
    numbers: Any = given
    if is_foreign(given) and hasattr(given, "tolist"):  # it may lie on a device
        numbers = numbers.tolist()
    filled = count is not None and np.ndim(numbers) == 2
    items = as_items(() if numbers is None else numbers, n, "given", filled=filled)
    if items.ndim > 2 or (items.ndim == 2 and len(items) != count):
        raise ValueError(
            "given must be a list of item numbers or, for a batch, one row for each problem; got "
            f"shape {items.shape}"
        )
    rows = items if items.ndim == 2 else items[None, :].repeat(count or 1, axis=0)
    return [row[row >= 0].tolist() for row in rows]
