"""ROUGE-1F against the package rouge-score, and minimum Bayes risk against all pairs."""

from itertools import pairwise

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer

from zonodpp import datasets
from zonodpp.apps.rouge import mean_rouge, minimum_bayes_risk, rouge_1f
from zonodpp.apps.summaries.languages import words
from zonodpp.apps.summaries.sentences import split_sentences
from zonodpp.apps.summaries.text import stems

SENTENCES = split_sentences(datasets.article())
TOKENS = [words(sentence) for sentence in SENTENCES]


def random_sets(count, size, rng=0):
    generator = np.random.default_rng(rng)
    n = len(SENTENCES)
    return np.array([np.sort(generator.choice(n, size, replace=False)) for _ in range(count)])


def text_of(items):
    return " ".join(SENTENCES[i] for i in items if i >= 0)


def package_score(first, second, tokenizer=None):
    scorer = RougeScorer(["rouge1"], use_stemmer=False, tokenizer=tokenizer)
    return scorer.score(first, second)["rouge1"].fmeasure


def test_rouge_is_that_of_the_package():
    sets = random_sets(30, 11)
    for first, second in pairwise(sets):
        expected = package_score(text_of(first), text_of(second))
        assert rouge_1f(text_of(first), text_of(second)) == pytest.approx(expected, abs=1e-14)
        got = mean_rouge(TOKENS, first[None], second[None])
        assert got == pytest.approx([expected], abs=1e-14)


def test_rouge_of_stems_is_that_of_the_package():
    class Stemmed:
        def tokenize(self, text):
            return stems([text])[0]

    first, second = random_sets(2, 11, rng=1)
    expected = package_score(text_of(first), text_of(second), Stemmed())
    assert mean_rouge(stems(SENTENCES), first[None], second[None]) == pytest.approx([expected])
    assert expected != pytest.approx(package_score(text_of(first), text_of(second)))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("", ""),
        ("", "a"),
        ("...", "a"),
        ("a a a b", "a a c"),
        ("It's 3.5!", "it s 3 5"),
        ("x", "y"),
    ],
)
def test_small_cases(first, second):
    assert rouge_1f(first, second) == pytest.approx(package_score(first, second))


def test_means_over_many_draws():
    candidates, draws = random_sets(5, 11, rng=2), random_sets(300, 7, rng=3)  # more than a block
    got = mean_rouge(TOKENS, candidates, draws)
    texts = [text_of(draw) for draw in draws]
    slow = [np.mean([rouge_1f(text_of(c), text) for text in texts]) for c in candidates]
    np.testing.assert_allclose(got, slow, rtol=1e-13)


def test_shorter_sets_end_in_minus_one():
    padded = np.array([[3, 5, -1, -1]])
    assert mean_rouge(TOKENS, padded, [[3, 5]]) == pytest.approx([1.0])
    assert mean_rouge(TOKENS, [[-1]], [[3]]) == pytest.approx([0.0])


def test_minimum_bayes_risk_is_the_best_of_all_pairs():
    draws = np.concatenate([random_sets(60, 5, rng=4), random_sets(20, 5, rng=4)])  # with repeats
    best, value, means = minimum_bayes_risk(TOKENS, draws.reshape(4, 20, 5))
    texts = [text_of(draw) for draw in draws]
    slow = np.array([np.mean([rouge_1f(a, b) for b in texts]) for a in texts])
    assert value == pytest.approx(slow.max())
    assert value == means.max()
    assert best.tolist() == draws[slow.argmax()].tolist()
    assert len(means) == len(np.unique(draws, axis=0))
    # Leaving out a draw's comparison with itself changes no order.
    assert (slow * 80 - 1).argmax() == slow.argmax()


def test_counts_above_sixty_four_copies():
    tokens = [["a"] * 100 + ["b"], ["a"] * 70, ["b"] * 3]
    got = mean_rouge(tokens, [[0], [1], [2]], [[0], [1], [2]])
    pairs = [[202, 140, 2], [140, 140, 0], [2, 0, 6]]
    sizes = np.array([101, 70, 3])
    np.testing.assert_allclose(got, (pairs / (sizes[:, None] + sizes)).mean(axis=1))


def test_bad_sets():
    with pytest.raises(ValueError, match="from 0 to 0, got values from 9"):
        mean_rouge([["a"]], [[9]], [[0]])
    with pytest.raises(ValueError, match="from 0 to 1, got values from -2"):
        mean_rouge([["a"], ["b"]], [[-2]], [[0]])
    with pytest.raises(ValueError, match="expected sets of sentences"):
        minimum_bayes_risk([["a"]], np.empty((0, 3)))


def test_sentences_without_words():
    assert mean_rouge([[], []], [[0]], [[1]]) == [0.0]
