"""Facts of a run, in words and as a table for notebooks."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from zonodpp.samples.result import Samples


def size_range(samples: Samples) -> str:
    """Sizes of draws in words: "5", or "0 to 7"."""
    sizes = samples.sizes
    if not sizes.size:
        return str(samples.subsets.shape[2])
    least, most = int(sizes.min()), int(sizes.max())
    return f"{most}" if least == most else f"{least} to {most}"


def html_table(samples: Samples) -> str:
    """Facts of the run and the most frequent items."""
    chains, draws, _ = samples.subsets.shape
    target = samples.target
    rows = [("method", samples.method), ("chains", f"{chains:,}"), ("draws", f"{draws:,}")]
    rows.append(("items", f"{size_range(samples)} out of {target.n:,}"))
    rows.append(("distinct subsets", f"{len(samples.unique()[1]):,}"))
    if samples.acceptance is not None:
        rows.append(("acceptance", f"{samples.acceptance:.1%}"))
    if "seconds" in samples.stats:
        rows.append(("seconds, all chains", f"{samples.stats['seconds'].sum():.3g}"))
    share = samples.marginals() if draws else np.zeros(0)
    known = target.has_quick_inclusion and samples.whole
    for item in np.argsort(-share, kind="stable")[:5].tolist():
        label = item if target.labels is None else target.labels[item]
        exact = f" (exact {target.inclusion([item]):.3f})" if known else ""
        rows.append((f"share of {label}", f"{share[item]:.3f}{exact}"))
    cells = (f"<th>{html.escape(name)}</th><td>{html.escape(fact)}</td>" for name, fact in rows)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"
