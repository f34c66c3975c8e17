"""Columns beside SciPy's interpolative decomposition, pivoted QR, and scikit-matter's CUR and FPS.

Errors are squared, of least squares from the columns picked, over the best of that rank. SciPy's
decomposition is drawn with three seeds, of which the best counts.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg
import scipy.linalg.interpolative as scipy_id

from benchmarks import SEED, Job, Row, compare, interleaved, left_out, missing, peer
from benchmarks.bench_shortlists import news
from zonodpp import ProjectionDPP, sample
from zonodpp.apps import ColumnSelector, interpolative
from zonodpp.datasets import mnist_ones
from zonodpp.numerics.threads import one_thread

SIZES = (5, 10, 30)
SEEDS = 3
METHODS = ("search", "arp", "osinsky", "qdeim")
DRAWS = 20_000
LARGE, MANY = 2000, 50
ROUNDING = 1e-26  # of the squared norm: below it errors are rounding errors


def run(quick: bool) -> list[Row]:
    return times(quick)


def once(quick: bool) -> list[Row]:
    """Errors, which follow from seeds alone, and the time of a peer that takes half a minute."""
    if peer("sklearn") is None:
        return [missing("columns: errors", "scikit-learn")]
    found = matrices()
    chosen = {name: found[name] for name in ("wine", "Hilbert")} if quick else found
    with one_thread():  # errors do not depend on threads, which wait for others on a busy machine
        rows = [row for name, A in chosen.items() for row in errors(name, A)]
        rows += bound(found["digits, pixels"], 1000 if quick else DRAWS)
        rows += [] if quick else predictions()
    return rows if quick else [*rows, *slow_peer()]


def matrices() -> dict[str, np.ndarray]:
    """Return matrices whose columns are picked; tables of different units are standardised."""
    load = peer("sklearn.datasets")
    rng = np.random.default_rng(SEED)
    digits, ones = load.load_digits().data, mnist_ones().reshape(1000, -1) / 255
    x, p = np.linspace(0, 1, 300)[:, None], np.linspace(0.1, 2, 400)
    bumps = np.exp(-((x - 0.3 - 0.2 * np.sin(3 * p)) ** 2) / (0.002 + 0.02 * p))
    loadings = rng.standard_normal((8, 5000)) * rng.gamma(1.0, 1.0, 5000)
    noise = 0.5 * rng.standard_normal((60, 5000))
    found = {
        "wine": standardised(load.load_wine().data),
        "breast cancer": standardised(load.load_breast_cancer().data),
        "digits, pixels": digits,
        "digits, images": digits.T,
        "snapshots": bumps + p * np.sin(8 * x * p),
        "ones, pixels": ones,
        "ones, images": ones.T,
        "genes": rng.standard_normal((60, 8)) @ loadings + noise,
        "Hilbert": scipy.linalg.hilbert(100),
    }
    texts = news()
    if texts:
        vectorizer = peer("sklearn.feature_extraction.text").TfidfVectorizer(
            sublinear_tf=True, stop_words="english", min_df=2
        )
        found["tf-idf of news"] = vectorizer.fit_transform(texts).toarray()
    return found


def standardised(X: np.ndarray) -> np.ndarray:
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def squared_error(A: np.ndarray, columns: np.ndarray) -> float:
    """Return the squared error of least squares; projected twice for the sake of small errors."""
    Q, _ = np.linalg.qr(A[:, columns])
    rest = A - Q @ (Q.T @ A)
    rest -= Q @ (Q.T @ rest)
    return float((rest**2).sum())


def peers(A: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Return the orders in which peers pick columns, the first k of which they pick for k."""
    most = min(max(SIZES), *A.shape)
    orders = {
        "SciPy": [
            scipy_id.interp_decomp(A, most, rng=np.random.default_rng(seed))[0]
            for seed in range(SEEDS)
        ],
        "pivoted QR": [scipy.linalg.qr(A, mode="r", pivoting=True)[1]],
    }
    selection = peer("skmatter.feature_selection")
    if selection is not None:
        for name in ("CUR", "FPS"):
            orders[name] = [getattr(selection, name)(n_to_select=most).fit(A).selected_idx_]
    return orders


def errors(name: str, A: np.ndarray) -> list[Row]:
    """Return rows of the error of the search over the least error of the peers."""
    singular = np.linalg.svd(A, compute_uv=False) ** 2
    orders, rows = peers(A), []
    for k in SIZES:
        what = f"{name}, k = {k}: squared error over the least of the peers"
        if k >= min(A.shape):
            rows.append(left_out(what, f"there are {min(A.shape)} directions"))
            continue
        best = float(singular[k:].sum())
        found = {
            method: squared_error(A, interpolative(A, k, method=method, rng=0).columns)
            for method in METHODS
        }
        found |= {
            peer: min(squared_error(A, order[:k]) for order in of) for peer, of in orders.items()
        }
        if best < ROUNDING * singular.sum():  # all of A is explained, up to rounding
            share = found["search"] / float(singular.sum())
            what = f"{name}, k = {k}: squared error over the squared norm (all are rounding errors)"
            rows.append({"what": what, "ratio": share, "at_most": ROUNDING, "errors": found})
            continue
        rival = min(orders, key=found.__getitem__)
        ratio = found["search"] / found[rival]
        over_best = {way: error / best for way, error in found.items()}
        facts = {"data": name, "columns": k, "rival": rival, "over_best": over_best}
        rows.append({"what": what, "ratio": ratio, "at_most": 1.0, **facts})
    return rows


