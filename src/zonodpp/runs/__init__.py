"""sample(): many chains at once, their slices of work, progress and checkpoints."""

from zonodpp.runs._prepared import PreparedSampler

__all__ = ["PreparedSampler"]
