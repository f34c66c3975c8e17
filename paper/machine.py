"""Facts about the machine of a run: versions, processors, memory; nothing that identifies it."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from zonodpp._version import __version__

PACKAGES = ("numpy", "scipy", "numba", "matplotlib", "networkx", "scikit-learn")


def facts(rng: Any, quick: bool, seconds: float) -> dict[str, str]:
    """Return seed, sizes, time, memory, machine and versions, in words.

    Examples
    --------
    >>> from paper.machine import facts
    >>> facts(2017, True, 61.2)["Seed"]
    '2017'
    """
    found = {
        "Seed": "a generator" if isinstance(rng, np.random.Generator) else str(rng),
        "Sizes": "quick" if quick else "the paper's",
        "Time": f"{seconds:.0f} s, compilation included",
        "Peak memory": _peak_memory(),
        "Machine": f"{_processors()} processors, {_memory()}, {platform.machine()}, "
        f"{platform.system()}",
        "zonodpp": __version__,
        "Python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "memory unknown"
    return f"{size / 2**30:.0f} GiB of memory"


def _peak_memory() -> str:
    try:
        import resource
    except ImportError:
        return "unknown"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f"{peak / (2**30 if sys.platform == 'darwin' else 2**20):.2f} GiB"
