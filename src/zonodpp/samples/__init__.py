"""The result of a run."""

from zonodpp.samples.result import Samples

__all__ = ["Samples"]
