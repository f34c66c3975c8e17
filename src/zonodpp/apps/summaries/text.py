"""Features of sentences: words in common, the paper's eleven features, and latent semantics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from zonodpp._arguments import one_of
from zonodpp._imports import optional
from zonodpp._types import Floats, Integers, Matrix, MatrixLike
from zonodpp.apps.summaries.languages import count_words, is_content, rarity, read_language, words
from zonodpp.features.similarity import finite_rows, standardize
from zonodpp.numerics.arrays import to_dense, unit_rows
from zonodpp.numerics.spectrum import leading_directions

POSITIONS = ("first", "fifths")
# Sentences of fewer words count as if they had so many. Without this, summaries are full of short
# exclamations; with 20, recall is lower. The number was chosen on texts that
# benchmarks/bench_summaries.py does not use.
_SHORT = 12
_STEMMED = 100  # letters of the longest word that is stemmed; no language has longer words
_NEGLIGIBLE = 1e-8  # singular values below this share of the largest count as zero


def stems(sentences: Sequence[str], language: str | None = None) -> list[list[str]]:
    """Return the stemmed words of each sentence (Porter's stemmer, or that of the language).

    Words of more than 100 letters stay as they are: stemmers take long for them.

    Examples
    --------
    >>> from zonodpp.apps.summaries.text import stems
    >>> stems(["Keepers kept burning lamps."])
    [['keeper', 'kept', 'burn', 'lamp']]
    """
    found = [words(sentence) for sentence in sentences]
    name = read_language(language).stemmer
    if name is None:
        return found
    stem = optional("snowballstemmer", "text", "a summary").stemmer(name).stemWord
    known = {word: stem(word) if len(word) <= _STEMMED else word for word in set().union(*found)}
    return [[known[word] for word in sentence] for sentence in found]


def tf_idf(tokens: Sequence[Sequence[str]]) -> sp.csr_array:
    """Return tf-idf, sentences as documents, (n, vocabulary) sparse, rows of any length.

    The idf is scikit-learn's: log((1 + n) / (1 + df)) + 1.

    Examples
    --------
    >>> from zonodpp.apps.summaries.text import tf_idf
    >>> tf_idf([["a", "b"], ["a", "a"]]).toarray().round(3)
    array([[1.   , 1.405], [2.   , 0.   ]])
    """
    counts = count_words(tokens)
    return counts @ sp.diags_array(1.0 + rarity(counts))


def appendix_features(
    sentences: Sequence[str], language: str | None = None, *, positions: str = "first"
) -> Floats:
    """Return the eleven features of the paper's appendix B, (n, 11).

    The features of a sentence are: its characters and words; characters and words after stemming;
    the sum of the tf-idf values of its words; its mean cosine distance to all other sentences; five
    indicators of position. Stemming leaves the number of words as it is, which would make two
    features the same. It changes how many words are different, so distinct stems are counted.

    Parameters
    ----------
    sentences : sequence of str
        In the order of the text.
    language : str, optional
        As in `zonodpp.apps.summarize`.
    positions : {"first", "fifths"}
        What the indicators mark: the first five sentences, one each, or the five fifths of the
        text. With "first" and eleven items a draw, every draw holds the first five sentences:
        without the only item that has the feature, the determinant is zero.

    Examples
    --------
    >>> from zonodpp.apps.summaries.text import appendix_features
    >>> appendix_features(["The lamp burned.", "Lamps burn oil."]).round(2)
    array([[16.  ,  3.  , 11.  ,  3.  ,  3.41,  0.5 ,  1.  ,  0.  ,  0.  ,  0.  ,  0.  ],
           [15.  ,  3.  , 11.  ,  3.  ,  3.41,  0.5 ,  0.  ,  1.  ,  0.  ,  0.  ,  0.  ]])
    """
    one_of(positions, "positions", POSITIONS)
    tokens = stems(sentences, language)
    n = len(sentences)
    weights = tf_idf(tokens)
    unit = unit_rows(weights)
    # The sum over all sentences, less the sentence itself, whose cosine with itself is 1.
    cosines = unit @ np.asarray(unit.sum(axis=0)).ravel() - 1.0
    place = np.arange(n) if positions == "first" else np.arange(n) * 5 // n
    return np.column_stack(
        [
            [len(sentence) for sentence in sentences],
            [len(sentence) for sentence in tokens],
            [sum(map(len, sentence)) for sentence in tokens],
            [len(set(sentence)) for sentence in tokens],
            np.asarray(weights.sum(axis=1)).ravel(),
            1.0 - cosines / max(n - 1, 1),
            place[:, None] == np.arange(5),
        ]
    ).astype(np.float64)


def relevance(sentences: Sequence[str], query: str, language: str | None = None) -> Floats:
    """Return how near each sentence is to a query: the cosine of tf-idf vectors.

    Of the query only content words count, if it has some. The idf is log((1 + n) / (1 + df)), so
    that words in all sentences count for nothing.

    Examples
    --------
    >>> from zonodpp.apps.summaries.text import relevance
    >>> relevance(["Oil lamps burned.", "The sea was calm.", "Oil burns."], "a lamp").round(2)
    array([0.86, 0.  , 0.  ])
    """
    code = read_language(language).code
    content = " ".join(word for word in words(query) if is_content(word, code))
    *tokens, asked = stems([*sentences, content or query], language)
    known = set().union(*tokens)
    counts = count_words([*tokens, [word for word in asked if word in known]])
    unit = unit_rows(counts @ sp.diags_array(rarity(counts[:-1])))
    return to_dense(unit[:-1] @ unit[[-1]].T).ravel()


def central_features(sentences: Sequence[str], language: str | None = None) -> sp.csr_array:
    """Return features Phi of the default summary, (n, content words) sparse.

    A content word has the weight w = count * idf, where the count is that of the whole text and the
    idf log((1 + n) / (1 + sentences with the word)). Sentences i and j, of l_i and l_j words, have

        L_ij = (Phi Phi')_ij = (sum of the weights of the words that both hold) / sqrt(l_i l_j).

    So L_ii, the importance of a sentence, is the mean weight of its words: sentences are central if
    they say what the text says often.

    Examples
    --------
    >>> from zonodpp.apps.summaries.text import central_features
    >>> Phi = central_features(["Oil lamps burned.", "The sea was calm.", "Oil burns."])
    >>> (Phi @ Phi.T).toarray().round(2)
    array([[0.15, 0.  , 0.1 ],
           [0.  , 0.12, 0.  ],
           [0.1 , 0.  , 0.1 ]])
    """
    code = read_language(language).code
    found = [words(sentence) for sentence in sentences]
    known = set().union(*found)
    kept = {word for word in known if is_content(word, code)} or known
    tokens = stems([" ".join(word for word in each if word in kept) for each in found], language)
    counts = count_words(tokens)
    weights = counts.sum(axis=0) * rarity(counts)
    lengths = np.array([max(_SHORT, len(each)) for each in found])
    present = counts.astype(bool).astype(np.float64)
    return sp.diags_array(lengths**-0.5) @ present @ sp.diags_array(np.sqrt(weights))


def directions(
    everything: list[str],
    candidates: Integers,
    k: int,
    features: str | MatrixLike,
    language: str | None,
) -> Floats:
    """Return an orthonormal basis of the k features that the candidates are drawn by.

    Features are given, or "appendix", "spread" or "lsa" as in `zonodpp.apps.summarize`. For more
    than k features, the basis is that of their leading principal directions.
    """
    fillers: tuple[Matrix, ...] = ()
    if isinstance(features, str):
        words_in_common = unit_rows(tf_idf(stems(everything, language)))[candidates]
        arbitrary = np.random.default_rng(0).standard_normal((len(candidates), k))
        fillers = (words_in_common, arbitrary)
        if features == "lsa":
            return completed_directions(fillers, k)
        positions = "first" if features == "appendix" else "fifths"
        X = appendix_features(everything, language, positions=positions)[candidates]
    else:
        X = _as_features(features, len(everything), k)[candidates]
    fewer = k < X.shape[1]
    X = standardize(X) if fewer else to_dense(unit_rows(X.T)).T
    return completed_directions((X[:, X.any(axis=0)], *fillers), k)


def _as_features(features: MatrixLike, n: int, k: int) -> Floats:
    """Check features of n sentences that are to make summaries of k."""
    X = to_dense(finite_rows(features, "features"))
    if len(X) != n:
        needed = f"features must have a row for each of the {n} sentences, got {len(X)} rows"
        raise ValueError(f"{needed}; pass the text as a list to split it yourself")
    if X.shape[1] < k:
        found = f"features has {X.shape[1]} columns, so that a draw has {X.shape[1]} sentences"
        raise ValueError(f"{found}; pass sentences={X.shape[1]} or less, or more features")
    return X


def completed_directions(blocks: Sequence[Matrix], k: int) -> Floats:
    """Return k orthonormal columns that span the leading directions of the first block, (n, k).

    While the rank of the blocks so far is below k, the missing directions are the leading ones of
    the next block, after the directions that are already there have been projected out.

    Parameters
    ----------
    blocks : sequence of (n, d) arrays or sparse matrices
        Features, items as rows.
    k : int
        Number of directions, at most n.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.apps.summaries.text import completed_directions
    >>> Q = completed_directions([np.ones((3, 1)), np.eye(3)], 2)
    >>> bool(np.allclose(Q.T @ Q, np.eye(2)))
    True
    """
    Q = np.zeros((blocks[0].shape[0], 0))
    for block in blocks:
        rest = _left_directions(block, k)
        for _ in range(2):  # the second pass removes the rounding errors of the first
            rest = rest - Q @ (Q.T @ rest)
        Q = np.linalg.qr(np.hstack([Q, _left_directions(rest, k - Q.shape[1], _NEGLIGIBLE)]))[0]
        if Q.shape[1] == k:
            return Q
    raise ValueError(f"the features have rank {Q.shape[1]}, but {k} directions are needed")


def _left_directions(X: Matrix, k: int, least: float = 0.0) -> Floats:
    """Return leading left singular vectors, as many as X has up to k."""
    vectors, values = leading_directions(X.T, k)
    kept = values[:k] > max(_NEGLIGIBLE * values.max(initial=0.0), least)
    return np.ascontiguousarray(vectors[:, :k][:, kept])
