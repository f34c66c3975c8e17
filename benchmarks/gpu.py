"""Speeds of the kernels on a machine with an NVIDIA GPU, beside all processors of its host.

    python -m benchmarks.gpu --out gpu.json [--smoke] [--parts exact walks k10 curves]

Draws and steps per second of the device, and of the same work on all processors, with a process for
each of them. The device and its host are measured in turn, several times; medians and ranges are
written. Curves are rates over r, n, draws and chains: a process for each point compiles its
kernels, since most of the time is that of the compiler, and waits for its turn on the device.

Every row is written when it is known, beside what the file holds. A part that fails says why.
`tests/runs/test_cuda.py` checks the laws of the kernels on the same machine.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numba import cuda

from benchmarks import SEED, Row, run
from zonodpp import Exact, Exchange, HitAndRun, ProjectionDPP, sample
from zonodpp.chains.contract import Block
from zonodpp.chains.gpu import SetsOnDevice
from zonodpp.chains.tracking import NO_SETS
from zonodpp.numerics.gpu import to_device

SECONDS = 0.5  # that a timed call takes about
EXACT_VISITS, WALK_VISITS = 5, 3  # of the device and of its host, in turn
MOST_BYTES = 2_000_000_000  # of draws that one call leaves on the device
WALKS = {
    "heat-bath": Exchange(),
    "barker": Exchange("barker"),
    "gibbs": HitAndRun(),
    "paper": HitAndRun(preset="paper"),
}
WORKLOADS = ("K10", "11 x 64", "50 x 500")
CHAINS = 10_000
PARTS = ("exact", "walks", "k10", "curves")


# Targets, made anew in each process.


def random_rows(n: int, r: int) -> ProjectionDPP:
    return ProjectionDPP.from_features(np.random.default_rng(SEED).normal(size=(n, r)))


def random_columns(r: int, n: int) -> ProjectionDPP:
    return ProjectionDPP(np.random.default_rng(SEED).normal(size=(r, n)))


def complete_graph(nodes: int) -> ProjectionDPP:
    """Return the spanning trees of a complete graph with random weights: K10 is the paper's."""
    edges = list(combinations(range(nodes), 2))
    A = np.zeros((nodes - 1, len(edges)))
    for j, (a, b) in enumerate(edges):
        if a > 0:
            A[a - 1, j] = 1.0
        A[b - 1, j] = -1.0
    return ProjectionDPP(A, weights=np.random.default_rng(SEED).random(len(edges)) ** 2)


def walk_target(name: str) -> ProjectionDPP:
    return complete_graph(10) if name == "K10" else random_columns(*map(int, name.split(" x ")))


# Rates of the device and of its host.


def timed(work: Callable[[], Any]) -> float:
    cuda.synchronize()
    begun = time.perf_counter()
    work()
    cuda.synchronize()
    return time.perf_counter() - begun


class Device:
    """All chains of a run on the device, with a compiled kernel; what they draw stays there."""

    def __init__(self, target: Any, method: Any, chains: int = 1) -> None:
        self.engine: Any = method.prepare(target).on_device(False)
        self.kernel: Any = getattr(self.engine, "draws", self.engine)  # what holds the kernel
        self.chains, self.width = chains, self.engine.width
        state = self.engine.start(np.random.default_rng(SEED).spawn(chains), None, NO_SETS)
        self.sets = SetsOnDevice(NO_SETS)
        self.held = {name: to_device(array) for name, array in state.items()}
        self.made: Any = None
        self.count = 4  # draws of the exact method, or steps, of the next call
        begun = time.perf_counter()
        self.spend(self.count)
        self.first_call = round(time.perf_counter() - begun, 2)

    def spend(self, count: int) -> float:
        """Return the seconds of one call for so many draws of the exact method, or steps."""
        exact = self.engine.independent
        shape = (count if exact else 1, self.chains, self.width)
        if self.made is None or self.made.shape != shape:
            self.made = cuda.device_array(shape, np.int32)
        sums = cuda.device_array((1, self.chains, 0))
        thin = 1 if exact else count
        return timed(lambda: self.engine.fill(self.held, 10, self.made, sums, thin, self.sets))

    def rate(self, seconds: float) -> float:
        """Return the draws or steps of all chains per second, in a call of about ``seconds``."""
        most = MOST_BYTES // (4 * self.width) if self.engine.independent else 2**40
        spent = self.spend(self.count)
        while spent < seconds / 2 and self.count < most:
            self.count = min(most, max(2 * self.count, int(self.count * 0.8 * seconds / spent)))
            spent = self.spend(self.count)
        return self.chains * self.count / spent

    def facts(self) -> Row:
        """Return what the kernel takes."""
        compiled = next(iter(self.kernel.kernel.overloads.values()))
        return {
            "registers": compiled.regs_per_thread,
            "local": compiled.local_mem_per_thread,
            "threads": self.kernel.threads,
            "shared": self.kernel.shared,
            "first call, s": self.first_call,
        }


