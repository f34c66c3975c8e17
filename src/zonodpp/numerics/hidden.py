"""Likely sets that rounding hides: from what probability they count, and what is said of them."""

from __future__ import annotations

import math

# Probability of an exchange, relative to that of the basis, which is not worth an answer.
NEGLIGIBLE = 1e-5
LOG_NEGLIGIBLE = math.log(NEGLIGIBLE)
_LARGEST_ADVICE = 2.0  # larger powers than this are not advised


def hidden_sets(power: float, item: int | None = None, least: float = math.inf) -> str:
    """Return the message for columns so nearly dependent that rounding hides likely sets.

    ``item`` is one of them, and ``least`` a power at which the sets would not be likely; a fifth is
    added, because a walk also meets bases that were not looked at.
    """
    named = "" if item is None else f", such as that of item {item},"
    least = math.ceil(12.0 * least) / 10.0 if least < _LARGEST_ADVICE else math.inf
    enough = f"power={least:.1f} or more" if power < least < math.inf else "a larger power"
    return (
        f"with power={power:g}, sets of columns that are dependent up to "
        f"rounding errors{named} may be likely, and no method can tell; merge items whose columns "
        f"are nearly multiples of one another, or pass {enough}, or weights closer to one another"
    )
