"""Run benchmarks, print what they found against what was promised, and write it down.

``python -m benchmarks [--quick] [--out DIR] [--compare OLD_DIR] [NAME ...]``

JSON for each section, summary.md and pictures go to ``benchmarks/results``, of quick runs to
``benchmarks/results/quick``. With ``--compare`` and no names nothing is measured: the results that
are there are compared with those in OLD_DIR.

A full run visits every section twice, each time in a new process, so that its spreads show what
differs from visit to visit as well; a quick run visits each once.
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import pathlib
import pkgutil
import sys
import time
from concurrent.futures import Executor, ProcessPoolExecutor

import benchmarks
from benchmarks import Row, agreement, environment, met, peer, tables, visits

RESULTS = pathlib.Path(__file__).parent / "results"
PREFIX = "bench_"
VISITS, QUICK_VISITS = 2, 1


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
    failed = measure(chosen, options.quick, out) if chosen else 0
    if options.compare is not None:
        lines, differing = agreement.report(older, agreement.load(out))
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
    drift = visits.drift(row for section in sections.values() for row in section.rows())
    for section in sections.values():
        section.write(out, drift)
        print(f"\n{section.name:<72} {'measured':>13} {'spread':>20} {'promise':>9}")
        print(*map(tables.line, section.rows(drift)), sep="\n")
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
        found = processes.submit(visits.visit, self.name, self.quick, not self.visits)
        rows, self.seed = found.result()
        self.visits.append(rows)
        self.seconds += time.perf_counter() - begun

    def rows(self, drift: float = 0.0) -> list[Row]:
        """Return what all visits have found."""
        return [visits.widened(row, drift) for row in visits.merge(self.visits)]

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
    """Round numbers to four digits, since timings are no more precise."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return value


if __name__ == "__main__":
    sys.exit(main())
