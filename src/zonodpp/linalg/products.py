"""A matrix product with more digits than its factors have."""

from __future__ import annotations

import numpy as np

from zonodpp._types import Floats

DIGITS = 53  # bits of a floating-point number


def accurate_product(W: Floats, X: Floats) -> tuple[Floats, Floats]:
    """Return W X as if computed with about 76 bits and then rounded, and a bound of its error.

    Each factor is cut into slices of so few bits that products of slices are exact sums, in
    whatever order they are added up (Ozaki, Ogita, Oishi, Rump, 2012).
    """
    bits = (DIGITS - 2 - int(np.ceil(np.log2(W.shape[1] + 1)))) // 2
    W1, W2, W3 = _slices(W, bits, axis=1)
    X1, X2, X3 = _slices(X, bits, axis=0)
    rest = W1 @ X3 + W2 @ (X2 + X3) + W3 @ X
    product = W1 @ X1 + ((W1 @ X2 + W2 @ X1) + rest)
    error = W.shape[1] * 2.0 ** (2 - bits - DIGITS) * (np.abs(W) @ np.abs(X))
    return product, error


def _slices(X: Floats, bits: int, axis: int) -> tuple[Floats, Floats, Floats]:
    """Cut X into leading bits, the bits after them, and what is left; rows or columns alike."""
    slices = []
    for _ in range(2):
        largest = np.abs(X).max(axis=axis, keepdims=True)
        unit = np.ldexp(1.5, np.frexp(largest)[1] + DIGITS - 1 - bits)
        high = (X + unit) - unit
        slices.append(high)
        X = X - high
    return slices[0], slices[1], X
