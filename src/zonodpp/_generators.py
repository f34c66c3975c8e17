"""NumPy's generators for compiled code, by their address.

Numba takes more than ten microseconds to accept a generator as an argument: longer than many steps
of a walk. So kernels are given the address of the generator's ``bitgen_t``, a structure of NumPy's
public C interface: the state, then the functions for 64 bits, 32 bits and numbers in [0, 1).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING

import numba
import numpy as np
from numba.core import cgutils, types

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.codegen import IRBuilder

_MEMBERS = ("state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double")
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_size_t, (ctypes.py_object, ctypes.c_char_p)


def address_of(rng: np.random.Generator) -> int:
    """Return where a generator is, for kernels; it must exist until they have returned."""
    if numba.config.DISABLE_JIT:  # kernels are plain functions, and take the generator itself
        return rng  # type: ignore[return-value]
    return int(_pointer(rng.bit_generator.capsule, b"BitGenerator"))


def _generator_at(context: BaseContext, address: types.Type) -> tuple[types.Type, object]:
    """Return the generator at an address, within a kernel that counts no references."""
    bits_type = types.NumPyRandomBitGeneratorType("bit_generator")
    generator_type = types.NumPyRandomGeneratorType("generator")

    def build(
        context: BaseContext, builder: IRBuilder, signature: object, arguments: tuple[object]
    ) -> object:
        words = builder.inttoptr(arguments[0], cgutils.intp_t.as_pointer())
        bits = cgutils.create_struct_proxy(bits_type)(context, builder)
        for k, name in enumerate(_MEMBERS):
            setattr(bits, name, builder.load(cgutils.gep(builder, words, k)))
        generator = cgutils.create_struct_proxy(generator_type)(context, builder)
        generator.bit_generator = bits._getvalue()
        return generator._getvalue()

    return generator_type(types.int64), build


def _itself(rng: np.random.Generator) -> np.random.Generator:
    return rng


generator_at: Callable[..., np.random.Generator] = (
    _itself if numba.config.DISABLE_JIT else numba.extending.intrinsic(_generator_at)
)
