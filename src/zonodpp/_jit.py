"""Compiled code: the four ways this package compiles its loops, with a cache and a notice.

It also has two ways to pass data to kernels that are faster than numba's own: generators are passed
by their address, and many arrays as parts of one array.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, codegen, event, types
from numba.core.caching import FunctionCache
from numba.core.compiler import Compiler
from numba.np.arrayobj import make_array, populate_array

from zonodpp._stderr import is_watched
from zonodpp._types import Floats, Integers, Rng

VECTOR = 4  # float64 numbers in a vector register; loops over a multiple have no remainder
PAUSE = 2.0  # seconds without compilation after which the next one is announced again
# The first members of ``bitgen_t``, a structure of NumPy's public C interface: the state, then the
# functions for 64 bits, 32 bits and numbers in [0, 1).
_BITGEN = ("state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double")
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_size_t, (ctypes.py_object, ctypes.c_char_p)


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
    """Paste a part of a kernel into its one caller, before anything is compiled.

    For parts that take tuples of arrays, which are slow to pass. Numba copies the whole caller for
    each such part, so there should be few of them.
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
        state.flags.noalias = not any(_may_overlap(kind) for kind in state.args)
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


def _may_overlap(kind: Any) -> bool:
    """Tell whether a type is a tuple with a writable array."""
    arrays = kind.types if isinstance(kind, numba.types.BaseTuple) else ()
    return any(getattr(array, "mutable", False) for array in arrays)


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
    module: str = event.data["dispatcher"].py_func.__module__
    return module.split(".")[0] == "zonodpp"


event.register("numba:compile", _Notice())


def address_of(rng: Rng) -> int:
    """Return the address of a generator, for kernels; it must exist until they have returned.

    Numba takes more than ten microseconds to accept a generator as an argument: longer than many
    steps of a walk.
    """
    if numba.config.DISABLE_JIT:  # kernels are plain functions, and take the generator itself
        return rng  # type: ignore[return-value]
    return int(_pointer(rng.bit_generator.capsule, b"BitGenerator"))


def _generator_at(context: Any, address: types.Type) -> tuple[types.Type, Callable[..., Any]]:
    """Return the generator at an address, within a kernel that counts no references."""
    bits_type = types.NumPyRandomBitGeneratorType("bit_generator")
    generator_type = types.NumPyRandomGeneratorType("generator")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = builder.inttoptr(arguments[0], cgutils.intp_t.as_pointer())
        bits = cgutils.create_struct_proxy(bits_type)(context, builder)
        for k, name in enumerate(_BITGEN):
            setattr(bits, name, builder.load(cgutils.gep(builder, words, k)))
        generator = cgutils.create_struct_proxy(generator_type)(context, builder)
        generator.bit_generator = bits._getvalue()
        return generator._getvalue()

    return generator_type(types.int64), build


generator_at: Callable[..., Rng] = (
    (lambda rng: rng) if numba.config.DISABLE_JIT else numba.extending.intrinsic(_generator_at)
)


def floats_at(memory: Floats, first: int, shape: tuple[int, ...]) -> Floats:
    """Return a view of the memory, from entry ``first`` on, as an array of this shape.

    Kernels that count no references may call it as well: see `_let_kernels_call`.
    """
    return memory[first : first + math.prod(shape)].reshape(shape)


def integers_at(memory: Floats, first: int, shape: tuple[int, ...]) -> Integers:
    """Return the view that `floats_at` returns, with its bytes read as 64-bit integers."""
    return floats_at(memory, first, shape).view(np.int64)


def _let_kernels_call(function: Callable[..., Any], dtype: types.Type) -> None:
    """Tell numba the type of the result of one of the functions above, and how to compile it.

    Numba would compile each slice and each `reshape` anew, with all special cases, which would
    take a tenth of the time of a first call. This version computes an address and strides only.
    """

    def typed(context: object) -> Callable[..., Any]:
        return lambda memory, first, shape: types.Array(dtype, len(shape), "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = make_array(signature.args[0])(context, builder, arguments[0])
        array = make_array(signature.return_type)(context, builder)
        start = builder.gep(whole.data, [arguments[1]])
        shape = cgutils.unpack_tuple(builder, arguments[2])
        size = context.get_constant(types.intp, 8)
        strides = [size]
        for length in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        data = builder.bitcast(start, array.data.type)
        populate_array(array, data, shape, strides, size, None)
        return array._getvalue()

    numba.extending.type_callable(function)(typed)
    kinds = numba.types.Array, numba.types.Integer, numba.types.BaseTuple
    numba.extending.lower_builtin(function, *kinds)(build)


_let_kernels_call(floats_at, types.float64)
_let_kernels_call(integers_at, types.int64)
