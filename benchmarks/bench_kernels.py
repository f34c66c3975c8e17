"""Kernels beside the machine's limits: how far each is from them, and which to improve next.

The limits are measured in the same run (``limits.py``), each kernel is timed alone in a compiled
loop (``kernels.py``), and the times are compared with the step that consists of these kernels. The
next bottleneck is the kernel whose time above its limit is the largest part of the step.
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks import SEED as SEED
from benchmarks import Job, Row, interleaved
from benchmarks.kernels import Kernel, exact_kernels, exchange_kernels, zonotope_kernels
from benchmarks.limits import flops_job, least_time, measure_limits, median_ns
from benchmarks.workloads import NAMES, Chain, targets

SIZES = {"9 x 45": NAMES[0], "11 x 64": NAMES[2], "50 x 500": NAMES[4]}
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
        return {**dict.fromkeys(each, tiles), "copy of a tile": 2.0, "pricing": 1.0}
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
