"""Names at a shell: columns of a table, and items by label, by number or as edges."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from zonodpp._arguments import listed
from zonodpp._types import Labels
from zonodpp.cli.header import is_gap, number_in
from zonodpp.cli.interface import Input, Restriction
from zonodpp.cli.messages import quoted

_FEW = 12  # names of columns shown in a message
# The header of an index without a name as pandas writes it, and as pandas reads it.
_NAMELESS = re.compile(r"(Unnamed: \d+(\.\d+|_level_\d+)*)?")
_NUMBER = re.compile("0|[1-9][0-9]*")  # of an item: 007 is none
_END_SEPARATORS = "- "  # between the ends of an edge: in results, and in edge lists


class ColumnRoles(NamedTuple):
    """What each column of a file is; columns are counted from 0."""

    source: str  # the file, for messages
    names: list[str]  # the numbers of columns that have no names
    id: int | None
    weights: int | None
    features: list[int]
    options: Input  # as they were given
    named: bool = True  # whether the file has names for its columns

    @property
    def numeric(self) -> list[int]:
        """Return the columns of numbers: the features, then the one that is kept apart."""
        return self.features if self.weights is None else [*self.features, self.weights]

    @property
    def feature_names(self) -> list[str] | None:
        """Return the names of the features, if columns have names."""
        return [self.names[place] for place in self.features] if self.named else None

    def may_be_empty(self, place: int) -> bool:
        """Tell whether --missing allows empty cells in a column: they become NaN."""
        missing = self.options.missing
        return missing == "drop" or (missing == "median" and place != self.weights)

    def advice(self) -> str:
        """Say what the command can do about empty cells."""
        if "missing" not in vars(self.options) or self.options.items != "rows":
            return ""
        return "; pass --missing drop" + " or median" * (self.options.missing == "error")


def find_columns(
    source: str, options: Input, weights: str | None, names: list[str], *, named: bool = True
) -> ColumnRoles:
    """Find the columns that --id and --columns name; ``weights`` may name a file instead."""
    known = {str(place): [place] for place in range(len(names))}
    called: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        called.setdefault(name, []).append(place)
    known |= called

    def place_of(column: str) -> int:
        if column not in known:
            there = listed(names, _FEW) if named else f"columns 0 to {len(names) - 1}"
            raise ValueError(f"{source} has no column {column!r}; it has {there}")
        if len(known[column]) > 1:
            found = f"{len(known[column])} columns are called {quoted(column)}"
            advice = "give one by its number from 0"
            raise ValueError(f"{source}: {found}, {listed(known[column])}; {advice}")
        return known[column][0]

    labels = None if options.id is None else place_of(options.id)
    apart = None if weights is None or weights not in known else place_of(weights)
    if options.columns is None:
        features = [place for place in range(len(names)) if place not in (labels, apart)]
    else:
        features = [place_of(column.strip()) for column in _split(options.columns, "--columns")]
    return some_left(ColumnRoles(source, names, labels, apart, features, options, named))


def some_left(roles: ColumnRoles) -> ColumnRoles:
    """Return the roles; raise if no column is left to be a feature."""
    if not roles.features:
        raise ValueError(f"{roles.source} has no columns left to serve as features")
    return roles


def without_names_of_rows(
    roles: ColumnRoles, cells: Callable[[int], Sequence[object]]
) -> ColumnRoles:
    """Take the names of rows that pandas and R write for labels, not for features, and say so.

    These are a first column of text without a name, or several columns without a name at the left:
    the levels of an index. ``cells`` returns some cells of a column.
    """
    nameless = list(takewhile(_NAMELESS.fullmatch, roles.names)) if roles.named else []
    if roles.options.columns is not None or not nameless:
        return roles
    is_text = any(number_in(cell) is None and not is_gap(cell, numeric=True) for cell in cells(0))
    for place in range(len(nameless) if is_text or len(nameless) > 1 else 0):
        if place in roles.features:
            label = place == 0 and roles.id is None
            roles = _leave_out(roles, place, "is taken for names of rows", label=label)
    return some_left(roles)


def without_row_numbers(
    roles: ColumnRoles, cells: Callable[[int], Sequence[object]]
) -> ColumnRoles:
    """Leave out features without a name that number the rows, and say so.

    pandas writes its index as such a column. Whole numbers in the first column that all differ are
    the index of rows that were selected or sorted; they become labels, as the index in a Parquet
    file does. ``cells`` returns the cells of a column.
    """
    for place in roles.features if roles.named and roles.options.columns is None else ():
        if _NAMELESS.fullmatch(roles.names[place]):
            numbers = np.array([number_in(c) for c in cells(place)], dtype=np.float64)
            whole = bool((numbers >= 0).all() and (numbers == np.floor(numbers)).all())
            if any(np.array_equal(numbers, np.arange(k, k + len(numbers))) for k in (0, 1)):
                roles = _leave_out(roles, place, "counts the rows", label=False)
            elif place == 0 and whole and np.unique(numbers).size == len(numbers):
                found = "holds whole numbers that all differ, as an index does"
                roles = _leave_out(roles, place, found, label=roles.id is None)
    return some_left(roles)


def _leave_out(roles: ColumnRoles, place: int, found: str, *, label: bool) -> ColumnRoles:
    """Make a column no feature, but perhaps the labels, and say so."""
    column = f"column {place} (from 0) has no name of its own and {found}"
    use = "it holds the labels and is no feature" if label else "it is left out"
    advice = f"{use}, unless --columns names it by its number"
    warnings.warn(f"{roles.source}: {column}; {advice}", stacklevel=2)
    features = [each for each in roles.features if each != place]
    return roles._replace(features=features, id=place if label else roles.id)


def label_text(label: Hashable) -> str:
    """Return a label as text; an edge as its two ends.

    Examples
    --------
    >>> from zonodpp.cli.names import label_text
    >>> label_text("egg"), label_text(("a", "b"))
    ('egg', 'a-b')
    """
    return _END_SEPARATORS[0].join(map(str, label)) if isinstance(label, tuple) else str(label)


def on_one_line(text: str) -> str:
    """Return a label without line breaks, for text that has one item in a line."""
    return " ".join(text.splitlines())


def aligned(rows: Iterable[tuple[str, ...]]) -> str:
    """Return rows as lines of text, with their first cells padded to one width.

    Examples
    --------
    >>> from zonodpp.cli.names import aligned
    >>> print(aligned([("item", "drawn"), ("a", "0.500")]))
    item  drawn
    a     0.500
    """
    cells = [tuple(map(on_one_line, row)) for row in rows]
    width = max(len(first) for first, *_ in cells)
    return "\n".join("  ".join([f"{first:<{width}}", *others]) for first, *others in cells)


def restricted_items(options: Restriction, labels: Labels | None, n: int) -> dict[str, list[int]]:
    """Return the numbers of the items that must be in a draw, and of those that must not."""
    include = find_items(options.include, labels, n, "--include")
    exclude = find_items(options.exclude, labels, n, "--exclude", every=True)
    if both := [item for item in include if item in exclude]:
        name = str(both[0]) if labels is None else label_text(labels[both[0]])
        raise ValueError(
            f"--include and --exclude: {quoted(name)} cannot be in the draw and not in it"
        )
    return {"include": include, "exclude": exclude}


def find_items(
    given: Sequence[str], labels: Labels | None, n: int, option: str, *, every: bool = False
) -> list[int]:
    """Return the numbers of items that an option names, each with commas between the names.

    Numbers name items if no label is a number. A label that several items have stands for
    all of them if ``every`` is true; otherwise it is refused.

    Examples
    --------
    >>> from zonodpp.cli.names import find_items
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
        if numbered and _NUMBER.fullmatch(name) and len(name) <= len(str(n)) and int(name) < n:
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
    return {separator.join(parts) for separator in _END_SEPARATORS for parts in words}


def _ends(label: Hashable) -> Hashable:
    return frozenset(label[:2]) if isinstance(label, tuple) else label


def _known(labels: Labels, n: int) -> str:
    if not labels:
        return f"items are numbered 0 to {n - 1}"
    return f"items are called {listed([quoted(label_text(label)) for label in labels], 3)}"
