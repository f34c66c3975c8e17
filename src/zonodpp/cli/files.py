"""Read a table of items from a file of any known format."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import IO, Any, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp

from zonodpp._optional import optional
from zonodpp._types import Floats, Matrix
from zonodpp.archives import check_archive, check_array, check_size, check_sparse, damage
from zonodpp.arguments import listed
from zonodpp.cli.matrix_market import read_matrix_market
from zonodpp.cli.options import Format, Input
from zonodpp.cli.output import NEEDED
from zonodpp.cli.table import (
    ColumnRoles,
    ItemTable,
    collect,
    find_columns,
    read_delimited,
    text_lines,
)
from zonodpp.linalg.dense import to_dense

_STARTS = {b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PAR1": "parquet", b"%%MatrixM": "mtx"}
_STARTS |= {b"<?xml": "graphml", b"<graphml": "graphml"}


class Source(NamedTuple):
    """A file as opened: its name for messages, its format, its path or its bytes."""

    name: str
    format: str
    path: str | None
    data: bytes = b""

    def stream(self) -> IO[bytes]:
        """Return the bytes as a file to read from."""
        return io.BytesIO(self.data) if self.path is None else open(self.path, "rb")

    def size(self) -> int:
        """Return the number of bytes."""
        return len(self.data) if self.path is None else os.path.getsize(self.path)


def open_source(
    file: str, format: str | None = None, known: Sequence[str] = get_args(Format)
) -> Source:
    """Find out what a file is: by --format, by its ending, or by its first bytes."""
    source = _open(file)
    with source.stream() as stream:
        head = stream.read(16)
    if not head:
        raise ValueError(f"{source.name} is empty: there is nothing to read")
    ending = os.path.splitext(file)[1].lower().lstrip(".")
    text = "csv" if "csv" in known else "edges"  # what is not recognised is text
    by_start = next((found for start, found in _STARTS.items() if head.startswith(start)), text)
    format = format or (ending if ending in known else by_start)
    if format not in known:
        raise ValueError(f"{source.name}: cannot tell what it is; pass --format {listed(known)}")
    return source._replace(format=format)


def _open(file: str) -> Source:
    """Open a file once: what is not a regular file, a pipe for instance, is read at once."""
    if file == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed: give the name of a file, or pipe one in")
        return Source("standard input", "", None, sys.stdin.buffer.read())
    with open(file, "rb") as stream:
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            return Source(file, "", file)
        return Source(file, "", None, stream.read())


def read_table(options: Input, *aside: str | None) -> ItemTable:
    r"""Read the table that the options of a command describe, rows as they stand in it.

    The columns in ``aside``, where there are such columns, are kept apart from the features.

    Examples
    --------
    >>> import os, tempfile
    >>> from zonodpp.cli.files import read_table
    >>> from zonodpp.cli.options import Input
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "foods.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("food,fat,water\napple,0.2,85.6\n")
    ...     table = read_table(Input(file=path, id="food"))
    >>> table.labels, table.columns, table.values
    (['apple'], ['fat', 'water'], array([[ 0.2, 85.6]]))
    """
    source = open_source(options.file, options.format)
    return read_source(source, options, *aside)


def read_source(source: Source, options: Input, *columns: str | None) -> ItemTable:
    """Read the table in a file that is open; `read_table` keeps such columns apart."""
    aside = [name for name in columns if name is not None]
    if source.format in ("csv", "tsv"):
        with source.stream() as stream:
            tabs = source.format == "tsv"
            return read_delimited(stream, source.name, options, aside, tabs)
    if source.format == "parquet":
        return _table_of_parquet(source, options, aside)
    values = read_array(source, options.key)
    if isinstance(values, np.memmap):
        values = np.asarray(values)  # from_features would read a memory map in passes
    if values.ndim != 2 or 0 in values.shape:
        needed = "a table has two dimensions, and is not empty"
        raise ValueError(f"{source.name} holds an array of shape {values.shape}; {needed}")
    return _select(source.name, values, options, aside)


def read_text(file: str) -> tuple[str, str]:
    """Return the UTF-8 text of a file, and the name of the file for messages."""
    source = _open(file)
    with source.stream() as stream:
        return "".join(text_lines(stream, source.name, "a text is expected")), source.name


def read_array(source: Source, key: str | None = None) -> Matrix:
    """Return the one array of a .npy, .npz or .mtx file; sparse stays sparse."""
    array: Matrix
    if source.format == "mtx":
        with readable(source, "a Matrix Market file") as stream:
            array = read_matrix_market(text_lines(stream, source.name), source.size())
    elif source.format == "npz":
        array = _read_archive(source, key)
    else:
        with readable(source, "a NumPy .npy file") as stream:
            check_array(stream, source.size())
            stream.seek(0)
            # A memory map reads each page when it is needed, and nothing is copied.
            mode: Literal["r"] | None = None if source.path is None else "r"
            array = np.load(source.path or stream, mmap_mode=mode, allow_pickle=False)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{source.name} holds entries of type {array.dtype}, not numbers")
    return array


def _read_archive(source: Source, key: str | None) -> Matrix:
    with readable(source, "a NumPy .npz file") as stream:
        names = check_archive(stream)
    if key is None and {"format", "shape", "data"} <= set(names):  # by scipy.sparse.save_npz
        return _read_sparse(source)
    if key is None and len(names) != 1:
        raise ValueError(f"{source.name} holds {len(names)} arrays; pass --key, {listed(names)}")
    if key is not None and key not in names:
        raise ValueError(f"{source.name} has no array {key!r}; it has {listed(names)}")
    with readable(source, "a NumPy .npz file") as stream, np.load(stream) as arrays:
        array: Floats = arrays[key or names[0]]
        return array


def _read_sparse(source: Source) -> Matrix:
    with readable(source, "a sparse .npz file") as stream:
        with np.load(stream) as arrays:
            if arrays["format"].dtype.kind != "S":  # damaged characters would be invalid text
                raise ValueError("its format is no byte string, as scipy.sparse.save_npz writes")
        stream.seek(0)
        matrix = sp.load_npz(stream)
        check_size(8 * (sum(matrix.shape) + matrix.nnz), source.size())
        check_sparse(matrix)
        return sp.csc_array(matrix)


def parquet_metadata(source: Source) -> Any:
    """Return the metadata of a Parquet file, after a check of the size that it announces."""
    parquet = optional(*NEEDED[".parquet"])
    with readable(source, "a Parquet file") as stream:
        facts = parquet.read_metadata(stream)
        groups = [facts.row_group(k) for k in range(facts.num_row_groups)]
        rows = max(facts.num_rows, sum(group.num_rows for group in groups))
        size = max(8 * rows * facts.num_columns, sum(group.total_byte_size for group in groups))
        check_size(size, source.size())
        return facts


def read_parquet(source: Source) -> Any:
    """Return the pyarrow table in a Parquet file."""
    parquet_metadata(source)
    with readable(source, "a Parquet file") as stream:
        return optional(*NEEDED[".parquet"]).read_table(stream)


def parquet_roles(source: Source, schema: Any, options: Input, aside: Sequence[str]) -> ColumnRoles:
    """Find out what the columns of a Parquet file are; an index that pandas has saved has ids."""
    with readable(source, "a Parquet file"):
        saved = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in saved if name in schema.names]
    id = options.id or next(iter(index), None)
    names = [name for name in schema.names if name not in index or name == id]
    choices = Input(id=id, columns=options.columns)
    roles = find_columns(source.name, choices, aside, len(names), names)
    return roles._replace(gaps=options.missing != "error")


def _table_of_parquet(source: Source, options: Input, aside: Sequence[str]) -> ItemTable:
    table = read_parquet(source)
    roles = parquet_roles(source, table.schema, options, aside)
    table = table.select(roles.names)
    arrays = [table.column(place).to_numpy() for place in roles.numeric]
    if all(array.dtype.kind in "biuf" and np.isfinite(array).all() for array in arrays):
        labels = None if roles.id is None else list(map(str, table.column(roles.id).to_pylist()))
        return roles.table(source.name, np.column_stack(arrays).astype(np.float64), labels)
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return collect(source.name, roles, ((0, cells) for cells in rows))


def read_weights(table: ItemTable, weights: str, n: int, option: str = "--weights") -> Floats:
    """Return numbers for items: a column kept aside, or a file with one for each item."""
    if weights in table.aside:
        return table.aside[weights]
    if not os.path.exists(weights):
        known = f"a column of {table.source} nor a file of {n} numbers"
        raise ValueError(f"{option} {weights}: neither {known}")
    source = open_source(weights)
    is_array = source.format in ("npy", "npz")
    found = np.asarray(read_array(source) if is_array else read_source(source, Input()).values)
    if found.size != n:
        shape = " x ".join(map(str, found.shape))
        raise ValueError(f"{option} {weights}: expected {n} numbers, one an item, got {shape}")
    return found.ravel()


@contextlib.contextmanager
def readable(source: Source, kind: str) -> Iterator[IO[bytes]]:
    """Open a file; raise a readable error if it is not in the expected format."""
    advice = "if it is another format, pass --format"
    with damage(f"{source.name} is not {kind}, or it", advice), source.stream() as stream:
        yield stream


def _select(name: str, values: Matrix, options: Input, aside: Sequence[str]) -> ItemTable:
    """Take the columns that were asked for out of an array without names."""
    roles = find_columns(name, options, aside, values.shape[1])
    if len(roles.features) == values.shape[1] and not (options.id or options.columns):
        return ItemTable(name, values)
    columns = values if isinstance(values, np.ndarray) else values.tocsc()
    labels = None
    if roles.id is not None:
        labels = [f"{entry:g}" for entry in to_dense(columns[:, [roles.id]]).ravel()]
    return roles.table(name, columns[:, roles.numeric], labels)
