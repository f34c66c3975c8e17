"""Laws and speeds of the kernels on a machine with an NVIDIA GPU.

    python -m benchmarks.cuda_device --out cuda.json [--smoke] [--parts law exact walks k10 curves]

Laws: every kernel against full enumeration by chi-square, with a broken twin that the same check
has to reject. Speeds: draws and steps per second, beside the same work on all processors, with a
process for each of them. The device and its host are measured in turn, several times; medians and
ranges are written. Curves: rates over r, n, draws and chains.
Every row is written when it is known, beside what the file holds. A part that fails says why.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numba import cuda

from benchmarks import SEED
from benchmarks.cuda_curves import curves
from benchmarks.cuda_laws import laws
from benchmarks.cuda_rates import (
    Device,
    Host,
    complete_graph,
    random_rows,
    timed,
    walk_target,
)
from zonodpp import Exact, Exchange, HitAndRun, ProjectionDPP, sample

SECONDS = 0.5  # that a timed call takes about
VISITS = {"exact": 5, "walks": 3}  # of the device and of its host, in turn


def environment() -> dict[str, Any]:
    device = cuda.get_current_device()
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    versions = {}
    for name in ("numba", "numba-cuda", "cuda-bindings", "llvmlite", "numpy", "scipy"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return {
        "device": str(device.name),
        "compute capability": list(device.compute_capability),
        "multiprocessors": int(device.MULTIPROCESSOR_COUNT),
        "shared memory of a block": int(device.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        "nvidia-smi": driver,
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "processor": processor(),
        "versions": versions,
    }


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor()


def in_turn(
    visits: int, device: Device, host: Host | None, make: Any, method: Any, seconds: float
) -> dict[str, Any]:
    """Return medians and ranges of rates of the device and of its host, measured in turn."""
    rates: dict[str, list[float]] = {"device": [], "host": []}
    if host:
        sample(make(), 2, method=method, rng=0)  # compiles for all processes
    for _ in range(visits):
        rates["device"].append(device.rate(seconds))
        if host:
            rates["host"].append(host.rate(make, method, seconds))
    row: dict[str, Any] = {}
    for name, found in rates.items():
        if found:
            row |= {name: float(np.median(found)), f"{name} range": [min(found), max(found)]}
    if host:
        row["ratio"] = row["device"] / row["host"]
        pairs = zip(rates["device"], rates["host"], strict=True)
        ratios = [there / here for there, here in pairs]
        row["ratio range"] = [min(ratios), max(ratios)]
    return row


def tried(row: dict[str, Any], work: Any) -> dict[str, Any]:
    """Add to a row what work finds, or why it fails."""
    try:
        for found in work():
            row |= found
    except Exception as error:
        traceback.print_exc()
        row["error"] = f"{type(error).__name__}: {error}"[:500]
    print(row, flush=True)
    return row


def exact_speeds(
    n: int, sizes: tuple[int, ...], seconds: float, host: Host | None
) -> Iterator[dict[str, Any]]:
    for r in sizes:
        work = partial(_exact_speed, n, r, seconds, host)
        yield tried({"what": f"exact, r = {r}, n = {n:,}"}, work)


def _exact_speed(n: int, r: int, seconds: float, host: Host | None) -> Iterator[dict[str, Any]]:
    make = partial(random_rows, n, r)
    target = make()
    device = Device(target, Exact())
    yield in_turn(VISITS["exact"], device, host, make, Exact(), seconds)
    yield device.facts() | {"first call, s": device.first_call, "draws": device.count}
    yield {"z of marginals": marginal_errors(device.made.copy_to_host(), target)}
    rng = np.random.default_rng(SEED)
    subsets, none = np.empty((device.count, r), np.int32), np.zeros((device.count, 0))
    work = partial(device.run.advance, device.run.start(rng, None), rng, subsets, none, 1)
    yield {"with copies": device.count / np.median([timed(work) for _ in range(4)][1:])}
    count = min(device.count, 4_000_000)
    call = partial(sample, target, count, rng=SEED, device="cuda", progress=False)
    yield {"by sample()": count / np.median([timed(call) for _ in range(3)][1:])}


def marginal_errors(subsets: np.ndarray, target: ProjectionDPP) -> float:
    """Return the standard deviation of the z-scores of the items' frequencies."""
    expected = target.marginals()
    draws = subsets.shape[0] * subsets.shape[1]
    counts = np.bincount(subsets.ravel(), minlength=target.n)
    keep = (expected > 0) & (expected < 1)
    errors = (counts - draws * expected)[keep]
    return float(np.std(errors / np.sqrt(draws * (expected * (1 - expected))[keep])))


