"""The methods of `sample` by name, and which of them is best for a target.

``method="exchange", rule="barker"`` is shorthand for ``method=Exchange(rule="barker")``.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from zonodpp._arguments import one_of
from zonodpp._imports import on_use
from zonodpp.chains.contract import Method
from zonodpp.targets.base import Target

# The module and class of each method, which is imported on first use.
METHODS = {
    "exact": "exact.projection.Exact",
    "zonotope": "zonotope.method.HitAndRun",
    "exchange": "exchange.method.Exchange",
    "trees": "trees.method.Trees",
}


@cache
def method_class(name: str) -> Any:
    """Return the class of the method objects of this name."""
    module, _, kind = METHODS[name].rpartition(".")
    return getattr(on_use(f"zonodpp.{module}"), kind)


def method_of(
    method: str | Method,
    target: Target,
    options: Mapping[str, object],
    parameters: Mapping[str, tuple[str, ...]],
) -> Method:
    """Return the method object that a name with options stands for.

    ``parameters`` are those of the caller, with what other libraries call them: they are
    suggested in place of unknown options.
    """
    if not isinstance(target, Target):
        raise TypeError(
            f"sample() draws from a target, got {type(target).__name__}; make one with "
            "ProjectionDPP.from_features(X), ProjectionDPP(A), from_kernel(K) or from_graph(G), or "
            "DPP(L=...), KDPP(L, k)"
        )
    if not isinstance(method, str):
        if isinstance(method, type) or not callable(getattr(method, "prepare", None)):
            raise TypeError(
                f"method must be one of {', '.join(map(repr, ('auto', *METHODS)))}, or an object "
                f"such as HitAndRun(preset='paper'); got {method!r}"
            )
        if options:
            raise TypeError(
                f"options belong to a method that is given by name; {', '.join(options)} must go "
                f"into {method!r}"
            )
        return method
    if one_of(method, "method", ("auto", *METHODS)) == "auto":
        method = best_method(target)
    kind = method_class(method)
    known = [field.name for field in fields(kind)] if options else []
    if unknown := sorted(options.keys() - known):
        hints = [hint for name in unknown for hint in _meant(name, known, parameters)]
        meant = f"; did you mean {hints[0]}=?" if hints else ""
        raise TypeError(
            f"method {method!r} has no option {', '.join(map(repr, unknown))}{meant}; it knows "
            f"{', '.join(map(repr, known))}"
        )
    found: Method = kind(**options) if options else _without_options(method)
    return found


@cache
def _without_options(name: str) -> Any:
    """Return the method object with no options; methods do not change, so one is enough."""
    return method_class(name)()


def best_method(target: Target) -> str:
    """Return the name of the first method of the target's own list that suits it.

    The last one always does: its file is not imported unless it is used.
    """
    *others, last = target.methods
    return next((name for name in others if _without_options(name).suits(target)), last)


def options_of(method: object) -> dict[str, object]:
    """Return the options of a method object, which a checkpoint compares."""
    known = fields(method) if is_dataclass(method) else ()
    return {field.name: getattr(method, field.name) for field in known}


def _meant(name: str, known: list[str], parameters: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the parameter or option that was probably meant, if there is one, in a list."""
    same = [parameter for parameter, others in parameters.items() if name.lower() in others]
    return same or difflib.get_close_matches(name.lower(), [*known, *parameters], 1, cutoff=0.7)
