"""Elementary symmetric polynomials, and sizes of random sets of independent parts.

All numbers are logarithms or probabilities, and only positive terms are added. So nothing overflows
or cancels, whatever the eigenvalues and their number.
"""

from __future__ import annotations

import numpy as np

from zonodpp._jit import jit
from zonodpp._types import Floats


def logistic(logs: Floats) -> Floats:
    """Return exp(logs) / (1 + exp(logs))."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-logs)))


def shift_to_size(logs: Floats, size: float) -> float:
    """Return the number to add to ``logs`` that makes the sum of their `logistic` equal ``size``.

    Examples
    --------
    >>> import numpy as np
    >>> round(shift_to_size(np.zeros(4), 2.0), 12)
    0.0
    """
    # With all logs equal the answer would be this shift; it lies between the extremes.
    middle = np.log(size) - np.log(len(logs) - size)
    low, high = middle - logs.max(), middle - logs.min()
    for _ in range(100):
        shift = (low + high) / 2
        if logistic(logs + shift).sum() < size:
            low = shift
        else:
            high = shift
    return float(shift)


@jit
def add_logs(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return float(a + np.log1p(np.exp(b - a)))


@jit
def log_symmetric(logs: Floats, k: int) -> Floats:
    """Return the logs of e_0, ..., e_k, the elementary symmetric polynomials of ``exp(logs)``.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_symmetric(np.log([1.0, 2.0, 3.0]), 3)).round(12)
    array([ 1.,  6., 11.,  6.])
    """
    result = np.full(k + 1, -np.inf)
    result[0] = 0.0
    for j in range(logs.shape[0]):
        for size in range(min(k, j + 1), 0, -1):
            result[size] = add_logs(result[size], logs[j] + result[size - 1])
    return result


@jit
def taking_chances(logs: Floats, k: int) -> Floats:
    """Return the chance to take part j when ``size`` parts are to come from the first j + 1.

    Entry [j, size] is lambda_j e_{size-1}(first j) / e_size(first j + 1). Going from the last part
    to the first with these chances, beginning with size k, draws a set of k parts with probability
    proportional to the product of its eigenvalues (Kulesza, Taskar 2012, algorithm 8).
    """
    m = logs.shape[0]
    chances = np.zeros((m, k + 1))
    row = np.full(k + 1, -np.inf)
    row[0] = 0.0
    for j in range(m):
        for size in range(min(k, j + 1), 0, -1):
            taken = logs[j] + row[size - 1]
            row[size] = add_logs(row[size], taken)
            chances[j, size] = np.exp(taken - row[size])
    return chances


@jit
def part_probabilities(chances: Floats) -> Floats:
    """Return the probability of each part, for sets drawn with `taking_chances`."""
    m = chances.shape[0]
    k = chances.shape[1] - 1
    result = np.zeros(m)
    sizes = np.zeros(k + 1)  # the law of how many parts are still to be taken
    sizes[k] = 1.0
    for j in range(m - 1, -1, -1):
        for size in range(1, k + 1):
            taken = sizes[size] * chances[j, size]
            result[j] += taken
            sizes[size] -= taken
            sizes[size - 1] += taken
    return result


@jit
def size_law(chances: Floats) -> Floats:
    """Return the law of the number of successes in independent trials with these chances.

    Examples
    --------
    >>> import numpy as np
    >>> size_law(np.array([0.5, 0.5]))
    array([0.25, 0.5 , 0.25])
    """
    law = np.zeros(chances.shape[0] + 1)
    law[0] = 1.0
    for j in range(chances.shape[0]):
        for size in range(j + 1, 0, -1):
            law[size] = law[size] * (1.0 - chances[j]) + law[size - 1] * chances[j]
        law[0] *= 1.0 - chances[j]
    return law
