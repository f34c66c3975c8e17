"""Speed against peers, measured side by side in one run: ``python -m benchmarks``.

A benchmark is a module ``bench_<name>.py`` with ``run(quick) -> list of rows``. A row is a dict
with

``what``
    the claim, in words;
``ratio``
    the number measured;
``floor`` or ``at_most``
    what the ratio must reach, or must not exceed;

and anything else worth keeping, such as the spread. `missing` makes the row of a claim that cannot
be measured because a peer is not installed.
"""

from __future__ import annotations

import importlib
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from importlib import metadata
from types import ModuleType
from typing import Any, NamedTuple

Row = dict[str, Any]


class Job(NamedTuple):
    """A call to time, and into how many units (draws, say) its time is to be divided."""

    call: Callable[[], Any]
    units: int = 1


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


def compare(seconds: Mapping[str, list[float]], this: str, to: str) -> Row:
    """Return how many times longer ``this`` takes than ``to``: median and spread over rounds."""
    ratios = [a / b for a, b in zip(seconds[this], seconds[to], strict=True)]
    return {
        "ratio": statistics.median(ratios),
        "ratio_range": [min(ratios), max(ratios)],
        "microseconds": {name: 1e6 * statistics.median(seconds[name]) for name in (this, to)},
        "repeats": len(ratios),
    }


def peer(name: str) -> ModuleType | None:
    """Import a peer, or return None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def missing(what: str, name: str) -> Row:
    """Return the row of a claim that cannot be measured for want of a peer."""
    return {"what": what, "missing": name}


def met(row: Row) -> bool | None:
    """Tell whether a row keeps its promise; None if it could not be measured or makes none."""
    if "missing" in row:
        return None
    if "floor" in row:
        return bool(row["ratio"] >= row["floor"])
    return bool(row["ratio"] <= row["at_most"]) if "at_most" in row else None


def environment() -> Row:
    """Return what the numbers depend on: versions, processor, threads, load."""
    packages = ("zonodpp", "numpy", "scipy", "numba", "dppy", "cvxopt", "highspy", "networkx")
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
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _blas_threads() -> int | None:
    control = peer("threadpoolctl")
    if control is None:
        return None
    counts = [
        pool["num_threads"] for pool in control.threadpool_info() if pool["user_api"] == "blas"
    ]
    return max(counts, default=None)
