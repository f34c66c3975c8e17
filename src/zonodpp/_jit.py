"""The four ways this package compiles its loops."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import event

VECTOR = 4  # numbers in a vector register: loops of so many, or a multiple, waste nothing


def _compile(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    # Sums may be re-associated and fused so that reductions vectorise; nothing is assumed about
    # infinities and NaN, on which ratio tests rely.
    compiled: Callable[..., Any] = numba.njit(
        nogil=True, error_model="numpy", fastmath={"reassoc", "contract"}, **options
    )(function)
    return compiled


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile to machine code that releases the GIL and is cached on disk."""
    return _compile(function, cache=True)


def lean(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile, like `jit`, a kernel that allocates nothing, and so needs no reference counts.

    Taking an array out of a tuple then costs nothing; with counts it takes longer than a pivot.
    """
    return _compile(function, cache=True, _nrt=False)


def spliced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Paste a part of a lean kernel that has one call site into it, before anything is compiled.

    Cheaper to compile than `inlined`, which compiles the part by itself first.
    """
    return _compile(function, inline="always", _nrt=False)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a part of a lean kernel into its callers: tuples of arrays are dear to pass."""
    return _compile(function, forceinline=True, _nrt=False)


class _Announce(event.Listener):  # type: ignore[misc]
    """Prints one line when numba starts compiling; loading from the cache stays silent."""

    said = False

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            print("zonodpp: compiling (once; cached from now on) ...", file=sys.stderr)

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def announce_compilation() -> Iterator[None]:
    """Tell a person at a terminal why the first call takes seconds."""
    if not sys.stderr.isatty():
        yield
        return
    with event.install_listener("numba:compile", _Announce()):
        yield
