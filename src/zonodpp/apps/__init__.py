"""Applications: summaries, landmarks, shortlists, diverse rows of a table, designs."""

from zonodpp._imports import lazy

# The names are listed in __init__.pyi. A module is imported on first use: each
# needs packages that the others do not need.
__getattr__, __dir__, __all__ = lazy(__name__)
