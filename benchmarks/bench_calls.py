"""Small calls and first use: single draws, first and second calls, new processes, compilation.

A call with a seed takes at least what NumPy takes to make a generator from it, whatever a step
takes, so what first and second calls take is stated in milliseconds.

``python -m benchmarks.bench_calls`` prints what the first use of each method takes from an empty
cache, in units of what numba takes to compile a sum.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, left_out, measured, missing, peer
from benchmarks.peers import dppy_draws
from benchmarks.workloads import NAMES, dense, targets
from zonodpp import ProjectionDPP, prepare, sample

R, N = 10, 1000
BATCH = 10_000  # draws
FEW = 10  # steps of a small call
LARGER = (NAMES[0], *NAMES[2:])
# Limits of a call of a few steps, the first and the second one with a target, in milliseconds.
FIRST_CALL, SECOND_CALL = 1.0, 0.4
PREPARED = 10.0  # microseconds of a prepared draw
FIRST_DRAW = (
    "import numpy as np; from zonodpp import ProjectionDPP, sample; "
    "A = np.random.default_rng(0).normal(size=(9, 45)); "
    "sample(ProjectionDPP(A), 1, method='{method}', rng=0); "
)
SAY = "print('x', flush=True)"
# What numba takes by itself: the first call of a sum that was compiled before.
SUM = """
import numba, numpy as np
@numba.njit(cache=True)
def add_up(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    return total
add_up(np.ones(3))
"""
# Seconds of the processor to compile a sum, and for the first use of each method after that.
UNITS = """
import time, numba, numpy as np
begun = time.process_time()
numba.njit(lambda x: x.sum())(np.ones(3))
unit = time.process_time() - begun
from zonodpp import ProjectionDPP, Zonotope, sample
A = np.random.default_rng(0).normal(size=(9, 45))
target = ProjectionDPP(A)
target.marginals()  # imports, and what is no compilation
begun = time.process_time()
{call}
print((time.process_time() - begun) / unit)
"""
FIRST_USES = {
    "exact": "sample(target, 1, method='exact', rng=0)",
    "exchange": "sample(target, 1, method='exchange', rng=0)",
    "zonotope": "sample(target, 1, method='zonotope', rng=0)",
    "zonotope, paper": "sample(target, 1, method='zonotope', preset='paper', rng=0)",
    "volume": "Zonotope(A, rng=0).volume('estimate', draws=100, rng=0)",
}
MOST_UNITS = {"exact": 8.0, "exchange": 8.0, "zonotope": 8.0}


def run(quick: bool) -> list[Row]:
    return [
        *one_at_a_time(quick),
        *calls_of_chains(quick),
        *processes(quick),
        *cold(quick),
        *compilation(quick),
    ]


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
            "what": f"{shape}: a prepared draw",
            **measured([1e6 * s for s in seconds["prepared"]], "us"),
            "at_most": PREPARED,
        },
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
    """Time first and second calls of a few steps."""
    rows: list[Row] = []
    for name in LARGER[:2] if quick else LARGER:
        for method in ("exchange", "zonotope"):
            rows += calls(name, method, 3 if quick else 7)
    return rows


def calls(name: str, method: str, repeats: int) -> list[Row]:
    """Return the rows of one input and method."""
    sample(targets()[name], FEW, method=method, rng=SEED)  # compiled code
    found: dict[str, list[float]] = {"first": [], "second": []}
    for _ in range(repeats):
        fresh = ProjectionDPP(dense(targets()[name]))
        assert fresh.coordinates is not None  # belongs to the target, not to the method
        call = partial(sample, fresh, FEW, method=method, rng=SEED)
        for kind in found:
            found[kind].append(1e3 * seconds_of(call))
    limits = {"first": FIRST_CALL, "second": SECOND_CALL}
    return [
        {
            "what": f"{name}: {kind} call of {FEW} steps, {method}",
            **measured(found[kind], "ms"),
            "at_most": limit,
        }
        for kind, limit in limits.items()
    ]


def repeat(call: Callable[[], Any], times: int) -> None:
    for _ in range(times):
        call()


def seconds_of(call: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def new_process(*arguments: str, cache: str | None = None) -> tuple[float, float]:
    """Return the seconds until the process prints its first line, and until it has ended."""
    env = dict(os.environ)
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # or every process would compile the sources anew
    if cache is not None:
        env["NUMBA_CACHE_DIR"] = cache
    begun = time.perf_counter()
    with subprocess.Popen([sys.executable, *arguments], env=env, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        said = child.stdout.read(1)
        answered = time.perf_counter() - begun
        child.stdout.read()
    if child.returncode or not said:
        raise RuntimeError(f"python {' '.join(arguments)}: exit code {child.returncode}")
    return answered, time.perf_counter() - begun


def processes(quick: bool) -> list[Row]:
    """Time new processes, in turn; all have compiled code on disk."""
    draw = "first draw, {}, warm cache"
    commands = {
        "python alone": ("-c", SAY),
        "import numpy": ("-c", "import numpy; " + SAY),
        "import zonodpp": ("-c", "import zonodpp; " + SAY),
        "zonodpp --help": ("-m", "zonodpp", "--help"),
    }
    for method in ("exact", "zonotope"):
        commands[draw.format(method)] = ("-c", FIRST_DRAW.format(method=method) + SAY)
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "add_up.py"  # numba caches functions of files alone
        script.write_text(SUM + SAY, encoding="utf-8")
        commands["first call, a sum by numba, warm cache"] = (str(script),)
        for repeat in range(2 if quick else 5):
            for name, arguments in commands.items():
                answered, ended = new_process(*arguments)
                if repeat:  # the first fills caches
                    seconds.setdefault(name, []).append(answered)
                    seconds.setdefault(f"{name}, to its end", []).append(ended)
    promises = {"import zonodpp": 1.0, draw.format("zonotope"): 1.0}
    rows = []
    for name in (*commands, f"{draw.format('zonotope')}, to its end"):
        row = {"what": f"new process: {name}", **measured(seconds[name], "s")}
        rows.append({**row, "at_most": promises[name]} if name in promises else row)
    return rows


def cold(quick: bool) -> list[Row]:
    """Time a first draw that has to compile everything."""
    what = "new process: first draw, zonotope, cold cache"
    if quick:
        return [left_out(what, "a quick run does not compile anew")]
    with tempfile.TemporaryDirectory() as folder:
        script = FIRST_DRAW.format(method="zonotope") + SAY
        seconds = [new_process("-c", script, cache=folder)[0]]
    return [{"what": what, **measured(seconds, "s"), "at_most": 20.0}]


def compilation(quick: bool) -> list[Row]:
    """Count what first uses from an empty cache take, in units of compiling a sum."""
    rows = []
    for name, call in FIRST_USES.items():
        what = f"first use from an empty cache, {name}"
        if quick:
            rows.append(left_out(what, "a quick run does not compile anew"))
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = subprocess.run(
                [sys.executable, "-c", UNITS.format(call=call)],
                env=os.environ | {"NUMBA_CACHE_DIR": folder},
                stdout=subprocess.PIPE,
                check=True,
                text=True,
            )
        row: Row = {"what": what, "ratio": float(found.stdout), "unit": "compilations of a sum"}
        rows.append({**row, "at_most": MOST_UNITS[name]} if name in MOST_UNITS else row)
    return rows


if __name__ == "__main__":
    for found in compilation(quick=False):
        print(f"{found['ratio']:6.1f}  {found['what']}", flush=True)
