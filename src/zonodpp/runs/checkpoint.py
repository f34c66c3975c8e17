"""Checkpoints: a run as a file from which the same call goes on, bit for bit.

The file holds the generators and the state of each group of chains, and all draws so far. It
appears whole or not at all, and it holds each group as it was between two slices.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from typing import Any

import numpy as np

from zonodpp._types import PathLike, Rng
from zonodpp._version import __version__
from zonodpp.io.files import replacing, sweep
from zonodpp.io.guards import damage
from zonodpp.runs.groups import Group, Rested, Run, Slice, need_room
from zonodpp.samples.storage import check_subsets, pack_target, read_arrays, write_arrays
from zonodpp.targets.base import Arrays, Header, Target

LAYOUT = 2  # of the file; it grows when an older file can no longer be read
INTERVAL = 30.0  # seconds from one checkpoint to the next
SHARE = 0.05  # of the running time that writing checkpoints may take, at most
GENERATORS = ("PCG64", "PCG64DXSM", "SFC64", "MT19937", "Philox")  # bit generators of NumPy
# Indices in the states of generators, each with its largest value. NumPy does not check them: a
# larger one would make it read memory outside the state.
_INDICES = {"pos": 624, "buffer_pos": 4}


class Checkpoint:
    """The checkpoint file of one run.

    Parameters
    ----------
    path : path
        Where the file is, or is to be.
    target : Target
        What the run draws from.
    generators : list of Generator or None
        Those of the chains. None if no seed was given: then the file's own generators go on.
    **call
        Everything else that must be the same in the file for the run to go on from it.
    """

    def __init__(
        self, path: PathLike, target: Target, generators: list[Rng] | None, **call: object
    ) -> None:
        header, arrays = pack_target(target)
        digest = hashlib.sha256(json.dumps(header, sort_keys=True, default=str).encode())
        for name in sorted(arrays):
            digest.update(np.ascontiguousarray(arrays[name]).tobytes())
        seed = None if generators is None else [rng.bit_generator.state for rng in generators]
        identity = {
            "layout": LAYOUT,
            "version": __version__,
            "target": digest.hexdigest(),
            **call,
            "seed": seed,
        }
        self.path, self.n = os.fspath(path), target.n
        self.identity: dict[str, object] = _as_json(identity)
        self._due = 0.0

    def resume(self, run: Run) -> None:
        """Go on where the file ends, if there is one; otherwise make sure it can be written.

        Raises
        ------
        ValueError
            If the file is damaged or belongs to another run; it is left alone.
        """
        sweep(self.path)
        known = run.groups[0].rngs[0].bit_generator.state["bit_generator"]
        if known not in GENERATORS:
            advice = f"pass an rng made with one of {', '.join(GENERATORS)}"
            raise ValueError(f"a checkpoint cannot hold a generator {known}; {advice}")
        found = os.path.exists(self.path)
        if found:
            header, arrays = read_arrays(self.path, "checkpoint")
            self._check(header.get("identity"))
            with damage(self.path, advice="it was left as it is; pass another path"):
                _restore(run, self.n, header["generators"], arrays)
            most = max(group.drawn for group in run.groups)
            if run.draws is not None and most > run.draws:
                raise ValueError(
                    f"{self.path} holds {most} draws already, more than the {run.draws} "
                    "asked for; ask for at least as many, or pass another path"
                )
        run.rested = [group.at_rest() for group in run.groups]
        if not found:
            self._write(run)
        self._due = time.perf_counter() + INTERVAL

    def _check(self, header: object) -> None:
        found = header if isinstance(header, dict) else {}
        if found and found.get("layout") != LAYOUT:
            raise ValueError(
                f"{self.path} is a checkpoint of another version of zonodpp "
                f"({str(found.get('version'))[:40]}), which this one cannot go on from; end that "
                "run with that version, or pass another path"
            )
        if self.identity["seed"] is None:  # none was given: the generators of the file go on
            self.identity["seed"] = found.get("seed")
        for name, value in self.identity.items():
            if found.get(name) != value:
                before = str(found.get(name))
                shown = "" if len(before + str(value)) > 80 else f": {before}, not {value}"
                raise ValueError(
                    f"{self.path} is the checkpoint of another run, with another {name}{shown}; "
                    "repeat the call that began it, or pass another path"
                )

    def write(self, run: Run, *, now: bool = False) -> None:
        """Write the file if it is due, or at once with ``now``; a failure is only a warning."""
        begun = time.perf_counter()
        if begun < self._due and not now:
            return
        try:
            self._write(run)
        except (OSError, MemoryError) as error:
            warnings.warn(
                f"the checkpoint was not written: {error}. This run loses nothing by it, but if "
                "it were stopped now it could not go on from here; make room on the disk",
                RuntimeWarning,
                stacklevel=3,
            )
        ended = time.perf_counter()
        self._due = ended + max(INTERVAL, (ended - begun) / SHARE)

    def _write(self, run: Run) -> None:
        longest = max(rested.drawn for rested in run.rested)
        arrays: Arrays = {"subsets": run.subsets[:, :longest], "tracked": run.tracked[:, :longest]}
        for k, rested in enumerate(run.rested):
            arrays |= _arrays_of(k, rested)
        states = [state for rested in run.rested for state in rested.generators]
        header = {"identity": self.identity, "generators": _as_json(states)}
        with replacing(self.path) as temporary:
            write_arrays(temporary, "checkpoint", header, arrays)


def _arrays_of(index: int, rested: Rested) -> Arrays:
    """Return the arrays of a group's state, and what the run knows about it."""
    state = {f"group{index}/{name}": array for name, array in rested.state.items()}
    return state | {f"run{index}/{name}": array for name, array in rested.run.items()}


