"""What methods and samplers are, and what walks on bases share: columns, an inverse, a start.

The protocols `Method` and `Sampler` say what `zonodpp.runs` needs of both.
"""

from zonodpp.chains.contract import Block, Method, Sampler
from zonodpp.chains.tracking import TrackedSets

__all__ = ["Block", "Method", "Sampler", "TrackedSets"]
