"""Shortlists beside pyversity: distance at equal relevance, time of a call, time of a cold start.

Collections: scikit-learn's digits as pixels, and two of texts in 128 dimensions of latent semantic
analysis, namely the documentation of SciPy's functions and the 300 news of the Lee corpus, which
comes with gensim. A query is an item; relevance is the cosine with it, and the candidates are at
most 1,000 others. A level is the share of relevance given up, between the mean of the ten most
relevant candidates and the mean of all. Every method must keep the level. Of a peer, the setting of
largest mean distance that does so is taken.
"""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import json
import pathlib
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, measured, missing, peer
from zonodpp.apps import Shortlist, shortlist

K = 10
LEVELS = (0.05, 0.1, 0.2, 0.4)
CANDIDATES = 1000
GRID = np.concatenate([np.linspace(0.0, 0.1, 21), np.linspace(0.12, 1.0, 89)])
# Settings beside diversity. A larger scale lets relevance count for more in pyversity's DPP.
PEERS: dict[str, list[dict[str, float]]] = {"mmr": [{}], "dpp": [{"scale": 1.0}, {"scale": 10.0}]}
MODULES = (
    *("cluster.hierarchy", "cluster.vq", "fft", "integrate", "interpolate", "io", "linalg"),
    *("ndimage", "optimize", "signal", "sparse", "sparse.linalg", "spatial", "spatial.distance"),
    *("special", "stats"),
)


def run(quick: bool) -> list[Row]:
    if peer("pyversity") is None:
        return [missing("shortlists", "pyversity")]
    sizes = (100,) if quick else (100, 1000)
    return [
        *(row for n in sizes for row in (*time_of_call(n, quick), *with_groups(n))),
        batch(),
        cold_start(quick),
    ]


def once(quick: bool) -> list[Row]:
    """Compare distances at equal relevance; nothing here depends on the machine."""
    if peer("pyversity") is None or peer("sklearn") is None:
        return []
    found = collections()
    queries = 3 if quick else 40
    rows = [row for name, X in found.items() for row in distances(name, X, queries)]
    return rows if "news" in found else [*rows, missing("news: distances", "gensim")]


def time_of_call(n: int, quick: bool) -> list[Row]:
    diversify = peer("pyversity").diversify
    rng = np.random.default_rng(SEED)
    X, scores = rng.standard_normal((n, 384), dtype=np.float32), rng.random(n, dtype=np.float32)
    count = 20 if quick else 100

    def often(call: partial[Any]) -> Job:
        return Job(lambda: [call() for _ in range(count)], count)

    jobs = {"pyversity": often(partial(diversify, X, scores, K, strategy="dpp"))}
    for share in (0.1, 0.3):
        jobs[f"diversity={share}"] = often(partial(shortlist, scores, X, K, diversity=share))
    seconds = interleaved(jobs, repeats=5 if quick else 21)
    return [
        {
            "what": f"{K} of {n:,} items, 384 features: time, {name}, over pyversity's DPP",
            **({"at_most": 1.0} if name == "diversity=0.1" else {}),
            **compare(seconds, name, "pyversity"),
        }
        for name in jobs
        if name != "pyversity"
    ]


def with_groups(n: int) -> list[Row]:
    """At most three items of each of five groups, beside a list without groups."""
    rng = np.random.default_rng(SEED)
    X, scores = rng.standard_normal((n, 384), dtype=np.float32), rng.random(n, dtype=np.float32)
    groups = [f"group {i % 5}" for i in range(n)]
    quotas = partial(shortlist, scores, X, K, groups=groups, at_most=3)
    jobs = {
        "groups": Job(lambda: [quotas() for _ in range(20)], 20),
        "none": Job(lambda: [shortlist(scores, X, K) for _ in range(20)], 20),
    }
    seconds = interleaved(jobs, repeats=9)
    what = f"{K} of {n:,} items: with groups over without"
    return [{"what": what, "at_most": 5.0, **compare(seconds, "groups", "none")}]


def batch() -> Row:
    """100 lists of 100 candidates: a Python loop over pyversity's DPP over one call."""
    diversify = peer("pyversity").diversify
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((100, 100, 384), dtype=np.float32)
    scores = rng.random((100, 100))

    def loop() -> list[Any]:
        return [diversify(X[b], scores[b], K, strategy="dpp") for b in range(len(X))]

    jobs = {"pyversity": Job(loop), "zonodpp": Job(partial(shortlist, scores, X, K))}
    seconds = interleaved(jobs, repeats=9)
    what = f"100 lists of {K} of 100 items: a loop over pyversity's DPP over a batch of ours"
    return {"what": what, "floor": 5.0, **compare(seconds, "pyversity", "zonodpp")}


