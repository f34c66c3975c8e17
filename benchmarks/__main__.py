"""Run benchmarks, print what they found against what was promised, and write it as JSON.

``python -m benchmarks [--quick] [NAME ...]``
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import pathlib
import pkgutil
import sys
import time

import benchmarks
from benchmarks import Row, environment, met

RESULTS = pathlib.Path(__file__).parent / "results"
PREFIX = "bench_"


def names() -> list[str]:
    found = pkgutil.iter_modules(benchmarks.__path__)
    return sorted(m.name.removeprefix(PREFIX) for m in found if m.name.startswith(PREFIX))


def line(row: Row) -> str:
    if "missing" in row:
        return f"{row['what']:<66}  not measured: {row['missing']} is missing"
    if "floor" in row:
        promise = f">= {row['floor']:g}"
    else:
        promise = f"<= {row['at_most']:g}" if "at_most" in row else ""
    verdict = {True: "met", False: "NOT MET", None: ""}[met(row)]
    ratio = f"{row['ratio']:,.0f}" if row["ratio"] >= 100 else f"{row['ratio']:.2f}"
    return f"{row['what']:<66} {ratio:>9} {promise:>9}  {verdict}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, smaller cases")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names())}")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(names()))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(names())}")

    failed = 0
    for name in options.names or names():
        module = importlib.import_module(f"benchmarks.{PREFIX}{name}")
        begun = time.perf_counter()
        print(f"\n{name:<66} {'ratio':>9} {'promise':>9}", flush=True)
        rows = module.run(options.quick)
        for row in rows:
            print(line(row), flush=True)
        failed += sum(met(row) is False for row in rows)
        result = {
            "benchmark": name,
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "quick": options.quick,
            "seed": getattr(module, "SEED", None),
            "seconds": round(time.perf_counter() - begun, 1),
            "environment": environment(),
            "rows": [{**row, "met": met(row)} for row in rows],
        }
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{name}.json"
        path.write_text(json.dumps(_rounded(result), indent=1) + "\n", encoding="utf-8")
    print(f"\n{failed} promise(s) not met" if failed else "\nall promises met")
    return 1 if failed else 0


def _rounded(value: object) -> object:
    """Four digits are all that timings have."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return value


if __name__ == "__main__":
    sys.exit(main())
