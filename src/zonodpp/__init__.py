"""Diverse subsets: samplers for projection determinantal point processes."""

from zonodpp import diagnostics
from zonodpp._version import __version__
from zonodpp.dpp import DPP, KDPP
from zonodpp.geometry import Zonotope
from zonodpp.samples import Samples
from zonodpp.sampling import sample
from zonodpp.targets import ProjectionDPP, VolumeSampling

__all__ = [
    "DPP",
    "KDPP",
    "ProjectionDPP",
    "Samples",
    "VolumeSampling",
    "Zonotope",
    "__version__",
    "diagnostics",
    "sample",
]
