"""What every target has in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp.numerics.threads import one_thread
from zonodpp.targets.labels import LabelledItems, include_and_exclude

if TYPE_CHECKING:
    import networkx as nx

    from zonodpp._types import Floats, Integers, ItemsLike
    from zonodpp.targets.graphs import Graph

_FEW_SETS = 64  # sets of one item, beyond which computing the marginals of all items is faster
_MOST_PREPARED = 8  # samplers that a target keeps, by methods with their options
_MOST_FEATURES = 6000  # of an item; those of larger graphs are never computed (`SpanningTrees`)
Header = dict[str, Any]  # of a stored target; JSON holds it, once its labels are encoded
Arrays = dict[str, NDArray[Any]]


class Objective(NamedTuple):
    """What `find_map` maximises: det (features features' + ridge I)_S over sets S of k items.

    The log weight of a set is ``power / 2`` times the sum of ``log_factor`` and the log of that
    determinant. If ``of_features``, it is det (features_S' features_S) instead, for k of at least
    the number of features.
    """

    features: Floats
    log_factor: float
    power: float = 2.0
    of_features: bool = False


class Few(dict[Hashable, Any]):
    """A dict of the last few things that were put into it."""

    def __setitem__(self, key: Hashable, value: Any) -> None:
        super().__setitem__(key, value)
        while len(self) > _MOST_PREPARED:
            self.pop(next(iter(self)), None)


class Target(LabelledItems):
    """A law on subsets of n items, numbered from 0 and perhaps labelled; it never changes.

    All targets are of subclasses; the guide to methods and targets of your own shows how to write
    one.

    Attributes
    ----------
    n, r : int
        Number of items, and the number of items of a draw; for a `DPP` or `KDPP`, the rank of the
        kernel, which no draw exceeds. `sizes` has the numbers of items that a draw can hold.
    power : float
        2 for determinantal point processes.
    weights : (n,) array or None
        Item weights; None when all items count the same.
    labels : sequence or None
        Names of the items.
    graph : Graph or None
        The edges, if draws are spanning trees.

    See Also
    --------
    zonodpp.chains.Method : What prepares a sampler for a target.

    Examples
    --------
    >>> from zonodpp import KDPP, ProjectionDPP
    >>> from zonodpp.targets import Target
    >>> isinstance(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), Target)
    True
    >>> target = KDPP([[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]], 2)
    >>> target.r, target.sizes
    (3, range(2, 3))
    """

    r: int
    power: float = 2.0
    weights: Floats | None = None
    graph: Graph | None = None
    # How exact draws are made: from a "projection", from a "mixture" of projections that
    # eigenvectors span, of a "design", or by "passes" over rows.
    exact_draws: str = "projection"
    _size: str = "r"  # the name of the size of draws, if all draws have one size
    methods: tuple[str, ...] = ("exact",)  # for "auto", see `best_method`

    @cached_property
    def sizes(self) -> range:
        """Numbers of items that a draw can hold."""
        return range(self.r, self.r + 1)

    @property
    def sizes_vary(self) -> bool:
        """Whether draws differ in size."""
        return len(self.sizes) > 1

    @property
    def expected_size(self) -> float:
        """Mean number of items in a draw."""
        return float(self.sizes[-1])

    @property
    def has_inclusion(self) -> bool:
        """Whether `inclusion` and `marginals` are known, and `log_prob` is normalised."""
        return self.power == 2

    @property
    def has_quick_inclusion(self) -> bool:
        """Whether `inclusion` takes little time beside the draws."""
        return self.has_inclusion

    @cached_property
    def prepared(self) -> Few:
        """What methods have prepared for this target: they take it from here, or put it here."""
        return Few()

    def __getstate__(self) -> dict[str, Any]:
        """Leave what was prepared behind: a copy of the target prepares it anew."""
        return {name: part for name, part in vars(self).items() if name != "prepared"}

    def on_bases(self, method: str) -> Target:
        """Return the law on bases on which chains for this target walk; errors name ``method``."""
        return self

    @classmethod
    def _make(cls, *parts: Any, **more: Any) -> Self:
        """Make a target from what its method `_set` takes."""
        target = cls.__new__(cls)
        target._set(*parts, **more)
        return target

    def _set(self, *parts: Any, **more: Any) -> None:
        raise NotImplementedError

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a target is immutable; make a new one instead of setting .{name}")

    def log_prob(self, B: ItemsLike) -> Floats:
        """Return log probabilities of sets: normalised for power 2, up to a constant otherwise.

        Parameters
        ----------
        B : (..., k) array_like of int
            One set, or an array of sets. For a `DPP` or `KDPP`, rows of fewer items are filled up
            with -1, as in `Samples.subsets`.

        Returns
        -------
        float, or (...) array for an array of sets
            Minus infinity for sets that are never drawn.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import KDPP, ProjectionDPP
        >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
        >>> pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
        >>> round(float(np.exp(target.log_prob(pairs)).sum()), 12)
        1.0
        >>> np.exp(KDPP(np.diag([1.0, 2.0, 3.0]), 2).log_prob([[0, 1], [0, 2], [1, 2]])).round(3)
        array([0.182, 0.273, 0.545])
        """
        return self._of_each(self._log_probs, self._draws(B))

    def inclusion(self, S: ItemsLike) -> Floats:
        """Return the exact probability that all items of S are in the draw: det K_S for DPPs.

        Parameters
        ----------
        S : (..., k) array_like of int
            One set of items, or an array of sets of the same size.

        Returns
        -------
        float, or (...) array for an array of sets
            From 0 to 1.

        Raises
        ------
        ValueError
            For powers other than 2, for which no closed form is known.

        References
        ----------
        G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
        projection DPPs", ICML 2017, equation (1).

        Examples
        --------
        >>> from zonodpp import DPP, ProjectionDPP
        >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
        >>> round(float(target.inclusion([0, 1])), 4)
        0.0286
        >>> round(float(DPP(L=[[1.0, 0.0], [0.0, 3.0]]).inclusion([0, 1])), 12)
        0.375
        """
        self._need_power_two("inclusion(S)")
        sets = self.items(S)
        # Every draw contains the empty set, and no draw a set larger than the largest draw.
        if not 0 < sets.shape[-1] <= self.sizes[-1]:
            return np.full(sets.shape[:-1], float(sets.shape[-1] == 0))[()]
        if sets.shape[-1] == 1 and sets.size > _FEW_SETS and self.exact_draws != "passes":
            return self.marginals()[sets[..., 0]]
        return np.clip(self._of_each(self._inclusions, sets), 0.0, 1.0)

    def _of_each(self, compute: Callable[[Integers], Floats], sets: Integers) -> Floats:
        """Apply a function of rows of items to an array of sets, not too many at a time."""
        size = sets.shape[-1]
        flat = sets.reshape(math.prod(sets.shape[:-1]), size)
        # At most 2**21 features at a time, 16 MiB.
        step = max(1, 2**21 // max(1, size * min(self.r, _MOST_FEATURES)))
        with one_thread(size * self.r**2):  # of determinants, one after another
            parts = [compute(flat[k : k + step]) for k in range(0, len(flat), step)]
        return np.concatenate([np.zeros(0), *parts]).reshape(sets.shape[:-1])[()]

    def _draws(self, B: ItemsLike) -> Integers:
        """Return the numbers of the items of draws."""
        sets = self.items(B, "B")
        size = sets.shape[-1]
        if size != self.r:
            raise ValueError(f"a draw of this target has {self._size} = {self.r} items, got {size}")
        return sets

    def _log_probs(self, sets: Integers) -> Floats:
        """Return the log probabilities of rows of items."""
        raise NotImplementedError

    def _inclusions(self, sets: Integers) -> Floats:
        """Return the determinants of the kernel K = X X' for rows of items."""
        rows = self._features(sets)
        return np.asarray(np.linalg.det(rows @ np.swapaxes(rows, -1, -2)))

    def _features(self, items: Integers) -> Floats:
        """Return the rows of X, where X X' is the kernel K, for an array of items."""
        raise NotImplementedError

    def _need_power_two(self, what: str) -> None:
        if not self.has_inclusion:
            raise ValueError(
                f"{what} is known in closed form for power 2 only (here power={self.power:g}); "
                "estimate it from draws: sample(target).inclusion(S), .marginals()"
            )

    def marginals(self) -> Floats:
        """Return the exact probability of each item.

        Returns
        -------
        (n,) array
            P(i in B), from 0 to 1.

        Raises
        ------
        ValueError
            For powers other than 2, for which no closed form is known.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP
        >>> ProjectionDPP([[1, 0, 1], [0, 1, 1]]).marginals().round(3)
        array([0.667, 0.667, 0.667])
        """
        raise NotImplementedError

    def size_to_maximise(self, k: int | None, ridge: float) -> int | None:
        """Check the arguments of `find_map`; return the number of items, None if it is free."""
        if ridge and self.exact_draws != "mixture":
            raise ValueError("a ridge is for DPP and KDPP; leave it out")
        [size] = self.sizes  # a target whose draws differ in size has its own version of this
        if k not in (None, size):
            raise ValueError(f"draws of this target have {self._size} = {size} items, got k = {k}")
        return size

    def objective(self, k: int | None, ridge: float) -> Objective:
        """Return what `find_map` maximises."""
        raise NotImplementedError

    def known_maximum(self) -> tuple[Integers, float] | None:
        """Return the most likely set and its log weight where an algorithm finds it exactly."""
        return None

    def stored(self) -> tuple[Header, Arrays]:
        """Return what a file holds of the target: a header, with its labels, and arrays."""
        raise NotImplementedError

    @classmethod
    def restored(cls, header: Header, arrays: Arrays) -> Self:
        """Make the target that `stored` took apart, after checks of what a file may hold."""
        raise NotImplementedError

    def to_networkx(self, edges: ArrayLike) -> nx.Graph:
        """Return one draw as a networkx tree, for targets made by `ProjectionDPP.from_graph`.

        Parameters
        ----------
        edges : (r,) array_like of int
            Numbers of the edges of a draw.

        Returns
        -------
        networkx.Graph
            All nodes, and the drawn edges with their weights.

        Raises
        ------
        ValueError
            When the target was not made from a graph.

        Examples
        --------
        >>> import networkx as nx
        >>> from zonodpp import ProjectionDPP, sample
        >>> target = ProjectionDPP.from_graph(nx.cycle_graph("abcd"))
        >>> nx.is_tree(target.to_networkx(sample(target, 1, rng=0)[0]))
        True
        """
        raise ValueError("only draws from targets of ProjectionDPP.from_graph are networkx trees")

    def condition(self, include: ItemsLike = (), exclude: ItemsLike = ()) -> Self:
        """Return the law of a draw given that it holds some items and does not hold others.

        Parameters
        ----------
        include : list of items
            Items that are in every draw of the new target, by number or label; see `items`.
        exclude : list of items
            Items that are in none.

        Returns
        -------
        target
            Of the same kind, with the same n items under the same numbers and labels, so that
            every method applies. The ``A`` of a projection DPP is in other coordinates. In a
            kernel, an included item has an eigenvector of its own with infinite eigenvalue.

        Raises
        ------
        ValueError
            When no draw but the empty one meets the condition, and for a `Design`.

        Examples
        --------
        >>> from zonodpp import DPP, ProjectionDPP
        >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
        >>> target.condition(include=[0], exclude=[2]).marginals().round(3)
        array([1. , 0.5, 0. , 0.5])
        >>> target = DPP(L=[[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]])
        >>> target.condition(include=[0], exclude=[2]).marginals().round(3)
        array([1.   , 0.429, 0.   ])
        """
        with one_thread(self.r**2 * self.n):
            return self._given(*include_and_exclude(self, include, exclude))

    def _given(self, include: Integers, exclude: Integers) -> Self:
        """Return the law given items, which have been checked, that are in and that are not."""
        raise NotImplementedError