def _restore(run: Run, n: int, generators: list[Header], arrays: Arrays) -> None:
    """Set the groups, which have just been started, and their draws from a file.

    Raises
    ------
    ValueError
        If this run cannot have written what the file holds.
    """
    longest = arrays["subsets"].shape[1]
    need_room(run.sampler, run.sets, run.chains, longest)
    expected = {
        name: f"{own.dtype} {(len(own), longest, own.shape[2])}"
        for name, own in (("subsets", run.subsets), ("tracked", run.tracked))
    }
    for k, group in enumerate(run.groups):
        expected |= _kinds_of(_arrays_of(k, group.at_rest()))
    found = _kinds_of(arrays)
    if found != expected:
        name = min(found.items() ^ expected.items())[0]
        kinds = f"is {found.get(name)}, expected {expected.get(name)}"
        raise ValueError(f"{name[:40]!r} {kinds}")
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name!r} has NaN or infinity")
    if len(generators) != run.chains:
        raise ValueError(f"there are {len(generators)} generators of {run.chains} chains")
    for k, group in enumerate(run.groups):
        _restore_group(run, k, group, arrays)
        group.rngs = [_generator_in(state) for state in generators[group.span]]
        rows = group.span, slice(0, group.drawn)
        subsets, tracked = arrays["subsets"][rows], arrays["tracked"][rows]
        check_subsets(subsets, n)
        run.store(k, Slice(group, subsets, tracked))


def _restore_group(run: Run, index: int, group: Group, arrays: Arrays) -> None:
    """Set the state of a group, and what the run knows about it."""
    group.state = {name: arrays[f"group{index}/{name}"] for name in group.state}
    run.sampler.check(group.state)
    drawn, taken, unfinished = arrays[f"run{index}/steps"].tolist()
    seconds = float(arrays[f"run{index}/seconds"][0])
    counted = min(drawn, seconds, unfinished, group.state["counts"].min(initial=0))
    goal = 0 if taken < 0 else run.thin
    longest = arrays["subsets"].shape[1]
    if counted < 0 or drawn > longest or not group.taken <= taken < run.thin:
        raise ValueError(f"group {index} has {drawn} draws, {taken} steps, or negative counts")
    if unfinished > goal - taken:
        raise ValueError(f"group {index} has {unfinished} unfinished steps, of {goal - taken}")
    group.drawn, group.taken, group.unfinished, group.seconds = drawn, taken, unfinished, seconds
    group.sums = arrays[f"run{index}/sums"]


def _kinds_of(arrays: Arrays) -> dict[str, str]:
    """Return types and shapes of arrays, in words."""
    return {name: f"{array.dtype} {array.shape}" for name, array in arrays.items()}


def _generator_in(state: Header) -> Rng:
    """Return a generator in the given state, if NumPy itself can have written that state."""
    name = state["bit_generator"]
    if name not in GENERATORS:
        raise ValueError(f"unknown generator {str(name)[:40]!r}")
    bits = getattr(np.random, name)()
    bits.state = state
    if _as_json(bits.state) != state:
        raise ValueError(f"a generator {name} cannot have the state in the file")
    for index, most in _INDICES.items():
        place = {**state, **state["state"]}.get(index, 0)
        if type(place) is not int or not 0 <= place <= most:
            raise ValueError(f"{index} of generator {name} is {str(place)[:40]}")
    return np.random.Generator(bits)


def _as_json(value: object) -> Any:
    """Return a value as it is after being written to JSON and read again."""
    return json.loads(json.dumps(value, default=_json_value))


def _json_value(value: object) -> object:
    """Turn a value that JSON does not know into one that it knows."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return sorted(value) if isinstance(value, set | frozenset) else repr(value)
