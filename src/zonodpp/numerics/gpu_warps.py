"""Groups of neighbouring threads within a warp: barriers, sums, minima, messages by shuffles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import cuda

from zonodpp._types import Integers
from zonodpp.numerics.gpu_compile import Function, inlined

WARP = 32  # threads that run in step
_ALL = 0xFFFFFFFF


class GroupFunctions(NamedTuple):
    """Functions for groups of some number of threads; all threads of a warp call them together."""

    sum: Function  # of the values of the group
    get: Function  # the value that a given thread of the group has
    least: Function  # the smallest (value, place) of the group
    running_sum: Function  # of the values of the group up to this thread


@inlined
def wait() -> None:
    """Wait until all threads of the warp are here; they then see what each has written."""
    cuda.syncwarp()


@inlined
def any_thread(flag: bool) -> bool:
    """Tell whether the flag of any thread of the warp is set; all of them call this together."""
    return cuda.any_sync(_ALL, flag) != 0


@inlined
def _wait_for_block() -> None:
    cuda.syncthreads()


def block_barrier(threads: int) -> Function:
    """Return the function that waits until all of so many threads of a block are here."""
    return wait if threads == WARP else _wait_for_block


def block_minimum(threads: int) -> Function:
    """Return the function for the least value of a block; all threads call it together."""
    warps = threads // WARP

    @inlined
    def block_least(value: int, none: int, found: Integers) -> int:
        """Return the least value of the block; within a warp, values ascend, but for ``none``."""
        voters = cuda.ballot_sync(_ALL, value < none)
        least = cuda.shfl_sync(_ALL, value, max(cuda.ffs(voters) - 1, 0))
        if warps > 1:
            if cuda.laneid == 0:
                found[cuda.threadIdx.x // WARP] = least
            cuda.syncthreads()
            for warp in range(warps):
                least = min(least, found[warp])
        return least

    return block_least


def group_functions(lanes: int) -> GroupFunctions:
    """Return the functions for groups of ``lanes`` threads."""

    @inlined
    def group_sum(value: float) -> float:
        step = lanes // 2
        while step > 0:
            value += cuda.shfl_xor_sync(_ALL, value, step)
            step //= 2
        return value

    @inlined
    def get(value: float, source: int) -> float:
        return cuda.shfl_sync(_ALL, value, (cuda.laneid & ~(lanes - 1)) + source)

    @inlined
    def least(value: float, place: int) -> tuple[float, np.int32]:
        here = np.int32(place)
        step = lanes // 2
        while step > 0:
            other = cuda.shfl_xor_sync(_ALL, value, step)
            there = cuda.shfl_xor_sync(_ALL, here, step)
            if other < value or (other == value and there < here):
                value, here = other, there
            step //= 2
        return value, here

    @inlined
    def running_sum(value: float) -> float:
        step = 1
        while step < lanes:
            other = cuda.shfl_up_sync(_ALL, value, step)
            if cuda.laneid & (lanes - 1) >= step:
                value += other
            step *= 2
        return value

    return GroupFunctions(group_sum, get, least, running_sum)
