"""General DPPs and k-DPPs: one draw after set-up, beside DPPy."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.fft

from benchmarks import SEED, Job, Row, compare, interleaved, missing, peer
from zonodpp import DPP, KDPP, sample

SIZE = 50  # items in a draw: exactly, or on average


def run(quick: bool) -> list[Row]:
    return draws(1_000, quick)


def once(quick: bool) -> list[Row]:
    return [] if quick else draws(5_000, quick)  # eigenvectors take most of a minute


def draws(n: int, quick: bool) -> list[Row]:
    dppy = peer("dppy.finite_dpps")
    if dppy is None:
        return [missing(f"n = {n:,}: DPPy's draw over ours", "dppy")]
    values, vectors = smooth_kernel(n)
    L = (vectors * values) @ vectors.T
    ours = {"L-ensemble": DPP(L=L).scaled(SIZE), f"{SIZE}-DPP": KDPP(L, SIZE)}
    logs = ours["L-ensemble"].log_eigenvalues[::-1]
    scale = float(np.exp(logs[-1]) / values[-1])
    rows = []
    for name, target in ours.items():
        likelihood = values * scale if name == "L-ensemble" else values
        process = dppy.FiniteDPP("likelihood", L_eig_dec=(likelihood, vectors))
        theirs = partial(draws_of, process, name, np.random.RandomState(SEED))
        theirs(1)  # set-up: symmetric polynomials
        count = 2 if quick else 10
        jobs = {
            "dppy": Job(partial(theirs, count), count),
            "zonodpp": Job(partial(sample, target, 500, rng=SEED, workers=1), 500),
        }
        seconds = interleaved(jobs, repeats=2 if quick else 5)
        what = f"{name}, n = {n:,}, {SIZE} items: DPPy's draw over ours"
        rows.append({"what": what, "floor": 20.0, **compare(seconds, "dppy", "zonodpp")})
    return rows


def smooth_kernel(n: int) -> tuple[Any, Any]:
    """Eigenvalues that fall slowly, and waves over shuffled items as eigenvectors."""
    waves = scipy.fft.dct(np.eye(n), norm="ortho")
    return np.logspace(-3, 1, n), np.random.default_rng(SEED).permutation(waves)


def draws_of(process: Any, name: str, state: Any, count: int) -> None:
    """Draw so often by DPPy from an L-ensemble or a k-DPP."""
    for _ in range(count):
        if name == "L-ensemble":
            process.sample_exact(mode="GS", random_state=state)
        else:
            process.sample_exact_k_dpp(size=SIZE, mode="GS", random_state=state)
    process.flush_samples()
