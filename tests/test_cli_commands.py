"""What each command says and writes, run in this process."""

import json
import re
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
    assert "out of 4 edges" in says("trees", "-", "-n", 50, "--seed", 1, stdin=edges)
    Path("bad.edges").write_text("a b\nc\n")
    assert "line 2" in fails("trees", "bad.edges")


def test_summarize(says, fails, folder):
    pytest.importorskip("sentencex")
    words = ("summarize", DATA / "article.txt", "-k", 3)
    text = says(*words)
    assert len(text.splitlines()) == 3
    assert says(*words, "--seed", 4) == text  # the same for every seed
    few = says("summarize", DATA / "article.txt", "-w", 50)
    assert 25 < len(few.split()) <= 50
    assert "words= needs" in fails(
        "summarize", DATA / "article.txt", "--words", 9, "--answer", "mbr"
    ).replace("--words", "words=")
    found = json.loads(says(*words, "--json"))
    assert found["sentences"] == text.splitlines()
    assert found["indices"] == sorted(found["indices"])
    Path("empty.txt").write_text(" \n")
    assert "nothing to summarize" in fails("summarize", "empty.txt")
    page = b"<html><head><title>Tide</title></head><body><img src='a.png'></body></html>"
    assert "no sentences to summarize" in fails("summarize", "-", stdin=page)
    short = fails("summarize", DATA / "article.txt", "--words", 1)
    assert "--words 1: every sentence to choose from" in short
    assert "binary" in fails("summarize", "-", stdin=bytes(100))
    help_text = " ".join(says("summarize", "--help").split())
    assert "auto, appendix, spread or lsa. [default: auto]" in help_text
    plain = json.loads(says("summarize", DATA / "article.txt", "--json"))
    article = (DATA / "article.txt").read_text()
    assert plain["sentences"] == summarize(article).sentences  # one default for both


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
    table = says("landmarks", "foods.csv", "--id", "food", "-k", 2, "--seed", 1, "--csv")
    table = table.splitlines()
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


CARS = """name,power,weight
buick,10,3
pontiac,9,5
ford,4,4
pontiac,8,2
"pontiac, red",7,7
pontiac,6,1
"""


@pytest.fixture
def cars(folder):
    Path("cars.csv").write_text(CARS)
    return ("cars.csv", "--id", "name", "--columns", "power,weight", "--seed", 1)


def test_a_label_of_several_items(says, fails, cars):
    relevance = np.ones(6)
    np.save("ones.npy", relevance)
    words = ("shortlist", *cars, "--relevance", "ones.npy", "-k", 2)
    for seed in range(5):
        found = says(*words, "--seed", seed, "--exclude", "pontiac", "--json")
        assert "pontiac" not in json.loads(found)["labels"]
    line = fails(*words, "--include", "pontiac")
    assert "--include: 3 items are called 'pontiac', numbers 1, 3, 5 from 0" in line
    assert 3 in json.loads(says(*words, "--include", 3, "--json"))["indices"]
    line = fails("sample", *cars, "--track", "buick,pontiac")
    assert "--track: 3 items are called 'pontiac'" in line
    Path("cars.csv").write_text(CARS.replace("ford", "7"))  # now a number may be a label
    assert "give the items labels that differ" in fails(*words, "--include", "pontiac")
    assert "'3' is no item" in fails(*words, "--include", 3)


def test_samples_under_a_condition(says, fails, cars):
    words = ("sample", *cars, "--json")
    found = json.loads(says(*words, "--include", '"pontiac, red"', "--exclude", "pontiac,ford"))
    assert {tuple(sorted(draw)) for draw in found["subsets"][0]} == {(0, 4)}
    draws = json.loads(says(*words, "--exclude", 1, "--exclude", "buick", "-n", 200))["subsets"][0]
    assert {item for draw in draws for item in draw} == {2, 3, 4, 5}
    for more in (("--power", 1), ("--size", 2), ("--dpp",)):
        draws = json.loads(says(*words, *more, "--include", "ford", "-n", 50))["subsets"][0]
        assert all(2 in draw for draw in draws)
    assert "'rock' is no item; items are called 'buick'" in fails(*words, "--include", "rock")
    assert "in the draw and not" in fails(*words, "--include", "ford", "--exclude", "ford")
    assert "'red' is no item" in fails(*words, "--exclude", "pontiac, red")  # no quotes


def trees_of(text):
    return [{tuple(edge) for edge in tree} for tree in json.loads(text)["labels"][0]]


