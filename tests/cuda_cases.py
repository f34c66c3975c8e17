"""What test_cuda.py runs in numba's simulator or on a real GPU, a process for each function."""

import os
import tempfile
import warnings
from itertools import combinations

import numpy as np
import pytest
from law import THRESHOLD
from numba import config
from scipy import stats

from zonodpp import DPP, KDPP, Exact, Exchange, HitAndRun, ProjectionDPP, sample
from zonodpp.chains.contract import Block
from zonodpp.chains.tracking import NO_SETS
from zonodpp.exact.gpu import layout_for
from zonodpp.exact.gpu_groups import Layout
from zonodpp.exchange import gpu_entering as entering
from zonodpp.numerics import gpu as devices
from zonodpp.numerics import gpu_philox as philox
from zonodpp.numerics import gpu_warps as warps
from zonodpp.numerics.gpu_compile import kernel

# On a real GPU there are millions of draws.
MORE_DRAWS, MORE_CHAINS = (1, 1) if config.ENABLE_CUDASIM else (10, 1000)
SEED = 20170411
GROUPS = Layout(2, 1)  # for small targets, which would take one thread for a vector
TARGET = ProjectionDPP(
    [[1.0, 0.95, 0.1, 0.0, 1.0], [0.0, 0.2, 1.0, 0.9, -0.2]], weights=[1, 1, 2, 1, 0.5]
)


def in_groups(run):
    """Hold proposals by groups of several threads, which small targets need not."""
    run.draws.lay_out(GROUPS)


def in_warps(run):
    """Give a warp to each chain, and let warps compute products together."""
    run.lay_out(entering.BlockShape(warps.WARP, 2, 2 * warps.WARP, True))


def in_global_memory(run):
    """The same, with products in the device's memory."""
    run.lay_out(entering.BlockShape(warps.WARP, 2, 2 * warps.WARP, False))


# Broken twins: every proposal accepted, the wrong power, no density.


def accept_all(run):
    run.draws.lay_out(layout_for(run.width), every=True)


def accept_all_in_groups(run):
    run.draws.lay_out(GROUPS, every=True)


def wrong_power(run):
    run.lay_out(power=1.0)


def no_density(run):
    run.lay_out(exponent=0.0)


def law_of(target):
    """Probability of each set of items, by the bits of the set."""
    n = target.n
    found = np.zeros(2**n)
    for size in target.sizes:
        for items in combinations(range(n), size):
            place = sum(1 << i for i in items)
            found[place] = np.exp(float(target.log_prob(np.array(items, dtype=np.int64))))
    return found / found.sum()


