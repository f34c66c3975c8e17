"""Small inputs for the examples in ``--help``, written by ``zonodpp info --example``."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from importlib.resources import files

import numpy as np

from zonodpp.datasets import mnist_ones


def _bundled(name: str) -> bytes:
    return files("zonodpp").joinpath("data", name).read_bytes()


def _graph() -> bytes:
    """Return a grid of five by five streets, those on the border twice as wide."""
    name = "abcde"
    lines = []
    for row in range(5):
        for place in range(5):
            here = f"{name[row]}{place + 1}"
            if place < 4:
                width = 2 if row in (0, 4) else 1
                lines.append(f"{here} {name[row]}{place + 2} {width}\n")
            if row < 4:
                width = 2 if place in (0, 4) else 1
                lines.append(f"{here} {name[row + 1]}{place + 1} {width}\n")
    return "".join(lines).encode()


def _digits() -> bytes:
    """Return the bundled images of ones as rows of 784 grey values."""
    buffer = io.BytesIO()
    np.save(buffer, mnist_ones().reshape(1000, -1).astype(np.float32))
    return buffer.getvalue()


EXAMPLES: dict[str, Callable[[], bytes]] = {
    "foods": partial(_bundled, "foods.csv"),
    "graph": _graph,
    "article": partial(_bundled, "article.txt"),
    "digits": _digits,
}
