"""ROUGE-1F of summaries, and the summary of minimum Bayes risk.

A summary is a bag of words. With counts c and c' of words w, ROUGE-1F, the harmonic mean of
unigram precision and recall, is 2 sum_w min(c_w, c'_w) / (sum_w c_w + sum_w c'_w). Write a count
in unary, as one bit for each copy of the word: then the sum of minima is the number of bits that
two summaries have in common, and all pairs out of 10,000 summaries take a second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from zonodpp._jit import jit
from zonodpp._types import Floats, Integers
from zonodpp.apps.sentences import words

Bits = NDArray[np.uint64]
BLOCK = 256  # draws that stay in the processor's cache while they meet all candidates

# Constants of the parallel bit count, which LLVM turns into one machine instruction.
_ONE, _TWO, _FOUR, _TOP = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
_PAIRS, _NIBBLES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_BYTES, _SUM = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


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


def mean_rouge(tokens: Sequence[Sequence[str]], candidates: Any, draws: Any) -> Floats:
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
    split = len(first)
    width = max(first.shape[1], second.shape[1])
    together = np.full((split + len(second), width), -1, dtype=np.int64)
    together[:split, : first.shape[1]] = first
    together[split:, : second.shape[1]] = second
    bits, lengths = _unary(tokens, together)
    ones = np.ones(len(second))
    return _sums(bits[:split], lengths[:split], bits[split:], lengths[split:], ones) / len(second)


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
    bits, lengths = _unary(tokens, sets)
    means = _sums(bits, lengths, bits, lengths, counts.astype(np.float64)) / counts.sum()
    best = int(np.argmax(means))
    return sets[best], float(means[best]), means


def _as_sets(given: Any) -> Integers:
    sets: Integers = np.asarray(given, dtype=np.int64)
    if sets.ndim == 0 or sets.size == 0:
        raise ValueError(f"expected sets of sentences, got an array of shape {sets.shape}")
    return sets.reshape(-1, sets.shape[-1])


def _unary(tokens: Sequence[Sequence[str]], sets: Integers) -> tuple[Bits, Floats]:
    """Return the words of each set in unary, packed into 64-bit words, and their number."""
    if sets.max() >= len(tokens):
        raise ValueError(
            f"sets hold sentences from 0 to {len(tokens) - 1}, got number {sets.max()}"
        )
    vocabulary: dict[str, int] = {}
    numbers = np.array(
        [vocabulary.setdefault(word, len(vocabulary)) for line in tokens for word in line], np.int64
    )
    starts = np.cumsum([0, *(len(line) for line in tokens)])
    shape = (len(tokens), max(1, len(vocabulary)))
    words_of_sentences = sp.csr_array((np.ones(len(numbers), np.int64), numbers, starts), shape)
    rows, places = np.nonzero(sets >= 0)
    chosen = (np.ones(len(rows), np.int64), (rows, sets[rows, places]))
    counts = sp.csr_array(chosen, (len(sets), len(tokens))) @ words_of_sentences
    # Word w owns as many bits as its largest count; a count of c sets the first c of them.
    first = np.append(0, np.cumsum(counts.max(axis=0).toarray()))
    entries = counts.tocoo()
    row, word = (np.repeat(index, entries.data) for index in entries.coords)
    copy = np.arange(len(row)) - np.repeat(np.cumsum(entries.data) - entries.data, entries.data)
    bit = first[word] + copy
    bits = np.zeros((len(sets), int(first[-1]) // 64 + 1), np.uint64)
    where = row * bits.shape[1] + bit // 64  # NumPy is fast with one flat index
    np.bitwise_or.at(bits.ravel(), where, _ONE << (bit % 64).astype(np.uint64))
    return bits, counts.sum(axis=1).astype(np.float64)


def _sums(bits: Bits, lengths: Floats, others: Bits, their: Floats, counts: Floats) -> Floats:
    totals = np.zeros(len(bits))
    _add_rouge(bits, lengths, others, their, counts, totals)
    return totals


@jit
def _add_rouge(
    bits: Bits, lengths: Floats, others: Bits, their: Floats, counts: Floats, totals: Floats
) -> None:
    """Add counts[j] * ROUGE-1F(i, j) over all j to totals[i]."""
    width = bits.shape[1]
    for start in range(0, others.shape[0], BLOCK):
        for i in range(bits.shape[0]):
            total = 0.0
            for j in range(start, min(start + BLOCK, others.shape[0])):
                common = np.int64(0)
                for k in range(width):
                    x = bits[i, k] & others[j, k]
                    x -= (x >> _ONE) & _PAIRS
                    x = (x & _NIBBLES) + ((x >> _TWO) & _NIBBLES)
                    x = (x + (x >> _FOUR)) & _BYTES
                    common += np.int64((x * _SUM) >> _TOP)
                both = lengths[i] + their[j]
                if both > 0.0:
                    total += counts[j] * 2.0 * common / both
            totals[i] += total
