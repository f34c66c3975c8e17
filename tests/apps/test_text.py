"""Sentences, words and features of texts."""

import math
import pathlib
import subprocess
import sys
import types

import numpy as np
import pytest

from zonodpp import ProjectionDPP, datasets
from zonodpp._imports import optional
from zonodpp.apps.summaries import sentences as splitting
from zonodpp.apps.summaries import text
from zonodpp.apps.summaries.languages import is_content, read_language, words
from zonodpp.apps.summaries.sentences import LONGEST, MOST_WORDS, join_sentences, split_sentences
from zonodpp.numerics import spectrum

TEXTS = pathlib.Path(__file__).parent / "texts"
COUNTS = {
    "prose_wrapped": (16, None),
    "headings_and_lists": (19, None),
    "quotes_and_abbreviations": (17, None),
    "deutsch": (15, "de"),
    "francais": (15, "fr"),
    "espanol": (14, "es"),
    "zhongwen": (14, "zh"),
    "nihongo": (14, "ja"),
}


def read(name):
    return (TEXTS / f"{name}.txt").read_text(encoding="utf-8")


def test_the_bundled_article_has_64_different_sentences():
    sentences = split_sentences(datasets.article())
    assert len(sentences) == len(set(sentences)) == 64
    assert datasets.article().isascii()  # so that words are those of rouge-score
    for sentence in sentences:
        assert sentence[0].isupper()
        assert sentence[-1] == "."


@pytest.mark.parametrize("name", COUNTS)
def test_texts_of_many_kinds_are_split(name):
    count, language = COUNTS[name]
    sentences = split_sentences(read(name), language)
    assert len(sentences) == count
    assert all(words(s) and s == s.strip() and "\n" not in s for s in sentences)


def test_lines_that_were_wrapped_are_joined():
    sentences = split_sentences(read("prose_wrapped"))
    assert sentences[1:3] == [
        "Nobody seemed to mind the delay.",
        "Along the quay the lamps came on one by one, and somebody who could not be seen was "
        "playing an accordion, badly but with conviction.",
    ]


@pytest.mark.parametrize("width", [20, 33, 47, 72, 100])
def test_wrapping_does_not_change_sentences(width):
    import textwrap

    paragraphs = datasets.article().split("\n\n")
    wrapped = "\n\n".join(textwrap.fill(p, width, break_on_hyphens=False) for p in paragraphs)
    assert split_sentences(wrapped) == split_sentences(datasets.article())


def test_headings_and_entries_stand_by_themselves():
    sentences = split_sentences(read("headings_and_lists"))
    for unit in (
        "Field kit for a botanist",
        "Before you leave",
        "a hand lens with a cord that goes around the neck",
        "1. Walk the whole plot before you write anything.",
        "2. Mark the corners.",
        "Afterwards",
        "No. 7 of the series appears in spring.",
    ):
        assert unit in sentences


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Tides\nThe sea rises twice a day. It falls, too.", 3),  # a heading above its text
        ("Milk\nBread\nCheese sticks", 3),  # a list without marks
        ("The year was\n12. Then\nit ended.", 2),  # no list: the number belongs to the text
        ("One.\r\n\r\nTwo.\rThree.\u2029Four.", 4),
        ("\ufeffA soft\u00adhyphen.\x00 Done.", 2),
        ("== Tides ==\nThey rise.", 2),
        ("***\n\n---\n\n!!! ... ???", 0),
        ("", 0),
        (" \n\t\n ", 0),
        ("no full stop", 1),
        ("Half \ud800 a character. \udfff It ends.", 2),
    ],
)
def test_odd_texts(given, expected):
    assert len(split_sentences(given)) == expected


def test_abbreviations_quotes_and_titles():
    sentences = split_sentences(read("quotes_and_abbreviations"))
    assert sentences[0] == '"Are you sure?" asked Dr. Brown.'
    assert "Prof. J. K. Moreau had brought 3.5 kg of samples" in sentences[3]
    french = split_sentences("Il a vu M. Dupont hier. M. Petit aussi.", "fr")
    assert french == ["Il a vu M. Dupont hier.", "M. Petit aussi."]


