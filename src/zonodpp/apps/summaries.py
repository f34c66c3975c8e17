"""Summaries: a few sentences of a text that differ from each other and stand for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from zonodpp._types import Floats, Integers, MatrixLike, SeedLike, Subsets
from zonodpp.apps import text as texts
from zonodpp.apps.rouge import minimum_bayes_risk
from zonodpp.apps.sentences import join_sentences, split_sentences, words
from zonodpp.arguments import as_count, as_matrix, check_finite, one_of, spawn
from zonodpp.linalg.dense import to_dense, unit_rows
from zonodpp.runs.sampling import sample
from zonodpp.targets import ProjectionDPP

ANSWERS = ("mbr", "draw", "best")
_FEATURES = ("auto", "appendix", "spread", "lsa")
_DRAWS = 1000
_WORK = 1e9  # draws times k^3, the cost of an exact draw: a few seconds


@dataclass(frozen=True)
class Summary:
    """Sentences chosen from a text, in the order of the text.

    Attributes
    ----------
    sentences : list of str
        The sentences chosen.
    indices : list of int
        Their places in ``all_sentences``, from 0.
    scores : list of float
        The exact probability that a draw holds each of them.
    all_sentences : list of str
        The whole text, split.
    features : str
        The features that were used: "appendix", "spread", "lsa", "given", or "none" where there
        was nothing to choose.
    expected_rouge : float or None
        Mean ROUGE-1F with all draws, for ``answer="mbr"``.

    Examples
    --------
    >>> from zonodpp.apps import summarize
    >>> summary = summarize("Low tide. Low tide. High tide.", 2)
    >>> summary.indices, summary.text
    ([0, 2], 'Low tide. High tide.')
    """

    sentences: list[str]
    indices: list[int]
    scores: list[float]
    all_sentences: list[str] = field(repr=False)
    features: str = "none"
    expected_rouge: float | None = None

    @property
    def text(self) -> str:
        """The sentences as running text."""
        return join_sentences(self.sentences)

    def __str__(self) -> str:
        return self.text

    def __len__(self) -> int:
        return len(self.sentences)


def summarize(
    text: str | Sequence[str],
    sentences: int = 11,
    *,
    query: str | None = None,
    features: str | MatrixLike = "auto",
    answer: str = "mbr",
    draws: int | None = None,
    method: str = "auto",
    language: str | None = None,
    rng: SeedLike = None,
) -> Summary:
    """Summarise a text by sentences of its own, drawn from a projection DPP.

    Parameters
    ----------
    text : str or sequence of str
        A text, or its sentences.
    sentences : int, default 11
        How many to choose. A text that has no more than that is returned as it is.
    query : str, optional
        Prefer sentences near to this: the cosine of tf-idf vectors weighs the sentences.
    features : {"auto", "appendix", "spread", "lsa"} or (n, d) array_like
        "appendix": the eleven features of the paper's appendix B, with distinct stems for stemmed
        words; every summary of eleven then holds the first five sentences. "spread": the same,
        with positions 1 to 5 read as the five fifths of the text. "lsa": leading directions of
        tf-idf (latent semantic analysis). "auto": "appendix" for eleven sentences, "spread" for
        fewer, "lsa" for more or with a query. An array has a row for each sentence and at least
        as many columns as sentences are asked for.
    answer : {"mbr", "draw", "best"}
        "mbr": the draw nearest to all others (minimum Bayes risk, mean ROUGE-1F). "draw": one
        draw. "best": the most likely draw.
    draws : int, optional
        Number of draws; 1000 by default, fewer for summaries of more than a hundred sentences.
    method : str, default "auto"
        As in `zonodpp.sample`.
    language : str, optional
        A code such as "de", for abbreviations and stemming. Default: English, Porter's stemmer.
    rng : seed or numpy Generator, optional
        Same seed, same summary.

    Returns
    -------
    Summary

    Notes
    -----
    Of sentences with the same words only the first is a candidate, unless more are asked for than
    there are different ones. Fewer sentences than features: the leading principal directions of
    the standardised features are used. Features of too low a rank are completed by directions of
    tf-idf, and where these too are used up, by random ones.

    Examples
    --------
    >>> from zonodpp.apps import summarize
    >>> from zonodpp.datasets import article
    >>> summary = summarize(article(), 3, rng=0)
    >>> len(summary.sentences), len(summary.all_sentences)
    (3, 64)
    >>> "mercury" in summarize(article(), 2, query="poisonous mercury", rng=0).text
    True
    """
    k = as_count(sentences, "sentences", 1)
    one_of(answer, "answer", ANSWERS)
    if isinstance(features, str):
        one_of(features, "features", _FEATURES)
    if query is not None and not words(query):
        raise ValueError(f"query must hold a word, got {query!r}; leave it out for a plain summary")
    everything = _as_sentences(text, language)
    candidates = _first_occurrences(everything)
    if k >= len(candidates):
        repeats = np.setdiff1d(np.arange(len(everything)), candidates)[: k - len(candidates)]
        indices = np.sort(np.append(candidates, repeats)).tolist()
        return Summary([everything[i] for i in indices], indices, [1.0] * len(indices), everything)

    [generator] = spawn(rng, purpose="summary")
    if isinstance(features, str):
        kind = _suitable(k, query) if features == "auto" else features
        Q = _directions(everything, candidates, k, kind, language, generator)
    else:
        kind = "given"
        Q = _given_directions(features, everything, candidates, k)
    weights = None if query is None else texts.relevance(everything, query, language)[candidates]
    target = ProjectionDPP.from_features(Q, weights=weights)

    if draws is None:
        one_is_enough = answer == "draw" and method in ("auto", "exact")
        draws = 1 if one_is_enough else int(np.clip(_WORK / k**3, 30, _DRAWS))
    samples = sample(target, draws, method=method, rng=generator, progress=False)
    chosen: Subsets | Integers
    value = None
    if answer == "mbr":
        tokens = [words(everything[i]) for i in candidates]
        chosen, value, _ = minimum_bayes_risk(tokens, samples.subsets)
    else:
        chosen = samples.best() if answer == "best" else samples.subsets[0, -1]
    indices = candidates[chosen].tolist()
    return Summary(
        sentences=[everything[i] for i in indices],
        indices=indices,
        scores=target.marginals()[chosen].tolist(),
        all_sentences=everything,
        features=kind,
        expected_rouge=value,
    )


def _suitable(k: int, query: str | None) -> str:
    """Choose the features for k sentences.

    With fewer than eleven, the appendix's five indicators of single sentences would be most of
    what principal directions keep, and summaries the beginning of the text.
    """
    if query is not None or k > len(texts.NAMES):
        return "lsa"
    return "appendix" if k == len(texts.NAMES) else "spread"


def _as_sentences(text: str | Sequence[str], language: str | None) -> list[str]:
    if isinstance(text, str):
        return split_sentences(text, language)
    parts = list(text) if isinstance(text, Iterable) and not isinstance(text, bytes) else [text]
    strange = [type(part).__name__ for part in parts if not isinstance(part, str)]
    if strange:
        raise TypeError(
            f"text must be a str or a sequence of sentences, got {strange[0]}; decode bytes and "
            "read files first"
        )
    return [part.strip() for part in parts if words(part)]


def _first_occurrences(sentences: list[str]) -> Integers:
    """Places of sentences whose words did not come before in the same order."""
    seen: dict[tuple[str, ...], int] = {}
    for place, sentence in enumerate(sentences):
        seen.setdefault(tuple(words(sentence)), place)
    return np.array(list(seen.values()), dtype=np.int64)


def _directions(
    everything: list[str],
    candidates: Integers,
    k: int,
    kind: str,
    language: str | None,
    rng: np.random.Generator,
) -> Floats:
    """Return an orthonormal basis of the k features that the candidates are drawn by."""

    def tf_idf() -> sp.csr_array:
        return unit_rows(texts.tf_idf(texts.stems(everything, language)))[candidates]

    def noise() -> Floats:
        return rng.standard_normal((len(candidates), k))

    if kind == "lsa":
        return texts.completed_directions(tf_idf(), k, [noise])
    positions = "first" if kind == "appendix" else "fifths"
    X = texts.appendix_features(everything, language, positions=positions)[candidates]
    return _reduced(X, k, [lambda: texts.left_directions(tf_idf(), k), noise])


def _given_directions(
    features: MatrixLike, everything: list[str], candidates: Integers, k: int
) -> Floats:
    X = to_dense(as_matrix(features, "features"))
    check_finite(X, "features")
    if len(X) != len(everything):
        raise ValueError(
            f"features must have a row for each of the {len(everything)} sentences, got {len(X)} "
            "rows; pass the text as a list of sentences to split it yourself"
        )
    if X.shape[1] < k:
        raise ValueError(
            f"features has {X.shape[1]} columns, so that a draw has {X.shape[1]} sentences, but "
            f"sentences={k}; pass more features or ask for fewer sentences"
        )
    return _reduced(X[candidates], k, [])


def _reduced(X: Floats, k: int, fillers: Sequence[texts.Filler]) -> Floats:
    """Return directions of k features as they are, or principal directions of more features."""
    fewer = k < X.shape[1]
    size = X.std(axis=0) if fewer else np.linalg.norm(X, axis=0)
    # The spread of a constant feature is only rounding error.
    useful = size > 1e-9 * np.abs(X).max(axis=0, initial=0.0)
    return texts.completed_directions(X[:, useful] / size[useful], k, fillers, centred=fewer)