class Host:
    """All processors of the host, with a process for each that works alone."""

    def __init__(self) -> None:
        self.cores = os.cpu_count() or 1
        os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
        spawn = multiprocessing.get_context("spawn")
        self.processes = spawn.Pool(self.cores, _host_start, (spawn.Barrier(self.cores),))

    def rate(self, make: Any, method: Any, seconds: float, busy: int = 0) -> float:
        """Return draws of the exact method, or steps, per second of all processes together.

        With ``busy``, only so many of them work.
        """
        work = [
            (make, method, seconds if not busy or core < busy else 0.0, SEED + core)
            for core in range(self.cores)
        ]
        return float(sum(self.processes.starmap(_host_rate, work, 1)))


def _host_start(barrier: Any) -> None:
    global together
    together = barrier


_prepared: dict[str, Any] = {}  # in each process, the sampler of the latest call


def _host_rate(make: Any, method: Any, seconds: float, seed: int) -> float:
    """Return the rate of this process, measured while all others work, too."""
    name = f"{make} {method}"
    if name not in _prepared:
        _prepared.clear()
        sampler = method.prepare(make())
        _prepared[name] = sampler, sampler.start([np.random.default_rng(seed)], None, NO_SETS)
    sampler, state = _prepared[name]
    rng = np.random.default_rng(seed)

    def spend(count: int) -> float:
        draws, thin = (count, 1) if sampler.independent else (1, count)
        subsets, tracked = np.zeros((1, draws, sampler.width), np.int32), np.zeros((1, draws, 0))
        begun = time.perf_counter()
        sampler.advance(state, [rng], Block(subsets, tracked, thin), NO_SETS)
        return time.perf_counter() - begun

    count = 8
    spend(count)  # loads compiled code
    spent = spend(count)
    while spent < seconds / 8:
        count *= 2
        spent = spend(count)
    count = max(1, int(count * seconds / spent))
    together.wait()
    return count / spend(count) if seconds else 0.0


def in_turn(
    visits: int, device: Device, host: Host | None, make: Any, method: Any, seconds: float
) -> Row:
    """Return medians and ranges of rates of the device and of its host, measured in turn."""
    rates: dict[str, list[float]] = {"device": []}
    if host:
        rates["host"] = []
        sample(make(), 2, method=method, rng=0)  # compiles for all processes
    for _ in range(visits):
        rates["device"].append(device.rate(seconds))
        if host:
            rates["host"].append(host.rate(make, method, seconds))
    row: Row = {}
    for name, found in rates.items():
        row |= {name: float(np.median(found)), f"{name} range": [min(found), max(found)]}
    if host:
        ratios = [a / b for a, b in zip(rates["device"], rates["host"], strict=True)]
        row |= {"ratio": row["device"] / row["host"], "ratio range": [min(ratios), max(ratios)]}
    return row


def tried(row: Row, work: Callable[[], Iterator[Row]]) -> Row:
    """Add to a row what work finds, or why it fails."""
    try:
        for found in work():
            row |= found
    except Exception as error:
        traceback.print_exc()
        row["error"] = f"{type(error).__name__}: {error}"[:500]
    print(row, flush=True)
    return row


