"""Experiments: data in plain files, verdicts that follow from the data and can change."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from paper import NAMES, geometry, landmarks, reproduce, spanning_trees
from paper.__main__ import main
from paper.records import read_record, write_record
from paper.verdicts import Verdict, tally
from zonodpp import ProjectionDPP, Samples, sample

SIZES = {"chains": 20, "steps": 4_000, "rng": 1}
FEW = {"exact line": None, "exact line, averaged": None, "heat-bath": None, "exact draws": None}
LAW, ACCEPTANCE, ERROR, PSRF = range(4)  # places of verdicts


@pytest.fixture(scope="module", autouse=True)
def clock():
    """Time that is the same on every machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spanning_trees, "_seconds_per_step", lambda *_: 1e-5)
        yield


@pytest.fixture(scope="module")
def trees(clock):
    return spanning_trees.run(**SIZES)


@pytest.fixture(scope="module")
def plane():
    return geometry.run(quick=True, rng=0)


@pytest.fixture(scope="module")
def ones():
    return landmarks.run(quick=True, steps=150, rng=0)


def stuck(target, draws, *, c, sets, chains, init, rng, workers=None):
    """Stay where the chain starts, and say that all is well."""
    first = np.atleast_2d(init).astype(np.int32)
    subsets = np.repeat(first[:, None], draws, axis=1)
    none = np.zeros(chains, np.int64)
    stats = {"steps": none + draws, "accepted": none, "seconds": np.full(chains, 1e-5 * draws)}
    return Samples(subsets, target, "stuck", stats=stats)


def unweighted(target, draws, *, c, sets, **how):
    """Sample well, but another law: the weights of the edges are left out."""
    return sample(ProjectionDPP(target.A), draws, method="zonotope", preset="paper", c=c, **how)


def judged(data):
    return [verdict.reproduced for verdict in spanning_trees.verdicts(data)]


def test_the_right_samplers_agree_with_the_paper(trees):
    assert judged(trees)[: PSRF + 1] == [True] * 4


def test_a_sampler_that_is_stuck_changes_the_verdicts():
    data = spanning_trees.run(**SIZES, samplers={**FEW, "Algorithm 5": stuck})
    found = judged(data)
    assert not any(found[place] for place in (ACCEPTANCE, ERROR, PSRF))


def test_a_sampler_of_another_law_changes_the_verdict_on_the_law():
    data = spanning_trees.run(**SIZES, samplers={**FEW, "Algorithm 5": unweighted})
    assert judged(data)[LAW] is False


def test_k10_has_ten_to_the_eight_trees(trees):
    assert trees["graphs"]["K10"]["bases"] == pytest.approx(1e8)
    graph = trees["graphs"]["BA(20, 2)"]
    assert graph["nodes"] == 20
    assert len(graph["edges"]) == 36


def test_triplets_are_spread_and_their_probabilities_are_exact(trees):
    for graph in trees["graphs"].values():
        assert (np.diff(graph["probabilities"]) >= 0).all()
        exact = graph["samplers"]["exact draws"]["estimates"].mean(axis=0)
        assert exact == pytest.approx(graph["probabilities"], abs=0.01)


def test_where_no_solver_is_installed_nothing_is_judged(trees):
    graphs = {name: {**graph, "solver": None} for name, graph in trees["graphs"].items()}
    verdict = next(v for v in spanning_trees.verdicts({"graphs": graphs}) if "no solver" in v.here)
    assert verdict.reproduced is None


def test_a_claim_fails_if_it_fails_on_one_graph(trees):
    graphs = dict(trees["graphs"])
    graphs["BA(20, 2)"] = {**graphs["BA(20, 2)"], "bases": 4e6}
    verdict = next(v for v in spanning_trees.verdicts({"graphs": graphs}) if "bases" in v.claim)
    assert verdict.reproduced is False
    assert "4,000,000" in verdict.here


def test_draws_do_not_depend_on_how_fast_the_machine_is(monkeypatch):
    runs = []
    for slow in (1e-5, 3e-5):
        paces = {"_algorithm_1": 1e-6, "_algorithm_5": slow}
        monkeypatch.setattr(
            spanning_trees, "_seconds_per_step", lambda make, *_, p=paces: p[make.__name__]
        )
        runs.append(spanning_trees.run(chains=3, steps=200, rng=0, samplers=FEW)["graphs"]["K10"])
    assert [graph["steps in equal time"] for graph in runs] == [2_000, 6_000]
    for key in ("Algorithm 5", "Algorithm 1"):
        one, two = (graph["samplers"][key] for graph in runs)
        assert (one["estimates"] == two["estimates"]).all()
        assert one["acceptance"] == two["acceptance"]


def test_long_runs_go_on_where_they_were(trees):
    """The error after as many steps as all others made is that of the estimates then."""
    graph = trees["graphs"]["K10"]
    curve = graph["samplers"]["Algorithm 1"]
    place = np.flatnonzero(curve["points"] == SIZES["steps"])[0]
    middle = len(graph["probabilities"]) // 2
    error = np.abs(curve["estimates"][:, middle] / graph["probabilities"][middle] - 1)
    assert curve["errors"][:, place] == pytest.approx(error, rel=1e-5)
    assert curve["points"][-1] >= 20 * SIZES["steps"]


def test_the_plane_is_as_the_paper_says(plane):
    assert [verdict.reproduced for verdict in geometry.verdicts(plane)] == [True] * 4
    assert plane["contour area"] == pytest.approx(13)


