"""Zonotope hit-and-run: the law for every option, broken twins, HiGHS on the same points, drift."""

import dataclasses
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
from oracles import HighsOracle

from zonodpp import HitAndRun, ProjectionDPP, VolumeSampling, prepare, sample
from zonodpp.chains.columns import matrix_of
from zonodpp.numerics.arrays import frozen
from zonodpp.zonotope import frame
from zonodpp.zonotope import line as lines
from zonodpp.zonotope import method as hit_and_run
from zonodpp.zonotope import step as line_steps
from zonodpp.zonotope import walk as zonotope_walk
from zonodpp.zonotope.method import TILES_PER_ITEM_TRACKED
from zonodpp.zonotope.tile import tile_at

OPTIONS = {
    "default": {},
    "paper": {"preset": "paper"},
    "whole chord": {"window": np.inf},
    "short window": {"window": 0.7},
    "isotropic": {"directions": "isotropic"},
    "fixed gibbs": {"tiling": "fixed"},
    "fixed gibbs window": {"tiling": "fixed", "window": 1.0},
    "fresh metropolis": {"line": "metropolis"},
    "metropolis window": {"line": "metropolis", "window": 1.0},
    "full base measure": {"base_measure": "full"},
    "reflected": {"reflect": True, "window": 6.0},
    "reflected metropolis": {"reflect": True, "window": 6.0, "line": "metropolis"},
    "paper, full base measure": {"preset": "paper", "base_measure": "full"},
}
TARGETS = cases.targets()


def draw(target, draws=4_000, thin=8, rng=1, **options):
    return sample(
        target, draws, method="zonotope", thin=thin, burn_in=200, chains=2, rng=rng, **options
    )


def draw_with(sampler, target, draws=8_000, thin=8, rng=1):
    """Draw with a prepared (and perhaps altered) sampler."""
    generator = np.random.default_rng(rng)
    state = one_chain.start(sampler, generator)
    subsets = np.empty((draws, target.r), np.int32)
    one_chain.advance(sampler, state, generator, subsets, thin=thin)
    return subsets


def with_long_steps(target, **options):
    sampler = HitAndRun(preset="paper", **options).prepare(target)
    rule = sampler.rule._replace(long_steps=True)
    return dataclasses.replace(sampler, rule=rule, tracking=rule)


@pytest.mark.parametrize("name", TARGETS)
def test_law_of_the_default(name):
    assert_law(draw(TARGETS[name]).subsets, TARGETS[name])


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, 3.0])
def test_law_for_every_option_and_power(power, options):
    A, q = cases.matrices()["weighted"]
    target = VolumeSampling(A, power=power, weights=q)
    assert_law(draw(target, thin=15, **options).subsets, target)


@pytest.mark.parametrize(
    "name", ["duplicates", "zero columns", "sure item", "sparse", "graph bridge", "graph parallel"]
)
def test_law_of_the_paper_on_degenerate_input(name):
    assert_law(draw(TARGETS[name], thin=20, preset="paper").subsets, TARGETS[name])


@pytest.mark.parametrize("power", [100.0, 10_000.0])
def test_powers_that_overflow(power):
    shear = 1e-4 / power  # bases of |det| 1, about 1 and almost 0, which the power makes impossible
    target = VolumeSampling([[1.0, 1.0, 0.3], [0.0, 1e-4, 1.0 + shear]], power=power)
    for options in ({}, {"preset": "paper"}):
        assert_law(draw(target, **options), target)
    if power > 1000.0:  # there the law differs from that of another power by much
        other = VolumeSampling(target.A, power=power / 4)
        assert_not_law(draw(other), target)


@pytest.mark.parametrize("name", ["gaussian", "weighted", "duplicates", "graph wheel", "sparse"])
def test_law_of_the_paper_by_long_steps(name):
    sampler = with_long_steps(TARGETS[name])
    assert_law(draw_with(sampler, TARGETS[name], thin=20), TARGETS[name])


