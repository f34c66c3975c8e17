"""Diverse subsets: samplers for determinantal point processes and their relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonodpp._optional import lazy
from zonodpp._version import __version__

if TYPE_CHECKING:
    from zonodpp import apps, diagnostics, features, plotting
    from zonodpp.maximum import find_map
    from zonodpp.runs.prepared import prepare
    from zonodpp.runs.sampling import sample
    from zonodpp.samplers.exact import Exact
    from zonodpp.samplers.exchange import Exchange
    from zonodpp.samplers.hit_and_run import HitAndRun
    from zonodpp.samplers.trees import Trees
    from zonodpp.samples import Samples
    from zonodpp.targets import ProjectionDPP, VolumeSampling
    from zonodpp.targets.design import Design
    from zonodpp.targets.dpp import DPP
    from zonodpp.targets.kdpp import KDPP
    from zonodpp.zonotope import Zonotope

__all__ = [
    "DPP",
    "KDPP",
    "Design",
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
    "prepare",
    "sample",
]

# The module of each name. It is imported on first use: `zonodpp --help` needs none of them.
__getattr__, __dir__ = lazy(
    __name__,
    {
        "DPP": "targets.dpp",
        "Design": "targets.design",
        "Exact": "samplers.exact",
        "Exchange": "samplers.exchange",
        "HitAndRun": "samplers.hit_and_run",
        "KDPP": "targets.kdpp",
        "ProjectionDPP": "targets",
        "Samples": "samples",
        "Trees": "samplers.trees",
        "VolumeSampling": "targets",
        "Zonotope": "zonotope",
        "apps": "apps",
        "diagnostics": "diagnostics",
        "features": "features",
        "find_map": "maximum",
        "plotting": "plotting",
        "prepare": "runs.prepared",
        "sample": "runs.sampling",
    },
)
