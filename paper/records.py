"""Plain nested data as two files: data.json to read, data.npz for arrays. No pickle."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from zonodpp.io.files import replacing

ARRAY, NUMBER = "array in data.npz", "number"  # keys of what JSON has no words for


def write_record(folder: Path, data: dict[str, Any]) -> None:
    """Write ``data.json`` and ``data.npz``: dicts, lists, strings, numbers, None and arrays.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from paper.records import read_record, write_record
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_record(Path(folder), {"steps": 3, "errors": np.arange(3.0)})
    ...     read_record(Path(folder))
    {'steps': 3, 'errors': array([0., 1., 2.])}
    """
    arrays: dict[str, Any] = {}
    plain = _encode(data, "", arrays)
    text = json.dumps(plain, indent=1, allow_nan=False, ensure_ascii=False)
    with replacing(folder / "data.npz") as temporary:
        np.savez_compressed(temporary, **arrays)
    with replacing(folder / "data.json") as temporary:
        Path(temporary).write_text(text + "\n", encoding="utf-8")


def read_record(folder: Path) -> dict[str, Any]:
    """Read what `write_record` wrote; tuples come back as lists."""
    plain = json.loads((folder / "data.json").read_text(encoding="utf-8"))
    with np.load(folder / "data.npz", allow_pickle=False) as arrays:
        return dict(_decode(plain, arrays))


def _encode(value: Any, path: str, arrays: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {str(key): _encode(v, f"{path}/{key}", arrays) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(v, f"{path}/{k}", arrays) for k, v in enumerate(value)]
    if isinstance(value, np.ndarray):
        arrays[path.lstrip("/")] = value
        return {ARRAY: path.lstrip("/")}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {NUMBER: str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"an experiment's data holds dicts, lists, text, numbers, None and arrays; {path} is a "
        f"{type(value).__name__}"
    )


def _decode(value: Any, arrays: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {ARRAY}:
            return arrays[value[ARRAY]]
        if value.keys() == {NUMBER}:
            return float(value[NUMBER])
        return {key: _decode(v, arrays) for key, v in value.items()}
    if isinstance(value, list):
        return [_decode(v, arrays) for v in value]
    return value