@pytest.mark.parametrize(
    ("place", "change"),
    [
        (0, {"contour area": 12.0}),
        (1, {"tiles": np.zeros((6, 2), np.int64)}),
        (2, {"points in tiles": np.full(6, 300)}),
        (3, {"draws in tiles": np.full(6, 300)}),
    ],
)
def test_other_data_make_other_verdicts_in_the_plane(plane, place, change):
    found = geometry.verdicts({**plane, **change})
    assert [verdict.reproduced for verdict in found].index(False) == place


def test_uniform_sets_of_ones_are_far_below_the_best(ones):
    found = landmarks.verdicts(ones)
    assert found[1].reproduced is True
    assert found[2].reproduced is True
    same = {**ones, "log10 rows": np.zeros(4), "log10 uniform": ones["log10 chain"]}
    assert [verdict.reproduced for verdict in landmarks.verdicts(same)][1:] == [False, False]


def test_the_spread_of_squared_volumes_is_judged(ones):
    three = {**ones, "log10 chain": np.linspace(-3, 0, 100)}
    assert landmarks.verdicts(three)[0].reproduced is True
    assert landmarks.verdicts({**three, "log10 chain": np.zeros(9)})[0].reproduced is False


def test_rows_of_digits_are_those_of_the_sets(ones):
    assert ones["rows"].shape == (4, 10)
    assert ones["digits"].shape == (4, 10, 28, 28)
    assert ones["log10 rows"][0] == ones["log10 chain"].max()


def test_isomap_takes_the_place_of_principal_directions():
    pytest.importorskip("sklearn")
    data = landmarks.run(quick=True, steps=10, rng=0, features="isomap")
    assert data["settings"]["features"] == "isomap"


def test_figures_and_verdicts_follow_from_the_files(tmp_path, trees, plane, ones):
    for module, data in ((spanning_trees, trees), (geometry, plane), (landmarks, ones)):
        write_record(tmp_path, data)
        again = read_record(tmp_path)
        assert module.verdicts(again) == module.verdicts(data)
        for figure, caption in module.figures(again).values():
            assert figure.axes
            assert caption.endswith(".")


def test_records_hold_what_json_cannot(tmp_path):
    data = {"a": {"b": (1, np.float64(2.5))}, "c": float("inf"), "d": None, "e": np.arange(3)}
    write_record(tmp_path, data)
    again = read_record(tmp_path)
    assert (again.pop("e") == np.arange(3)).all()
    assert again == {"a": {"b": [1, 2.5]}, "c": float("inf"), "d": None}
    json.loads((tmp_path / "data.json").read_text(), parse_constant=pytest.fail)


def test_records_refuse_what_is_not_plain(tmp_path):
    with pytest.raises(TypeError, match="/a/b is a set"):
        write_record(tmp_path, {"a": {"b": {1, 2}}})


def test_every_experiment_has_the_same_parts():
    for name in NAMES:
        module = importlib.import_module(f"paper.{name.replace('-', '_')}")
        assert module.TITLE
        assert module.INTRODUCTION.endswith(".")
        assert all(callable(getattr(module, part)) for part in ("run", "figures", "verdicts"))


def test_verdicts_are_counted_in_words():
    found = [Verdict("a", "b", "c", outcome) for outcome in (True, None, False, True)]
    assert tally(found) == "2 reproduced, 1 not reproduced, 1 not judged"
    assert str(found[2]) == "not reproduced: a. The paper: b. Here: c."


def test_a_report_is_written(tmp_path):
    lines = []
    out = tmp_path / "new" / "report"
    report = reproduce(["geometry"], quick=True, out=out, progress=lines.append)
    files = {path.name for path in (out / "geometry").iterdir()}
    assert files >= {"data.json", "data.npz", "tiling.png", "tiling.svg", "step.svg"}
    assert report.path == out / "index.html"
    assert report.path.is_file()
    assert "geometry; 4 reproduced" in repr(report)
    assert "Seed: 2017" in str(report)
    assert lines[0] == "geometry ..."
    assert lines[-1].startswith("written: ")

    again = reproduce("geometry", quick=True, out=tmp_path / "again", progress=False)
    for name in ("data.json", "tiling.svg"):  # same seed, same data and figures
        one, two = (made.path.parent / "geometry" / name for made in (report, again))
        assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("names", ["geometri", ["geometry", "trees"], []])
def test_unknown_experiments_are_refused(names, tmp_path):
    with pytest.raises(ValueError, match="names must be some of geometry, spanning-trees"):
        reproduce(names, out=tmp_path)


def test_out_must_be_a_folder_and_the_article_a_file(tmp_path):
    (tmp_path / "file").write_text("here")
    with pytest.raises(NotADirectoryError, match="is a file"):
        reproduce("geometry", out=tmp_path / "file")
    with pytest.raises(FileNotFoundError, match="article must be a text file"):
        reproduce("summaries", out=tmp_path, article=tmp_path / "none.txt")


def test_command_of_the_checkout(tmp_path):
    command = ["--out", str(tmp_path / "page")]
    done = CliRunner().invoke(main, [*command, "geometry", "--quick", "--json"])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["verdicts"]
    assert Path(found["page"]).is_file()
    assert CliRunner().invoke(main, [*command, "nonsense"]).exit_code == 2