def test_trees_under_a_condition(says, fails, folder):
    edges = b"a b\nb c\nc a\nc d\n"
    words = ("trees", "-", "--seed", 1, "-n", 40, "--json")
    for name in ("c-b", "b-c", "b c", "1"):  # an edge in either order, or by its number
        found = trees_of(says(*words, "--include", name, stdin=edges))
        wanted = ("b", "c") if name != "1" else ("a", "c")
        assert all(wanted in tree for tree in found)
        assert len({frozenset(tree) for tree in found}) == 2
    found = trees_of(says(*words, "--include", "a-b,c-d", "--exclude", "c-a", stdin=edges))
    assert found == [{("a", "b"), ("b", "c"), ("c", "d")}] * 40
    assert "'a-d' is no item" in fails(*words, "--include", "a-d", stdin=edges)
    assert "falls into 2 parts" in fails(*words, "--exclude", "c-d", stdin=edges)
    assert "close a cycle" in fails(*words, "--include", "a-b,b-c,c-a", stdin=edges)


def test_an_edge_whose_name_may_mean_two(says, fails, folder):
    edges = b"a-b c\na b-c\na c\na-b a\nb-c x-y\n"
    words = ("trees", "-", "--seed", 1, "-n", 20, "--json")
    line = fails(*words, "--exclude", "a-b-c", stdin=edges)
    assert "2 items are called 'a-b-c', numbers 0 ('a-b', 'c'), 3 ('a', 'b-c') from 0" in line
    assert trees_of(says(*words, "--exclude", 0, stdin=edges))
    found = trees_of(says(*words, "--include", "c a-b", "--include", "x-y-b-c", stdin=edges))
    assert all({("a-b", "c"), ("b-c", "x-y")} <= tree for tree in found)


def test_labels_of_two_lines_take_one_line(says, folder):
    Path("two.csv").write_text('name,x,y\n"one\ntwo",1,2\n"\x1b[31mred",3,1\n')
    words = ("two.csv", "--id", "name", "--seed", 1)
    for text in (
        says("landmarks", *words, "-k", 2),
        says("shortlist", *words, "-k", 2, "--relevance", "y"),
        says("sample", *words, "-n", 1),
    ):
        assert "one two" in text
        assert "\\u001b[31mred" in text
        assert "\x1b" not in text
    assert '"one\ntwo"' in says("sample", *words, "-n", 1, "--csv")


def test_an_edge_list_is_read_as_it_was_written(says, fails, folder):
    nx = pytest.importorskip("networkx")
    nx.write_graphml(nx.Graph([("New York", "Boston")]), "g.graphml")
    line = fails("trees", "g.graphml", "--out", "tree.edges")
    assert "an edge list cannot hold the node 'New York'" in line
    assert says("trees", "g.graphml", "--seed", 1, "--out", "tree.graphml") == ""


def test_parallel_edges(says, fails, folder):
    nx = pytest.importorskip("networkx")
    graph = nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c"), ("a", "c")])
    nx.write_graphml(graph, "g.graphml")
    words = ("trees", "g.graphml", "--seed", 1, "-n", 20, "--json")
    found = trees_of(says(*words, "--exclude", "b-a"))
    assert found == [{("b", "c", 0), ("a", "c", 0)}] * 20
    assert "2 items are called 'a-b'" in fails(*words, "--include", "a-b")
    assert all(("a", "b", 1) in tree for tree in trees_of(says(*words, "--include", "b-a-1")))


def test_a_seed_that_the_program_chose_is_shown(call, says, folder):
    foods = ("foods.csv", "--id", "food")
    Path("square.edges").write_text("a b\nb c\nc d\nd a\n")
    for words in (
        ("sample", *foods, "-n", 5),
        ("trees", "square.edges"),
        ("summarize", DATA / "article.txt", "-k", 3, "--answer", "draw"),
        ("landmarks", *foods, "-k", 3),
        ("shortlist", *foods, "--relevance", "protein", "-k", 3, "--answer", "draw"),
        ("volume", "foods.csv", "--columns", "protein,fat", "--method", "estimate"),
    ):
        code, out, err = call(*words)
        assert (code, err.count("\n")) == (0, 1)
        seed = re.fullmatch(r"zonodpp: seed (\d+); --seed \1 gives the same result again\n", err)[1]
        assert says(*words, "--seed", seed) == out
        code, out, err = call(*words, "--json")
        assert (code, err) == (0, "")
        assert "seed" in json.loads(out)
        assert "seed" not in call(*words, "--no-such-option")[2]


def test_a_seed_without_effect_is_left_out(says, folder):
    for words in (
        ("summarize", DATA / "article.txt", "-k", 3),
        ("shortlist", "foods.csv", "--id", "food", "--relevance", "protein", "-k", 3),
        ("rows", "foods.csv", "-k", 3),
        ("volume", "foods.csv", "--columns", "protein,fat"),
    ):
        assert says(*words) == says(*words, "--seed", 4)
        assert "seed" not in json.loads(says(*words, "--json"))


