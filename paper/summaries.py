"""Summaries of an article and their mean ROUGE-1F (the paper's figure 4 and appendix B)."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from paper.summaries_figures import figures
from paper.summaries_verdicts import EXACT, FIFTHS, FIRST, NEW, OLD, verdicts
from zonodpp import datasets
from zonodpp._types import Floats, Integers
from zonodpp.apps.rouge import mean_rouge, minimum_bayes_risk
from zonodpp.apps.summaries.languages import words
from zonodpp.apps.summaries.sentences import split_sentences
from zonodpp.apps.summaries.text import appendix_features, stems, tf_idf
from zonodpp.numerics.arrays import to_dense, unit_rows
from zonodpp.runs.sample import sample
from zonodpp.samples import Samples
from zonodpp.targets import ProjectionDPP
from zonodpp.zonotope import Zonotope

__all__ = ["INTRODUCTION", "TITLE", "figures", "run", "texts", "verdicts"]

TITLE = "Text summarisation"
INTRODUCTION = (
    "Summaries of eleven sentences are drawn from the projection DPP of the eleven features of "
    "appendix B. For three candidate summaries, the mean ROUGE-1F with all draws is estimated in "
    "independent runs of Algorithm 5, of Algorithm 1 and of exact draws. Algorithms start from the "
    "same bases, with one objective c for all runs; features have length one, as the directions of "
    "Algorithm 5 depend on their units."
)

NAMES = (
    "characters",
    "words",
    "characters of stems",
    "distinct stems",
    "sum of tf-idf",
    "mean cosine distance",
    *(f"position {k}" for k in range(1, 6)),
)  # of the features of appendix B
METHODS: dict[str, dict[str, Any]] = {
    NEW: {"method": "zonotope", "preset": "paper"},
    OLD: {"method": "exchange", "rule": "barker"},
    EXACT: {"method": "exact"},
}
READINGS = {
    FIRST: ("first", True),
    f"{FIRST}, raw units": ("first", False),
    FIFTHS: ("fifths", True),
    f"{FIFTHS}, raw units": ("fifths", False),
}  # of "binary features indicating positions 1-5", and whether features have length one
CANDIDATES = 3
KEPT = 200  # draws of a run that its coverage is averaged over


def run(
    *,
    quick: bool = False,
    rng: Any = None,
    progress: Any = None,
    article: str | os.PathLike[str] | None = None,
    runs: int | None = None,
    draws: int | None = None,
) -> dict[str, Any]:
    """Estimate the mean ROUGE-1F of three summaries, again and again, by each method.

    Parameters
    ----------
    quick : bool, default False
        12 runs of 1,000 draws in place of the paper's 50 of 10,000.
    rng : seed or Generator, optional
    progress : callable, optional
        Told what is being done.
    article : str or path, optional
        A text, or a file that holds one; the bundled article by default.
    runs, draws : int, optional
        Other sizes.

    Returns
    -------
    dict
        Plain data, for `figures`, `verdicts` and `texts`.

    Examples
    --------
    >>> from paper import summaries
    >>> data = summaries.run(runs=2, draws=50, rng=0)
    >>> data["settings"]["sentences"], data["estimates"]["Algorithm 5"].shape
    (64, (2, 3))
    """
    say = progress or (lambda news: None)
    generator = np.random.default_rng(rng)
    runs = runs or (12 if quick else 50)
    draws = draws or (1_000 if quick else 10_000)
    sentences = split_sentences(_read(article))
    tokens = [words(sentence) for sentence in sentences]
    target = _target(sentences, "first", True)
    n, r = target.n, target.r
    candidates = uniform_bases(target, CANDIDATES, generator)
    c = generator.standard_normal(n)
    starts = _starts(target, c, runs, generator)

    chains: dict[str, Samples] = {}
    estimates, evaluation = {}, {}
    for name in METHODS:
        say(f"summaries: {runs} runs of {draws:,} draws, {name}")
        _draw(target, name, 2, c, starts[:1], np.random.default_rng(0))  # compiles, untimed
        chains[name] = _draw(target, name, draws, c, starts, generator)
        begun = time.perf_counter()
        estimates[name] = np.stack(
            [mean_rouge(tokens, candidates, chain) for chain in chains[name].subsets]
        )
        evaluation[name] = (time.perf_counter() - begun) / runs

    say("summaries: other readings of the features")
    few = max(2, runs // 5)
    readings = {}
    for label, (positions, scaled) in READINGS.items():
        other = _target(sentences, positions, scaled)
        begin = _starts(other, c, few, generator)
        readings[label] = {
            "first sentence": float(other.marginals()[0]),
            **{
                name: distinct_shares(_draw(other, name, draws, c, begin, generator))
                for name in (NEW, OLD)
            },
        }
    say("summaries: minimum Bayes risk")
    begun = time.perf_counter()
    best, value, _ = minimum_bayes_risk(tokens, chains[EXACT].subsets[0])
    pairs = time.perf_counter() - begun
    uniform = _uniform_sets(n, r, runs * KEPT, generator).reshape(runs, KEPT, r)
    cosines = _cosines(sentences)
    shown = {
        "Drawn by Algorithm 5": chains[NEW].subsets[0, -1],
        "Picked uniformly": uniform[0, 0],
        "Picked uniformly again": uniform[0, 1],
        "Minimum Bayes risk": best,
    }
    return {
        "settings": {
            "article": "bundled" if article is None else "given",
            "sentences": n,
            "features": r,
            "runs": runs,
            "draws of a run": draws,
            "candidates": CANDIDATES,
            "burn-in": 0,
            "feature names": list(NAMES),
        },
        "sentences": sentences,
        "candidates": candidates,
        "estimates": estimates,
        "distinct": {name: distinct_shares(samples) for name, samples in chains.items()},
        "acceptance": {name: samples.acceptance for name, samples in chains.items()},
        "seconds": {
            name: {
                "drawing a run": float(samples.stats["seconds"].mean()),
                "rouge of a run": evaluation[name],
            }
            for name, samples in chains.items()
        },
        "readings": readings,
        "coverage": {
            NEW: _coverage(cosines, chains[NEW].subsets[:, :: max(1, draws // KEPT)]),
            "uniform": _coverage(cosines, uniform),
        },
        "risk": {"value": value, "draws": draws, "seconds": pairs},
        "summaries": {
            title: {"indices": items, "sentences": [sentences[i] for i in items]}
            for title, items in shown.items()
        },
    }


def texts(data: dict[str, Any]) -> dict[str, list[str]]:
    """Return the summaries to show side by side: title to sentences."""
    return {title: list(found["sentences"]) for title, found in data["summaries"].items()}


def uniform_bases(target: ProjectionDPP, count: int, rng: np.random.Generator) -> Integers:
    """Draw bases uniformly, by rejection from uniform sets.

    Items of probability one are in every basis, so sets without them need not be tried.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp import ProjectionDPP
    >>> from paper.summaries import uniform_bases
    >>> target = ProjectionDPP([[1, 0, 0], [0, 1, 1]])
    >>> uniform_bases(target, 1, np.random.default_rng(0)).shape
    (1, 2)
    """
    sure = target.marginals() > 1 - 1e-9
    always, open_to = np.flatnonzero(sure), np.flatnonzero(~sure)
    found = np.empty((0, target.r), np.int64)
    while len(found) < count:
        rest = _uniform_sets(len(open_to), target.r - len(always), max(16, count), rng)
        held = np.broadcast_to(always, (len(rest), len(always)))
        sets = np.sort(np.hstack([held, open_to[rest]]), axis=1)
        found = np.vstack([found, sets[np.isfinite(target.log_prob(sets))]])
    return found[:count]


def distinct_shares(samples: Samples) -> Floats:
    """Return the number of distinct draws over the number of draws, for each chain."""
    return np.array([len(np.unique(chain, axis=0)) / len(chain) for chain in samples.subsets])


def _read(article: str | os.PathLike[str] | None) -> str:
    """Return the text that is given, or that the file holds."""
    if article is None:
        return datasets.article()
    if isinstance(article, str) and ("\n" in article or len(article) > 1000):
        return article
    if Path(article).is_file():
        return Path(article).read_text(encoding="utf-8")
    if isinstance(article, str) and len(split_sentences(article)) > 1:
        return article
    raise FileNotFoundError(f"article must be a text or a text file; there is none at {article}")


def _target(sentences: list[str], positions: str, scaled: bool) -> ProjectionDPP:
    n, r = len(sentences), len(NAMES)
    if n <= r:
        raise ValueError(f"the article must have more than {r} sentences, got {n}")
    X = appendix_features(sentences, positions=positions)
    try:
        return ProjectionDPP.from_features(X / np.linalg.norm(X, axis=0) if scaled else X)
    except ValueError as error:
        raise ValueError(f"the {r} features of this article are dependent: {error}") from None


def _starts(target: ProjectionDPP, c: Floats, runs: int, rng: np.random.Generator) -> Integers:
    """Bases of the tiles of A u, u uniform, as in the paper's section 4.1."""
    zonotope = Zonotope(target.A, c=c)
    return np.stack([zonotope.tile(target.A @ rng.random(target.n)).basis for _ in range(runs)])


def _draw(
    target: ProjectionDPP,
    name: str,
    draws: int,
    c: Floats,
    starts: Integers,
    rng: np.random.Generator,
) -> Samples:
    options = dict(METHODS[name])
    if name != EXACT:
        options["init"] = starts
    if name == NEW:
        options["c"] = c
    return sample(target, draws, chains=len(starts), rng=rng, progress=False, **options)


def _uniform_sets(n: int, r: int, count: int, rng: np.random.Generator) -> Integers:
    """Draw sets of r out of n, each ascending, (count, r)."""
    return np.sort(np.argsort(rng.random((count, n)), axis=1)[:, :r], axis=1)


def _cosines(sentences: list[str]) -> Floats:
    unit = unit_rows(tf_idf(stems(sentences)))
    return to_dense(unit @ unit.T)


def _coverage(cosines: Floats, draws: Any) -> Floats:
    """Mean, over sentences, of the largest cosine with a chosen one; averaged over each run."""
    return np.array([cosines[:, run].max(axis=2).mean() for run in draws])
