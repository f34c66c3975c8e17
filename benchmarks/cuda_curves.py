"""When a GPU pays: rates over r, n, draws and chains, beside all processors of the host.

A process for each point compiles its kernels, since most of the time is that of the compiler, and
waits for its turn on the device. The processors are measured when no process compiles any more.
"""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from benchmarks.cuda_rates import Device, Host, random_columns, random_rows, walk_target
from zonodpp import Exact, Exchange, HitAndRun, sample

VISITS = 3
WORKLOAD = "11 x 64"  # of the curves over the number of chains


def points() -> list[dict[str, Any]]:
    """Return what is measured: a curve, the place on its axis, a target, a method, chains."""
    found: list[dict[str, Any]] = []

    def add(curve: str, x: int, make: Any, method: Any, chains: int = 1, **more: Any) -> None:
        found.append({"curve": curve, "x": x, "work": (make, method, chains), **more})

    walks = {"heat-bath": Exchange(), "gibbs": HitAndRun()}
    for r in (5, 10, 20, 50, 100, 150, 200):
        add("exact over r", r, partial(random_rows, 100_000, r), Exact())
    for n in (1000, 10_000, 100_000, 1_000_000):
        add("exact over n", n, partial(random_rows, n, 20), Exact())
    for name, method in walks.items():
        for chains in (1, 10, 100, 1000, 10_000, 100_000):
            make = partial(walk_target, WORKLOAD)
            add(f"{name} over chains", chains, make, method, chains, busy=min(chains, 16))
        for n in (20, 50, 100, 200, 500, 1000):
            add(f"{name} over n", n, partial(random_columns, 10, n), method, 10_000)
    return found


def _share(lock: Any) -> None:
    global turn
    turn = lock


def _device_row(seconds: float, point: dict[str, Any]) -> dict[str, Any]:
    """Return the rates of one point on the device."""
    row = {key: point[key] for key in ("curve", "x")}
    make, method, chains = point["work"]
    try:
        device = Device(make(), method, chains)
        with turn:
            rates = [device.rate(seconds) for _ in range(VISITS)]
        row |= {"device": max(rates), "first call, s": device.first_call}
    except Exception as error:
        traceback.print_exc()
        row["error"] = f"{type(error).__name__}: {error}"[:500]
    return row


def curves(seconds: float, host: Host | None, smoke: bool) -> Iterator[dict[str, Any]]:
    """Yield a row for each point, and rows for the draws of one call."""
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


def _draws_of_one_call(smoke: bool) -> Iterator[dict[str, Any]]:
    """Yield the seconds of one call of `sample` for so many exact draws, there and here."""
    target = random_rows(100_000, 20)
    for draws in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000)[: 3 if smoke else 8]:
        row: dict[str, Any] = {"curve": "draws of one call", "x": draws}
        for name, options in (("device", {"device": "cuda"}), ("host", {})):
            chains = min(draws, 16) if name == "host" and draws >= 1000 else 1
            spent = []
            for _ in range(VISITS):
                begun = time.perf_counter()
                sample(target, draws // chains, chains=chains, rng=0, progress=False, **options)
                spent.append(time.perf_counter() - begun)
            row[f"{name}, s"] = min(spent)
        print(row, flush=True)
        yield row