def test_apostrophes_are_no_quotation_marks():
    text = "The '90s were hard. We ate fish. Rain fell. The sailors' lamp was out. It's done."
    assert split_sentences(text) == [part + "." for part in text[:-1].split(". ")]
    assert split_sentences(text.replace("'", "\u2019")) == [
        part + "." for part in text[:-1].replace("'", "\u2019").split(". ")
    ]
    assert split_sentences("'Are you sure?' asked Dr. Brown. 'Yes!' she cried. He slept.") == [
        "'Are you sure?' asked Dr. Brown.",
        "'Yes!' she cried.",
        "He slept.",
    ]


@pytest.mark.parametrize(
    ("opening", "closing"), ['""', "\u201c\u201d", "()", "\u00bb\u00ab", '"\u201d']
)
def test_long_quotations_and_parentheses_are_split_on(opening, closing):
    inside = "The lamp was lit. Nobody saw the ship that night. The keeper slept on. " * 20
    found = split_sentences(f"He said {opening}{inside}{closing} Then he left. All was still.")
    assert len(found) in (62, 63)
    assert max(len(words(sentence)) for sentence in found) < 10
    short = f"He said {opening}I came. I saw.{closing} Then he left."
    assert len(split_sentences(short)) <= 3


@pytest.mark.parametrize("part", ["lamp ", "lamp, ", "lamp and; ", '"lamp ', "(lamp) ", "\u706f"])
def test_no_sentence_is_longer_than_the_guard(part):
    found = split_sentences(part * 2000)
    assert max(len(words(sentence)) for sentence in found) <= MOST_WORDS
    assert "".join("".join(found).split()) == "".join((part * 2000).split())


def test_words_broken_at_line_ends_are_mended():
    text = "The light-\nhouse is a well-\nknown mark of the\nold coast. A well-known man lit it."
    assert split_sentences(text)[0] == "The lighthouse is a well-known mark of the old coast."


PAGE = """<!DOCTYPE html><html><head><title>Tides</title><style>p {color: red}</style>
<script>if (a < b) { go(); }</script></head><body><nav><a href="/">Home</a></nav>
<h1>Of tides</h1><p>The sea rises <b>twice</b> a day &amp; falls.
It is the moon&rsquo;s work.</p><ul><li>Spring tides<li>Neap tides</ul></body></html>"""


def test_tags_are_left_out_and_headings_if_asked():
    sentences = ["The sea rises twice a day & falls.", "It is the moon\u2019s work."]
    entries = ["Spring tides", "Neap tides"]
    assert split_sentences(PAGE) == ["Of tides", *sentences, *entries]
    assert split_sentences(PAGE, headings=False) == [*sentences, *entries]
    assert split_sentences("If a < b and c > d, go.") == ["If a < b and c > d, go."]
    plain = "Of tides\n\n== More ==\n\nThe sea rises twice a day.\n\n- an entry\n"
    assert split_sentences(plain, headings=False) == ["The sea rises twice a day.", "an entry"]
    assert split_sentences("Milk\nBread\nCheese sticks", headings=False)[:2] == ["Milk", "Bread"]


def test_content_words():
    assert [is_content(w, "en") for w in ("the", "lamp", "s", "us")] == [False, True, False, False]
    assert [is_content(w, "de") for w in ("der", "Licht", "\u706f")] == [False, True, True]


def test_a_paragraph_of_many_windows_is_split_as_its_parts_are():
    article = datasets.article()
    whole = split_sentences(article) * 4
    assert split_sentences(" ".join(article.split() * 4)) == whole
    assert split_sentences("\n".join(article.split("\n\n") * 4)) == whole
    assert len(article) > 2 * LONGEST


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("lamp " * 2000, "lamp" * 2000),  # no full stop: cut at white space
        ("lamp\t" * 2000, "lamp" * 2000),
        ("x" * 10_000, "x" * 10_000),  # nor white space
        ("\u706f" * 10_000, "\u706f" * 10_000),
        ("1. " + "lamp " * 2000, "1." + "lamp" * 2000),
        ("1." + " " * 10_000 + "lamp", "1.lamp"),
        ("M. " * 5000, "M." * 5000),
        ("a" + " x" * 5000 + ". Done.", "a" + "x" * 5000 + ".Done."),
    ],
)
def test_long_sentences_are_cut_and_nothing_is_lost(given, kept):
    for language in (None, "fr"):
        sentences = split_sentences(given, language)
        assert max(map(len, sentences)) <= LONGEST + len("1. ")
        assert "".join("".join(sentences).split()) == kept
    if " " in given.strip():
        assert all(set(words(s)) <= set(words(given)) for s in sentences)  # no word is cut


