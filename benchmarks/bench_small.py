"""Small calls: one draw at a time, and what first and second calls take beyond their steps.

A second call of a chain is meant to cost at most 10 steps more than the steps that it makes. Where
a step takes a tenth of a microsecond, no call from Python can achieve this, so the time of a
compiled call that makes no step is reported beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, measured, missing, peer
from benchmarks.workloads import NAMES, Chain, dense, dppy_draws, targets
from zonodpp import ProjectionDPP, prepare, sample

R, N = 10, 1000
BATCH = 10_000  # draws
FEW = 10  # steps of a small call
LARGER = (NAMES[0], *NAMES[2:])


def run(quick: bool) -> list[Row]:
    return [*one_at_a_time(quick), *calls_of_chains(quick)]


def one_at_a_time(quick: bool) -> list[Row]:
    """Compare single draws with a draw inside a batch, and with DPPy's."""
    target = ProjectionDPP(np.random.default_rng(SEED).normal(size=(R, N)))
    rng = np.random.default_rng(SEED)
    few = 200 if quick else 2_000
    sampler = prepare(target, "exact")
    jobs = {
        "batch": Job(partial(sample, target, BATCH, method="exact", rng=SEED), BATCH),
        "prepared": Job(lambda: repeat(partial(sampler.draw, rng), few), few),
        "stream": Job(lambda: repeat(partial(next, sampler.stream(rng)), few), few),
        "sample": Job(lambda: repeat(partial(sample, target, 1, method="exact"), few), few),
    }
    dppy = peer("dppy.finite_dpps")
    if dppy is not None:
        jobs["dppy"] = Job(partial(dppy_draws(dppy, np.linalg.qr(target.A.T)[0]), 20), 20)
    seconds = interleaved(jobs, repeats=3 if quick else 9)
    shape = f"{R} x {N:,}"
    rows: list[Row] = [
        {
            "what": f"{shape}: a prepared draw over a draw in a batch",
            "at_most": 10.0,
            **compare(seconds, "prepared", "batch"),
        },
        {
            "what": f"{shape}: a draw of a stream over a draw in a batch",
            **compare(seconds, "stream", "batch"),
        },
        {
            "what": f"{shape}: sample(target, 1) over a prepared draw",
            "at_most": 4.0,
            **compare(seconds, "sample", "prepared"),
        },
    ]
    prepared = f"{shape}: DPPy's single draw over a prepared draw"
    plain = f"{shape}: DPPy's single draw over sample(target, 1)"
    if dppy is None:
        return [*rows, missing(prepared, "dppy"), missing(plain, "dppy")]
    rows.append({"what": prepared, "floor": 20.0, **compare(seconds, "dppy", "prepared")})
    return [*rows, {"what": plain, **compare(seconds, "dppy", "sample")}]


def calls_of_chains(quick: bool) -> list[Row]:
    """Time first and second calls of a few steps, in steps of a chain that is under way."""
    rows: list[Row] = []
    for name in LARGER[:2] if quick else LARGER:
        for method in ("exchange", "zonotope"):
            rows += calls(name, method, 3 if quick else 7)
    return rows


def calls(name: str, method: str, repeats: int) -> list[Row]:
    """Return the rows of one input and method.

    A call takes at least what a call of compiled code takes that makes no step, and what NumPy
    takes to make a generator from the seed. Where a step takes a fraction of a microsecond, each of
    these is more than the limit of second calls.
    """
    target = targets()[name]
    chain = Chain(target, method)
    chain.advance(20)
    steps = max(20, int(2e-3 / seconds_of(partial(chain.advance, 20)) * 20))
    sample(target, FEW, method=method, rng=SEED)  # compiled code
    whats = {
        "first": f"{name}: first call, {method}, beyond its {FEW} steps",
        "second": f"{name}: second call, {method}, beyond its {FEW} steps",
        "stream": f"{name}: first draw of a stream, {method}, beyond its step",
        "empty": f"{name}: a compiled call that makes no step, {method}",
        "seed": f"{name}: a generator that NumPy makes from a seed, {method}",
    }
    limits = {"first": {"at_most": 60.0}, "second": {"at_most": 10.0}}
    found: dict[str, list[float]] = {kind: [] for kind in whats}
    for _ in range(repeats):
        step = seconds_of(partial(chain.advance, steps)) / steps
        fresh = ProjectionDPP(dense(target))
        assert fresh.coordinates is not None  # belongs to the target, not to the method
        call = partial(sample, fresh, FEW, method=method, rng=SEED)
        first, second = seconds_of(call), seconds_of(call)
        sampler = prepare(fresh, method)
        stream = seconds_of(partial(first_of_stream, sampler))
        empty = seconds_of(partial(make_no_step, chain.sampler, chain.state, chain.rng))
        seed = seconds_of(partial(np.random.default_rng, SEED))
        times = {"first": first, "second": second, "stream": stream, "empty": empty, "seed": seed}
        made = {"first": FEW, "second": FEW, "stream": 1, "empty": 0, "seed": 0}
        for kind, took in times.items():
            found[kind].append(took / step - made[kind])
    return [
        {"what": what, **measured(found[kind], "steps"), **limits.get(kind, {})}
        for kind, what in whats.items()
    ]


def first_of_stream(sampler: Any) -> None:
    next(sampler.stream(SEED))


def make_no_step(sampler: Any, state: Any, rng: np.random.Generator) -> None:
    """Call compiled code with all its arguments, and no draw to make."""
    sampler.advance(state, rng, np.empty((0, sampler.width), np.int32), np.empty((0, 0)), 1)


def repeat(call: Callable[[], Any], times: int) -> None:
    for _ in range(times):
        call()


def seconds_of(call: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun
