"""What kernels need of a GPU, for numba's simulator, which has neither shuffles nor a device.

Threads exchange values through shared memory, and warps have four threads. Import this file before
any other kernel of the GPU.
"""

from numba import cuda, float64, int32

from zonodpp.numerics import gpu as devices
from zonodpp.numerics import gpu_warps as warps

WARP = 4


def exchanged(value, board):
    """Return the values of all threads of the block."""
    board[cuda.threadIdx.x] = value
    cuda.syncthreads()
    found = board.tolist()
    cuda.syncthreads()
    return found


def wait():
    cuda.syncthreads()


def any_thread(flag):
    return any(exchanged(flag, cuda.shared.array(cuda.blockDim.x, int32)))


def group_functions(lanes):
    def group():
        first = cuda.threadIdx.x // lanes * lanes
        return slice(first, first + lanes)

    def group_sum(value):
        return sum(exchanged(value, cuda.shared.array(cuda.blockDim.x, float64))[group()])

    def get(value, source):
        return exchanged(value, cuda.shared.array(cuda.blockDim.x, float64))[group()][source]

    def least(value, place):
        values = exchanged(value, cuda.shared.array(cuda.blockDim.x, float64))
        places = exchanged(place, cuda.shared.array(cuda.blockDim.x, int32))
        return min(list(zip(values, places, strict=True))[group()])

    def running_sum(value):
        values = exchanged(value, cuda.shared.array(cuda.blockDim.x, float64))
        return sum(values[group().start : cuda.threadIdx.x + 1])

    return warps.GroupFunctions(group_sum, get, least, running_sum)


def block_minimum(threads):
    def least(value, none, found):
        return min(exchanged(value, cuda.shared.array(threads, int32)))

    return least


warps.WARP = WARP
warps.wait = wait
warps.any_thread = any_thread
warps.group_functions = group_functions
warps.block_minimum = block_minimum
warps.block_barrier = lambda threads: wait
devices.need_device = lambda: None
devices.shared_limit = lambda: 2**20
devices.resident_blocks = lambda *arguments: 2
