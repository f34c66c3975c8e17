"""The command line: first rows without a value, long results, and messages about numbers."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from zonodpp import ProjectionDPP, sample
from zonodpp.cli.draws import share_table


@pytest.mark.parametrize("first", ['""\n', ",\n", "NA,\n"])
def test_a_first_row_of_empty_cells_is_a_row(call, first):
    width = first.count(",") + 1
    rows = "".join(",".join([f"{k}.5"] * width) + "\n" for k in range(5))
    Path("x.csv").write_text(first + rows)
    words = ("x.csv", "--no-header", "-n", 1, "--seed", 1)
    code, _, err = call("sample", *words)
    assert code == 2
    assert "row 0" in err
    if width == 1:
        code, out, _ = call("sample", *words, "--missing", "median", "--csv")
        assert code == 0
        out = call("info", "x.csv", "--no-header")[1]
        assert "6" in out.split()


def test_a_size_above_the_rank_tells_the_rank(fails):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 20))
    np.savetxt("x.csv", X, delimiter=",")
    said = fails("sample", "x.csv", "--no-header", "--size", 10)
    assert "numerical rank 3, so that draws have at most 3 items" in said
    assert "ridge" not in said
    said = fails("sample", "x.csv", "--no-header", "--size", 2, "--include", "0,1,2")
    assert "ridge" not in said
    assert "another --size" in said


def test_an_unknown_language_is_refused(fails, call):
    Path("x.txt").write_text("It rained. The keeper slept.\n")
    said = fails("summarize", "x.txt", "--language", "xx")
    assert "got 'xx'" in said
    assert " ja," in said
    for language in ("ja", "zh", "de", "german", "pt-BR"):
        assert call("summarize", "x.txt", "--language", language)[0] == 0


def test_decimal_commas_beside_points_between_thousands(call, fails):
    Path("x.csv").write_text("name;preis;menge\na;1,50;1.200\nb;2,75;980\nc;3,10;2.500\n")
    assert "such as 1.50" in fails("sample", "x.csv", "--id", "name")
    for words in (("sample", "-n", 1, "--columns", "menge"), ("rows", "-k", 2)):
        err = call(words[0], "x.csv", "--id", "name", *words[1:])[2]
        assert "1.200 in column 'menge' is read with a decimal point" in err
    Path("x.csv").write_text("name;x\na;1.200.000\nb;2\nc;3\n")
    assert "such as 1200000" in fails("sample", "x.csv", "--id", "name")
    Path("x.csv").write_text("name;x\na;1.234,50\nb;2\nc;3\n")
    assert "such as 1234.50" in fails("sample", "x.csv", "--id", "name")
    Path("x.csv").write_text("name;x;y\na;1.234;1\nb;2.5;3\nc;3;4\n")
    assert "read with a decimal point" not in call("rows", "x.csv", "--id", "name", "-k", 2)[2]


def test_the_text_of_many_draws_takes_no_copy_of_them():
    target = ProjectionDPP(np.random.default_rng(0).normal(size=(4, 30)))
    samples = sample(target, 200_000, rng=0)
    tracemalloc.start()
    text = share_table(samples)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < samples.subsets.nbytes / 2
    most = np.bincount(samples.subsets.ravel()).max() / len(samples)
    assert f"{most:.3f}" in text


def test_trees_and_labels_that_are_not_there():
    networkx = pytest.importorskip("networkx")
    target = ProjectionDPP.from_graph(networkx.cycle_graph("abcd"))
    samples = sample(target, 3, chains=2, rng=0)
    assert samples.to_networkx(-1, -1).number_of_edges() == 3
    for place in ((2, 0), (0, 3), (-3, 0), (0, -4)):
        with pytest.raises(ValueError, match="must be at"):
            samples.to_networkx(*place)
    with pytest.raises(TypeError, match="draw must be a whole number"):
        samples.to_networkx(0, 1.5)
    for target in (samples.target, ProjectionDPP([[1, 2, 3, 4]])):
        for items in ([4], [-1]):
            with pytest.raises(ValueError, match="item numbers from 0 to 3"):
                target.labels_of(np.array(items))


def test_plots_of_what_is_not_there():
    pytest.importorskip("matplotlib").use("Agg")
    networkx = pytest.importorskip("networkx")
    from zonodpp import plotting

    samples = sample(ProjectionDPP.from_graph(networkx.cycle_graph(4)), 5, rng=0)
    with pytest.raises(ValueError, match="draw must be at most 4"):
        plotting.spanning_tree(samples, draw=5)
    with pytest.warns(UserWarning, match="no draws"):
        none = sample(samples.target, 5, method="exchange", burn_in=10**12, seconds=0.01, rng=0)
    with pytest.raises(ValueError, match="no draws"):
        plotting.spanning_tree(none)
    with pytest.raises(ValueError, match="no draws"):
        none.to_networkx()
    with pytest.raises(TypeError, match="from_graph, got Samples"):
        plotting.edge_marginals(samples)
    with pytest.raises(TypeError, match="expected a Zonotope, got Samples"):
        plotting.tiling(samples)


def test_sources_of_columns_that_cannot_be_read(tmp_path):
    pytest.importorskip("pyarrow")
    from zonodpp.apps import interpolative

    X = np.random.default_rng(0).normal(size=(9, 4))
    with pytest.raises(ValueError, match="batches have 4 and 3 columns"):
        interpolative(lambda: iter([X, X[:, :3]]), 2)
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    for read in (lambda: interpolative(path, 1), lambda: ProjectionDPP.from_features(path)):
        with pytest.raises(ValueError, match=r"x\.csv' is not a Parquet file; read other"):
            read()
