"""What each command says and writes, run in this process."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from zonodpp import ProjectionDPP, sample
from zonodpp.apps import summarize

DATA = Path(__file__).parents[1] / "src" / "zonodpp" / "data"


@pytest.fixture
def folder(call, tmp_path):
    shutil.copy(DATA / "foods.csv", tmp_path)
    return tmp_path


@pytest.fixture
def says(call):
    """Run a command line that works and has nothing to add; return what it says."""

    def run(*words, stdin=b""):
        code, out, err = call(*words, stdin=stdin)
        assert (code, err) == (0, "")
        return out

    return run


def test_sample(says, fails, folder):
    words = ("sample", "foods.csv", "--id", "food", "--seed", 7)
    text = says(*words)
    assert "1,000 draws of 5 out of 32 items (method exact, seed 7)" in text
    assert "exact" in text
    assert "\x1b" not in text
    found = json.loads(says(*words, "--json"))
    values = np.loadtxt("foods.csv", delimiter=",", skiprows=1, usecols=range(1, 6))
    want = sample(ProjectionDPP.from_features(values), 1000, rng=7)
    assert found["subsets"] == want.subsets.tolist()
    assert "none.csv" in fails("sample", "none.csv")
    assert "--rank" in fails("sample", "foods.csv", "--id", "food", "--rank", 33)


def test_trees(says, fails, folder):
    pytest.importorskip("networkx")
    edges = b"a b\nb c\nc a\nc d\n"
    tree = says("trees", "-", "--seed", 1, stdin=edges).splitlines()
    assert len(tree) == 3
    assert "c d" in tree
    assert "out of 4 edges" in says("trees", "-", "-n", 50, stdin=edges)
    Path("bad.edges").write_text("a b\nc\n")
    assert "line 2" in fails("trees", "bad.edges")


def test_summarize(says, fails, folder):
    pytest.importorskip("sentencex")
    words = ("summarize", DATA / "article.txt", "-k", 3, "--seed", 4)
    text = says(*words)
    assert len(text.splitlines()) == 3
    found = json.loads(says(*words, "--json"))
    assert found["sentences"] == text.splitlines()
    assert found["indices"] == sorted(found["indices"])
    Path("empty.txt").write_text(" \n")
    assert "nothing to summarize" in fails("summarize", "empty.txt")
    assert "binary" in fails("summarize", "-", stdin=bytes(100))
    help_text = " ".join(says("summarize", "--help").split())
    assert "auto, appendix, spread or lsa. [default: auto]" in help_text
    plain = json.loads(says("summarize", DATA / "article.txt", "--seed", 4, "--json"))
    article = (DATA / "article.txt").read_text()
    assert plain["sentences"] == summarize(article, rng=4).sentences  # one default for both


def test_landmarks(says, fails, folder):
    pytest.importorskip("sklearn")
    X = np.random.default_rng(0).normal(size=(200, 6))
    np.save("x.npy", X)
    words = ("landmarks", "x.npy", "-k", 4, "--seed", 2)
    picked = [int(line) for line in says(*words).split()]
    assert len(set(picked)) == 4
    found = json.loads(says(*words, "--json"))
    assert found["indices"] == picked
    assert says(*words, "--out", "l.npz") == ""
    with np.load("l.npz") as saved:
        np.testing.assert_array_equal(saved["landmarks"], X[picked])
    table = says("landmarks", "foods.csv", "--id", "food", "-k", 2, "--csv").splitlines()
    assert table[0] == "item,protein,fat,carbohydrate,fibre,water"
    assert set(table[1:]) <= set(Path("foods.csv").read_text().splitlines())
    assert "300" in fails("landmarks", "x.npy", "-k", 300)
    Path("junk.npy").write_bytes(bytes(range(256)))
    assert "junk.npy" in fails("landmarks", "junk.npy")


def test_shortlist(says, fails, folder):
    words = ("shortlist", "foods.csv", "--id", "food", "--relevance", "protein", "-k", 4)
    words += ("--seed", 1)
    found = json.loads(says(*words, "--include", "tofu", "--exclude", "egg", "--json"))
    names = found["labels"]
    assert len(set(names)) == 4
    assert "tofu" in names
    assert "egg" not in names
    assert found["relevance"] == sorted(found["relevance"], reverse=True)
    assert "33" in fails(*words, "-k", 33)
    assert "'rock' is no item" in fails(*words, "--include", "rock")
    assert "--relevance" in fails("shortlist", "foods.csv", "--id", "food")


def test_volume(says, fails, folder):
    square = b"1,0\n0,1\n1,1\n"
    assert says("volume", "-", stdin=square).startswith("3  exact volume")
    found = json.loads(says("volume", "-", "--method", "estimate", "--json", stdin=square))
    assert abs(found["volume"] - 3) < 5 * found["stderr"] + 1e-9
    assert "--items columns" in fails("volume", "-", stdin=b"1,0,0\n0,1,0\n")
    help_text = " ".join(says("volume", "--help").split())
    assert "all sets of d generators" in help_text


def test_info(says, fails, folder):
    text = says("info")
    assert "numba" in text
    assert "foods" in text
    found = json.loads(says("info", "foods.csv", "--id", "food", "--json"))
    assert (found["items"], found["features"], found["rank"]) == (32, 5, 5)
    assert says("info", "--example", "foods") == Path("foods.csv").read_text()
    assert "none.csv" in fails("info", "none.csv")