def bound(A: np.ndarray, draws: int) -> list[Row]:
    """Mean error of draws with the coefficients of the bound, over the bound."""
    _, values, V = np.linalg.svd(A, full_matrices=False)
    rows = []
    for k in (5, 10):
        best = float((values[k:] ** 2).sum())
        rest = values[k:, None] * V[k:]
        target = ProjectionDPP.from_features(V[:k].T)
        sets = sample(target, draws, rng=SEED, progress=False).subsets.reshape(-1, k)
        errors = 1 + np.array(
            [((rest[:, S] @ np.linalg.inv(V[:k, S])) ** 2).sum() / best for S in sets]
        )
        shares = errors / (k + 1)
        mean, doubt = float(shares.mean()), float(shares.std() / np.sqrt(draws))
        rows.append(
            {
                "what": f"digits, k = {k}: mean error of arp over (k + 1) times the best",
                "ratio": mean,
                "ratio_range": [mean - 2 * doubt, mean + 2 * doubt],
                "stderr": doubt,
                "median": float(np.median(shares)),
                "draws": draws,
            }
        )
    return rows


def predictions() -> list[Row]:
    """Cross-validated scores of linear models on columns picked with y, beside SelectKBest."""
    load, parts = peer("sklearn.datasets"), peer("sklearn.feature_selection")
    chain, scale = peer("sklearn.pipeline").make_pipeline, peer("sklearn.preprocessing")
    models, cross = peer("sklearn.linear_model"), peer("sklearn.model_selection")
    X, y = load.make_friedman1(400, 30, noise=1.0, random_state=0)
    squares = scale.PolynomialFeatures(2, include_bias=False)
    tables = {
        "diabetes": (load.load_diabetes(return_X_y=True), False),
        "products of 30 features": ((squares.fit_transform(X), y), False),
        "breast cancer": (load.load_breast_cancer(return_X_y=True), True),
        "wine": (load.load_wine(return_X_y=True), True),
        "digits": (load.load_digits(return_X_y=True), True),
    }
    rows = []
    for name, ((X, y), classes) in tables.items():
        model = models.LogisticRegression(max_iter=300) if classes else models.Ridge()
        folds = (cross.StratifiedKFold if classes else cross.KFold)(5, shuffle=True, random_state=0)
        by_f = parts.f_classif if classes else parts.f_regression
        for k in (3, 8):
            ways = {
                "with y": ColumnSelector(k),
                "without y": ColumnSelector(k, target_weight=0),
                "SelectKBest": parts.SelectKBest(by_f, k=k),
            }
            scores = {}
            for way, selector in ways.items():
                steps = chain(
                    parts.VarianceThreshold(), scale.StandardScaler(), selector, clone(model)
                )
                scores[way] = float(cross.cross_val_score(steps, X, y, cv=folds).mean())
            what = f"{name}, {k} columns picked with y: score over that of SelectKBest"
            ratio = scores["with y"] / scores["SelectKBest"]
            rows.append({"what": what, "ratio": ratio, "floor": 1.0, "scores": scores})
    return rows


def clone(model: object) -> object:
    return peer("sklearn.base").clone(model)


def large(n: int) -> np.ndarray:
    """Return a matrix whose singular values are 1, 1/2, 1/3, ..."""
    rng = np.random.default_rng(SEED)
    U, V = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    return np.asarray((U / np.arange(1, n + 1)) @ V.T)


def times(quick: bool) -> list[Row]:
    n = LARGE
    A = large(n)
    jobs = {
        "ours": Job(lambda: interpolative(A, MANY, rng=0)),
        "SciPy": Job(lambda: scipy_id.interp_decomp(A, MANY, rng=np.random.default_rng(0))),
    }
    selection = peer("skmatter.feature_selection")
    if selection is not None:
        jobs["FPS"] = Job(lambda: selection.FPS(n_to_select=MANY).fit(A))
    seconds = interleaved(jobs, repeats=3 if quick else 7)
    what = f"{MANY} columns of {n:,} x {n:,}: time over that of"
    rows = [{"what": f"{what} SciPy", "at_most": 3.0, **compare(seconds, "ours", "SciPy")}]
    if "FPS" not in jobs:
        return [*rows, missing(f"{what} scikit-matter's FPS", "skmatter")]
    fps = {"at_most": 1.0, **compare(seconds, "ours", "FPS")}
    return [*rows, {"what": f"{what} scikit-matter's FPS", **fps}]


def slow_peer() -> list[Row]:
    """Time CUR of scikit-matter, once."""
    what = f"{MANY} columns of {LARGE:,} x {LARGE:,}: time over that of scikit-matter's CUR"
    selection = peer("skmatter.feature_selection")
    if selection is None:
        return [missing(what, "skmatter")]
    A, seconds = large(LARGE), []
    for pick in (
        lambda: interpolative(A, MANY, rng=0),
        lambda: selection.CUR(n_to_select=MANY).fit(A),
    ):
        begun = time.perf_counter()
        pick()
        seconds.append(time.perf_counter() - begun)
    return [{"what": what, "ratio": seconds[0] / seconds[1], "at_most": 1.0, "seconds": seconds}]
