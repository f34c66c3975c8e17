"""The best subset: greedy picks and exchanges among 100,000 items, and D-optimal designs.

The peer of MAP is the fast greedy algorithm of Chen, Zhang and Zhou in numpy, column by column of
the kernel. The peer of designs is pyDOE3, which computes each determinant from scratch. Its Dykstra
and Wynn-Mitchell algorithms are run as they are. A pass of its Fedorov algorithms tries every
candidate in every place, k times as many determinants as a step of Wynn-Mitchell, and takes many
passes. So their rules are followed here by the formula for an exchange, from pyDOE3's own starting
designs; on a small case the designs are compared with those of pyDOE3 itself.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from benchmarks import SEED, Job, Row, compare, interleaved, measured, missing, peer
from benchmarks.peers import greedy_by_columns
from zonodpp import DPP, Design, ProjectionDPP, find_map, sample
from zonodpp.features import rp_cholesky

RIDGE = 0.1
FACTORS, RUNS = 20, 30  # of a design
PATIENCE = 200  # exchanges, or sweeps, at most: as many as pyDOE3 makes, or more
LEAST_GAIN = 1e-12  # of det(X_S' X_S / k), by which pyDOE3 tells an improvement


def run(quick: bool) -> list[Row]:
    return [
        *large(quick),
        *against_columns(quick),
        *landmarks(quick),
        draws(quick),
        *least_squares(quick),
    ]


def once(quick: bool) -> list[Row]:
    if peer("pyDOE3") is None:
        return [missing("D-efficiency and time beside pyDOE3", "pyDOE3")]
    return [same_rule(), *optimal(quick)]


def large(quick: bool) -> list[Row]:
    """Pick 100 out of 100,000 items with 50 features and a ridge."""
    n = 20_000 if quick else 100_000
    target = DPP.from_features(np.random.default_rng(SEED).normal(size=(n, 50)))
    call = partial(find_map, target, k=100, ridge=RIDGE)
    jobs = {"greedy": Job(partial(call, swaps=False)), "exchanges": Job(call)}
    seconds = interleaved(jobs, repeats=2)
    found = {"greedy": call(swaps=False), "exchanges": call()}
    return [
        {
            "what": f"k = 100 of {n:,}, 50 features, ridge: seconds, {name}",
            **measured(seconds[name], "s"),
            "at_most": at_most,
            "log_det": found[name].log_weight,
            "swaps": found[name].swaps,
        }
        for name, at_most in (("greedy", 5.0), ("exchanges", 20.0))
    ]


def against_columns(quick: bool) -> list[Row]:
    n = 20_000 if quick else 100_000
    Phi = np.random.default_rng(SEED).normal(size=(n, 50))
    target = DPP.from_features(Phi)
    jobs = {
        "columns": Job(partial(greedy_by_columns, Phi, 100, RIDGE)),
        "zonodpp": Job(partial(find_map, target, k=100, ridge=RIDGE, swaps=False)),
    }
    seconds = interleaved(jobs, repeats=2)
    ours = find_map(target, k=100, ridge=RIDGE, swaps=False).subset
    what = f"k = 100 of {n:,}: greedy by columns of the kernel over ours"
    return [
        {
            "what": what,
            "picks_in_common": int(np.isin(ours, jobs["columns"].call()).sum()),
            **compare(seconds, "columns", "zonodpp"),
        }
    ]


def landmarks(quick: bool) -> list[Row]:
    """Fifty landmarks from points, an rbf kernel, rp_cholesky and MAP, from data to answer."""
    n = 20_000 if quick else 100_000
    X = np.random.default_rng(SEED).normal(size=(n, 10))

    def pick() -> None:
        find_map(ProjectionDPP.from_features(rp_cholesky(X, 50, rng=SEED)))

    seconds = interleaved({"landmarks": Job(pick)}, repeats=2)["landmarks"]
    return [
        {
            "what": f"50 landmarks of {n:,} points: seconds, kernel to MAP",
            **measured(seconds, "s"),
            "at_most": 30.0,
        }
    ]


def model(factors: np.ndarray) -> np.ndarray:
    """Return the design matrix of main effects: a constant and the factors."""
    return np.column_stack([np.ones(len(factors)), factors])


def efficiency(rows: np.ndarray) -> float:
    """Return the D-efficiency det(X_S' X_S)^(1/d) / k, which is 1 for an orthogonal design."""
    k, d = rows.shape
    return float(np.exp(np.linalg.slogdet(rows.T @ rows)[1] / d) / k)


def factors_of(rows: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return by what each exchange multiplies the determinant: row j in the place of member i."""
    inverse = np.linalg.inv(rows[members].T @ rows[members])
    across = rows @ inverse @ rows[members].T
    own = np.einsum("ij,jk,ik->i", rows, inverse, rows)
    found = np.outer(1 + own, 1 - own[members]) + across**2
    found[members] = 0.0
    return found


def fedorov(rows: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Make the best of all exchanges, again and again."""
    members = members.copy()
    for _ in range(PATIENCE):
        gains = factors_of(rows, members)
        j, i = np.unravel_index(np.argmax(gains), gains.shape)
        if (gains[j, i] - 1) * efficiency(rows[members]) ** rows.shape[1] <= LEAST_GAIN:
            break
        members[i] = j
    return members


def modified_fedorov(rows: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Go from place to place, each time to the best row that was outside before the sweep."""
    members = members.copy()
    for _ in range(PATIENCE):
        outside = np.ones(len(rows), dtype=bool)
        outside[members] = False
        changed = False
        for i in range(len(members)):
            # A row that an earlier place has taken may be taken again: the factor is the same.
            inverse = np.linalg.inv(rows[members].T @ rows[members])
            across = rows @ inverse @ rows[members[i]]
            own = np.einsum("ij,jk,ik->i", rows, inverse, rows)
            gains = np.where(outside, (1 + own) * (1 - own[members[i]]) + across**2, 0.0)
            j = int(np.argmax(gains))
            if (gains[j] - 1) * efficiency(rows[members]) ** rows.shape[1] > LEAST_GAIN:
                members[i], changed = j, True
        if not changed:
            break
    return members


def places(candidates: np.ndarray, design: np.ndarray) -> np.ndarray:
    """Return the numbers of the candidates that a design of pyDOE3 consists of."""
    return np.array([int(np.flatnonzero((candidates == row).all(axis=1))[0]) for row in design])


def same_rule() -> Row:
    """Compare designs by the formula with those of pyDOE3, which computes every determinant."""
    from pyDOE3.doe_optimal import algorithms

    candidates = np.random.default_rng(SEED).uniform(-1, 1, size=(60, 3))
    rows = model(candidates)
    start = places(candidates, algorithms.sequential_dykstra(candidates, 8, 1))
    pairs = [
        (fedorov(rows, start), algorithms.fedorov(candidates, 8, 1)),
        (modified_fedorov(rows, start), algorithms.modified_fedorov(candidates, 8, 1)),
    ]
    ratios = [efficiency(rows[ours]) / efficiency(model(theirs)) for ours, theirs in pairs]
    return {
        "what": "60 candidates: Fedorov's rules by formula over pyDOE3, D-efficiency",
        "ratio": min(ratios),
        "ratio_range": [min(ratios), max(ratios)],
    }


def optimal(quick: bool) -> list[Row]:
    """Choose 30 of 10,000 runs with 20 factors."""
    from pyDOE3.doe_optimal import algorithms

    n = 500 if quick else 10_000
    candidates = np.random.default_rng(SEED).uniform(-1, 1, size=(n, FACTORS))
    rows = model(candidates)
    case = f"{RUNS} of {n:,} candidates, {FACTORS} factors"
    peers, seconds = {}, {}
    for name in ("sequential_dykstra", "simple_exchange_wynn_mitchell"):
        begun, clock = time.process_time(), time.perf_counter()
        design = getattr(algorithms, name)(candidates, RUNS, 1)
        seconds[name] = time.process_time() - begun, time.perf_counter() - clock
        peers[name] = places(candidates, design)
    peers["fedorov"] = fedorov(rows, peers["sequential_dykstra"])
    peers["modified_fedorov"] = modified_fedorov(rows, peers["sequential_dykstra"])
    peers["detmax"] = fedorov(rows, peers["simple_exchange_wynn_mitchell"])
    found, ours = [], []
    for _ in range(5):
        begun, clock = time.process_time(), time.perf_counter()
        found = find_map(Design(rows, RUNS)).subset
        ours.append((time.process_time() - begun, time.perf_counter() - clock))
    best = efficiency(rows[found])
    result: list[Row] = [
        {
            "what": f"{case}: D-efficiency, ours over {name}",
            "ratio": best / efficiency(rows[members]),
            "floor": 1.0,
            "ours": best,
            "peer": efficiency(rows[members]),
        }
        for name, members in peers.items()
    ]
    for name, (cpu, wall) in seconds.items():
        ratios = [cpu / mine for mine, _ in ours]
        result.append(
            {
                "what": f"{case}: processor time of {name} over ours",
                **measured(ratios),
                **({} if quick or name == "sequential_dykstra" else {"floor": 100.0}),
                "seconds": {name: cpu, "zonodpp": float(np.median([mine for mine, _ in ours]))},
                "wall": {name: wall, "zonodpp": float(np.median([mine for _, mine in ours]))},
            }
        )
    return result


def draws(quick: bool) -> Row:
    """Time exact draws of designs."""
    n = 2000 if quick else 10_000
    target = Design(model(np.random.default_rng(SEED).uniform(-1, 1, size=(n, FACTORS))), RUNS)
    job = Job(partial(sample, target, 500, rng=SEED, progress=False), 500)
    seconds = interleaved({"draw": job}, repeats=3)["draw"]
    what = f"{RUNS} of {n:,} rows, {FACTORS + 1} columns: exact draw"
    return {"what": what, **measured([1e6 * s for s in seconds], "us")}


def least_squares(quick: bool) -> list[Row]:
    """Fit labels that are not linear: how far the mean fit is from that of all rows."""
    rng = np.random.default_rng(SEED)
    count = 500 if quick else 4000
    x = rng.standard_t(3, size=(200, 4))
    rows = model(x)
    y = (x**2).sum(axis=1) + rng.normal(size=200)
    full = np.linalg.lstsq(rows, y)[0]
    target = Design(rows, 15)
    leverages = target.base.marginals()
    subsets = sample(target, count, rng=rng, progress=False).subsets[0]
    firsts = sample(target.base, count, rng=rng, progress=False).subsets[0]
    fits: dict[str, list[np.ndarray]] = {"volume": [], "rescaled": [], "uniform": []}
    for subset, first in zip(subsets, firsts, strict=True):
        fits["volume"].append(np.linalg.lstsq(rows[subset], y[subset])[0])
        twice = np.concatenate([first, rng.choice(200, 10, p=leverages / 5)])
        scale = 1 / np.sqrt(leverages[twice])
        fits["rescaled"].append(np.linalg.lstsq(rows[twice] * scale[:, None], y[twice] * scale)[0])
        plain = rng.choice(200, 15, replace=False)
        fits["uniform"].append(np.linalg.lstsq(rows[plain], y[plain])[0])
    limits = {"volume": {"at_most": 3.0}, "rescaled": {"at_most": 3.0}, "uniform": {"floor": 5.0}}
    return [
        {
            "what": f"15 of 200 rows, {name}: mean fit's distance, in standard errors",
            **_errors(found, full, rows, y),
            **limits[name],
        }
        for name, found in fits.items()
    ]


def _errors(fits: list[np.ndarray], full: np.ndarray, rows: np.ndarray, y: np.ndarray) -> Row:
    """Return the largest distance over coefficients, and the mean loss over that of all rows."""
    found = np.array(fits)
    errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    off = np.abs(found.mean(axis=0) - full) / errors
    losses = ((rows @ found.T - y[:, None]) ** 2).sum(axis=0)
    least = float(((rows @ full - y) ** 2).sum())
    return {"ratio": float(off.max()), "relative_loss": float(np.mean(losses) / least)}