STRICT = [
    ("line={}", "line must be one of 'gibbs', 'metropolis'; got {}"),
    ("line=[]", "line must be one of"),
    ('line=""', "line must be one of"),
    ("line=0", "line must be one of"),
    ("directions=false", "directions must be one of"),
    ("tiling=[[]]", "tiling must be one of"),
    ("base_measure=null", "base_measure must be one of"),
    ("preset={}", "preset must be one of"),
    ("reflect=no", "reflect must be True or False, got 'no'"),
    ("reflect=1", "reflect must be True or False, got 1"),
    ("window=true", "window must be a number, got True"),
    ("window=[1]", "window must be a number"),
    ("window=1" + "0" * 400, "window must be a number"),
    ("window=" + "[" * 100_000, "-O window: the value is nested too deeply"),
    ("rng=3", "method 'zonotope' has no option 'rng'"),
    ("executor=1", "method 'zonotope' has no option 'executor'"),
    ("draws=1", "method 'zonotope' has no option 'draws'"),
    ("options={}", "method 'zonotope' has no option 'options'"),
    ("window", "-O takes NAME=VALUE"),
    ("wndow=1", "method 'zonotope' has no option 'wndow'"),
]


@pytest.mark.parametrize(("option", "says"), STRICT, ids=[option[:20] for option, _ in STRICT])
def test_options_are_looked_at(option, says, fails, folder):
    words = ("sample", "foods.csv", "--id", "food", "--method", "zonotope", "-n", 1)
    assert says in fails(*words, "-O", option)


def test_options_of_other_methods_are_looked_at(fails, folder):
    words = ("sample", "foods.csv", "--id", "food", "-n", 1)
    for more in (("exact", "algorithm={}"), ("exchange", "rule=[]"), ("exact", "algorithm=null")):
        assert "must be one of" in fails(*words, "--method", more[0], "-O", more[1])
    assert "must be one of" in fails(*words, "--dpp", "-O", "algorithm=[]")
    assert "given twice" in fails(*words, "--rule", "barker", "-O", "rule=barker")
    assert "--rank" in fails(*words, "--dpp", "--rank", 0)
    assert "must be one of" in fails("trees", "-", "-O", "algorithm={}", stdin=b"a b\n")


def test_errors_name_the_option_as_it_is_written(fails, folder):
    foods = ("foods.csv", "--id", "food")
    assert "'--size': 0" in fails("sample", *foods, "--size", 0)
    assert "'--draws': 0" in fails("shortlist", *foods, "--relevance", "fat", "-n", 0)
    for command in ("shortlist", "landmarks"):
        assert "/ '--number': 0" in fails(command, *foods, "-k", 0)
    assert "/ '--sentences': 0" in fails("summarize", DATA / "article.txt", "-k", 0)
    assert "--track: expected a set of items" in fails("sample", *foods, "--track", "")
    assert "--include: expected names" in fails("sample", *foods, "--include", '"egg')


def test_true_and_false_as_in_python(says, folder):
    words = ("sample", "foods.csv", "--id", "food", "--method", "zonotope", "-n", 20, "--seed", 1)
    plain, python = (says(*words, "-O", f"reflect={word}") for word in ("true", "True"))
    assert plain == python


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
    assert "facts cannot be written as .npy" in fails(
        "info", "foods.csv", "--id", "food", "--out", "a.npy"
    )
    assert says("info", "--example", "digits", "--out", "digits.npy") == ""
    assert np.load("digits.npy").shape == (1000, 784)


def test_options_that_would_have_no_effect_are_refused(fails, folder):
    best = "--draws and --method are for --answer mbr or draw"
    Path("x.txt").write_text("Cats sleep. Dogs bark.")
    assert best in fails("summarize", "x.txt", "--draws", 5)
    assert best in fails("summarize", "x.txt", "--method", "exact")
    volume = ("volume", "foods.csv", "--id", "food", "--method", "exact", "--draws", 5)
    assert "--draws is for --method estimate" in fails(*volume)
    Path("g.graphml").write_text("<graphml/>")
    excluded = ("trees", "g.graphml", "--unweighted", "--weight", "w")
    assert "--weight and --unweighted exclude each other" in fails(*excluded)


def test_landmarks_by_coverage(says, folder):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[-1] = 50
    np.save("far.npy", X)
    words = ("landmarks", "far.npy", "-k", 2, "--seed", 1, "--objective", "coverage")
    assert "59" in says(*words).split()
