"""Summaries of texts of many kinds."""

import pathlib

import numpy as np
import pytest
from law import assert_law, assert_not_law

from zonodpp import ProjectionDPP, datasets
from zonodpp.apps import Summary, summarize
from zonodpp.apps.rouge import mean_rouge
from zonodpp.apps.sentences import split_sentences, words
from zonodpp.apps.summaries import ANSWERS
from zonodpp.apps.text import appendix_features

TEXTS = sorted((pathlib.Path(__file__).parent / "texts").glob("*.txt"))
LANGUAGES = {"deutsch": "de", "francais": "fr", "espanol": "es", "zhongwen": "zh", "nihongo": "ja"}
ARTICLE = datasets.article()


def assert_whole(summary, size):
    assert isinstance(summary, Summary)
    assert len(summary) == len(summary.sentences) == len(summary.scores) == size
    assert summary.indices == sorted(set(summary.indices))
    assert [summary.all_sentences[i] for i in summary.indices] == summary.sentences
    assert all(0 < score <= 1 for score in summary.scores)
    assert str(summary) == summary.text


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("given_language", [True, False])
def test_all_kinds_of_texts(path, given_language):
    text = path.read_text(encoding="utf-8")
    language = LANGUAGES.get(path.stem) if given_language else None
    for k in (1, 2, 3, 5, 10, 11, 12, 13):
        summary = summarize(text, k, language=language, draws=50, rng=k)
        assert_whole(summary, k)
        assert summary == summarize(text, k, language=language, draws=50, rng=k)


@pytest.mark.parametrize("features", ["appendix", "spread", "lsa"])
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("k", [1, 4, 11, 15, 63])
def test_sizes_answers_and_features(features, answer, k):
    summary = summarize(ARTICLE, k, features=features, answer=answer, draws=40, rng=0)
    assert_whole(summary, k)
    assert summary.features == features
    assert (summary.expected_rouge is not None) == (answer == "mbr")


def test_the_default_features():
    assert summarize(ARTICLE, 11, draws=5, rng=0).features == "appendix"
    assert summarize(ARTICLE, 10, draws=5, rng=0).features == "spread"
    assert summarize(ARTICLE, 12, draws=5, rng=0).features == "lsa"
    assert summarize(ARTICLE, 3, query="oil", draws=5, rng=0).features == "lsa"


def test_seeds_tell():
    indices = {tuple(summarize(ARTICLE, 5, answer="draw", rng=s).indices) for s in range(8)}
    assert len(indices) == 8


@pytest.mark.parametrize("method", ["exact", "exchange", "zonotope"])
def test_methods(method):
    for answer in ("mbr", "draw"):
        assert_whole(summarize(ARTICLE, 4, method=method, answer=answer, draws=60, rng=0), 4)


def test_scores_are_probabilities():
    X = appendix_features(split_sentences(ARTICLE))
    target = ProjectionDPP.from_features(X)
    summary = summarize(ARTICLE, 11, features="appendix", draws=20, rng=0)
    np.testing.assert_allclose(summary.scores, target.marginals()[summary.indices], atol=1e-8)
    assert summary.indices[:5] == [0, 1, 2, 3, 4]


def test_draws_follow_the_law_of_the_features():
    rng = np.random.default_rng(0)
    sentences = [f"Word {name}." for name in "abcdefg"]
    X = rng.normal(size=(7, 2))
    draws = [
        summarize(sentences, 2, features=X, answer="draw", rng=seed).indices for seed in range(500)
    ]
    assert_law(draws, ProjectionDPP.from_features(X))
    assert_not_law(draws, ProjectionDPP.from_features(X * np.arange(1, 8)[:, None]))


def test_mbr_is_nearer_to_fresh_draws_than_draws_are():
    tokens = [words(sentence) for sentence in split_sentences(ARTICLE)]
    single = [summarize(ARTICLE, 5, answer="draw", rng=seed).indices for seed in range(60)]
    nearest = summarize(ARTICLE, 5, rng=60).indices
    means = mean_rouge(tokens, [nearest, *single[:30]], single[30:])
    assert means[0] > means[1:].mean() + means[1:].std()


def test_a_query_draws_near():
    plain = summarize(ARTICLE, 4, features="lsa", rng=0)
    asked = summarize(ARTICLE, 4, query="electricity, valves and the last keepers", rng=0)
    assert asked.indices != plain.indices

    def near(summary):
        asked_for = {"electricity", "valve", "last", "keepers"}
        return sum(w in asked_for for s in summary.sentences for w in words(s))

    assert near(asked) > near(plain)
    assert_whole(summarize(ARTICLE, 5, query="zzz", rng=0), 5)  # nothing is near: no preference
    with pytest.raises(ValueError, match="query must hold a word"):
        summarize(ARTICLE, query="?!")