class TestBrokenTwins:
    """Each is a plausible mistake, and the same check must see it."""

    target = TARGETS["weighted"]

    def twin(self, sampler, **rule):
        broken = dataclasses.replace(sampler, rule=sampler.rule._replace(**rule))
        assert_not_law(draw_with(broken, self.target), self.target)

    def test_no_acceptance_step(self):
        sampler = HitAndRun(preset="paper").prepare(self.target)
        self.twin(sampler, exponent=0.0, log_mass=frozen(np.zeros(self.target.n)))

    def test_no_acceptance_step_by_long_steps(self):
        sampler = with_long_steps(self.target)
        self.twin(sampler, exponent=0.0, log_mass=frozen(np.zeros(self.target.n)))

    def test_density_to_the_power_p(self):
        self.twin(HitAndRun().prepare(self.target), exponent=2.0)

    def test_weights_forgotten_in_the_density(self):
        sampler = HitAndRun(base_measure="full").prepare(self.target)
        self.twin(sampler, log_mass=frozen(np.zeros(self.target.n)))

    def test_window_not_placed_uniformly(self, tmp_path, monkeypatch):
        placed = "tally[AHEAD] = 1.0 - rng.random()"
        source = inspect.getsource(line_steps)
        assert placed in source
        path = tmp_path / "broken_lines.py"
        path.write_text(source.replace(placed, "tally[AHEAD] = 1.0"))
        spec = importlib.util.spec_from_file_location("broken_lines", path)
        broken = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "broken_lines", broken)
        spec.loader.exec_module(broken)
        monkeypatch.setattr(zonotope_walk, "run_by_walk", broken.run_by_walk)
        # One sided moves cannot come back: the window shows it, whole chords would not.
        sampler = HitAndRun(window=1.0, tiling="fixed").prepare(self.target)
        assert_not_law(draw_with(sampler, self.target), self.target)


def k10(rng=0):
    graph = nx.complete_graph(10)
    weights = np.random.default_rng(rng).random(45)
    for (u, v), w in zip(graph.edges, weights, strict=True):
        graph[u][v]["w"] = w
    return ProjectionDPP.from_graph(graph, weight="w")


def scaled_columns(sampler):
    """Return the columns of A with weights, in the coordinates in which the chain computes."""
    unit = matrix_of(sampler.columns)
    return (unit.toarray() if hasattr(unit, "toarray") else unit) * sampler.columns.lengths


def trajectory(sampler, steps, rng=0):
    """Yield (x, basis) after each step, in the coordinates of `scaled_columns`."""
    generator = np.random.default_rng(rng)
    state = one_chain.start(sampler, generator)
    subset = np.empty((1, len(sampler.rule.factor)), np.int32)
    for _ in range(steps):
        one_chain.advance(sampler, state, generator, subset)
        yield state["x"][0].copy(), set(subset[0].tolist())


@pytest.mark.parametrize("long_steps", [False, True])
@pytest.mark.parametrize("name", ["gaussian", "weighted", "graph wheel", "K10", "5 x 30"])
def test_paper_tiles_are_those_of_highs(name, long_steps):
    if name == "K10":
        target = k10()
    elif name == "5 x 30":
        target = ProjectionDPP(np.random.default_rng(3).normal(size=(5, 30)))
    else:
        target = TARGETS[name]
    c = np.random.default_rng(5).normal(size=target.n)
    sampler = HitAndRun(preset="paper", c=c).prepare(target)
    sampler = dataclasses.replace(sampler, rule=sampler.rule._replace(long_steps=long_steps))
    scaled = scaled_columns(sampler)[:, : target.n]
    oracle = HighsOracle(scaled, c)
    for x, basis in trajectory(sampler, 60):
        y = oracle.solve(x)
        inside = set(np.flatnonzero((y > 1e-9) & (y < 1 - 1e-9)).tolist())
        assert inside == basis


def test_many_steps_do_not_drift():
    target = k10()
    sampler = HitAndRun(preset="paper").prepare(target)
    rng = np.random.default_rng(0)
    state = one_chain.start(sampler, rng)
    subsets = np.empty((1, target.r), np.int32)
    one_chain.advance(sampler, state, rng, subsets, thin=200_000)
    lengths = sampler.columns.lengths
    tile = tile_at(state["tiles"][0, 0], target.r, lengths.size)
    y = np.where(tile.side < 0, lengths, 0.0)
    y[tile.basis] = tile.u
    unit = matrix_of(sampler.columns)
    assert np.abs(unit @ y - state["x"][0]).max() < 1e-9
    assert (y >= -1e-9).all()
    assert (y <= lengths + 1e-9).all()
    counts = dict(zip(sampler.counters, state["counts"][0], strict=True))
    assert counts["steps"] == 200_000
    assert counts["drifts"] == counts["lost tiles"] == 0
    assert counts["refactorisations"] > 0


