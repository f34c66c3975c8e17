"""Visit the sections, print what they found against what was promised, and write it down.

``python -m benchmarks [--quick] [--out DIR] [--compare OLD_DIR] [NAME ...]``

JSON for each section, summary.md and pictures go to ``benchmarks/results``, of quick runs to
``benchmarks/results/quick``. With ``--compare`` and no names nothing is measured: the results that
are there are compared with those in OLD_DIR.

A full run visits every section twice, each time in a new process, minutes apart, and merges the
visits; a quick run visits each once. Some causes of differences, such as the layout of memory, the
clock of the processor and the load by other users, vary between visits and not within one. So a
spread covers all visits, and is then widened by the drift: the gap between the spreads of two
visits, in nearly all rows.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import math
import multiprocessing
import os
import pathlib
import pkgutil
import platform
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from importlib import metadata
from typing import Any

import numpy as np

import benchmarks
from benchmarks import Row, met, missing, peer, report

RESULTS = pathlib.Path(__file__).parent / "results"
PREFIX = "bench_"
VISITS, QUICK_VISITS = 2, 1
NEARLY_ALL = 0.99  # of the rows, for the drift
PACKAGES = (
    *("zonodpp", "numpy", "scipy", "numba", "llvmlite"),
    *("dppy", "cvxopt", "highspy", "networkx", "scikit-learn", "pyversity", "pyDOE3", "sumy"),
    *("skmatter", "pypolycontain", "apricot-select"),
)


def names() -> list[str]:
    found = pkgutil.iter_modules(benchmarks.__path__)
    return sorted(m.name.removeprefix(PREFIX) for m in found if m.name.startswith(PREFIX))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="fewer repeats, smaller cases")
    parser.add_argument("--out", type=pathlib.Path, help="folder for the results")
    parser.add_argument("--compare", type=pathlib.Path, metavar="OLD_DIR", help="an older run")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names())}")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(names()))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(names())}")
    if options.compare is not None and not options.compare.is_dir():
        parser.error(
            f"--compare takes a folder with results of an older run, not {options.compare}"
        )
    out = options.out or (RESULTS / "quick" if options.quick else RESULTS)

    chosen = options.names or ([] if options.compare else names())
    # Read before anything is measured: the older run may lie in the folder that is written to.
    older = report.load(options.compare) if options.compare else {}
    failed = measure(chosen, options.quick, out) if chosen else 0
    if options.compare is not None:
        lines, differing = report.agreement(older, report.load(out))
        print("", *lines, sep="\n")
        return 1 if failed or differing else 0
    return 1 if failed else 0


def measure(chosen: list[str], quick: bool, out: pathlib.Path) -> int:
    """Visit all sections, as often as the run asks; return how many promises are not met."""
    sections = {name: Section(name, quick) for name in chosen}
    out.mkdir(parents=True, exist_ok=True)
    for number in range(QUICK_VISITS if quick else VISITS):
        # A new process for each visit; a quick run spares itself the loading.
        tasks = None if quick else 1
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=tasks) as processes:
            for section in sections.values():
                section.go(processes)
                print(f"visit {number + 1}: {section.name}, {section.seconds:.1f} s", flush=True)
                section.write(out)
    drift = drift_of(row for section in sections.values() for row in section.rows())
    for section in sections.values():
        section.write(out, drift)
        print(f"\n{section.name:<72} {'measured':>13} {'spread':>20} {'promise':>9}")
        print(*map(report.line, section.rows(drift)), sep="\n")
    write_summary(out)
    failed = sum(met(row) is False for s in sections.values() for row in s.rows(drift))
    print(f"\n{failed} promise(s) not met" if failed else "\nall promises met")
    return failed


class Section:
    """A section and what its visits found so far."""

    def __init__(self, name: str, quick: bool) -> None:
        self.name, self.quick = name, quick
        self.visits: list[list[Row]] = []
        self.seconds = 0.0
        self.place: Row = {}

    def go(self, processes: Executor) -> None:
        """Visit the section once more."""
        begun = time.perf_counter()
        self.place = environment()  # before the section loads the machine itself
        found = processes.submit(visit, self.name, self.quick, not self.visits)
        rows, self.seed = found.result()
        self.visits.append(rows)
        self.seconds += time.perf_counter() - begun

    def rows(self, drift: float = 0.0) -> list[Row]:
        """Return what all visits have found."""
        return [widened(row, drift) for row in merge(self.visits)]

    def write(self, out: pathlib.Path, drift: float = 0.0) -> None:
        """Write the rows found so far, so that a run that is interrupted loses nothing."""
        result = {
            "benchmark": self.name,
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "quick": self.quick,
            "visits": len(self.visits),
            "drift": drift,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "environment": {**self.place, "load_after": environment()["load"]},
            "rows": [{**row, "met": met(row)} for row in self.rows(drift)],
        }
        text = json.dumps(_rounded(result), indent=1) + "\n"
        (out / f"{self.name}.json").write_text(text, encoding="utf-8")


def write_summary(out: pathlib.Path) -> None:
    """Make one page and the pictures of all results in the folder."""
    results = report.load(out)
    drawn: dict[str, str] = {}
    if peer("matplotlib") is None:
        print("\nno pictures: matplotlib is missing")
    else:
        from benchmarks import pictures

        drawn = pictures.draw_all(results, out)
    (out / "summary.md").write_text(report.summary(results, drawn), encoding="utf-8")
    total = sum(result["seconds"] for result in results.values())
    print(f"\n{out / 'summary.md'}: {len(results)} sections, {total:.0f} s together")


def _rounded(value: object) -> object:
    """Round numbers to four digits, since timings are no more precise."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return value


