"""Read Matrix Market files, dense and sparse.

SciPy's reader is not used: it ends the process on some damaged files and ignores what follows a
number in an entry. Here NumPy turns the text into numbers, and each size and index is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from zonodpp._types import Floats
from zonodpp.archives import check_size
from zonodpp.arguments import one_of
from zonodpp.cli.messages import quoted


def read_matrix_market(lines: Iterator[str], held: int) -> Any:
    r"""Return the matrix in the lines of a file of ``held`` bytes; a sparse one as a COO array.

    Examples
    --------
    >>> from zonodpp.cli.matrix_market import read_matrix_market
    >>> lines = iter("%%MatrixMarket matrix array real general\n2 1\n0.5\n3\n".splitlines())
    >>> read_matrix_market(lines, held=54)
    array([[0.5],
           [3. ]])
    """
    banner = next(lines, "").lower().split()
    if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError("its first line is not '%%MatrixMarket matrix LAYOUT TYPE SYMMETRY'")
    layout = one_of(banner[2], "its layout", ("array", "coordinate"))
    kind = one_of(banner[3], "its type of numbers", ("real", "double", "integer", "pattern"))
    symmetry = one_of(banner[4], "its symmetry", ("general", "symmetric", "skew-symmetric"))
    content = (line for line in lines if line.strip() and not line.lstrip().startswith("%"))
    sizes = _sizes(next(content, ""), 2 if layout == "array" else 3)
    if symmetry != "general" and sizes[0] != sizes[1]:
        raise ValueError(f"it is {symmetry}, but has {sizes[0]} rows and {sizes[1]} columns")
    if layout == "array":
        return _dense(_parse_numbers(content).ravel(), sizes[0], sizes[1], symmetry)
    check_size(8 * sum(sizes), held)
    return _sparse(_parse_numbers(content), sizes, kind == "pattern", symmetry)


def _sizes(line: str, expected: int) -> list[int]:
    words = line.split()
    if len(words) != expected or not all(word.isascii() and word.isdigit() for word in words):
        raise ValueError(f"expected {expected} whole numbers as its size, got {quoted(line)}")
    return [int(word) for word in words]


def _parse_numbers(lines: Iterator[str]) -> Floats:
    """Turn lines with equally many numbers into an array; anything but a number is an error."""
    first = next(lines, None)
    if first is None:
        return np.zeros((0, 0))
    try:
        return np.loadtxt(chain([first], lines), dtype=np.float64, comments="%", ndmin=2)
    except ValueError as error:  # its row is one of the entries, not of the file
        raise ValueError(str(error).split(" at row ")[0]) from None


def _check_count(found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"it announces {expected} entries, but has {found}")


def _dense(values: Floats, rows: int, columns: int, symmetry: str) -> Floats:
    if symmetry == "general":
        _check_count(values.size, rows * columns)
        return values.reshape(columns, rows).T
    skew = symmetry == "skew-symmetric"
    _check_count(values.size, rows * (rows - 1) // 2 if skew else rows * (rows + 1) // 2)
    # The file has the lower triangle by columns: the upper triangle of the transpose by rows.
    upper = np.triu_indices(rows, k=1 if skew else 0)
    matrix = np.zeros((rows, rows))
    matrix[upper] = -values if skew else values
    matrix.T[upper] = values
    return matrix


def _sparse(entries: Floats, sizes: list[int], pattern: bool, symmetry: str) -> sp.coo_array:
    rows, columns, count = sizes
    _check_count(len(entries), count)
    if count == 0:
        return sp.coo_array((rows, columns))
    if entries.shape[1] != (2 if pattern else 3):
        raise ValueError(f"an entry has {entries.shape[1]} numbers, not {2 if pattern else 3}")
    places = entries[:, :2]
    if not ((places >= 1) & (places <= [rows, columns]) & (places % 1 == 0)).all():
        raise ValueError(f"an entry lies outside the {rows} rows and {columns} columns")
    row, column = (places - 1).astype(np.int64).T
    values = np.ones(count) if pattern else entries[:, 2]
    if symmetry != "general":
        mirrored = row != column
        sign = -1.0 if symmetry == "skew-symmetric" else 1.0
        values = np.concatenate([values, sign * values[mirrored]])
        row, column = (
            np.concatenate([row, column[mirrored]]),
            np.concatenate([column, row[mirrored]]),
        )
    return sp.coo_array((values, (row, column)), shape=(rows, columns))