def test_a_lost_tile_is_found_again_and_counted():
    target = TARGETS["gaussian"]
    sampler = HitAndRun(preset="paper").prepare(target)
    rng = np.random.default_rng(0)
    state = one_chain.start(sampler, rng)
    columns = scaled_columns(sampler)
    state["x"][:] = columns @ rng.random(columns.shape[1])  # somewhere else than the tile says
    tile_at(state["tiles"][0, 0], *columns.shape).age[0] = 10**6
    subsets = np.empty((5, target.r), np.int32)
    one_chain.advance(sampler, state, rng, subsets)
    counts = dict(zip(sampler.counters, state["counts"][0], strict=True))
    assert counts["lost tiles"] == 1
    assert counts["steps"] == 5


@pytest.mark.parametrize("options", [{}, {"preset": "paper"}, {"window": 0.5}])
def test_cutting_into_blocks_changes_nothing(options):
    target = TARGETS["graph wheel"]
    sampler, sets = HitAndRun(**options).prepare(target), [[0, 1]]

    def run(cuts):
        rng = np.random.default_rng(4)
        state = one_chain.start(sampler, rng, track=sets)
        subsets, tracked = np.empty((300, target.r), np.int32), np.zeros((300, 1))
        for rows in itertools.starmap(slice, itertools.pairwise(cuts)):
            # The steps to one draw are cut, too.
            for steps in (3,) if rows.stop > rows.start + 1 else (1, 2):
                one_chain.advance(sampler, state, rng, subsets[rows], tracked[rows], steps, sets)
        return subsets, tracked

    whole, pieces = run([0, 300]), run([0, 1, 7, 8, 100, 300])
    assert np.array_equal(whole[0], pieces[0])
    assert np.array_equal(whole[1], pieces[1])


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_averages_along_the_line_estimate_inclusion(options):
    target = TARGETS["weighted"]
    sets = [[0], [1, 2], [3, 4, 6]]
    samples = draw(target, draws=8000, thin=5, track=sets, **options)
    exact = [float(target.inclusion(S)) for S in sets]
    assert np.allclose(samples.tracked.mean(axis=(0, 1)), exact, atol=0.02)
    # The average carries more information than the presence of the set itself.
    present = np.stack([samples.contains(S) for S in sets], axis=2)
    assert (samples.tracked.var(axis=1) <= present.var(axis=1) + 1e-3).all()


@pytest.mark.parametrize("preset", [None, "paper"])
def test_averages_of_a_broken_sampler_are_off(preset):
    """The same bound sees a density |det|^p instead of |det|^(p - 1), and weights left out."""
    target = TARGETS["weighted"]
    sets = [[0], [1, 2], [3, 4, 6]]
    exact = [float(target.inclusion(S)) for S in sets]
    sound = HitAndRun(preset=preset).prepare(target)
    broken = [{"exponent": sound.rule.exponent + 1}, {"log_mass": frozen(np.zeros(target.n))}]
    for change in ({}, *broken):
        sampler = dataclasses.replace(sound, tracking=sound.tracking._replace(**change))
        rng = np.random.default_rng(0)
        subsets, tracked = np.empty((8000, target.r), np.int32), np.zeros((8000, 3))
        state = one_chain.start(sampler, rng, track=sets)
        one_chain.advance(sampler, state, rng, subsets, tracked, 5, sets)
        off = np.abs(tracked.mean(axis=0) / 5 - exact).max()
        assert off > 0.02 if change else off < 0.02, (change, off)


def test_averages_by_long_steps():
    target = TARGETS["weighted"]
    sampler, sets = with_long_steps(target), [[1, 2]]
    rng = np.random.default_rng(0)
    subsets, tracked = np.empty((20_000, target.r), np.int32), np.zeros((20_000, 1))
    state = one_chain.start(sampler, rng, track=sets)
    one_chain.advance(sampler, state, rng, subsets, tracked, 4, sets)
    assert tracked.mean() / 4 == pytest.approx(float(target.inclusion([1, 2])), abs=0.02)


def test_a_sparse_target_stays_sparse():
    graph = nx.grid_2d_graph(6, 6)
    target = ProjectionDPP.from_graph(graph)
    sampler = HitAndRun().prepare(target)
    assert sampler.columns.rows.shape == (35, 0)
    samples = sample(target, 50, method="zonotope", rng=0, track=[[0, 1]])
    for edges in samples.subsets[0]:
        assert nx.is_tree(nx.Graph([target.labels[e] for e in edges]))


