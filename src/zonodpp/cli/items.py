"""Find items by their names at a shell: labels, numbers, and edges by their two ends."""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable, Iterator, Sequence

from zonodpp.arguments import listed
from zonodpp.cli.interface import Restriction
from zonodpp.cli.messages import quoted

_SEPARATORS = "- "  # between the ends of an edge: as results show it, and as edge lists have it
Labels = Sequence[Hashable]


def label_text(label: Hashable) -> str:
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


def restricted_items(options: Restriction, labels: Labels | None, n: int) -> dict[str, list[int]]:
    """Return the numbers of the items that must be in a draw, and of those that must not."""
    return {
        "include": find_items(options.include, labels, n, "--include"),
        "exclude": find_items(options.exclude, labels, n, "--exclude", every=True),
    }


def find_items(
    given: Sequence[str], labels: Labels | None, n: int, option: str, *, every: bool = False
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
    names = [name for text in given for name in _split(text, option)]
    labels = labels or ()
    places: dict[str, list[int]] = {}
    for item, label in enumerate(labels if names else ()):
        for text in _texts(label):
            places.setdefault(text, []).append(item)
    numbered = not any(map(str.isdecimal, places))  # numbers are names where no label is one
    for name in names:
        if numbered and name.isdecimal() and len(name) <= len(str(n)) and int(name) < n:
            places.setdefault(name, [int(name)])
        items = places.get(name, [])
        if not items:
            raise ValueError(f"{option}: {quoted(name)} is no item; {_known(labels, n)}")
        if len(items) > 1 and not (every and len({_ends(labels[item]) for item in items}) == 1):
            advice = "give one by its number" if numbered else "give the items labels that differ"
            raise ValueError(f"{option}: {_several(name, items, labels)}; {advice}")
    return list(dict.fromkeys(item for name in names for item in places[name]))


def _several(name: str, items: list[int], labels: Labels) -> str:
    """Say which items have the same name."""
    shown = [f"{i} {labels[i]!r}" if isinstance(labels[i], tuple) else i for i in items]
    return f"{len(items)} items are called {quoted(name)}, numbers {listed(shown)} from 0"


def _split(text: str, option: str) -> Iterator[str]:
    """Yield the names in a text, split at commas; one that holds a comma stands in quotes."""
    try:
        for row in csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True):
            yield from row
    except csv.Error as error:
        raise ValueError(f"{option}: expected names with commas between them ({error})") from None


def _texts(label: Hashable) -> set[str]:
    """Return all ways to write a label; of an edge, both orders, with its key and without it."""
    if not isinstance(label, tuple):
        return {str(label)}
    u, v, *key = map(str, label)
    words = ((u, v), (v, u), (u, v, *key), (v, u, *key))
    return {separator.join(parts) for separator in _SEPARATORS for parts in words}


def _ends(label: Hashable) -> Hashable:
    return frozenset(label[:2]) if isinstance(label, tuple) else label


def _known(labels: Labels, n: int) -> str:
    if not labels:
        return f"items are numbered 0 to {n - 1}"
    return f"items are called {listed([quoted(label_text(label)) for label in labels], 3)}"