def visit(name: str, quick: bool, first: bool) -> tuple[list[Row], int | None]:
    """Measure a section, on the first visit with `once` if it has that; return rows and seed."""
    try:
        module = importlib.import_module(f"benchmarks.bench_{name}")
        rows = module.run(quick)
        if first and hasattr(module, "once"):
            rows = [*module.once(quick), *rows]
        return rows, getattr(module, "SEED", None)
    except ModuleNotFoundError as error:  # what the section cannot do without
        if str(error.name).partition(".")[0] in ("zonodpp", "benchmarks"):
            raise
        return [missing(f"all of section {name}", str(error.name))], None


def merge(visits: Sequence[Sequence[Row]]) -> list[Row]:
    """Make one row of all visits to it: numbers are means, the spread covers all visits.

    The middles of the visits stay in the row. A row that was visited once stays as it is, and so
    does one whose words differ from visit to visit.
    """
    return [_merged([_find(rows, row) for rows in visits]) for row in visits[0]]


def drift_of(rows: Iterable[Row]) -> float:
    """Return the share by which the spreads of single visits are to be widened to meet.

    Widened so much on both sides, the spreads of any two visits to a row meet in nearly all rows.
    """
    apart = [
        max(0.0, math.log(max(low for low, _, _ in found) / min(high for _, _, high in found)))
        for found in (row.get("visits", ()) for row in rows if "repeats" in row)
        if len(found) > 1 and min(low for low, _, _ in found) > 0
    ]
    return math.expm1(float(np.quantile(apart, NEARLY_ALL)) / 2) if apart else 0.0


def widened(row: Row, by: float) -> Row:
    """Return the row with its spread widened by the drift.

    Rows that follow from seeds alone stay as they are, and so do exponents: a factor on all times
    does not change the regression that gives their spreads.
    """
    if "stderr" in row or not ("repeats" in row or "visits" in row):
        return row
    low, high = row["ratio_range"]
    return {**row, "ratio_range": [low / (1 + by), high * (1 + by)]}


def _find(rows: Sequence[Row], like: Row) -> Row | None:
    return next((row for row in rows if row["what"] == like["what"]), None)


def _merged(visits: Sequence[Row | None]) -> Row:
    rows = [row for row in visits if row is not None]
    first = rows[0]
    if any(row.get("missing") != first.get("missing") for row in rows) or any(
        row.get("unit") != first.get("unit") for row in rows
    ):
        return first
    if len(rows) < 2 or "missing" in first:
        return first
    found = {key: _mean([row[key] for row in rows]) for key in first}
    found["visits"] = [_ends(row) for row in rows]
    found["ratio_range"] = [
        min(low for low, _, _ in found["visits"]),
        max(high for _, _, high in found["visits"]),
    ]
    if "repeats" in first:
        found["repeats"] = sum(row["repeats"] for row in rows)
    return found


def _ends(row: Row) -> list[float]:
    """Return low end, middle and high end of what one visit states."""
    low, high = row.get("ratio_range", [row["ratio"], row["ratio"]])
    return [low, row["ratio"], high]


def _mean(values: Sequence[Any]) -> Any:
    """Return the mean, entry by entry; of what is no number, or does not differ, the first."""
    first = values[0]
    if all(value == first for value in values):
        return first
    if isinstance(first, Mapping):
        shared = [key for key in first if all(key in value for value in values)]
        return {key: _mean([value[key] for value in values]) for key in shared}
    if isinstance(first, list | tuple):
        return [_mean(parts) for parts in zip(*values, strict=True)]
    return statistics.fmean(values) if isinstance(first, int | float) else first


def environment(*more: str) -> Row:
    """Return what the numbers depend on: versions, processor, threads, load."""
    versions = {}
    for package in (*PACKAGES, *more):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {
        "python": platform.python_version(),
        "versions": versions,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "processors": os.cpu_count(),
        "blas_threads": _blas_threads(),
        "thread_settings": {name: os.environ[name] for name in threads if name in os.environ},
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _processor() -> str:
    """Return the processor's name; virtual machines may hide it, so its model number as well."""
    found = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                found.setdefault(name.strip(), value.strip())
    except OSError:
        pass
    if "model name" not in found:
        return platform.processor() or "unknown"
    numbers = [f"{k} {found[k]}" for k in ("cpu family", "model") if k in found]
    return f"{found['model name']} ({', '.join(numbers)})" if numbers else found["model name"]


def _blas_threads() -> int | None:
    control = peer("threadpoolctl")
    if control is None:
        return None
    counts = [
        pool["num_threads"] for pool in control.threadpool_info() if pool["user_api"] == "blas"
    ]
    return max(counts, default=None)
