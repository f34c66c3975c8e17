"""`sample`: the one way to draw from a target."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import Executor

import numpy as np

from zonodpp._arguments import as_count, as_positive, one_of, spawn
from zonodpp._imports import on_use
from zonodpp._types import Integers, ItemsLike, PathLike, Rng, SeedLike
from zonodpp.chains.contract import HasDevice, Method, Sampler
from zonodpp.chains.methods import method_of, options_of
from zonodpp.chains.tracking import NO_SETS, TrackedSets, presence, tracked_sets
from zonodpp.io.stderr import is_watched
from zonodpp.runs.checkpoint import Checkpoint
from zonodpp.runs.executors import LostWorkers, run_elsewhere, run_on_threads
from zonodpp.runs.groups import Run, need_room, start_groups, take_turns
from zonodpp.runs.progress import ProgressLike, Reports, reporter
from zonodpp.samples import Samples
from zonodpp.targets.base import Target

_Early = KeyboardInterrupt | LostWorkers | MemoryError  # what ends a run early
_DEVICES = ("cpu", "cuda")
_MOST_WORKERS = 10_000  # threads; more than any machine runs at once
_OTHER_NAMES = {  # what other libraries call the parameters of `sample`
    "rng": ("seed", "random_state", "random_seed", "generator"),
    "draws": ("n", "size", "n_samples", "num_samples", "samples", "n_draws", "num_draws", "steps"),
    "chains": ("n_chains", "num_chains", "nchains"),
    "burn_in": ("burn", "warmup", "num_warmup", "tune", "discard"),
    "thin": ("thinning", "thin_by", "stride"),
    "seconds": ("timeout", "time", "max_time", "budget"),
    "init": ("start", "x0", "initial", "initvals"),
    "track": ("sets", "watch"),
    "progress": ("progressbar", "progress_bar", "verbose", "callback"),
    "executor": ("pool", "client"),
    "workers": ("n_jobs", "cores", "threads", "num_workers", "n_workers"),
    "checkpoint": ("backend", "resume", "save"),
    "method": ("sampler", "kind", "algo"),
    "device": ("gpu", "cuda", "use_gpu"),
}


def sample(
    target: Target,
    draws: int | None = None,
    *,
    method: str | Method = "auto",
    chains: int = 1,
    rng: SeedLike = None,
    burn_in: int = 0,
    thin: int = 1,
    seconds: float | None = None,
    init: ItemsLike | None = None,
    track: Iterable[ItemsLike] | None = None,
    progress: ProgressLike = None,
    executor: Executor | None = None,
    workers: int | None = None,
    checkpoint: PathLike | None = None,
    device: str | None = None,
    **options: object,
) -> Samples:
    """Draw diverse subsets.

    Parameters
    ----------
    target : ProjectionDPP, VolumeSampling, DPP, KDPP or Design
        What to draw from.
    draws : int, default 1000
        Draws kept for each chain. With ``seconds`` and no ``draws``: as many as fit.
    method : {"auto", "exact", "zonotope", "exchange", "trees"} or method object
        "auto" takes the best method for the target; `Samples.method` names it. An object is
        `Exact`, `HitAndRun`, `Exchange` or `Trees` with its options, or one of your own.
    chains : int, default 1
        Independent runs, each with its own generator spawned from ``rng``.
    rng : seed or numpy Generator, optional
        Same seed, same draws, whatever the number of workers. Without a seed, a call with one chain
        goes on with the generator of the call before: rows beyond memory are then not read again
        as long as proposals from the last pass are left.
    burn_in, thin : int
        Steps thrown away first, and steps from one kept draw to the next. Independent draws need
        neither, and ignore both.
    seconds : float, optional
        Stop after this time and return what was drawn; all chains are cut to the same length. A
        draw whose ``thin`` steps are not finished by then is not returned.
    init : (r,) or (chains, r) items, optional
        Starting bases, for Markov chains; items by number or label, see `Target.items`.
    track : list of sets of items, optional
        Record in `Samples.tracked` whether each draw holds these sets. Method exchange records the
        average over the ``thin`` steps to a draw, and zonotope the average along each line. Read
        it with ``trace(tracked=k)``.
    progress : bool or callable, optional
        None shows a bar on a terminal and in a notebook, and nothing elsewhere. A callable gets,
        up to ten times a second, an object that has ``drawn``, ``total``, ``elapsed``,
        ``remaining``, ``share``, ``steps_per_second``, ``acceptance`` and ``line()``, a text.
    executor : concurrent.futures.Executor, optional
        Where chains run; threads of this process by default. Work that an executor loses (a
        worker of a cluster was killed) is made again. If all of its workers are lost, the draws
        made so far are returned, with a warning.
    workers : int, optional
        Number of threads, when no executor is given; one for each processor by default.
    checkpoint : path, optional
        A file that is written about twice a minute and at the end. The same call goes on from it,
        whatever stopped the run, and ends with the same draws; a larger ``draws`` extends the run.
    device : {"cpu", "cuda"}, optional
        "cuda" runs all chains at once on an NVIDIA GPU; docs/gpu.md says when that pays.
    **options
        Options of the method, if it is given by name: ``method="zonotope", preset="paper"`` is
        shorthand for ``method=HitAndRun(preset="paper")``.

    Returns
    -------
    Samples
        The draws, (chains, draws, r), and what can be read off them.

    Raises
    ------
    TypeError
        When there is no such method, or it has no such option.
    ValueError
        When the method does not draw from such a target.

    See Also
    --------
    prepare : One draw at a time, for loops.
    find_map : The likeliest subset.
    Exact : Independent draws.
    HitAndRun : The chain of the paper.
    Exchange : A chain for every power of the volume.
    Trees : Spanning trees of a graph.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, sections 2.4, 2.5 and 3.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp import ProjectionDPP, sample
    >>> X = np.random.default_rng(0).normal(size=(1000, 10))
    >>> samples = sample(ProjectionDPP.from_features(X), 5, rng=1)
    >>> samples.subsets.shape
    (1, 5, 10)
    >>> samples.method
    'exact'
    """
    chosen = method_of(method, target, options, _OTHER_NAMES)
    if draws is not None or seconds is None:
        draws = as_count(1000 if draws is None else draws, "draws", 1)
    chains = as_count(chains, "chains", 1)
    burn_in = as_count(burn_in, "burn_in", 0)
    thin = as_count(thin, "thin", 1)
    limit = float("inf") if seconds is None else as_positive(seconds, "seconds")
    if workers is not None:
        workers = as_count(workers, "workers", 1, _MOST_WORKERS)
    items = tracked_sets(track, target)
    sets = TrackedSets.of(items) if items else NO_SETS
    device = one_of("cpu" if device is None else device, "device", _DEVICES)
    sampler = chosen.prepare(target)
    if device == "cuda":
        if executor is not None or workers is not None:
            raise ValueError(
                "device='cuda' runs all chains on the GPU; leave executor and workers out"
            )
        sampler = _on_device(sampler, checkpoint is not None)
    if sampler.independent:
        burn_in, thin = 0, 1
    added_up = NO_SETS if sampler.independent else sets
    need_room(sampler, sets, chains, draws)
    starts = _starts(init, chains, target, sampler.independent)
    generators, idle = _generators(target, rng, chains, executor, checkpoint)
    file = None
    if checkpoint is not None:
        call = {"method": chosen.name, "options": options_of(chosen), "chains": chains}
        call |= {"track": items, "burn_in": burn_in, "thin": thin, "init": init, "device": device}
        file = Checkpoint(checkpoint, target, None if rng is None else generators, **call)
    started = start_groups(sampler, generators, starts, burn_in, added_up)
    run = Run(sampler, started, draws, thin, added_up)
    if file is not None:
        file.resume(run)
    ended = _run(run, file, progress, limit, executor, workers)
    if ended and not run.length:
        to_first = f"the {burn_in} steps of burn-in and the {thin} steps to the first draw"
        if sampler.independent:
            to_first = "the first draw, which takes longer"
        warnings.warn(f"no draws: seconds={limit} went by in {to_first}", stacklevel=2)
    idle.extend(generators)
    return _result(run, target, chosen.name, sets)


def _on_device(sampler: Sampler, checkpointed: bool) -> Sampler:
    """Return the sampler that does on a GPU what this one does on the processor."""
    on_use("zonodpp.numerics.gpu_versions").need_versions_that_fit()
    on_use("zonodpp.numerics.gpu").need_device()  # imports numba.cuda
    if not isinstance(sampler, HasDevice):
        raise ValueError(
            "device='cuda' runs the methods 'exact', 'exchange' and 'zonotope', with the whole "
            "target in memory; leave device out"
        )
    return sampler.on_device(checkpointed)


def _run(
    run: Run,
    file: Checkpoint | None,
    progress: ProgressLike,
    limit: float,
    executor: Executor | None,
    workers: int | None,
) -> bool:
    """Run the chains, with progress and checkpoints between slices; False if it ends early."""
    if file is None and (progress is False or (progress is None and not is_watched())):
        early = _work(run, limit, executor, workers, None)
    else:
        with reporter(progress) as report:
            reports = Reports(run, limit, report)

            def after_slice() -> None:
                reports.show()
                if file is not None:
                    file.write(run)

            early = _work(run, limit, executor, workers, after_slice)
    if file is not None:
        file.write(run, now=True)
    if early is not None or run.full:
        _announce_early_end(run, early)
    return early is None and not run.full


def _work(
    run: Run,
    limit: float,
    executor: Executor | None,
    workers: int | None,
    after_slice: Callable[[], None] | None,
) -> _Early | None:
    """Advance all groups until they are done or the time is up; return what ended it early."""
    count = len(run.groups)
    deadline = time.perf_counter() + limit
    processors = 1 if count == 1 else min(count, workers or os.cpu_count() or 1)
    # Slices so short leave time for a few turns of every group.
    short = limit * processors / (8 * count)
    try:
        if executor is not None:
            run_elsewhere(run, executor, short, deadline, after_slice)
        elif processors == 1:
            take_turns(run, short, deadline, after_slice)
        else:
            run_on_threads(run, processors, short, deadline, after_slice)
    except (KeyboardInterrupt, LostWorkers, MemoryError) as error:
        return error
    return None


def _announce_early_end(run: Run, early: _Early | None) -> None:
    """Warn that a run ends early and what is returned; raise an error if that is nothing."""
    if not run.length and isinstance(early, LostWorkers):
        raise RuntimeError(f"{early} before every chain had a draw") from early
    if not run.length and isinstance(early, MemoryError):
        raise early
    if early is None or isinstance(early, MemoryError):
        why = "memory is full; a larger thin or a given number of draws takes less"
    else:
        why = str(early) if isinstance(early, LostWorkers) else "interrupted"
    text = f"{why}: returning the {run.length} draws made so far"
    kind = UserWarning if isinstance(early, KeyboardInterrupt) else RuntimeWarning
    warnings.warn(text, kind, stacklevel=4)


def _generators(
    target: Target, rng: SeedLike, count: int, *others: object
) -> tuple[list[Rng], list[Rng]]:
    """Return a generator for each chain, and the list that takes them when the call is over.

    A call without a seed goes on with the generator that an earlier call has left for this target.
    It takes the generator out of the list while it runs, so that no two calls share one; the list
    of a forked process is empty. The ``others`` are an executor and a checkpoint: a call with one
    of them has generators of its own.
    """
    if count > 1 or any(given is not None for given in (rng, *others)):
        return spawn(rng, count), []
    idle: list[Rng] = target.prepared.setdefault(("generators", os.getpid()), [])
    return [idle.pop()] if idle else spawn(rng), idle


def _starts(
    init: ItemsLike | None, chains: int, target: Target, independent: bool
) -> Integers | None:
    """Return one starting basis for each chain, or None if none was given."""
    if init is None:
        return None
    starts = target.items(init, "init")
    if starts.ndim > 2 or (starts.ndim == 2 and len(starts) != chains):
        raise ValueError(
            f"init must be one basis or one for each of the {chains} chains, "
            f"got an array of shape {starts.shape}"
        )
    if independent:
        raise ValueError("init is for Markov chains; exact draws need no starting point")
    return np.broadcast_to(starts, (chains, starts.shape[-1]))


def _result(run: Run, target: Target, method: str, sets: TrackedSets) -> Samples:
    """Return the draws of all chains, cut to the length of the shortest, and what was counted."""
    subsets, tracked = run.cut()
    if run.sampler.independent and sets.size:
        tracked = presence(subsets, sets)
    if target.sizes_vary:  # rows as long as the largest draw
        subsets = subsets[:, :, : max(1, int((subsets >= 0).sum(axis=2).max(initial=0)))]
    stats = dict(zip(run.sampler.counters, run.counts.T, strict=True))
    seconds = [group.seconds / group.chains for group in run.groups for _ in group.rngs]
    stats["seconds"] = np.array(seconds)
    return Samples(subsets, target, method, tracked=tracked, stats=stats)
