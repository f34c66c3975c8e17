"""Draws and targets as files.

A file is an npz archive of plain arrays and one JSON header; nothing in it is ever executed. It
appears whole under its name or not at all.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import struct
import warnings
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from zonodpp.targets import ProjectionDPP, VolumeSampling
from zonodpp.targets.graphs import Graph
from zonodpp.targets.target import Target

if TYPE_CHECKING:
    from zonodpp.samples.result import Samples

FORMAT = 1
HEADER = "header"
# What reading a damaged archive ends in; the last two carry unknown or encrypted entries.
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, OverflowError),
    *(ValueError, LookupError, NotImplementedError, RuntimeError),
)

Arrays = dict[str, NDArray[Any]]
Header = dict[str, Any]


def pack_target(target: Target) -> tuple[Header, Arrays]:
    """Take a target apart into a JSON-able header and plain arrays.

    Labels that JSON does not know (dates, for instance) become text, with a warning.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP
    >>> from zonodpp.samples.storage import pack_target, unpack_target
    >>> header, arrays = pack_target(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]))
    >>> sorted(arrays)
    ['target/A']
    >>> unpack_target(header, arrays)
    ProjectionDPP(r=2, n=4, power=2)
    """
    header: Header
    if not isinstance(target, VolumeSampling):
        return _pack_spectral(target)
    header = {
        "projection": isinstance(target, ProjectionDPP),
        "power": target.power,
        "shape": [target.r, target.n],
        "sparse": None,
        "labels": _labels_of(target),
    }
    arrays: Arrays = {}
    if sp.issparse(target.A):
        A = target.A if target.A.format in ("csc", "csr") else target.A.tocsc()
        header["sparse"] = A.format
        arrays.update({"target/data": A.data, "target/indices": A.indices})
        arrays["target/indptr"] = A.indptr
    else:
        arrays["target/A"] = np.asarray(target.A)
    if target.weights is not None:
        arrays["target/weights"] = target.weights
    graph = target.graph
    if graph is not None:
        arrays.update({"target/tail": graph.tail, "target/head": graph.head})
        header["graph"] = {
            "nodes": graph.nodes,
            "names": None if graph.names is None else _encode_labels(graph.names),
            "multigraph": graph.multigraph,
            "weight": graph.weight,
        }
    return header, arrays


def unpack_target(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Target:
    """Put a target together again from what `pack_target` returned.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP
    >>> from zonodpp.samples.storage import pack_target, unpack_target
    >>> unpack_target(*pack_target(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])))
    ProjectionDPP(r=2, n=4, power=2)
    """
    if "kind" in header:
        return _unpack_spectral(header, arrays)
    if header["sparse"]:
        layout = {"csc": sp.csc_array, "csr": sp.csr_array}[header["sparse"]]
        parts = (arrays["target/data"], arrays["target/indices"], arrays["target/indptr"])
        A = layout(parts, shape=tuple(header["shape"]))
    else:
        A = arrays["target/A"]
    if list(A.shape) != header["shape"]:
        raise ValueError(f"A is {A.shape}, but {header['shape']} was announced")
    labels = _decode_labels(header["labels"])
    graph = None
    if "graph" in header:
        known = header["graph"]
        ends = arrays["target/tail"], arrays["target/head"]
        names = _decode_labels(known["names"])
        graph = Graph(known["nodes"], *ends, names, known["multigraph"], known["weight"])
    # A, labels and graph are as a constructor left them, so none of the constructors fits.
    cls = ProjectionDPP if header["projection"] else VolumeSampling
    target = cls.__new__(cls)
    target._set(A, header["power"], arrays.get("target/weights"), labels, graph)
    return target


def _pack_spectral(target: Any) -> tuple[Header, Arrays]:
    header = {"kind": type(target).__name__, "labels": _labels_of(target)}
    if header["kind"] == "KDPP":
        header["k"] = target.k
    return header, {"target/vectors": target.vectors, "target/logs": target.log_eigenvalues}


def _unpack_spectral(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Target:
    from zonodpp.matrices.spectrum import Spectrum
    from zonodpp.targets.dpp import DPP  # not needed, nor loaded, for other targets
    from zonodpp.targets.kdpp import KDPP

    found = Spectrum(arrays["target/vectors"], arrays["target/logs"])
    labels = _decode_labels(header["labels"])
    if header["kind"] == "KDPP":
        return KDPP._make(found, labels, header["k"])
    return DPP._make(found, labels)


def _labels_of(target: Target) -> list[Any] | None:
    return None if target.labels is None else _encode_labels(target.labels)


def _encode_labels(labels: Sequence[Any]) -> list[Any]:
    unknown: set[str] = set()

    def encode(label: Any) -> Any:
        if isinstance(label, np.bool_ | np.integer | np.floating):
            label = label.item()
        if label is None or isinstance(label, str | int | float):
            return label
        if isinstance(label, tuple):  # JSON has lists only
            return {"tuple": [encode(part) for part in label]}
        if isinstance(label, list):
            return [encode(part) for part in label]
        unknown.add(type(label).__name__)
        return str(label)

    encoded = [encode(label) for label in labels]
    if unknown:
        warnings.warn(
            f"labels of type {', '.join(sorted(unknown))} are saved as text", stacklevel=4
        )
    return encoded


def _decode_labels(labels: list[Any] | None) -> list[Any] | None:
    return None if labels is None else [_decode_label(label) for label in labels]


def _decode_label(label: Any) -> Any:
    if isinstance(label, dict):
        return tuple(_decode_label(part) for part in label["tuple"])
    if isinstance(label, list):
        return [_decode_label(part) for part in label]
    return label


def write_arrays(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Arrays
) -> None:
    """Write header and arrays to exactly this path, replacing a file there in one instant.

    Whatever happens, power cuts included, the path holds either the old file or the new one.

    Raises
    ------
    OSError
        If the file cannot be written; one that was there before is untouched.

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
    place = os.path.realpath(path)  # a link stays a link
    folder, name = os.path.split(place)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                for key, array in members.items():
                    entry = zipfile.ZipInfo(key + ".npy")
                    with archive.open(entry, "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
        _sync_folder(folder)
    except OSError as error:
        raise OSError(
            error.errno or errno.EIO,
            f"cannot write {place}: {error.strerror or error}. Nothing is lost: the draws are "
            "still in memory; save them to another path",
        ) from error
    finally:
        with contextlib.suppress(OSError):  # after a success there is none
            os.remove(temporary)


def _sync_folder(folder: str) -> None:
    """Make the new name itself durable, where the system lets a folder be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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
                broken = archive.testzip() if ours else None
            if broken is not None:
                raise zipfile.BadZipFile(f"checksum of {broken}")
            file.seek(0)
            with np.load(file, allow_pickle=False) as data:
                arrays = {name: data[name] for name in data.files} if ours else {}
            header = json.loads(arrays.pop(HEADER).tobytes()) if ours else {}
        except DAMAGE as error:
            raise ValueError(_damaged(place, error)) from error
    found = header.get("zonodpp") if isinstance(header, dict) else None
    if found is None:
        raise ValueError(f"{place} was not written by zonodpp: it is another program's archive")
    if found != kind:
        raise ValueError(f"{place} holds {found}, not {kind}")
    if header["format"] != FORMAT:
        raise ValueError(
            f"{place} has format {header['format']}, this version of zonodpp reads format "
            f"{FORMAT}; use the version that wrote it"
        )
    return header, arrays


def _damaged(place: str, error: Exception) -> str:
    return f"{place} is damaged ({error}); it was left as it is, use another copy"


def save_samples(samples: Samples, path: str | os.PathLike[str]) -> None:
    """Write draws, tracked sets, stats, method and target; see `Samples.save`.

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
        found = {
            "target": unpack_target(header["target"], arrays),
            "subsets": arrays["subsets"],
            "method": header["method"],
            "tracked": arrays["tracked"],
            "whole": header.get("whole", True),
            "stats": {name: arrays[f"stats/{name}"] for name in header["stats"]},
        }
        if found["subsets"].ndim != 3 or found["tracked"].shape[:2] != found["subsets"].shape[:2]:
            raise ValueError("draws and tracked sets do not fit together")
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(_damaged(os.fspath(path), error)) from error
    return found
