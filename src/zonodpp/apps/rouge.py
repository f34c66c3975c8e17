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

from zonodpp._arguments import as_items
from zonodpp._types import Floats, Integers
from zonodpp.apps.summaries.languages import count_words, words
from zonodpp.numerics.arrays import row_chunks

_BLOCK = 2**22  # entries of a dense block of summaries in unary: 16 MB
_SIDE = 2**11  # summaries in a block at most: each is compared with all of another block


def rouge_1f(first: str, second: str) -> float:
    """Return ROUGE-1F of two texts, as the package rouge-score does for ASCII, without stemming.

    Parameters
    ----------
    first, second : str
        The texts.

    Returns
    -------
    float
        Between 0, if they share no word, and 1, if they have the same words as often.

    See Also
    --------
    mean_rouge : The mean over many texts, which are sets of sentences.

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
        The means.

    See Also
    --------
    minimum_bayes_risk : The draw for which it is largest.

    Examples
    --------
    >>> from zonodpp.apps.rouge import mean_rouge
    >>> mean_rouge([["a", "b"], ["b"], ["c"]], [[0], [2]], [[1], [0]]).round(3)
    array([0.833, 0.   ])
    """
    chosen = _as_sets(candidates, len(tokens))
    others, repeats = np.unique(_as_sets(draws, len(tokens)), axis=0, return_counts=True)
    each = count_words([*tokens, []])  # the last sentence, number -1, has no words
    sums = [sum(each[sentences] for sentences in sets.T) for sets in (chosen, others)]
    counts = sp.vstack(sums, "csr")
    # Word w owns as many columns as its largest count; a count of c sets the first c of them.
    most = counts.max(axis=0).toarray().ravel()
    levels = [counts[:, most > level] > level for level in range(max(1, most.max()))]
    unary = sp.hstack(levels, "csr", np.float32)  # sums below 2^24 are exact
    lengths = counts.sum(axis=1, dtype=np.float64)
    n, shares = len(chosen), repeats / repeats.sum()
    means = np.zeros(n)
    step = min(_SIDE, max(64, _BLOCK // max(1, unary.shape[1])))
    for some, block in row_chunks(unary[:n], step):
        for drawn, other in row_chunks(unary[n:], step):
            total = np.maximum(np.add.outer(lengths[some], lengths[n:][drawn]), 1)  # or no words
            means[some] += 2.0 * (block @ other.T) / total @ shares[drawn]
    return means


def minimum_bayes_risk(
    tokens: Sequence[Sequence[str]], draws: ArrayLike
) -> tuple[Integers, float, Floats]:
    """Return the draw with the largest mean ROUGE-1F against all draws.

    Each draw is also compared with itself. This adds the same number to all means.

    Parameters
    ----------
    tokens : sequence of lists of words
        The words of each sentence.
    draws : (..., k) array_like of int
        Sets of sentences.

    Returns
    -------
    best : (k,) array of int
        The draw chosen; the first one if several are equally good.
    value : float
        Its mean ROUGE-1F.
    means : (distinct draws,) array
        The mean ROUGE-1F of each distinct draw, in lexicographic order.

    See Also
    --------
    mean_rouge : What it maximises.
    zonodpp.apps.summarize : Chooses so with ``answer="mbr"``.

    Examples
    --------
    >>> from zonodpp.apps.rouge import minimum_bayes_risk
    >>> best, value, _ = minimum_bayes_risk([["a", "b"], ["b"], ["c"]], [[0], [1], [2]])
    >>> best, round(value, 3)
    (array([0]), 0.556)
    """
    sets = np.unique(_as_sets(draws, len(tokens)), axis=0)
    means = mean_rouge(tokens, sets, draws)
    best = int(np.argmax(means))
    return sets[best], float(means[best]), means


def _as_sets(given: ArrayLike, n: int) -> Integers:
    """Return sets of n sentences as rows, filled up with -1."""
    sets = as_items(given, n, "sets of sentences", filled=True)
    if np.ndim(given) == 0 or sets.size == 0:
        raise ValueError(f"expected sets of sentences, got an array of shape {np.shape(given)}")
    return sets.reshape(-1, sets.shape[-1])
