"""What every target has in common."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp.targets.conditioning import Condition
from zonodpp.targets.labels import Naming

if TYPE_CHECKING:
    import networkx as nx

    from zonodpp._types import Floats, Integers, ItemsLike, Labels
    from zonodpp.targets.graphs import Graph

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


class Target:
    """A law on subsets of n items, numbered from 0 and perhaps labelled; it never changes.

    Attributes
    ----------
    n, r : int
        Number of items, and the most that a draw can hold.
    power : float
        2 for determinantal point processes.
    weights : (n,) array or None
        Item weights; None when all items count the same.
    labels : sequence or None
        Names of the items.
    graph : Graph or None
        The edges, if draws are spanning trees.
    """

    n: int
    r: int
    power: float = 2.0
    weights: Floats | None = None
    labels: Labels | None = None
    graph: Graph | None = None
    # How exact draws are made: from a "projection", from a "mixture" of projections that
    # eigenvectors span, of a "design", or by "passes" over rows.
    exact_draws: str = "projection"

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods for "auto", which takes the first that suits the target."""
        return ("exact",)

    @property
    def sizes(self) -> range:
        """Numbers of items that a draw can hold."""
        return range(self.r, self.r + 1)

    @property
    def sizes_vary(self) -> bool:
        """Whether draws differ in size."""
        return len(self.sizes) > 1

    @property
    def width(self) -> int:
        """The most items that a draw can hold."""
        return self.sizes[-1]

    @property
    def expected_size(self) -> float:
        """Mean number of items in a draw."""
        return float(self.width)

    @property
    def has_inclusion(self) -> bool:
        """Whether `inclusion` and `marginals` are known, and `log_prob` is normalised."""
        return self.power == 2

    @property
    def has_quick_inclusion(self) -> bool:
        """Whether `inclusion` takes little time beside the draws."""
        return self.has_inclusion

    def on_bases(self, method: str) -> Target:
        """Return the law on bases on which chains for this target walk; ``method`` asks for it."""
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a target is immutable; make a new one instead of setting .{name}")

    def log_prob(self, B: ArrayLike) -> Floats:
        """Log probability of subsets."""
        raise NotImplementedError

    def inclusion(self, S: ArrayLike) -> Floats:
        """Probability that all items of S are in the draw."""
        raise NotImplementedError

    def marginals(self) -> Floats:
        """Probability of each item."""
        raise NotImplementedError

    def size_to_maximise(self, k: int | None, ridge: float) -> int | None:
        """Check the arguments of `find_map`; return the number of items, None if any will do."""
        return k

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
        """Refuse: draws are not trees."""
        raise ValueError(
            "only draws from a target made with ProjectionDPP.from_graph(G) are networkx trees"
        )

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
        return self._given(Condition.of(include, exclude, self._naming))

    def _given(self, condition: Condition) -> Self:
        """Return the law given a condition that has been checked."""
        raise NotImplementedError

    def items(self, S: ItemsLike, name: str = "S") -> Integers:
        """Return the numbers of items that are given by number or by label.

        Parameters
        ----------
        S : item, list of items, or nested lists
            An item is its number, from 0, or its label. A label of a graph is an edge, a tuple
            whose ends may come in either order. An array of integers always holds item numbers.
        name : str
            What to call S in an error.

        Raises
        ------
        ValueError
            For a label that no item has or that several have, and for an integer that is the
            number of one item and the label of another.

        Examples
        --------
        >>> import networkx as nx
        >>> from zonodpp import ProjectionDPP
        >>> target = ProjectionDPP.from_graph(nx.cycle_graph("abcd"))
        >>> target.items([("a", "b"), ("d", "a")])
        array([0, 1])
        """
        return self._naming.numbers(S, name)

    @cached_property
    def _naming(self) -> Naming:
        return Naming(self.n, self.labels, edges=self.graph is not None)

    def labels_of(self, items: Integers) -> Labels:
        """Return the labels of these items; without labels, their numbers."""
        numbers = items.tolist()
        return numbers if self.labels is None else [self.labels[item] for item in numbers]

    def with_labels(self, labels: Labels) -> Self:
        """Return the same target with other names for its items.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, sample
        >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]).with_labels("abcd")
        >>> sample(target, 1, rng=0).labelled()
        [[['b', 'd']]]
        """
        names = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
        if len(names) != self.n:
            raise ValueError(f"there are {self.n} items, got {len(names)} labels")
        target = copy.copy(self)
        target.__dict__["labels"] = names
        target.__dict__.pop("_naming", None)
        return target
