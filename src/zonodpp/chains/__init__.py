"""What methods and samplers are, and what walks on bases share: columns, an inverse, a start.

The protocols `Method` and `Sampler` say what `zonodpp.runs` needs of both.
"""

from zonodpp.chains.contract import Method, Sampler
from zonodpp.chains.tracking import SetTracker

__all__ = ["Method", "Sampler", "SetTracker"]
