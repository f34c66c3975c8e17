"""Standard error: whether a person sees it, and what it raises if it is no stream that works."""

from __future__ import annotations

import sys

# What a stream raises that is missing, closed, or something else than a stream.
BROKEN = (AttributeError, ValueError, OSError)


def is_watched() -> bool:
    """Tell whether a person sees what is written to stderr: at a terminal or in a notebook."""
    try:
        return bool(sys.stderr.isatty()) or "ipykernel" in sys.modules
    except BROKEN:  # a program without a window has None for a stream
        return False
