"""Laws and speeds of the kernels on a machine with an NVIDIA GPU.

    python benchmarks/cuda_device.py --out cuda.json [--smoke] [--parts law exact walks k10]

Laws: every kernel against full enumeration by chi-square, with a broken twin that the same check
has to reject. Speeds: draws and steps per second, beside the same work on all processors, with a
process for each of them: 16 threads of one process were slower than 16 processes.
Every row is written when it is known, beside what the file holds. A part that fails says why.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import combinations
from typing import Any

import numpy as np
from numba import cuda
from scipy import stats

from zonodpp import DPP, KDPP, Exact, Exchange, HitAndRun, ProjectionDPP, sample
from zonodpp.cuda.chains import prepare_on_device
from zonodpp.cuda.devices import to_device
from zonodpp.cuda.entering import BlockShape
from zonodpp.cuda.exact import layout_for
from zonodpp.cuda.groups import Layout
from zonodpp.cuda.warps import WARP

SEED = 20170411
THRESHOLD = 1e-4
GROUPS = Layout(2, 2, 1)  # for the laws of small targets
LAYOUTS = (  # that are timed with --layouts
    Layout(1, 1, 1),
    Layout(2, 2, 1),
    Layout(4, 2, 1),
    Layout(4, 2, 1, 128),
    Layout(8, 2, 4, 128),
    Layout(16, 2, 8, 128),
)
SECONDS = 1.0  # that a timed launch takes about


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


# Laws


def small_target() -> ProjectionDPP:
    rng = np.random.default_rng(SEED)
    return ProjectionDPP(rng.normal(size=(3, 8)), weights=10.0 ** rng.uniform(-1, 1, 8))


def law_of(target: Any) -> np.ndarray:
    """Probability of each set of items, by the bits of the set."""
    n = target.n
    found = np.zeros(2**n)
    for size in target.sizes:
        for items in combinations(range(n), size):
            place = sum(1 << i for i in items)
            found[place] = np.exp(float(target.log_prob(np.array(items, dtype=np.int64))))
    return found / found.sum()


def p_value(subsets: np.ndarray, law: np.ndarray) -> float:
    """Chi-square of counts; sets with fewer than five expected draws share a cell."""
    rows = subsets.reshape(-1, subsets.shape[-1])
    counts = np.zeros(len(law))
    for begin in range(0, len(rows), 1_000_000):
        chunk = rows[begin : begin + 1_000_000].astype(np.int64)
        bits = np.where(chunk >= 0, 1 << np.maximum(chunk, 0), 0).sum(axis=1)
        counts += np.bincount(bits, minlength=len(law))[: len(law)]
    if counts.sum() != len(rows) or counts[law == 0].any():
        return 0.0
    expected = law * counts.sum()
    common = expected >= 5
    observed = np.append(counts[common], counts[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    if expected[-1] == 0:
        observed, expected = observed[:-1], expected[:-1]
    return float(stats.chisquare(observed, expected * (observed.sum() / expected.sum())).pvalue)


def draws_of(
    target: Any,
    method: Any,
    shape: tuple[int, int, int, int],
    change: Any = None,
) -> np.ndarray:
    """Return (draws, chains, width) for shape = (draws, chains, thin, burn_in)."""
    draws, chains, thin, burn_in = shape
    run = prepare_on_device(method, target, None, chains, False)
    if change is not None:
        change(run.engine)
    rng = np.random.default_rng(SEED)
    state = run.start(rng, None)
    if burn_in:
        run.advance(state, rng, np.empty((1, run.width), np.int32), np.zeros((1, 0)), burn_in)
    subsets = np.empty((draws, run.width), np.int32)
    run.advance(state, rng, subsets, np.zeros((draws, 0)), thin)
    counts = state["counts"].sum(axis=0).tolist()
    print("   counts", dict(zip(run.counters, counts, strict=True)), flush=True)
    return subsets.reshape(draws, chains, -1)


def in_groups(engine: Any) -> None:
    """Hold proposals by groups of several threads, which small targets need not."""
    engine.lay_out(GROUPS)


def in_warps(engine: Any) -> None:
    """Let warps compute products together, two of them without a chain, in global memory."""
    engine.lay_out(BlockShape(WARP, 2, 4 * WARP, False))


# Broken twins: every proposal accepted, the wrong power, no density.


def accept_all(engine: Any) -> None:
    engine.lay_out(layout_for(engine.width), every=True)


def accept_all_in_groups(engine: Any) -> None:
    engine.lay_out(GROUPS, every=True)


def wrong_power(engine: Any) -> None:
    engine.lay_out(power=1.0)


def no_density(engine: Any) -> None:
    engine.lay_out(exponent=0.0)


def law_cases(total: int) -> dict[str, tuple[Any, ...]]:
    """Name -> target, method, (draws, chains, thin, burn_in), change, how to break the kernel."""
    rng = np.random.default_rng(SEED + 1)
    target = small_target()
    Phi = rng.normal(size=(7, 4))
    alone, many = (total // 4, 4, 1, 0), (max(1, total // 10_000), 10_000)
    dpp, k_dpp = DPP.from_features(0.7 * Phi), KDPP.from_features(Phi, 3)
    paper = HitAndRun(preset="paper")
    return {
        "exact, projection DPP": (target, Exact(), alone, None, accept_all),
        "exact, DPP": (dpp, Exact(), alone, None, accept_all),
        "exact, k-DPP": (k_dpp, Exact(), alone, None, accept_all),
        "exact, groups": (target, Exact(), alone, in_groups, accept_all_in_groups),
        "exact, groups, DPP": (dpp, Exact(), alone, in_groups, accept_all_in_groups),
        "exact, groups, k-DPP": (k_dpp, Exact(), alone, in_groups, accept_all_in_groups),
        "exchange, heat-bath": (target, Exchange(), (*many, 16, 100), None, wrong_power),
        "exchange, together": (target, Exchange(), (*many, 16, 100), in_warps, wrong_power),
        "exchange, barker": (target, Exchange("barker"), (*many, 150, 2000), None, wrong_power),
        "exchange, metropolis": (
            target,
            Exchange("metropolis"),
            (*many, 75, 1000),
            None,
            wrong_power,
        ),
        "zonotope, gibbs": (target, HitAndRun(), (*many, 12, 60), None, no_density),
        "zonotope, paper": (target, paper, (*many, 40, 400), None, no_density),
    }


def law_row(total: int, name: str) -> dict[str, Any]:
    """Check one kernel and its broken twin."""
    target, method, shape, change, broken = law_cases(total)[name]
    begun = time.perf_counter()
    row: dict[str, Any] = {"what": name}
    try:
        law = law_of(target)
        subsets = draws_of(target, method, shape, change)
        row |= {"draws": int(subsets.shape[0] * subsets.shape[1]), "p": p_value(subsets, law)}
        row["broken p"] = p_value(draws_of(target, method, shape, broken), law)
        row["met"] = row["p"] > THRESHOLD > row["broken p"]
    except Exception as error:
        traceback.print_exc()
        row["error"] = f"{type(error).__name__}: {error}"[:500]
    row["seconds"] = round(time.perf_counter() - begun, 2)
    print(row, flush=True)
    return row


def laws(total: int, only: str) -> Iterator[dict[str, Any]]:
    """Check all kernels, a process each, since most of the time is that of the compiler."""
    names = [name for name in law_cases(total) if only in name]
    with ProcessPoolExecutor(len(names), multiprocessing.get_context("spawn")) as processes:
        yield from processes.map(partial(law_row, total), names)


# Speeds


def timed(work: Any) -> float:
    cuda.synchronize()
    begun = time.perf_counter()
    work()
    cuda.synchronize()
    return time.perf_counter() - begun


def repeated(work: Any, repeats: int = 3) -> float:
    """Return the median seconds, after one call that warms up."""
    work()
    return float(np.median([timed(work) for _ in range(repeats)]))


class Host:
    """All processors of the host, with a process for each that works alone."""

    def __init__(self) -> None:
        self.cores = os.cpu_count() or 1
        os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
        spawn = multiprocessing.get_context("spawn")
        self.processes = spawn.Pool(self.cores, host_start, (spawn.Barrier(self.cores),))

    def rate(self, make: Any, method: Any, seconds: float) -> float:
        """Return draws of the exact method, or steps, per second of all processes together."""
        work = [(make, method, seconds, SEED + core) for core in range(self.cores)]
        return float(sum(self.processes.starmap(host_rate, work, 1)))


def host_start(barrier: Any) -> None:
    global together
    together = barrier


def host_rate(make: Any, method: Any, seconds: float, seed: int) -> float:
    """Return the rate of this process, measured while all others work, too."""
    sampler = method.prepare(make(), None)
    rng = np.random.default_rng(seed)
    state = sampler.start(rng, None)

    def spend(count: int) -> float:
        draws, thin = (count, 1) if sampler.independent else (1, count)
        subsets, tracked = np.zeros((draws, sampler.width), np.int32), np.zeros((draws, 0))
        begun = time.perf_counter()
        sampler.advance(state, rng, subsets, tracked, thin)
        return time.perf_counter() - begun

    count = 8
    spend(count)  # loads compiled code
    spent = spend(count)
    while spent < seconds / 4:
        count *= 2
        spent = spend(count)
    count = max(1, int(count * seconds / spent))
    together.wait()
    return count / spend(count)


def random_rows(n: int, r: int) -> ProjectionDPP:
    return ProjectionDPP.from_features(np.random.default_rng(SEED).normal(size=(n, r)))


def marginal_errors(subsets: np.ndarray, target: ProjectionDPP) -> float:
    """Return the standard deviation of the z-scores of the items' frequencies."""
    expected = target.marginals()
    draws = subsets.shape[0] * subsets.shape[1]
    counts = np.bincount(subsets.ravel(), minlength=target.n)
    keep = (expected > 0) & (expected < 1)
    errors = (counts - draws * expected)[keep]
    return float(np.std(errors / np.sqrt(draws * (expected * (1 - expected))[keep])))


