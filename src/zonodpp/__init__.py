"""Diverse subsets: samplers for determinantal point processes and their relatives."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from zonodpp._version import __version__

if TYPE_CHECKING:
    from zonodpp import apps, diagnostics, features, plotting
    from zonodpp.maximum import find_map
    from zonodpp.runs.sampling import sample
    from zonodpp.samplers.methods import Exact, Exchange, HitAndRun, Trees
    from zonodpp.samples import Samples
    from zonodpp.targets import ProjectionDPP, VolumeSampling
    from zonodpp.targets.dpp import DPP
    from zonodpp.targets.kdpp import KDPP
    from zonodpp.zonotope import Zonotope

__all__ = [
    "DPP",
    "KDPP",
    "Exact",
    "Exchange",
    "HitAndRun",
    "ProjectionDPP",
    "Samples",
    "Trees",
    "VolumeSampling",
    "Zonotope",
    "__version__",
    "apps",
    "diagnostics",
    "features",
    "find_map",
    "plotting",
    "sample",
]

# Where each name lives. It is loaded when first asked for: `zonodpp --help` needs none of them.
_HOMES = {
    "DPP": "targets.dpp",
    "Exact": "samplers.methods",
    "Exchange": "samplers.methods",
    "HitAndRun": "samplers.methods",
    "KDPP": "targets.kdpp",
    "ProjectionDPP": "targets",
    "Samples": "samples",
    "Trees": "samplers.methods",
    "VolumeSampling": "targets",
    "Zonotope": "zonotope",
    "find_map": "maximum",
    "sample": "runs.sampling",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(importlib.import_module(f"zonodpp.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    if name in __all__:
        return importlib.import_module(f"zonodpp.{name}")
    raise AttributeError(f"module 'zonodpp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
