"""scikit-learn, where it does the work: imported when asked for."""

from __future__ import annotations

import importlib
from typing import Any

from zonodpp.inputs import spawn


def sklearn(module: str) -> Any:
    """Import a part of scikit-learn, or say which extra has it."""
    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError:
        raise ImportError(
            "this needs scikit-learn: pip install 'zonodpp[ml]' (or scikit-learn itself)"
        ) from None


def random_state(rng: Any) -> int:
    """Turn what `numpy.random.default_rng` takes into a seed for scikit-learn."""
    return int(spawn(rng, purpose="features")[0].integers(2**31))
