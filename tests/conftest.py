"""Compiled code is cached under a hash of the sources: numba does not see a changed helper."""

import hashlib
import os
import pathlib

_sources = sorted((pathlib.Path(__file__).parents[1] / "src").rglob("*.py"))
_digest = hashlib.sha256(b"".join(path.read_bytes() for path in _sources)).hexdigest()[:16]
_cache = pathlib.Path(__file__).parents[1] / ".numba_cache" / _digest
os.environ.setdefault("NUMBA_CACHE_DIR", str(_cache))
