"""What to sample from. A target is made once, checked, and never changed."""

from zonodpp.targets.family import VolumeSampling
from zonodpp.targets.projection import ProjectionDPP

__all__ = ["ProjectionDPP", "VolumeSampling"]
