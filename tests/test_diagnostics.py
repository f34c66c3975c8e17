"""Diagnostics against R's CODA, against arviz-stats, and against what is known exactly."""

import json
import pathlib
import sys

import networkx as nx
import numpy as np
import pytest
from arviz_stats.base.array import array_stats
from cases import targets, volume_targets
from law import enumerate_law

from zonodpp import ProjectionDPP, Samples, VolumeSampling, sample
from zonodpp.diagnostics import (
    deciles,
    distinct_subsets,
    from_arviz,
    psrf,
    psrf_evolution,
    relative_error,
    total_variation,
)

REFERENCE = json.loads(pathlib.Path(__file__).with_name("coda_reference.json").read_text())
CASES = {f"{c['kind']} {c['chains']} x {c['draws']}": c for c in REFERENCE["cases"]}


def make_chains(kind, chains, draws, seed):
    """The chains of coda_reference.R, number by number."""
    x = np.zeros((chains, draws))
    state = seed

    def uniform():
        nonlocal state
        state = 16807 * state % 2147483647
        return state / 2147483647

    for k in range(chains):
        now = 5 * k / chains if kind == "autoregressive" else k % 2
        for t in range(draws):
            if kind == "autoregressive":
                now = 0.9 * now + uniform() - 0.5
            elif kind == "sticky":
                now = 1 - now if uniform() < 0.1 else now
            elif kind == "coin":
                now = uniform() < 0.5
            elif kind == "rare":
                now = uniform() < 0.005
            elif kind == "alternating":
                now = 1 - now
            elif kind == "constant":
                now = 0.1
            x[k, t] = now
    return x


@pytest.fixture(scope="module", params=CASES)
def case(request):
    found = CASES[request.param]
    x = make_chains(found["kind"], found["chains"], found["draws"], found["seed"])
    place = np.outer(np.arange(1, found["chains"] + 1), np.arange(1, found["draws"] + 1))
    assert (x * place).sum() == pytest.approx(found["checksum"], rel=1e-12)  # R had the same x
    return x, found


class TestPsrf:
    def test_is_codas(self, case):
        x, reference = case
        found = [*psrf(x), psrf(x, confidence=0.9).upper]
        expected = [reference[name] for name in ("point", "upper", "upper90")]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)

    def test_evolution_is_codas(self, case):
        x, reference = case
        for expected in reference["evolution"]:
            found = psrf_evolution(x, expected["bins"], autoburnin=expected["autoburnin"])
            assert found.iterations.tolist() == expected["iterations"]
            np.testing.assert_allclose(found.point, expected["point"], rtol=0, atol=1e-8)
            np.testing.assert_allclose(found.upper, expected["upper"], rtol=0, atol=1e-8)

    def test_reference_covers_what_matters(self):
        covered = {(c["kind"], c["chains"]) for c in REFERENCE["cases"] if c["evolution"]}
        for kind in ("autoregressive", "sticky"):
            assert {(kind, 2), (kind, 4), (kind, 100)} <= covered

    def test_defaults_are_gelman_plots(self, case):
        x, reference = case
        plots = [e for e in reference["evolution"] if e["bins"] == 50 and e["autoburnin"]]
        for expected in plots:
            np.testing.assert_allclose(psrf_evolution(x).point, expected["point"], atol=1e-8)

    def test_takes_zeros_and_ones_of_any_type(self):
        x = make_chains("sticky", 4, 100, 1)
        assert psrf(x.astype(bool)) == psrf(x.astype(np.int8)) == psrf(x.tolist()) == psrf(x)

    @pytest.mark.parametrize("exponent", [-1000, -330, 330, 1000])
    def test_units_change_nothing(self, exponent):
        x = np.random.default_rng(0).normal(size=(3, 200))
        assert psrf(np.ldexp(x, exponent)) == psrf(x)
        assert (
            psrf_evolution(np.ldexp(x, exponent)).upper.tolist() == psrf_evolution(x).upper.tolist()
        )

    def test_moving_and_stretching_change_nothing(self):
        x = make_chains("autoregressive", 4, 200, 1)
        np.testing.assert_allclose(psrf(1e5 - 3 * x), psrf(x), rtol=1e-9)

    @pytest.mark.parametrize(
        ("x", "message"),
        [
            (np.zeros((1, 100)), "at least 2 chain.* got an array of shape \\(1, 100\\)"),
            (np.zeros((2, 1)), "of 2 draws"),
            (np.zeros(100), "chains, draws"),
            (np.full((2, 10), np.nan), "NaN"),
        ],
    )
    def test_refuses(self, x, message):
        with pytest.raises(ValueError, match=message):
            psrf(x)

    def test_evolution_refuses(self):
        with pytest.raises(ValueError, match="51 draws"):
            psrf_evolution(np.zeros((2, 50)))
        with pytest.raises(ValueError, match="bins"):
            psrf_evolution(np.zeros((2, 60)), 0)

    @pytest.mark.parametrize("confidence", [0, 1, 95, -1])
    def test_refuses_confidence(self, confidence):
        with pytest.raises(ValueError, match="confidence"):
            psrf(make_chains("coin", 2, 10, 1), confidence=confidence)


