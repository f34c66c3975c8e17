"""How the kernels of this folder are compiled, with types that mypy can follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

Word = np.uint64  # holds 32 or 64 random bits


def device(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that kernels call."""
    compiled: Callable[..., Any] = cuda.jit(device=True)(function)
    return compiled


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel: ``kernel[blocks, threads, 0, shared_bytes](arguments)`` runs it."""
    return cuda.jit(function)
