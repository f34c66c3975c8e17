"""Diverse subsets: samplers for determinantal point processes and their relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zonodpp._optional import lazy

if TYPE_CHECKING:
    from zonodpp import apps as apps
    from zonodpp import diagnostics as diagnostics
    from zonodpp import features as features
    from zonodpp import plotting as plotting
    from zonodpp._version import __version__ as __version__
    from zonodpp.maximum import find_map as find_map
    from zonodpp.runs.prepared import prepare as prepare
    from zonodpp.runs.sampling import sample as sample
    from zonodpp.samplers.exact import Exact as Exact
    from zonodpp.samplers.exchange import Exchange as Exchange
    from zonodpp.samplers.hit_and_run import HitAndRun as HitAndRun
    from zonodpp.samplers.trees import Trees as Trees
    from zonodpp.samples import Samples as Samples
    from zonodpp.targets import ProjectionDPP as ProjectionDPP
    from zonodpp.targets import VolumeSampling as VolumeSampling
    from zonodpp.targets.design import Design as Design
    from zonodpp.targets.dpp import DPP as DPP
    from zonodpp.targets.kdpp import KDPP as KDPP
    from zonodpp.zonotope import Zonotope as Zonotope

# The names of each module. It is imported on first use: `zonodpp --help` needs none of them.
__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "_version": "__version__",
        "apps": "",
        "diagnostics": "",
        "features": "",
        "maximum": "find_map",
        "plotting": "",
        "runs.prepared": "prepare",
        "runs.sampling": "sample",
        "samplers.exact": "Exact",
        "samplers.exchange": "Exchange",
        "samplers.hit_and_run": "HitAndRun",
        "samplers.trees": "Trees",
        "samples": "Samples",
        "targets": "ProjectionDPP VolumeSampling",
        "targets.design": "Design",
        "targets.dpp": "DPP",
        "targets.kdpp": "KDPP",
        "zonotope": "Zonotope",
    },
)
