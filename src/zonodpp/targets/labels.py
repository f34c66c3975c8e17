"""Items as people name them: by number, by label, or an edge by its two ends."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any, Self, TypeGuard

import numpy as np

from zonodpp._arguments import as_items, as_labels, has_masked, listed
from zonodpp._types import Integers, ItemsLike, Labels


class LabelledItems:
    """Items with numbers from 0 to n - 1 and perhaps with labels: what people name them by."""

    n: int
    labels: Labels | None = None
    # Whether labels that are tuples are edges (u, v) or (u, v, key) of an undirected graph, whose
    # ends may be given in either order.
    _labels_are_edges = False

    def __init__(self, n: int, labels: Labels | None) -> None:
        self.n, self.labels = n, labels

    def items(self, S: ItemsLike, name: str = "S", *, filled: bool = False) -> Integers:
        """Return the numbers of items that are given by number or by label.

        Parameters
        ----------
        S : item, list of items, or nested lists
            An item is its number, from 0, or its label. A label of a graph is an edge, a tuple
            whose ends may come in either order. An array of integers always holds item numbers.
        name : str
            What to call S in an error.
        filled : bool, default False
            Whether sets may be filled up with -1 to the size of the largest.

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
        if has_masked(S):
            raise ValueError(f"{name} has masked entries; leave them out")
        try:
            return as_items(self._numbers(S, name), self.n, name, filled=filled)
        except TypeError as error:
            if self.labels is not None:
                raise
            raise TypeError(f"{error}; these items have no labels") from None

    def _numbers(self, S: Any, name: str) -> Any:
        """Replace labels by item numbers, without a check of the numbers."""
        if self.labels is None or (isinstance(S, np.ndarray) and S.dtype.kind in "iu"):
            return S
        if isinstance(S, np.ndarray):
            S = S.tolist()
        if isinstance(S, bool | np.bool_):
            raise TypeError(f"{name} must hold items (numbers from 0, or labels), got {S!r}")
        found = self._labelled(S, name)
        if isinstance(S, int | np.integer):
            if found is not None and found != S and 0 <= S < self.n:
                raise ValueError(
                    f"{name}: {S} is the number of one item and the label of item {found}; pass "
                    f"numpy.array([{S}]) for item number {S}, numpy.array([{found}]) for the other"
                )
            return int(S) if found is None else found
        if found is not None:
            return found
        if self._is_edge(S):
            raise ValueError(
                f"{name}: there is no edge {S!r} between two nodes of the graph; to name items by "
                f"number, pass a list, such as {list(S)!r}"
            )
        if isinstance(S, Iterable) and not isinstance(S, str | bytes):
            return [self._numbers(item, name) for item in S]
        known = listed([*map(repr, self.labels)])
        raise ValueError(f"{name}: no item has the label {S!r}; labels are {known}")

    def _labelled(self, label: object, name: str) -> int | None:
        """Return the item that has this label; None if none has."""
        try:
            places = self._places.get(self._key(label), [])
        except TypeError:  # what cannot be hashed is no label
            return None
        labels = self.labels or ()
        if self._is_edge(label) and len(label) == 3:
            places = [i for i in places if labels[i][2:] == label[2:]]
        if len(places) > 1:
            names = [f"{i} {labels[i]!r}" if self._is_edge(label) else i for i in places]
            raise ValueError(
                f"{name}: {label!r} may be any of the items {listed(names)} (numbered from 0); "
                "pass the numbers of those that are meant"
            )
        return places[0] if places else None

    @cached_property
    def _places(self) -> dict[Hashable, list[int]]:
        """The numbers of the items that have a label; of an edge, those with the same two ends."""
        places: dict[Hashable, list[int]] = {}
        for number, label in enumerate(self.labels or ()):
            try:
                places.setdefault(self._key(label), []).append(number)
            except TypeError:  # a label that cannot be hashed cannot be looked up
                continue
        return places

    def _is_edge(self, label: object) -> TypeGuard[tuple[Hashable, ...]]:
        return self._labels_are_edges and isinstance(label, tuple) and len(label) in (2, 3)

    def _key(self, label: object) -> Hashable:
        """Return what labels are looked up by: of an edge its ends, in any order."""
        return ("edge", frozenset(label[:2])) if self._is_edge(label) else (label,)

    def labels_of(self, items: Integers) -> Labels:
        """Return the labels of these items; without labels, their numbers."""
        numbers = as_items(items, self.n, "items").tolist()
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
        target = copy.copy(self)
        target.__dict__["labels"] = as_labels(labels, self.n, "labels")
        target.__dict__.pop("_places", None)
        return target


def one_set(known: LabelledItems, S: ItemsLike, name: str) -> Integers:
    """Return the numbers of the items of one set; several sets are refused."""
    items = known.items(S, name)
    if items.ndim > 1:
        raise ValueError(f"{name} must be one set of items, got sets of shape {items.shape}")
    return items


def include_and_exclude(
    known: LabelledItems, include: ItemsLike, exclude: ItemsLike
) -> tuple[Integers, Integers]:
    """Return the numbers of items that must be in a draw and of items that must not."""
    first, never = one_set(known, include, "include"), one_set(known, exclude, "exclude")
    both = np.intersect1d(first, never)
    if both.size:
        raise ValueError(f"item {both[0]} (from 0) is to be in the draw and not in it; choose one")
    return first, never
