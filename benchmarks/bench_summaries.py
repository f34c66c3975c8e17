"""Summaries beside the first sentences, TextRank and random sentences, at equal numbers of words.

Two measures of a summary against its whole text, both on stems of content words, which are all but
the stop words of sumy: the Jensen-Shannon divergence of their frequencies, in bits, and the recall,
the share of the text's content words, with repeats, that the summary has as well. All methods
choose from the same sentences, and go down their ranking as long as a sentence fits. Settings of
ours were chosen on other texts (texts.py). "Coverage" is no peer but shows what the measures leave
to gain: it knows the stop words of the measures, and takes the sentence with the most new content
words, counted as often as the text has them, for each word of its length.

A figure is a mean over the texts of a kind. A ratio is taken to the better of lead and TextRank;
its spread is one standard error on both sides.
"""

from __future__ import annotations

import time
import urllib.error
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import snowballstemmer
from scipy.spatial.distance import jensenshannon

from benchmarks import (
    SEED,
    Job,
    Row,
    compare,
    interleaved,
    left_out,
    measured,
    missing,
    peer,
    texts,
)
from zonodpp.apps import summarize
from zonodpp.apps.summaries.languages import words
from zonodpp.apps.summaries.sentences import split_sentences

BUDGETS = (100, 250)
KINDS = ("news", "speeches", "fiction", "encyclopaedia")
LANGUAGES = {"en": "english", "de": "german"}
OURS, LEAD, TEXTRANK, RANDOM, COVERAGE = "zonodpp", "lead", "TextRank", "random", "coverage"
MEASURES = ("divergence", "recall")
LONGEST = 120  # words of a sentence


def run(quick: bool) -> list[Row]:
    """Measure the time of a summary of many sentences, and of a TextRank of fewer."""
    if peer("sumy") is None:
        return [missing("summaries", "sumy")]
    try:
        many = texts.long_text(500 if quick else 5000)
        fewer = split_sentences(texts.long_text(200 if quick else 1000))
    except urllib.error.URLError as error:
        return [left_out("time of summaries", f"the texts cannot be fetched: {error}")]
    summarize(fewer, 1)  # loads what it needs
    seconds = []
    for _ in range(1 if quick else 3):
        begun = time.perf_counter()
        found = summarize(many, words=250)
        seconds.append(time.perf_counter() - begun)
    what = f"seconds for 250 words of {len(found.all_sentences):,} sentences, splitting included"
    jobs = {
        OURS: Job(lambda: summarize(fewer, words=250)),
        TEXTRANK: Job(partial(_textrank, fewer, "english")),
    }
    ratio = compare(interleaved(jobs, repeats=1 if quick else 3), OURS, TEXTRANK)
    return [
        {"what": what, **measured(seconds, "s"), "at_most": 10},
        {"what": f"time over sumy's TextRank, {len(fewer):,} sentences", **ratio},
    ]


def once(quick: bool) -> list[Row]:
    """Measure summaries of all texts."""
    if peer("sumy") is None:
        return []
    try:
        chosen = texts.all_texts()
    except urllib.error.URLError as error:
        return [left_out("quality of summaries", f"the texts cannot be fetched: {error}")]
    if quick:
        chosen = [[t for t in chosen if t.kind == kind][i] for kind in KINDS for i in (0, -1)]
    longest = 0
    figures: dict[tuple[str, int], list[dict[str, tuple[float, float, int]]]] = {}
    for text in chosen:
        scorer = Scorer(text)
        longest = max(longest, *scorer.lengths)
        rankings = scorer.rankings()
        for budget in BUDGETS:
            ours = summarize(scorer.sentences, words=budget, language=text.language).indices
            sets = {name: _filled(rank, scorer.lengths, budget) for name, rank in rankings.items()}
            sets |= {OURS: ours, COVERAGE: scorer.coverage(budget)}
            scores = {name: scorer.scores(found) for name, found in sets.items()}
            figures.setdefault((text.kind, budget), []).append(scores)
            if text.language != "en":
                figures.setdefault((f"{text.kind} in German", budget), []).append(scores)
    rows: list[Row] = [
        {
            "what": f"words of the longest sentence of {len(chosen)} texts",
            "ratio": longest,
            "unit": "words",
            "at_most": LONGEST,
        }
    ]
    for (kind, budget), found in figures.items():
        if len(found) < 2:  # one German text of a quick run has no standard error
            continue
        rows += [_row(kind, budget, found, measure) for measure in range(2)]
    return rows


