"""A sampler on its way to the processes of an executor: it travels to each of them once."""

from __future__ import annotations

import pickle
import sys
import uuid
from collections.abc import Callable

from zonodpp.chains.contract import Sampler
from zonodpp.numerics.arrays import refreeze

_MOST_KNOWN = 4  # samplers that a process of an executor keeps

_known: dict[str, Sampler] = {}  # samplers that have travelled to this process, by their keys

Parcel = tuple[str, bytes | Sampler | None]  # the key of a sampler, and the sampler if it is needed


def pack(sampler: Sampler) -> Parcel:
    """Return a sampler as bytes, or the sampler itself if it cannot be pickled here.

    The executor may then pickle it in a way of its own. Cloudpickle, which Dask loads, also takes
    classes that workers cannot import.
    """
    dumps: Callable[[Sampler], bytes] = sys.modules.get("cloudpickle", pickle).dumps
    key = uuid.uuid4().hex
    try:
        return key, dumps(sampler)
    except Exception:  # pickling objects of other packages may raise anything
        return key, sampler


def unpack(parcel: Parcel) -> Sampler | None:
    """Return the sampler of a parcel, which this process then knows by its key.

    A parcel that holds the key alone returns None if this process does not have the sampler.
    """
    key, content = parcel
    if content is None:
        return _known.get(key)
    sampler: Sampler = pickle.loads(content) if isinstance(content, bytes) else content
    refreeze(sampler)
    _known[key] = sampler
    while len(_known) > _MOST_KNOWN:
        _known.pop(next(iter(_known)), None)
    return sampler