@pytest.mark.parametrize(
    ("text", "k", "expected"),
    [
        ("", 3, []),
        ("   \n\n ", 3, []),
        ("!!!", 1, []),
        ("One only.", 1, [0]),
        ("One only.", 11, [0]),
        ("One. Two.", 2, [0, 1]),
        ("One. Two.", 5, [0, 1]),
        ([], 2, []),
    ],
)
def test_short_texts_are_returned_whole(text, k, expected):
    summary = summarize(text, k, rng=0)
    assert summary.indices == expected
    assert summary.features == "none"
    assert_whole(summary, len(expected))


@pytest.mark.parametrize("features", ["appendix", "spread", "lsa"])
def test_one_of_two(features):
    assert_whole(summarize("The tide rose. It fell.", 1, features=features, rng=0), 1)
    assert_whole(summarize("Same length. Size thesame.", 1, features=features, rng=0), 1)


@pytest.mark.parametrize("features", ["appendix", "spread", "lsa"])
def test_repeated_sentences(features):
    same = summarize("The tide rose. " * 30, 11, features=features, rng=0)
    assert same.indices == list(range(11))  # nothing to choose from, yet the size asked for
    text = "The tide rose. " * 10 + "It fell. Gulls cried. " * 5 + "Night came."
    four = summarize(text, 3, features=features, rng=0)
    assert len(set(four.sentences)) == 3
    five = summarize(text, 6, features=features, rng=0)
    assert len(set(five.sentences)) == 4
    assert_whole(five, 6)


@pytest.mark.parametrize("features", ["appendix", "spread", "lsa"])
@pytest.mark.parametrize("k", [5, 11, 20])
def test_features_of_low_rank_are_filled_up(features, k):
    numbered = [f"Sentence number {i}." for i in range(10, 40)]  # alike in nearly all features
    assert_whole(summarize(numbered, k, features=features, rng=0), k)
    names = "abcdefghijklmnopqrstuvwxyz"
    turned = [f"{a} saw {b}." for a in names[:6] for b in names[:6] if a != b]  # the same words
    assert_whole(summarize(turned, k, features=features, rng=0), k)


def test_many_sentences():
    rng = np.random.default_rng(0)
    vocabulary = sorted({w for s in split_sentences(ARTICLE) for w in words(s)})
    sizes = rng.integers(3, 20, 3000)
    text = " ".join(" ".join(rng.choice(vocabulary, size)).capitalize() + "." for size in sizes)
    assert_whole(summarize(text, 11, draws=100, rng=0), 11)
    assert_whole(summarize(text, 30, draws=50, rng=0), 30)


def test_given_features():
    sentences = split_sentences(ARTICLE)
    X = np.random.default_rng(0).normal(size=(64, 6))
    assert summarize(ARTICLE, 6, features=X, draws=10, rng=0).features == "given"
    assert_whole(summarize(sentences, 3, features=X, draws=10, rng=0), 3)
    with pytest.raises(ValueError, match="row for each of the 64 sentences, got 5"):
        summarize(ARTICLE, 3, features=X[:5])
    with pytest.raises(ValueError, match="6 columns, so that a draw has 6 sentences"):
        summarize(ARTICLE, 7, features=X)
    with pytest.raises(ValueError, match="rank 1, but 2"):
        summarize(ARTICLE, 2, features=np.ones((64, 2)))
    with pytest.raises(ValueError, match="NaN or infinity"):
        summarize(ARTICLE, 2, features=np.full((64, 2), np.nan))


def test_bad_arguments():
    with pytest.raises(TypeError, match=r"text must be a str .* got bytes; decode"):
        summarize(b"Low tide.")
    with pytest.raises(TypeError, match=r"text must be a str .* got int"):
        summarize(3)
    with pytest.raises(TypeError, match=r"text must be a str .* got float"):
        summarize(["Low tide.", 1.5])
    with pytest.raises(ValueError, match="sentences must be at least 1, got 0"):
        summarize(ARTICLE, 0)
    with pytest.raises(ValueError, match="answer must be one of 'mbr'"):
        summarize(ARTICLE, answer="median")
    with pytest.raises(ValueError, match="features must be one of 'auto'"):
        summarize(ARTICLE, features="bert")
    with pytest.raises(ValueError, match="language must be a code"):
        summarize(ARTICLE, language="double dutch")


def test_the_package_offers_functions_not_files():
    import zonodpp.apps.summaries

    assert zonodpp.apps.summarize is summarize
    assert "summarize" in dir(zonodpp.apps)
    with pytest.raises(AttributeError, match="no attribute 'paraphrase'"):
        zonodpp.apps.paraphrase  # noqa: B018
