"""Summaries of texts of many kinds."""

import pathlib
from itertools import combinations

import numpy as np
import pytest
from law import assert_law, assert_not_law, p_value

from zonodpp import ProjectionDPP, datasets
from zonodpp.apps import Summary, summarize
from zonodpp.apps.rouge import mean_rouge
from zonodpp.apps.summaries.languages import words
from zonodpp.apps.summaries.sentences import split_sentences
from zonodpp.apps.summaries.summarize import ANSWERS
from zonodpp.apps.summaries.text import appendix_features, central_features

TEXTS = sorted((pathlib.Path(__file__).parent / "texts").glob("*.txt"))
LANGUAGES = {"deutsch": "de", "francais": "fr", "espanol": "es", "zhongwen": "zh", "nihongo": "ja"}
ARTICLE = datasets.article()
FEATURES = ("central", "appendix", "spread", "lsa")


def assert_whole(summary, size):
    assert isinstance(summary, Summary)
    assert len(summary) == len(summary.sentences) == len(summary.scores) == size
    assert summary.indices == sorted(set(summary.indices))
    assert [summary.all_sentences[i] for i in summary.indices] == summary.sentences
    assert all(0 <= score <= 1 for score in summary.scores)
    assert str(summary) == summary.text


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("given_language", [True, False])
def test_all_kinds_of_texts(path, given_language):
    text = path.read_text(encoding="utf-8")
    language = LANGUAGES.get(path.stem) if given_language else None
    for k in (1, 2, 3, 5, 10, 11, 12, 13):
        summary = summarize(text, k, language=language, draws=50, rng=k)
        assert_whole(summary, k)
        assert summary == summarize(text, k, language=language)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("k", [1, 4, 11, 15, 63])
def test_sizes_answers_and_features(features, answer, k):
    summary = summarize(ARTICLE, k, features=features, answer=answer, draws=40, rng=0)
    assert_whole(summary, k)
    assert summary.features == features
    assert (summary.expected_rouge is not None) == (answer == "mbr")


def test_the_default_is_deterministic():
    for options in ({}, {"words": 100}, {"query": "oil"}, {"sentences": 11}):
        first = summarize(ARTICLE, **options)
        assert first.features == "central"
        assert all(summarize(ARTICLE, **options, rng=seed) == first for seed in range(3))
    assert len(summarize(ARTICLE)) == 11
    for features in FEATURES:  # so is the likeliest draw of other features
        known = {tuple(summarize(ARTICLE, 5, features=features, rng=s).indices) for s in range(3)}
        assert len(known) == 1


@pytest.mark.parametrize("budget", [8, 30, 60, 100, 250, 900])
def test_budgets_are_kept(budget):
    summary = summarize(ARTICLE, words=budget)
    spent = sum(len(words(sentence)) for sentence in summary.sentences)
    left = [len(words(s)) for i, s in enumerate(summary.all_sentences) if i not in summary.indices]
    assert spent <= budget < spent + min(left)  # no other sentence would fit
    assert_whole(summary, len(summary.sentences))
    assert len(summarize(ARTICLE, 2, words=budget)) == min(2, len(summary))


def test_budgets_that_hold_everything_or_nothing():
    assert summarize(ARTICLE, words=10_000).text == summarize(ARTICLE, 64).text
    assert len(summarize(ARTICLE, words=1)) == len(summarize("", words=100)) == 0
    for options in ({"answer": "draw"}, {"features": "lsa"}):
        with pytest.raises(ValueError, match="words= needs features='central'"):
            summarize(ARTICLE, words=100, **options)
    with pytest.raises(ValueError, match="words must be at least 1, got 0"):
        summarize(ARTICLE, words=0)


def test_important_sentences_that_differ():
    tides = ["The tide lifts the harbour boats.", "The harbour boats wait for the tide."]
    lamps = ["The lamp burns oil all night.", "Oil for the lamp is dear at night."]
    others = ["Gulls cry.", "Somebody sang a song of home.", "Bread was baked on Friday."]
    text = [*tides * 2, *others, *lamps * 2, "Boats follow the lamp into the harbour at night."]
    chosen = " ".join(summarize(text, 3).sentences)
    assert "tide" in chosen
    assert "oil" in chosen.lower()
    assert not any(sentence in chosen for sentence in others)


def test_seeds_tell():
    for features in FEATURES:
        draw = {"answer": "draw", "features": features}
        assert len({tuple(summarize(ARTICLE, 6, **draw, rng=s).indices) for s in range(8)}) > 5


def test_draws_follow_the_law_of_central_features():
    sentences = ["Oil lamps burn.", "Lamps burn out.", "The sea is calm.", "Oil is dear.", "Boats."]
    Phi = central_features(sentences).toarray()
    L = Phi @ Phi.T
    draws = np.array([summarize(sentences, 2, answer="draw", rng=s).indices for s in range(500)])
    pairs = np.array(list(combinations(range(5), 2)))
    repelled = np.array([np.linalg.det(L[np.ix_(pair, pair)]) for pair in pairs])
    alone = np.array([L[i, i] * L[j, j] for i, j in pairs])  # without repulsion
    assert p_value(draws, pairs, repelled / repelled.sum()) > 1e-4
    assert p_value(draws, pairs, alone / alone.sum()) < 1e-4


@pytest.mark.parametrize("method", ["exact", "exchange", "zonotope"])
def test_methods(method):
    for answer in ("mbr", "draw"):
        assert_whole(
            summarize(ARTICLE, 4, features="lsa", method=method, answer=answer, draws=60, rng=0), 4
        )


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
    draw = {"features": "spread", "answer": "draw"}
    single = [summarize(ARTICLE, 5, **draw, rng=seed).indices for seed in range(60)]
    nearest = summarize(ARTICLE, 5, features="spread", answer="mbr", rng=60).indices
    means = mean_rouge(tokens, [nearest, *single[:30]], single[30:])
    assert means[0] > means[1:].mean() + means[1:].std()