class TestFromArviz:
    def test_is_arviz(self):
        x = make_chains("sticky", 4, 500, 1)
        assert from_arviz("ess", x) == array_stats.ess(x, method="bulk")
        assert from_arviz("rhat", x) == array_stats.rhat(x, method="rank")
        assert from_arviz("mcse", x) == array_stats.mcse(x, method="mean")

    def test_sees_a_chain_that_is_elsewhere(self):
        x = make_chains("coin", 4, 400, 1)
        assert from_arviz("rhat", x) < 1.02
        x[3] = 1
        assert from_arviz("rhat", x) > 1.1
        assert from_arviz("ess", x) < 100

    @pytest.mark.parametrize("name", ["ess", "rhat", "mcse"])
    @pytest.mark.parametrize("value", [0, 1, 0.1])
    def test_constant_is_nan(self, name, value):
        assert np.isnan(from_arviz(name, np.full((3, 40), value)))

    @pytest.mark.parametrize("draws", [4, 5, 64])
    def test_awkward_chains_do_not_warn(self, draws):
        apart = np.repeat([[0.0], [1.0]], draws, axis=1)
        halves = make_chains("alternating", 2, draws, 1)
        once = np.zeros((2, draws))
        once[0, 1] = 1
        for x in (apart, halves, once, halves + once):
            for name in ("ess", "rhat", "mcse"):
                assert not from_arviz(name, x) < 0
        assert from_arviz("rhat", apart) == np.inf

    def test_refuses(self):
        with pytest.raises(ValueError, match="at least 2 chain"):
            from_arviz("rhat", np.zeros((1, 100)))
        with pytest.raises(ValueError, match="4 draws"):
            from_arviz("ess", np.zeros((2, 3)))
        with pytest.raises(ValueError, match="'ess', 'rhat', 'mcse'"):
            from_arviz("hdi", np.zeros((2, 10)))

    def test_names_the_extra(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "arviz_stats.base.array", None)
        with pytest.raises(ImportError, match=r"zonodpp\[stats\]"):
            from_arviz("ess", np.zeros((2, 10)))


@pytest.fixture(scope="module")
def k4():
    return sample(
        ProjectionDPP.from_graph(nx.complete_graph(4)), 500, chains=20, rng=0, track=[[0, 1], [2]]
    )


