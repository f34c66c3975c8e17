"""Computing with zonotopes: vertices and order reduction.

Peers list vertices by the convex hull of all 2^n sums of generators.
"""

from __future__ import annotations

import math
import warnings
from functools import partial
from itertools import product

import numpy as np
from scipy.spatial import ConvexHull

from benchmarks import SEED, Job, Row, compare, interleaved, left_out, measured, missing, peer
from zonodpp import Zonotope
from zonodpp.zonotope.reduction import METHODS

FEW = 12  # generators with which pypolycontain makes a hull; it shoots rays else, with pydrake
TOO_MANY = f"pypolycontain lists vertices of at most {FEW} generators"
SUMS = ((2, 16), (3, 14), (4, 12))  # r x n whose 2^n sums a hull is made of
LARGE = ((3, 200), (5, 30), (6, 40))
ORDERS = (1, 2, 4)
BANDS = ((2, 4), (5, 8), (9, 12))  # dimensions, from and to
REDUCED = 100  # random zonotopes of 2 to 12 dimensions and order 5 to 20


def once(quick: bool) -> list[Row]:
    """Reduce random zonotopes by our search and by the methods of the field."""
    ratios: dict[tuple[int, str], list[tuple[int, float]]] = {}
    rng = np.random.default_rng(SEED)
    for number in range(9 if quick else REDUCED):
        original = Zonotope.from_generators(random_generators(rng, number))
        true = original.volume(rel_error=0.02, rng=SEED).log_value
        directions = rng.standard_normal((500, original.r))
        for order in ORDERS:
            for method in ("search", *METHODS):
                found = original.reduce(order, method=method)
                assert (found.support(directions) >= original.support(directions)).all()
                log_value = found.volume(rel_error=0.02, rng=SEED).log_value
                size = math.exp((log_value - true) / original.r)
                ratios.setdefault((order, method), []).append((original.r, size))
    return [cell(ratios, order, band) for order in ORDERS for band in BANDS]


def random_generators(rng: np.random.Generator, number: int) -> np.ndarray:
    """Return Gaussian generators, in turn with uneven lengths, and skewed as well."""
    r, order = int(rng.integers(2, 13)), int(rng.integers(5, 21))
    G = rng.standard_normal((r, r * order))
    if number % 3 >= 1:
        G *= rng.lognormal(0, 0.7, r * order)
    if number % 3 == 2:
        axes = np.linalg.qr(rng.standard_normal((r, r)))[0]
        G = axes * np.exp(rng.standard_normal(r)) @ G
    return G


def cell(
    ratios: dict[tuple[int, str], list[tuple[int, float]]], order: int, band: tuple[int, int]
) -> Row:
    """Compare mean volumes to the power 1/r, over the true ones."""
    means = {
        method: float(np.mean([size for r, size in found if band[0] <= r <= band[1]] or [np.nan]))
        for (at, method), found in ratios.items()
        if at == order
    }
    best = min(value for method, value in means.items() if method != "search")
    return {
        "what": f"reduction to order {order}, {band[0]} to {band[1]} dimensions: mean volume^(1/r) "
        "by our search over the best method of the field",
        "ratio": means["search"] / best,
        "at_most": 1.0,
        "means": means,
    }


def hull_of_sums(G: np.ndarray) -> np.ndarray:
    sums = np.array(list(product((-1.0, 1.0), repeat=G.shape[1]))) @ G.T
    return sums[ConvexHull(sums).vertices]


def run(quick: bool) -> list[Row]:
    """List vertices, beside hulls of all sums and beside a package that makes such hulls."""
    rows: list[Row] = []
    rng = np.random.default_rng(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of optional parts that are not installed
        others = peer("pypolycontain")
    for r, n in SUMS[:1] if quick else SUMS:
        G = rng.standard_normal((r, n))
        jobs = {
            "ours": Job(Zonotope.from_generators(G).vertices),
            "hull": Job(partial(hull_of_sums, G)),
        }
        if others is not None and n <= FEW:
            theirs = others.zonotope(x=np.zeros((r, 1)), G=G)
            jobs["pypolycontain"] = Job(partial(others.zonotope_to_V, theirs))
        seconds = interleaved(jobs, repeats=2 if quick else 3)
        for name, label in (("hull", "ConvexHull of all sums"), ("pypolycontain", "pypolycontain")):
            what = f"vertices {r} x {n}: {label} over ours"
            if name in jobs:
                rows.append({"what": what, **compare(seconds, name, "ours")})
            else:
                rows.append(missing(what, name) if n <= FEW else left_out(what, TOO_MANY))
    for r, n in LARGE[:1] if quick else LARGE:
        zonotope = Zonotope.from_generators(rng.standard_normal((r, n)))
        count = len(zonotope.vertices())
        job = {"ours": Job(zonotope.vertices)}
        seconds = interleaved(job, repeats=2 if quick else 3)
        what = f"vertices {r} x {n}: {count:,} of them, where 2^{n} sums are out of reach"
        rows.append({"what": what, **measured(seconds["ours"], "s")})
    return rows