def p_value(subsets, law):
    """Chi-square of counts; sets with fewer than five expected draws share a cell."""
    rows = subsets.reshape(-1, subsets.shape[-1])
    counts = np.zeros(len(law))
    for begin in range(0, len(rows), 1_000_000):
        chunk = rows[begin : begin + 1_000_000].astype(np.int64)
        bits = np.where(chunk >= 0, 1 << np.maximum(chunk, 0), 0).sum(axis=1)
        counts += np.bincount(bits, minlength=len(law))[: len(law)]
    if counts.sum() != len(rows) or counts[law == 0].any():
        return 0.0
    expected = law * counts.sum()
    common = expected >= 5
    observed = np.append(counts[common], counts[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    if expected[-1] == 0:
        observed, expected = observed[:-1], expected[:-1]
    return float(stats.chisquare(observed, expected * (observed.sum() / expected.sum())).pvalue)


def draws_of(target, method, shape, change=None):
    """Return (draws, chains, width) for shape = (draws, chains, thin, burn_in)."""
    draws, chains, thin, burn_in = shape
    run = method.prepare(target).on_device(False)
    if change is not None:
        change(run)
    rngs = np.random.default_rng(SEED).spawn(chains)
    state = run.start(rngs, None, NO_SETS)
    if burn_in:
        skipped = np.empty((chains, 1, run.width), np.int32), np.zeros((chains, 1, 0))
        run.advance(state, rngs, Block(*skipped, burn_in), NO_SETS)
    subsets = np.empty((chains, draws, run.width), np.int32)
    run.advance(state, rngs, Block(subsets, np.zeros((chains, draws, 0)), thin), NO_SETS)
    counts = state["counts"].sum(axis=0).tolist()
    print("   counts", dict(zip(run.counters, counts, strict=True)), flush=True)
    return subsets.swapaxes(0, 1)


def law(target, method, shape, change, broken):
    """Compare with enumeration; the same comparison has to reject the broken twin."""
    expected = law_of(target)
    draws, chains, thin, burn_in = shape
    # Many draws show what is left of the start of a chain, and of the draw before.
    more = 1 if burn_in == 0 or MORE_DRAWS == 1 else 4
    shape = (draws * MORE_DRAWS, chains * MORE_CHAINS, thin * more, burn_in * more)
    value = p_value(draws_of(target, method, shape, change), expected)
    twin = p_value(draws_of(target, method, shape, broken), expected)
    count = shape[0] * shape[1]
    print(f"{method}, {count:,} draws: p = {value:.3g}, {twin:.3g} for the broken twin")
    assert value > THRESHOLD, f"{method} does not follow the law: p = {value:.2g}"
    assert twin < THRESHOLD, f"the check does not see a broken kernel: p = {twin:.2g}"


def known_numbers():
    """Philox4x32-10 as Random123 tests it, and no number twice."""

    @kernel
    def encrypt(words, found):
        found[0], found[1], found[2], found[3] = philox.philox(*words)

    every = 0xFFFFFFFF
    for key, counter, expected in (
        ((0, 0), (0, 0, 0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((every, every), (every,) * 4, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0xA4093822, 0x299F31D0),
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ):
        found = np.zeros(4, np.uint64)
        words = tuple(np.uint64(word) for word in (*key, *counter))
        encrypt[1, 1](words, found)
        assert [f"{word:08x}" for word in found.tolist()] == expected.split()


def blocks():
    """Blocks of exchange walks fit into shared memory, or leave products out of it."""
    for r, n, limit in ((9, 45, 50_000), (40, 60, 30_000), (50, 500, 230_000), (90, 9000, 99_000)):
        for rule in range(3):
            found = entering.blocks_for(rule, r, n, limit)
            fits = 8 * found.chains * found.size(r, n) <= limit
            assert fits or (found.chains == 1 and not found.products_shared)
            assert found.chains * found.lanes == found.threads or found.lanes == warps.WARP


def exact():
    """Draws from a projection DPP, with proposals in one thread and in groups of threads."""
    law(TARGET, Exact(), (150, 2, 1, 0), None, accept_all)
    A = np.random.default_rng(0).normal(size=(5, 6))
    A[:, 1] = A[:, 0] + 0.1 * A[:, 1]
    law(ProjectionDPP(A), Exact(), (100, 2, 1, 0), in_groups, accept_all_in_groups)


def mixtures():
    """Draws from DPPs and k-DPPs."""
    Phi = np.random.default_rng(3).normal(size=(5, 3))
    Phi[1] = 1.1 * Phi[0]
    dpp, k_dpp = DPP.from_features(Phi), KDPP.from_features(Phi, 2)
    law(dpp, Exact(), (150, 2, 1, 0), None, accept_all)
    law(k_dpp, Exact(), (150, 2, 1, 0), in_groups, accept_all_in_groups)


def exchange_walks():
    """The three rules, and warps that compute products together."""
    law(TARGET, Exchange(), (15, 30, 5, 8), None, wrong_power)
    law(TARGET, Exchange(), (15, 30, 5, 8), in_warps, wrong_power)
    law(TARGET, Exchange("metropolis"), (15, 30, 8, 20), None, wrong_power)
    law(TARGET, Exchange("barker"), (15, 30, 16, 40), None, wrong_power)


def exact_lines():
    """The exact line on the zonotope."""
    law(TARGET, HitAndRun(), (12, 30, 3, 6), None, no_density)


def paper_lines():
    """The paper's rule on the zonotope."""
    law(TARGET, HitAndRun(preset="paper"), (12, 30, 4, 12), None, no_density)


def any_grid():
    """Draws do not depend on the grid, or on where products and proposals are held."""
    methods = (Exact(), Exchange(), HitAndRun(), HitAndRun(preset="paper"))
    shape = (6, 5, 2, 3)
    before = [draws_of(TARGET, method, shape) for method in methods]
    assert np.array_equal(before[0], draws_of(TARGET, Exact(), shape, in_groups))
    wide = draws_of(TARGET, Exchange(), shape, in_warps)
    assert np.array_equal(wide, draws_of(TARGET, Exchange(), shape, in_global_memory))
    devices.resident_blocks = lambda *arguments: 3
    for method, draws in zip(methods, before, strict=True):
        assert np.array_equal(draws, draws_of(TARGET, method, shape))


def runs():
    """`sample` on a device: thin, burn-in, track, progress, init and checkpoints."""
    sets = [[0, 2], [3]]
    for method in (Exact(), Exchange(), HitAndRun()):
        call = {"method": method, "chains": 3, "rng": 1, "track": sets, "device": "cuda"}
        call |= {"burn_in": 2, "thin": 3}
        reports = []
        whole = sample(TARGET, 8, **call, progress=reports.append)
        assert whole.subsets.shape == (3, 8, 2)
        assert whole.tracked.shape == (3, 8, 2)
        assert (reports[-1].drawn, reports[-1].total) == (24, 24)
        counted = "draws" if method.name == "exact" else "steps"
        assert whole.stats[counted].tolist() == [8 if method.name == "exact" else 26] * 3
        if method.name == "exact":
            held = [[(np.isin(S, row)).all() for S in sets] for row in whole.subsets.reshape(-1, 2)]
            assert np.array_equal(whole.tracked.reshape(-1, 2), held)
        assert ((whole.tracked >= 0) & (whole.tracked <= 1 + 1e-12)).all()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run")
            sample(TARGET, 3, **call, checkpoint=path)
            again = sample(TARGET, 8, **call, checkpoint=path)
        assert np.array_equal(again.subsets, whole.subsets)
        np.testing.assert_allclose(again.tracked, whole.tracked, atol=1e-12)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert sample(TARGET, seconds=0.2, **call).subsets.shape[0] == 3
    # From the one basis given to all chains, a step changes one item at most.
    first = sample(TARGET, 1, method="exchange", chains=3, init=[0, 2], rng=0, device="cuda")
    assert all(len({0, 2} & set(row)) >= 1 for row in first.subsets[:, 0].tolist())
    dpp = sample(DPP.from_features(np.eye(4)), 5, chains=2, rng=0, device="cuda")
    assert dpp.subsets.shape[:2] == (2, 5)


def refusals():
    """What has no version on the device is refused by name."""
    for words, target, options in (
        ("method='exact'", DPP.from_features(np.eye(3)), {"method": "exchange"}),
        ("reflect", TARGET, {"method": HitAndRun(reflect=True)}),
        ("pricing='pool'", TARGET, {"method": HitAndRun(pricing="pool")}),
        ("pricing='lazy'", TARGET, {"method": HitAndRun(pricing="lazy")}),
        ("algorithm", TARGET, {"method": Exact("chain-rule")}),
        ("workers", TARGET, {"workers": 2}),
        ("device must be", TARGET, {"device": "gpu"}),
        ("r = 2 items", TARGET, {"method": "exchange", "init": [1]}),
    ):
        with pytest.raises(ValueError, match=words):
            sample(target, 2, **{"device": "cuda", **options})
