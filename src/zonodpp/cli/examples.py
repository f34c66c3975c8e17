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


def _digits() -> bytes:
    """Return the bundled images of ones as rows of 784 grey values."""
    buffer = io.BytesIO()
    np.save(buffer, mnist_ones().reshape(1000, -1).astype(np.float32))
    return buffer.getvalue()


EXAMPLES: dict[str, Callable[[], bytes]] = {
    "foods": partial(_bundled, "foods.csv"),
    "graph": partial(_bundled, "graph.edges"),
    "article": partial(_bundled, "article.txt"),
    "digits": _digits,
}
