"""Find items by their names at a shell: labels, numbers, and edges by their two ends."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any

from zonodpp.cli.messages import quoted

_SEPARATORS = "- "  # between the ends of an edge: as results show it, and as edge lists have it


def label_text(label: Any) -> str:
    """Return a label as text; an edge as its two ends.

    Examples
    --------
    >>> from zonodpp.cli.items import label_text
    >>> label_text("egg"), label_text(("a", "b"))
    ('egg', 'a-b')
    """
    return _SEPARATORS[0].join(map(str, label)) if isinstance(label, tuple) else str(label)


def on_one_line(text: str) -> str:
    """Return a label without line breaks, for text that has one item in a line."""
    return " ".join(text.splitlines())


def find_items(
    given: Sequence[str],
    labels: Sequence[Any] | None,
    n: int,
    option: str,
    *,
    every: bool = False,
) -> list[int]:
    """Return the numbers of items that an option names, each with commas between the names.

    A number names an item where no label is a number. A label that several items have stands for
    all of them if ``every`` is true; otherwise it is refused.

    Examples
    --------
    >>> from zonodpp.cli.items import find_items
    >>> find_items(["egg,apple"], ["apple", "bread", "egg"], 3, "--track")
    [2, 0]
    >>> find_items(["egg", "2"], ["egg", "egg", "tofu"], 3, "--exclude", every=True)
    [0, 1, 2]
    >>> find_items(["b-a"], [("a", "b"), ("b", "c")], 2, "--include")
    [0]
    """
    names = [name for text in given for name in _split_names(text, option)]
    if not names:
        return []
    labels = () if labels is None else labels
    places = _places(labels)
    numbered = not any(isinstance(key, str) and key.isdecimal() for key in places)
    found: dict[int, None] = {}
    for name in names:
        readings = [key for key in _readings(name) if key in places]
        items = places[readings[0]] if readings else []
        if not items and numbered and name.isdecimal() and len(name) <= len(str(n)):
            items = [int(name)] if int(name) < n else []
        if not items:
            raise ValueError(f"{option}: {quoted(name)} is no item; {_known(labels, n)}")
        edges = [places[key][0] for key in readings]
        problem = _ambiguity(name, items if not every else [], edges, labels, numbered)
        if problem:
            raise ValueError(f"{option}: {problem}")
        found |= dict.fromkeys(items)
    return list(found)


def _ambiguity(
    name: str, items: list[int], edges: list[int], labels: Sequence[Any], numbered: bool
) -> str | None:
    """Say that a name may mean several edges, or several items, and how to tell them apart."""
    if len(edges) > 1:
        shown = " or ".join(f"{edge} {labels[edge]!r}" for edge in edges)
        return (
            f"{quoted(name)} may be edge {shown}; give the one that you mean by its number, or "
            "with a blank between its ends"
        )
    if len(items) > 1:
        way_out = "give the one that you mean by its number"
        return (
            f"{len(items)} items are called {quoted(name)}, numbers {_first(items, 10)} from 0; "
            f"{way_out if numbered else 'give the items labels that differ'}"
        )
    return None


def _split_names(text: str, option: str) -> Iterator[str]:
    """Yield the names in a text, split at commas; one that holds a comma stands in quotes."""
    try:
        for row in csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True):
            yield from row
    except csv.Error as error:
        raise ValueError(f"{option}: expected names with commas between them ({error})") from None


def _places(labels: Sequence[Any]) -> dict[Any, list[int]]:
    """Return the items of each label; of an edge under its ends, and with its key if it has one."""
    places: dict[Any, list[int]] = {}
    for item, label in enumerate(labels):
        keys: list[Any] = [str(label)]
        if isinstance(label, tuple):
            ends = frozenset(map(str, label[:2]))
            keys = [ends] if len(label) == 2 else [ends, (ends, str(label[2]))]
        for key in keys:
            places.setdefault(key, []).append(item)
    return places


def _readings(name: str) -> Iterator[Any]:
    """Yield what a name may mean: a label, the two ends of an edge, or two ends and a key.

    Names of nodes may hold the separator, so each of its places may be the one between the ends.
    """
    yield name
    found: dict[Any, None] = {}
    for separator in _SEPARATORS:
        parts = name.split(separator)
        cuts = range(1, len(parts))
        for cut in (*combinations(cuts, 1), *combinations(cuts, 2)):
            spans = pairwise((0, *cut, len(parts)))
            first, second, *key = (separator.join(parts[begin:end]) for begin, end in spans)
            ends = frozenset((first, second))
            found[(ends, key[0]) if key else ends] = None
    yield from found


def _known(labels: Sequence[Any], n: int) -> str:
    if not labels:
        return f"items are numbered 0 to {n - 1}"
    return f"items are called {_first([quoted(label_text(label)) for label in labels[:4]], 3)}"


def _first(things: Sequence[Any], most: int) -> str:
    return ", ".join(map(str, things[:most])) + (", ..." if len(things) > most else "")
