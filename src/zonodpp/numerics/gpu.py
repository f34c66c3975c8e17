"""The device: whether there is one, how much of a kernel it holds at once, and launches."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numba import cuda

from zonodpp._imports import on_use, optional

_LEAST_CAPABILITY = (7, 0)


class NoDeviceError(RuntimeError):
    """There is no GPU that this package can use."""


def need_device() -> None:
    """Raise an error that says what is missing, if kernels cannot run."""
    optional("numba_cuda", "cuda", "device='cuda'")
    if not cuda.is_available():
        raise NoDeviceError(
            "device='cuda' needs an NVIDIA GPU and its driver, and none was found; leave device "
            "out to run on the processor. On a machine with a GPU, `python -m numba -s` says what "
            "numba misses"
        )
    capability = cuda.get_current_device().compute_capability
    if tuple(capability) < _LEAST_CAPABILITY:
        raise NoDeviceError(
            f"device='cuda' needs compute capability {_LEAST_CAPABILITY[0]}.{_LEAST_CAPABILITY[1]} "
            f"or higher, and this GPU has {capability[0]}.{capability[1]}"
        )


def shared_limit() -> int:
    """Return the bytes of shared memory that one block may have."""
    return int(cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)


def to_device(array: Any) -> Any:
    """Copy an array to the device."""
    return cuda.to_device(np.ascontiguousarray(array))


def launch(kernel: Any, blocks: int, threads: int, shared: int, *arguments: Any) -> None:
    """Run a kernel with at most ``blocks`` blocks: as many as the device holds at once.

    Kernels go through their work in strides of the grid, so that any number of blocks will do.
    """
    grid = min(blocks, resident_blocks(kernel, threads, shared, arguments))
    with warnings.catch_warnings():
        # Numba advises to launch more blocks, but few chains need no more.
        warnings.filterwarnings("ignore", ".*Grid size .* low occupancy")
        kernel[grid, threads, 0, shared](*arguments)


_resident: dict[tuple[Any, ...], int] = {}


def resident_blocks(kernel: Any, threads: int, shared: int, arguments: tuple[Any, ...]) -> int:
    """Return how many blocks the device holds at once; allow them their shared memory."""
    types = tuple(kernel.typeof_pyval(argument) for argument in arguments)
    place = (kernel, types, threads, shared)
    if place not in _resident:
        compiled = kernel.compile(types)
        numba_driver = on_use("numba.cuda.cudadrv.driver")
        names = numba_driver.binding.CUfunction_attribute
        numba_driver.driver.cuKernelSetAttribute(
            names.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            shared,
            compiled._codelibrary.get_cufunc().handle,
            cuda.get_current_device().id,
        )
        _resident[place] = max(1, compiled.max_cooperative_grid_blocks(threads, shared))
    return _resident[place]
