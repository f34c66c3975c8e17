"""sample(): many chains at once, their slices of work, progress and checkpoints."""

from zonodpp.runs.prepare import PreparedSampler

__all__ = ["PreparedSampler"]