# The parts of a run.


def exact_speeds(n: int, sizes: list[int], seconds: float, host: Host | None) -> Iterator[Row]:
    for r in sizes:
        yield tried(
            {"what": f"exact, r = {r}, n = {n:,}"}, partial(_exact_speed, n, r, seconds, host)
        )


def _exact_speed(n: int, r: int, seconds: float, host: Host | None) -> Iterator[Row]:
    make = partial(random_rows, n, r)
    target = make()
    device = Device(target, Exact())
    yield in_turn(EXACT_VISITS, device, host, make, Exact(), seconds)
    yield {"draws": device.count, **device.facts()}
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


def walk_speeds(seconds: float, host: Host | None, only: list[str]) -> Iterator[Row]:
    for walk, method in WALKS.items():
        for name in WORKLOADS:
            if only and f"{walk}:{name}" not in only:
                continue
            if walk == "paper" and name == "50 x 500":
                continue  # whole chords of thousands of tiles: work for long steps
            work = partial(_walk_speed, name, method, seconds, host)
            yield tried({"what": f"{walk}, {name}, {CHAINS:,} chains"}, work)


def _walk_speed(name: str, method: Any, seconds: float, host: Host | None) -> Iterator[Row]:
    make = partial(walk_target, name)
    device = Device(make(), method, CHAINS)
    yield in_turn(WALK_VISITS, device, host, make, method, seconds)
    yield {"steps": device.count, **device.facts()}
    counts = device.held["counts"].copy_to_host().sum(axis=0).tolist()
    yield {"counts": dict(zip(device.run.counters, counts, strict=True))}


def k10(chains: int, draws: int) -> Iterator[Row]:
    """Yield the largest error of the marginals of K10 over so many chains, step by step."""
    target = complete_graph(10)
    marginals = target.marginals()
    for name in ("paper", "gibbs", "barker", "heat-bath"):
        options = {"method": WALKS[name], "chains": chains, "rng": SEED, "device": "cuda"}
        begun = time.perf_counter()
        made = sample(target, draws, **options, progress=False)
        row = {"what": f"{name}, K10, {chains:,} chains", "seconds": time.perf_counter() - begun}
        counts = [np.bincount(made.subsets[:, k].ravel(), minlength=45) for k in range(draws)]
        errors = np.abs(np.array(counts) / chains - marginals).max(axis=1)
        row["noise"] = float(np.sqrt(marginals * (1 - marginals) / chains).max())
        row["largest error after each step"] = errors.round(6).tolist()
        print(row, flush=True)
        yield row


def points() -> list[Row]:
    """Return what curves measure: a curve, the place on its axis, a target, a method, chains."""
    found: list[Row] = []

    def add(curve: str, x: int, make: Any, method: Any, chains: int = 1, **more: Any) -> None:
        found.append({"curve": curve, "x": x, "work": (make, method, chains), **more})

    for r in (5, 10, 20, 50, 100, 150, 200):
        add("exact over r", r, partial(random_rows, 100_000, r), Exact())
    for n in (1000, 10_000, 100_000, 1_000_000):
        add("exact over n", n, partial(random_rows, n, 20), Exact())
    for name in ("heat-bath", "gibbs"):
        for chains in (1, 10, 100, 1000, 10_000, 100_000):
            make = partial(walk_target, "11 x 64")
            add(f"{name} over chains", chains, make, WALKS[name], chains, busy=min(chains, 16))
        for n in (20, 50, 100, 200, 500, 1000):
            add(f"{name} over n", n, partial(random_columns, 10, n), WALKS[name], CHAINS)
    return found


