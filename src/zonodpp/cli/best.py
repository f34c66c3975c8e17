"""``zonodpp pick``: the best rows, in the order of the picks."""

from __future__ import annotations

import numpy as np

from zonodpp import pick
from zonodpp.cli.inputs import ItemTable, read_table
from zonodpp.cli.interface import PickOptions
from zonodpp.cli.large import LargeTable, read_any_table
from zonodpp.cli.names import find_items, on_one_line
from zonodpp.cli.output import Result


def pick_best(options: PickOptions) -> Result:
    """Run ``zonodpp pick``."""
    table = _read(options)
    n, _ = table.shape
    labels = table.labels if isinstance(table, ItemTable) else None
    given = find_items(options.given, labels, n, "--given", every=True)
    relevance = table.weights
    choices = options.pick("kernel", "gamma", "ridge", "objective", "window", "swaps")
    indices, gains = pick(
        table.values, options.k, relevance=relevance, given=given, return_gains=True, **choices
    )
    found = table.labels_of(indices)
    items: list[object] = [*(indices.tolist() if found is None else found)]
    columns: dict[str, list[object]] = {"item": items}
    if relevance is not None:
        columns["relevance"] = relevance[indices].tolist()
    columns["gain"] = gains.tolist()
    facts: dict[str, object] = {"items": n, "indices": indices}
    facts |= {} if found is None else {"labels": found}
    facts |= {"gains": [gain if np.isfinite(gain) else None for gain in gains.tolist()]}
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    writers = {".npy": lambda path: np.save(path, indices)}
    text = "\n".join(on_one_line(str(item)) for item in items)
    return Result(text, facts, [list(columns), *rows], writers)


def _read(options: PickOptions) -> ItemTable | LargeTable:
    """Read the rows, in passes if they are large and no option needs all of them in memory."""
    whole = options.relevance or options.window or options.swaps
    whole = whole or options.kernel == "rbf" or options.objective == "coverage"
    if whole:
        return read_table(options, "relevance" if options.relevance else "")
    return read_any_table(options)
