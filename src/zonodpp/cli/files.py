"""Reading a table of items from whatever file holds it."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from zonodpp.cli.delimited import (
    Wanted,
    find_column,
    pick_columns,
    place_of,
    read_delimited,
    text_lines,
)

FORMATS = ("npy", "npz", "csv", "tsv", "parquet", "mtx")
_MAGIC = {
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"PAR1": "parquet",
    b"%%MatrixM": "mtx",
    b"<?xml": "graphml",
    b"<graphml": "graphml",
}


@dataclass(frozen=True)
class Table:
    """Rows of numbers, with what the file says about them.

    Attributes
    ----------
    source : str
        Where it was read from, for messages.
    values : (rows, columns) array or scipy.sparse array
        A memory map where the file allows it.
    labels : list of str or None
        Names of the rows, from the ``--id`` column.
    columns : list of str or None
        Names of the columns of ``values``.
    aside : dict of str to array
        Columns kept apart from the features: weights, relevance.
    """

    source: str
    values: Any
    labels: list[str] | None = None
    columns: list[str] | None = None
    aside: dict[str, Any] = field(default_factory=dict)


class Source(NamedTuple):
    """A file as opened: its name for messages, its format, its path or its bytes."""

    name: str
    format: str
    path: str | None
    data: bytes | None

    def stream(self) -> Any:
        """Return the bytes as a file to read from."""
        return open(self.path, "rb") if self.path is not None else io.BytesIO(self.data or b"")


def open_source(file: str, format: str | None, known: Sequence[str] = FORMATS) -> Source:
    """Find out what a file is: by --format, by its ending, or by its first bytes."""
    if file == "-":
        name, path, data = "standard input", None, sys.stdin.buffer.read()
        head = data[:16]
    else:
        name, path, data = file, file, None
        with open(file, "rb") as stream:
            head = stream.read(16)
    if not head:
        raise ValueError(f"{name} is empty: there is nothing to read")
    if format is None:
        ending = os.path.splitext(file)[1].lower().lstrip(".")
        by_content = next(
            (found for magic, found in _MAGIC.items() if head.startswith(magic)), None
        )
        format = ending if ending in known else by_content
    if format is None:  # text, then
        format = "csv" if "csv" in known else "edges"
    if format is None or format not in known:
        raise ValueError(f"{name}: cannot tell what it is; pass --format {' or '.join(known)}")
    return Source(name, format, path, data)


def read_table(
    file: str,
    *,
    format: str | None = None,
    key: str | None = None,
    wanted: Wanted | None = None,
    header: bool | None = None,
) -> Table:
    r"""Read a file of numbers, rows as they stand in it.

    Examples
    --------
    >>> import os, tempfile
    >>> from zonodpp.cli.delimited import Wanted
    >>> from zonodpp.cli.files import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "foods.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("food,fat,water\napple,0.2,85.6\n")
    ...     table = read_table(path, wanted=Wanted(id="food"))
    >>> table.labels, table.columns, table.values
    (['apple'], ['fat', 'water'], array([[ 0.2, 85.6]]))
    """
    wanted = wanted or Wanted()
    source = open_source(file, format)
    if source.format in ("csv", "tsv"):
        with source.stream() as stream:
            parts = read_delimited(stream, source.name, wanted, header, source.format == "tsv")
        return Table(source.name, *parts)
    if source.format == "parquet":
        return _read_parquet(source, wanted)
    values = read_array(source, key)
    if values.ndim != 2:
        raise ValueError(
            f"{source.name} holds an array of shape {values.shape}; a table of items has two "
            "dimensions"
        )
    return _select(source.name, values, wanted)


def read_text(file: str) -> tuple[str, str]:
    """Return the UTF-8 text of a file, and the name of the file for messages."""
    if file == "-":
        name, data = "standard input", sys.stdin.buffer.read()
    else:
        name = file
        with open(file, "rb") as stream:
            data = stream.read()
    return "".join(text_lines(io.BytesIO(data), name)), name


def read_array(source: Source, key: str | None = None) -> Any:
    """Return the one array of a .npy, .npz or .mtx file; sparse stays sparse."""
    where = source.stream() if source.path is None else source.path
    if source.format == "mtx":
        from scipy.io import mmread

        with _as_damage(source.name, "a Matrix Market file"):
            return mmread(where, spmatrix=False)
    with _as_damage(source.name, f"a NumPy .{source.format} file"):
        # A memory map reads each page when it is needed, and nothing is copied.
        mapped = source.path is not None and source.format == "npy"
        loaded = np.load(where, mmap_mode="r" if mapped else None, allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        if loaded.dtype.kind not in "biuf":
            raise ValueError(f"{source.name} holds entries of type {loaded.dtype}, not numbers")
        return loaded
    with loaded:
        names = loaded.files
        if key is None and {"format", "shape", "data"} <= set(names):  # by scipy.sparse.save_npz
            from scipy.sparse import csc_array, load_npz

            return csc_array(load_npz(source.stream()))
        if key is None and len(names) != 1:
            raise ValueError(f"{source.name} holds {len(names)} arrays; pass --key, {_some(names)}")
        if key is not None and key not in names:
            raise ValueError(f"{source.name} has no array {key!r}; it has {_some(names)}")
        with _as_damage(source.name, "a NumPy .npz file"):
            return loaded[key or names[0]]


@contextlib.contextmanager
def _as_damage(name: str, kind: str) -> Any:
    """Say of junk that it is junk, not what a reader happened to stumble on."""
    from zonodpp.samples.storage import DAMAGE

    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except (*DAMAGE, TypeError) as error:
        reason = str(error).split("\n")[0][:80]
        if "pickle" in reason:
            reason = "it holds Python objects, or is something else"
        raise ValueError(
            f"{name} is not {kind}, or damaged ({reason}); if it is another format, pass --format"
        ) from error


def _select(name: str, values: Any, wanted: Wanted) -> Table:
    """Take the columns that were asked for out of an array without names."""
    labels, aside = None, {}
    taken = set()
    if wanted.id is not None:
        place = place_of(wanted.id, None, values.shape[1], name)
        labels = [f"{entry:g}" for entry in _column(values, place)]
        taken.add(place)
    for column in wanted.aside:
        found = find_column(column, None, values.shape[1])
        if found is not None:
            aside[column] = _column(values, found)
            taken.add(found)
    kept = pick_columns(wanted.columns, None, values.shape[1], name, taken)
    if len(kept) < values.shape[1]:
        values = values.tocsc()[:, kept] if hasattr(values, "tocsc") else values[:, kept]
    return Table(name, values, labels, None, aside)


def _column(values: Any, place: int) -> Any:
    if hasattr(values, "tocsc"):
        return values.tocsc()[:, [place]].toarray().ravel()
    return np.asarray(values[:, place], dtype=np.float64)


def _read_parquet(source: Source, wanted: Wanted) -> Table:
    pd = need_pandas()
    with _as_damage(source.name, "a Parquet file"), source.stream() as stream:
        frame = pd.read_parquet(io.BytesIO(stream.read()))
    names = [str(name) for name in frame.columns]
    labels, aside = None, {}
    taken = set()
    if not isinstance(frame.index, pd.RangeIndex):
        labels = [str(entry) for entry in frame.index]
    if wanted.id is not None:
        place = place_of(wanted.id, names, len(names), source.name)
        labels = [str(entry) for entry in frame.iloc[:, place]]
        taken.add(place)
    for column in wanted.aside:
        found = find_column(column, names, len(names))
        if found is not None:
            aside[column] = _numbers(frame, found, source.name)
            taken.add(found)
    kept = pick_columns(wanted.columns, names, len(names), source.name, taken)
    values = np.column_stack([_numbers(frame, place, source.name) for place in kept])
    return Table(source.name, values, labels, [names[place] for place in kept], aside)


def need_pandas() -> Any:
    """Return pandas, with what it reads and writes Parquet by."""
    try:
        importlib.import_module("pyarrow")
        return importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError(
            f"{error.name} is missing for .parquet; pip install 'zonodpp[parquet]'"
        ) from None


def _numbers(frame: Any, place: int, source: str) -> Any:
    column = frame.iloc[:, place]
    for row, entry in enumerate(column) if column.dtype.kind not in "biuf" else ():
        if not isinstance(entry, (int, float, np.number)):
            raise ValueError(
                f"{source}, row {row + 1}, column {str(frame.columns[place])!r}: expected a "
                f"number, got {str(entry)!r}; leave the column out with --columns, or pass --id"
            )
    return np.asarray(column, dtype=np.float64)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return f"{shown}, ..." if len(names) > 8 else shown
