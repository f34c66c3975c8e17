"""The best subset, where the other rooms draw a random one."""

from zonodpp.best.pick import pick
from zonodpp.best.search import Maximum, find_map

__all__ = ["Maximum", "find_map", "pick"]
