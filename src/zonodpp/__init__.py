"""Diverse subsets: samplers for projection determinantal point processes."""

from zonodpp import diagnostics
from zonodpp._version import __version__
from zonodpp.geometry import Zonotope
from zonodpp.samples import Samples
from zonodpp.sampling import sample
from zonodpp.targets import ProjectionDPP, VolumeSampling

__all__ = [
    "ProjectionDPP",
    "Samples",
    "VolumeSampling",
    "Zonotope",
    "__version__",
    "diagnostics",
    "sample",
]
