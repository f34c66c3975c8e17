"""Numba's simulator of a GPU, made fast and safe enough for chi-square tests.

The threads of a block are coroutines that take turns: each runs to its next barrier and hands over.
Numba's own way polls threads of the system, which takes milliseconds for each barrier, and swaps
the module `cuda` in and out for each call, which is a race between threads. Import this file with
NUMBA_ENABLE_CUDASIM=1.
"""

import contextlib
import sys
import types

import cuda_groups
import greenlet
import numpy as np
from numba import cuda
from numba.cuda.simulator import kernel, kernelapi
from numba.np import numpy_support

from zonodpp.chains import gpu_inverses as inverses
from zonodpp.chains import gpu_rows as rows
from zonodpp.exact import gpu as exact
from zonodpp.exact import gpu_groups as groups
from zonodpp.exact import gpu_proposals as proposals
from zonodpp.exchange import gpu as exchange
from zonodpp.exchange import gpu_entering as entering
from zonodpp.zonotope import gpu as zonotope
from zonodpp.zonotope import gpu_start as step_starts
from zonodpp.zonotope import gpu_tile as tiles

# The files that hold kernels.
OURS = (exact, groups, proposals, cuda_groups)
OURS += (entering, exchange, inverses, rows, step_starts, tiles, zonotope)


class Thread(greenlet.greenlet):
    """A thread of a block: a coroutine that hands over to its block at each barrier."""

    def __init__(self, function, point, index, number):
        super().__init__(function)
        self.blockIdx, self.threadIdx = kernel.Dim3(*point), kernel.Dim3(*index)
        self.thread_id = number

    def syncthreads(self):
        self.parent.switch()


class Block(kernel.BlockManager):
    """A block of threads that take turns."""

    def run(self, grid_point, *arguments):
        def work():
            with np.errstate(over="ignore"):  # products of hashes overflow on purpose
                self._f(*arguments)

        points = np.ndindex(*self._block_dim)  # blocks have one dimension
        threads = [Thread(work, grid_point, at, number) for number, at in enumerate(points)]
        while not threads[0].dead:
            for thread in threads:
                thread.switch()
            assert len({thread.dead for thread in threads}) == 1, "threads skip a barrier"


@contextlib.contextmanager
def swapped(function, module):
    """Let all our kernels see the simulated module, once for each launch."""
    if OURS[0].cuda is not cuda:  # a function that a kernel calls
        yield
        return
    for file in OURS:
        file.cuda = module
    try:
        yield
    finally:
        for file in OURS:
            file.cuda = cuda


def shared_array(self, shape, dtype):
    """Return the array of this line of the source; numba reads the whole stack for it."""
    dtype = numpy_support.as_dtype(dtype)
    if shape == 0:
        return self._dynshared[: self._dynshared_size // 8 * 8].view(dtype)
    frame = sys._getframe(1)
    place = (frame.f_code.co_filename, frame.f_lineno, shape)
    if place not in self._allocations:
        self._allocations[place] = np.empty(shape, dtype)
    return self._allocations[place]


kernel.BlockManager = Block
kernelapi.threading = types.SimpleNamespace(current_thread=greenlet.getcurrent)
kernel.swapped_cuda_module = swapped
kernelapi.FakeCUDAShared.array = shared_array
# Warps of four threads: two chains with two lanes each.
zonotope.lanes_for = entering.lanes_for = lambda n: 2
