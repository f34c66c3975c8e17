"""Rates of the kernels on a GPU and of all processors of its host, and the targets they work on."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numba import cuda

from benchmarks import SEED
from zonodpp import ProjectionDPP
from zonodpp._cuda.chains import prepare_on_device
from zonodpp._cuda.devices import to_device

MOST_BYTES = 2_000_000_000  # of draws that one call leaves on the device


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


def timed(work: Callable[[], Any]) -> float:
    cuda.synchronize()
    begun = time.perf_counter()
    work()
    cuda.synchronize()
    return time.perf_counter() - begun


class Device:
    """All chains of a run on the device, with a compiled kernel; what they draw stays there."""

    def __init__(self, target: Any, method: Any, chains: int = 1) -> None:
        self.run = prepare_on_device(method, target, None, chains, False)
        self.engine: Any = self.run.engine
        self.chains, self.width = chains, self.engine.width
        state = self.run.start(np.random.default_rng(SEED), None)
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
        return timed(lambda: self.engine.advance(self.held, 10, self.made, sums, thin))

    def rate(self, seconds: float) -> float:
        """Return the draws or steps of all chains per second, in a call of about ``seconds``."""
        most = MOST_BYTES // (4 * self.width) if self.engine.independent else 2**40
        spent = self.spend(self.count)
        while spent < seconds / 2 and self.count < most:
            self.count = min(most, max(2 * self.count, int(self.count * 0.8 * seconds / spent)))
            spent = self.spend(self.count)
        return self.chains * self.count / spent

    def facts(self) -> dict[str, int]:
        """Return what the kernel takes."""
        compiled = next(iter(self.engine.kernel.overloads.values()))
        found = {"registers": compiled.regs_per_thread, "local": compiled.local_mem_per_thread}
        return found | {"threads": self.engine.threads, "shared": self.engine.shared}


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
        sampler = method.prepare(make(), None)
        _prepared[name] = sampler, sampler.start(np.random.default_rng(seed), None)
    sampler, state = _prepared[name]
    rng = np.random.default_rng(seed)

    def spend(count: int) -> float:
        draws, thin = (count, 1) if sampler.independent else (1, count)
        subsets, tracked = np.zeros((draws, sampler.width), np.int32), np.zeros((draws, 0))
        begun = time.perf_counter()
        sampler.advance(state, rng, subsets, tracked, thin)
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