SPEECH = """We will build roads and bridges. Roads bring work, and work brings hope to our towns.
Our schools need teachers, and teachers need schools. The towns have waited long for work.
There is one danger above all others. No nation should test nuclear weapons again. I ask the
Congress to ratify the treaty that bans these weapons. Every missile costs a hundred schools.
Our farms feed the world. Farmers need roads and bridges to the towns. Work is what we need."""


def test_a_query_decides():
    about = [5, 6]  # the sentences about weapons
    assert summarize(SPEECH, 2, query="nuclear weapons").indices == about
    assert summarize(SPEECH, words=40, query="nuclear weapons").indices == about
    assert set(about) < set(summarize(SPEECH, 5, query="nuclear weapons").indices)
    assert not set(about) & set(summarize(SPEECH, 2).indices)
    for seed in range(5):
        drawn = summarize(SPEECH, 2, query="nuclear weapons", answer="draw", rng=seed)
        assert drawn.indices == about
    four = summarize(ARTICLE, 4, query="electricity, valves and the last keepers")
    asked_for = {"electricity", "valve", "valves", "last", "keeper", "keepers"}
    assert all(asked_for & set(words(sentence)) for sentence in four.sentences)
    plain = summarize(ARTICLE, 5)
    assert summarize(ARTICLE, 5, query="zzz").indices == plain.indices  # nothing is near
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
        ("One \ud800 only. Two.", 2, [0, 1]),
        ([], 2, []),
    ],
)
def test_short_texts_are_returned_whole(text, k, expected):
    summary = summarize(text, k, rng=0)
    assert summary.indices == expected
    assert summary.features == "none"
    assert_whole(summary, len(expected))


@pytest.mark.parametrize("features", FEATURES)
def test_one_of_two(features):
    assert_whole(summarize("The tide rose. It fell.", 1, features=features, rng=0), 1)
    assert_whole(summarize("Same length. Size thesame.", 1, features=features, rng=0), 1)


@pytest.mark.parametrize("features", FEATURES)
def test_repeated_sentences(features):
    same = summarize("The tide rose. " * 30, 11, features=features, rng=0)
    assert same.indices == list(range(11))  # nothing to choose from, yet the size asked for
    text = "The tide rose. " * 10 + "It fell. Gulls cried. " * 5 + "Night came."
    four = summarize(text, 3, features=features, rng=0)
    assert len(set(four.sentences)) == 3
    five = summarize(text, 6, features=features, rng=0)
    assert len(set(five.sentences)) == 4
    assert_whole(five, 6)


@pytest.mark.parametrize("features", FEATURES)
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
    assert_whole(summarize(text, 30, answer="mbr", draws=50, rng=0), 30)
    assert_whole(summarize(text, 30, features="lsa", draws=50, rng=0), 30)


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
    with pytest.raises(ValueError, match="answer must be one of 'best'"):
        summarize(ARTICLE, answer="median")
    with pytest.raises(ValueError, match="features must be one of 'auto'"):
        summarize(ARTICLE, features="bert")
    with pytest.raises(ValueError, match="language must be a known code"):
        summarize(ARTICLE, language="double dutch")


def test_the_package_offers_functions_not_files():
    import zonodpp.apps.summaries.summarize

    assert zonodpp.apps.summarize is summarize
    assert "summarize" in dir(zonodpp.apps)
    with pytest.raises(AttributeError, match="no attribute 'paraphrase'"):
        zonodpp.apps.paraphrase  # noqa: B018


@pytest.mark.parametrize("columns", [4, 7])  # as many as sentences in a summary, and more
def test_given_features_may_have_any_unit_and_offset(columns):
    text = [f"Sentence number {i} about {word}." for i, word in enumerate("abcdefghijkl")]
    rows = np.round(np.random.default_rng(0).normal(size=(12, columns)) * 2**10) / 2**10

    def chosen(features):
        return summarize(text, sentences=4, features=features, rng=0).indices

    expected = chosen(rows)
    others = [rows * 1e-170, rows * 1e200, rows * 10.0 ** np.arange(-100, 100, 30)[:columns]]
    if columns > 4:
        others += [rows + 2.0**31, rows + 2.0 ** np.arange(20, 34, 2)]
    for same in others:
        assert chosen(same) == expected


STUBS = """\
1. Source Code.

The source code for a work means the preferred form of the work for making changes to it.

2. Basic Permissions.

All rights that this licence grants hold for the term of copyright on the work.

You may convey covered works to others for the sole purpose of:

Covered works are made for you alone, under the terms of this licence and of the work.
"""


@pytest.mark.parametrize("options", [{"sentences": 3}, {"words": 40}, {"features": "spread"}])
def test_titles_and_stubs_are_not_picked(options):
    found = summarize(STUBS, **({"sentences": 3} | options if "words" not in options else options))
    assert len(found.all_sentences) == 6
    assert not [one for one in found.sentences if one.endswith(":") or one[0].isdigit()]
    assert len(summarize(STUBS, 5).sentences) == 5  # of so many, some have to be stubs
    assert len(summarize(STUBS, 6).sentences) == 6


def test_entries_of_a_list_are_no_titles():
    from zonodpp.apps.summaries.sentences import is_stub

    for sentence in (
        "1. Wash the whole sieve.",
        "A ship came home.",
        "I saw Whales.",
        "3.5 Million",
    ):
        assert not is_stub(sentence), sentence
    for sentence in (
        "1. Source Code.",
        "4.2. Terms and Conditions",
        "(a) Definitions.",
        "II. Law.",
    ):
        assert is_stub(sentence), sentence
