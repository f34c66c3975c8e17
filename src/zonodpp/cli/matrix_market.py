"""Read Matrix Market files, dense and sparse.

SciPy's reader is not used: it ends the process on some damaged files and ignores what follows a
number in an entry. Here NumPy turns the text into numbers, and each size and index is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import numpy as np
import scipy.sparse as sp

from zonodpp._types import Floats, Matrix
from zonodpp.archives import check_size
from zonodpp.arguments import one_of
from zonodpp.cli.messages import quoted

_SIZES = {"array": 2, "coordinate": 3}  # numbers in the line that gives the size, by layout


def read_matrix_market(lines: Iterator[str], held: int) -> Matrix:
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
    layout = one_of(banner[2], "its layout", tuple(_SIZES))
    kind = one_of(banner[3], "its type of numbers", ("real", "double", "integer", "pattern"))
    symmetric = one_of(banner[4], "its symmetry", ("general", "symmetric")) == "symmetric"
    content = (line for line in lines if line.strip() and not line.lstrip().startswith("%"))
    size = next(content, "")
    words = size.split()
    if len(words) != _SIZES[layout] or not all(re.fullmatch("[0-9]+", word) for word in words):
        raise ValueError(f"expected {_SIZES[layout]} whole numbers as its size, got {quoted(size)}")
    rows, columns, *count = map(int, words)
    if symmetric and rows != columns:
        raise ValueError(f"it is symmetric, but has {rows} rows and {columns} columns")
    check_size(8 * (rows + columns + sum(count)), held)
    if layout == "array":
        count = [rows * (rows + 1) // 2 if symmetric else rows * columns]
    numbers = _read_numbers(content)
    found = numbers.size if layout == "array" else len(numbers)
    if found != count[0]:
        raise ValueError(f"it announces {count[0]} entries, but has {found}")
    if layout == "array":  # the entries, or the lower triangle, column by column
        order = np.triu_indices(rows) if symmetric else np.divmod(np.arange(found), max(1, rows))
        values, (column, row) = numbers.ravel(), order
    else:
        width = 2 if kind == "pattern" else 3
        if found and numbers.shape[1] != width:
            raise ValueError(f"an entry has {numbers.shape[1]} numbers, not {width}")
        places = numbers[:, :2]
        if not ((places >= 1) & (places <= [rows, columns]) & (places % 1 == 0)).all():
            raise ValueError(f"an entry lies outside the {rows} rows and {columns} columns")
        row, column = (places.T - 1).astype(np.int64)
        values = np.ones(found) if kind == "pattern" else numbers[:, 2]
    if symmetric:
        other = row != column
        row, column = np.r_[row, column[other]], np.r_[column, row[other]]
        values = np.r_[values, values[other]]
    matrix = sp.coo_array((values, (row, column)), shape=(rows, columns))
    return matrix.toarray() if layout == "array" else matrix


def _read_numbers(lines: Iterator[str]) -> Floats:
    """Turn lines with equally many numbers into an array; anything but a number is an error."""
    first = next(lines, None)
    if first is None:
        return np.zeros((0, 3))
    try:
        return np.loadtxt(chain([first], lines), dtype=np.float64, comments="%", ndmin=2)
    except ValueError as error:  # its row is one of the entries, not of the file
        raise ValueError(str(error).split(" at row ")[0]) from None
