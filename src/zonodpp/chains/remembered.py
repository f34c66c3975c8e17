"""What is prepared once for a target, and remembered."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from zonodpp.numerics.threads import one_thread
from zonodpp.targets.base import Target

Made = TypeVar("Made")

_MOST_REMEMBERED = 8  # prepared objects kept for one target, by methods with their options
_remembered: WeakKeyDictionary[Target, dict[Hashable, Any]] = WeakKeyDictionary()


def remember(target: Target, key: Hashable, make: Callable[[], Made]) -> Made:
    """Return what ``make`` returned for this target and key before, or call it now.

    What is made is forgotten together with the target, so it must not refer to the target. For one
    target only the few objects that were used last are kept.
    """
    known = _remembered.setdefault(target, {})
    found: Made | None = known.pop(key, None)
    if found is None:
        with one_thread(target.r**2 * target.n):
            found = make()
    known[key] = found  # in the last place: the first one is forgotten first
    if len(known) > _MOST_REMEMBERED:
        known.pop(next(iter(known)), None)
    return found
