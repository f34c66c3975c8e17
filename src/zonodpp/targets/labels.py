"""Items as people name them: by number, by label, or an edge by its two ends."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any, Self, TypeGuard

import numpy as np

from zonodpp._types import Integers, ItemsLike, Labels
from zonodpp.arguments import as_items, is_dataframe, listed


def labels_of(table: object, axis: str) -> Labels | None:
    """Return the names that a DataFrame has for its "index" or its "columns", else None."""
    return list(getattr(table, axis)) if is_dataframe(table) else None


class Naming:
    """The names of n items.

    Parameters
    ----------
    n : int
        Number of items.
    labels : sequence or None
        One label for each item, or None.
    edges : bool
        Whether labels that are tuples are edges ``(u, v)`` or ``(u, v, key)`` of an undirected
        graph, whose ends may be given in either order.
    """

    def __init__(self, n: int, labels: Labels | None, *, edges: bool = False) -> None:
        self.n, self.labels, self.edges = n, labels, edges
        self._known = [] if labels is None else labels

    def numbers(self, S: ItemsLike, name: str, *, filled: bool = False) -> Integers:
        """Return item numbers for numbers, labels, or nested lists of either.

        An array of integers holds item numbers. In a list, an integer that is also the label of
        another item is refused.
        """
        try:
            return as_items(self.translate(S, name), self.n, name, filled=filled)
        except TypeError as error:
            if self.labels is not None:
                raise
            raise TypeError(f"{error}; these items have no labels") from None

    @cached_property
    def _places(self) -> dict[Hashable, list[int]]:
        """The numbers of the items that have a label; of an edge, those with the same two ends."""
        places: dict[Hashable, list[int]] = {}
        for number, label in enumerate(self._known):
            try:
                places.setdefault(self._key(label), []).append(number)
            except TypeError:  # a label that cannot be hashed cannot be looked up
                continue
        return places

    @cached_property
    def _counts(self) -> bool:
        """Whether all labels that are integers are the numbers of the items."""
        numbers = [label for label in self._known if isinstance(label, int | np.integer)]
        return numbers == list(range(self.n))

    def _is_edge(self, label: object) -> TypeGuard[tuple[Hashable, ...]]:
        return self.edges and isinstance(label, tuple) and len(label) in (2, 3)

    def _key(self, label: object) -> Hashable:
        """Return what labels are looked up by: of an edge its ends, in any order."""
        return ("edge", frozenset(label[:2])) if self._is_edge(label) else (label,)

    def translate(self, S: Any, name: str) -> Any:
        """Replace labels by item numbers, without a check of the numbers."""
        if self.labels is None or (isinstance(S, np.ndarray) and S.dtype.kind in "iu"):
            return S
        if isinstance(S, np.ndarray):
            S = S.tolist()
        if isinstance(S, bool | np.bool_):
            raise TypeError(f"{name} must hold items (numbers from 0, or labels), got {S!r}")
        found = self._labelled(S, name)
        if isinstance(S, int | np.integer) and (found is None or self._counts):
            return int(S)
        if isinstance(S, int | np.integer) and 0 <= S < self.n and found != S:
            raise ValueError(
                f"{name}: {S} is the number of one item and the label of item {found}; pass "
                f"numpy.array([{S}]) for item number {S}, numpy.array([{found}]) for the other"
            )
        if found is not None:
            return found
        if isinstance(S, Iterable) and not isinstance(S, str | bytes) and not self._is_edge(S):
            return [self.translate(item, name) for item in S]
        raise ValueError(f"{name}: {self._unknown(S)}")

    def _labelled(self, label: object, name: str) -> int | None:
        """Return the item that has this label; None if none has."""
        try:
            places = self._places.get(self._key(label), [])
        except TypeError:
            return None
        if self._is_edge(label) and len(label) == 3:
            places = [i for i in places if self._known[i][2:] == label[2:]]
        if len(places) > 1:
            names = [f"{i} {self._known[i]!r}" if self._is_edge(label) else i for i in places]
            raise ValueError(
                f"{name}: {label!r} may be any of the items {listed(names)} (numbered from 0); "
                "pass the numbers of those that are meant"
            )
        return places[0] if places else None

    def _unknown(self, label: object) -> str:
        if self._is_edge(label):
            return (
                f"there is no edge {label!r} between two nodes of the graph; to name items by "
                f"number, pass a list, such as {list(label)!r}"
            )
        return f"no item has the label {label!r}; labels are {listed([*map(repr, self._known)])}"


class LabelledItems:
    """Items with numbers from 0 to n - 1 and perhaps with labels: what people name them by."""

    n: int
    labels: Labels | None = None
    _labels_are_edges = False

    def items(self, S: ItemsLike, name: str = "S") -> Integers:
        """Return the numbers of items that are given by number or by label.

        Parameters
        ----------
        S : item, list of items, or nested lists
            An item is its number, from 0, or its label. A label of a graph is an edge, a tuple
            whose ends may come in either order. An array of integers always holds item numbers.
        name : str
            What to call S in an error.

        Returns
        -------
        array of int
            Item numbers, in the shape of S.

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
        return Naming(self.n, self.labels, edges=self._labels_are_edges)

    def labels_of(self, items: Integers) -> Labels:
        """Return the labels of these items; without labels, their numbers."""
        numbers = items.tolist()
        return numbers if self.labels is None else [self.labels[item] for item in numbers]

    def with_labels(self, labels: Labels) -> Self:
        """Return the same target with other names for its items.

        Parameters
        ----------
        labels : (n,) sequence
            One label for each item.

        Returns
        -------
        target
            Of the same kind.

        Raises
        ------
        ValueError
            When there is not one label for each item.

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
