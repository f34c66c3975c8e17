"""Laws of the kernels on a GPU: chi-square against full enumeration, with a broken twin for each.

The tests run these checks with few draws in numba's simulator, `benchmarks/cuda_device.py` with
millions on a real GPU.
"""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from benchmarks import SEED
from zonodpp import DPP, KDPP, Exact, Exchange, HitAndRun, ProjectionDPP
from zonodpp._cuda.chains import prepare_on_device
from zonodpp._cuda.entering import BlockShape
from zonodpp._cuda.exact import layout_for
from zonodpp._cuda.groups import Layout
from zonodpp._cuda.warps import WARP

THRESHOLD = 1e-4
GROUPS = Layout(2, 1)  # for small targets, which would take one thread for a vector


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
