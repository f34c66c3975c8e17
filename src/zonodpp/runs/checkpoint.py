"""Checkpoints: a run as a file from which the same call goes on, bit for bit.

The file holds each chain's generator and state, and all draws so far. It is written between slices,
whole or not at all, and only from chains that are at rest.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from typing import Any

import numpy as np

from zonodpp._files import replacing, sweep
from zonodpp._version import __version__
from zonodpp.archives import damage
from zonodpp.runs.slices import Chain, Store
from zonodpp.samplers import Sampler
from zonodpp.samples.storage import check_subsets, pack_target, read_arrays, write_arrays
from zonodpp.targets.target import Arrays, Target

INTERVAL = 30.0  # seconds from one checkpoint to the next
SHARE = 0.05  # of the time, at most, goes into writing them
# Generators that a file may name, each with the largest index that its state may hold, if any:
# NumPy takes the state as it is and reads its memory there.
GENERATORS: dict[str, tuple[str, int] | None] = {
    "PCG64": None,
    "PCG64DXSM": None,
    "SFC64": None,
    "MT19937": ("pos", 624),
    "Philox": ("buffer_pos", 4),
}


class Checkpoint:
    """The checkpoint file of one run.

    Parameters
    ----------
    path : path
        Where the file is, or is to be.
    identity : dict
        What a run must have in common with the file to go on with it, name by name.
    """

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, Any]) -> None:
        self.path = os.fspath(path)
        self.identity = identity
        self._resting: dict[int, tuple[dict[str, Any], Arrays]] = {}
        self._due = time.perf_counter() + INTERVAL

    def resume(self, sampler: Sampler, n: int, chains: list[Chain], store: Store) -> None:
        """Go on where the file ends, if there is one; otherwise make sure it can be written.

        Raises
        ------
        ValueError
            If the file is damaged or belongs to another run; it is left alone.
        """
        sweep(self.path)
        known = chains[0].rng.bit_generator.state["bit_generator"]
        if known not in GENERATORS:
            raise ValueError(
                f"a checkpoint cannot hold a generator {known}; pass an rng made with one of "
                f"{', '.join(GENERATORS)}"
            )
        if os.path.exists(self.path):
            header, arrays = read_arrays(self.path, "checkpoint")
            self._check(header.get("identity"))
            with damage(self.path, advice="it was left as it is; pass another path"):
                _restore(sampler, n, chains, store, header["chains"], arrays)
            most = int(store.filled.max())
            if store.plan.draws is not None and most > store.plan.draws:
                raise ValueError(
                    f"{self.path} holds {most} draws already, more than the {store.plan.draws} "
                    "asked for; ask for at least as many, or pass another path"
                )
        for k, chain in enumerate(chains):
            self.rest(k, chain)
        if not os.path.exists(self.path):
            self._write(store)

    def _check(self, found: Any) -> None:
        if not isinstance(found, dict):
            found = {}
        for name, value in self.identity.items():
            unknown = name == "seed" and None in (value, found.get(name))
            if found.get(name) != value and not unknown:
                before = str(found.get(name))
                shown = "" if len(before + str(value)) > 80 else f": {before}, not {value}"
                raise ValueError(
                    f"{self.path} is the checkpoint of another run, with another {name}{shown}; "
                    "repeat the call that began it, or pass another path"
                )

    def rest(self, index: int, chain: Chain) -> None:
        """Remember a chain as it is now; worker threads change it in place later."""
        saved = {
            "rng": _plain(chain.rng.bit_generator.state),
            "burn_in": chain.burn_in,
            "drawn": chain.drawn,
            "seconds": chain.seconds,
            "taken": chain.taken,
            "sums": chain.sums.tolist(),
        }
        arrays = {f"chain{index}/{name}": a.copy() for name, a in chain.state.items()}
        self._resting[index] = (saved, arrays)

    def write_if_due(self, store: Store) -> None:
        """Write the file when it is time to; a failure is a warning, and the run goes on."""
        if time.perf_counter() >= self._due:
            self.write(store)

    def write(self, store: Store) -> None:
        """Write the file now; a failure is a warning, since the run does not need the file."""
        begun = time.perf_counter()
        try:
            self._write(store)
        except OSError as error:
            warnings.warn(
                f"the checkpoint was not written: {error}. This run loses nothing by it, but if "
                "it were stopped now it could not go on from here; make room on the disk",
                RuntimeWarning,
                stacklevel=3,
            )
        now = time.perf_counter()
        self._due = now + max(INTERVAL, (now - begun) / SHARE)

    def _write(self, store: Store) -> None:
        chains = [self._resting[k] for k in sorted(self._resting)]
        longest = int(max(saved["drawn"] for saved, _ in chains))
        arrays: Arrays = {
            "subsets": store.subsets[:, :longest],
            "tracked": store.tracked[:, :longest],
        }
        for _, state in chains:
            arrays.update(state)
        header = {"identity": self.identity, "chains": [saved for saved, _ in chains]}
        with replacing(self.path) as temporary:
            write_arrays(temporary, "checkpoint", header, arrays)


def identify(
    target: Target, generators: list[np.random.Generator] | None, **call: Any
) -> dict[str, Any]:
    """Name everything that two runs must share to be one run.

    ``generators`` is None when no seed was given: then the file's own generators go on.
    """
    header, arrays = pack_target(target)
    digest = hashlib.sha256(json.dumps(header, sort_keys=True, default=str).encode())
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    states = None
    if generators is not None:
        text = json.dumps([_plain(g.bit_generator.state) for g in generators])
        states = hashlib.sha256(text.encode()).hexdigest()
    return {
        "version": __version__,
        "target": digest.hexdigest(),
        "seed": states,
        **{name: _plain(value) for name, value in call.items()},
    }


def _restore(
    sampler: Sampler, n: int, chains: list[Chain], store: Store, saved: Any, arrays: Arrays
) -> None:
    """Set the chains and the store from a file, if all that it holds can be what was written."""
    subsets, tracked = arrays.pop("subsets"), arrays.pop("tracked")
    longest = max(_count(entry["drawn"], "draws") for entry in saved)
    for array, width, kind in (
        (subsets, store.plan.width, np.int32),
        (tracked, store.plan.tracked, np.float64),
    ):
        if array.shape != (len(chains), longest, width) or array.dtype != kind:
            raise ValueError(f"draws of shape {array.shape} are not those of this run")
    for k, (chain, entry) in enumerate(zip(chains, saved, strict=True)):
        _restore_chain(chain, entry, arrays, k, store.plan.thin)
        sampler.check(chain.state)
        check_subsets(subsets[k : k + 1, : chain.drawn], n)
        store.add(k, subsets[k, : chain.drawn], tracked[k, : chain.drawn])
    if arrays:
        raise ValueError(f"it holds more than a checkpoint: {min(arrays)[:40]!r}")


def _restore_chain(
    chain: Chain, saved: dict[str, Any], arrays: Arrays, index: int, thin: int
) -> None:
    """Set a chain, which has just been started, from a file."""
    state = {name: arrays.pop(f"chain{index}/{name}") for name in chain.state}
    for name, fresh in chain.state.items():
        found = state[name]
        if found.dtype != fresh.dtype or found.shape != fresh.shape:
            raise ValueError(
                f"{name!r} of chain {index} is {found.dtype} {found.shape}, expected "
                f"{fresh.dtype} {fresh.shape}"
            )
        if not np.isfinite(found).all():
            raise ValueError(f"{name!r} of chain {index} has NaN or infinity")
    if (state["counts"] < 0).any():
        raise ValueError(f"chain {index} has negative counts")
    sums = np.array(saved["sums"], dtype=np.float64)
    seconds = float(saved["seconds"])
    if sums.shape != chain.sums.shape or not np.isfinite(sums).all() or not seconds >= 0:
        raise ValueError(f"the sums or the time of chain {index} are none")
    chain.rng = _generator(saved["rng"])
    chain.state, chain.sums, chain.seconds = state, sums, seconds
    chain.burn_in = _count(saved["burn_in"], "steps of burn-in", chain.burn_in)
    chain.drawn = _count(saved["drawn"], "draws")
    chain.taken = _count(saved["taken"], "steps to a draw", thin - 1)


def _count(value: Any, what: str, most: int = 2**63 - 1) -> int:
    """Return a whole number from a file, if it is one between 0 and ``most``."""
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"number of {what}: {str(value)[:40]}")
    return value


def _generator(state: dict[str, Any]) -> np.random.Generator:
    """Return a generator in the given state, if NumPy itself can have written that state."""
    name = state["bit_generator"]
    if name not in GENERATORS:
        raise ValueError(f"unknown generator {str(name)[:40]!r}")
    bits = getattr(np.random, name)()
    bits.state = state
    if _plain(bits.state) != state:
        raise ValueError(f"the state of generator {name} is none")
    if (index := GENERATORS[name]) is not None:
        inner = {**state, **state["state"]}
        _count(inner[index[0]], f"{index[0]} of generator {name}", index[1])
    return np.random.Generator(bits)


def _plain(value: Any) -> Any:
    """Turn a value into what JSON gives back unchanged."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple, set)):
        return [_plain(entry) for entry in value]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return repr(value)
