"""The experiment on summaries: data, verdicts that can fail, figures."""

import copy

import numpy as np
import pytest

from paper import summaries
from paper.records import read_record, write_record
from paper.summaries import uniform_bases
from zonodpp import ProjectionDPP, datasets
from zonodpp.apps.rouge import rouge_1f

CLAIMS = ("variance", "new share", "old share", "time", "coverage", "positions")


@pytest.fixture(scope="module")
def data():
    return summaries.run(runs=8, draws=400, rng=0)


def judge(data):
    return dict(zip(CLAIMS, summaries.verdicts(data), strict=True))


def test_data(data):
    assert data["settings"]["sentences"] == 64
    assert data["candidates"].shape == (3, 11)
    for name in ("Algorithm 5", "Algorithm 1", "exact draws"):
        assert data["estimates"][name].shape == (8, 3)
        assert 0 < data["distinct"][name].mean() <= 1
        assert 0.4 < data["estimates"][name].mean() < 0.9
    assert data["distinct"]["exact draws"].min() > 0.95
    assert [len(s) for s in summaries.texts(data).values()] == [11] * 4


def test_estimates_agree(data):
    exact, chain = (data["estimates"][name].mean(axis=0) for name in ("exact draws", "Algorithm 5"))
    np.testing.assert_allclose(chain, exact, atol=0.02)


def test_all_is_written_and_read_back(data, tmp_path):
    write_record(tmp_path, data)
    again = read_record(tmp_path)
    assert summaries.verdicts(again) == summaries.verdicts(data)
    assert summaries.texts(again) == summaries.texts(data)


def test_same_seed_same_data(data):
    again = summaries.run(runs=8, draws=400, rng=0)
    np.testing.assert_array_equal(again["candidates"], data["candidates"])
    for name, values in data["estimates"].items():
        np.testing.assert_array_equal(again["estimates"][name], values)


def test_verdicts_can_go_either_way(data):
    found = judge(data)
    assert found["variance"].reproduced
    assert found["new share"].reproduced
    assert found["old share"].reproduced
    assert found["positions"].reproduced is False

    broken = copy.deepcopy(data)  # the two algorithms exchanged
    for part in ("estimates", "distinct", "seconds"):
        values = broken[part]
        values["Algorithm 5"], values["Algorithm 1"] = values["Algorithm 1"], values["Algorithm 5"]
    turned = judge(broken)
    assert turned["variance"].reproduced is False
    assert turned["new share"].reproduced is False
    assert turned["old share"].reproduced is False

    coverage = data["coverage"]
    swapped = data | {
        "coverage": {"Algorithm 5": coverage["uniform"], "uniform": coverage["Algorithm 5"]}
    }
    better, worse = judge(data)["coverage"], judge(swapped)["coverage"]
    assert not (better.reproduced and worse.reproduced)
    assert better.reproduced or worse.reproduced

    slow = copy.deepcopy(data)  # a ROUGE-1F as slow as the paper's
    for name in ("Algorithm 5", "Algorithm 1"):
        slow["seconds"][name]["rouge of a run"] = 0.1 * 400
    assert judge(slow)["time"].reproduced
    open_to_all = copy.deepcopy(data)
    open_to_all["readings"]["first five sentences"]["first sentence"] = 0.3
    assert judge(open_to_all)["positions"].reproduced


def test_a_stuck_sampler_is_found_out(data, monkeypatch):
    """Algorithm 5 that moves once in twenty steps explores too little."""
    draw = summaries._draw

    def stuck(target, name, draws, *rest):
        samples = draw(target, name, draws, *rest)
        if name == "Algorithm 5":
            samples.subsets = np.repeat(samples.subsets[:, ::20], 20, axis=1)[:, :draws]
        return samples

    monkeypatch.setattr(summaries, "_draw", stuck)
    found = judge(summaries.run(runs=4, draws=400, rng=0))
    assert found["new share"].reproduced is False


def test_figures(data, tmp_path):
    made = summaries.figures(data)
    assert set(made) == {"rouge", "distinct", "places"}
    for stem, (figure, caption) in made.items():
        assert caption.endswith(".")
        figure.savefig(tmp_path / f"{stem}.png")
        assert (tmp_path / f"{stem}.png").stat().st_size > 5000


def test_uniform_bases_are_uniform():
    target = ProjectionDPP([[1, 0, 0, 0, 0], [0, 1, 5, 1, 2], [0, 0, 0, 1, 1]])
    found = uniform_bases(target, 3000, np.random.default_rng(0))
    assert (found[:, 0] == 0).all()  # the only item with the first feature
    sets, counts = np.unique(found, axis=0, return_counts=True)
    assert sets.tolist() == [[0, 1, 3], [0, 1, 4], [0, 2, 3], [0, 2, 4], [0, 3, 4]]
    assert counts.min() > 500


def test_candidates_are_scored_by_rouge(data):
    sentences = data["sentences"]
    texts = [" ".join(sentences[i] for i in items) for items in data["candidates"]]
    assert 0.5 < rouge_1f(*texts[:2]) < 1


def test_other_articles(tmp_path):
    path = tmp_path / "article.txt"
    paragraphs = datasets.article().split("\n\n")
    path.write_text("\n\n".join(paragraphs[:6]), encoding="utf-8")
    said = []
    for article in (path, str(path), path.read_text(encoding="utf-8")):
        found = summaries.run(article=article, runs=2, draws=20, rng=0, progress=said.append)
        assert found["settings"]["article"] == "given"
        assert found["settings"]["sentences"] == 39
    assert any("Algorithm 1" in news for news in said)
    with pytest.raises(FileNotFoundError, match=r"there is none at nowhere\.txt"):
        summaries.run(article="nowhere.txt")
    with pytest.raises(ValueError, match="more than 11 sentences, got 2"):
        summaries.run(article="Low tide. High tide.")
    with pytest.raises(ValueError, match="features of this article are dependent"):
        summaries.run(article="Low tide again.\n" * 20)
