"""Pictures of the GPU page, from the results of `benchmarks/cuda_device.py`.

python -m benchmarks.cuda_pictures benchmarks/results/gpu/h200.json docs/images
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks import Row
from zonodpp.plotting._style import colours

NAMES = {
    "heat-bath": "exchange, heat-bath",
    "barker": "exchange, barker",
    "gibbs": "zonotope, exact line",
    "paper": "zonotope, paper's rule",
}
PANELS = {  # the title of a panel and its axis, and the curves that it holds
    ("exact draws, n = 100,000", "items of a draw r"): {"exact over r": "exact"},
    ("exact draws, r = 20", "items n"): {"exact over n": "exact"},
    ("steps, r = 11, n = 64", "number of chains"): {
        "heat-bath over chains": NAMES["heat-bath"],
        "gibbs over chains": NAMES["gibbs"],
    },
    ("steps of 10,000 chains, r = 10", "items n"): {
        "heat-bath over n": NAMES["heat-bath"],
        "gibbs over n": NAMES["gibbs"],
    },
}
PLACES = {"device": ("-", "o", "GPU"), "host": ("--", "s", "16 cores")}


def curves(rows: list[Row]) -> Figure:
    """Draw rates over r, n and chains, and the seconds of one call over its draws."""
    figure = Figure(figsize=(11.0, 6.6), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    for ax, ((title, label), held) in zip(axes, PANELS.items(), strict=False):
        for (curve, name), colour in zip(held.items(), colours(2), strict=False):
            points = [row for row in rows if row["curve"] == curve and "error" not in row]
            for place in PLACES:
                draw(ax, points, place, place, colour, name)
        ax.set(
            title=title,
            xlabel=label,
            ylabel="draws per second" if "draws" in title else "steps per second",
        )
    points = [row for row in rows if row["curve"] == "draws of one call"]
    for place, colour in zip(PLACES, colours(2), strict=True):
        draw(axes[4], points, f"{place}, s", place, colour, "sample()")
    axes[4].set(title="exact draws, r = 20, n = 100,000", xlabel="draws of one call")
    axes[4].set_ylabel("seconds of the call")
    ratios(axes[5], rows)
    for ax in axes:
        ax.set(xscale="log", yscale="log")
        many = len(ax.lines) > 3
        ax.set_ylim(top=ax.get_ylim()[1] * (1000 if many else 1))  # room for the legend
        ax.grid(color="0.88", linewidth=0.8)
        ax.set_axisbelow(True)
        ax.legend(loc="upper left" if many else "best", frameon=False, fontsize="small")
    return figure


def draw(ax: Axes, points: list[Row], key: str, place: str, colour: Any, name: str) -> None:
    """Draw one curve of one place."""
    style, marker, where = PLACES[place]
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


def ratios(ax: Axes, rows: list[Row]) -> None:
    """Draw how many times as much the GPU does, over the number of chains."""
    for (curve, name), colour in zip(list(PANELS.values())[2].items(), colours(2), strict=True):
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


def k10(rows: list[Row]) -> Figure:
    """Draw the largest error of the edge probabilities of K10 after each step."""
    figure = Figure(figsize=(7.1, 4.2), layout="constrained")
    ax = figure.add_subplot()
    for row, style in zip(rows, ("-", "--", "-.", ":"), strict=True):
        found = row["largest error after each step"]
        ax.loglog(range(1, len(found) + 1), found, style, label=NAMES[row["what"].split(",")[0]])
    ax.axhline(rows[0]["noise"], color="0.6", label="standard error of one edge")
    ax.set(xlabel="steps of each chain", ylabel="largest error of an edge of K10")
    ax.legend(frameon=False, fontsize=9)
    return figure


def main() -> None:
    """Draw both pictures."""
    results = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    out = pathlib.Path(sys.argv[2])
    curves(results["curves"]).savefig(out / "gpu_curves.png", dpi=110)
    k10(results["k10"]).savefig(out / "gpu_k10.png", dpi=100)


if __name__ == "__main__":
    main()
