"""Diverse subsets: samplers for projection determinantal point processes."""

from zonodpp.samples import Samples
from zonodpp.sampling import sample
from zonodpp.targets import ProjectionDPP, VolumeSampling

__all__ = ["ProjectionDPP", "Samples", "VolumeSampling", "sample"]
__version__ = "0.1.0"