def test_long_steps_are_chosen_when_chords_are_long():
    rng = np.random.default_rng(0)
    for n, expected in ((100, True), (99, False)):
        target = ProjectionDPP(rng.normal(size=(5, n)))
        assert HitAndRun(preset="paper").prepare(target).rule.long_steps == expected


def test_the_window_shrinks_with_the_number_of_items():
    rng = np.random.default_rng(0)
    few = HitAndRun().prepare(ProjectionDPP(rng.normal(size=(4, 8)))).rule.window
    many = HitAndRun().prepare(ProjectionDPP(rng.normal(size=(4, 300)))).rule.window
    assert many < 2.0 < few


def tiles_crossed(target, directions):
    """Mean number of tiles of a step over the number that the window is meant for.

    Walks are reflected, since no chord then ends before the window does.
    """
    method = HitAndRun(reflect=True, directions=directions)
    stats = sample(target, 300, method=method, burn_in=20, rng=0).stats
    return stats["tiles"][0] / stats["steps"][0] / (TILES_PER_ITEM_TRACKED * target.r)


@pytest.mark.parametrize("directions", ["whitened", "isotropic"])
@pytest.mark.parametrize("name", ["gaussian", "wide", "uneven", "grid", "complete graph", "copies"])
def test_a_step_crosses_as_many_tiles_as_the_window_is_meant_for(name, directions, monkeypatch):
    rng = np.random.default_rng(4)
    A = rng.normal(size=(10, 300))
    make = {
        "gaussian": lambda: ProjectionDPP(rng.normal(size=(6, 60))),
        "wide": lambda: ProjectionDPP(rng.normal(size=(3, 2000))),
        "uneven": lambda: ProjectionDPP(A, weights=10.0 ** rng.uniform(-6, 6, 300)),
        "grid": lambda: ProjectionDPP.from_graph(nx.grid_2d_graph(4, 5)),
        "complete graph": lambda: ProjectionDPP.from_graph(nx.complete_graph(12)),
        "copies": lambda: ProjectionDPP(np.repeat(rng.normal(size=(4, 12)), 5, axis=1)),
    }[name]
    assert 0.7 < tiles_crossed(make(), directions) < 1.5
    if name in ("grid", "complete graph"):  # a broken twin: every edge may take each place
        monkeypatch.setattr(hit_and_run, "_DEPENDENT", -1.0)
        assert tiles_crossed(make(), directions) < 0.7
    if name == "uneven":  # another: a zonotope without width, of which the chords say nothing
        frame_of = frame.frame_of

        def without_width(*arguments, **options):
            found = frame_of(*arguments, **options)
            return found._replace(ellipsoid=found.ellipsoid._replace(radius=np.inf))

        monkeypatch.setattr(hit_and_run, "frame_of", without_width)
        assert tiles_crossed(make(), directions) > 1.5


