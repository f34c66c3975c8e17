"""The order of a shortlist in which its beginning is the better shorter list."""

from __future__ import annotations

import numpy as np

from zonodpp._types import Integers
from zonodpp.apps.shortlists.candidates import Candidates
from zonodpp.best.pick import pick


def in_picked_order(items: Candidates, chosen: Integers) -> Integers:
    """Return the chosen items in the order in which `pick` would take them.

    Relevance counts from that of the least relevant candidate, and items that were shown before
    count as given, with the largest relevance.
    """
    relevance, rows = items.relevance[chosen], items.rows[chosen]
    alike, given = items.similarity(rows, rows), 0
    if items.shown is not None:
        across = items.similarity(items.shown, rows)
        alike = np.block([[items.similarity(items.shown, items.shown), across], [across.T, alike]])
        given = items.shown.shape[0]
        largest = float(items.relevance.max()) or 1.0
        relevance = np.append(np.full(given, largest), relevance)
    weights = relevance if relevance.any() else None
    found = pick(alike, len(chosen), relevance=weights, given=range(given), kernel="precomputed")
    places: Integers = np.asarray(found) - given
    return np.asarray(chosen[places])
