"""Summaries: a few sentences of a text that differ from each other and stand for the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from zonodpp._types import Integers, MatrixLike, SeedLike, Subsets
from zonodpp.apps import text as texts
from zonodpp.apps.central import central_features, pick_central
from zonodpp.apps.languages import words as words_of
from zonodpp.apps.rouge import minimum_bayes_risk
from zonodpp.apps.sentences import join_sentences, split_sentences
from zonodpp.arguments import as_count, one_of, spawn
from zonodpp.maximum import find_map
from zonodpp.runs.sampling import sample
from zonodpp.targets import ProjectionDPP
from zonodpp.targets.kdpp import KDPP
from zonodpp.targets.target import Target

ANSWERS = ("best", "mbr", "draw")
_FEATURES = ("auto", "central", "appendix", "spread", "lsa")
_SENTENCES = 11  # as in the paper
_DRAWS = 1000
_WORK = 1e9  # draws times k^3, the cost of an exact draw: a few seconds
_POOL = 1000  # sentences that draws of "central" are made of: the spectrum takes a second
_RIDGE = 1e-9  # of the largest importance: draws may have more sentences than L has rank
_UNRELATED = 1e-6  # relevance of sentences without a word of the query: they come last


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
        What the sentences count, from 0 to 1. For "central": the importance, with the query, as a
        share of the largest. For other features: the exact probability that a draw holds it.
    all_sentences : list of str
        The whole text, split, without headings.
    features : str
        The features that were used: "central", "appendix", "spread", "lsa", "given", or "none"
        where there was nothing to choose.
    expected_rouge : float or None
        Mean ROUGE-1F with all draws, for ``answer="mbr"``.

    See Also
    --------
    summarize : The function that makes it.

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
    sentences: int | None = None,
    *,
    words: int | None = None,
    query: str | None = None,
    features: str | MatrixLike = "auto",
    answer: str = "best",
    draws: int | None = None,
    method: str = "auto",
    language: str | None = None,
    rng: SeedLike = None,
) -> Summary:
    """Summarise a text by sentences of its own that are important and differ from each other.

    The same text has the same summary, unless ``answer`` asks for random draws.

    Parameters
    ----------
    text : str or sequence of str
        A text, plain or HTML, or its sentences. Headings of a text are left out.
    sentences : int, optional
        How many to choose; 11 by default, if there is no limit of words. A text that has no more
        than that is returned as it is.
    words : int, optional
        The most words that the summary may have; "central" and "best" only.
    query : str, optional
        What the summary should be about: the cosine of tf-idf vectors weighs the sentences. Those
        without a word of the query come last, and with ``words`` they are left out.
    features : {"auto", "central", "appendix", "spread", "lsa"} or (n, d) array_like
        "central", which is also "auto": important sentences that share few words (see Notes).
        "appendix": the eleven features of the paper's appendix B, with distinct stems for stemmed
        words; every summary of eleven then holds the first five sentences. "spread": the same,
        with positions 1 to 5 read as the five fifths of the text. "lsa": leading directions of
        tf-idf (latent semantic analysis). An array has a row for each sentence and at least as
        many columns as sentences are asked for.
    answer : {"best", "mbr", "draw"}
        "best": the most likely set of sentences, as nearly as it can be found; always the same.
        "mbr": of random draws the one nearest to all others (minimum Bayes risk, mean ROUGE-1F),
        as in the paper. "draw": one random draw.
    draws : int, optional
        Number of draws; 1000 by default, fewer for summaries of more than a hundred sentences.
    method : str, default "auto"
        How to draw, as in `zonodpp.sample`.
    language : str, optional
        A code such as "de", for abbreviations and stemming. Default: English, Porter's stemmer.
    rng : seed or numpy Generator, optional
        For "mbr" and "draw": same seed, same summary.

    Returns
    -------
    Summary
        The sentences, in the order of the text; ``print(summary)`` shows them.

    See Also
    --------
    shortlist : Any items that are relevant and differ from each other.
    zonodpp.KDPP : The law of draws with "central".

    Notes
    -----
    "central" is the DPP with L_ij = (weights of the words that i and j share) / sqrt(l_i l_j), for
    sentences of l_i and l_j words; the weight of a word is its count in the text times its idf
    over sentences. Draws of it are k-DPPs on the 1000 most important sentences. The other features
    make projection DPPs.

    Of sentences with the same words only the first is a candidate, unless more are asked for than
    there are different ones. Fewer sentences than features: the leading principal directions of
    the standardised features are used. Features of too low a rank are completed by directions of
    tf-idf, and where these too are used up, by arbitrary ones.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, section 4.2 and appendix B.

    A. Kulesza, B. Taskar, "Determinantal point processes for machine learning", Foundations and
    Trends in Machine Learning 5 (2012), section 4.2.

    Examples
    --------
    >>> from zonodpp.apps import summarize
    >>> from zonodpp.datasets import article
    >>> summary = summarize(article(), words=60)
    >>> sum(len(sentence.split()) for sentence in summary.sentences) <= 60
    True
    >>> "mercury" in summarize(article(), 2, query="poisonous mercury").text
    True
    >>> paper = summarize(article(), 11, features="appendix", answer="mbr", rng=0)
    >>> len(paper.sentences), len(paper.all_sentences), paper.indices[:5]
    (11, 64, [0, 1, 2, 3, 4])
    """
    kind = _checked(features, answer, words, query)
    everything = _as_sentences(text, language)
    lengths = np.array([len(words_of(sentence)) for sentence in everything], dtype=np.int64)
    budget = math.inf if words is None else as_count(words, "words", 1)
    most = _SENTENCES if words is None else len(everything)
    k = as_count(most if sentences is None else sentences, "sentences", 1)
    candidates = _first_occurrences(everything)
    if k >= len(candidates) and lengths.sum() <= budget:
        repeats = np.setdiff1d(np.arange(len(everything)), candidates)[: k - len(candidates)]
        indices = np.sort(np.append(candidates, repeats)).tolist()
        return Summary([everything[i] for i in indices], indices, [1.0] * len(indices), everything)

    relevance = np.ones(len(everything))
    if query is not None:
        relevance = texts.relevance(everything, query, language, floor=_UNRELATED)
        related = relevance[candidates] > _UNRELATED
        if words is not None and related.any():  # a limit need not be reached
            candidates = candidates[related]
    target: Target
    chosen: Subsets | Integers
    if kind == "central":
        Phi = sp.diags_array(np.sqrt(relevance)) @ central_features(everything, language)
        Phi = Phi.tocsr()[candidates]
        importance = Phi.multiply(Phi).sum(axis=1)
        scores = importance / (importance.max() or 1.0)
        if answer == "best":
            chosen = pick_central(Phi, lengths[candidates], k, budget)
        else:
            pool = np.sort(np.argsort(-importance, kind="stable")[: max(k, _POOL)])
            candidates, scores = candidates[pool], scores[pool]
            target = _central_target(Phi[pool], k)
    else:
        Q = texts.directions(everything, candidates, k, features, language)
        target = ProjectionDPP.from_features(Q, weights=relevance[candidates])
        scores = target.marginals()
        if answer == "best":
            chosen = find_map(target).subset
    value = None
    if answer != "best":
        tokens = [words_of(everything[i]) for i in candidates]
        count = _enough_draws(answer, method, k) if draws is None else draws
        chosen, value = _drawn(target, tokens, answer, count, method, rng)
    indices = candidates[chosen].tolist()
    sentences_chosen = [everything[i] for i in indices]
    return Summary(sentences_chosen, indices, scores[chosen].tolist(), everything, kind, value)


def _enough_draws(answer: str, method: str, k: int) -> int:
    """Return how many draws an answer takes."""
    one_is_enough = answer == "draw" and method in ("auto", "exact")
    return 1 if one_is_enough else int(np.clip(_WORK / k**3, 30, _DRAWS))


def _checked(features: str | MatrixLike, answer: str, words: int | None, query: str | None) -> str:
    """Check what does not depend on the text; return the name of the features."""
    one_of(answer, "answer", ANSWERS)
    kind = "given"
    if isinstance(features, str):
        kind = one_of(features, "features", _FEATURES).replace("auto", "central")
    if words is not None and (answer != "best" or kind != "central"):
        raise ValueError("words= needs features='central' and answer='best'; or pass sentences=")
    if query is not None and not words_of(query):
        raise ValueError(f"query must hold a word, got {query!r}; leave it out for a plain summary")
    return kind


def _as_sentences(text: str | Sequence[str], language: str | None) -> list[str]:
    if isinstance(text, str):
        return split_sentences(text, language, headings=False)
    parts = list(text) if isinstance(text, Iterable) and not isinstance(text, bytes) else [text]
    strange = [type(part).__name__ for part in parts if not isinstance(part, str)]
    if strange:
        raise TypeError(f"text must be a str or a list of str, got {strange[0]}; decode bytes")
    return [part.strip() for part in parts if words_of(part)]


def _first_occurrences(sentences: list[str]) -> Integers:
    """Places of sentences whose words did not come before in the same order."""
    seen: dict[tuple[str, ...], int] = {}
    for place, sentence in enumerate(sentences):
        seen.setdefault(tuple(words_of(sentence)), place)
    return np.array(list(seen.values()), dtype=np.int64)


def _central_target(Phi: sp.csr_array, k: int) -> KDPP:
    """Return the k-DPP of a pool of sentences, with a ridge so that k may exceed the rank."""
    L = (Phi @ Phi.T).toarray()
    L /= L.max() or 1.0
    return KDPP(L + _RIDGE * np.eye(len(L)), k)


def _drawn(
    target: Target, tokens: list[list[str]], answer: str, draws: int, method: str, rng: SeedLike
) -> tuple[Subsets | Integers, float | None]:
    """Return a random draw, or of many draws the one of minimum Bayes risk with its ROUGE-1F."""
    [generator] = spawn(rng, purpose="summary")
    samples = sample(target, draws, method=method, rng=generator, progress=False)
    if answer == "draw":
        return samples.subsets[0, -1], None
    chosen, value, _ = minimum_bayes_risk(tokens, samples.subsets)
    return chosen, value
