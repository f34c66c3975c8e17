"""Rows as lines for a terminal, and all sections as one page: summary.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks import Row, met

PICTURES = {
    "steps": "Time of a step of the zonotope chain",
    "effective": "Effective samples per second",
    "draws": "Time of an exact draw",
    "growth": "Growth of the cost of a step",
    "kernels": "Kernels beside the machine's limits",
}

_DRIFT = (
    "Spreads are the smallest and the largest of all rounds of all visits, each visit in a process "
    "of its own and minutes apart, and {:.0%} on both sides for drift: by so much the spreads of "
    "single visits have to be widened to meet in 99% of the rows."
)


def unit_of(row: Row) -> str:
    """Return the unit of a row's number: nothing for a ratio."""
    return str(row.get("unit", ""))


def number(value: float) -> str:
    """Write about three digits, and no exponent for numbers of common size."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 0.1:
        return f"{value:.3g}" if abs(value) >= 10 else f"{value:.2f}"
    return f"{value:.2g}"


def promise(row: Row) -> str:
    """Write what a row promises."""
    if "floor" in row:
        return f">= {row['floor']:g}"
    return f"<= {row['at_most']:g}" if "at_most" in row else ""


def verdict(row: Row) -> str:
    """Write whether the promise is kept."""
    return {True: "met", False: "NOT MET", None: ""}[met(row)]


def line(row: Row) -> str:
    """Write a row for a terminal."""
    if "missing" in row:
        return f"{row['what']:<72}  not measured: {row['missing']}"
    spread = row.get("ratio_range")
    between = f"{number(spread[0])} .. {number(spread[1])}" if spread else ""
    value = f"{number(row['ratio'])} {unit_of(row)}".strip()
    return f"{row['what']:<72} {value:>13} {between:>20} {promise(row):>9}  {verdict(row)}".rstrip()


def absolute(row: Row) -> str:
    """Write the times behind a ratio."""
    times = row.get("microseconds") or {}
    return ", ".join(f"{name} {duration(1e-6 * value)}" for name, value in times.items())


def duration(seconds: float) -> str:
    """Write a time in the unit that fits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{number(seconds / size)} {unit}"
    return f"{number(seconds / 1e-9)} ns"


def summary(results: Mapping[str, dict[str, Any]], pictures: tuple[str, ...] = ()) -> str:
    """Write all sections as Markdown: promises, ratios, then absolute figures."""
    lines = ["# Benchmarks, all sections", ""]
    lines += _runs(results)
    rows = [(name, row) for name, result in results.items() for row in result["rows"]]
    promised = [(name, row) for name, row in rows if promise(row)]
    kept = sum(met(row) is True for _, row in promised)
    lines += ["", f"## Promises: {kept} of {len(promised)} met", ""]
    lines += _table(promised, ("ratio", "spread", "promise", "verdict", "times"))
    ratios = [(n, row) for n, row in rows if not promise(row) and not unit_of(row)]
    ratios = [(n, row) for n, row in ratios if "missing" not in row]
    lines += ["", "## Other ratios", "", *_table(ratios, ("ratio", "spread", "times"))]
    figures = [(n, row) for n, row in rows if not promise(row) and unit_of(row)]
    lines += ["", "## Absolute figures", "", *_table(figures, ("ratio", "spread"))]
    absent = [(n, row) for n, row in rows if "missing" in row]
    if absent:
        lines += ["", "## Not measured", ""]
        lines += [f"- {name}: {row['what']}: {row['missing']}" for name, row in absent]
    for stem in pictures:
        lines += ["", f"## {PICTURES[stem]}", "", f"![{PICTURES[stem]}]({stem}.png)"]
    return "\n".join(lines) + "\n"


def _runs(results: Mapping[str, dict[str, Any]]) -> list[str]:
    """Write when, where and for how long each section ran."""
    lines = []
    places = {}
    for result in results.values():
        place = result["environment"]
        key = f"{place['processor']}, {place['processors']} processors, Python {place['python']}"
        places[key] = place["versions"]
    for place, versions in places.items():
        named = ", ".join(f"{k} {v}" for k, v in versions.items() if v)
        lines += [f"{place}; {named}.", ""]
    drifts = {result["drift"] for result in results.values() if result.get("drift")}
    if drifts:
        lines += [f"{_DRIFT.format(max(drifts))}", ""]
    lines += ["| section | visits | seconds | load | BLAS threads | seed | date | sizes |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for name, result in results.items():
        place = result["environment"]
        cells = [
            *(name, result.get("visits", 1), number(result["seconds"])),
            *(place["load"], place["blas_threads"]),
            *(result["seed"], result["date"], "quick" if result["quick"] else "full"),
        ]
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    total = sum(result["seconds"] for result in results.values())
    return [*lines, f"| all | | {number(total)} | | | | | |"]


def _table(rows: list[tuple[str, Row]], columns: tuple[str, ...]) -> list[str]:
    heads = {"ratio": "measured"}
    lines = ["| section | what | " + " | ".join(heads.get(c, c) for c in columns) + " |"]
    lines.append("|---" * (len(columns) + 2) + "|")
    for name, row in rows:
        cells = []
        for column in columns:
            spread = row.get("ratio_range")
            cells.append(
                {
                    "ratio": lambda r=row: (
                        "" if "missing" in r else f"{number(r['ratio'])} {unit_of(r)}".strip()
                    ),
                    "spread": lambda s=spread: f"{number(s[0])} to {number(s[1])}" if s else "",
                    "promise": lambda r=row: promise(r),
                    "verdict": lambda r=row: "not measured" if "missing" in r else verdict(r),
                    "times": lambda r=row: absolute(r),
                }[column]()
            )
        lines.append(f"| {name} | {row['what']} | " + " | ".join(cells) + " |")
    return lines
