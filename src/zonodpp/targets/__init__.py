"""What to sample from. A target is made once, checked, and never changed."""

from zonodpp._imports import lazy

# The names are listed in __init__.pyi. A module is imported on first use.
__getattr__, __dir__, __all__ = lazy(__name__)
