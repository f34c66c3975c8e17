"""BLAS on one thread, for small matrices.

Products of small matrices gain nothing from threads, and on a busy machine threads that wait for
one another make them many times slower. So work on small matrices is done with one thread; large
products keep theirs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import LibController, ThreadpoolController

_SMALL_WORK = 2**27  # multiplications: one thread takes some 10 ms

_lock = threading.Lock()
_threads: list[int] = []  # of each BLAS library, as they were before the first open block
_blocks = 0  # open blocks of `one_thread`, in all threads of the process


@cache
def _libraries() -> list[LibController]:
    # The result is cached: the search among all loaded libraries takes milliseconds.
    found: list[LibController] = ThreadpoolController().select(user_api="blas").lib_controllers
    return found


@contextmanager
def one_thread(work: float = 0) -> Iterator[None]:
    """Let BLAS use one thread until the end of the block, unless the work is large.

    The setting belongs to the process. Where blocks of several threads overlap, the last one to end
    restores the former setting. Entering and leaving a block take some 5 microseconds.

    Parameters
    ----------
    work : float
        Multiplications in the largest product.
    """
    global _blocks
    if work > _SMALL_WORK:
        yield
        return
    with _lock:
        _blocks += 1
        if _blocks == 1:
            _threads[:] = [library.get_num_threads() for library in _libraries()]
            for library in _libraries():
                library.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if _blocks == 0:
                for library, count in zip(_libraries(), _threads, strict=True):
                    library.set_num_threads(count)
