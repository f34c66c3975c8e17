"""`sample`: seeds, chains, executors, budgets, interrupts, progress."""

import dataclasses
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from cases import targets
from law import enumerate_law

from zonodpp import Exact, Exchange, HitAndRun, ProjectionDPP, Trees, sample
from zonodpp.exact import projection as exact
from zonodpp.runs import executors as tasks
from zonodpp.runs import groups
from zonodpp.runs.executors import run_elsewhere, run_on_threads
from zonodpp.runs.groups import Run, Slice, start_groups, take_turns
from zonodpp.runs.progress import Progress

TARGETS = targets()
TARGET = TARGETS["gaussian"]
MANY = 2_000_000  # more draws than any test waits for
LARGER = ProjectionDPP(np.random.default_rng(0).normal(size=(10, 200)))


def draws(*args, **options):
    return sample(*args, method="exact", **options).subsets


# Seeds.


def test_same_seed_same_draws():
    assert np.array_equal(draws(TARGET, 50, rng=1), draws(TARGET, 50, rng=1))
    assert not np.array_equal(draws(TARGET, 50, rng=1), draws(TARGET, 50, rng=2))
    assert not np.array_equal(draws(TARGET, 50), draws(TARGET, 50))


@pytest.mark.parametrize("algorithm", ["rejection", "chain-rule"])
def test_number_of_workers_does_not_change_draws(algorithm):
    one, four = (
        draws(LARGER, 700, rng=3, chains=5, workers=workers, algorithm=algorithm)
        for workers in (1, 4)
    )
    assert np.array_equal(one, four)


def test_more_draws_begin_with_the_same():
    assert np.array_equal(draws(TARGET, 500, rng=1)[:, :50], draws(TARGET, 50, rng=1))


def test_chains_differ_and_do_not_depend_on_their_number():
    four = draws(TARGET, 50, rng=1, chains=4)
    assert np.array_equal(four[:2], draws(TARGET, 50, rng=1, chains=2))
    for i, j in combinations(range(4), 2):
        assert not np.array_equal(four[i], four[j])


@pytest.mark.parametrize("algorithm", ["rejection", "chain-rule"])
def test_slices_do_not_change_draws(monkeypatch, algorithm):
    expected = draws(LARGER, 600, rng=4, chains=3, algorithm=algorithm)
    for block, turn in ((1e-9, 1e-9), (1e-4, 1e-3), (10.0, 10.0)):
        monkeypatch.setattr(groups, "BLOCK", block)
        monkeypatch.setattr(tasks, "SLICE", turn)
        again = draws(LARGER, 600, rng=4, chains=3, workers=2, algorithm=algorithm)
        assert np.array_equal(again, expected)


CHAINS = {
    "exchange": {"method": "exchange"},
    "barker": {"method": "exchange", "rule": "barker"},
    "zonotope": {"method": "zonotope"},
    "paper": {"method": "zonotope", "preset": "paper"},
}


@pytest.mark.parametrize("options", CHAINS.values(), ids=CHAINS)
def test_steps_to_a_draw_are_cut_without_a_trace(monkeypatch, options):
    """Calls of one step each and calls of many draws: the same draws and the same averages."""
    call = {"rng": 4, "chains": 2, "burn_in": 5, "thin": 7, "track": [[0, 1], [2]], **options}
    monkeypatch.setattr(groups, "BLOCK", 10.0)
    expected = sample(TARGET, 60, **call)
    monkeypatch.setattr(groups, "BLOCK", 1e-12)  # every call is cut down to one step
    again = sample(TARGET, 60, **call)
    assert np.array_equal(again.subsets, expected.subsets)
    assert np.array_equal(again.tracked, expected.tracked)
    assert np.array_equal(again.stats["steps"], expected.stats["steps"])


def test_other_processes_draw_the_same():
    expected = sample(TARGETS["sparse"], 300, rng=5, chains=3, track=[[0, 1]], method="exact")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        found = sample(
            TARGETS["sparse"], 300, rng=5, chains=3, track=[[0, 1]], method="exact", executor=pool
        )
        assert np.array_equal(found.subsets, expected.subsets)
        assert np.array_equal(found.tracked, expected.tracked)
        assert np.array_equal(found.stats["proposals"], expected.stats["proposals"])
        # What travelled is compiled for the same read-only arrays: nothing to compile there.
        assert pool.submit(signatures).result() <= 1


def signatures():
    """Number of versions of the kernel that this process has compiled or loaded."""
    return len(exact.draw_by_rejection.signatures)


