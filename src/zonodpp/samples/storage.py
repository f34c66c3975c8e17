"""Draws and other arrays as files: an archive of plain arrays and one JSON header, no pickle.

A file is an npz archive without compression, so that what it announces can be compared with what it
holds before any memory is taken; nothing in it is ever executed.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zonodpp.samples.packing import check_subsets, pack_target, unpack_target
from zonodpp.targets.target import Arrays, Header

if TYPE_CHECKING:
    from zonodpp.samples.result import Samples

FORMAT = 1
HEADER = "header"
# What reading a damaged archive ends in; the last two carry unknown or encrypted entries.
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, OverflowError),
    *(ValueError, LookupError, NotImplementedError, RuntimeError),
)
# How NumPy describes an array of plain numbers: type, order, shape.
DESCRIPTION = re.compile(
    r"\{'descr': '([<>|](?:b1|[iu][1248]|f[248]))', 'fortran_order': (?:True|False), "
    r"'shape': \(((?:\d+,? ?)*)\), \} *\n"
)


def write_arrays(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Arrays
) -> None:
    """Write header and arrays to this path; write to that of `zonodpp._files.replacing`.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from zonodpp.samples.storage import read_arrays, write_arrays
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "squares")
    ...     write_arrays(path, "example", {"power": 2}, {"x": np.arange(4) ** 2})
    ...     header, arrays = read_arrays(path, "example")
    >>> header["power"], arrays["x"]
    (2, array([0, 1, 4, 9]))
    """
    text = json.dumps({**header, "zonodpp": kind, "format": FORMAT})
    members = {HEADER: np.frombuffer(text.encode(), np.uint8), **arrays}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for key, array in members.items():
            entry = zipfile.ZipInfo(key + ".npy")
            with archive.open(entry, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def read_arrays(path: str | os.PathLike[str], kind: str) -> tuple[Header, Arrays]:
    """Read what `write_arrays` wrote, with every checksum verified; see its example.

    Raises
    ------
    ValueError
        If the file is damaged, of another kind, or not one of ours; it is left alone.
    """
    place = os.fspath(path)
    with open(place, "rb") as file:
        if file.read(4) != b"PK\x03\x04":
            raise ValueError(f"{place} was not written by zonodpp, or its beginning is damaged")
        try:
            with zipfile.ZipFile(file) as archive:
                ours = f"{HEADER}.npy" in archive.namelist()
                arrays = _read_members(archive, os.fstat(file.fileno()).st_size) if ours else {}
            header = json.loads(arrays.pop(HEADER).tobytes()) if ours else {}
        except DAMAGE as error:
            raise ValueError(_damaged(place, error)) from error
    found = header.get("zonodpp") if isinstance(header, dict) else None
    if found is None:
        raise ValueError(f"{place} was not written by zonodpp: it is another program's archive")
    if found != kind:
        raise ValueError(f"{place} holds {str(found)[:40]}, not {kind}")
    if header.get("format") != FORMAT:
        raise ValueError(
            f"{place} has format {str(header.get('format'))[:40]}, this version of zonodpp reads "
            f"format {FORMAT}; use the version that wrote it"
        )
    return header, arrays


def _read_members(archive: zipfile.ZipFile, size: int) -> Arrays:
    """Read all arrays of an archive, a file of this size, after a look at what they announce."""
    members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("it is compressed, which zonodpp never does")
    if sum(member.file_size for member in members) > size:
        raise ValueError("its parts announce more than it holds")
    if (broken := archive.testzip()) is not None:
        raise ValueError(f"checksum of {broken[:40]}")
    return {member.filename.removesuffix(".npy"): _read(archive, member) for member in members}


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Read one array, if it is one of plain numbers that fills its part of the archive."""
    with archive.open(member) as file:
        start = file.read(10)
        length = int.from_bytes(start[8:], "little")
        found = DESCRIPTION.fullmatch(file.read(length).decode("latin-1"))
    if start[:8] != b"\x93NUMPY\x01\x00" or found is None:
        raise ValueError(f"{member.filename[:40]} is no array of plain numbers; pickle is not read")
    entries = math.prod(map(int, re.findall(r"\d+", found[2])))
    if np.dtype(found[1]).itemsize * entries != member.file_size - 10 - length:
        raise ValueError(f"{member.filename[:40]} announces another size than it has")
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _damaged(place: str, error: Exception) -> str:
    return f"{place} is damaged ({error}); it was left as it is, use another copy"


def save_samples(samples: Samples, path: str | os.PathLike[str]) -> None:
    """Write draws, tracked sets, stats, method and target to this path; see `Samples.save`.

    Examples
    --------
    >>> import os, tempfile
    >>> from zonodpp import ProjectionDPP, sample
    >>> from zonodpp.samples.storage import load_samples, save_samples
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run")
    ...     save_samples(sample(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]), 3, rng=0), path)
    ...     sorted(load_samples(path))
    ['method', 'stats', 'subsets', 'target', 'tracked', 'whole']
    """
    target, arrays = pack_target(samples.target)
    arrays.update(subsets=samples.subsets, tracked=samples.tracked)
    arrays.update({f"stats/{name}": np.asarray(found) for name, found in samples.stats.items()})
    header: Header = {"method": samples.method, "stats": list(samples.stats), "target": target}
    header["whole"] = samples.whole
    write_arrays(path, "samples", header, arrays)


def load_samples(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the arguments of `Samples` that `save_samples` wrote.

    Examples
    --------
    >>> from zonodpp.samples.storage import load_samples
    >>> load_samples("no such file")
    Traceback (most recent call last):
    FileNotFoundError: ...
    """
    header, arrays = read_arrays(path, "samples")
    try:
        target = unpack_target(header["target"], arrays)
        found: dict[str, Any] = {
            "target": target,
            "subsets": arrays["subsets"],
            "method": str(header["method"]),
            "tracked": arrays["tracked"],
            "whole": bool(header.get("whole", True)),
            "stats": {name: arrays[f"stats/{name}"] for name in header["stats"]},
        }
        check_subsets(found["subsets"], target.n)
        chains, draws, _ = found["subsets"].shape
        tracked = found["tracked"]
        if tracked.shape[:-1] != (chains, draws) or tracked.dtype != np.float64:
            raise ValueError("draws and tracked sets do not fit together")
        if any(array.shape[:1] != (chains,) for array in found["stats"].values()):
            raise ValueError("stats do not have one entry for each chain")
    except (*DAMAGE, TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(_damaged(os.fspath(path), error)) from error
    return found
