"""ROUGE-1F of summaries, and the summary of minimum Bayes risk.

A summary is a bag of words. With counts c and c' of words w, ROUGE-1F, the harmonic mean of
unigram precision and recall, is 2 sum_w min(c_w, c'_w) / (sum_w c_w + sum_w c'_w). Written in
unary, a count c is c ones followed by zeros, and the sum of minima is an inner product: one matrix
product compares all pairs of summaries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from zonodpp._types import Floats, Integers
from zonodpp.apps.languages import words

BLOCK = 2**22  # entries of a dense block of summaries in unary: 16 MB


def rouge_1f(first: str, second: str) -> float:
    """Return ROUGE-1F of two texts, as the package rouge-score does for ASCII, without stemming.

    Examples
    --------
    >>> from zonodpp.apps.rouge import rouge_1f
    >>> round(rouge_1f("The lamp went out.", "The lamp, the sea"), 3)
    0.5
    """
    a, b = Counter(words(first)), Counter(words(second))
    total = a.total() + b.total()
    return 2.0 * (a & b).total() / total if total else 0.0


def mean_rouge(tokens: Sequence[Sequence[str]], candidates: ArrayLike, draws: ArrayLike) -> Floats:
    """Return the mean ROUGE-1F of each candidate with all draws, as in the paper's section 4.2.

    Parameters
    ----------
    tokens : sequence of lists of words
        The words of each sentence.
    candidates, draws : (..., k) array_like of int
        Sets of sentences; -1 fills up smaller sets.

    Returns
    -------
    (len(candidates),) array

    Examples
    --------
    >>> from zonodpp.apps.rouge import mean_rouge
    >>> mean_rouge([["a", "b"], ["b"], ["c"]], [[0], [2]], [[1], [0]]).round(3)
    array([0.833, 0.   ])
    """
    first, second = _as_sets(candidates), _as_sets(draws)
    width = max(first.shape[1], second.shape[1])
    sets = np.vstack(
        [np.pad(s, ((0, 0), (0, width - s.shape[1])), constant_values=-1) for s in (first, second)]
    )
    unary = _unary(tokens, sets)
    return _mean_rouge(unary[: len(first)], unary[len(first) :], np.ones(len(second)))


def minimum_bayes_risk(
    tokens: Sequence[Sequence[str]], draws: ArrayLike
) -> tuple[Integers, float, Floats]:
    """Return the draw with the largest mean ROUGE-1F against all draws.

    That a draw is compared with itself too adds the same to all, and so does not matter.

    Parameters
    ----------
    tokens : sequence of lists of words
        The words of each sentence.
    draws : (..., k) array_like of int
        Sets of sentences.

    Returns
    -------
    best : (k,) array of int
        The draw chosen; of equals the first.
    value : float
        Its mean ROUGE-1F.
    means : (distinct draws,) array
        The same for each distinct draw, in lexicographic order.

    Examples
    --------
    >>> from zonodpp.apps.rouge import minimum_bayes_risk
    >>> best, value, _ = minimum_bayes_risk([["a", "b"], ["b"], ["c"]], [[0], [1], [2]])
    >>> best, round(value, 3)
    (array([0]), 0.556)
    """
    sets, counts = np.unique(_as_sets(draws), axis=0, return_counts=True)
    unary = _unary(tokens, sets)
    means = _mean_rouge(unary, unary, counts)
    best = int(np.argmax(means))
    return sets[best], float(means[best]), means


def _as_sets(given: ArrayLike) -> Integers:
    sets: Integers = np.asarray(given, dtype=np.int64)
    if sets.ndim == 0 or sets.size == 0:
        raise ValueError(f"expected sets of sentences, got an array of shape {sets.shape}")
    return sets.reshape(-1, sets.shape[-1])


def _unary(tokens: Sequence[Sequence[str]], sets: Integers) -> sp.csr_array:
    """Return the word counts of each set in unary, a column for each copy of each word."""
    if sets.max() >= len(tokens):
        raise ValueError(
            f"sets hold sentences from 0 to {len(tokens) - 1}, got number {sets.max()}"
        )
    vocabulary: dict[str, int] = {}
    numbers = [vocabulary.setdefault(word, len(vocabulary)) for line in tokens for word in line]
    ends = np.cumsum([0, *map(len, tokens)])
    shape = (len(tokens), max(1, len(vocabulary)))
    words_of_sentences = sp.csr_array((np.ones(len(numbers), np.int64), numbers, ends), shape)
    rows, places = np.nonzero(sets >= 0)
    chosen = (np.ones(len(rows), np.int64), (rows, sets[rows, places]))
    counts = (sp.csr_array(chosen, (len(sets), len(tokens))) @ words_of_sentences).tocoo()
    # Word w owns as many columns as its largest count; a count of c sets the first c of them.
    first = np.append(0, np.cumsum(counts.max(axis=0).toarray()))
    row, word = (np.repeat(index, counts.data) for index in counts.coords)
    copy = np.arange(len(row)) - np.repeat(np.cumsum(counts.data) - counts.data, counts.data)
    ones = np.ones(len(row), np.float32)  # sums below 2^24 are exact
    return sp.csr_array((ones, (row, first[word] + copy)), (len(sets), max(1, first[-1])))


def _mean_rouge(candidates: sp.csr_array, draws: sp.csr_array, counts: ArrayLike) -> Floats:
    """Return the mean ROUGE-1F of each candidate with the draws, which occur ``counts`` times."""
    step = max(64, BLOCK // candidates.shape[1])
    means = np.zeros(candidates.shape[0])
    weights = np.asarray(counts) / np.sum(counts)
    for i in range(0, len(means), step):
        some = candidates[i : i + step]
        dense, lengths = some.toarray(), some.sum(axis=1, dtype=np.float64)[:, None]
        for j in range(0, len(weights), step):
            others = draws[j : j + step]
            total = np.maximum(lengths + others.sum(axis=1), 1)  # a set may hold no words
            rouge = 2.0 * (dense @ others.toarray().T) / total
            means[i : i + step] += rouge @ weights[j : j + step]
    return means
