"""The most likely subset."""

from zonodpp.maximum.search import find_map, maximise

__all__ = ["find_map", "maximise"]
