"""Open files of any known format, and read arrays and texts."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import IO, Any, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp

from zonodpp._arguments import listed, one_of
from zonodpp._imports import optional
from zonodpp._types import Floats, Integers, Matrix
from zonodpp.cli.interface import Format
from zonodpp.cli.messages import quoted
from zonodpp.cli.output import NEEDED
from zonodpp.io.guards import check_archive, check_array, check_size, check_sparse, damage

TEXT = ("csv", "tsv", "jsonl")  # formats of tables that are read line by line
# Formats by the first bytes of a file.
_STARTS = {b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PAR1": "parquet", b"%%MatrixM": "mtx"}
_STARTS |= {b"<?xml": "graphml", b"<graphml": "graphml"}
_OTHER_ENDINGS = {"ndjson": "jsonl", "psv": "csv"}
# What is not read, by ending or by first bytes, and what to do.
_COMPRESSED, _SHEET = "it is compressed; unpack it first", "it is a spreadsheet; save it as CSV"
_JSON = "JSON is not read; save it as {}"
_UNREAD = {"gz": _COMPRESSED, "bz2": _COMPRESSED, "xz": _COMPRESSED}
_UNREAD |= {"xlsx": _SHEET, "xls": _SHEET, "ods": _SHEET, "json": _JSON}
_UTF_16 = "it is UTF-16 text; save it as UTF-8 text"
_UNREAD_STARTS = {b"\x1f\x8b": _COMPRESSED, b"\xff\xfe": _UTF_16, b"\xfe\xff": _UTF_16}
_START = 2**16  # bytes by which a file is recognised
_NOT_UTF_8 = re.compile("[\ud800-\udfff]")  # surrogates, which no UTF-8 text has


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
        head = stream.read(_START)
    if not head:
        raise ValueError(f"{source.name} is empty: there is nothing to read")
    text = "csv" if "csv" in known else "edges"  # a file that is not recognised is text
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n\t ")
    by_start = next((found for start, found in _STARTS.items() if head.startswith(start)), text)
    by_start = "jsonl" if _begins_with_object(begin) else by_start
    ending = os.path.splitext(file)[1].lower().lstrip(".")
    ending = _OTHER_ENDINGS.get(ending, ending)
    if by_start == "jsonl" and ending in ("json", "csv", "tsv"):
        ending = by_start
    if format is None:
        unread = _UNREAD.get("json" if by_start == "jsonl" and by_start not in known else ending)
        if unread is not None:
            others = ", ".join(known[:-1])
            raise ValueError(f"{source.name}: {unread.format(f'{others} or {known[-1]}')}")
        format = ending if ending in known else by_start
    if format not in known:
        raise ValueError(f"{source.name}: cannot tell what it is; pass --format {listed(known)}")
    return source._replace(format=format)


def _begins_with_object(head: bytes) -> bool:
    """Tell whether the first line of a text is a JSON object, or the start of a long one."""
    line, end, _ = head.partition(b"\n")
    if not line.startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return not end and re.match(rb'\{\s*"', line) is not None


def _open(file: str) -> Source:
    """Return the path of a regular file, or all bytes of anything else, such as a pipe."""
    if file == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed: give the name of a file, or pipe one in")
        return Source("standard input", "", None, sys.stdin.buffer.read())
    if os.path.isfile(file):
        return Source(file, "", file)
    with open(file, "rb") as stream:
        return Source(file, "", None, stream.read())


def text_lines(source: Source) -> Iterator[str]:
    """Yield the lines of UTF-8 text, line ends included; raise if it is not text."""
    with source.stream() as stream:
        head = stream.read(65536)
        for start, advice in _UNREAD_STARTS.items():
            if head.startswith(start):
                raise ValueError(f"{source.name}: {advice}")
        if b"\0" in head:
            hint = "; if it is an array, pass --format" * bool(source.format)
            raise ValueError(f"{source.name} is not text but binary data{hint}")
        stream.seek(0)
        # Lines end in LF, CR LF or CR. What is not UTF-8 is read as surrogates, one for each byte.
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
        for number, line in enumerate(text, 1):
            if not line.isascii() and _NOT_UTF_8.search(line):
                problem = "not UTF-8 text; convert it, for instance with iconv"
                raise ValueError(f"{source.name}, line {number}: {problem}")
            yield line


def read_text(file: str) -> tuple[str, str]:
    """Return the UTF-8 text of a file, and the name of the file for messages."""
    source = _open(file)
    return "".join(text_lines(source)), source.name


def read_array(source: Source, key: str | None = None) -> Matrix:
    """Return the one array of a .npy, .npz or .mtx file; sparse stays sparse."""
    array: Matrix
    if source.format == "mtx":
        with readable(source, "a Matrix Market file"):
            array = _read_matrix_market(text_lines(source), source.size())
    elif source.format == "npz":
        array = _read_archive(source, key)
    else:
        with readable(source, "a NumPy .npy file") as stream:
            check_array(stream, source.size())
            stream.seek(0)
            # A memory map reads each page when it is needed, and nothing is copied.
            array = np.load(source.path or stream, mmap_mode="r" if source.path else None)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{source.name} holds entries of type {array.dtype}, not numbers")
    return array


def _read_archive(source: Source, key: str | None) -> Matrix:
    with readable(source, "a NumPy .npz file") as stream:
        names = check_archive(stream)
    if key is None and {"format", "shape", "data"} <= set(names):  # from scipy.sparse.save_npz
        return _read_sparse(source)
    if key is None and len(names) != 1:
        raise ValueError(f"{source.name} holds {len(names)} arrays; pass --key, {listed(names)}")
    if key is not None and key not in names:
        raise ValueError(f"{source.name} has no array {key!r}; it has {listed(names)}")
    with readable(source, "a NumPy .npz file") as stream, np.load(stream) as arrays:
        return np.asarray(arrays[key or names[0]])


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


def parquet_facts(source: Source) -> Any:
    """Return the metadata of a Parquet file, after a check of the size that it announces."""
    parquet = optional(*NEEDED[".parquet"])
    with readable(source, "a Parquet file") as stream:
        facts = parquet.read_metadata(stream)
        groups = [facts.row_group(k) for k in range(facts.num_row_groups)]
        rows = max(facts.num_rows, sum(group.num_rows for group in groups))
        size = max(8 * rows * facts.num_columns, sum(group.total_byte_size for group in groups))
        check_size(size, source.size())
        counts = Counter(facts.schema.to_arrow_schema().names)
    if not facts.num_rows:
        raise ValueError(f"{source.name} has columns but no rows")
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        found = f"several columns are called {listed(list(map(quoted, repeated)), 3)}"
        raise ValueError(f"{source.name}: {found}; save it with names that differ")
    return facts


def read_parquet(source: Source, columns: list[str] | None = None) -> Any:
    """Return the pyarrow table in a Parquet file, or some columns of it."""
    parquet_facts(source)
    with readable(source, "a Parquet file") as stream:
        return optional(*NEEDED[".parquet"]).read_table(stream, columns=columns)


@contextlib.contextmanager
def readable(source: Source, kind: str) -> Iterator[IO[bytes]]:
    """Open a file; raise a readable error if it is not in the expected format."""
    advice = "if it is another format, pass --format"
    with damage(f"{source.name} is not {kind}, or it", advice), source.stream() as stream:
        yield stream


def _read_matrix_market(lines: Iterator[str], held: int) -> Matrix:
    r"""Return the matrix in the lines of a file of ``held`` bytes; a sparse one as a COO array.

    SciPy's reader is not used: it ends the process on some damaged files and ignores what follows a
    number in an entry. Here NumPy turns the text into numbers, and each size and index is checked.

    Examples
    --------
    >>> from zonodpp.cli.read import _read_matrix_market
    >>> lines = iter("%%MatrixMarket matrix array real general\n2 1\n0.5\n3\n".splitlines())
    >>> _read_matrix_market(lines, held=54)
    array([[0.5],
           [3. ]])
    """
    banner = next(lines, "").lower().split()
    if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError("its first line is not '%%MatrixMarket matrix LAYOUT TYPE SYMMETRY'")
    dense = one_of(banner[2], "its layout", ("array", "coordinate")) == "array"
    kind = one_of(banner[3], "its type of numbers", ("real", "double", "integer", "pattern"))
    symmetric = one_of(banner[4], "its symmetry", ("general", "symmetric")) == "symmetric"
    content = (line for line in lines if line.strip() and not line.lstrip().startswith("%"))
    size, words = next(content, ""), 2 if dense else 3
    if not re.fullmatch(rf"(\s*[0-9]+\b){{{words}}}\s*", size):
        raise ValueError(f"expected {words} whole numbers as its size, got {quoted(size)}")
    rows, columns, *count = map(int, size.split())
    if symmetric and rows != columns:
        raise ValueError(f"it is symmetric, but has {rows} rows and {columns} columns")
    check_size(8 * (rows + columns + sum(count)), held)
    if dense:
        count = [rows * (rows + 1) // 2 if symmetric else rows * columns]
    numbers = _read_numbers(content)
    found = numbers.size if dense else len(numbers)
    if found != count[0]:
        raise ValueError(f"it announces {count[0]} entries, but has {found}")
    if dense:  # the entries, or the lower triangle, column by column
        order = np.triu_indices(rows) if symmetric else np.divmod(np.arange(found), max(1, rows))
        values, (column, row) = numbers.ravel(), order
    else:
        row, column = _entry_places(numbers, 2 if kind == "pattern" else 3, rows, columns)
        values = np.ones(found) if kind == "pattern" else numbers[:, 2]
    if symmetric:
        other = row != column
        row, column = np.r_[row, column[other]], np.r_[column, row[other]]
        values = np.r_[values, values[other]]
    matrix = sp.coo_array((values, (row, column)), shape=(rows, columns))
    return matrix.toarray() if dense else matrix


def _entry_places(numbers: Floats, width: int, rows: int, columns: int) -> Integers:
    """Return the rows and columns of entries, from 0, checked."""
    if len(numbers) and numbers.shape[1] != width:
        raise ValueError(f"an entry has {numbers.shape[1]} numbers, not {width}")
    places = numbers[:, :2]
    if not ((places >= 1) & (places <= [rows, columns]) & (places % 1 == 0)).all():
        raise ValueError(f"an entry lies outside the {rows} rows and {columns} columns")
    return (places.T - 1).astype(np.int64)


def _read_numbers(lines: Iterator[str]) -> Floats:
    """Turn lines with equally many numbers into an array; anything but a number is an error."""
    first = next(lines, None)
    if first is None:
        return np.zeros((0, 3))
    try:
        return np.loadtxt(chain([first], lines), dtype=np.float64, comments="%", ndmin=2)
    except ValueError as error:  # NumPy counts rows among the entries, not in the file
        raise ValueError(str(error).split(" at row ")[0]) from None
