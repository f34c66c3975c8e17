"""Exact draws: speed against DPPy, independence of n, cost and memory of the set-up."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from functools import partial

import networkx as nx
import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, missing, peer
from benchmarks.workloads import dppy_draws
from zonodpp import Exact, ProjectionDPP, sample

R = 50


def run(quick: bool) -> list[Row]:
    return [*against_dppy(quick), *whatever_n(quick), *set_up(quick)]


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


PEAK = r"""
import json, re
import numpy as np
from zonodpp import ProjectionDPP, sample

def peak():  # of this process alone; getrusage would begin with the parent's
    with open("/proc/self/status") as lines:
        return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", lines.read())[1])

shape, given = {shape}, {given!r}
make = ProjectionDPP if given == "A" else ProjectionDPP.from_features
rng = np.random.default_rng({seed})
small = rng.standard_normal((50, 500) if given == "A" else (500, 50))
sample(make(small), 10, rng=0, method="exact")  # imports, compiled code, buffers of BLAS
before = peak()
matrix = np.empty(shape)
rng.standard_normal(out=matrix)
sample(make(matrix), 100, rng=0, method="exact")
print(json.dumps({{"bytes": matrix.nbytes, "peak": peak() - before}}))
"""


def once(quick: bool) -> list[Row]:
    """Peak memory of a fresh process, A itself included, over the bytes of A."""
    n = 200_000 if quick else 1_000_000
    rows = []
    for given, shape in (("A", (R, n)), ("X", (n, R)))[: 1 if quick else 2]:
        what = f"{given} of {shape[0]:,} x {shape[1]:,}: peak memory over {given}"
        if not pathlib.Path("/proc/self/status").exists():
            rows.append(missing(what, "/proc (Linux)"))
            continue
        program = PEAK.format(shape=shape, given=given, seed=SEED)
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        found = json.loads(done.stdout)
        rows.append(
            {"what": what, "ratio": found["peak"] / found["bytes"], "at_most": 3.5, **found}
        )
    return rows
