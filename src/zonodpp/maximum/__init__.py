"""The most likely subset."""

from zonodpp.maximum.search import Maximum, find_map, maximise

__all__ = ["Maximum", "find_map", "maximise"]
