"""Exact draws: beside DPPy over n and r, independence of n, cost and memory of the set-up; DPPs.

A curve of DPPy stops where its next draw is expected to take more than a few seconds; what was
left out is named. Set-up is not timed unless a row says so: our first call does it, and DPPy gets
the eigenvectors.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import scipy.fft

from benchmarks import SEED, Job, Row, compare, interleaved, left_out, measured, missing, peer
from benchmarks.peers import dppy_draws
from benchmarks.workloads import NO_PROC, Chain, peak_memory
from zonodpp import DPP, KDPP, Exact, ProjectionDPP, sample

R = 50
SIZE = 50  # items in a draw of a DPP or k-DPP: exactly, or on average
MODES = ("GS", "GS_bis", "KuTa12")
OURS = "zonodpp"
LIMIT = 3.0  # seconds that a draw of a peer may take
# How the modes' times grow with n and with r, to foresee the next point: (n, r).
GROWTH = {"GS": (1, 2), "GS_bis": (1, 2), "KuTa12": (1, 3)}


def run(quick: bool) -> list[Row]:
    return [
        *against_dppy(quick),
        *whatever_n(quick),
        *set_up(quick),
        *over_sizes(quick),
        *mixtures(1_000, quick),
    ]


def once(quick: bool) -> list[Row]:
    if quick:
        return memory(quick)
    return [*memory(quick), *mixtures(5_000, quick)]  # eigenvectors take most of a minute


def draws_of(target: ProjectionDPP, count: int) -> Job:
    return Job(lambda: sample(target, count, rng=SEED, method="exact"), count)


def against_dppy(quick: bool) -> list[Row]:
    """One draw, beside ``FiniteDPP.sample_exact(mode="GS")``, DPPy's default."""
    rng = np.random.default_rng(SEED)
    K10 = ProjectionDPP.from_graph(nx.complete_graph(10)).A.toarray()
    large = 20_000 if quick else 100_000
    cases = [
        ("K10 graph, 9 x 45", K10, 100.0, 200, 50_000),
        ("Gaussian 11 x 64", rng.normal(size=(11, 64)), 100.0, 200, 50_000),
        (f"Gaussian {R} x {large:,}", rng.normal(size=(R, large)), 1000.0, 1, 5_000),
    ]
    dppy = peer("dppy.finite_dpps")
    rows = []
    for name, A, floor, theirs, ours in cases:
        what = f"{name}: DPPy's draw over ours"
        if dppy is None:
            rows.append(missing(what, "dppy"))
            continue
        draw = dppy_draws(dppy, np.linalg.qr(A.T)[0])
        seconds = interleaved(
            {
                "dppy": Job(partial(draw, theirs), theirs),
                "zonodpp": draws_of(ProjectionDPP(A), ours // 5 if quick else ours),
            },
            repeats=3,
        )
        rows.append({"what": what, "floor": floor, **compare(seconds, "dppy", "zonodpp")})
    return rows


def whatever_n(quick: bool) -> list[Row]:
    """One draw among a million items, beside one among ten thousand.

    Set-up is done by the first call, untimed, and shared by all others with the same target.
    """
    rng = np.random.default_rng(SEED)
    count, few, many = (2_000, 5_000, 100_000) if quick else (10_000, 10_000, 1_000_000)
    seconds = interleaved(
        {
            f"{n:,}": draws_of(ProjectionDPP(rng.standard_normal((R, n))), count)
            for n in (few, many)
        },
        repeats=3,
    )
    what = f"r = {R}: a draw among {many:,} items over one among {few:,}"
    return [{"what": what, "at_most": 1.5, **compare(seconds, f"{many:,}", f"{few:,}")}]


def set_up(quick: bool) -> list[Row]:
    """Everything before the first draw, beside one Gram matrix by BLAS."""
    n = 50_000 if quick else 1_000_000
    rng = np.random.default_rng(SEED)
    rows = []
    for name, make, shape in (
        ("A", ProjectionDPP, (R, n)),
        ("X", ProjectionDPP.from_features, (n, R)),
    ):
        matrix = rng.standard_normal(shape)
        gram = (lambda M=matrix: M @ M.T) if name == "A" else (lambda M=matrix: M.T @ M)
        seconds = interleaved(
            {
                "set-up": Job(lambda M=matrix, f=make: Exact().prepare(f(M))),
                "Gram matrix": Job(gram),
            },
            repeats=3 if quick else 5,
        )
        what = f"{name} of {shape[0]:,} x {shape[1]:,}: set-up over one Gram matrix"
        rows.append({"what": what, "at_most": 4.0, **compare(seconds, "set-up", "Gram matrix")})
    return rows


def over_sizes(quick: bool) -> list[Row]:
    """Time one draw over n from 100 to 1,000,000 and over r from 5 to 200."""
    over_n = [(n, 50) for n in (100, 1_000, 10_000, 100_000, 1_000_000)]
    over_r = [(1_000, r) for r in (5, 10, 20, 50, 100, 200)]
    if quick:
        over_n, over_r = [(n, 20) for n in (100, 1_000, 10_000)], over_r[:5:2]
    rows: list[Row] = []
    for axis, points in (("n", over_n), ("r", over_r)):
        foreseen = dict.fromkeys(MODES, 0.0)  # seconds of a draw at the present point
        before = points[0]
        for n, r in points:
            for mode in MODES:
                by_n, by_r = GROWTH[mode]
                foreseen[mode] *= (n / before[0]) ** by_n * (r / before[1]) ** by_r
            before = (n, r)
            rows += point(axis, n, r, foreseen, quick)
    return rows


def point(axis: str, n: int, r: int, foreseen: dict[str, float], quick: bool) -> list[Row]:
    """Time one size; put what DPPy's modes took into ``foreseen``."""
    limit = LIMIT / 10 if quick else LIMIT
    X = np.random.default_rng(SEED).standard_normal((n, r))
    modes = [mode for mode in MODES if foreseen[mode] <= limit]
    jobs: dict[str, Job] = {OURS: chain_of_draws(X, r)}
    finite = peer("dppy.finite_dpps")
    if finite is not None and modes:
        vectors = np.linalg.qr(X)[0]
        for mode in modes:
            many = 10 if n * r**2 < 1e6 and mode != "KuTa12" else 1
            jobs[mode] = Job(partial(dppy_draws(finite, vectors, mode), many), many)
    # A second of ours would do; slow peers are timed twice, after a first call that warms up.
    slow = max((foreseen[mode] for mode in modes), default=0.0) > limit / 10
    seconds = interleaved(jobs, repeats=2 if quick or slow else 3)
    at = {"picture": "draws", "axis": axis, "n": n, "r": r}
    micro = measured([1e6 * s for s in seconds[OURS]], "us")
    rows = [{"what": f"{n:,} items, r = {r}: our draw ({axis})", **at, "method": OURS, **micro}]
    for mode in MODES:
        what = f"{n:,} items, r = {r}: DPPy's draw ({mode}) over ours ({axis})"
        if finite is None:
            rows.append(missing(what, "dppy"))
        elif mode not in modes:
            why = f"a draw would take about {foreseen[mode]:.0f} s, more than {limit:g} s"
            rows.append(left_out(what, why))
        else:
            foreseen[mode] = min(seconds[mode])
            rows.append({"what": what, **at, "method": mode, **compare(seconds, mode, OURS)})
    return rows


def chain_of_draws(X: Any, r: int) -> Job:
    count = max(100, int(2e7 / r**3)) if r > 10 else 20_000
    return Chain(ProjectionDPP.from_features(X), "exact").job(min(count, 20_000))


def mixtures(n: int, quick: bool) -> list[Row]:
    """One draw of a general DPP and of a k-DPP after set-up, beside DPPy."""
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
        theirs = partial(dppy_mixture_draws, process, name, np.random.RandomState(SEED))
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


def dppy_mixture_draws(process: Any, name: str, state: Any, count: int) -> None:
    """Draw so often by DPPy from an L-ensemble or a k-DPP."""
    for _ in range(count):
        if name == "L-ensemble":
            process.sample_exact(mode="GS", random_state=state)
        else:
            process.sample_exact_k_dpp(size=SIZE, mode="GS", random_state=state)
    process.flush_samples()


def memory(quick: bool) -> list[Row]:
    """Peak memory of a fresh process, A itself included, over the bytes of A."""
    n = 200_000 if quick else 1_000_000
    rows = []
    for given, make, shape, small in (
        ("A", "ProjectionDPP", (R, n), (50, 500)),
        ("X", "ProjectionDPP.from_features", (n, R), (500, 50)),
    )[: 1 if quick else 2]:
        what = f"{given} of {shape[0]:,} x {shape[1]:,}: peak memory over {given}"
        peak = peak_memory(
            "from zonodpp import ProjectionDPP, sample\n"
            f"rng = np.random.default_rng({SEED})\n"
            f"sample({make}(rng.standard_normal({small})), 10, rng=0, method='exact')",
            f"matrix = np.empty({shape})\n"
            "rng.standard_normal(out=matrix)\n"
            f"sample({make}(matrix), 100, rng=0, method='exact')",
        )
        if peak is None:
            rows.append(missing(what, NO_PROC))
        else:
            rows.append({"what": what, "ratio": peak / (8 * R * n), "at_most": 3.5})
    return rows
