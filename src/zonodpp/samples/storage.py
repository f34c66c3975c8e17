"""Draws and other arrays as files: an archive of plain arrays and one JSON header, no pickle.

A file is an npz archive without compression; nothing in it is ever executed, and all that is read
is checked.
"""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from zonodpp._types import Labels, PathLike, Subsets
from zonodpp.io.guards import check_archive, damage
from zonodpp.samples.draws import Draws
from zonodpp.targets import ProjectionDPP, VolumeSampling
from zonodpp.targets.base import Arrays, Header, Target
from zonodpp.targets.designs import Design
from zonodpp.targets.dpp import DPP
from zonodpp.targets.kdpp import KDPP
from zonodpp.targets.spanning_trees import SpanningTrees

FORMAT = 2  # of the files; those of another format are refused
_HEADER = "header"
_TARGETS = (ProjectionDPP, VolumeSampling, SpanningTrees, DPP, KDPP, Design)
_KINDS: dict[str, type[Target]] = {kind.__name__: kind for kind in _TARGETS}


def write_arrays(path: PathLike, kind: str, header: Mapping[str, object], arrays: Arrays) -> None:
    """Write header and arrays to this path, the temporary one of `zonodpp.io.files.replacing`.

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
    members = {_HEADER: np.frombuffer(text.encode(), np.uint8), **arrays}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for key, array in members.items():
            entry = zipfile.ZipInfo(key + ".npy")  # unlike np.savez, without the time of day
            with archive.open(entry, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def read_arrays(path: PathLike, kind: str) -> tuple[Header, Arrays]:
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
        with damage(place), zipfile.ZipFile(file) as archive:
            ours = f"{_HEADER}.npy" in archive.namelist()
            arrays = _read_members(archive, file) if ours else {}
            header = json.loads(arrays.pop(_HEADER).tobytes(), object_hook=_decode) if ours else {}
    found = header.get("zonodpp") if isinstance(header, dict) else None
    if found is None:
        raise ValueError(f"{place} was not written by zonodpp: it is another program's archive")
    if found != kind:
        raise ValueError(f"{place} holds {str(found)[:40]}, not {kind}")
    if header.get("format") != FORMAT:
        known = f"this version of zonodpp reads format {FORMAT}; use the version that wrote it"
        raise ValueError(f"{place} has format {str(header.get('format'))[:40]}, {known}")
    return header, arrays


def _read_members(archive: zipfile.ZipFile, file: IO[bytes]) -> Arrays:
    """Read all arrays of an archive, after a check of their sizes and checksums."""
    if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
        raise ValueError("it is compressed, which zonodpp never does")
    # NumPy reads no more of a member than its header announces, and a part of it has no checksum.
    if (broken := archive.testzip()) is not None:
        raise ValueError(f"checksum of {broken[:40]}")
    names = check_archive(file)
    with np.load(file, allow_pickle=False) as loaded:
        arrays = {name: loaded[name] for name in names}
    if strange := [name for name, array in arrays.items() if array.dtype.kind not in "biuf"]:
        raise ValueError(f"{strange[0][:40]} does not hold plain numbers")
    return arrays


def check_subsets(subsets: Subsets, n: int) -> None:
    """Check draws from a file, (chains, draws, width): rows ascending, filled up with -1."""
    if subsets.dtype != np.int32 or subsets.ndim != 3 or not 1 <= subsets.shape[2] <= n:
        raise ValueError(f"draws are an array of {subsets.dtype} {subsets.shape}")
    if subsets.size and not (subsets.min() >= -1 and subsets.max() < n):
        raise ValueError(f"draws hold items from {subsets.min()} to {subsets.max()}, out of {n}")
    before, after = subsets[:, :, :-1], subsets[:, :, 1:]
    if not ((after == -1) | ((before >= 0) & (before < after))).all():
        raise ValueError("the items of a draw do not ascend")


def save_samples(samples: Draws, path: PathLike) -> None:
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
    header = {"method": samples.method, "stats": list(samples.stats), "target": target}
    write_arrays(path, "samples", {**header, "whole": samples.whole}, arrays)


def load_samples(path: PathLike) -> dict[str, Any]:
    """Read the arguments of `Samples` that `save_samples` wrote.

    Examples
    --------
    >>> from zonodpp.samples.storage import load_samples
    >>> load_samples("no such file")
    Traceback (most recent call last):
    FileNotFoundError: ...
    """
    header, arrays = read_arrays(path, "samples")
    with damage(os.fspath(path)):
        target = unpack_target(header["target"], arrays)
        subsets, tracked = arrays["subsets"], arrays["tracked"]
        stats = {name: arrays[f"stats/{name}"] for name in header["stats"]}
        check_subsets(subsets, target.n)
        if tracked.shape[:-1] != subsets.shape[:2] or tracked.dtype != np.float64:
            raise ValueError("draws and tracked sets do not fit together")
        if any(array.shape[:1] != subsets.shape[:1] for array in stats.values()):
            raise ValueError("stats do not have one entry for each chain")
        found = {"target": target, "subsets": subsets, "tracked": tracked, "stats": stats}
        return {**found, "method": str(header["method"]), "whole": bool(header["whole"])}


def pack_target(target: Target) -> tuple[Header, Arrays]:
    """Take a target apart into a JSON-able header and plain arrays.

    Labels that JSON does not know (dates, for instance) become text, with a warning.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP
    >>> from zonodpp.samples.storage import pack_target, unpack_target
    >>> header, arrays = pack_target(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]))
    >>> header["kind"], list(arrays)
    ('ProjectionDPP', ['target/A'])
    >>> unpack_target(header, arrays)
    ProjectionDPP(r=2, n=4, power=2)
    """
    header, arrays = target.stored()
    header |= {"kind": type(target).__name__, "labels": _encode_all(header["labels"])}
    if "graph" in header:
        header["graph"]["names"] = _encode_all(header["graph"]["names"])
    return header, {f"target/{name}": array for name, array in arrays.items()}


def unpack_target(header: Header, arrays: Arrays) -> Target:
    """Put a target together again from what `pack_target` returned; see its example."""
    parts = {name.removeprefix("target/"): array for name, array in arrays.items()}
    target = _KINDS[header["kind"]].restored(header, parts)
    _check_labels(target.labels, target.n)
    if target.graph is not None:
        _check_labels(target.graph.names, target.graph.nodes)
    return target


def _encode_all(labels: Labels | None) -> list[object] | None:
    return None if labels is None else [_encode(label) for label in labels]


def _encode(label: object) -> object:
    """Return a label as JSON has it, which knows no tuples; `_decode` is the inverse."""
    if isinstance(label, tuple):
        return {"tuple": _encode_all(label)}
    if isinstance(label, list):
        return _encode_all(label)
    if isinstance(label, np.generic):
        label = label.item()
    if label is None or isinstance(label, str | int | float):
        return label
    warnings.warn(f"labels of type {type(label).__name__} are saved as text", stacklevel=2)
    return str(label)


def _decode(found: dict[str, Any]) -> object:
    return tuple(found["tuple"]) if found.keys() == {"tuple"} else found


def _check_labels(labels: object, count: int) -> None:
    if labels is not None and not (isinstance(labels, list) and len(labels) == count):
        raise ValueError(f"there is not one label for each of {count}")
