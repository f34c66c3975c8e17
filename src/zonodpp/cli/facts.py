"""Facts about this installation, and about a file."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

import numba
import numpy as np

from zonodpp.arguments import as_matrix, check_finite
from zonodpp.cli.delimited import Wanted
from zonodpp.cli.examples import EXAMPLES
from zonodpp.cli.files import open_source, read_table
from zonodpp.cli.messages import printable
from zonodpp.cli.options import Input
from zonodpp.linalg.dense import row_chunks
from zonodpp.linalg.qr import numerical_rank, triangle
from zonodpp.samples import Samples

_MISSING = "not installed"
# Extras for developers of the package, which users do not need.
_DEVELOPERS = {"bench", "dev", "docs", "lint", "test"}
# Of these columns `rank_and_condition` factorises blocks of 8,000 rows, which take 256 MB.
_MOST_COLUMNS = 4000
_REQUIREMENT = re.compile(r"""([\w.-]+)[^;]*;.*extra == ['"]([\w-]+)['"]""")


def about_installation() -> dict[str, Any]:
    """Return versions, extras, threads, the folder of compiled code and the data sets."""
    facts: dict[str, Any] = {"zonodpp": _version("zonodpp"), "python": platform.python_version()}
    facts |= {name: _version(name) for name in ("numpy", "scipy", "numba", "click", "tqdm")}
    present = extras()
    facts["extras"] = [extra for extra, there in present.items() if there]
    facts["missing extras"] = [extra for extra, there in present.items() if not there] or None
    facts["processors"] = os.cpu_count()
    facts["numba threads"] = numba.config.NUMBA_NUM_THREADS
    facts["compiled code"] = numba.config.CACHE_DIR or "next to the sources (__pycache__)"
    facts["examples"] = list(EXAMPLES)
    return facts


def extras() -> dict[str, bool]:
    """Return the extras of the package, and whether all they need is installed.

    Examples
    --------
    >>> from zonodpp.cli.facts import extras
    >>> "graph" in extras()
    True
    """
    found: dict[str, bool] = {}
    for requirement in requires("zonodpp") or []:
        parts = _REQUIREMENT.match(requirement)
        if parts and parts[2] not in _DEVELOPERS and parts[1] != "zonodpp":
            there = _version(parts[1]) != _MISSING
            found[parts[2]] = found.get(parts[2], True) and there
    return found


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return _MISSING


def about_file(source: Input, items: str) -> dict[str, Any]:
    """Return shape, rank and conditioning, and what `zonodpp sample` would do with the file."""
    opened = open_source(source.file, source.format)
    saved = _saved_samples(opened.path) if opened.format == "npz" and source.key is None else None
    if saved is not None:
        return saved
    wanted = Wanted(source.id, source.columns)
    table = read_table(opened, wanted, source.key, source.header)
    X = table.values.T if items == "columns" else table.values
    n, d = X.shape
    facts: dict[str, Any] = {
        "file": printable(table.source),
        "items": n,
        "features": d,
        "entries": str(X.dtype),
        "storage": "sparse" if hasattr(X, "nnz") else "dense",
    }
    if table.labels is not None and items == "rows":
        facts["first items"] = table.labels[:5]
    if table.columns is not None and items == "rows":
        facts["columns"] = table.columns
    if min(n, d) > _MOST_COLUMNS:
        facts["rank"] = f"not computed: there are more than {_MOST_COLUMNS:,} items and features"
        return facts
    rank, condition = rank_and_condition(X)
    facts |= {"rank": rank, "condition": condition}
    if rank == d and d <= n:
        facts["a draw has"] = f"{d} items"
        facts["method auto"] = "exact; with another --power than 2: exchange"
    else:
        facts["a draw needs"] = f"--rank {min(rank, n - 1)} or less"
    return facts


def _saved_samples(path: str | None) -> dict[str, Any] | None:
    """Describe a file that `Samples.save` wrote; None for any other."""
    if path is None:
        return None
    try:
        samples = Samples.load(path)
    except ValueError:
        return None
    chains, draws, r = samples.subsets.shape
    return {
        "file": printable(path),
        "holds": "draws",
        "target": repr(samples.target),
        "method": samples.method,
        "chains": chains,
        "draws": draws,
        "size": r,
        "distinct": len(samples.unique()[1]),
    }


def rank_and_condition(X: Any) -> tuple[int, float | None]:
    """Numerical rank and condition of the columns of X brought to one length, by blockwise QR.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.cli.facts import rank_and_condition
    >>> rank, condition = rank_and_condition(np.array([[1.0, 0.0], [0.0, 5.0], [0.0, 0.0]]))
    >>> rank, round(condition, 9)
    (2, 1.0)
    """
    X = as_matrix(X, "X")
    check_finite(X, "X")
    if X.shape[1] > X.shape[0]:
        X = X.T
    R = triangle(rows for _, rows in row_chunks(X))
    lengths = np.linalg.norm(R, axis=0)
    singular = np.linalg.svd(R / np.where(lengths > 0, lengths, 1.0), compute_uv=False)
    if singular[0] == 0:
        return 0, None
    rank = numerical_rank(singular)
    return rank, float(singular[0] / singular[-1]) if rank == len(singular) else None