def test_threads_of_ones_own_draw_the_same():
    with ThreadPoolExecutor(2) as pool:
        assert np.array_equal(
            draws(LARGER, 200, rng=6, chains=3, executor=pool),
            draws(LARGER, 200, rng=6, chains=3),
        )
        assert pool.submit(int, 1).result() == 1  # still open


@pytest.mark.parametrize(
    "make",
    [
        lambda: 7,
        lambda: [1, 2, 3],
        lambda: np.random.SeedSequence(7),
        lambda: np.random.PCG64(7),
        lambda: np.random.default_rng(7),
        lambda: np.random.Generator(np.random.Philox(7)),
        lambda: np.random.RandomState(7),
    ],
)
def test_rng_is_anything_numpy_takes(make):
    try:
        np.random.default_rng(make())
    except TypeError:
        pytest.skip("NumPy before 2.2 takes no RandomState")
    assert np.array_equal(
        draws(TARGET, 30, rng=make(), chains=2), draws(TARGET, 30, rng=make(), chains=2)
    )


@pytest.mark.parametrize("rng", [-1, 1.5, "seven", [3, -1], {}])
def test_what_is_no_seed_is_refused_by_name(rng):
    with pytest.raises((TypeError, ValueError), match=r"rng must be a seed.*got"):
        sample(TARGET, 3, rng=rng)


def test_a_generator_goes_on_from_call_to_call():
    rng = np.random.default_rng(7)
    first, second = draws(TARGET, 30, rng=rng), draws(TARGET, 30, rng=rng)
    assert not np.array_equal(first, second)
    assert np.array_equal(first, draws(TARGET, 30, rng=7))


def test_global_random_state_is_not_touched():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    draws(TARGET, 10)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


# The result.


def test_shape_type_and_order():
    samples = sample(TARGET, 40, rng=0, chains=3)
    assert samples.subsets.shape == (3, 40, 3)
    assert np.issubdtype(samples.subsets.dtype, np.integer)
    assert (np.diff(samples.subsets, axis=2) > 0).all()
    assert samples.tracked.shape == (3, 40, 0)
    assert samples.target is TARGET
    assert samples.method == "exact"
    assert (samples.stats["draws"] == 40).all()
    assert (samples.stats["seconds"] > 0).all()


def test_thousand_draws_by_default():
    assert sample(TARGET, rng=0).subsets.shape == (1, 1000, 3)


def test_burn_in_and_thin_leave_independent_draws_alone():
    assert np.array_equal(draws(TARGET, 20, rng=0, burn_in=100, thin=7), draws(TARGET, 20, rng=0))


def test_estimates_agree_with_the_target():
    samples = sample(TARGET, 5000, rng=1, chains=4)
    error = np.sqrt(TARGET.marginals() * (1 - TARGET.marginals()) / 20_000)
    assert (np.abs(samples.marginals() - TARGET.marginals()) < 4.5 * error).all()
    assert samples.inclusion([0, 1]) == pytest.approx(TARGET.inclusion([0, 1]), abs=0.015)


# Independent thinning keeps a DPP.


