"""Applications of the samplers: summaries of texts, landmarks of a data set, shortlists."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zonodpp.apps.landmarks import LandmarkSelector
    from zonodpp.apps.shortlists import Shortlist, shortlist
    from zonodpp.apps.summaries import Summary, summarize

__all__ = ["LandmarkSelector", "Shortlist", "Summary", "shortlist", "summarize"]

_HOMES = {
    "LandmarkSelector": "landmarks",
    "Shortlist": "shortlists",
    "Summary": "summaries",
    "shortlist": "shortlists",
    "summarize": "summaries",
}  # Each module is imported on first use: each needs packages that the others do not need.


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
