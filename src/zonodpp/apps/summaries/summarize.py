"""Summaries: a few sentences of a text that differ from each other and stand for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from zonodpp._arguments import as_count, in_one_line, one_of, spawn
from zonodpp._types import Floats, Integers, MatrixLike, SeedLike
from zonodpp.apps.rouge import minimum_bayes_risk
from zonodpp.apps.summaries import text as texts
from zonodpp.apps.summaries.languages import words as words_of
from zonodpp.apps.summaries.sentences import is_stub, join_sentences, split_sentences
from zonodpp.best import find_map
from zonodpp.numerics.arrays import to_dense, unit_rows
from zonodpp.runs.sample import sample
from zonodpp.targets import ProjectionDPP
from zonodpp.targets.base import Target
from zonodpp.targets.kdpp import KDPP

ANSWERS = ("best", "mbr", "draw")
_FEATURES = ("auto", "central", "appendix", "spread", "lsa")
_SENTENCES = 11  # as in the paper
_DRAWS = 1000
_WORK = 1e9  # draws times k^3, the cost of an exact draw: together a few seconds
_POOL = 1000  # sentences that draws of "central" choose from: their spectrum takes a second
_RIDGE = 1e-9  # of the largest entry, added to the diagonal, as k may exceed the rank of L
_TINY = 1e-300  # replaces zero as a divisor
_IN_SPAN = 1e-10  # a share of the squared length that is rounding error
# The relevance of sentences without a word of the query: they come last, but remain possible.
_UNRELATED = 1e-6


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
        How much each sentence counts, from 0 to 1. For "central": its importance (with the query,
        if any) as a share of the largest. For other features: the exact probability that a draw
        contains it.
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
        sentences than that is returned as it is.
    words : int, optional
        The most words that the summary may have; only with "central" features and answer "best".
    query : str, optional
        What the summary should be about: sentences are weighted by the cosine of tf-idf vectors.
        Those without a word of the query come last, and with ``words`` they are left out.
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
    there are different ones. With fewer sentences than features, the leading principal directions
    of the standardised features are used. Features of too low a rank are completed by directions of
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
    tokens = [words_of(sentence) for sentence in everything]
    lengths = np.array([len(each) for each in tokens], dtype=np.int64)
    budget = np.inf if words is None else as_count(words, "words", 1)
    most = _SENTENCES if words is None else max(1, len(everything))
    k = as_count(most if sentences is None else sentences, "sentences", 1)
    # Candidates are sentences whose words did not come before in the same order.
    first = {tuple(each): place for place, each in reversed([*enumerate(tokens)])}
    candidates = np.array(sorted(first.values()), dtype=np.int64)
    if k >= len(candidates) and lengths.sum() <= budget:
        repeats = np.setdiff1d(np.arange(len(everything)), candidates)[: k - len(candidates)]
        indices = np.sort(np.append(candidates, repeats)).tolist()
        return Summary([everything[i] for i in indices], indices, [1.0] * len(indices), everything)

    # Titles and stubs say nothing alone: they are candidates only if there is not enough else.
    whole = np.array([not is_stub(everything[i]) for i in candidates], dtype=bool)
    if whole.sum() >= (k if sentences is not None or words is None else 1):
        candidates = candidates[whole]
    relevance = np.ones(len(everything))
    if query is not None:
        relevance = np.maximum(texts.relevance(everything, query, language), _UNRELATED)
    value = None
    if kind == "central":
        candidates, scores, Phi = _central(everything, candidates, relevance, budget, language)
        if answer == "best":
            chosen = _pick_central(Phi, lengths[candidates], k, budget)
        else:
            candidates, scores, target = _central_target(Phi, candidates, scores, k)
    else:
        Q = texts.directions(everything, candidates, k, features, language)
        target = ProjectionDPP.from_features(Q, weights=relevance[candidates])
        scores = target.marginals()
        if answer == "best":
            chosen = find_map(target).subset
    if answer != "best":
        subsets = _draws(target, answer, draws, method, rng)
        chosen = subsets[0, -1]
        if answer == "mbr":
            chosen, value, _ = minimum_bayes_risk([tokens[i] for i in candidates], subsets)
    indices = candidates[chosen].tolist()
    picked = [everything[i] for i in indices]
    return Summary(picked, indices, scores[chosen].tolist(), everything, kind, value)


def _central(
    everything: list[str],
    candidates: Integers,
    relevance: Floats,
    budget: float,
    language: str | None,
) -> tuple[Integers, Floats, sp.csr_array]:
    """Return the candidates, their importance as a share of the largest, and "central" features.

    Relevance multiplies the importance of a sentence. A summary of limited length may be shorter
    than its limit, so sentences without a word of the query are no candidates for it.
    """
    related = relevance[candidates] > _UNRELATED
    if budget < np.inf and related.any():
        candidates = candidates[related]
    Phi = sp.diags_array(np.sqrt(relevance)) @ texts.central_features(everything, language)
    Phi = Phi.tocsr()[candidates]
    importance = Phi.multiply(Phi).sum(axis=1)
    return candidates, importance / max(importance.max(), _TINY), Phi


def _central_target(
    Phi: sp.csr_array, candidates: Integers, scores: Floats, k: int
) -> tuple[Integers, Floats, Target]:
    """Return the most important candidates, their scores, and the k-DPP of "central" on them."""
    pool = np.sort(np.argsort(-scores, kind="stable")[: max(k, _POOL)])
    L = (Phi[pool] @ Phi[pool].T).toarray()
    target = KDPP(L / max(L.max(), _TINY) + _RIDGE * np.eye(len(L)), k)
    return candidates[pool], scores[pool], target


def _pick_central(Phi: sp.csr_array, lengths: Integers, k: int, budget: float) -> Integers:
    """Pick at most k sentences, of at most ``budget`` words together, with a large determinant.

    Each pick is, among the sentences that the budget has room for, the one with the largest part
    outside the span of the earlier picks (Chen, Zhang and Zhou, 2018). Once all sentences are in
    the span, the most important ones follow.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from zonodpp.apps.summaries.summarize import _pick_central
    >>> Phi = sp.csr_array([[3.0, 0.0], [2.9, 0.0], [0.0, 1.0]])
    >>> _pick_central(Phi, np.array([9, 9, 9]), 2, 20)
    array([0, 2])
    """
    importance: Floats = Phi.multiply(Phi).sum(axis=1)
    share = (importance > 0).astype(np.float64)  # of each sentence, the part outside the span
    unit = unit_rows(Phi)
    directions = np.empty((0, len(importance)))  # products with an orthonormal basis of the span
    picks: list[int] = []
    while len(picks) < k:
        left = np.where(lengths <= budget - lengths[picks].sum(), share * importance, 0.0)
        best = int(np.argmax(left))
        if left[best] <= 0:
            break
        picks.append(best)
        cosines = to_dense(unit @ unit[[best]].T).ravel()
        along = (cosines - directions[:, best] @ directions) / np.sqrt(share[best])
        directions = np.vstack([directions, along])
        share = share - along**2
        share[share < _IN_SPAN] = 0.0
        share[best] = 0.0
    for item in np.argsort(-importance, kind="stable").tolist():
        if len(picks) < k and item not in picks and lengths[[*picks, item]].sum() <= budget:
            picks.append(item)
    return np.sort(np.array(picks, dtype=np.int64))


def _checked(features: str | MatrixLike, answer: str, words: int | None, query: str | None) -> str:
    """Check what does not depend on the text; return the name of the features."""
    one_of(answer, "answer", ANSWERS)
    kind = "given"
    if isinstance(features, str):
        kind = one_of(features, "features", _FEATURES).replace("auto", "central")
    if words is not None and (answer != "best" or kind != "central"):
        raise ValueError("words= needs features='central' and answer='best'; or pass sentences=")
    if not (query is None or isinstance(query, str)):
        raise TypeError(f"query must be text, got {in_one_line(repr(query))}")
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


def _draws(target: Target, answer: str, draws: int | None, method: str, rng: SeedLike) -> Integers:
    """Return random draws, by default one or as many as take a few seconds."""
    if draws is None:
        one_is_enough = answer == "draw" and method in ("auto", "exact")
        draws = 1 if one_is_enough else int(np.clip(_WORK / target.sizes[-1] ** 3, 30, _DRAWS))
    [generator] = spawn(rng, purpose="summary")
    samples = sample(target, draws, method=method, rng=generator, progress=False)
    return samples.subsets.astype(np.int64)
