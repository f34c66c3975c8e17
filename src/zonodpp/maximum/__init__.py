"""The most likely subset."""

from zonodpp.maximum._search import Maximum, find_map

__all__ = ["Maximum", "find_map"]