class Scorer:
    """A text as its sentences and their content words."""

    def __init__(self, text: texts.Text) -> None:
        from sumy.utils import get_stop_words

        self.language = LANGUAGES[text.language]
        self.sentences = split_sentences(text.text, text.language, headings=False)
        self.lengths = [len(words(sentence)) for sentence in self.sentences]
        empty = {part for word in get_stop_words(self.language) for part in words(word)}
        stem = snowballstemmer.stemmer(self.language).stemWord
        self.content = [
            [stem(word) for word in words(sentence) if word not in empty]
            for sentence in self.sentences
        ]
        self.whole = Counter(word for sentence in self.content for word in sentence)

    def rankings(self) -> dict[str, Sequence[int]]:
        """Return all sentences in the order of each peer."""
        n = len(self.sentences)
        order = np.random.default_rng(SEED).permutation(n).tolist()
        return {
            LEAD: range(n),
            TEXTRANK: _textrank(self.sentences, self.language),
            RANDOM: order,
        }

    def coverage(self, budget: int) -> list[int]:
        """Return the sentences that greedily cover the text's content words."""
        left, chosen = dict(self.whole), []
        while True:
            room = budget - sum(self.lengths[i] for i in chosen)
            gains = {
                i: sum(left.get(word, 0) for word in set(self.content[i])) / length
                for i, length in enumerate(self.lengths)
                if length <= room and i not in chosen
            }
            if not gains:
                return chosen
            chosen.append(max(gains, key=gains.__getitem__))
            for word in self.content[chosen[-1]]:
                left.pop(word, None)

    def scores(self, chosen: Iterable[int]) -> tuple[float, float, int]:
        """Return divergence, recall and the number of words of a summary."""
        places = list(chosen)
        summary = Counter(word for i in places for word in self.content[i])
        pairs = np.array([(count, summary[word]) for word, count in self.whole.items()], float)
        p, q = pairs.T
        divergence = jensenshannon(p, q, base=2) ** 2 if q.any() else 1.0
        recall = p[q > 0].sum() / p.sum()
        return float(divergence), float(recall), sum(self.lengths[i] for i in places)


def _filled(ranking: Sequence[int], lengths: Sequence[int], budget: int) -> list[int]:
    """Take sentences in the order of a ranking, each that still fits."""
    chosen: list[int] = []
    for i in ranking:
        if sum(lengths[j] for j in chosen) + lengths[i] <= budget:
            chosen.append(i)
    return chosen


def _textrank(sentences: Sequence[str], language: str) -> list[int]:
    """Rank sentences by sumy's TextRank, with its stemmer and stop words."""
    from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
    from sumy.nlp.stemmers import Stemmer
    from sumy.summarizers.text_rank import TextRankSummarizer
    from sumy.utils import get_stop_words

    class Tokenizer:
        def to_words(self, sentence: str) -> tuple[str, ...]:
            return tuple(words(sentence))

    summarizer = TextRankSummarizer(Stemmer(language))
    summarizer.stop_words = get_stop_words(language)
    document = ObjectDocumentModel([Paragraph([Sentence(s, Tokenizer()) for s in sentences])])
    rating: dict[Any, float] = summarizer.rate_sentences(document)
    values = np.array([rating[sentence] for sentence in document.sentences])
    return [int(i) for i in np.argsort(-values, kind="stable")]


def _row(
    kind: str, budget: int, found: list[dict[str, tuple[float, float, int]]], measure: int
) -> Row:
    """Return the ratio of the mean to that of the better peer, and the means of all methods."""
    values = {name: np.array([one[name][measure] for one in found]) for name in found[0]}
    n = len(found)
    means = {name: float(value.mean()) for name, value in values.items()}
    errors = {name: float(value.std(ddof=1) / np.sqrt(n)) for name, value in values.items()}
    best = (min if measure == 0 else max)((LEAD, TEXTRANK), key=means.__getitem__)
    ratio = means[OURS] / means[best]
    error = float(np.std(values[OURS] - ratio * values[best], ddof=1) / np.sqrt(n)) / means[best]
    return {
        "what": f"{kind}, {budget} words: {MEASURES[measure]} over that of {best}, {n} texts",
        "ratio": ratio,
        "ratio_range": [ratio - error, ratio + error],
        **({("at_most", "floor")[measure]: 1.0} if kind in KINDS else {}),
        "means": means,
        "standard_errors": errors,
        "words": {name: float(np.mean([one[name][2] for one in found])) for name in means},
    }
