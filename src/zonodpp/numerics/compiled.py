"""Compiled code: the four ways this package compiles its loops, with a cache and a notice."""

from __future__ import annotations

import contextlib
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numba
from numba.core import codegen, event
from numba.core.caching import FunctionCache
from numba.core.compiler import Compiler

from zonodpp.io.stderr import is_watched

VECTOR = 4  # float64 numbers in a vector register; loops over a multiple have no remainder
PAUSE = 2.0  # seconds without compilation after which the next one is announced again


def _compile(
    function: Callable[..., Any], *, cache: bool = False, **options: Any
) -> Callable[..., Any]:
    # Sums may be re-associated and fused so that reductions vectorise; nothing is assumed about
    # infinities and NaN, on which ratio tests rely.
    compiled: Any = numba.njit(
        nogil=True, error_model="numpy", fastmath={"reassoc", "contract"}, **options
    )(function)
    # With NUMBA_DISABLE_JIT=1 there is nothing to cache: njit returns the function itself.
    if cache and hasattr(compiled, "_cache"):
        try:
            compiled._cache = _Cache(function)
        except RuntimeError:  # numba found no folder that it can write to
            _warn_once("no folder for the cache of compiled code can be written to")
    result: Callable[..., Any] = compiled
    return result


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache on disk; if its files are damaged or cannot be written, code is compiled."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling a damaged file raises almost anything
            with contextlib.suppress(OSError):
                self.flush()  # an empty index, so that the next save succeeds
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError) as error:
            _warn_once(f"the cache of compiled code cannot be written ({error})")


_warned = False


def _warn_once(problem: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"{problem}: zonodpp works, but compiles again in every process; set NUMBA_CACHE_DIR "
            "to a folder that can be written to",
            RuntimeWarning,
            stacklevel=2,
        )


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile to machine code that releases the GIL and is cached on disk."""
    return _compile(function, cache=True, no_cfunc_wrapper=True)


def no_refcount(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile, like `jit`, a kernel that allocates nothing, and so needs no reference counts.

    Taking an array out of a tuple then costs nothing; with counts it takes longer than a pivot.
    """
    return _compile(function, cache=True, no_cfunc_wrapper=True, _nrt=False)


def inline_source(function: Callable[..., Any]) -> Callable[..., Any]:
    """Paste a part of a kernel into its callers, before anything is compiled.

    For parts that take tuples of arrays, which are slow to pass. Numba copies the whole caller for
    each such call, so there should be few of them.
    """
    return _compile(function, inline="always", _nrt=False)


class _PartLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """The code of a part of kernels, which is optimised and translated within kernels only.

    Numba would also translate the part by itself, to machine code that nothing calls. In a version
    of numba in which these methods have other names it does so again: a first call takes longer.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True
        # Kernels link this module. The final module keeps only the variables of numba's runtime.
        variables = self._get_module_for_linking().global_variables
        kept = [str(variable) for variable in variables if "NumbaEnv" in variable.name]
        self._final_module: Any = codegen.ll.parse_assembly("\n".join(kept))
        super()._finalize_final_module()


class _PartCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler for parts of kernels: tells LLVM that their arrays do not overlap.

    It does not do so if an argument is a tuple with a writable array.
    """

    def define_pipelines(self) -> Any:
        state = self.state
        tuples = [kind for kind in state.args if isinstance(kind, numba.types.BaseTuple)]
        parts = [part for kind in tuples for part in kind.types]
        state.flags.noalias = not any(getattr(part, "mutable", False) for part in parts)
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


def forceinline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a part of kernels that takes a few plain arrays; LLVM inlines its code.

    Numba types and lowers it once, however many calls there are. Python cannot call it. An array
    that it writes must not overlap another argument: LLVM then vectorises loops without checks for
    overlap, which would be half of all code. Overlap is allowed only if one of the arguments is a
    tuple with a writable array.
    """
    return _compile(
        function,
        forceinline=True,
        pipeline_class=_PartCompiler,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        _nrt=False,
    )


class _Notice(event.Listener):  # type: ignore[misc]
    """Tells a person who is watching why a first call takes seconds.

    Numba reports every compilation in the process, and none when code comes from the cache. One
    line is printed for a series of compilations of this package.
    """

    def __init__(self) -> None:
        self.depth = 0  # compilations under way: one function compiles those that it calls
        self.last = float("-inf")  # when the last one ended

    def on_start(self, event: Any) -> None:
        if not _is_ours(event):
            return
        if self.depth == 0 and time.monotonic() - self.last > PAUSE and is_watched():
            with contextlib.suppress(OSError, ValueError):  # it cannot be printed: compile anyway
                print("zonodpp: compiling (once; then cached) ...", file=sys.stderr, flush=True)
        self.depth += 1

    def on_end(self, event: Any) -> None:
        if _is_ours(event):
            self.depth -= 1
            self.last = time.monotonic()


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("zonodpp.")


event.register("numba:compile", _Notice())
