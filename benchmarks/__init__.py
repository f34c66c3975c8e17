"""Speed against peers, measured side by side in one run: ``python -m benchmarks``.

A benchmark is a module ``bench_<name>.py`` with ``run(quick) -> list of rows``, which is called on
each visit (``visits.py``), and perhaps ``once(quick)`` for what takes too long to be set up
again, or depends on seeds alone. A row is a dict with

``what``
    the claim, in words;
``ratio``
    the number measured; a ratio unless ``unit`` names something else, such as seconds;
``ratio_range``
    its spread: the smallest and the largest over rounds;
``floor`` or ``at_most``
    what the number must reach, or must not exceed;

and anything else worth keeping, such as the points of a picture. `missing` makes the row of a claim
that cannot be measured because a peer is not installed.

The parts: ``workloads.py`` has the inputs that sections share, ``visits.py`` makes one row of all
visits to it, ``tables.py`` and ``pictures.py`` turn rows into a summary, ``agreement.py`` compares
two runs.
"""

from __future__ import annotations

import importlib
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

Row = dict[str, Any]
SEED = 20170411


class Job(NamedTuple):
    """A call to time, and into how many units (draws, say) its time is to be divided."""

    call: Callable[[], Any]
    units: float = 1


class Fit(NamedTuple):
    """An exponent with its standard error."""

    exponent: float
    stderr: float


def interleaved(jobs: Mapping[str, Job], *, repeats: int = 5) -> dict[str, list[float]]:
    """Time the jobs in turn, round after round; return seconds per unit for each round.

    One untimed round goes first, for compilation and caches. What slows the machine down for a
    while slows all jobs of a round, so compare within rounds: see `compare`.
    """
    for job in jobs.values():
        job.call()
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            begun = time.perf_counter()
            job.call()
            seconds[name].append((time.perf_counter() - begun) / job.units)
    return seconds


def compare(seconds: Mapping[str, Sequence[float]], this: str, to: str) -> Row:
    """Return how many times longer ``this`` takes than ``to``: median and spread over rounds."""
    ratios = [a / b for a, b in zip(seconds[this], seconds[to], strict=True)]
    return {
        **measured(ratios),
        "microseconds": {name: 1e6 * statistics.median(seconds[name]) for name in (this, to)},
    }


def measured(values: Sequence[float], unit: str | None = None) -> Row:
    """Return the part of a row that holds a number measured again and again."""
    row: Row = {
        "ratio": statistics.median(values),
        "ratio_range": [min(values), max(values)],
        "repeats": len(values),
    }
    return row if unit is None else {**row, "unit": unit}


def fit_exponent(sizes: Iterable[float], costs: Iterable[float]) -> Fit:
    """Fit cost = constant * size**exponent by least squares of logarithms."""
    x, y = np.log(list(sizes)), np.log(list(costs))
    if len(x) < 3:
        raise ValueError(f"an exponent with its error takes 3 sizes or more, got {len(x)}")
    x = x - x.mean()
    spread = float(x @ x)
    exponent = float(x @ y) / spread
    left = y - y.mean() - exponent * x
    return Fit(exponent, float(np.sqrt(left @ left / (len(x) - 2) / spread)))


def peer(name: str) -> ModuleType | None:
    """Import a peer, or return None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def missing(what: str, name: str) -> Row:
    """Return the row of a claim that cannot be measured because a peer is not installed."""
    return {"what": what, "missing": f"{name} is missing"}


def left_out(what: str, why: str) -> Row:
    """Return the row of a claim that is not measured, and the reason."""
    return {"what": what, "missing": why}


def met(row: Row) -> bool | None:
    """Tell whether a row keeps its promise; None if it could not be measured or makes none."""
    if "missing" in row:
        return None
    if "floor" in row:
        return bool(row["ratio"] >= row["floor"])
    return bool(row["ratio"] <= row["at_most"]) if "at_most" in row else None


def environment() -> Row:
    """Return what the numbers depend on: versions, processor, threads, load."""
    packages = (
        *("zonodpp", "numpy", "scipy", "numba", "llvmlite"),
        *(
            "dppy",
            "cvxopt",
            "highspy",
            "networkx",
            "scikit-learn",
            "arviz-stats",
            "pyversity",
            "pyDOE3",
            "sumy",
            "skmatter",
        ),
    )
    versions = {}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {
        "python": platform.python_version(),
        "versions": versions,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "processors": os.cpu_count(),
        "blas_threads": _blas_threads(),
        "thread_settings": {name: os.environ[name] for name in threads if name in os.environ},
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _processor() -> str:
    """Return the processor's name; virtual machines may hide it, so its model number as well."""
    found = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                found.setdefault(name.strip(), value.strip())
    except OSError:
        pass
    if "model name" not in found:
        return platform.processor() or "unknown"
    numbers = [f"{k} {found[k]}" for k in ("cpu family", "model") if k in found]
    return f"{found['model name']} ({', '.join(numbers)})" if numbers else found["model name"]


def _blas_threads() -> int | None:
    control = peer("threadpoolctl")
    if control is None:
        return None
    counts = [
        pool["num_threads"] for pool in control.threadpool_info() if pool["user_api"] == "blas"
    ]
    return max(counts, default=None)