HOSTILE = [
    "a\n",
    "the lamp was lit and the keeper went on\n",
    "The lamp was lit. It burned on and on.\n",
    "\u706f\u3002",
    "\u3002",
    "\u201cA. ",
    "(A. ",
    "M. ",
    '"',
]


@pytest.mark.parametrize("part", HOSTILE)
def test_the_splitter_sees_each_character_at_most_three_times(part, monkeypatch):
    seen = []

    def segment(code, window):
        seen.append(len(window))
        return true_segment(code, window)

    true_segment = splitting.optional("sentencex", "text", "this").segment
    monkeypatch.setattr(
        splitting, "optional", lambda *names: types.SimpleNamespace(segment=segment)
    )
    given = part * (20 * LONGEST // len(part))
    split_sentences(given)
    assert max(seen) <= 2 * LONGEST  # its time may grow with the square of this
    assert sum(seen) <= 3 * len(given)


ENDS = """
from zonodpp.apps.summaries.languages import words
from zonodpp.apps.summaries.sentences import join_sentences, split_sentences
from zonodpp.apps.summaries.text import stems

n = 400_000
lines = "a\\n", "the lamp was lit and the keeper went on\\n"
for part in (*lines, "M. ", "\u706f", "\u3002", "\u706f\u3002"):
    split_sentences(part * (n // len(part)), "fr")
for accents in ("\u0301", "\u0301\u0323"):
    words("e" + accents * n)
    split_sentences("e" + accents * n)
split_sentences("= " + " " * n + "x")
join_sentences(["a"] * 2_000_000)
for language in (None, "de", "tr", "hu"):
    stems(["lerinden" * 30_000], language)
"""


def test_hostile_texts_come_to_an_end():
    """The limit is not a measure of speed: the quadratic splitter took several minutes."""
    subprocess.run([sys.executable, "-c", ENDS], check=True, timeout=200)


def test_accents_without_end_belong_to_the_word():
    assert words("e\u0301" + "\u0323\u0301" * 1000 + "t e\u0301t")[-1] == "\u00e9t"
    (long,) = words("e" + "\u0301" * 1000)
    assert len(long) <= 31


def test_words_longer_than_any_are_not_stemmed():
    assert text.stems(["running " + "running" * 1000]) == [["run", "running" * 1000]]


def test_text_must_be_text():
    with pytest.raises(TypeError, match="must be a str, got bytes; decode"):
        split_sentences(b"Low tide.")


def test_languages():
    assert read_language(None) == ("en", "porter")
    assert read_language("en").stemmer == "english"
    assert read_language("NORWEGIAN") == ("no", "norwegian")
    assert read_language("zh") == ("zh", None)
    with pytest.raises(ValueError, match="language must be a known code, such as 'de'"):
        read_language("double dutch")
    with pytest.raises(TypeError, match="language must be a code"):
        read_language(49)


def test_words_keep_accents_and_vowel_signs():
    assert words("Ça e\u0301tait l'été_2") == ["ça", "était", "l", "été", "2"]
    assert words("यह हिन्दी है।") == ["यह", "हिन्दी", "है"]
    assert words("灯台へ go!") == ["灯", "台", "へ", "go"]


def test_sentences_are_joined_as_the_script_does():
    assert join_sentences(["Low tide.", "High tide."]) == "Low tide. High tide."
    assert join_sentences(["海は青い。", "空も青い。"]) == "海は青い。空も青い。"
    assert join_sentences([]) == ""


def test_stems_follow_the_language():
    assert text.stems(["lighthouses burning"]) == [["lighthous", "burn"]]
    assert text.stems(["Häuser"], "de") == [["haus"]]
    assert text.stems(["灯台"], "ja") == [["灯", "台"]]


def test_a_missing_package_is_named_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(ImportError, match=r"sentencex: pip install 'zonodpp\[text"):
        split_sentences("Low tide.")
    monkeypatch.setitem(sys.modules, "sklearn.preprocessing", None)
    with pytest.raises(ImportError, match="needs sklearn:"):
        optional("sklearn.preprocessing", "text", "a summary")


def slow_features(sentences, positions):
    """Appendix B word by word, without matrices."""
    import snowballstemmer

    stem = snowballstemmer.stemmer("porter").stemWord
    stemmed = [[stem(w) for w in words(s)] for s in sentences]
    n = len(sentences)

    def idf(word):
        return math.log((1 + n) / (1 + sum(word in s for s in stemmed))) + 1

    vectors = [{w: s.count(w) * idf(w) for w in set(s)} for s in stemmed]

    def cosine(a, b):
        dot = sum(a[w] * b[w] for w in a.keys() & b.keys())
        return dot / math.sqrt(sum(x**2 for x in a.values()) * sum(x**2 for x in b.values()))

    rows = []
    for i, sentence in enumerate(sentences):
        distances = [1 - cosine(vectors[i], vectors[j]) for j in range(n) if j != i]
        place = i if positions == "first" else math.floor(5 * i / n)
        rows.append(
            [
                len(sentence),
                len(words(sentence)),
                len("".join(stemmed[i])),
                len(set(stemmed[i])),
                sum(vectors[i].values()),
                sum(distances) / (n - 1),
                *(float(place == k) for k in range(5)),
            ]
        )
    return np.array(rows)


@pytest.mark.parametrize("positions", text.POSITIONS)
def test_features_equal_the_slow_computation(positions):
    sentences = split_sentences(datasets.article())
    X = text.appendix_features(sentences, positions=positions)
    assert X.shape == (64, 11)
    np.testing.assert_allclose(X, slow_features(sentences, positions), rtol=1e-12)
    assert ProjectionDPP.from_features(X).r == 11  # full rank


def test_the_first_five_sentences_are_in_every_draw():
    sentences = split_sentences(datasets.article())
    target = ProjectionDPP.from_features(text.appendix_features(sentences))
    np.testing.assert_allclose(target.marginals()[:5], 1.0)
    assert target.marginals()[5:].max() < 0.5
    spread = ProjectionDPP.from_features(text.appendix_features(sentences, positions="fifths"))
    assert spread.marginals().max() < 0.5


def test_features_of_one_sentence():
    X = text.appendix_features(["Low tide."])
    assert np.isfinite(X).all()
    with pytest.raises(ValueError, match="positions must be one of"):
        text.appendix_features(["Low tide."], positions="last")


def test_relevance_finds_the_query():
    sentences = split_sentences(datasets.article())
    found = text.relevance(sentences, "Was there mercury in the lens?")
    assert found.min() == 0.0
    assert "mercury" in sentences[int(found.argmax())]
    assert (text.relevance(sentences, "zzz") == 0.0).all()
    same = text.relevance(["the tide", "the tide"], "the tide")  # no word tells them apart
    assert (same == 0.0).all()


def test_directions_span_the_leading_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) * [9, 7, 5, 1, 0.5, 0.1]
    Q = text.completed_directions([X], 3)
    U = np.linalg.svd(X)[0][:, :3]
    np.testing.assert_allclose(Q @ Q.T, U @ U.T, atol=1e-12)
    C = np.linalg.svd(X - X.mean(axis=0))[0][:, :3]
    Q = text.completed_directions([X - X.mean(axis=0)], 3)
    np.testing.assert_allclose(Q @ Q.T, C @ C.T, atol=1e-12)


