"""Arguments of compiled kernels: generators by address, many arrays as parts of one array.

In each call from Python, numba takes more than ten microseconds to accept a generator, and half a
microsecond for each array in a tuple: longer than many steps of a walk.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.np.arrayobj import make_array, populate_array

from zonodpp._types import Floats, Integers, Rng

# The first members of ``bitgen_t``, a structure of NumPy's public C interface: the state, then the
# functions for 64 bits, 32 bits and numbers in [0, 1).
_BITGEN = ("state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double")
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_size_t, (ctypes.py_object, ctypes.c_char_p)


def address_of(rng: Rng) -> int:
    """Return the address of a generator, for kernels; it must exist until they have returned."""
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


def fixed_floats_at(memory: Floats, first: int, shape: tuple[int, ...]) -> Floats:
    """Return the view that `floats_at` returns, which kernels may only read.

    Kernels are compiled once for an array of the caller that is read-only and for such a view.
    """
    return floats_at(memory, first, shape)


def fixed_integers_at(memory: Floats, first: int, shape: tuple[int, ...]) -> Integers:
    """Return the view that `integers_at` returns, which kernels may only read."""
    return integers_at(memory, first, shape)


def _let_kernels_call(
    function: Callable[..., Any], dtype: types.Type, readonly: bool = False
) -> None:
    """Tell numba the type of the result of one of the functions above, and how to compile it.

    Numba would compile each slice and each `reshape` anew, with all special cases, which would
    take a tenth of the time of a first call. This version computes an address and strides only.
    """

    def typed(context: object) -> Callable[..., Any]:
        return lambda memory, first, shape: types.Array(dtype, len(shape), "C", readonly)

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
_let_kernels_call(fixed_floats_at, types.float64, readonly=True)
_let_kernels_call(fixed_integers_at, types.int64, readonly=True)
