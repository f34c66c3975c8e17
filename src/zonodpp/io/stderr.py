"""Standard error: whether a person sees it, and a way to write to it that never fails."""

from __future__ import annotations

import sys
from contextlib import suppress

# What a stream raises that is missing, closed, or something else than a stream.
_BROKEN = (AttributeError, ValueError, OSError)


def is_watched() -> bool:
    """Tell whether a person sees what is written to stderr: at a terminal or in a notebook."""
    if sys.stderr is None or getattr(sys.stderr, "closed", False):
        return False  # a program without a window has None for a stream
    try:
        return "ipykernel" in sys.modules or bool(sys.stderr.isatty())
    except _BROKEN:
        return False


class Stderr:
    """Standard error as a stream on which no write fails: nobody has to look at a run."""

    def __getattr__(self, name: str) -> object:  # fileno and encoding, which tqdm asks for
        return getattr(sys.stderr, name)

    def write(self, text: str) -> None:
        """Write the text if that is possible."""
        with suppress(*_BROKEN):
            sys.stderr.write(text)

    def flush(self) -> None:
        """Flush the stream if that is possible."""
        with suppress(*_BROKEN):
            sys.stderr.flush()
