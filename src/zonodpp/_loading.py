"""Loading without pauses."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

_loaded: set[str] = set()


def loading(name: str) -> AbstractContextManager[None]:
    """Return `without_collection` the first time, and nothing special after that."""
    if name in _loaded:
        return nullcontext()
    _loaded.add(name)
    return without_collection()


@contextmanager
def without_collection() -> Iterator[None]:
    """Let no garbage be collected meanwhile.

    To load SciPy, numba and compiled code makes very many objects that all stay. Looking through
    them again and again would be a tenth of the time to the first draw; so they go straight to the
    oldest generation, where the next full collection finds them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if gc.get_freeze_count() == 0:  # else the caller has frozen objects, and wants them so
                gc.freeze()
                gc.unfreeze()
            gc.enable()
