"""Groups of neighbouring threads within a warp: barriers, sums, minima, and messages by shuffles.

The simulator has no shuffles: there threads speak by shared memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import config, cuda, float64, int32

from zonodpp._types import Floats, Integers
from zonodpp.cuda.compile import Function, device, inlined

SIMULATED = bool(config.ENABLE_CUDASIM)
WARP = 4 if SIMULATED else 32  # threads that run in step; the simulator takes any number
ALL = 0xFFFFFFFF


class GroupFunctions(NamedTuple):
    """Functions for groups of some number of threads; all threads of a warp call them together."""

    wait: Function  # until all threads of the warp are here; they then see what each has written
    sum: Function  # of the values of the group
    get: Function  # the value that a given thread of the group has
    least: Function  # the smallest (value, place) of the group
    any: Function  # whether the flag of any thread of the warp is set
    running_sum: Function  # of the values of the group up to this thread


def group_functions(lanes: int, threads: int = WARP) -> GroupFunctions:
    """Return the functions for groups of ``lanes`` threads, in blocks of ``threads``."""
    return _simulated(lanes, threads) if SIMULATED else _shuffled(lanes)


def block_barrier(threads: int) -> Function:
    """Return the function that waits until all of so many threads of a block are here."""

    @inlined
    def wait() -> None:
        if threads == WARP and not SIMULATED:
            cuda.syncwarp()
        else:
            cuda.syncthreads()

    return wait


def _shuffled(lanes: int) -> GroupFunctions:
    @inlined
    def wait() -> None:
        cuda.syncwarp()

    @inlined
    def group_sum(value: float) -> float:
        step = lanes // 2
        while step > 0:
            value += cuda.shfl_xor_sync(ALL, value, step)
            step //= 2
        return value

    @inlined
    def get(value: float, source: int) -> float:
        return cuda.shfl_sync(ALL, value, (cuda.laneid & ~(lanes - 1)) + source)

    @inlined
    def least(value: float, place: int) -> tuple[float, np.int32]:
        here = np.int32(place)
        step = lanes // 2
        while step > 0:
            other = cuda.shfl_xor_sync(ALL, value, step)
            there = cuda.shfl_xor_sync(ALL, here, step)
            if other < value or (other == value and there < here):
                value, here = other, there
            step //= 2
        return value, here

    @inlined
    def any_thread(flag: bool) -> bool:
        return cuda.any_sync(ALL, flag) != 0

    @inlined
    def running_sum(value: float) -> float:
        step = 1
        while step < lanes:
            other = cuda.shfl_up_sync(ALL, value, step)
            if cuda.laneid & (lanes - 1) >= step:
                value += other
            step *= 2
        return value

    return GroupFunctions(wait, group_sum, get, least, any_thread, running_sum)


def _simulated(lanes: int, threads: int) -> GroupFunctions:
    @device
    def exchange(value: float, board: Floats | Integers) -> list[float]:
        """Return the values of all threads of the block."""
        board[cuda.threadIdx.x] = value
        cuda.syncthreads()
        found = board[:threads].tolist()
        cuda.syncthreads()
        return found

    @device
    def wait() -> None:
        cuda.syncthreads()

    @device
    def group_sum(value: float) -> float:
        first = cuda.threadIdx.x // lanes * lanes
        board = cuda.shared.array(threads, float64)
        return sum(exchange(value, board)[first : first + lanes])

    @device
    def get(value: float, source: int) -> float:
        board = cuda.shared.array(threads, float64)
        return exchange(value, board)[cuda.threadIdx.x // lanes * lanes + source]

    @device
    def least(value: float, place: int) -> tuple[float, int]:
        first = cuda.threadIdx.x // lanes * lanes
        values = exchange(value, cuda.shared.array(threads, float64))
        places = exchange(place, cuda.shared.array(threads, int32))
        return min(list(zip(values, places, strict=True))[first : first + lanes])

    @device
    def any_thread(flag: bool) -> bool:
        return any(exchange(flag, cuda.shared.array(threads, int32)))

    @device
    def running_sum(value: float) -> float:
        first = cuda.threadIdx.x // lanes * lanes
        board = cuda.shared.array(threads, float64)
        return sum(exchange(value, board)[first : cuda.threadIdx.x + 1])

    return GroupFunctions(wait, group_sum, get, least, any_thread, running_sum)
