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

from zonodpp._version import __version__
from zonodpp.chains.slices import Chain, Store
from zonodpp.samples.storage import Arrays, pack_target, read_arrays, write_arrays
from zonodpp.targets.target import Target

INTERVAL = 30.0  # seconds from one checkpoint to the next
SHARE = 0.05  # of the time, at most, goes into writing them


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

    def resume(self, chains: list[Chain], store: Store) -> None:
        """Go on where the file ends, if there is one; otherwise make sure it can be written.

        Raises
        ------
        ValueError
            If the file is damaged or belongs to another run; it is left alone.
        """
        if os.path.exists(self.path):
            header, arrays = read_arrays(self.path, "checkpoint")
            self._check(header["identity"])
            most = max(saved["drawn"] for saved in header["chains"])
            if store.plan.draws is not None and most > store.plan.draws:
                raise ValueError(
                    f"{self.path} holds {most} draws already, more than the {store.plan.draws} "
                    "asked for; ask for at least as many, or pass another path"
                )
            for k, (chain, saved) in enumerate(zip(chains, header["chains"], strict=True)):
                _restore(chain, saved, arrays, k)
                drawn = chain.drawn
                store.add(k, arrays["subsets"][k, :drawn], arrays["tracked"][k, :drawn])
        for k, chain in enumerate(chains):
            self.rest(k, chain)
        if not os.path.exists(self.path):
            self._write(store)

    def _check(self, found: dict[str, Any]) -> None:
        for name, value in self.identity.items():
            unknown = name == "seed" and None in (value, found.get(name))
            if found.get(name) != value and not unknown:
                shown = "" if len(str(value)) > 40 else f": {found[name]}, not {value}"
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
            "state": list(chain.state),
        }
        arrays = {f"chain{index}/{name}": a.copy() for name, a in chain.state.items()}
        self._resting[index] = (saved, arrays)

    def write_if_due(self, store: Store) -> None:
        """Write the file when it is time to; a failure is a warning, and the run goes on."""
        if time.perf_counter() >= self._due:
            self.write(store)

    def write(self, store: Store) -> None:
        """Write the file now; a failure is a warning, since the draws are still in memory."""
        begun = time.perf_counter()
        try:
            self._write(store)
        except OSError as error:
            warnings.warn(
                f"the checkpoint {self.path} could not be written ({error}); the draws are still "
                "in memory and the run goes on. Make room or save the result elsewhere",
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
        write_arrays(self.path, "checkpoint", header, arrays)


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


def _restore(chain: Chain, saved: dict[str, Any], arrays: Arrays, index: int) -> None:
    bits = getattr(np.random, saved["rng"]["bit_generator"])()
    bits.state = saved["rng"]
    chain.rng = np.random.Generator(bits)
    chain.state = {name: arrays[f"chain{index}/{name}"] for name in saved["state"]}
    chain.burn_in = saved["burn_in"]
    chain.drawn = saved["drawn"]
    chain.seconds = saved["seconds"]


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
