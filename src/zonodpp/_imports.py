"""Imports that wait until they are needed: packages of extras, and the names of a package."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable
from types import ModuleType


def on_use(module: str) -> ModuleType:
    """Import a module where it is used: few calls need it, and it takes long to load.

    A module of the package may be one that imports the caller's, such as that of a subclass.

    Examples
    --------
    >>> from zonodpp._imports import on_use
    >>> on_use("math").gcd(4, 6)
    2
    """
    return importlib.import_module(module)


def optional(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a module, or raise an ImportError that names the extra to install.

    Examples
    --------
    >>> from zonodpp._imports import optional
    >>> optional("no_such_package.parts", "ml", "this kernel")
    Traceback (most recent call last):
        ...
    ImportError: this kernel needs no_such_package: pip install 'zonodpp[ml]'
    """
    try:
        return on_use(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(f"{purpose} needs {package}: pip install 'zonodpp[{extra}]'") from None


def lazy(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package that imports on first use.

    The stub ``__init__.pyi`` of the package imports every public name in a line of its own: that
    tells type checkers and this function where names are. A package may also lie in a zip archive.
    """
    stub = pkgutil.get_data(package, "__init__.pyi")
    assert stub is not None
    homes = {name: home for home, name in re.findall(r"from (\S+) import (\w+)", stub.decode())}

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        try:
            if home == package:  # the name is a module of the package
                return on_use(f"{package}.{name}")
            found = getattr(on_use(home), name)
        except ImportError as error:
            if not (error.name or "").startswith("sklearn"):
                raise
            needed = "scikit-learn 1.6 or later: pip install 'zonodpp[ml]'"
            raise ImportError(f"{name} needs {needed}") from error
        setattr(sys.modules[package], name, found)
        return found

    return load, lambda: sorted(homes), sorted(homes)