def by_layout(engine: Any, state: Any, made: Any, target: ProjectionDPP) -> dict[str, Any]:
    """Time every layout; all of them have to make the same draws."""
    found: dict[str, Any] = {}
    engine.advance(state, 0, made, None, 1)
    reference = made[:20_000].copy_to_host()
    for layout in LAYOUTS:
        entry: dict[str, Any] = {}
        try:
            engine.lay_out(layout)
            spent = repeated(partial(engine.advance, state, 0, made, None, 1), 1)
            compiled = next(iter(engine.kernel.overloads.values()))
            entry |= {"draws/s": made.shape[0] / spent, "registers": compiled.regs_per_thread}
            entry |= {"local": compiled.local_mem_per_thread, "shared": engine.shared}
            same = (made[:20_000].copy_to_host() == reference).all(axis=(1, 2))
            entry["same draws"] = float(np.mean(same))
            entry["z of marginals"] = marginal_errors(made.copy_to_host(), target)
        except Exception as error:
            traceback.print_exc()
            entry["error"] = f"{type(error).__name__}: {error}"[:500]
        print("  ", layout_name(layout), entry, flush=True)
        found[layout_name(layout)] = entry
    engine.lay_out(layout_for(target.r))
    return found


def layout_name(layout: Layout) -> str:
    return f"{layout.lanes} x {layout.slots} x {layout.warps}, {layout.registers or 'all'}"


