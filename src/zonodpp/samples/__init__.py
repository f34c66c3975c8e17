"""The result of a run."""

from zonodpp.samples._result import Samples

__all__ = ["Samples"]