def curves(seconds: float, host: Host | None, smoke: bool) -> Iterator[Row]:
    """Yield a row for each point, and rows for the draws of one call.

    The processors are measured when no process compiles any more.
    """
    every = points()[::5] if smoke else points()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(16, spawn, initializer=_share, initargs=(spawn.Lock(),)) as pool:
        rows = list(pool.map(partial(_device_row, seconds), every))
    known: dict[str, float] = {}
    for point, row in zip(every, rows, strict=True):
        make, method, _ = point["work"]
        busy = point.get("busy", 0)
        name = f"{make} {method} {busy}"
        if host and "error" not in row:
            if name not in known:
                sample(make(), 2, method=method, rng=0)  # compiles for all processes
                known[name] = host.rate(make, method, seconds, busy)
            row |= {"host": known[name], "ratio": row["device"] / known[name]}
        print(row, flush=True)
        yield row
    yield from _draws_of_one_call(smoke)


def _share(lock: Any) -> None:
    global turn
    turn = lock


def _device_row(seconds: float, point: Row) -> Row:
    """Return the rates of one point on the device."""

    def work() -> Iterator[Row]:
        device = Device(*point["work"])
        with turn:
            rates = [device.rate(seconds) for _ in range(WALK_VISITS)]
        yield {"device": max(rates), "first call, s": device.first_call}

    return tried({key: point[key] for key in ("curve", "x")}, work)


def _draws_of_one_call(smoke: bool) -> Iterator[Row]:
    """Yield the seconds of one call of `sample` for so many exact draws, there and here."""
    target = random_rows(100_000, 20)
    for draws in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000)[: 3 if smoke else 8]:
        row: Row = {"curve": "draws of one call", "x": draws}
        for name, options in (("device", {"device": "cuda"}), ("host", {})):
            chains = min(draws, 16) if name == "host" and draws >= 1000 else 1
            spent = []
            for _ in range(WALK_VISITS):
                begun = time.perf_counter()
                sample(target, draws // chains, chains=chains, rng=0, progress=False, **options)
                spent.append(time.perf_counter() - begun)
            row[f"{name}, s"] = min(spent)
        print(row, flush=True)
        yield row


def environment() -> Row:
    """Return what the numbers depend on: the device, its driver, the host and versions."""
    device = cuda.get_current_device()
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "device": str(device.name),
        "compute capability": list(device.compute_capability),
        "multiprocessors": int(device.MULTIPROCESSOR_COUNT),
        "shared memory of a block": int(device.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        "nvidia-smi": driver,
        **run.environment("numba-cuda", "cuda-bindings"),
    }


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    options.add_argument("--out", type=pathlib.Path, default=pathlib.Path("gpu.json"))
    options.add_argument("--smoke", action="store_true", help="small sizes: does all of it run?")
    options.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    options.add_argument("--no-host", action="store_true", help="leave the processors out")
    options.add_argument("--sizes", nargs="*", type=int, default=[10, 20, 50, 100, 150])
    options.add_argument("--walks", nargs="*", default=[], help="such as heat-bath:K10")
    given = options.parse_args()
    result: Row = json.loads(given.out.read_text("utf-8")) if given.out.exists() else {}
    result["date"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    timed_parts = {"exact", "walks", "curves"} & set(given.parts)
    host = Host() if timed_parts and not given.no_host else None
    seconds = 0.1 if given.smoke else SECONDS
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "exact": lambda: exact_speeds(100_000, given.sizes, seconds, host),
        "walks": lambda: walk_speeds(seconds, host, given.walks),
        "k10": lambda: k10(1000 if given.smoke else 100_000, 100),
        "curves": lambda: curves(0.5 * seconds, host, given.smoke),
    }
    result["environment"] = environment()
    print(result["environment"], flush=True)
    for part in given.parts:
        begun = time.perf_counter()
        result[part] = []
        try:
            for row in parts[part]():
                result[part].append(row)
                given.out.write_text(json.dumps(result, indent=1), "utf-8")
        except Exception:
            traceback.print_exc()
            result[part].append({"error": traceback.format_exc()})
        print(f"{part}: {time.perf_counter() - begun:.1f} s", flush=True)
        given.out.write_text(json.dumps(result, indent=1), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