def exact_speeds(
    n: int, sizes: tuple[int, ...], seconds: float, host: Host | None, layouts: bool
) -> Iterator[dict[str, Any]]:
    for r in sizes:
        row: dict[str, Any] = {"what": f"exact, r = {r}, n = {n:,}"}
        try:
            target = random_rows(n, r)
            run = prepare_on_device(Exact(), target, None, 1, False)
            engine: Any = run.engine
            rng = np.random.default_rng(SEED)
            state = {name: to_device(array) for name, array in run.start(rng, None).items()}
            begun = time.perf_counter()
            trial = cuda.device_array((20_000, 1, r), np.int32)
            engine.advance(state, 0, trial, None, 1)
            cuda.synchronize()
            row["first call, s"] = round(time.perf_counter() - begun, 2)
            pace = 20_000 / timed(partial(engine.advance, state, 0, trial, None, 1))
            draws = int(np.clip(pace * seconds, 20_000, 2_000_000_000 // (4 * r)))
            made = cuda.device_array((draws, 1, r), np.int32)
            left = repeated(partial(engine.advance, state, 0, made, None, 1))
            row |= {"draws": draws, "draws/s on the device": draws / left}
            compiled = next(iter(engine.kernel.overloads.values()))
            row |= {"registers": compiled.regs_per_thread, "local": compiled.local_mem_per_thread}
            row |= {"threads": engine.threads, "shared": engine.shared}
            row["z of marginals"] = marginal_errors(made.copy_to_host(), target)
            if layouts:
                row["by layout"] = by_layout(engine, state, made, target)
            subsets, none = np.empty((draws, r), np.int32), np.zeros((draws, 0))
            fresh = run.start(rng, None)
            copied = repeated(partial(run.advance, fresh, rng, subsets, none, 1))
            row["draws/s with copies"] = draws / copied
            count = min(draws, 4_000_000)
            call = partial(sample, target, count, rng=SEED, device="cuda", progress=False)
            row["draws/s by sample()"] = count / repeated(call, 1)
            if host:
                sample(target, 10, rng=0)  # compiles for all processes
                row["host draws/s"] = host.rate(partial(random_rows, n, r), Exact(), seconds)
                row["ratio"] = row["draws/s on the device"] / row["host draws/s"]
        except Exception as error:
            traceback.print_exc()
            row["error"] = f"{type(error).__name__}: {error}"[:500]
        print(row, flush=True)
        yield row


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
    if name == "K10":
        return complete_graph(10)
    r, n = map(int, name.split(" x "))
    return ProjectionDPP(np.random.default_rng(SEED).normal(size=(r, n)))


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
            row: dict[str, Any] = {"what": f"{method_name}, {name}, {chains:,} chains"}
            try:
                target = walk_target(name)
                run = prepare_on_device(method, target, None, chains, False)
                engine: Any = run.engine
                begun = time.perf_counter()
                generator = np.random.default_rng(SEED)
                state = run.start(generator, None)
                row["start, s"] = round(time.perf_counter() - begun, 2)
                held = {key: to_device(array) for key, array in state.items()}
                made = cuda.device_array((1, chains, run.engine.width), np.int32)
                sums = cuda.device_array((1, chains, 0))
                begun = time.perf_counter()
                engine.advance(held, 0, made, sums, 2)
                cuda.synchronize()
                row["first call, s"] = round(time.perf_counter() - begun, 2)
                spent, steps = 0.0, 4
                while spent < seconds / 4:
                    steps *= 2
                    spent = timed(partial(engine.advance, held, 10, made, sums, steps))
                steps = max(1, int(steps * seconds / spent))
                spent = repeated(partial(engine.advance, held, 10, made, sums, steps))
                row |= {"steps": steps, "steps/s": chains * steps / spent}
                compiled = next(iter(engine.kernel.overloads.values()))
                row |= {
                    "registers": compiled.regs_per_thread,
                    "local": compiled.local_mem_per_thread,
                    "shared": engine.shared,
                }
                counts = held["counts"].copy_to_host().sum(axis=0).tolist()
                row["counts"] = dict(zip(run.counters, counts, strict=True))
                if host:
                    sample(target, 2, method=method, rng=0)  # compiles for all processes
                    row["host steps/s"] = host.rate(partial(walk_target, name), method, seconds)
                    row["ratio"] = row["steps/s"] / row["host steps/s"]
            except Exception as error:
                traceback.print_exc()
                row["error"] = f"{type(error).__name__}: {error}"[:500]
            print(row, flush=True)
            yield row


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
    options.add_argument("--parts", nargs="*", default=["law", "exact", "walks", "k10"])
    options.add_argument("--no-host", action="store_true", help="leave the processors out")
    options.add_argument("--sizes", nargs="*", type=int, default=[10, 20, 50, 100, 150])
    options.add_argument("--layouts", action="store_true", help="time all layouts of exact draws")
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

    timed_parts = {"exact", "walks"} & set(given.parts)
    host = Host() if timed_parts and not given.no_host else None
    seconds, total = (0.1, 200_000) if given.smoke else (SECONDS, given.draws)
    sizes = tuple(given.sizes)
    parts = {
        "law": lambda: laws(total, given.law),
        "exact": lambda: exact_speeds(100_000, sizes, seconds, host, given.layouts),
        "walks": lambda: walk_speeds(10_000, seconds, host, given.walks),
        "k10": lambda: k10(1000 if given.smoke else 100_000, 100),
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
