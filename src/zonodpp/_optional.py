"""Packages that only a part of the library needs: imported where they are used."""

from __future__ import annotations

import importlib
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
