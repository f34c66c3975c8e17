"""Targets as a JSON-able header and plain arrays, and back: all that is read is checked."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from zonodpp._types import Labels, Matrix
from zonodpp.archives import check_sparse
from zonodpp.arguments import as_count
from zonodpp.linalg.columns import frozen
from zonodpp.targets import ProjectionDPP, VolumeSampling
from zonodpp.targets.target import Arrays, Header, Target

ORTHONORMAL = 1e-6  # error of eigenvectors far above rounding, and far below what harms a draw


def pack_target(target: Target) -> tuple[Header, Arrays]:
    """Take a target apart into a JSON-able header and plain arrays.

    Labels that JSON does not know (dates, for instance) become text, with a warning.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP
    >>> from zonodpp.samples.packing import pack_target, unpack_target
    >>> header, arrays = pack_target(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]))
    >>> sorted(arrays)
    ['target/A']
    >>> unpack_target(header, arrays)
    ProjectionDPP(r=2, n=4, power=2)
    """
    header, arrays = target.stored()
    header["labels"] = _encode_labels(header["labels"])
    if "graph" in header:
        header["graph"]["names"] = _encode_labels(header["graph"]["names"])
    return header, arrays


def unpack_target(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Target:
    """Put a target together again from what `pack_target` returned.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP
    >>> from zonodpp.samples.packing import pack_target, unpack_target
    >>> unpack_target(*pack_target(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])))
    ProjectionDPP(r=2, n=4, power=2)
    """
    if "kind" in header:
        return _unpack_spectral(header, arrays)
    shape = tuple(header["shape"])
    labels = _decode_labels(header["labels"], shape[1])
    weights = arrays.get("target/weights")
    if header["sparse"]:
        layout = {"csc": sp.csc_array, "csr": sp.csr_array}[header["sparse"]]
        parts = (arrays["target/data"], arrays["target/indices"], arrays["target/indptr"])
        _need(parts[0], np.float64, 1, "A")
        A = layout(parts, shape=shape)
        check_sparse(A)  # compiled code trusts the indices
    else:
        A = arrays["target/A"]
        _need(A, np.float64, 2, "A")
    if A.shape != shape or shape[0] > shape[1]:
        raise ValueError(f"A is {A.shape}, but {shape} was announced")
    projection = header["projection"]
    if projection and header["power"] != 2:
        raise ValueError(f"a projection DPP has power 2, not {header['power']!r}")
    if "graph" in header:
        return _unpack_trees(header["graph"], arrays, A, labels)
    cls = ProjectionDPP if projection else VolumeSampling
    return cls._make(A, weights, labels, power=header["power"])


def _unpack_trees(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], A: Matrix, labels: Labels | None
) -> Target:
    from zonodpp.targets.graphs import Graph  # not needed, nor loaded, for other targets
    from zonodpp.targets.spanning_trees import SpanningTrees

    weights = arrays.get("target/weights")
    tail, head = arrays["target/tail"], arrays["target/head"]
    nodes = as_count(header["nodes"], "nodes", 2)
    for ends in (tail, head):
        _need(ends, np.int64, 1, "edges")
        if ends.shape != tail.shape or ends.min() < 0 or ends.max() >= nodes:
            raise ValueError(f"the {tail.size} edges are not edges between {nodes} nodes")
    if weights is not None and not (weights > 0).all():
        raise ValueError("edge weights must be positive")
    names = _decode_labels(header["names"], nodes)
    tail, head = frozen(tail, np.int64), frozen(head, np.int64)
    graph = Graph(nodes, tail, head, names, bool(header["multigraph"]), header["weight"])
    if nodes > tail.size + 1 or graph.components() > 1:
        raise ValueError("the graph is disconnected")
    if A.shape != (nodes - 1, tail.size) or (graph.incidence() != A).nnz:
        raise ValueError("A is not the incidence matrix of the graph")
    if labels is None:
        raise ValueError("the edges of the graph have no labels")
    return SpanningTrees.of_edges(graph, weights, labels)


def _need(array: NDArray[Any], kind: type, dimensions: int, name: str) -> None:
    """Check the type and the number of dimensions of an array, and that it is not empty."""
    if array.dtype != kind or array.ndim != dimensions or not array.size:
        raise ValueError(f"{name} is an array of {array.dtype} {array.shape}")


def _unpack_spectral(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Target:
    from zonodpp.linalg.spectrum import Spectrum
    from zonodpp.targets.dpp import DPP  # not needed, nor loaded, for other targets
    from zonodpp.targets.kdpp import KDPP

    found = Spectrum(arrays["target/vectors"], arrays["target/logs"])
    _need(found.vectors, np.float64, 2, "eigenvectors")
    _need(found.logs, np.float64, 1, "eigenvalues")
    n, r = found.vectors.shape
    # Draws end because the eigenvectors are orthonormal; those of infinite eigenvalue come first.
    sure = int(np.isposinf(found.logs).sum())
    if found.logs.shape != (r,) or not np.isfinite(found.logs[sure:]).all():
        raise ValueError("the eigenvalues are not those of a kernel")
    error = np.abs(found.vectors.T @ found.vectors - np.eye(r)).max()
    if not error < ORTHONORMAL:
        raise ValueError(f"the eigenvectors are not orthonormal (off by {error:.1g})")
    labels = _decode_labels(header["labels"], n)
    if header["kind"] == "KDPP":
        if sure > (k := as_count(header["k"], "k", 1)):
            raise ValueError(f"{sure} items are sure, but draws have {k}")
        return KDPP._make(found, labels, k)
    return DPP._make(found, labels)


def _encode_labels(labels: Labels | None) -> list[Any] | None:
    if labels is None:
        return None
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


def _decode_labels(labels: Any, count: int) -> list[Any] | None:
    if labels is None:
        return None
    if not isinstance(labels, list) or len(labels) != count:
        raise ValueError(f"there is not one label for each of {count}")
    return [_decode_label(label) for label in labels]


def _decode_label(label: Any) -> Any:
    if isinstance(label, dict):
        return tuple(_decode_label(part) for part in label["tuple"])
    if isinstance(label, list):
        return [_decode_label(part) for part in label]
    return label
