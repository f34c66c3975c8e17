"""Before the first draw: import, command line, compilation; and what a chain needs in memory."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import tracemalloc
from functools import partial
from typing import Any

from benchmarks import SEED, Row, left_out, measured
from benchmarks.workloads import NAMES, targets
from zonodpp import sample

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
METHODS: dict[str, dict[str, Any]] = {
    "exact": {"method": "exact"},
    "heat-bath": {"method": "exchange"},
    "barker": {"method": "exchange", "rule": "barker"},
    "zonotope": {"method": "zonotope"},
}


def run(quick: bool) -> list[Row]:
    return [*processes(quick), *cold(quick), *compilation(quick), *memory(quick)]


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


def memory(quick: bool) -> list[Row]:
    """Measure what each further chain adds to the peak of memory, without its draws."""
    rows = []
    few, many = (5, 25) if quick else (10, 110)
    for name in NAMES[:1] if quick else (NAMES[0], NAMES[2], NAMES[4]):
        for kind, options in METHODS.items():
            peaks = [peak(targets()[name], chains, options) for chains in (few, many)]
            rows.append(
                {
                    "what": f"{name}: memory of a chain, {kind}",
                    "ratio": (peaks[1] - peaks[0]) / (many - few) / 1024,
                    "unit": "KiB",
                    "workload": name,
                    "method": kind,
                }
            )
    return rows


def peak(target: Any, chains: int, options: dict[str, Any]) -> float:
    """Return the peak of traced memory for some chains of one draw, less the draws."""
    call = partial(sample, target, 1, chains=chains, rng=SEED, workers=1, **options)
    call()
    tracemalloc.start()
    try:
        samples = call()
        return tracemalloc.get_traced_memory()[1] - samples.subsets.nbytes
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    for found in compilation(quick=False):
        print(f"{found['ratio']:6.1f}  {found['what']}", flush=True)
