"""Read a table of items from a file of any known format."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from zonodpp._optional import optional
from zonodpp.archives import check_archive, check_array, check_size, check_sparse
from zonodpp.arguments import listed
from zonodpp.cli.delimited import Wanted, find_places, read_delimited, text_lines
from zonodpp.cli.matrix_market import read_matrix_market
from zonodpp.cli.messages import quoted
from zonodpp.cli.options import FORMATS, Input
from zonodpp.cli.output import need_pandas

_MAGIC = {
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"PAR1": "parquet",
    b"%%MatrixM": "mtx",
    b"<?xml": "graphml",
    b"<graphml": "graphml",
}


_ALL = Wanted()


@dataclass(frozen=True)
class ItemTable:
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

    def stream(self) -> IO[bytes]:
        """Return the bytes as a file to read from."""
        return open(self.path, "rb") if self.path is not None else io.BytesIO(self.data or b"")

    def size(self) -> int:
        """Return the number of bytes."""
        return os.path.getsize(self.path) if self.path is not None else len(self.data or b"")


def open_source(file: str, format: str | None, known: Sequence[str] = FORMATS) -> Source:
    """Find out what a file is: by --format, by its ending, or by its first bytes."""
    source = _open(file, format or "")
    with source.stream() as stream:
        head = stream.read(16)
    if not head:
        raise ValueError(f"{source.name} is empty: there is nothing to read")
    if format is None:
        ending = os.path.splitext(file)[1].lower().lstrip(".")
        by_content = next(
            (found for magic, found in _MAGIC.items() if head.startswith(magic)), None
        )
        format = ending if ending in known else by_content
    if format is None:  # no other format was recognised, so it is text
        format = "csv" if "csv" in known else "edges"
    if format not in known:
        raise ValueError(
            f"{source.name}: cannot tell what it is; pass --format {' or '.join(known)}"
        )
    return source._replace(format=format)


def _open(file: str, format: str) -> Source:
    """Open a file once: what is not a regular file, a pipe for instance, is read at once."""
    if file == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed: give the name of a file, or pipe one in")
        return Source("standard input", format, None, sys.stdin.buffer.read())
    with open(file, "rb") as stream:
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            return Source(file, format, file, None)
        return Source(file, format, None, stream.read())


def read_table(
    source: Source, wanted: Wanted = _ALL, key: str | None = None, header: bool | None = None
) -> ItemTable:
    r"""Read a file of numbers, rows as they stand in it.

    Examples
    --------
    >>> import os, tempfile
    >>> from zonodpp.cli.delimited import Wanted
    >>> from zonodpp.cli.files import open_source, read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "foods.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("food,fat,water\napple,0.2,85.6\n")
    ...     table = read_table(open_source(path, None), Wanted(id="food"))
    >>> table.labels, table.columns, table.values
    (['apple'], ['fat', 'water'], array([[ 0.2, 85.6]]))
    """
    if source.format in ("csv", "tsv"):
        with source.stream() as stream:
            parts = read_delimited(stream, source.name, wanted, header, source.format == "tsv")
        return ItemTable(source.name, *parts)
    if source.format == "parquet":
        return _read_parquet(source, wanted)
    values = read_array(source, key)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(
            f"{source.name} holds an array of shape {values.shape}; a table of items has two "
            "dimensions, and is not empty"
        )
    return _select(source.name, values, wanted)


def read_input(source: Input, *aside: str | None) -> ItemTable:
    """Read the table that the options of a command describe.

    The columns in ``aside``, where there are such columns, are kept apart from the features.
    """
    wanted = Wanted(source.id, source.columns, tuple(name for name in aside if name is not None))
    opened = open_source(source.file, source.format)
    return read_table(opened, wanted, source.key, source.header)


def read_text(file: str) -> tuple[str, str]:
    """Return the UTF-8 text of a file, and the name of the file for messages."""
    source = _open(file, "text")
    with source.stream() as stream:
        return "".join(text_lines(stream, source.name, "a text is expected")), source.name


def read_array(source: Source, key: str | None = None) -> Any:
    """Return the one array of a .npy, .npz or .mtx file; sparse stays sparse."""
    if source.format == "mtx":
        with damage(source.name, "a Matrix Market file"), source.stream() as stream:
            array = read_matrix_market(text_lines(stream, source.name), source.size())
    elif source.format == "npz":
        array = _read_archive(source, key)
    else:
        with damage(source.name, "a NumPy .npy file"), source.stream() as stream:
            check_array(stream, source.size())
            stream.seek(0)
            # A memory map reads each page when it is needed, and nothing is copied.
            mode: Literal["r"] | None = None if source.path is None else "r"
            array = np.load(source.path or stream, mmap_mode=mode, allow_pickle=False)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{source.name} holds entries of type {array.dtype}, not numbers")
    return array


def _read_archive(source: Source, key: str | None) -> Any:
    kind = "a NumPy .npz file"
    with damage(source.name, kind), source.stream() as stream:
        names = check_archive(stream)
    if key is None and {"format", "shape", "data"} <= set(names):  # by scipy.sparse.save_npz
        with damage(source.name, "a sparse .npz file"), source.stream() as stream:
            with np.load(stream) as arrays:
                layout = arrays["format"]
            if layout.dtype.kind != "S":  # NumPy makes invalid text of damaged characters
                raise ValueError(
                    "its format must be a byte string, as scipy.sparse.save_npz writes"
                )
            stream.seek(0)
            matrix = sp.load_npz(stream)
            check_size(8 * (sum(matrix.shape) + matrix.nnz), source.size())
            check_sparse(matrix)
            return sp.csc_array(matrix)
    if key is None and len(names) != 1:
        raise ValueError(f"{source.name} holds {len(names)} arrays; pass --key, {listed(names)}")
    if key is not None and key not in names:
        raise ValueError(f"{source.name} has no array {key!r}; it has {listed(names)}")
    with damage(source.name, kind), source.stream() as stream, np.load(stream) as arrays:
        return arrays[key or names[0]]


@contextlib.contextmanager
def damage(name: str, kind: str) -> Iterator[None]:
    """Raise a readable error for a file that is not in the expected format.

    Readers of other packages fail on damaged files with exceptions of any type.
    """
    try:
        yield
    except (FileNotFoundError, PermissionError, MemoryError, ImportError):
        raise
    except Exception as error:
        reason = str(error).split("\n")[0][:200]
        if "pickle" in reason or "object array" in reason.lower():
            reason = "it holds Python objects, or is something else"
        raise ValueError(
            f"{name} is not {kind}, or damaged ({reason}); if it is another format, pass --format"
        ) from error


def _select(name: str, values: Any, wanted: Wanted) -> ItemTable:
    """Take the columns that were asked for out of an array without names."""
    places = find_places(wanted, None, values.shape[1], name)
    labels = None if places.id is None else [f"{entry:g}" for entry in _column(values, places.id)]
    aside = {column: _column(values, place) for column, place in places.aside.items()}
    if len(places.kept) < values.shape[1]:
        columns = values.tocsc() if hasattr(values, "tocsc") else values
        values = columns[:, places.kept]
    return ItemTable(name, values, labels, None, aside)


def _column(values: Any, place: int) -> Any:
    if hasattr(values, "tocsc"):
        return values.tocsc()[:, [place]].toarray().ravel()
    return np.asarray(values[:, place], dtype=np.float64)


def _read_parquet(source: Source, wanted: Wanted) -> ItemTable:
    pd = need_pandas()
    parquet = optional("pyarrow.parquet", "parquet", "a .parquet file")
    with damage(source.name, "a Parquet file"), source.stream() as stream:
        data = stream.read()
        facts = parquet.read_metadata(io.BytesIO(data))
        groups = [facts.row_group(k) for k in range(facts.num_row_groups)]
        rows = max(facts.num_rows, sum(group.num_rows for group in groups))
        needed = max(8 * rows * facts.num_columns, sum(group.total_byte_size for group in groups))
        check_size(needed, len(data))
        frame = pd.read_parquet(io.BytesIO(data))
    names = [str(name) for name in frame.columns]
    places = find_places(wanted, names, len(names), source.name)
    labels = None
    if places.id is not None or not isinstance(frame.index, pd.RangeIndex):
        labels = list(map(str, frame.index if places.id is None else frame.iloc[:, places.id]))
    aside = {
        column: _numeric_column(frame, place, source.name) for column, place in places.aside.items()
    }
    values = [_numeric_column(frame, place, source.name) for place in places.kept]
    columns = [names[place] for place in places.kept]
    return ItemTable(source.name, np.column_stack(values), labels, columns, aside)


def _numeric_column(frame: Any, place: int, source: str) -> Any:
    column = frame.iloc[:, place]
    for row, entry in enumerate(column) if column.dtype.kind not in "biuf" else ():
        if not isinstance(entry, (int, float, np.number)):
            raise ValueError(
                f"{source}, row {row}, column {quoted(str(frame.columns[place]))} (rows count from "
                f"0): expected a number, got {quoted(str(entry))}; leave the column out with "
                "--columns, or pass --id"
            )
    return np.asarray(column, dtype=np.float64)