def walk_speeds(
    chains: int, seconds: float, host: Host | None, names: list[str]
) -> Iterator[dict[str, Any]]:
    methods = {
        "heat-bath": Exchange(),
        "barker": Exchange("barker"),
        "gibbs": HitAndRun(),
        "paper": HitAndRun(preset="paper"),
    }
    for method_name, method in methods.items():
        for name in ("K10", "11 x 64", "50 x 500"):
            if names and f"{method_name}:{name}" not in names:
                continue
            if method_name == "paper" and name == "50 x 500":
                continue  # whole chords of thousands of tiles: work for long steps
            work = partial(_walk_speed, name, method, chains, seconds, host)
            yield tried({"what": f"{method_name}, {name}, {chains:,} chains"}, work)


def _walk_speed(
    name: str, method: Any, chains: int, seconds: float, host: Host | None
) -> Iterator[dict[str, Any]]:
    make = partial(walk_target, name)
    device = Device(make(), method, chains)
    yield in_turn(VISITS["walks"], device, host, make, method, seconds)
    yield device.facts() | {"first call, s": device.first_call, "steps": device.count}
    counts = device.held["counts"].copy_to_host().sum(axis=0).tolist()
    yield {"counts": dict(zip(device.run.counters, counts, strict=True))}


def k10(chains: int, draws: int) -> Iterator[dict[str, Any]]:
    """Yield the largest error of the marginals of K10 over so many chains, step by step."""
    target = complete_graph(10)
    marginals = target.marginals()
    methods = {
        "paper": HitAndRun(preset="paper"),
        "gibbs": HitAndRun(),
        "barker": Exchange("barker"),
        "heat-bath": Exchange(),
    }
    for name, method in methods.items():
        begun = time.perf_counter()
        made = sample(
            target, draws, method=method, chains=chains, rng=SEED, device="cuda", progress=False
        )
        spent = time.perf_counter() - begun
        counts = [np.bincount(made.subsets[:, k].ravel(), minlength=45) for k in range(draws)]
        errors = np.abs(np.array(counts) / chains - marginals).max(axis=1)
        row = {"what": f"{name}, K10, {chains:,} chains", "seconds": spent}
        row["noise"] = float(np.sqrt(marginals * (1 - marginals) / chains).max())
        row["largest error after each step"] = errors.round(6).tolist()
        print(row, flush=True)
        yield row


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--out", default="cuda.json")
    options.add_argument("--smoke", action="store_true", help="small sizes: does all of it run?")
    options.add_argument("--parts", nargs="*", default=["law", "exact", "walks", "k10", "curves"])
    options.add_argument("--no-host", action="store_true", help="leave the processors out")
    options.add_argument("--sizes", nargs="*", type=int, default=[10, 20, 50, 100, 150])
    options.add_argument("--walks", nargs="*", default=[], help="such as heat-bath:K10")
    options.add_argument("--law", default="", help="part of the names of laws: zonotope")
    options.add_argument("--draws", type=int, default=10_000_000, help="of each law")
    given = options.parse_args()
    result: dict[str, Any] = {}
    if os.path.exists(given.out):
        with open(given.out) as file:
            result = json.load(file)
    result |= {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}

    def write() -> None:
        with open(given.out, "w") as file:
            json.dump(result, file, indent=1)

    timed_parts = {"exact", "walks", "curves"} & set(given.parts)
    host = Host() if timed_parts and not given.no_host else None
    seconds, total = (0.1, 200_000) if given.smoke else (SECONDS, given.draws)
    sizes = tuple(given.sizes)
    parts = {
        "law": lambda: laws(total, given.law),
        "exact": lambda: exact_speeds(100_000, sizes, seconds, host),
        "walks": lambda: walk_speeds(10_000, seconds, host, given.walks),
        "k10": lambda: k10(1000 if given.smoke else 100_000, 100),
        "curves": lambda: curves(0.5 * seconds, host, given.smoke),
    }
    result["environment"] = environment()
    print(result["environment"], flush=True)
    for part in given.parts:
        begun = time.perf_counter()
        try:
            result[part] = []
            for row in parts[part]():
                result[part].append(row)
                write()
        except Exception:
            traceback.print_exc()
            result[part].append({"error": traceback.format_exc()})
        print(f"{part}: {time.perf_counter() - begun:.1f} s", flush=True)
        write()


if __name__ == "__main__":
    sys.exit(main())
