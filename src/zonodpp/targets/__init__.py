"""What to sample from."""

from zonodpp.targets.family import VolumeSampling
from zonodpp.targets.projection import ProjectionDPP

__all__ = ["ProjectionDPP", "VolumeSampling"]
