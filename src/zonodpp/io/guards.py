"""Checks of .npy and .npz files, made before memory is taken for the sizes they announce.

A damaged or hostile file can announce far more than it holds. NumPy and SciPy take the memory first
and look at the file afterwards, so the announced sizes are compared with the file here.
"""

from __future__ import annotations

import contextlib
import math
import zipfile
from collections.abc import Iterator
from typing import IO

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

# Bytes that any file may ask for: small compressed files of zeros are common and harmless.
LIMIT = 2**28
# Bytes in memory for each byte of a larger file. Data seldom shrink to a hundredth, whereas an
# archive made to exhaust the memory has a thousand zeros for each of its bytes.
RATIO = 100


@contextlib.contextmanager
def damage(name: str, advice: str = "it was left as it is, use another copy") -> Iterator[None]:
    """Raise one readable error for a file that is not in the expected format.

    Readers fail on damaged files with exceptions of any type.

    Examples
    --------
    >>> from zonodpp.io.guards import damage
    >>> with damage("draws.npz"):
    ...     {}["subsets"]
    Traceback (most recent call last):
    ValueError: draws.npz is damaged ('subsets'); it was left as it is, use another copy
    """
    try:
        yield
    except (FileNotFoundError, PermissionError, MemoryError, ImportError):
        raise
    except Exception as error:
        reason = str(error).split("\n")[0][:200]
        raise ValueError(f"{name} is damaged ({reason}); {advice}") from error


def check_size(needed: int, held: int) -> None:
    """Raise unless a file of ``held`` bytes may ask for ``needed`` bytes of memory.

    Examples
    --------
    >>> from zonodpp.io.guards import check_size
    >>> check_size(needed=80_000_000, held=1_000_000)
    >>> check_size(needed=8 * 10**18, held=1_000_000)
    Traceback (most recent call last):
    ValueError: it announces data of 7,629,394,531,250 MiB, but has only 1,000,000 bytes itself; ...
    """
    if needed > max(LIMIT, RATIO * held):
        found = f"data of {needed >> 20:,} MiB, but has only {held:,} bytes itself"
        advice = "if the data are right, save them uncompressed, or as a sparse matrix"
        raise ValueError(f"it announces {found}; {advice}")


def check_array(stream: IO[bytes], size: int) -> int:
    """Check the header of a .npy file of ``size`` bytes; return its size as float64.

    Raises
    ------
    ValueError
        If the header is damaged or announces more data than the file has.
    """
    try:
        readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        shape, _, dtype = readers[npy.read_magic(stream)](stream)
    except Exception as error:  # NumPy evaluates the header as Python, which fails in many ways
        raise ValueError("the header of an array cannot be read") from error
    count = math.prod(shape)
    if min(shape, default=0) < 0 or count * dtype.itemsize > size - stream.tell():
        raise ValueError(f"an array of shape {shape} is announced, but the data end before")
    return 8 * count


def check_archive(stream: IO[bytes]) -> list[str]:
    """Check the headers of all arrays in a .npz file; return the names of the arrays.

    Raises
    ------
    ValueError
        If a member is not an array, is damaged, or announces more data than the file can hold.
    zipfile.BadZipFile
        If the file is not a zip archive.
    """
    held = stream.seek(0, 2)
    needed = 0
    with zipfile.ZipFile(stream) as archive:
        names = archive.namelist()
        for member in archive.infolist():
            # numpy.savez writes no other members and compresses with nothing but deflate.
            known = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            if not (known and member.filename.endswith(".npy")):
                raise ValueError(f"its member {member.filename[:60]!r} is not an array")
            with archive.open(member) as file:
                needed += max(check_array(file, member.file_size), member.file_size)
            check_size(needed, held)
    stream.seek(0)
    return [name.removesuffix(".npy") for name in names]


def check_sparse(matrix: sp.sparray) -> None:
    """Raise ValueError unless the indices of a sparse matrix lie within it.

    SciPy's own check subtracts the index pointers in their own integer type, where the smallest
    32-bit number wraps around and passes. If the last pointer is negative, it subtracts nothing.
    """
    if hasattr(matrix, "indptr"):
        pointers = np.asarray(matrix.indptr, dtype=np.int64)
        if pointers[0] != 0 or (np.diff(pointers) < 0).any():
            raise ValueError("the index pointers of a sparse matrix must rise from 0")
    if hasattr(matrix, "check_format"):  # COO arrays check themselves, and DIA has no index
        matrix.check_format(full_check=True)
