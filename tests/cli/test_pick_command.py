"""``zonodpp pick``."""

import json

import numpy as np
import pytest

from zonodpp import pick
from zonodpp.cli import large
from zonodpp.datasets import foods

FOODS = ("pick", "foods.csv", "--id", "food")


@pytest.fixture(autouse=True)
def folder(call, tmp_path):
    table = foods()
    lines = [",".join(["food", *table.columns])]
    rows = zip(table.names, table.values.tolist(), strict=True)
    lines += [",".join([label, *map(str, row)]) for label, row in rows]
    (tmp_path / "foods.csv").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


@pytest.fixture
def says(call):
    def run(*words):
        code, out, err = call(*words)
        assert (code, err) == (0, "")
        return out

    return run


def test_rows_come_in_the_order_of_the_picks(says):
    table = foods()
    picks, gains = pick(table.values, 5, return_gains=True)
    names = [table.names[item] for item in picks]
    assert says(*FOODS, "-k", 5).split("\n")[:-1] == names
    assert says(*FOODS, "-k", 3).split("\n")[:-1] == names[:3]
    found = json.loads(says(*FOODS, "-k", 5, "--json"))
    assert found["labels"] == names
    assert found["indices"] == picks.tolist()
    assert found["gains"] == pytest.approx(gains.tolist())


def test_relevance_given_items_and_objectives(says):
    lines = says(*FOODS, "-k", 3, "--relevance", "protein", "--given", "tofu,egg", "--csv")
    head, *rows = [line.split(",") for line in lines.splitlines()]
    assert head == ["item", "relevance", "gain"]
    assert not {"tofu", "egg"} & {row[0] for row in rows}
    for words in (
        ("--objective", "farthest"),
        ("--objective", "coverage", "--kernel", "rbf", "--gamma", 0.001),
        ("--window", 2),
        ("--swaps", 3, "--kernel", "linear", "--ridge", 0.1),
    ):
        assert len(says(*FOODS, "-k", 4, *words).splitlines()) == 4
    assert (
        json.loads(says(*FOODS, "-k", 2, "--objective", "farthest", "--json"))["gains"][0] is None
    )


def test_large_files_are_read_in_passes(call, says, folder, monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 4))
    np.save(folder / "rows.npy", X)
    expected = says("pick", "rows.npy", "-k", 9, "--given", 3)
    monkeypatch.setattr(large, "_SHARE", 0.0)
    code, _, err = call("pick", "rows.npy", "-k", 9, "--given", 3, "--out", "picks.npy")
    assert code == 0
    assert "in passes" in err
    assert np.load(folder / "picks.npy").tolist() == list(map(int, expected.split()))


def test_mistakes_are_one_line(fails):
    assert "there are 32 items" in fails(*FOODS, "-k", 33)
    assert "'rock' is no item" in fails(*FOODS, "--given", "rock")
    assert "protien" in fails(*FOODS, "--relevance", "protien")
