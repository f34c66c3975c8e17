"""Checkpoints: a run as a file from which the same call goes on, bit for bit.

The file holds each chain's generator and state, and all draws so far. It is written between slices,
whole or not at all, and only from chains between two slices.
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
from zonodpp.runs.slices import Chain, Run
from zonodpp.samples.storage import check_subsets, pack_target, read_arrays, write_arrays
from zonodpp.targets.target import Arrays, Header, Target

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

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, object]) -> None:
        self.path = os.fspath(path)
        self.identity = identity
        self._resting: dict[int, tuple[Header, Arrays]] = {}
        self._due = time.perf_counter() + INTERVAL

    def resume(self, run: Run, n: int) -> None:
        """Go on where the file ends, if there is one; otherwise make sure it can be written.

        Raises
        ------
        ValueError
            If the file is damaged or belongs to another run; it is left alone.
        """
        sweep(self.path)
        known = run.chains[0].rng.bit_generator.state["bit_generator"]
        if known not in GENERATORS:
            raise ValueError(
                f"a checkpoint cannot hold a generator {known}; pass an rng made with one of "
                f"{', '.join(GENERATORS)}"
            )
        found = os.path.exists(self.path)
        if found:
            header, arrays = read_arrays(self.path, "checkpoint")
            self._check(header.get("identity"))
            with damage(self.path, advice="it was left as it is; pass another path"):
                _restore(run, n, header["chains"], arrays)
            most = max(chain.drawn for chain in run.chains)
            if run.draws is not None and most > run.draws:
                raise ValueError(
                    f"{self.path} holds {most} draws already, more than the {run.draws} "
                    "asked for; ask for at least as many, or pass another path"
                )
        for k, chain in enumerate(run.chains):
            self.rest(k, chain)
        run.on_rest = self.rest
        if not found:
            self._write(run)

    def _check(self, header: object) -> None:
        found = header if isinstance(header, dict) else {}
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
            "rng": _as_json(chain.rng.bit_generator.state),
            "burn_in": chain.burn_in,
            "drawn": chain.drawn,
            "seconds": chain.seconds,
            "taken": chain.taken,
            "sums": chain.sums.tolist(),
        }
        arrays = {f"chain{index}/{name}": a.copy() for name, a in chain.state.items()}
        self._resting[index] = (saved, arrays)

    @property
    def due(self) -> bool:
        """Whether it is time to write the file."""
        return time.perf_counter() >= self._due

    def write(self, run: Run) -> None:
        """Write the file now; a failure is a warning, since the run does not need the file."""
        begun = time.perf_counter()
        try:
            self._write(run)
        except OSError as error:
            warnings.warn(
                f"the checkpoint was not written: {error}. This run loses nothing by it, but if "
                "it were stopped now it could not go on from here; make room on the disk",
                RuntimeWarning,
                stacklevel=3,
            )
        now = time.perf_counter()
        self._due = now + max(INTERVAL, (now - begun) / SHARE)

    def _write(self, run: Run) -> None:
        chains = [self._resting[k] for k in sorted(self._resting)]
        longest = max(saved["drawn"] for saved, _ in chains)
        arrays: Arrays = {"subsets": run.subsets[:, :longest]}
        arrays["tracked"] = run.tracked[:, :longest]
        for _, state in chains:
            arrays.update(state)
        header = {"identity": self.identity, "chains": [saved for saved, _ in chains]}
        with replacing(self.path) as temporary:
            write_arrays(temporary, "checkpoint", header, arrays)


def identify(
    target: Target, generators: list[np.random.Generator] | None, **call: object
) -> dict[str, object]:
    """Name everything that two runs must share to be one run.

    ``generators`` is None when no seed was given: then the file's own generators go on.
    """
    header, arrays = pack_target(target)
    digest = hashlib.sha256(json.dumps(header, sort_keys=True, default=str).encode())
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    states = None
    if generators is not None:
        text = json.dumps([_as_json(g.bit_generator.state) for g in generators])
        states = hashlib.sha256(text.encode()).hexdigest()
    identity = {"version": __version__, "target": digest.hexdigest(), "seed": states, **call}
    return dict(_as_json(identity))


def _restore(run: Run, n: int, saved: list[Header], arrays: Arrays) -> None:
    """Set the chains and their draws from a file, if it holds what can have been written."""
    subsets, tracked = arrays.pop("subsets"), arrays.pop("tracked")
    longest = max(_count(entry["drawn"], "draws") for entry in saved)
    for array, own in ((subsets, run.subsets), (tracked, run.tracked)):
        shape = (len(run.chains), longest, own.shape[2])
        if array.shape != shape or array.dtype != own.dtype:
            raise ValueError(f"draws of shape {array.shape} are not those of this run")
    for k, (chain, entry) in enumerate(zip(run.chains, saved, strict=True)):
        _restore_chain(chain, entry, arrays, k, run.thin)
        run.sampler.check(chain.state)
        check_subsets(run.apart(subsets[k, : chain.drawn]), n)
        run.store(k, chain, subsets[k, : chain.drawn], tracked[k, : chain.drawn])
    if arrays:
        raise ValueError(f"it holds more than a checkpoint: {min(arrays)[:40]!r}")


def _restore_chain(chain: Chain, saved: Header, arrays: Arrays, index: int, thin: int) -> None:
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
    chain.rng = _generator_in(saved["rng"])
    chain.state, chain.sums, chain.seconds = state, sums, seconds
    chain.burn_in = _count(saved["burn_in"], "steps of burn-in", chain.burn_in)
    chain.drawn = _count(saved["drawn"], "draws")
    chain.taken = _count(saved["taken"], "steps to a draw", thin - 1)


def _count(value: object, what: str, most: int = 2**63 - 1) -> int:
    """Return a whole number from a file, if it is one between 0 and ``most``."""
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"number of {what}: {str(value)[:40]}")
    return value


def _generator_in(state: Header) -> np.random.Generator:
    """Return a generator in the given state, if NumPy itself can have written that state."""
    name = state["bit_generator"]
    if name not in GENERATORS:
        raise ValueError(f"unknown generator {str(name)[:40]!r}")
    bits = getattr(np.random, name)()
    bits.state = state
    if _as_json(bits.state) != state:
        raise ValueError(f"the state of generator {name} is none")
    if (index := GENERATORS[name]) is not None:
        inner = {**state, **state["state"]}
        _count(inner[index[0]], f"{index[0]} of generator {name}", index[1])
    return np.random.Generator(bits)


def _as_json(value: object) -> Any:
    """Return a value as JSON gives it back."""
    return json.loads(json.dumps(value, default=_json_value))


def _json_value(value: object) -> object:
    """Turn a value that JSON does not know into one that it knows."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return sorted(value) if isinstance(value, set | frozenset) else repr(value)
