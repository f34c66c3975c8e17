"""Verdicts of the experiment on summaries, from the data of `summaries.run`."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.verdicts import Verdict

NEW, OLD, EXACT = "Algorithm 5", "Algorithm 1", "exact draws"
FIRST, FIFTHS = "first five sentences", "fifths of the text"  # what indicators of position mark
SHARES = {NEW: (0.5, 0.15), OLD: (0.1, 0.05)}  # distinct draws in the paper, and what is "about"


def verdicts(data: dict[str, Any]) -> list[Verdict]:
    """Judge what section 4.2 and appendix B say."""
    spread = {name: data["estimates"][name].var(axis=0, ddof=1) for name in (NEW, OLD, EXACT)}
    ratios = spread[OLD] / np.maximum(spread[NEW], 1e-300)
    more = spread[NEW].mean() / max(spread[EXACT].mean(), 1e-300)
    shares = {name: float(np.mean(data["distinct"][name])) for name in (NEW, OLD, EXACT)}
    seconds, draws = data["seconds"], data["settings"]["draws of a run"]
    total = {name: sum(seconds[name].values()) for name in (NEW, OLD)}
    drawing = {name: seconds[name]["drawing a run"] for name in (NEW, OLD)}
    rouge = seconds[NEW]["rouge of a run"] / draws / data["settings"]["candidates"]
    mine, uniform = data["coverage"][NEW], data["coverage"]["uniform"]
    error = float(np.hypot(*(x.std(ddof=1) / np.sqrt(len(x)) for x in (mine, uniform))))
    literal, fifths = (data["readings"][label]["first sentence"] for label in (FIRST, FIFTHS))
    return [
        Verdict(
            "estimates by Algorithm 5 vary less than those by Algorithm 1",
            "a smaller variance",
            "variances "
            + ", ".join(f"{ratio:.1f}" for ratio in ratios)
            + f" times smaller (and {more:.1f} times those of exact draws)",
            bool((ratios > 1).all()),
        ),
        *(
            Verdict(
                f"different summaries explored by {name}",
                f"about {SHARES[name][0]:.0%}",
                f"{shares[name]:.0%} of {draws:,} draws"
                + (f" (exact draws: {shares[EXACT]:.0%})" if name == NEW else ""),
                abs(shares[name] - SHARES[name][0]) <= SHARES[name][1],
            )
            for name in (NEW, OLD)
        ),
        Verdict(
            "both algorithms take about the same time, as ROUGE-1F costs far more than a step",
            "0.1 s for ROUGE-1F, 0.001 s and 0.00001 s for a step",
            f"{1e6 * rouge:.1f} µs for ROUGE-1F, {1e6 * drawing[NEW] / draws:.1f} µs and "
            f"{1e6 * drawing[OLD] / draws:.2f} µs for a step: Algorithm 5 takes "
            f"{total[NEW] / total[OLD]:.1f} times as long in all",
            0.5 < total[NEW] / total[OLD] < 2.0,
        ),
        Verdict(
            "draws cover the article better than uniform sets",
            "better coverage, by reading three summaries",
            f"mean cosine of a sentence with the nearest chosen one {mine.mean():.3f} against "
            f"{uniform.mean():.3f} (standard error of the difference {error:.1g})",
            bool(mine.mean() - uniform.mean() > 2 * error),
        ),
        Verdict(
            "a summary may leave out some of the first five sentences",
            "the one shown does",
            f"the first sentence has probability {literal:.3f} where features mark the first five "
            f"sentences, {fifths:.3f} where they mark fifths of the text",
            literal < 1 - 1e-9,
        ),
    ]