@pytest.mark.parametrize("size", [0.6, 1.5, 3])
def test_thinned_draws_follow_the_scaled_kernel(size):
    """P(S in thinned) = (size / r)^|S| det K_S, the DPP with kernel (size / r) K."""
    N = 40_000
    thinned = sample(TARGET, N // 2, rng=2, chains=2).thinned(size, rng=3)
    bases, law = enumerate_law(TARGET)
    keep = size / TARGET.r
    for k in (1, 2, 3):
        for S in combinations(range(TARGET.n), k):
            p = keep**k * law[np.isin(bases, S).sum(axis=1) == k].sum()
            spread = np.sqrt(max(p * (1 - p), 1e-9) / N)
            assert abs(thinned.inclusion(S) - p) < 5 * spread + 1e-12
    sizes = thinned.sizes.ravel()
    assert abs(sizes.mean() - size) <= 5 * np.sqrt(size * (1 - keep) / N)
    binomial = [1, 3, 3, 1] * keep ** np.arange(4) * (1 - keep) ** np.arange(3, -1, -1)
    assert np.bincount(sizes, minlength=4) / N == pytest.approx(binomial, abs=0.015)


def test_thinning_that_drops_together_would_be_seen():
    """Keeping or dropping whole draws has the right marginals and the wrong pairs."""
    subsets = draws(TARGET, 20_000, rng=2)
    whole = subsets[:, np.random.default_rng(0).random(20_000) < 0.5]
    p = 0.25 * TARGET.inclusion([0, 4])
    share = ((whole == 0).any(axis=2) & (whole == 4).any(axis=2)).sum() / 20_000
    assert abs(share - p) > 5 * np.sqrt(p * (1 - p) / 20_000)


def test_thinned_rows_are_ascending_and_filled_up():
    thinned = sample(TARGET, 200, rng=0).thinned(1.5, rng=1)
    for row, size in zip(thinned.subsets[0], thinned.sizes[0], strict=True):
        assert (row[size:] == -1).all()
        assert (np.diff(row[:size]) > 0).all()
    assert np.array_equal(thinned.subsets, sample(TARGET, 200, rng=0).thinned(1.5, rng=1).subsets)


# Time budget.


def test_seconds_return_chains_of_equal_length():
    samples = sample(LARGER, seconds=0.3, chains=5, workers=2, rng=0)
    assert samples.subsets.shape[0] == 5
    assert samples.subsets.shape[1] > 1
    assert samples.tracked.shape[:2] == samples.subsets.shape[:2]
    expected = draws(LARGER, samples.subsets.shape[1], chains=5, rng=0)
    assert np.array_equal(samples.subsets, expected)


def test_draws_and_seconds_together_stop_at_the_first():
    assert sample(TARGET, 20, seconds=60, rng=0, chains=2).subsets.shape == (2, 20, 3)
    samples = sample(LARGER, MANY, seconds=0.2, rng=0)
    assert 0 < samples.subsets.shape[1] < MANY


@pytest.mark.parametrize("pool", [None, ThreadPoolExecutor])
def test_every_chain_has_its_turn_however_short_the_time(pool):
    with pool(1) if pool else ThreadPoolExecutor(1) as own:
        executor = own if pool else None
        samples = sample(LARGER, seconds=1e-9, chains=12, rng=0, executor=executor, workers=1)
    assert samples.subsets.shape[1] > 0
    expected = draws(LARGER, samples.subsets.shape[1], chains=12, rng=0)
    assert np.array_equal(samples.subsets, expected)


def test_waiting_for_the_last_slices_does_not_spin(monkeypatch):
    """Once the time is up, Python sleeps until each running slice is back."""
    calls = []
    sampler = Fake(pause=0.3)
    found = begun(sampler, chains=2, draws=None)
    after = time.perf_counter() + 0.05
    run_on_threads(found, 2, groups.SLICE, after, lambda: calls.append(1))
    assert len(calls) < 20


def test_seconds_may_end_within_the_steps_to_a_draw():
    for call in ({"thin": 10**15}, {"thin": 2, "burn_in": 10**15}):
        with pytest.warns(UserWarning, match="no draws: seconds=0.05 went by"):
            samples = sample(TARGET, seconds=0.05, rng=0, method="exchange", **call)
        assert samples.subsets.shape == (1, 0, 3)
        assert samples.stats["steps"][0] > 0


def test_time_that_passes_in_burn_in_gives_a_warning():
    method = Given(Fake(pause=0.05, independent=False))
    with pytest.warns(UserWarning, match=r"no draws: seconds=0.1 .* 1000 steps of burn-in"):
        samples = sample(TARGET, method=method, seconds=0.1, burn_in=1000, rng=0)
    assert samples.subsets.shape == (1, 0, 3)


# Interrupts and failures.


@dataclasses.dataclass(frozen=True)
class Given:
    """A method that is not of this package, for a sampler that is made before."""

    sampler: object
    name = "given"

    def prepare(self, target):
        return self.sampler


class Fake:
    """A sampler that counts, sleeps, and fails when told to."""

    counters = ("draws",)
    n, width, batch = 8, 3, 1

    def __init__(self, *, pause=0.0, fail_after=None, independent=True):
        self.pause = pause
        self.fail_after = fail_after
        self.independent = independent

    def start(self, rngs, init, sets):
        return {"counts": np.zeros((1, 1), np.int64)}

    def advance(self, state, rngs, block, sets):
        time.sleep(self.pause)
        [counts], [subsets] = state["counts"], block.subsets
        if self.fail_after is not None and counts[0] >= self.fail_after:
            raise ArithmeticError("a chain failed")
        subsets[:] = counts[0] + np.arange(len(subsets))[:, None]
        counts[0] += len(subsets)
        return len(subsets)


def begun(sampler, *, chains, draws, thin=1):
    rngs = [np.random.default_rng(k) for k in range(chains)]
    return Run(sampler, start_groups(sampler, rngs), draws, thin)


@pytest.fixture
def ctrl_c():
    """Handle SIGINT, which Python ignores in a process that was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupt_returns_what_was_drawn():
    def stop_after_a_while(progress):
        if progress.drawn > 500:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match=r"interrupted: returning the \d+ draws made so far"):
        samples = sample(LARGER, MANY, chains=3, workers=2, rng=0, progress=stop_after_a_while)
    assert samples.subsets.shape[0] == 3
    length = samples.subsets.shape[1]
    assert 0 < length < MANY
    assert np.array_equal(samples.subsets, draws(LARGER, length, chains=3, rng=0))


def test_ctrl_c_while_waiting(ctrl_c):
    """A chain sends the signal when both have draws; the main thread then waits for slices."""
    main, made, unsent = threading.main_thread().ident, {}, threading.Lock()

    class Signalling(Fake):
        def advance(self, state, rngs, block, sets):
            done = super().advance(state, rngs, block, sets)
            time.sleep(1e-4 * done)  # MANY draws would take minutes
            made[id(state)] = int(state["counts"][0, 0])
            both = len(made) == 2 and min(made.values()) > 100
            if both and unsent.acquire(blocking=False):  # once
                signal.pthread_kill(main, signal.SIGINT)
            return done

    method = Given(Signalling())
    with pytest.warns(UserWarning, match="interrupted"):
        samples = sample(TARGET, MANY, method=method, chains=2, workers=2, rng=0)
    length = samples.subsets.shape[1]
    assert 0 < length < MANY
    assert np.array_equal(samples.subsets[:, :, 0], np.tile(np.arange(length), (2, 1)))


def test_ctrl_c_within_a_slice_of_a_single_chain_keeps_its_draws():
    class Stopped(Fake):
        def advance(self, state, *arguments):
            if state["counts"][0, 0] > 200:
                raise KeyboardInterrupt
            return super().advance(state, *arguments)

    method = Given(Stopped())
    with pytest.warns(UserWarning, match=r"interrupted: returning the \d+ draws made so far"):
        samples = sample(TARGET, 10**6, method=method, rng=0)
    [found] = samples.subsets[:, :, 0]
    assert len(found) > 200
    assert np.array_equal(found, np.arange(len(found)))


def test_ctrl_c_is_heard_within_the_steps_to_a_draw():
    """No call of compiled code is asked for more steps than fit into a slice."""
    asked = []

    class Endless(Fake):
        def advance(self, state, rngs, block, sets):
            asked.append(block.thin)
            time.sleep(min(block.thin, 10**5) * 1e-5)
            return 1

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_turns(begun(Endless(), chains=1, draws=1, thin=10**15), groups.SLICE, np.inf, stop)
    assert max(asked) <= groups.BLOCK / 1e-5


def test_interrupt_that_reached_a_worker_loses_only_its_slice():
    """Processes get Ctrl-C too; their KeyboardInterrupt comes back instead of draws."""

    class Stopped(Fake):
        def advance(self, state, *arguments):
            made = super().advance(state, *arguments)
            if state["counts"][0, 0] > 200:
                raise KeyboardInterrupt
            return made

    stopped = begun(Stopped(pause=0.001), chains=2, draws=10**6)
    with ThreadPoolExecutor(2) as pool, pytest.raises(KeyboardInterrupt):
        run_elsewhere(stopped, pool, 0.004, np.inf, None)
    subsets, _ = stopped.cut()
    assert 0 < subsets.shape[1] <= 200
    assert np.array_equal(subsets[1, :, 0], np.arange(subsets.shape[1]))


def test_ctrl_c_while_draws_are_stored_counts_only_stored_draws(monkeypatch):
    """The draws of a slice made elsewhere are lost if Ctrl-C comes while they are copied."""

    def interrupt(*arguments):
        raise KeyboardInterrupt

    sampler, room = Fake(), groups._FIRST_ROOM
    found = begun(sampler, chains=1, draws=None)
    after = dataclasses.replace(found.groups[0], drawn=2 * room)
    made = Slice(after, np.zeros((1, 2 * room, 3), np.int32), np.zeros((1, 2 * room, 0)))
    monkeypatch.setattr(groups, "empty_rows", interrupt)  # the arrays have to grow
    with pytest.raises(KeyboardInterrupt):
        found.store(0, made)
    assert found.length == 0
    monkeypatch.undo()
    found.store(0, made)
    assert found.cut()[0].shape == (1, 2 * room, 3)


def test_failure_in_a_chain_comes_out():
    method = Given(Fake(pause=0.001, fail_after=30))
    for executor in (None, ThreadPoolExecutor(2)):
        with pytest.raises(ArithmeticError, match="a chain failed"):
            sample(TARGET, 10**6, method=method, chains=3, rng=0, executor=executor)


def test_failure_in_a_kernel_comes_out(monkeypatch):
    def fail(*args):
        raise ArithmeticError("no")

    monkeypatch.setattr(exact, "draw_by_rejection", fail)
    with pytest.raises(ArithmeticError, match="no"):
        sample(TARGET, 10, rng=0, chains=4)


def test_failure_in_progress_comes_out():
    def fail(progress):
        raise LookupError("in progress")

    with pytest.raises(LookupError, match="in progress"):
        sample(LARGER, MANY, chains=2, rng=0, progress=fail)


def test_arrays_of_draws_grow_and_are_cut(monkeypatch):
    monkeypatch.setattr(groups, "_FIRST_ROOM", 2)  # full after the first call
    found = begun(Fake(), chains=2, draws=None)
    take_turns(found, groups.SLICE, time.perf_counter() + 0.05, None)
    assert found.subsets.shape[1] > 2
    subsets, tracked = found.cut()
    length = subsets.shape[1]
    assert length == found.length
    assert tracked.shape == (2, length, 0)
    assert np.array_equal(subsets[0, :, 0], np.arange(length))


# Arguments that no machine can serve, and those of other libraries.


@pytest.mark.parametrize("name", ["draws", "chains", "thin", "burn_in", "workers"])
def test_counts_that_are_too_large(name):
    call = {"draws": 3, "method": "exchange"}
    with pytest.raises(ValueError, match=f"{name} must be at most"):
        sample(TARGET, **{**call, name: 10**30})
    with pytest.raises(TypeError, match=f"{name} must be a whole number, got 1e"):
        sample(TARGET, **{**call, name: 1e30})


@pytest.mark.parametrize("call", [{"chains": 10**12}, {"draws": 10**17}, {"chains": 10**10}])
def test_more_than_memory_holds(call):
    with pytest.raises(MemoryError, match=r"chains of .* draws take about .* ask for fewer"):
        sample(TARGET, **{"draws": 10**4, **call})


def test_states_that_memory_does_not_hold(monkeypatch):
    class Large(Fake):
        def start(self, *arguments):
            return {"counts": np.zeros((1, 1), np.int64), "table": np.zeros((1, 1000))}

    monkeypatch.setattr(os, "sysconf", lambda name: 2048)  # a machine of 4 MiB
    method = Given(Large())
    assert len(sample(TARGET, 1, method=method, chains=10, rng=0).subsets) == 10
    with pytest.raises(MemoryError, match="the states of 800 chains take about"):
        sample(TARGET, 1, method=method, chains=800, rng=0)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("seed", "rng"),
        ("random_state", "rng"),
        ("n_samples", "draws"),
        ("size", "draws"),
        ("n_jobs", "workers"),
        ("burnin", "burn_in"),
        ("chain", "chains"),
        ("algoritm", "algorithm"),
    ],
)
def test_names_of_other_libraries_get_a_hint(name, meant):
    with pytest.raises(TypeError, match=rf"no option '{name}'; did you mean {meant}=\?"):
        sample(TARGET, 10, method="exact", **{name: 0})


def test_a_name_like_no_other_gets_no_hint():
    with pytest.raises(TypeError, match=r"no option 'colour'; it knows 'algorithm'"):
        sample(TARGET, 10, method="exact", colour=0)


# Progress.


def test_progress_is_reported():
    reports = []
    samples = sample(LARGER, 20_000, rng=0, chains=2, progress=reports.append)
    assert reports
    assert all(isinstance(report, Progress) for report in reports)
    drawn = [report.drawn for report in reports]
    assert drawn == sorted(drawn)
    assert drawn[-1] == samples.subsets.shape[0] * samples.subsets.shape[1] == reports[-1].total
    assert reports[-1].share == 1.0
    assert reports[-1].remaining == 0.0
    assert reports[-1].steps_per_second > 0
    assert "40,000/40,000 draws" in reports[-1].line()


def test_progress_of_a_timed_run_has_no_total():
    reports = []
    sample(LARGER, seconds=0.3, rng=0, progress=reports.append)
    assert reports[-1].total is None
    assert 0 < reports[-1].share <= 1
    assert "s left" in reports[-1].line()


def test_bar_is_drawn_and_wiped(capsys):
    sample(LARGER, seconds=0.9, rng=0, progress=True)
    shown = capsys.readouterr().err
    assert "steps/s" in shown
    assert shown.endswith("\r")
    assert shown[:-1].split("\r")[-1].strip() == ""


def test_no_bar_where_nobody_looks(capsys):
    sample(LARGER, seconds=0.7, rng=0)
    sample(LARGER, seconds=0.7, rng=0, progress=False)
    assert capsys.readouterr() == ("", "")


def test_import_is_light_and_pipes_stay_silent():
    program = (
        "import sys, zonodpp\n"
        "target = zonodpp.ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])\n"
        "zonodpp.sample(target, seconds=0.7, rng=0)\n"
        "heavy = {'matplotlib', 'sklearn', 'networkx', 'pandas', 'arviz', 'dask', 'cvxopt'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr == ""


# Methods.


def test_a_method_is_a_name_with_options_or_an_object():
    by_name = sample(TARGET, 20, method="exchange", rule="barker", rng=0)
    by_object = sample(TARGET, 20, method=Exchange(rule="barker"), rng=0)
    assert by_name.method == by_object.method == "exchange"
    assert np.array_equal(by_name.subsets, by_object.subsets)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: sample(TARGET, 1, method=Exchange(), rule="barker"), TypeError, "rule must go in"),
        (lambda: sample(TARGET, 1, method=3), TypeError, "such as HitAndRun"),
        (lambda: sample(TARGET, 1, rule="barker"), TypeError, "method 'exact' has no option 'rule"),
        (lambda: Exchange(rule="baker"), ValueError, "rule must be one of"),
        (lambda: Exact(algorithm="wilson"), ValueError, "algorithm must be one of"),
        (lambda: Trees(algorithm="rejection"), ValueError, "algorithm must be one of"),
        (lambda: HitAndRun(line={}), ValueError, "line must be one of"),
        (lambda: HitAndRun(tiling="old"), ValueError, "tiling must be one of"),
    ],
)
def test_bad_methods(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_an_open_number_of_draws_ends_where_memory_does(monkeypatch, tmp_path):
    """The draws made so far are returned, and the checkpoint holds them too."""
    monkeypatch.setattr(groups, "available_memory", lambda: 100_000)
    path = tmp_path / "run.npz"
    call = {"method": "exact", "rng": 0, "seconds": 60.0}
    with pytest.warns(RuntimeWarning, match=r"memory is full; .* returning the 4096 draws"):
        found = sample(TARGET, checkpoint=path, **call)
    assert np.array_equal(found.subsets, draws(TARGET, 4096, rng=0))
    monkeypatch.undo()
    again = draws(TARGET, 5000, checkpoint=path, rng=0)
    assert np.array_equal(again, draws(TARGET, 5000, rng=0))
    monkeypatch.setattr(groups, "available_memory", lambda: 30_000)
    with ThreadPoolExecutor(1) as pool:
        for options in ({"chains": 3, "workers": 2}, {"executor": pool}):
            with pytest.warns(RuntimeWarning, match=r"memory is full; .* returning the 1024 draws"):
                found = sample(TARGET, **call, **options)
            assert found.subsets.shape[1] == 1024


def test_an_allocation_that_fails_ends_an_open_number_of_draws(monkeypatch):
    empty_rows = groups.empty_rows

    def no_room(sampler, *shape):
        if shape[-1] > 2048:
            raise MemoryError
        return empty_rows(sampler, *shape)

    monkeypatch.setattr(groups, "empty_rows", no_room)
    with pytest.warns(RuntimeWarning, match="memory is full; .* returning the 2048 draws"):
        found = sample(TARGET, method="exact", rng=0, seconds=60.0)
    assert np.array_equal(found.subsets, draws(TARGET, 2048, rng=0))


def test_memory_that_a_slice_lacks_loses_no_earlier_draws():
    class Poor(Fake):
        def advance(self, state, *arguments):
            if state["counts"][0, 0] > 200:
                raise MemoryError("no room for a step")
            return super().advance(state, *arguments)

    with pytest.warns(RuntimeWarning, match=r"memory is full; .* returning the \d+ draws"):
        found = sample(TARGET, method=Given(Poor()), rng=0, seconds=60.0)
    assert found.subsets.shape[1] > 200
