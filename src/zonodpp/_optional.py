"""Imports that wait until they are needed: packages of extras, and the names of a package."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType


def optional(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a module, or raise an ImportError that names the extra to install.

    Examples
    --------
    >>> from zonodpp._optional import optional
    >>> optional("no_such_package.parts", "ml", "this kernel")
    Traceback (most recent call last):
        ...
    ImportError: this kernel needs no_such_package: pip install 'zonodpp[ml]'
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(f"{purpose} needs {package}: pip install 'zonodpp[{extra}]'") from None


def lazy(
    package: str, names: dict[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package that imports on first use.

    ``names`` lists, for each module of the package, the names to take from it, separated by spaces.
    If the list is empty, the module itself is the name.
    """
    homes = {name: home for home, text in names.items() for name in text.split() or [home]}

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            home = importlib.import_module(f"{package}.{homes[name]}")
        except ImportError as error:
            if not (error.name or "").startswith("sklearn"):
                raise
            needed = "scikit-learn 1.6 or later: pip install 'zonodpp[ml]'"
            raise ImportError(f"{name} needs {needed}") from error
        found = home if homes[name] == name else getattr(home, name)
        setattr(sys.modules[package], name, found)
        return found

    return load, lambda: sorted(homes), sorted(homes)
