"""Numba's simulator of a GPU, made fast and safe enough for chi-square tests.

The threads of a block take turns: each runs to its next barrier and hands over. Numba's own way
polls all threads, which takes milliseconds for each barrier, and swaps the module `cuda` in and out
for each call, which is a race between threads. Import this file with NUMBA_ENABLE_CUDASIM=1.
"""

import contextlib
import sys
import threading

import cuda_groups
import numpy as np
from numba import cuda
from numba.cuda.simulator import kernel, kernelapi
from numba.np import numpy_support

from zonodpp._cuda import (
    engines,
    entering,
    exact,
    exchange,
    groups,
    inverses,
    proposals,
    rows,
    step_starts,
    tiles,
    zonotope,
)

# The files that hold kernels.
OURS = (exact, groups, proposals, cuda_groups)
OURS += (entering, exchange, inverses, rows, step_starts, tiles, zonotope)


class Thread(kernel.BlockThread):
    """A thread of a block, which waits for its turn."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.turn = threading.Semaphore(0)
        self.barriers = 0

    def run(self):
        self.turn.acquire()
        with np.errstate(over="ignore"):  # products of hashes overflow on purpose
            super().run()
        self.hand_over(done=True)

    def hand_over(self, done=False):
        others = self._manager.waiting
        if not done:
            others.append(self)
        if others:
            others.pop(0).turn.release()
        else:
            self._manager.finished.release()

    def syncthreads(self):
        self.barriers += 1
        self.hand_over()
        self.turn.acquire()


class Block(kernel.BlockManager):
    """A block of threads that take turns."""

    def run(self, grid_point, *arguments):
        self.finished = threading.Semaphore(0)
        points = list(np.ndindex(*self._block_dim))
        threads = [Thread(lambda: self._f(*arguments), self, grid_point, p, False) for p in points]
        self.waiting = threads[1:]
        for thread in threads:
            thread.start()
        threads[0].turn.release()
        self.finished.acquire()
        for thread in threads:
            thread.join()
            if thread.exception:
                raise thread.exception[0].with_traceback(thread.exception[1])
        assert len({thread.barriers for thread in threads}) == 1, "threads skip a barrier"


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
kernel.swapped_cuda_module = swapped
kernelapi.FakeCUDAShared.array = shared_array
# Warps of four threads: two chains with two lanes each.
engines.lanes_for = entering.lanes_for = lambda n: 2
