"""Elementary symmetric polynomials, and sizes of random sets of independent parts.

All numbers are logarithms or probabilities, and only positive terms are added. So nothing overflows
or cancels, whatever the eigenvalues and their number.
"""

from __future__ import annotations

import math

import numpy as np

from zonodpp._types import Floats

# `scipy.special` and `scipy.optimize` would take a quarter of the time of a first draw to import.


def expit(logs: Floats) -> Floats:
    """Return x / (1 + x) for each x = exp(log)."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -logs)))


def shift_to_size(logs: Floats, size: float) -> float:
    """Return the number to add to ``logs`` that makes the sum of their `expit` equal ``size``.

    Examples
    --------
    >>> import numpy as np
    >>> round(math.exp(shift_to_size(np.zeros(4), 3.0)), 12)
    3.0
    """
    # With all logs equal the answer would be this shift; it lies between the extremes.
    middle = math.log(size / (len(logs) - size))
    low, high = middle - logs.max() - 1.0, middle - logs.min() + 1.0
    for _ in range(64):
        shift = (low + high) / 2
        low, high = (shift, high) if expit(logs + shift).sum() < size else (low, shift)
    return float(shift)


def symmetric_polynomials(logs: Floats, k: int) -> tuple[Floats, Floats]:
    """Return the logs of e_0, ..., e_k of ``exp(logs)``, and chances to draw k parts by them.

    Entry [j, size] of the chances is lambda_j e_{size-1}(after j) / e_size(from j on), the chance
    to take part j when ``size`` parts are to come from part j on. Going from the first part to the
    last with these chances, beginning with size k, draws a set of k parts with probability
    proportional to the product of its eigenvalues (Kulesza, Taskar 2012, algorithm 8).

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(symmetric_polynomials(np.log([1.0, 2.0, 3.0]), 3)[0]).round(12)
    array([ 1.,  6., 11.,  6.])
    """
    chances = np.zeros((len(logs), k + 1))
    result = np.full(k + 1, -np.inf)
    result[0] = 0.0
    for j in range(len(logs) - 1, -1, -1):
        most = min(k, len(logs) - j)
        taken = logs[j] + result[:most]
        result[1 : most + 1] = np.logaddexp(result[1 : most + 1], taken)
        chances[j, 1 : most + 1] = np.exp(taken - result[1 : most + 1])
    return result, chances


def part_probabilities(chances: Floats) -> Floats:
    """Return the probability of each part, for sets drawn with `symmetric_polynomials`."""
    result = np.zeros(len(chances))
    sizes = np.zeros(chances.shape[1])  # the law of how many parts are still to be taken
    sizes[-1] = 1.0
    for j, chance in enumerate(chances):
        taken = sizes * chance
        result[j] = taken.sum()
        sizes -= taken
        sizes[:-1] += taken[1:]
    return result


def size_law(chances: Floats) -> Floats:
    """Return the law of the number of successes in independent trials with these chances.

    Examples
    --------
    >>> import numpy as np
    >>> size_law(np.array([0.5, 0.5]))
    array([0.25, 0.5 , 0.25])
    """
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1.0 - chance, chance])
    return law
