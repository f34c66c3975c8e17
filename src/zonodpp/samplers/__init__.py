"""One file for each algorithm: a method object that holds the options, and what it prepares.

The protocols `Method` and `Sampler` say what `zonodpp.runs` needs of both.
"""

from zonodpp.samplers._contract import Method, Sampler
from zonodpp.samplers._tracking import SetTracker

__all__ = ["Method", "Sampler", "SetTracker"]
