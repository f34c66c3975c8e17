"""Kernels beside the machine's limits: how far each is from them, and which to improve next.

The limits are measured in the same run by small compiled loops, each kernel is timed alone in a
compiled loop (``kernels.py``), and the times are compared with the step that consists of these
kernels. A kernel that does so many operations and moves so many bytes cannot be faster than each of
the limits allows; which level of the cache its data fits into decides which bandwidths count. The
next bottleneck is the kernel whose time above its limit is the largest part of the step.
"""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import numpy as np

from benchmarks import SEED as SEED
from benchmarks import Job, Row, interleaved, measured
from benchmarks.kernels import Count, Kernel, exact_kernels, exchange_kernels, zonotope_kernels
from benchmarks.workloads import NAMES, Chain, targets
from zonodpp._types import Floats
from zonodpp.numerics.compiled import jit

SIZES = {"9 x 45": NAMES[0], "11 x 64": NAMES[2], "50 x 500": NAMES[4]}
LEVELS = {"L1": 16_384, "L2": 262_144}  # bytes of data by which each level is measured
FITS = 28_672  # bytes up to which data is taken to stay in L1, scratch beside it
REST = "rest of the step"
PACE = "pace of the machine"


def run(quick: bool) -> list[Row]:
    limits, rows = measure_limits(quick)
    for size, name in SIZES.items():
        target = targets()[name]
        r, n = target.r, target.n
        kernels = {
            **zonotope_kernels(target),
            **exchange_kernels(target),
            **exact_kernels(target),
        }
        jobs = {kind: as_job(kernel, limits, quick) for kind, kernel in kernels.items()}
        chains = {
            "zonotope": Chain(target, "zonotope"),
            "heat-bath": Chain(target, "exchange", rule="heat-bath"),
            "exact": Chain(target, "exact"),
        }
        # Enough steps that calling the compiled code does not count.
        steps = {"zonotope": 4e8 / (r * n) ** 1.6, "heat-bath": 5e4, "exact": 1e7 / r**3}
        jobs |= {f"{k} step": chain.job(int(steps[k])) for k, chain in chains.items()}
        jobs[PACE] = flops_job(1e6)
        seconds = interleaved(jobs, repeats=3 if quick else 9)
        slower = [1e9 * s * limits["flops"] for s in seconds[PACE]]
        rows += [figure(size, k, kernels[k], seconds[k], slower, limits) for k in kernels]
        for method, chain in chains.items():
            whole = median_ns(seconds[f"{method} step"])
            uses = uses_of(method, chain)
            parts = {k: (uses[k], median_ns(seconds[k]), kernels[k]) for k in uses}
            rows.append(bottleneck(size, method, whole, parts, limits))
    return rows


def as_job(kernel: Kernel, limits: dict[str, float], quick: bool) -> Job:
    """Repeat a kernel for about 5 ms, 20 ms if there is time: three times its least time."""
    budget = 1e9 * (0.005 if quick else 0.02)
    repeats = max(50, int(budget / (3 * least_time(kernel.count, limits)[0] + 20)))
    return Job(lambda: kernel.call(repeats), repeats)


def figure(
    size: str,
    kind: str,
    kernel: Kernel,
    seconds: list[float],
    slower: list[float],
    limits: dict[str, float],
) -> Row:
    """Return by what factor a kernel is slower than the limit that binds it.

    In a round in which the whole machine is slower than at its best, the limit is slower too.
    """
    least, bound = least_time(kernel.count, limits)
    factors = [1e9 * s / (least * pace) for s, pace in zip(seconds, slower, strict=True)]
    return {
        "what": f"{size}: {kind}, time over the machine's limit",
        "ratio": statistics.median(factors),
        "ratio_range": [min(factors), max(factors)],
        "repeats": len(factors),
        "microseconds": {kind: 1e-3 * median_ns(seconds), f"by {bound}": 1e-3 * least},
        "picture": "kernels",
        "size": size,
        "kernel": kind,
        "bound": bound,
        **kernel.count._asdict(),
        "gflops": kernel.count.flops / median_ns(seconds),
    }


def uses_of(method: str, chain: Any) -> dict[str, float]:
    """Return how often a step calls each kernel, from what the chain has counted."""
    if method == "zonotope":
        tiles = chain.count("tiles") / chain.count("steps")
        each = ("row product", "ratio test", "column and pivot", "next break")
        return {**dict.fromkeys(each, tiles), "pricing": 1.0}
    if method == "heat-bath":
        moves = chain.count("accepted") / chain.count("steps")
        return {"entering item": 1.0, "tableau pivot": moves}
    r = float(chain.r)
    proposals = chain.count("proposals") / chain.count("draws")
    return {"rejected proposal": proposals - r, "accepted proposal": r}


def bottleneck(
    size: str,
    method: str,
    whole: float,
    parts: dict[str, tuple[float, float, Kernel]],
    limits: dict[str, float],
) -> Row:
    """Return the part of a step with the most time above its limit."""
    above = {
        k: u * (ns - least_time(kernel.count, limits)[0]) for k, (u, ns, kernel) in parts.items()
    }
    shares = {k: u * ns / whole for k, (u, ns, _) in parts.items()}
    above[REST] = whole - sum(u * ns for u, ns, _ in parts.values())
    shares[REST] = above[REST] / whole
    worst = max(above, key=lambda k: above[k])
    return {
        "what": f"{size}: part of one {method} step above the limits, next bottleneck",
        "ratio": above[worst] / whole,
        "unit": f"({worst})",
        "bottleneck": worst,
        "size": size,
        "method": method,
        "step_microseconds": 1e-3 * whole,
        "calls": {k: u for k, (u, _, _) in parts.items()},
        "shares_of_the_step": shares,
        "shares_above_the_limits": {k: ns / whole for k, ns in above.items()},
    }


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
