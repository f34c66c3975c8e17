"""Run benchmarks, print what they found against what was promised, and write it down.

``python -m benchmarks [--quick] [--out DIR] [--compare OLD_DIR] [NAME ...]``

JSON for each section, summary.md and pictures go to ``benchmarks/results``, of quick runs to
``benchmarks/results/quick``. With ``--compare`` and no names nothing is measured: the results that
are there are compared with those in OLD_DIR.
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
from benchmarks import agreement, environment, met, missing, peer, tables

RESULTS = pathlib.Path(__file__).parent / "results"
PREFIX = "bench_"


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
    older = agreement.load(options.compare) if options.compare else {}
    failed = sum(run_section(name, options.quick, out) for name in chosen)
    if chosen:
        write_summary(out)
        print(f"\n{failed} promise(s) not met" if failed else "\nall promises met")
    if options.compare is not None:
        lines, differing = agreement.report(older, agreement.load(out))
        print("", *lines, sep="\n")
        return 1 if failed or differing else 0
    return 1 if failed else 0


def run_section(name: str, quick: bool, out: pathlib.Path) -> int:
    """Run one benchmark, print and write its rows; return how many promises it broke."""
    print(f"\n{name:<72} {'measured':>13} {'spread':>20} {'promise':>9}", flush=True)
    begun = time.perf_counter()
    place = environment()  # before the section loads the machine itself
    seed = None
    try:
        module = importlib.import_module(f"benchmarks.{PREFIX}{name}")
        seed = getattr(module, "SEED", None)
        rows = module.run(quick)
    except ModuleNotFoundError as error:  # what the section cannot do without
        rows = [missing(f"all of section {name}", str(error.name))]
    seconds = time.perf_counter() - begun
    for row in rows:
        print(tables.line(row))
    print(f"{name}: {seconds:.1f} s", flush=True)
    result = {
        "benchmark": name,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "seed": seed,
        "seconds": round(seconds, 1),
        "environment": {**place, "load_after": environment()["load"]},
        "rows": [{**row, "met": met(row)} for row in rows],
    }
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_rounded(result), indent=1) + "\n"
    (out / f"{name}.json").write_text(text, encoding="utf-8")
    return sum(met(row) is False for row in rows)


def write_summary(out: pathlib.Path) -> None:
    """Make one page and the pictures of all results in the folder."""
    results = agreement.load(out)
    drawn: tuple[str, ...] = ()
    if peer("matplotlib") is None:
        print("\nno pictures: matplotlib is missing")
    else:
        from benchmarks import pictures

        drawn = pictures.draw_all(results, out)
    (out / "summary.md").write_text(tables.summary(results, drawn), encoding="utf-8")
    total = sum(result["seconds"] for result in results.values())
    print(f"\n{out / 'summary.md'}: {len(results)} sections, {total:.0f} s together")


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
