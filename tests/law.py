"""The law by enumeration, and the one check that every sampler has to pass."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy import stats

THRESHOLD = 1e-4


def enumerate_law(target):
    """All r-subsets and their probabilities, from determinants alone.

    Rows and columns are brought to length one first, so that an exact zero stands out.
    """
    A = target.A.toarray() if hasattr(target.A, "toarray") else np.asarray(target.A)
    q = np.ones(target.n) if target.weights is None else target.weights
    A = A / np.linalg.norm(A, axis=1, keepdims=True)
    lengths = np.linalg.norm(A, axis=0)
    unit = A / np.where(lengths > 0, lengths, 1.0)
    bases = np.array(list(combinations(range(target.n), target.r)))
    dets = np.abs(np.linalg.det(np.moveaxis(unit[:, bases], 1, 0)))
    dets[dets < 1e-13 * dets.max()] = 0.0
    with np.errstate(divide="ignore"):
        logs = target.power * np.log(dets)
        logs += (target.power * np.log(lengths) + np.log(q))[bases].sum(axis=1)
    weights = np.exp(logs - logs.max())
    return bases, weights / weights.sum()


def exact_law(target):
    """All r-subsets and the logs of their probabilities, in rational arithmetic.

    Exact at any scale and for any condition, but slow.
    """
    A = target.A.toarray() if hasattr(target.A, "toarray") else np.asarray(target.A)
    q = np.ones(target.n) if target.weights is None else target.weights
    columns = [[Fraction(float(entry)) for entry in column] for column in A.T]
    bases = np.array(list(combinations(range(target.n), target.r)))
    logs = np.full(len(bases), -np.inf)
    for k, basis in enumerate(bases):
        det = determinant([list(columns[j]) for j in basis])
        if det and (q[basis] > 0).all():
            logs[k] = target.power * _log(abs(det)) + sum(
                _log(Fraction(float(q[j]))) for j in basis
            )
    logs -= logs.max()
    return bases, logs - np.log(np.exp(logs).sum())


def determinant(rows):
    """Return the determinant of a list of rows of fractions, by Bareiss's elimination.

    All numbers on the way are integers, so no fraction has to be reduced.
    """
    scale = math.lcm(*(entry.denominator for row in rows for entry in row))
    rest = [[entry.numerator * (scale // entry.denominator) for entry in row] for row in rows]
    before = 1
    while rest:
        at = next((i for i, row in enumerate(rest) if row[0]), None)
        if at is None:
            return Fraction(0)
        pivot = rest.pop(at)
        if at % 2:
            pivot = [-entry for entry in pivot]
        rest = [
            [(pivot[0] * b - row[0] * a) // before for a, b in zip(pivot[1:], row[1:], strict=True)]
            for row in rest
        ]
        before = pivot[0]
    return Fraction(before, scale ** len(rows))


def _log(number):
    """Return the logarithm of a positive fraction of any size."""
    return math.log(number.numerator) - math.log(number.denominator)


def p_value(subsets, bases, probabilities):
    """Chi-square on counts; bases that are rarer than five expected draws share one cell.

    A draw that is no basis at all (dependent items, an item twice, items out of order) gives zero.
    """
    place = {tuple(basis): k for k, basis in enumerate(bases.tolist())}
    counts = np.zeros(len(bases))
    for row in np.asarray(subsets).reshape(-1, bases.shape[1]).tolist():
        if tuple(row) not in place:
            return 0.0
        counts[place[tuple(row)]] += 1
    if counts[probabilities == 0].any():
        return 0.0
    expected = probabilities * counts.sum()
    common = expected >= 5
    observed = np.append(counts[common], counts[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    if expected[-1] < 1e-6 * expected.sum():  # nothing rare was expected, so nothing may be there
        if observed[-1] > 3:
            return 0.0
        observed, expected = observed[:-1], expected[:-1]
    if len(observed) == 1:
        return 1.0
    expected *= observed.sum() / expected.sum()
    return float(stats.chisquare(observed, expected).pvalue)


def assert_law(subsets, target):
    """Fail if draws do not follow the target's law."""
    value = p_value(subsets, *enumerate_law(target))
    assert value > THRESHOLD, f"the draws do not follow the law: p = {value:.2g}"


def assert_not_law(subsets, target):
    """Fail if the check would let a broken sampler pass."""
    value = p_value(subsets, *enumerate_law(target))
    assert value < THRESHOLD, f"the check does not see a broken sampler: p = {value:.2g}"


def assert_exact_law(subsets, target):
    """`assert_law` for targets at whose scale floating-point numbers do not enumerate the law."""
    bases, logs = exact_law(target)
    value = p_value(subsets, bases, np.exp(logs))
    assert value > THRESHOLD, f"the draws do not follow the law: p = {value:.2g}"