class TestRelativeError:
    def test_by_hand(self, k4):
        error = relative_error(k4, [0, 1])
        assert error.shape == (20, 500)
        estimate = k4.contains([0, 1])[7, :123].mean()
        exact = k4.target.inclusion([0, 1])
        assert error[7, 122] == pytest.approx(abs(estimate - exact) / exact)

    def test_tracked_column(self, k4):
        np.testing.assert_array_equal(
            relative_error(k4, [0, 1], tracked=0), relative_error(k4, [0, 1])
        )

    def test_deciles(self, k4):
        error = relative_error(k4, [2])
        found = deciles(error)
        assert found.median.shape == (500,)
        ordered = np.sort(error[:, -1])
        assert found.median[-1] == pytest.approx((ordered[9] + ordered[10]) / 2)
        assert ordered[1] <= found.lower[-1] <= ordered[2]
        assert ordered[17] <= found.upper[-1] <= ordered[18]

    def test_exact_given(self, k4):
        thin = k4.thinned(1.5, rng=1)
        error = relative_error(thin, [0], exact=k4.target.inclusion([0]) / 2)
        assert np.median(error[:, -1]) < 0.1

    def test_refuses(self, k4):
        with pytest.raises(ValueError, match=r"thinned.*exact="):
            relative_error(k4.thinned(2, rng=1), [0])
        with pytest.raises(ValueError, match="no basis"):
            relative_error(k4, [0, 1, 2, 3])
        with pytest.raises(ValueError, match="exact must be a positive"):
            relative_error(k4, [0], exact=0)
        volume = Samples(k4.subsets, VolumeSampling(np.eye(3, 6) + 1), "test")
        with pytest.raises(ValueError, match=r"power 1; pass exact="):
            relative_error(volume, [0])


class TestDistinctSubsets:
    def test_by_hand(self, k4):
        found = distinct_subsets(k4)
        for k in (0, 19):
            seen = set()
            for t, subset in enumerate(k4.subsets[k].tolist()):
                seen.add(tuple(subset))
                assert found[k, t] == len(seen)
        assert found.max() <= len(k4.unique()[1]) == 16  # Cayley: 4^2 trees

    def test_thinned(self, k4):
        thin = k4.thinned(1.5, rng=0)
        assert distinct_subsets(thin)[3, -1] == len(
            {tuple(row) for row in thin.subsets[3].tolist()}
        )


def by_enumeration(samples):
    bases, probabilities = enumerate_law(samples.target)
    place = {tuple(basis): k for k, basis in enumerate(bases.tolist())}
    counts = np.zeros(len(bases))
    for row in samples.subsets.reshape(-1, samples.target.r).tolist():
        counts[place[tuple(row)]] += 1
    return np.abs(counts / counts.sum() - probabilities).sum() / 2


class TestTotalVariation:
    @pytest.mark.parametrize("name", targets())
    def test_power_two(self, name):
        samples = sample(targets()[name], 300, chains=2, rng=0)
        exact = 1e-6 if name == "condition 1e10" else 1e-9  # plain determinants lose ten digits
        assert total_variation(samples) == pytest.approx(by_enumeration(samples), abs=exact)

    @pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
    def test_other_powers(self, power):
        for target in volume_targets(power).values():
            # Any draws will do: those of the projection DPP of the same columns.
            proxy = sample(ProjectionDPP(target.A, weights=target.weights), 300, rng=0)
            samples = Samples(proxy.subsets, target, "test")
            assert total_variation(samples) == pytest.approx(by_enumeration(samples), abs=1e-9)

    def test_wrong_law_stays_away(self):
        A = np.random.default_rng(0).normal(size=(3, 7))
        right = sample(ProjectionDPP(A), 20_000, rng=0)
        assert total_variation(right) < 0.03
        wrong = Samples(right.subsets, VolumeSampling(A, power=1), "test")
        assert total_variation(wrong) > 0.1

    def test_refuses(self, k4):
        with pytest.raises(ValueError, match="thinned"):
            total_variation(k4.thinned(2, rng=0))
        with pytest.raises(ValueError, match="there are no draws"):
            total_variation(Samples(k4.subsets[:, :0], k4.target, "none"))
        A = np.random.default_rng(0).normal(size=(10, 100))
        with pytest.raises(ValueError, match=r"1.7e\+13 sets that could be drawn out of 100 items"):
            total_variation(sample(ProjectionDPP(A), 10, rng=0))
        A = np.random.default_rng(0).normal(size=(400, 1500))
        with pytest.raises(ValueError, match="inf sets that could be drawn out of 1500 items"):
            total_variation(sample(ProjectionDPP(A), 2, rng=0))
