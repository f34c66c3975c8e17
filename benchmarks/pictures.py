"""Pictures of the results, read from the rows of a run; grey print tells all lines apart.

``python -m benchmarks.pictures benchmarks/results/gpu/h200.json docs/images`` draws those of the
GPU page, from the results of ``gpu.py``.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks import Row
from zonodpp.plotting.style import INK, colours

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))
STEPS = {
    "dppy": "DPPy (GLPK)",
    "highspy": "Algorithm 5, HiGHS, kept model",
    "paper": "zonodpp, Algorithm 5",
    "default": "zonodpp, default",
}
GPU_NAMES = {
    "heat-bath": "exchange, heat-bath",
    "barker": "exchange, barker",
    "gibbs": "zonotope, exact line",
    "paper": "zonotope, paper's rule",
}
GPU_PANELS = {  # the title of a panel and its axis, and the curves that it holds
    ("exact draws, n = 100,000", "items of a draw r"): {"exact over r": "exact"},
    ("exact draws, r = 20", "items n"): {"exact over n": "exact"},
    ("steps, r = 11, n = 64", "number of chains"): {
        "heat-bath over chains": GPU_NAMES["heat-bath"],
        "gibbs over chains": GPU_NAMES["gibbs"],
    },
    ("steps of 10,000 chains, r = 10", "items n"): {
        "heat-bath over n": GPU_NAMES["heat-bath"],
        "gibbs over n": GPU_NAMES["gibbs"],
    },
}
GPU_PLACES = {"device": ("-", "o", "GPU"), "host": ("--", "s", "16 cores")}


def draw_all(results: Mapping[str, dict[str, Any]], out: pathlib.Path) -> dict[str, str]:
    """Draw what the results allow, and return the title of each file written.

    A row names its picture.
    """
    drawn = {}
    for stem, (title, draw) in PICTURES.items():
        rows = [row for result in results.values() for row in result["rows"]]
        rows = [row for row in rows if row.get("picture") == stem and "missing" not in row]
        if rows:
            draw(rows).savefig(out / f"{stem}.png", dpi=150)
            drawn[stem] = title
    return drawn


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
        entry = (row["ratio"], row["ratio_range"])
        found.setdefault(row["workload"], {})[row["method"]] = entry
    methods = list(dict.fromkeys(row["method"] for row in rows))
    return dots(
        found, methods, "effective samples of a triplet's inclusion per second (right is better)"
    )


def kernels(rows: list[Row]) -> Figure:
    """Factor of each kernel to its limit, a line for each kernel."""
    found: dict[str, dict[str, tuple[float, list[float]]]] = {}
    for row in rows:
        entry = (row["ratio"], row["ratio_range"])
        found.setdefault(row["kernel"], {})[row["size"]] = entry
    sizes = list(dict.fromkeys(row["size"] for row in rows))
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


PICTURES: dict[str, tuple[str, Callable[[list[Row]], Figure]]] = {
    "steps": ("Time of a step of the zonotope chain", steps),
    "effective": ("Effective samples per second", effective),
    "draws": ("Time of an exact draw", draws),
    "growth": ("Growth of the cost of a step", growth),
    "kernels": ("Kernels beside the machine's limits", kernels),
}


def gpu_curves(rows: list[Row]) -> Figure:
    """Draw rates over r, n and chains, and the seconds of one call over its draws."""
    figure = Figure(figsize=(11.0, 6.6), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    for ax, ((title, label), held) in zip(axes, GPU_PANELS.items(), strict=False):
        for (curve, name), colour in zip(held.items(), colours(2), strict=False):
            points = [row for row in rows if row["curve"] == curve and "error" not in row]
            for place in GPU_PLACES:
                _curve(ax, points, place, place, colour, name)
        ax.set(
            title=title,
            xlabel=label,
            ylabel="draws per second" if "draws" in title else "steps per second",
        )
    points = [row for row in rows if row["curve"] == "draws of one call"]
    for place, colour in zip(GPU_PLACES, colours(2), strict=True):
        _curve(axes[4], points, f"{place}, s", place, colour, "sample()")
    axes[4].set(title="exact draws, r = 20, n = 100,000", xlabel="draws of one call")
    axes[4].set_ylabel("seconds of the call")
    _ratios(axes[5], rows)
    for ax in axes:
        ax.set(xscale="log", yscale="log")
        many = len(ax.lines) > 3
        ax.set_ylim(top=ax.get_ylim()[1] * (1000 if many else 1))  # room for the legend
        ax.grid(color="0.88", linewidth=0.8)
        ax.set_axisbelow(True)
        ax.legend(loc="upper left" if many else "best", frameon=False, fontsize="small")
    return figure


def _curve(ax: Axes, points: list[Row], key: str, place: str, colour: Any, name: str) -> None:
    """Draw one curve of one place."""
    style, marker, where = GPU_PLACES[place]
    found = [(row["x"], row[key]) for row in points if key in row]
    if found:
        x, y = zip(*found, strict=True)
        ax.plot(
            x,
            y,
            linestyle=style,
            marker=marker,
            markersize=4,
            color=colour,
            label=f"{name}, {where}",
        )


def _ratios(ax: Axes, rows: list[Row]) -> None:
    """Draw how many times as much the GPU does, over the number of chains."""
    for (curve, name), colour in zip(list(GPU_PANELS.values())[2].items(), colours(2), strict=True):
        found = [row for row in rows if row["curve"] == curve and "ratio" in row]
        ax.plot(
            [row["x"] for row in found],
            [row["ratio"] for row in found],
            marker="o",
            markersize=4,
            color=colour,
            label=name,
        )
    ax.axhline(1.0, color="0.4", linewidth=1)
    ax.set(
        title="GPU over 16 cores, r = 11, n = 64",
        xlabel="number of chains",
        ylabel="ratio of rates",
    )


def gpu_k10(rows: list[Row]) -> Figure:
    """Draw the largest error of the edge probabilities of K10 after each step."""
    figure = Figure(figsize=(7.1, 4.2), layout="constrained")
    ax = figure.add_subplot()
    for row, style in zip(rows, ("-", "--", "-.", ":"), strict=True):
        found = row["largest error after each step"]
        ax.loglog(
            range(1, len(found) + 1), found, style, label=GPU_NAMES[row["what"].split(",")[0]]
        )
    ax.axhline(rows[0]["noise"], color="0.6", label="standard error of one edge")
    ax.set(xlabel="steps of each chain", ylabel="largest error of an edge of K10")
    ax.legend(frameon=False, fontsize=9)
    return figure


def main() -> None:
    """Draw both pictures of the GPU page."""
    results = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    out = pathlib.Path(sys.argv[2])
    gpu_curves(results["curves"]).savefig(out / "gpu_curves.png", dpi=110)
    gpu_k10(results["k10"]).savefig(out / "gpu_k10.png", dpi=100)


if __name__ == "__main__":
    main()
