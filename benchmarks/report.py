"""Rows as lines for a terminal, all sections as one page (summary.md), and two runs side by side.

A full run states spreads that include its drift (``run.py``). A quick run visits each section once
and measures no drift, so more of its numbers may differ from those of the next run.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import Any

from benchmarks import Row, met

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


def summary(
    results: Mapping[str, dict[str, Any]], pictures: Mapping[str, str] | None = None
) -> str:
    """Write all sections as Markdown; ``pictures`` has the title of each file drawn."""
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
    for stem, title in (pictures or {}).items():
        lines += ["", f"## {title}", "", f"![{title}]({stem}.png)"]
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
        spread, absent = row.get("ratio_range"), "missing" in row
        cells = {
            "ratio": "" if absent else f"{number(row['ratio'])} {unit_of(row)}".strip(),
            "spread": f"{number(spread[0])} to {number(spread[1])}" if spread else "",
            "promise": promise(row),
            "verdict": "not measured" if absent else verdict(row),
            "times": absolute(row),
        }
        chosen = " | ".join(cells[column] for column in columns)
        lines.append(f"| {name} | {row['what']} | {chosen} |")
    return lines


def agree(old: Row, new: Row) -> bool | None:
    """Tell whether two measurements of one thing agree: the ranges that they state meet.

    None if that is not known, because one of them states no spread or was not measured.
    """
    before, after = old.get("ratio_range"), new.get("ratio_range")
    if before is None or after is None or "missing" in old or "missing" in new:
        return None
    return bool(max(before[0], after[0]) <= min(before[1], after[1]))


def load(folder: pathlib.Path) -> dict[str, dict[str, Any]]:
    """Read the results of all sections in a folder."""
    found = {path.stem: json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")}
    return {name: result for name, result in sorted(found.items()) if "rows" in result}


def agreement(
    old: Mapping[str, dict[str, Any]], new: Mapping[str, dict[str, Any]]
) -> tuple[list[str], int]:
    """Write one line for each number that both runs have; return them and how many disagree."""
    lines, disagreeing, agreeing, untold = [], 0, 0, 0
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            lines.append(f"{name}: only in the {'new' if name in new else 'old'} run")
            continue
        if old[name]["quick"] != new[name]["quick"]:
            lines.append(f"{name}: one run was quick and the other was not; sizes may differ")
        before = {row["what"]: row for row in old[name]["rows"]}
        for row in new[name]["rows"]:
            other = before.get(row["what"])
            if other is None or "missing" in row or "missing" in other:
                continue
            verdict = agree(other, row)
            disagreeing += verdict is False
            agreeing += verdict is True
            untold += verdict is None
            word = {True: "agree", False: "DIFFER", None: "no spread stated"}[verdict]
            shown = f"{_with_range(other)} -> {_with_range(row)}"
            lines.append(f"{name + ': ' + row['what']:<84} {shown:<52} {word}")
    lines.append(f"{agreeing} agree, {disagreeing} differ, {untold} state no spread")
    return lines, disagreeing


def _with_range(row: Row) -> str:
    spread = row.get("ratio_range")
    between = f" ({number(spread[0])} .. {number(spread[1])})" if spread else ""
    return number(row["ratio"]) + between
