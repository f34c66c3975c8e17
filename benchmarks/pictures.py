"""Pictures of the results, read from the rows of a run; grey print tells all lines apart."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from itertools import cycle
from typing import Any

from matplotlib.figure import Figure

from benchmarks import Row
from zonodpp.plotting._style import INK, colours

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))
STEPS = {
    "dppy": "DPPy (GLPK)",
    "linprog": "Algorithm 5, HiGHS by scipy",
    "highspy": "Algorithm 5, HiGHS, kept model",
    "paper": "zonodpp, Algorithm 5",
    "default": "zonodpp, default",
}


def draw_all(results: Mapping[str, dict[str, Any]], out: pathlib.Path) -> tuple[str, ...]:
    """Draw what the results allow, and return the stems of the files written."""
    drawn = []
    for stem, draw in DRAWERS.items():
        if stem in results:
            rows = [row for row in results[stem]["rows"] if "missing" not in row]
            draw(rows).savefig(out / f"{stem}.png", dpi=150)
            drawn.append(stem)
    return tuple(drawn)


def steps(rows: list[Row]) -> Figure:
    """Time of a step, a line for each workload."""
    found: dict[str, dict[str, tuple[float, list[float]]]] = {}
    for row in rows:
        for name, value in row["microseconds"].items():
            found.setdefault(row["workload"], {})[STEPS[name]] = (value, [value, value])
    return dots(found, list(STEPS.values()), "time of a step, in microseconds (left is better)")


def effective(rows: list[Row]) -> Figure:
    """Effective samples per second, a line for each workload."""
    found: dict[str, dict[str, tuple[float, list[float]]]] = {}
    for row in rows:
        if "method" in row:
            entry = (row["ratio"], row["ratio_range"])
            found.setdefault(row["workload"], {})[row["method"]] = entry
    methods = list(dict.fromkeys(row["method"] for row in rows if "method" in row))
    return dots(
        found, methods, "effective samples of a triplet's inclusion per second (right is better)"
    )


def kernels(rows: list[Row]) -> Figure:
    """Factor of each kernel to its limit, a line for each kernel."""
    found: dict[str, dict[str, tuple[float, list[float]]]] = {}
    for row in rows:
        if "kernel" in row:
            entry = (row["ratio"], row["ratio_range"])
            found.setdefault(row["kernel"], {})[row["size"]] = entry
    sizes = list(dict.fromkeys(row["size"] for row in rows if "kernel" in row))
    figure = dots(found, sizes, "time over the machine's limit (1 is the limit)")
    figure.axes[0].axvline(1.0, color=INK, linewidth=1)
    return figure


def dots(
    found: dict[str, dict[str, tuple[float, list[float]]]], kinds: list[str], label: str
) -> Figure:
    """Draw one line for each case, with a mark and its spread for each kind."""
    figure = Figure(figsize=(9.0, 1.6 + 0.62 * len(found)), layout="constrained")
    ax = figure.add_subplot()
    looks = zip(kinds, colours(len(kinds)), cycle(MARKERS), strict=False)
    for k, (kind, colour, marker) in enumerate(looks):
        # Marks of one line are set a little below each other, so that none hides another.
        shift = 0.5 * (k / max(1, len(kinds) - 1) - 0.5)
        at = [(y, case[kind]) for y, case in enumerate(found.values()) if kind in case]
        values = [value for _, (value, _) in at]
        low = [max(value - spread[0], 0.0) for _, (value, spread) in at]
        high = [max(spread[1] - value, 0.0) for _, (value, spread) in at]
        low = [min(a, 0.98 * v) for a, v in zip(low, values, strict=True)]
        ax.errorbar(
            values,
            [y + shift for y, _ in at],
            xerr=[low, high],
            linestyle="none",
            marker=marker,
            markersize=7,
            markeredgecolor=INK,
            markeredgewidth=0.6,
            color=colour,
            elinewidth=1.2,
            label=kind,
        )
    ax.set_yticks(range(len(found)), list(found))
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlabel(label)
    ax.grid(axis="x", color="0.85", linewidth=0.8)
    ax.set_axisbelow(True)
    for y in range(len(found) - 1):
        ax.axhline(y + 0.5, color="0.9", linewidth=0.8)
    figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize="small")
    return figure


def draws(rows: list[Row]) -> Figure:
    """Time of an exact draw over n and over r."""
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {"n": {}, "r": {}}
    fixed = {}
    for row in rows:
        axis, other = row["axis"], "r" if row["axis"] == "n" else "n"
        fixed[axis] = f"{other} = {row[other]:,}"
        ours = row["method"] == "zonodpp"
        value = row["ratio"] if ours else row["microseconds"][row["method"]]
        name = "zonodpp" if ours else f"DPPy, {row['method']}"
        curves[axis].setdefault(name, []).append((row[axis], value))
    labels = {"n": "items n", "r": "size of the draw r"}
    return panels(curves, fixed, labels, "time of an exact draw, microseconds")


def growth(rows: list[Row]) -> Figure:
    """Time of a step over n and over r, with exponents."""
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {"n": {}, "r": {}}
    fixed = {}
    for row in rows:
        points = zip(row["sizes"], row["step_microseconds"], strict=True)
        name = f"{row['method']}: {row['ratio']:.2f} ± {row['stderr']:.2f}"
        curves[row["axis"]][name] = list(points)
        fixed[row["axis"]] = row["fixed"]
    labels = {"n": "items n", "r": "rows r"}
    return panels(curves, fixed, labels, "time of a step, microseconds")


def panels(
    curves: dict[str, dict[str, list[tuple[float, float]]]],
    fixed: dict[str, str],
    labels: dict[str, str],
    label: str,
) -> Figure:
    """Draw curves over n and over r side by side, both axes logarithmic."""
    figure = Figure(figsize=(10.0, 5.0), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (axis, found) in zip(axes, curves.items(), strict=True):
        looks = zip(found.items(), colours(len(found)), cycle(MARKERS), cycle(LINES), strict=False)
        for (name, points), colour, marker, style in looks:
            ax.plot(
                *zip(*points, strict=True),
                color=colour,
                marker=marker,
                linestyle=style,
                markeredgecolor=INK,
                markeredgewidth=0.6,
                label=name,
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel(labels[axis])
        if axis == "r":  # few sizes, not powers of ten: name them
            sizes = sorted({size for points in found.values() for size, _ in points})
            ax.set_xticks(sizes, [f"{size:g}" for size in sizes])
            ax.set_xticks([], minor=True)
        ax.set_title(fixed.get(axis, ""), fontsize="medium")
        ax.grid(color="0.88", linewidth=0.8)
        ax.set_axisbelow(True)
        ax.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.06), ncols=2, frameon=False, fontsize="small"
        )
    axes[0].set_ylabel(label)
    return figure


DRAWERS = {
    "steps": steps,
    "effective": effective,
    "draws": draws,
    "growth": growth,
    "kernels": kernels,
}
