"""The paper's statements about spanning trees, judged from the data of `spanning_trees.run`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paper.verdicts import DOUBTFUL, Verdict
from zonodpp._types import Floats

NEW, OLD = "Algorithm 5", "Algorithm 1"
SETTLED = 1.1  # the usual mark for the upper limit of the PSRF
COMPARABLE = 2.0  # factor between errors that counts as comparable
FASTER = 10.0  # what the paper hopes to gain from better linear programming
ENOUGH = 20.0  # times that a triplet must be expected in a chain to be judged

Finding = tuple[str, bool | None]


def verdicts(data: dict[str, Any]) -> list[Verdict]:
    """Judge each statement of section 4.1; it is reproduced if it holds on both graphs."""
    return [
        _on_both(
            data,
            _law,
            "Algorithm 5 has the projection DPP as its limiting law",
            "proved in section 3.3",
        ),
        _on_both(
            data,
            _acceptance,
            "the acceptance rate of Algorithm 5 is an order of magnitude larger",
            "about ten times that of Algorithm 1",
        ),
        _on_both(
            data,
            _error,
            "per iteration, Algorithm 5 mixes faster: relative error",
            "clearly faster, figures 2 (a) and 3 (a)",
        ),
        _on_both(
            data,
            _convergence,
            "per iteration, Algorithm 5 mixes faster: PSRF",
            "comes down sooner, figures 2 (c) and 3 (c)",
        ),
        _on_both(
            data,
            _triplets,
            "other triplets behave alike",
            "similar behaviour across triplets",
        ),
        _on_both(
            data,
            _paper_time,
            "in equal time with the paper's code, both are comparable",
            "70 s were 50,000 steps of Algorithm 5 or over 1,000,000 of Algorithm 1",
        ),
        _on_both(
            data,
            _ten_times,
            "if it made ten times the iterations, Algorithm 5 would be ahead",
            "expected, given its acceptance",
        ),
        _on_both(
            data,
            _time_here,
            "in equal time with the code here, both are comparable",
            "comparable, figures 2 (b) and 3 (b); said to depend on the implementation",
        ),
        _on_both(
            data,
            _solver,
            "steps of Algorithm 5 can be made much faster",
            "1.4 ms a step, three programs by GLPK from cold; big speed-ups expected",
        ),
        _on_both(
            data,
            _bases,
            "the number of bases is of order 10⁸",
            "order 10⁸ for both graphs",
        ),
        _stable_as_plotted(data),
        _stable(data),
    ]


def efficiency(curves: dict[str, Any], steps: int, exact: Floats) -> Floats:
    """Return how many independent draws one step is worth, for each triplet, by variances.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.spanning_trees_verdicts import efficiency
    >>> estimates = np.array([[0.1], [0.3]])
    >>> efficiency({"estimates": estimates}, 16, np.array([0.2])).round(6)  # 0.2 * 0.8 / 16 = 0.01
    array([1.])
    """
    spread = np.mean((curves["estimates"] - exact) ** 2, axis=0)
    return np.asarray(exact * (1 - exact) / steps / np.maximum(spread, 1e-300))


def usual_efficiency(graph: dict[str, Any], sampler: str) -> float:
    """Median of `efficiency` over the triplets that are not too rare to be judged."""
    steps, exact = _horizon(graph), graph["probabilities"]
    found = efficiency(graph["samplers"][sampler], steps, exact)
    return float(np.median(found[_frequent(graph)]))


def error_at(graph: dict[str, Any], sampler: str, steps: int) -> float:
    """Median relative error of the typical triplet after so many steps."""
    curves = graph["samplers"][sampler]
    place = int(np.searchsorted(curves["points"], steps, side="right")) - 1
    return float(np.median(curves["errors"][:, place]))


def settled_at(psrf: dict[str, Any]) -> float:
    """Find after how many iterations the PSRF's limit stays below SETTLED; inf if never.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.spanning_trees_verdicts import settled_at
    >>> upper = np.array([np.nan, 1.02, 1.3, 1.05, 1.01])
    >>> settled_at({"iterations": np.array([10, 20, 30, 40, 50]), "upper": upper})
    40.0
    """
    above = np.flatnonzero(~(psrf["upper"] < SETTLED))  # NaN has not settled
    first = int(above[-1]) + 1 if above.size else 0
    return float(psrf["iterations"][first]) if first < len(psrf["upper"]) else float("inf")


def _on_both(
    data: dict[str, Any], judge: Callable[[dict[str, Any]], Finding], claim: str, paper: str
) -> Verdict:
    """Judge a claim on each graph: it fails if it fails on one, and is open if one is open."""
    found = {name: judge(graph) for name, graph in data["graphs"].items()}
    words = "; ".join(f"{name}: {text}" for name, (text, _) in found.items())
    outcomes = [outcome for _, outcome in found.values()]
    reproduced = None if None in outcomes and False not in outcomes else all(outcomes)
    return Verdict(claim, paper, words, reproduced)


def _law(graph: dict[str, Any]) -> Finding:
    from scipy.special import stdtr

    estimates, exact = graph["samplers"][NEW]["estimates"], graph["probabilities"]
    error = np.maximum(estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates)), 1e-300)
    off = float(np.max(np.abs(estimates.mean(axis=0) - exact) / error))
    p_value = min(1.0, 2 * len(exact) * float(stdtr(len(estimates) - 1, -off)))
    text = f"{len(exact)} triplets over all chains against det K_S, p-value {p_value:.2g}"
    return text, p_value > DOUBTFUL


def _acceptance(graph: dict[str, Any]) -> Finding:
    new, old = graph["samplers"][NEW], graph["samplers"][OLD]
    ours, theirs = new["acceptance"] or 0.0, old["acceptance"] or 0.0
    ratio = ours / theirs if theirs else float("inf")
    text = f"{ratio:.1f} times, {ours:.0%} against {theirs:.1%}"
    if new["moved"] is not None:
        text += f" ({new['moved']:.0%} lead to another tree)"
    return text, _of_order(ratio, 1)


def _error(graph: dict[str, Any]) -> Finding:
    steps = _horizon(graph)
    return _compare(graph, steps, steps)


def _convergence(graph: dict[str, Any]) -> Finding:
    ours, theirs = (settled_at(graph["samplers"][key]["psrf"]) for key in (NEW, OLD))
    text = f"upper limit below {SETTLED} for good {_after(ours)} against {_after(theirs)}"
    return text, ours < theirs


def _triplets(graph: dict[str, Any]) -> Finding:
    steps, exact, frequent = _horizon(graph), graph["probabilities"], _frequent(graph)
    worth = {key: efficiency(graph["samplers"][key], steps, exact) for key in (NEW, OLD)}
    ratios = (worth[NEW] / worth[OLD])[frequent]
    ahead = int((ratios > 1).sum())
    text = (
        f"ahead in {ahead} of {len(ratios)} triplets, by a factor of {ratios.min():.2g} to "
        f"{ratios.max():.2g} in effective draws per step"
    )
    if len(ratios) < len(exact):
        text += f" ({len(exact) - len(ratios)} more are too rare to tell)"
    return text, ahead == len(ratios)


def _paper_time(graph: dict[str, Any]) -> Finding:
    steps = _horizon(graph)
    text, _ = _compare(graph, steps, graph["steps in the paper's time"])
    return text, _comparable(graph, steps, graph["steps in the paper's time"])


def _ten_times(graph: dict[str, Any]) -> Finding:
    return _compare(graph, _horizon(graph), graph["steps in the paper's time"] // 10)


def _time_here(graph: dict[str, Any]) -> Finding:
    steps, longer = _horizon(graph), graph["steps in equal time"]
    ours, theirs = (graph["samplers"][key]["seconds per step"] for key in (NEW, OLD))
    text, _ = _compare(graph, steps, longer)
    text = f"{_duration(ours)} and {_duration(theirs)} a step, so {text}"
    return text, _comparable(graph, steps, longer)


def _solver(graph: dict[str, Any]) -> Finding:
    ours, solver = graph["samplers"][NEW]["seconds per step"], graph["solver"]
    if solver is None:
        return f"{_duration(ours)} a step; no solver to compare with (pip install cvxopt)", None
    theirs = solver["seconds per step"]
    text = (
        f"{_duration(ours)} a step, {_duration(theirs)} by three programs for "
        f"{solver['name'].upper()}: {theirs / ours:.0f} times faster"
    )
    return text, theirs > FASTER * ours


def _bases(graph: dict[str, Any]) -> Finding:
    return f"{graph['bases']:,.0f} spanning trees", _of_order(graph["bases"], 8)


def _stable_as_plotted(data: dict[str, Any]) -> Verdict:
    values = {
        key: [error_at(graph, key, _horizon(graph)) for graph in data["graphs"].values()]
        for key in (NEW, OLD)
    }
    return _less_dependent(data, "errors as plotted", "median relative errors", values)


def _stable(data: dict[str, Any]) -> Verdict:
    values = {
        key: [usual_efficiency(graph, key) for graph in data["graphs"].values()]
        for key in (NEW, OLD)
    }
    what = "effective draws per step, which make rare and frequent triplets comparable"
    return _less_dependent(data, "effective draws", what, values)


def _less_dependent(
    data: dict[str, Any], measure: str, what: str, values: dict[str, list[float]]
) -> Verdict:
    change = {key: max(each) / max(min(each), 1e-300) for key, each in values.items()}
    listed = "; ".join(
        f"{key}: {' and '.join(f'{value:.2g}' for value in each)}" for key, each in values.items()
    )
    return Verdict(
        f"Algorithm 5 depends less on the graph than Algorithm 1: {measure}",
        "seems so; further investigation needed",
        f"{what}, on {' and '.join(data['graphs'])}: {listed}",
        change[NEW] < change[OLD],
    )


def _horizon(graph: dict[str, Any]) -> int:
    return int(graph["samplers"][NEW]["points"][-1])


def _frequent(graph: dict[str, Any]) -> Any:
    frequent = graph["probabilities"] * _horizon(graph) >= ENOUGH
    return frequent if frequent.any() else np.ones_like(frequent)


def _compare(graph: dict[str, Any], steps: int, others: int) -> Finding:
    """Set the error of so many steps of Algorithm 5 against that of others of Algorithm 1."""
    ours, theirs = error_at(graph, NEW, steps), error_at(graph, OLD, others)
    counts = f"{steps:,} steps" if steps == others else f"{steps:,} steps against {others:,}"
    return f"{counts}: median error {ours:.3f} against {theirs:.3f}", ours < theirs


def _comparable(graph: dict[str, Any], steps: int, others: int) -> bool:
    ours, theirs = error_at(graph, NEW, steps), error_at(graph, OLD, others)
    return ours <= COMPARABLE * theirs and theirs <= COMPARABLE * ours


def _of_order(value: float, power: int) -> bool:
    """Whether a number is nearer to this power of ten than to any other, on a log scale."""
    return bool(value > 0 and np.isfinite(value) and round(float(np.log10(value))) == power)


def _after(steps: float) -> str:
    return f"after {steps:,.0f} steps" if np.isfinite(steps) else "never"


def _duration(seconds: float) -> str:
    return f"{1e6 * seconds:.2g} µs" if seconds < 9.5e-5 else f"{1e3 * seconds:.2g} ms"