def test_start_from_a_given_basis():
    target = TARGETS["gaussian"]
    sampler = HitAndRun(preset="paper").prepare(target)
    state = one_chain.start(sampler, np.random.default_rng(0), [5, 1, 3])
    tile = tile_at(state["tiles"][0, 0], target.r, sampler.columns.lengths.size)
    assert sorted(tile.basis.tolist()) == [1, 3, 5]
    samples = draw(target, init=[5, 1, 3])
    assert_law(samples.subsets, target)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"line": "exact"}, "line must be one of 'gibbs', 'metropolis'; got 'exact'"),
        ({"directions": 3}, "directions must be one of"),
        ({"tiling": "new"}, "tiling must be one of"),
        ({"base_measure": "half"}, "base_measure must be one of"),
        ({"preset": "icml"}, "preset must be one of 'paper'; got 'icml'"),
        ({"window": -1.0}, "window must be a positive finite number"),
        ({"reflect": True, "window": np.inf}, "finite window"),
        ({"reflect": True, "tiling": "fixed"}, "goes with tiling='fresh'"),
        ({"c": np.ones(8)}, "pass tiling='fixed' or preset='paper'"),
        ({"c": np.ones(3), "preset": "paper"}, "one entry for each of the 8 items"),
        ({"c": np.full(8, np.nan), "preset": "paper"}, "c has NaN or infinity"),
        ({"init": [0, 1]}, "init must hold r = 3 items"),
        ({"init": [0, 1, 99]}, "item numbers from 0 to 7"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sample(TARGETS["gaussian"], 1, method="zonotope", **options)


def test_an_initial_set_that_is_no_basis():
    with pytest.raises(ValueError, match="not a basis"):
        sample(TARGETS["duplicates"], 1, method="zonotope", init=[0, 5, 1])


@pytest.mark.parametrize("r", [1, 2])
def test_reflected_walks_of_tiny_matrices_end(r):
    for seed in range(20):
        A = np.random.default_rng(seed).normal(size=(r, r))
        samples = sample(ProjectionDPP(A), 3, method="zonotope", track=[[0]], rng=seed)
        assert samples.tracked == pytest.approx(1.0)


# Objectives with ties


def tied_costs(A):
    return {
        "zeros": np.zeros(A.shape[1]),
        "a row": A[0],
        "two values": np.arange(A.shape[1]) % 2.0,
        "all alike": np.full(A.shape[1], 1e250),
    }


@pytest.mark.parametrize("long_steps", [False, True])
@pytest.mark.parametrize("name", ["zeros", "a row", "two values", "all alike"])
def test_law_when_the_objective_has_ties(name, long_steps):
    target = ProjectionDPP.from_graph(nx.complete_graph(4))
    c = tied_costs(target.A.toarray())[name]
    sampler = HitAndRun(preset="paper", c=c).prepare(target)
    sampler = dataclasses.replace(sampler, rule=sampler.rule._replace(long_steps=long_steps))
    assert_law(draw_with(sampler, target, thin=20), target)


@pytest.mark.parametrize("name", ["zeros", "a row"])
def test_ties_that_are_not_broken_give_another_law(name, monkeypatch):
    monkeypatch.setattr(frame, "PERTURBATION", 0.0)
    target = ProjectionDPP.from_graph(nx.complete_graph(4))
    sampler = HitAndRun(preset="paper", c=tied_costs(target.A.toarray())[name]).prepare(target)
    assert_not_law(draw_with(sampler, target, thin=20), target)


def test_costs_do_not_repeat_the_matrix(monkeypatch):
    """A matrix made with default_rng(0), as many are, must not supply the costs of a tiling."""
    A = np.random.default_rng(0).normal(size=(3, 150))
    seen = []
    start = zonotope_walk.ZonotopeWalk.start

    def noted(self, *arguments):
        state = start(self, *arguments)
        seen.append(state["c"][0, :150])
        return state

    monkeypatch.setattr(zonotope_walk.ZonotopeWalk, "start", noted)
    sample(ProjectionDPP(A), 10, method="zonotope", tiling="fixed", rng=0)
    assert seen
    for c in seen:
        rest = c - A.T @ np.linalg.lstsq(A.T, c)[0]
        assert np.linalg.norm(rest) > 0.5 * np.linalg.norm(c)


# Scale


@pytest.mark.parametrize("options", ["default", "paper", "fresh metropolis", "full base measure"])
@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_law_at_any_scale_of_the_matrix(scale, options):
    A, q = cases.matrices()["weighted"]
    target = ProjectionDPP(A * scale, weights=q)
    assert_law(draw(target, thin=15, **OPTIONS[options]).subsets, ProjectionDPP(A, weights=q))


def test_a_window_of_isotropic_directions_is_in_units_of_the_matrix():
    A = cases.matrices()["gaussian"][0]
    plain = HitAndRun(directions="isotropic", window=0.5).prepare(ProjectionDPP(A))
    large = HitAndRun(directions="isotropic", window=4.0).prepare(ProjectionDPP(8 * A))
    assert plain.rule.window * plain.rule.factor == pytest.approx(
        large.rule.window * large.rule.factor
    )


@pytest.mark.parametrize("options", ["default", "paper", "fresh metropolis", "reflected"])
@pytest.mark.parametrize(("power", "base_measure"), [(2.0, "sqrt"), (1.0, "full")])
def test_law_when_weights_undo_lengths_of_any_size(power, base_measure, options):
    """Column j times s and weight j times s^-p, s from 1e-100 to 1e100: the law stays as it is."""
    A = cases.matrices()["gaussian"][0]
    s = 10.0 ** np.linspace(-100, 100, A.shape[1])
    target = VolumeSampling(A * s, power=power, weights=s**-power)
    samples = draw(target, thin=15, base_measure=base_measure, **OPTIONS[options])
    assert_law(samples.subsets, VolumeSampling(A, power=power))


@pytest.mark.parametrize("base_measure", ["sqrt", "full"])
@pytest.mark.parametrize("options", ["default", "paper", "fresh metropolis"])
def test_tiny_columns_are_left_at_once(options, base_measure):
    """Volumes and densities of tiles from 1e-870 to 1 neither overflow nor underflow."""
    A, q = cases.matrices()["weighted"]
    target = ProjectionDPP(A * 10.0 ** -np.array([0, 0, 0, 0, 0, 150, 250, 290]), weights=q)
    start = {"init": [5, 6, 7], "base_measure": base_measure}
    samples = draw(target, thin=15, **start, **OPTIONS[options])
    assert_law(samples.subsets, ProjectionDPP(A[:, :5], weights=q[:5]))


def test_columns_without_numerical_rank_are_refused():
    A = cases.matrices()["gaussian"][0]
    s = 10.0 ** np.linspace(-100, 100, A.shape[1])
    target = VolumeSampling(A * s, weights=1 / s)
    with pytest.raises(ValueError, match=r"numerical rank is .*; use the other base_measure"):
        HitAndRun().prepare(target)
    assert_law(draw(target, base_measure="full").subsets, VolumeSampling(A))


LONG = {"window": 1e9, "reflect": True}  # a step of so many tiles that no test waits for it


@pytest.mark.parametrize("chains", [1, 2])
def test_a_walk_that_takes_long_hears_the_time_limit(chains):
    target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    with pytest.warns(UserWarning, match="no draws: seconds=0.2 went by"):
        found = sample(target, 1, method="zonotope", rng=0, seconds=0.2, chains=chains, **LONG)
    assert found.subsets.shape == (chains, 0, 2)


def test_a_walk_that_takes_long_goes_on_in_the_next_call(monkeypatch):
    """Pauses within a line change neither draws nor averages, also with other steps around it."""
    target, options = TARGETS["gaussian"], {"window": 20.0, "reflect": True}
    sets = [[0], [1, 2]]

    def run():
        found = sample(
            target, 40, method="zonotope", rng=0, thin=3, burn_in=5, track=sets, **options
        )
        return found.subsets, found.tracked, found.stats["tiles"]

    whole = run()
    calls = []
    advance = zonotope_walk.ZonotopeWalk._walk

    def counted(self, *arguments):
        calls.append(advance(self, *arguments))
        return calls[-1]

    monkeypatch.setattr(zonotope_walk.ZonotopeWalk, "_walk", counted)
    monkeypatch.setattr(zonotope_walk.lines, "patience_for", lambda r, n: 7)
    pieces = run()
    assert calls.count(0) > 100  # calls in which no draw was finished
    for one, other in zip(whole, pieces, strict=True):
        assert np.array_equal(one, other)
    single = [prepare(target, "zonotope", **options).draw(np.random.default_rng(1), burn_in=3)]
    monkeypatch.undo()
    single.append(prepare(target, "zonotope", **options).draw(np.random.default_rng(1), burn_in=3))
    assert np.array_equal(*single)


def test_a_checkpoint_holds_a_walk_that_is_under_way(tmp_path):
    target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    options = {"method": "zonotope", "rng": 0, "window": 2e6, "reflect": True}
    path = tmp_path / "run.npz"
    with pytest.warns(UserWarning, match="no draws"):
        sample(target, 1, seconds=0.1, checkpoint=path, **options)
    found = sample(target, 1, checkpoint=path, **options)
    whole = sample(target, 1, **options)
    assert np.array_equal(found.subsets, whole.subsets)
    assert found.stats["tiles"] == whole.stats["tiles"]


def test_mending_without_end_hears_the_time_limit(monkeypatch):
    """A step that always loses its tile is given back to Python after some attempts."""
    target = ProjectionDPP(np.random.default_rng(0).normal(size=(2, 120)))
    monkeypatch.setattr(zonotope_walk, "run_by_long_steps", lambda *arguments: lines.LOST)
    with pytest.warns(UserWarning, match="no draws"):
        sample(target, 1, method="zonotope", preset="paper", rng=0, seconds=0.1)
