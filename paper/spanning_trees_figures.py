"""Figures of the spanning-tree experiment, drawn from the data of `spanning_trees.run`."""

from __future__ import annotations

from typing import Any

from paper.drawing import draw_errors, draw_psrf, new_figure, share_legend
from paper.spanning_trees_verdicts import NEW, OLD, usual_efficiency
from zonodpp.plotting.style import INK, Look, shades

LOOKS: dict[str, tuple[float, Any]] = {
    "Algorithm 5": (0.0, "-"),
    "Algorithm 1": (0.8, "--"),
    "exact line": (0.25, "-."),
    "exact line, averaged": (0.42, (0, (7, 2, 1, 2, 1, 2))),
    "heat-bath": (0.6, ":"),
    "exact draws": (1.0, (0, (3, 1))),
}  # shade and line
FIRST = 10  # steps from which curves are drawn


def figures(data: dict[str, Any]) -> dict[str, Any]:
    """Draw figures 2 and 3 of the paper, and the same with the faster samplers."""
    made = {}
    for number, (name, graph) in enumerate(data["graphs"].items(), 2):
        stem = name.lower().replace("(", "-").replace(")", "").replace(", ", "-")
        middle = len(graph["triplets"]) // 2
        edges = ", ".join("-".join(map(str, graph["edges"][e])) for e in graph["triplets"][middle])
        made[stem] = (
            _draw_comparison(graph),
            f"Figure {number}: {name}. Estimates of the probability "
            f"({graph['probabilities'][middle]:.4f}) that the edges {edges} are all in the tree, "
            f"over {len(graph['samplers'][NEW]['errors'])} chains: median relative error, and "
            "first to last decile, (a) against iterations and (b) against the time of a chain; "
            "(c) Gelman-Rubin factor (thin: upper 95% limit; dotted: 1.1). Where no chain has "
            "seen the triplet yet, there is no factor.",
        )
        made[f"{stem}-faster"] = (
            _draw_faster(graph),
            f"{name} with the other samplers of this package: median relative error (a) against "
            "iterations and (b) against the time of a chain; (c) how many independent draws a "
            "step is worth, median over the triplets.",
        )
    return made


def _look(name: str) -> Look:
    shade, style = LOOKS.get(name, (0.7, "-"))
    return shades(shade), style


def _draw_comparison(graph: dict[str, Any]) -> Any:
    figure = new_figure((13.0, 4.3))
    steps, seconds, factors = figure.subplots(1, 3)
    both = {name: graph["samplers"][name] for name in (NEW, OLD)}
    draw_errors(steps, _curves(graph, both))
    steps.set(xlabel="Iterations", ylabel="Relative error", title="(a)")
    draw_errors(seconds, _curves_in_time(graph, both))
    seconds.set(xlabel="Time of a chain [s]", ylabel="Relative error", title="(b)")
    draw_psrf(
        factors,
        {
            name: (*(found["psrf"][part] for part in ("iterations", "point", "upper")), _look(name))
            for name, found in both.items()
        },
    )
    factors.set(xlabel="Iterations", xscale="log", title="(c)")
    share_legend(figure, steps)
    return figure


def _draw_faster(graph: dict[str, Any]) -> Any:
    figure = new_figure((13.0, 4.3))
    steps, seconds, worth = figure.subplots(1, 3)
    draw_errors(steps, _curves(graph, graph["samplers"]), bands=False)
    steps.set(xlabel="Iterations", ylabel="Relative error", title="(a)")
    draw_errors(seconds, _curves_in_time(graph, graph["samplers"]), bands=False)
    seconds.set(xlabel="Time of a chain [s]", ylabel="Relative error", title="(b)")
    _draw_worth(worth, graph)
    worth.set(title="(c)")
    share_legend(figure, steps)
    return figure


def _curves(graph: dict[str, Any], samplers: dict[str, Any]) -> dict[str, Any]:
    horizon = graph["samplers"][NEW]["points"][-1]
    curves = {}
    for name, found in samplers.items():
        shown = (found["points"] >= FIRST) & (found["points"] <= horizon)
        curves[name] = (found["points"][shown], found["errors"][:, shown], _look(name))
    return curves


def _curves_in_time(graph: dict[str, Any], samplers: dict[str, Any]) -> dict[str, Any]:
    """Curves against seconds; Algorithm 1 goes on for as long as Algorithm 5 takes."""
    begin = FIRST * graph["samplers"][NEW]["seconds per step"]
    curves = {}
    for name, found in samplers.items():
        seconds = found["points"] * found["seconds per step"]
        shown = seconds >= begin
        if name == OLD:
            shown &= found["points"] <= graph["steps in equal time"]
        curves[name] = (seconds[shown], found["errors"][:, shown], _look(name))
    return curves


def _draw_worth(ax: Any, graph: dict[str, Any]) -> None:
    worth = {name: usual_efficiency(graph, name) for name in graph["samplers"]}
    colours = [_look(name)[0] for name in worth]
    ax.barh(list(worth), list(worth.values()), color=colours, edgecolor=INK, lw=0.8, height=0.6)
    ax.invert_yaxis()
    ax.set(xscale="log", xlabel="Effective draws per step")
    ax.set_xlim(0.4 * min(worth.values()), 4 * max(worth.values()))
    for place, value in enumerate(worth.values()):
        ax.text(1.12 * value, place, f"{value:.2g}", va="center", fontsize="small")