def test_directions_are_filled_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2)) @ rng.normal(size=(2, 5))  # rank 2
    more = rng.normal(size=(20, 1))
    Q = text.completed_directions([X, more], 3)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(Q @ (Q.T @ np.hstack([X, more])), np.hstack([X, more]), atol=1e-10)
    with pytest.raises(ValueError, match="rank 2, but 3 directions"):
        text.completed_directions([X], 3)
    with pytest.raises(ValueError, match="rank 2, but 3 directions"):
        text.completed_directions([X, X @ np.ones((5, 1))], 3)  # nothing new in it
    assert text.completed_directions([np.zeros((5, 2)), np.eye(5)], 2).shape == (5, 2)


def test_many_sentences_take_the_sparse_route(monkeypatch):
    tokens = [words(s) for s in split_sentences(datasets.article())]
    X = text.unit_rows(text.tf_idf(tokens))
    dense = text.completed_directions([X], 4)
    monkeypatch.setattr(spectrum, "_NARROW", 10)
    monkeypatch.setattr(spectrum, "_SMALL", 10)
    sparse = text.completed_directions([X], 4)
    cosines = np.linalg.svd(dense.T @ sparse, compute_uv=False)
    assert cosines.min() > 0.99
    np.testing.assert_array_equal(sparse, text.completed_directions([X], 4))
