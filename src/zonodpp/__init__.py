"""Diverse subsets: samplers for determinantal point processes and their relatives."""

from zonodpp._imports import lazy

# The names are listed in __init__.pyi. Each is imported on first use: `zonodpp --help` needs none.
__getattr__, __dir__, __all__ = lazy(__name__)