COLD = """
import json, time
begun = time.perf_counter()
import numpy as np
from zonodpp.apps import shortlist
rng = np.random.default_rng(0)
X = rng.standard_normal((1000, 384))
shortlist(rng.random(1000), X, 10)
print(json.dumps(time.perf_counter() - begun))
"""


def cold_start(quick: bool) -> Row:
    seconds = [
        float(
            json.loads(
                subprocess.run(
                    [sys.executable, "-c", COLD], capture_output=True, text=True, check=True
                ).stdout
            )
        )
        for _ in range(3 if quick else 9)
    ]
    what = "a first list of a new process, imports included: seconds"
    return {"what": what, "at_most": 0.3, **measured(seconds, "s")}


def collections() -> dict[str, np.ndarray]:
    digits = peer("sklearn.datasets").load_digits().data
    found = {"digits": _unit(digits), "documentation": _embedded(documentation())}
    texts = news()
    return found | ({"news": _embedded(texts)} if texts else {})


def documentation() -> list[str]:
    texts = {}
    for name in MODULES:
        module = importlib.import_module(f"scipy.{name}")
        for entry in module.__all__:
            text = inspect.getdoc(getattr(module, entry)) or ""
            if callable(getattr(module, entry)) and len(text) > 200:
                texts[text] = entry
    return list(texts)


def news() -> list[str]:
    spec = importlib.util.find_spec("gensim")
    if spec is None or not spec.submodule_search_locations:
        return []
    folder = pathlib.Path(next(iter(spec.submodule_search_locations)))
    text = (folder / "test/test_data/lee_background.cor").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip()]


def _embedded(texts: list[str]) -> np.ndarray:
    vectorizer = peer("sklearn.feature_extraction.text").TfidfVectorizer(
        sublinear_tf=True, stop_words="english", min_df=2
    )
    reduced = peer("sklearn.decomposition").TruncatedSVD(128, random_state=0)
    return _unit(reduced.fit_transform(vectorizer.fit_transform(texts)))


def _unit(X: np.ndarray) -> np.ndarray:
    return (X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)).astype(np.float32)


def distances(name: str, X: np.ndarray, queries: int) -> list[Row]:
    """Return mean and smallest distances at each level, means over queries."""
    rng = np.random.default_rng(SEED)
    found: dict[tuple[float, str], list[tuple[float, float]]] = {}
    for query in rng.choice(len(X), queries, replace=False):
        rest = rng.permutation(np.delete(np.arange(len(X)), query))[:CANDIDATES]
        rows, scores = X[rest], X[rest] @ X[query]
        curves = {peer_name: _curve(peer_name, rows, scores) for peer_name in PEERS}
        top = float(np.sort(scores)[-K:].mean())
        for share in LEVELS:
            level = top - share * (top - float(scores.mean()))
            ours = shortlist(scores, rows, K, diversity=share, duplicates=None)
            assert isinstance(ours, Shortlist)
            assert ours.relevance.mean() >= level - 1e-5
            found.setdefault((share, "ours"), []).append(_distances(rows[ours.indices]))
            for peer_name, curve in curves.items():
                kept = [lengths for relevance, lengths in curve if relevance >= level - 1e-6]
                found.setdefault((share, peer_name), []).append(max(kept))
    table = []
    for share in LEVELS:
        means = {who: np.mean(found[share, who], axis=0) for who in ("ours", *PEERS)}
        for place, (measure, floor) in enumerate({"mean": 1.0, "smallest": 1.0}.items()):
            values = {who: float(pair[place]) for who, pair in means.items()}
            best = max(values[who] for who in PEERS)
            lists = np.array([found[share, who] for who in ("ours", *PEERS)])[:, :, place]
            wins = float(np.mean(lists[0] >= lists[1:].max(axis=0) - 1e-6))
            table.append(
                {
                    "what": f"{name}, share {share:g}: {measure} distance over the better peer's",
                    "ratio": values["ours"] / best,
                    "floor": floor,
                    "distances": values,
                    "queries": queries,
                    "queries_won_or_tied": wins,
                }
            )
    return table


def _curve(name: str, rows: np.ndarray, scores: np.ndarray) -> list[Any]:
    """Return mean relevance, and mean and smallest distance, for each setting of a peer."""
    curve = []
    with np.errstate(all="ignore"):
        for settings, diversity in itertools.product(PEERS[name], GRID.tolist()):
            found = peer("pyversity").diversify(
                rows, scores, K, strategy=name, diversity=diversity, **settings
            )
            lengths = _distances(rows[found.indices])
            curve.append((float(scores[found.indices].mean()), lengths))
    return curve


def _distances(rows: np.ndarray) -> tuple[float, float]:
    lengths = 1.0 - (rows @ rows.T)[np.triu_indices(len(rows), 1)]
    return float(lengths.mean()), float(lengths.min())
