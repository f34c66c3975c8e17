"""What the machine can do at most, measured by small compiled loops: the roof of a roofline.

A kernel that does so many operations and moves so many bytes cannot be faster than each of these
limits allows. Which level of the cache its data fits into decides which bandwidths count.
"""

from __future__ import annotations

import statistics
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks import Job, Row, interleaved, measured
from zonodpp._jit import jit
from zonodpp._types import Floats

LEVELS = {"L1": 16_384, "L2": 262_144}  # bytes of data by which each level is measured
FITS = 28_672  # bytes up to which data is taken to stay in L1, scratch beside it


class Count(NamedTuple):
    """What one call of a kernel does."""

    flops: float = 0.0
    loads: float = 0.0  # bytes
    stores: float = 0.0  # bytes
    divisions: float = 0.0
    data: float = 0.0  # bytes that it works on

    def __add__(self, other: tuple[float, ...]) -> Count:  # type: ignore[override]
        """Add counts, entry by entry."""
        return Count(*(a + b for a, b in zip(self, other, strict=True)))


@jit
def multiply_add(x: Floats, out: Floats, repeats: int) -> None:
    """Do 128 flops for each entry: four chains of 16 fused multiply-adds, out of registers."""
    for _ in range(repeats):
        for j in range(x.shape[0]):
            a = x[j]
            b, c, d, e = a, a + 0.1, a + 0.2, a + 0.3
            for _ in range(16):
                b = b * a + 0.5
                c = c * a + 0.4
                d = d * a + 0.3
                e = e * a + 0.2
            out[j] = (b + c) + (d + e)


@jit
def load(a: Floats, b: Floats, c: Floats, d: Floats, repeats: int) -> float:
    """Read four arrays."""
    total = 0.0
    for _ in range(repeats):
        part = 0.0
        for j in range(a.shape[0]):
            part += (a[j] + b[j]) + (c[j] + d[j])
        a[0] += 1e-300 * part  # so that no round can be left out
        total += part
    return total


@jit
def update(a: Floats, f: float, repeats: int) -> None:
    """Read and write each entry."""
    for _ in range(repeats):
        for j in range(a.shape[0]):
            a[j] = f - a[j]


@jit
def divide(a: Floats, out: Floats, repeats: int) -> None:
    """Divide by each entry."""
    for _ in range(repeats):
        for j in range(a.shape[0]):
            out[j] = 1.0 / a[j]


def flops_job(work: float) -> Job:
    """Return multiplications and additions out of registers, timed by the flop."""
    x, out = np.linspace(0.1, 0.9, 512), np.empty(512)
    repeats = int(work / 128 / 8)
    return Job(partial(multiply_add, x, out, repeats), 128.0 * x.size * repeats)


def measure_limits(quick: bool) -> tuple[dict[str, float], list[Row]]:
    """Return the limits, per nanosecond, and a row for each."""
    work = 2e6 if quick else 1e7
    x, out = np.linspace(0.1, 0.9, 512), np.empty(512)
    kinds: dict[str, tuple[Job, str]] = {"flops": (flops_job(work), "Gflop/s")}
    repeats = int(work / 512)
    kinds["divisions"] = (Job(partial(divide, x, out, repeats), float(x.size * repeats)), "G/s")
    for level, size in LEVELS.items():
        parts = [np.ones(size // 32) for _ in range(4)]
        repeats = int(8 * work / size)
        job = Job(partial(load, *parts, repeats), float(size * repeats))
        kinds[f"loads {level}"] = (job, "GB/s")
        whole = np.ones(size // 8)
        job = Job(partial(update, whole, 1.0, repeats), float(size * repeats))
        kinds[f"stores {level}"] = (job, "GB/s")
    # Rounds that were disturbed say nothing about a limit: the best one counts.
    seconds = interleaved({k: job for k, (job, _) in kinds.items()}, repeats=5)
    limits = {name: 1e-9 / min(seconds[name]) for name in kinds}
    rows = []
    for name, (_, unit) in kinds.items():
        row = measured([1e-9 / s for s in seconds[name]], unit)
        rows.append({"what": f"machine: {name} at most", **row, "ratio": limits[name]})
    return limits, rows


def least_time(count: Count, limits: dict[str, float]) -> tuple[float, str]:
    """Return the least nanoseconds that a kernel can take, and by which limit."""
    level = "L1" if count.data <= FITS else "L2"
    times = {
        "flops": count.flops / limits["flops"],
        f"loads {level}": count.loads / limits[f"loads {level}"],
        f"stores {level}": count.stores / limits[f"stores {level}"],
        "divisions": count.divisions / limits["divisions"],
    }
    bound = max(times, key=lambda name: times[name])
    return times[bound], bound


def median_ns(seconds: list[float]) -> float:
    """Return the median in nanoseconds."""
    return 1e9 * statistics.median(seconds)
