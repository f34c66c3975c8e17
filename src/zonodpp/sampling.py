"""`sample`: the one way to draw from a target."""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import time
import warnings
from concurrent.futures import Executor
from functools import partial
from typing import Any

import numpy as np

from zonodpp._jit import announce_compilation
from zonodpp.chains.checkpoint import Checkpoint, identify
from zonodpp.chains.progress import Progress, reporter, work_done
from zonodpp.chains.slices import (
    Chain,
    Interrupted,
    LostWorkers,
    Plan,
    Store,
    need_memory,
    run_chains,
)
from zonodpp.inputs import as_count, as_positive, one_of, spawn
from zonodpp.samplers.tracking import tracked_sets
from zonodpp.samples import Samples
from zonodpp.targets import VolumeSampling
from zonodpp.targets.target import Target

METHODS = {
    "exact": "exact",
    "zonotope": "hit_and_run",
    "exchange": "exchange",
    "trees": "trees",
}  # method -> file in zonodpp.samplers
MOST_WORKERS = 10_000  # threads; more than any machine runs at once
OTHER_NAMES = {  # what other libraries call the parameters of `sample`
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
}


def sample(
    target: Target,
    draws: int | None = None,
    *,
    method: str = "auto",
    chains: int = 1,
    rng: Any = None,
    burn_in: int = 0,
    thin: int = 1,
    seconds: float | None = None,
    init: Any = None,
    track: Any = None,
    progress: Any = None,
    executor: Executor | None = None,
    workers: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Samples:
    """Draw diverse subsets.

    Parameters
    ----------
    target : ProjectionDPP, VolumeSampling, DPP or KDPP
        What to draw from.
    draws : int, default 1000
        Draws kept for each chain. With ``seconds`` and no ``draws``: as many as fit.
    method : {"auto", "exact", "zonotope", "exchange", "trees"}
        "auto" takes the best for the target; `Samples.method` says which that was.
    chains : int, default 1
        Independent runs, each with its own generator spawned from ``rng``.
    rng : seed or numpy Generator, optional
        Same seed, same draws, whatever the number of workers.
    burn_in, thin : int
        Steps thrown away first, and steps from one kept draw to the next. Independent draws need
        neither, and ignore both.
    seconds : float, optional
        Stop after this time and return what was drawn; all chains are cut to the same length. A
        draw whose ``thin`` steps are not finished by then is not returned.
    init : (r,) or (chains, r) items, optional
        Starting bases, for Markov chains; items by number or label, see `Target.items`.
    track : list of sets of items, optional
        Record these sets in `Samples.tracked`: presence in each draw, with method exchange averaged
        over the ``thin`` steps to it, with zonotope averaged along each line. Read it with
        ``trace(tracked=k)``.
    progress : bool or callable, optional
        None shows a bar on a terminal and in a notebook, and nothing elsewhere. A callable gets a
        `Progress` up to ten times a second.
    executor : concurrent.futures.Executor, optional
        Where chains run; threads of this process by default. Work that an executor loses (a
        worker of a cluster was killed) is made again. If all of its workers are lost, the draws
        made so far are returned, with a warning.
    workers : int, optional
        Number of threads, when no executor is given; one for each processor by default.
    checkpoint : path, optional
        A file that is written now and then. The same call goes on from it, whatever stopped the
        run, and ends with the same draws; with a larger ``draws`` it makes the run longer.
    **options
        Options of the method. exact: ``algorithm`` ("rejection", "chain-rule"). trees:
        ``algorithm`` ("wilson", "aldous-broder"). exchange: ``rule`` ("heat-bath", "metropolis",
        "barker"). zonotope: ``preset="paper"``, or ``line``, ``directions``, ``tiling``,
        ``window``, ``reflect``, ``base_measure``, ``c``.

    Returns
    -------
    Samples

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
    if not isinstance(target, Target):
        raise TypeError(
            f"sample() draws from a target, got {type(target).__name__}; make one with "
            "ProjectionDPP.from_features(X), ProjectionDPP(A), from_kernel(K) or from_graph(G), or "
            "DPP(L=...), KDPP(L, k)"
        )
    if draws is not None or seconds is None:
        draws = as_count(1000 if draws is None else draws, "draws", 1)
    n_chains = as_count(chains, "chains", 1)
    burn_in = as_count(burn_in, "burn_in", 0)
    thin = as_count(thin, "thin", 1)
    if seconds is not None:
        seconds = as_positive(seconds, "seconds")
    if workers is not None:
        workers = as_count(workers, "workers", 1, MOST_WORKERS)
    if one_of(method, "method", ("auto", *METHODS)) == "auto":
        method = best_method(target)
    track = tracked_sets(track, target)

    with announce_compilation():
        sampler = prepare(method, target, track, options)
        if sampler.independent:
            burn_in, thin = 0, 1
        width = getattr(sampler, "width", getattr(target, "k", target.r))
        plan = Plan(draws, thin, width, sampler.tracker.size)
        store = Store(plan, n_chains)
        starts = _starts(init, n_chains, target)
        generators = spawn(rng, n_chains)
        file = None
        if checkpoint is not None:
            call = {"method": method, "options": options, "chains": n_chains, "track": track}
            call |= {"burn_in": burn_in, "thin": thin, "init": init}
            file = Checkpoint(
                checkpoint, identify(target, None if rng is None else generators, **call)
            )
        runs: list[Chain] = []
        for generator, start in zip(generators, starts, strict=True):
            state = sampler.start(generator, start)
            if not runs:
                size = sum(array.nbytes for array in state.values())
                need_memory(n_chains * size, f"the states of {n_chains:,} chains")
            runs.append(Chain(generator, state, burn_in, sums=np.zeros(plan.tracked)))
        if file is not None:
            file.resume(sampler, target.n, runs, store)
        _run(sampler, runs, plan, store, file, progress, seconds, executor, workers)
    if seconds is not None and not store.filled.all():
        warnings.warn(
            f"no draws: seconds={seconds} went by in the {burn_in} steps of burn-in and the {thin} "
            "steps to the first draw",
            stacklevel=2,
        )
    subsets, tracked = store.cut()
    if hasattr(sampler, "width"):  # sizes vary: rows as long as the largest draw
        subsets = subsets[:, :, : max(1, int((subsets >= 0).sum(axis=2).max(initial=0)))]
    counts = np.stack([chain.state["counts"] for chain in runs])
    stats = {name: counts[:, k] for k, name in enumerate(sampler.counters)}
    stats["seconds"] = np.array([chain.seconds for chain in runs])
    return Samples(subsets, target, method, tracked=tracked, stats=stats)


def _run(
    sampler: Any,
    chains: list[Chain],
    plan: Plan,
    store: Store,
    file: Checkpoint | None,
    progress: Any,
    seconds: float | None,
    executor: Executor | None,
    workers: int | None,
) -> None:
    """Run the chains, with progress and checkpoints between slices; Ctrl-C ends it early."""
    begun = time.perf_counter()
    before = work_done(chains, plan.thin)  # a checkpoint's, in a run that goes on
    lost = None
    with reporter(progress) as report:

        def after_slice() -> None:
            elapsed = time.perf_counter() - begun
            report(Progress.of(sampler, chains, plan, elapsed, seconds, before))
            if file is not None:
                file.write_if_due(store)

        try:
            run_chains(
                sampler,
                chains,
                plan,
                store,
                seconds=seconds,
                executor=executor,
                workers=workers,
                at_rest=None if file is None else file.rest,
                after_slice=after_slice,
            )
        except Interrupted:
            warnings.warn(
                f"interrupted: returning the {int(store.filled.min())} draws made so far",
                stacklevel=3,
            )
        except LostWorkers as error:
            lost = error
    if file is not None:
        file.write(store)
    if lost is not None and not store.filled.all():
        raise RuntimeError(f"{lost} before every chain had a draw") from lost
    if lost is not None:
        warnings.warn(
            f"{lost}: returning the {int(store.filled.min())} draws made so far",
            RuntimeWarning,
            stacklevel=3,
        )


def prepare(method: str, target: Target, track: Any, options: dict[str, Any]) -> Any:
    """Prepare the sampler of this method for this target."""
    if isinstance(target, VolumeSampling):
        return _prepare(METHODS[method], method, target, track, options)
    if method == "exact":
        return _prepare("mixture", method, target, track, options)
    if method == "trees":
        raise ValueError("method='trees' draws spanning trees; make the target with from_graph(G)")
    if hasattr(target, "k"):
        raise ValueError(
            f"method={method!r} does not draw from a KDPP: no chain reaches every set of k items "
            "whatever the kernel is. Use method='exact' (or 'auto'), whose draws are independent"
        )
    dilation = importlib.import_module("zonodpp.samplers.dilation")
    return dilation.prepare(target, partial(prepare_chain, method, track, options))


def prepare_chain(method: str, track: Any, options: dict[str, Any], target: VolumeSampling) -> Any:
    """`prepare` for the chains inside those for DPPs; a function of the target alone."""
    return prepare(method, target, track, options)


def _prepare(file: str, method: str, target: Target, track: Any, options: dict[str, Any]) -> Any:
    """Call the sampler's ``prepare`` with options it knows; name those it does not."""
    function = importlib.import_module(f"zonodpp.samplers.{file}").prepare
    known = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    unknown = sorted(set(options) - set(known))
    if unknown:
        hints = [f"; did you mean {meant}=?" for name in unknown if (meant := _meant(name, known))]
        raise TypeError(
            f"method {method!r} has no option {', '.join(map(repr, unknown))}{''.join(hints[:1])}; "
            f"it knows {', '.join(map(repr, known))}"
        )
    return function(target, track, **options)


def _meant(name: str, known: list[str]) -> str | None:
    """Return the parameter of `sample` or the option that was probably meant, if there is one."""
    for parameter, others in OTHER_NAMES.items():
        if name.lower() in others:
            return parameter
    near = difflib.get_close_matches(name.lower(), [*known, *OTHER_NAMES], n=1, cutoff=0.7)
    return near[0] if near else None


def best_method(target: Target) -> str:
    """Choose the method for ``method="auto"``: independent draws wherever they can be had."""
    if target.power != 2:
        return "exchange"
    if isinstance(target, VolumeSampling) and target.graph is not None:
        cost = importlib.import_module("zonodpp.samplers.walk_cost")
        # NaN, for graphs too large to tell, means trees as well.
        if not cost.expected_steps(target) > cost.steps_of_exact(target.r):
            return "trees"
        cost.announce_exact(target)
    return "exact"


def _starts(init: Any, chains: int, target: Target) -> list[Any]:
    """One starting basis for each chain, or None for each."""
    if init is None:
        return [None] * chains
    starts = target.items(init, "init")
    if starts.ndim == 1:
        return [starts] * chains
    if starts.ndim != 2 or len(starts) != chains:
        raise ValueError(
            f"init must be one basis or one for each of the {chains} chains, "
            f"got an array of shape {starts.shape}"
        )
    return list(starts)
