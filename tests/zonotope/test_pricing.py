"""Pools and lazy tilings: the tiles of full tests, the law by enumeration, and broken twins."""

import importlib.util
import inspect
import itertools
import sys

import cases
import networkx as nx
import numpy as np
import one_chain
import pytest
from law import assert_law, assert_not_law

from zonodpp import HitAndRun, ProjectionDPP, VolumeSampling, sample
from zonodpp.chains.contract import Block
from zonodpp.chains.tracking import TrackedSets
from zonodpp.zonotope import lazy, pool, pool_steps, pool_walk
from zonodpp.zonotope import step as line_steps
from zonodpp.zonotope import walk as zonotope_walk

TARGETS = cases.targets()
SHORT = {"window": 0.5}  # lines on which the costs of a lazy tiling of few items need not be drawn


@pytest.fixture
def small_pools(monkeypatch):
    """Pools of so few items that they are made anew, and fall back to full tests, all the time."""
    monkeypatch.setattr(pool_walk, "_ITEMS", 0.4)


def draw(target, pricing, draws=3_000, thin=6, rng=1, **options):
    return sample(
        target,
        draws,
        method="zonotope",
        pricing=pricing,
        thin=thin,
        burn_in=100,
        rng=rng,
        **options,
    )


# The same tiles


def same_path(target, steps=60, rng=3, **options):
    """Return whether a pool gives the draws, averages and tiles of full tests, and its counts.

    Rounding errors of the two differ, so paths could part where two ratios are equal up to
    rounding. Costs without ties make that as unlikely as 1e-9 for a tile.
    """
    sets = [[0], [1, 2]] if target.n > 2 and target.r > 1 else [[0]]
    runs = [
        sample(target, steps, method="zonotope", pricing=p, rng=rng, track=sets, **options)
        for p in ("all", "pool")
    ]
    one, other = runs
    same = np.array_equal(one.subsets, other.subsets)
    same = same and np.array_equal(one.stats["tiles"], other.stats["tiles"])
    return same and np.allclose(one.tracked, other.tracked, atol=1e-6), other.stats


WALKS = {
    "default": {},
    "reflected": {"reflect": True, "window": 4.0},
    "whole chord": {"window": np.inf, "reflect": False},
    "metropolis": {"line": "metropolis"},
    "paper": {"preset": "paper"},
    "fixed window": {"tiling": "fixed", "window": 1.0},
}


@pytest.mark.parametrize("options", WALKS.values(), ids=WALKS)
def test_a_pool_gives_the_tiles_of_full_tests(options, small_pools):
    refills = full = 0
    for seed, name in enumerate(TARGETS):
        same, stats = same_path(TARGETS[name], rng=seed, **options)
        assert same, name
        refills, full = refills + stats["refills"][0], full + stats["full tests"][0]
    assert refills > 1000
    assert full > 100


@pytest.mark.parametrize(("r", "n"), [(2, 300), (10, 600)])
def test_a_pool_of_the_usual_size_gives_the_tiles_of_full_tests(r, n):
    A = np.random.default_rng(r).normal(size=(r, n))
    target = ProjectionDPP(A * 10.0 ** np.random.default_rng(n).uniform(-2, 2, n))
    same, stats = same_path(target, steps=30)
    assert same
    assert 0 < stats["refills"][0] < stats["tiles"][0] / 4


def test_small_entries_are_judged_alike(small_pools):
    """Nearly parallel columns and small powers, where entries of 1e-9 and less may enter."""
    for gap, power in ((1e-6, 0.3), (1e-9, 0.3), (1e-12, 0.5)):
        rng = np.random.default_rng(3)
        A = rng.normal(size=(3, 6))
        A[:, 1] = A[:, 0] + gap * rng.normal(size=3)
        target = VolumeSampling(A, power=power)
        assert HitAndRun().prepare(target).rule.careful
        same, _ = same_path(target, steps=100)
        assert same


# Laws


@pytest.mark.parametrize("pricing", ["pool", "lazy"])
@pytest.mark.parametrize("name", TARGETS)
def test_law(name, pricing, small_pools):
    assert_law(draw(TARGETS[name], pricing).subsets, TARGETS[name])


