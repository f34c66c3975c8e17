"""Parts of one array as arrays of their own, in Python and in kernels that count no references.

Numba compiles slices and `reshape` with all their cases, for each of them anew, which would take a
tenth of the time of a first call. Here an address and a shape are all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import cgutils
from numba.np.arrayobj import make_array, populate_array

from zonodpp._types import Floats, Integers


def floats_at(memory: Floats, first: int, shape: tuple[int, ...]) -> Floats:
    """Return the numbers from the first on as an array of this shape, in the same memory."""
    return memory[first : first + math.prod(shape)].reshape(shape)


def integers_at(memory: Floats, first: int, shape: tuple[int, ...]) -> Integers:
    """Return the same memory, read as integers."""
    return floats_at(memory, first, shape).view(np.int64)


def _let_kernels_call(function: Callable[..., object], dtype: Any) -> None:
    """Tell numba the result of one of the functions above, and how to make it."""
    types = numba.types

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
    kinds = types.Array, types.Integer, types.BaseTuple
    numba.extending.lower_builtin(function, *kinds)(build)


_let_kernels_call(floats_at, numba.types.float64)
_let_kernels_call(integers_at, numba.types.int64)
