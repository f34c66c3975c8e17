"""Random numbers on the device: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011).

Every number is a function of a key, which belongs to a chain, and of a counter: the draw or step,
its place within that, and its purpose. So no number is used twice, and numbers do not depend on
how draws and chains are laid out on the device.
"""

from __future__ import annotations

import math

import numpy as np

from zonodpp.numerics.gpu_compile import Word, cospi, device, sinpi

# The purposes of numbers, the last word of the counter.
PROPOSAL, CHOICE, STEP, DIRECTION, POINT, COST, PICK, PLACE, START = range(9)

_ROUNDS = 10
WORD = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
_MULTIPLIER_0, _MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_UNIT = 2.0**-53
_UNUSED = np.uint64(11)  # bits of 64 that a floating-point number has no room for


@device
def philox(
    key_0: Word, key_1: Word, c_0: Word, c_1: Word, c_2: Word, c_3: Word
) -> tuple[Word, Word, Word, Word]:
    """Encrypt a counter of four 32-bit words; words are held in 64 bits."""
    for _ in range(_ROUNDS):
        product_0 = _MULTIPLIER_0 * c_0
        product_1 = _MULTIPLIER_1 * c_2
        c_0 = (product_1 >> HALF) ^ c_1 ^ key_0
        c_1 = product_1 & WORD
        c_2 = (product_0 >> HALF) ^ c_3 ^ key_1
        c_3 = product_0 & WORD
        key_0 = (key_0 + _WEYL_0) & WORD
        key_1 = (key_1 + _WEYL_1) & WORD
    return c_0, c_1, c_2, c_3


@device
def uniforms(key: Word, index: int, place: int, purpose: int) -> tuple[float, float]:
    """Return two uniform numbers in [0, 1) with 53 random bits each."""
    number = np.uint64(index)
    a, b, c, d = philox(
        key & WORD,
        key >> HALF,
        number & WORD,
        number >> HALF,
        np.uint64(place),
        np.uint64(purpose),
    )
    return (
        np.int64(((a << HALF) | b) >> _UNUSED) * _UNIT,
        np.int64(((c << HALF) | d) >> _UNUSED) * _UNIT,
    )


@device
def normals(key: Word, index: int, place: int, purpose: int) -> tuple[float, float]:
    """Return two standard normal numbers, by the method of Box and Muller."""
    first, second = uniforms(key, index, place, purpose)
    size = math.sqrt(-2.0 * math.log(1.0 - first))
    return size * cospi(2.0 * second), size * sinpi(2.0 * second)