@pytest.mark.parametrize("options", [SHORT, {"reflect": True, "window": 2.0}], ids=str)
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0, 3.0])
def test_law_for_every_power(power, options, small_pools):
    A, q = cases.matrices()["weighted"]
    target = VolumeSampling(A, power=power, weights=q)
    for pricing in ("pool", "lazy"):
        assert_law(draw(target, pricing, thin=20, **options).subsets, target)


def many_items():
    """A target of so many items that most lines need no more costs than those that are met."""
    return ProjectionDPP(np.random.default_rng(5).normal(size=(2, 40)))


def test_law_of_lines_whose_costs_are_never_all_drawn():
    samples = draw(many_items(), "lazy", draws=100_000, **SHORT)
    assert samples.stats["completed tilings"][0] < samples.stats["steps"][0] / 4
    assert_law(samples.subsets, many_items())


@pytest.mark.parametrize("pricing", ["pool", "lazy"])
def test_averages_estimate_inclusion(pricing, small_pools):
    target, sets = TARGETS["weighted"], [[0], [1, 2], [3, 4, 6]]
    exact = [float(target.inclusion(S)) for S in sets]
    for options in ({}, SHORT):
        found = draw(target, pricing, draws=8000, thin=5, track=sets, **options)
        assert np.allclose(found.tracked.mean(axis=(0, 1)), exact, atol=0.02)


# Broken twins


