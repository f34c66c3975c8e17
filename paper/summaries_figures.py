"""Figures of the experiment on summaries, drawn from the data of `summaries.run`."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.drawing import new_figure
from paper.summaries_verdicts import EXACT, SHARES
from zonodpp.plotting.style import INK, colours

HATCHES = ("", "///", "...")


def figures(data: dict[str, Any]) -> dict[str, Any]:
    """Draw figure 4 of the paper, shares of distinct summaries, and where sentences come from."""
    settings = data["settings"]
    return {
        "rouge": (
            _draw_boxes(data),
            f"Figure 4: mean ROUGE-1F of {settings['candidates']} summaries, picked uniformly "
            f"among all bases, with {settings['draws of a run']:,} draws; boxes over "
            f"{settings['runs']} runs. Boxes: quartiles, whiskers: least and largest. Dashed: "
            "the mean over all exact draws.",
        ),
        "distinct": (
            _draw_distinct(data),
            "Different summaries among the draws of a run, for readings of the features that the "
            "appendix leaves open: what the five indicators of position mark, and whether features "
            "are brought to length one. Dashed: the paper's figures.",
        ),
        "places": (
            _draw_places(data),
            "Which sentences of the article the summaries hold. The first five are in every draw, "
            "as each is the only one with its feature.",
        ),
    }


def _draw_boxes(data: dict[str, Any]) -> Any:
    estimates = data["estimates"]
    names = list(estimates)
    count = data["settings"]["candidates"]
    figure = new_figure((3.2 * count, 3.9))
    axes = figure.subplots(1, count, squeeze=False, sharey=True)[0]
    fills = colours(len(names))
    for k, ax in enumerate(axes):
        boxes = ax.boxplot(
            [estimates[name][:, k] for name in names],
            widths=0.6,
            whis=(0, 100),
            patch_artist=True,
            medianprops={"color": "white", "linewidth": 1.2},
        )
        for box, fill, hatch in zip(boxes["boxes"], fills, HATCHES, strict=False):
            box.set(facecolor=fill, edgecolor=INK, hatch=hatch)
        for line in boxes["medians"]:
            line.set_path_effects(_outline())
        reference = float(np.mean(estimates[EXACT][:, k]))
        ax.axhline(reference, color="0.4", linestyle="--", linewidth=1, zorder=0)
        ax.set_xticks(range(1, len(names) + 1), [name.replace(" ", "\n") for name in names])
        ax.set_title(f"summary {k + 1}", fontsize="medium")
        ax.ticklabel_format(axis="y", useOffset=False)
    axes[0].set_ylabel("Mean ROUGE-1F with the draws")
    return figure


def _outline() -> list[Any]:
    """White lines with a dark edge stand out on any fill."""
    from matplotlib.patheffects import Normal, Stroke

    return [Stroke(linewidth=3, foreground=INK), Normal()]


def _draw_distinct(data: dict[str, Any]) -> Any:
    readings = data["readings"]
    figure = new_figure((8.2, 3.6))
    ax = figure.add_subplot()
    place = np.arange(len(readings))
    fills = colours(3)
    for k, (name, (paper, _)) in enumerate(SHARES.items()):
        values = [np.asarray(found[name]) for found in readings.values()]
        at = place + 0.2 * (2 * k - 1)
        share = [value.mean() for value in values]
        bars = ax.bar(at, share, 0.36, color=fills[k], edgecolor=INK, hatch=HATCHES[k], label=name)
        room = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        labels = [f"{value:.0%}" for value in share]
        ax.bar_label(bars, labels, padding=3, fontsize="small", bbox=room)
        ax.axhline(paper, color="0.4", linestyle="--", linewidth=1, zorder=0)
        ax.annotate(
            f"paper, {name}",
            (1.0, paper),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            annotation_clip=False,
        )
    ax.set_xticks(place, [label.replace(", ", ",\n") for label in readings], fontsize="small")
    top = max(0.6, *(float(np.mean(found[n])) for found in readings.values() for n in SHARES))
    ax.set(ylabel="Share of distinct summaries", ylim=(0, 1.3 * top))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.legend(loc="upper left", frameon=False, fontsize="small", ncols=2)
    return figure


def _draw_places(data: dict[str, Any]) -> Any:
    summaries = data["summaries"]
    n = data["settings"]["sentences"]
    figure = new_figure((8.2, 0.5 * len(summaries) + 0.9))
    ax = figure.add_subplot()
    lengths = np.array([len(sentence) for sentence in data["sentences"]], dtype=float)
    edges = np.concatenate([[0.0], np.cumsum(lengths) / lengths.sum()])
    dark = colours(3)[0]
    for row, found in enumerate(summaries.values()):
        held = np.isin(np.arange(n), np.asarray(found["indices"]))
        for k in range(n):
            ax.barh(
                -row,
                edges[k + 1] - edges[k],
                height=0.62,
                left=edges[k],
                color=dark if held[k] else "white",
                edgecolor="0.6",
                linewidth=0.5,
            )
    ax.set_yticks(-np.arange(len(summaries)), list(summaries))
    ax.set(xlim=(0, 1), xlabel="Place in the article (width: length of the sentence)")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return figure
