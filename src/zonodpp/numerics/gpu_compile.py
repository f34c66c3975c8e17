"""How the kernels of this folder are compiled, with types that mypy can follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numba import config, cuda
from numpy.typing import NDArray

Function: TypeAlias = Callable[..., Any]  # that kernels call
Word = np.uint64  # holds 32 or 64 random bits
Words: TypeAlias = NDArray[np.uint64]  # the keys of all chains
Index = np.uint64  # unsigned, so that no code for negative indices is compiled


def device(function: Function) -> Function:
    """Compile a function that kernels call."""
    compiled: Function = cuda.jit(device=True)(function)
    return compiled


def kernel(function: Function) -> Any:
    """Compile a kernel: ``kernel[blocks, threads, 0, shared_bytes](arguments)`` runs it."""
    return cuda.jit(function)


def inlined(function: Function) -> Function:
    """Compile a function that kernels call with arrays in registers: it has to be inlined."""
    options = {} if config.ENABLE_CUDASIM else {"forceinline": True}
    compiled: Function = cuda.jit(device=True, **options)(function)
    return compiled


def kernel_with(registers: int) -> Callable[[Function], Any]:
    """Return `kernel` for threads of at most so many registers; 0 leaves it to the compiler."""
    if config.ENABLE_CUDASIM or registers == 0:
        return kernel
    limited: Callable[[Function], Any] = cuda.jit(max_registers=registers)
    return limited


if config.ENABLE_CUDASIM or not hasattr(cuda, "libdevice"):  # the simulator, or no GPU at all

    def cospi(x: float) -> float:
        """Return cos(pi x)."""
        return math.cos(math.pi * x)

    def sinpi(x: float) -> float:
        """Return sin(pi x)."""
        return math.sin(math.pi * x)

else:
    cospi, sinpi = cuda.libdevice.cospi, cuda.libdevice.sinpi


def of_processor(function: Function) -> Function:
    """Compile a function of the processor's kernels for the device: one formula for both."""
    return inlined(getattr(function, "py_func", function))
