"""`prepare`: single draws, streams, and what is remembered for a target."""

import gc
import itertools
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import numpy as np
import one_chain
import pytest
from law import assert_law, assert_not_law

from zonodpp import DPP, KDPP, Exchange, HitAndRun, ProjectionDPP, prepare, sample
from zonodpp._arguments import spawn
from zonodpp.numerics import threads as _threads
from zonodpp.runs import executors as tasks
from zonodpp.runs import groups
from zonodpp.zonotope import walk as zonotope_walk
from zonodpp.zonotope.tile import tile_at

A = np.random.default_rng(0).normal(size=(3, 8))
TARGET = ProjectionDPP(A, weights=np.linspace(0.5, 2.0, 8))
GENERAL = DPP(L=A.T @ A)
CASES = {
    "exact": (TARGET, "exact", {}),
    "chain rule": (TARGET, "exact", {"algorithm": "chain-rule"}),
    "exchange": (TARGET, "exchange", {}),
    "zonotope": (TARGET, "zonotope", {}),
    "paper": (TARGET, "zonotope", {"preset": "paper"}),
    "DPP": (GENERAL, "auto", {}),
    "DPP by a chain": (GENERAL, "exchange", {}),
    "k-DPP": (KDPP(A.T @ A, 2), "auto", {}),
    "trees": (ProjectionDPP.from_graph(nx.wheel_graph(6)), "trees", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_stream_has_the_draws_of_a_chain(name):
    target, method, options = CASES[name]
    call = {"burn_in": 3, "thin": 2}
    expected = sample(target, 200, method=method, rng=5, **call, **options).subsets[0]
    stream = prepare(target, method, **options).stream(5, **call)
    for found, row in zip(stream, expected, strict=False):
        assert np.array_equal(found, row[row >= 0])


@pytest.mark.parametrize("name", ["exact", "DPP", "k-DPP", "trees"])
def test_single_draws_are_sets_in_ascending_order(name):
    target, method, options = CASES[name]
    sampler, rng = prepare(target, method, **options), np.random.default_rng(0)
    assert sampler.independent
    draws = [sampler.draw(rng) for _ in range(50)]
    assert len({tuple(draw) for draw in draws}) > 1
    for found in draws:
        assert (np.diff(found) > 0).all()
        assert target.log_prob(found) > -np.inf
    assert np.array_equal(sampler.draw(7), sampler.draw(7))


def test_law_of_single_draws():
    sampler, rng = prepare(TARGET), np.random.default_rng(1)
    assert_law(np.array([sampler.draw(rng) for _ in range(5_000)]), TARGET)


def test_law_of_single_draws_of_a_chain_needs_burn_in():
    """One step from a random basis has another law; after 300 steps the check accepts it."""
    sampler, rng = prepare(TARGET, Exchange(rule="barker")), np.random.default_rng(1)
    assert not sampler.independent
    assert_law(np.array([sampler.draw(rng, burn_in=300) for _ in range(3_000)]), TARGET)
    assert_not_law(np.array([sampler.draw(rng) for _ in range(3_000)]), TARGET)


@pytest.mark.parametrize("name", CASES)
def test_it_can_be_pickled_and_used_by_threads(name):
    target, method, options = CASES[name]
    sampler = prepare(target, method, **options)
    copies = [sampler, pickle.loads(pickle.dumps(sampler))]

    def some(k):
        return [draw.tolist() for draw in itertools.islice(copies[k % 2].stream(k // 2), 100)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(some, range(8)))
    for k in range(4):
        assert found[2 * k] == found[2 * k + 1]
    assert found[0] != found[2]


@pytest.mark.parametrize("name", CASES)
def test_what_is_prepared_is_remembered_and_goes_with_the_target(name):
    target, method, options = CASES[name]
    own = target.with_labels(list(range(target.n)))
    made = [prepare(own, method, **options)._sampler for _ in range(2)]
    first, second = (vars(getattr(s, "inner", s)) for s in made)
    large = [name for name, part in first.items() if isinstance(part, (np.ndarray, tuple))]
    assert all(first[name] is second[name] for name in large)
    gone = weakref.ref(own)
    del own, made, first, second
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("options", [{}, {"preset": "paper"}, {"tiling": "fixed"}])
def test_a_window_is_chosen_without_any_step(monkeypatch, options):
    def refuse(*arguments):
        raise AssertionError("a step was made")

    monkeypatch.setattr(zonotope_walk.ZonotopeWalk, "advance", refuse)
    HitAndRun(**options).prepare(ProjectionDPP(np.random.default_rng(1).normal(size=(4, 150))))


def test_one_short_chain_needs_no_thread(monkeypatch):
    expected = sample(TARGET, 20, rng=0).subsets

    def refuse(*arguments):
        raise AssertionError("a pool of threads was made")

    monkeypatch.setattr(tasks.futures, "ThreadPoolExecutor", refuse)
    monkeypatch.setattr(groups, "SLICE", 60.0)
    assert np.array_equal(sample(TARGET, 20, rng=0).subsets, expected)
    reports = []
    sample(TARGET, 20, rng=0, seconds=50, progress=reports.append)
    assert reports[-1].drawn == reports[-1].total == 20


@pytest.mark.parametrize("method", ["exchange", "zonotope"])
def test_starts_follow_from_the_generator_alone(method):
    expected = sample(ProjectionDPP(A), 5, method=method, chains=3, rng=9).subsets
    own = ProjectionDPP(A)
    for rng in (1, 2, 9, 9):
        found = sample(own, 5, method=method, chains=3, rng=rng).subsets
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("method", ["exchange", "zonotope"])
def test_every_chain_draws_a_start_of_its_own(method):
    """States in store, equal for all seeds, would give many equal starts among so many chains."""
    target = ProjectionDPP(np.random.default_rng(0).normal(size=(4, 200)))
    sampler = prepare(target, method)._sampler

    def start(rng):
        state = one_chain.start(sampler, rng)
        return tuple(state["inside"][0] if method == "exchange" else tile_of(state))

    def tile_of(state):
        return tile_at(state["tiles"][0, 0], sampler.width, sampler.columns.lengths.size).basis

    def from_store(rng):
        return start(np.random.default_rng(rng.integers(64)))

    def different(begin):
        return len({begin(np.random.default_rng(seed)) for seed in range(500)})

    assert different(start) > 490
    assert different(from_store) <= 64  # the twin


def test_blas_has_its_threads_back_after_the_last_small_block(monkeypatch):
    class Library:
        threads = 4

        def get_num_threads(self):
            return self.threads

        def set_num_threads(self, count):
            self.threads = count

    library = Library()
    monkeypatch.setattr(_threads, "_libraries", lambda: [library])
    first, second = _threads.one_thread(), _threads.one_thread(work=1000)
    with _threads.one_thread(work=1e12):  # large: nothing changes
        assert library.threads == 4
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # as another thread may
    assert library.threads == 1
    second.__exit__(None, None, None)
    assert library.threads == 4


def test_seeds_are_spawned_as_numpy_spawns_them():
    for found, expected in zip(spawn(5, 3), np.random.default_rng(5).spawn(3), strict=True):
        assert np.array_equal(found.random(4), expected.random(4))
    assert spawn(None)[0].random() != spawn(None)[0].random()


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: prepare(A), TypeError, "draws from a target"),
        (lambda: prepare(TARGET, rule="barker"), TypeError, "method 'exact' has no option 'rule'"),
        (lambda: prepare(TARGET).draw(0, burn_in=-1), ValueError, "burn_in must be at least 0"),
        (lambda: prepare(TARGET).stream(0, thin=0), ValueError, "thin must be at least 1"),
    ],
)
def test_bad_calls(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
