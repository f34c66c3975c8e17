"""Two runs side by side: which numbers agree within the spreads that both state.

A full run states spreads that include its drift (``visits.py``). A quick run visits each section
once and measures no drift, so more of its numbers may differ from those of the next run.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import Any

from benchmarks import Row
from benchmarks.tables import number


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


def report(
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