def twin_of(module, tmp_path, monkeypatch, **changes):
    """Import a copy of a module in whose source some parts are replaced."""
    source = inspect.getsource(module)
    for part, other in changes.values():
        assert part in source
        source = source.replace(part, other)
    name = f"twin_of_{module.__name__.rpartition('.')[2]}"
    path = tmp_path / f"{name}.py"
    path.write_text(source, "utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    twin = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, twin)
    spec.loader.exec_module(twin)
    return twin


def from_twin(module):
    """The change that imports from the twin of a module in its place."""
    return (
        f"from {module.__name__} import",
        f"from twin_of_{module.__name__.rpartition('.')[2]} import",
    )


def test_a_pool_that_forgets_how_far_the_multipliers_have_moved(tmp_path, monkeypatch, small_pools):
    moved = (" - longest * math.sqrt(moved)", "")
    twin_of(pool, tmp_path, monkeypatch, moved=moved)
    twin_of(line_steps, tmp_path, monkeypatch, pool=from_twin(pool))
    broken = twin_of(pool_steps, tmp_path, monkeypatch, steps=from_twin(line_steps))
    monkeypatch.setattr(pool_walk, "run_by_pool", broken.run_by_pool)
    target = TARGETS["weighted"]
    assert not same_path(target)[0]
    samples = draw(target, "pool", draws=20_000, tiling="fixed", window=1.0)
    assert_not_law(samples.subsets, target)


def test_a_lazy_tiling_that_forgets_what_the_path_has_swept(tmp_path, monkeypatch):
    swept = ("for k in range(corners)", "for k in range(0)")
    twin_of(lazy, tmp_path, monkeypatch, swept=swept)
    broken = twin_of(pool_steps, tmp_path, monkeypatch, lazy=from_twin(lazy))
    monkeypatch.setattr(pool_walk, "run_by_pool", broken.run_by_pool)
    samples = draw(many_items(), "lazy", draws=100_000, **SHORT)
    assert_not_law(samples.subsets, many_items())


# The contract


@pytest.mark.parametrize(("pricing", "patience"), [("pool", 3), ("lazy", 3), ("lazy", 1)])
def test_cutting_into_blocks_changes_nothing(pricing, patience, monkeypatch, small_pools):
    """Neither steps cut into calls, nor walks that pause."""
    target = TARGETS["graph wheel"]

    def run(cuts):
        sampler, sets = HitAndRun(pricing=pricing).prepare(target), TrackedSets.of([[0, 1]])
        rng = np.random.default_rng(4)
        state = sampler.start([rng], None, sets)
        subsets, tracked = np.zeros((200, target.r), np.int32), np.zeros((200, 1))
        for start, stop in itertools.pairwise(cuts):
            while start < stop:
                block = Block(subsets[None, start:stop], tracked[None, start:stop], 3)
                start += sampler.advance(state, [rng], block, sets)
            sampler.check(state)
            assert all(np.isfinite(array).all() for array in state.values())
            state = {name: array.copy() for name, array in state.items()}  # as checkpoints do
        return subsets, tracked, state["counts"]

    whole = run([0, 200])
    monkeypatch.setattr(zonotope_walk.lines, "patience_for", lambda r, n: patience)
    pieces = run(range(201))
    for one, other in zip(whole, pieces, strict=True):
        assert np.array_equal(one, other)


def test_states_that_hold_nonsense_are_refused():
    sampler = HitAndRun(pricing="lazy").prepare(TARGETS["gaussian"])
    for name, value in (("places", 99), ("places", -1), ("pools", np.nan), ("progress", 7)):
        state = one_chain.start(sampler, np.random.default_rng(0))
        state[name][:] = value
        with pytest.raises(ValueError, match=r"must lie between|item numbers|differ"):
            sampler.check(state)


def test_a_checkpoint_goes_on_in_the_middle_of_a_line(tmp_path):
    target = TARGETS["paper"]
    options = {"method": "zonotope", "rng": 0, "window": 2e6, "reflect": True, "pricing": "lazy"}
    path = tmp_path / "run.npz"
    with pytest.warns(UserWarning, match="no draws"):
        sample(target, 1, seconds=0.1, checkpoint=path, **options)
    found = sample(target, 1, checkpoint=path, **options)
    whole = sample(target, 1, **options)
    assert np.array_equal(found.subsets, whole.subsets)
    assert found.stats["tiles"] == whole.stats["tiles"]


@pytest.mark.parametrize("options", [{}, {"tiling": "fixed", "window": 1.0}])
def test_many_steps_do_not_drift(options):
    target = ProjectionDPP(np.random.default_rng(0).normal(size=(4, 60)))
    sampler = HitAndRun(pricing="pool", **options).prepare(target)
    rng = np.random.default_rng(0)
    state = one_chain.start(sampler, rng)
    one_chain.advance(sampler, state, rng, np.empty((1, 4), np.int32), thin=20_000)
    counts = dict(zip(sampler.counters, state["counts"][0].tolist(), strict=True))
    assert counts["steps"] == 20_000
    assert counts["refactorisations"] > 0
    assert counts["drifts"] == counts["lost tiles"] == 0


# Options


def test_a_graph_may_have_a_pool():
    graph = nx.grid_2d_graph(5, 5)
    target = ProjectionDPP.from_graph(graph)
    for pricing in ("pool", "lazy"):
        samples = sample(target, 30, method="zonotope", rng=0, pricing=pricing)
        for edges in samples.subsets[0]:
            assert nx.is_tree(nx.Graph([target.labels[e] for e in edges]))


def test_the_default_depends_on_the_number_of_items():
    rng = np.random.default_rng(0)
    found = {}
    for n in (100, 2_000, 60_000):
        sampler = HitAndRun().prepare(ProjectionDPP(rng.normal(size=(3, n))))
        found[n] = getattr(sampler, "lazy", None)
    assert found == {100: None, 2_000: False, 60_000: True}
    fixed = HitAndRun(tiling="fixed", window=0.1)
    assert not fixed.prepare(ProjectionDPP(rng.normal(size=(3, 60_000)))).lazy
    sparse = ProjectionDPP.from_graph(nx.grid_2d_graph(20, 20))
    assert type(HitAndRun().prepare(sparse)) is zonotope_walk.ZonotopeWalk


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pricing": "some"}, "pricing must be one of 'all', 'pool', 'lazy'"),
        ({"pricing": "lazy", "tiling": "fixed"}, "goes with tiling='fresh'"),
        ({"pricing": "lazy", "preset": "paper"}, "goes with tiling='fresh'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        HitAndRun(**options)
