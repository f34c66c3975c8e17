"""What people want the samplers for: summaries, landmarks and shortlists."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zonodpp.apps.landmarks import LandmarkSelector
    from zonodpp.apps.shortlist import Shortlist, shortlist
    from zonodpp.apps.summarize import Summary, summarize

__all__ = ["LandmarkSelector", "Shortlist", "Summary", "shortlist", "summarize"]

_HOMES = {
    "LandmarkSelector": "landmarks",
    "Shortlist": "shortlist",
    "Summary": "summarize",
    "shortlist": "shortlist",
    "summarize": "summarize",
}  # imported when first used: each needs packages that the others do not


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


class _Apps(ModuleType):
    """Python names a file that was imported on its package; here the function has that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in __all__ and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Apps
