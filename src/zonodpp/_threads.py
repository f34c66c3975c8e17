"""BLAS on one thread, for small matrices.

Products of small matrices gain nothing from threads, and on a busy machine threads that wait for
one another make them many times slower. So work on small matrices is done with one thread; large
products keep theirs.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks for all loaded libraries, which takes milliseconds


def one_thread() -> AbstractContextManager[object]:
    """Let BLAS use one thread until the end of the block.

    The setting belongs to the process. Where several threads use it at a time, the first that
    leaves the block restores what was before.
    """
    limit: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limit
