"""What every target has in common."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from zonodpp.targets.labels import Naming

if TYPE_CHECKING:
    from zonodpp._types import Floats, Integers
    from zonodpp.targets.graphs import Graph


class Target:
    """A law on subsets of n items, numbered from 0 and perhaps labelled; it never changes.

    Attributes
    ----------
    n, r : int
        Number of items, and the most that a draw can hold.
    power : float
        2 for determinantal point processes.
    labels : sequence or None
        Names of the items.
    """

    n: int
    r: int
    power: float
    weights: Floats | None
    labels: Sequence[Any] | None
    graph: Graph | None
    methods: tuple[str, ...] = ("exact",)  # for "auto", the first of these that suits the target
    sizes_vary: bool = False  # whether draws differ in size
    chooses_eigenvectors: bool = False  # whether an exact draw begins with eigenvectors

    @property
    def width(self) -> int:
        """The most items that a draw can hold."""
        return self.r

    def on_bases(self, method: str) -> Target:
        """Return the law on bases on which chains for this target walk; ``method`` asks for it."""
        return self

    def __setattr__(self, name: str, value: Any) -> None:
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

    def items(self, S: Any, name: str = "S") -> Integers:
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

    def with_labels(self, labels: Sequence[Any]) -> Self:
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
