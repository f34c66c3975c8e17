"""Powers from .05 to 1 and nearly dependent columns: the law is right, or the chain is refused."""

import re
from dataclasses import replace

import numpy as np
import pytest
from law import exact_law, p_value

from zonodpp import Exchange, HitAndRun, VolumeSampling, sample

THRESHOLD = 1e-4
CASES = [  # powers, and the gaps of nearly parallel columns
    (power, gap) for power in (0.05, 0.3, 0.7, 1.0) for gap in (1e-6, 1e-9, 1e-13, 1e-15)
]


def pair(gap, power):
    """Two columns that differ by ``gap`` in an entry of its own."""
    return VolumeSampling([[1, 1, 0], [0, gap, 1]], power=power)


def weighted_pair(gap, power):
    """The same, with weights that make all sets equally likely."""
    heavy = gap**-power
    return VolumeSampling([[1, 1, 0], [0, gap, 1]], power=power, weights=[heavy, heavy, 1])


def mixed(gap, power):
    """Nearly parallel columns, and three that are nearly in a plane."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(3, 6))
    A[:, 1] = A[:, 0] + gap * rng.normal(size=3)
    A[:, 3] = A[:, 2] + A[:, 4] + gap * rng.normal(size=3)
    return VolumeSampling(A, power=power)


FAMILIES = [pair, weighted_pair, mixed]
METHODS = {
    "auto": {},
    "heat-bath": {"method": "exchange"},
    "exchange metropolis": {"method": "exchange", "rule": "metropolis"},
    "barker": {"method": "exchange", "rule": "barker"},
    "zonotope": {"method": "zonotope"},
    "reflected": {"method": "zonotope", "reflect": True, "window": 1.0},
    "whole chords": {"method": "zonotope", "window": np.inf},
    "metropolis": {"method": "zonotope", "line": "metropolis"},
    "fixed": {"method": "zonotope", "tiling": "fixed"},
    "paper": {"method": "zonotope", "preset": "paper"},
}


def fits(subsets, target):
    bases, logs = exact_law(target)
    return p_value(subsets, bases, np.exp(logs)) > THRESHOLD


def drawn(family, gap, power, options, draws=400):
    """Return the target and draws, or None in place of draws that are refused before the first."""
    thin = 30 if options.get("rule") or options.get("preset") else 8
    target = None
    try:
        target = family(gap, power)
        return target, sample(target, draws, rng=0, thin=thin, burn_in=100, **options).subsets
    except ValueError as error:
        message = str(error)
        assert "with power=" in message  # why, and what to do
        assert "; use method=" in message or "; merge items" in message
        return target, None


@pytest.mark.parametrize("options", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_law_is_right_or_refused(family, options):
    for power, gap in CASES:
        target, subsets = drawn(family, gap, power, options)
        assert subsets is None or fits(subsets, target), (power, gap)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("options", [METHODS["heat-bath"], METHODS["zonotope"]])
def test_what_is_far_above_rounding_is_not_refused(family, options):
    for gap, power in ((1e-6, 0.05), (1e-9, 0.3), (1e-12, 0.5), (1e-13, 0.7)):
        assert drawn(family, gap, power, options, draws=20)[1] is not None


def test_ordinary_targets_are_not_refused():
    """Duplicates and exact dependence are no trouble from power .4 on."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 7))
    A[:, 1], A[:, 3] = A[:, 0], A[:, 2] + A[:, 4]
    for power in (0.4, 0.5, 1.0, 1.5):
        target = VolumeSampling(A, power=power)
        for options in METHODS.values():
            sample(target, 20, rng=0, **options)
    for power in (0.05, 0.2):
        target = VolumeSampling(rng.normal(size=(4, 30)), power=power)
        for options in METHODS.values():
            sample(target, 20, rng=0, **options)


class Careless:
    """The broken twin of a method: entries below its cut-off count as zero."""

    name = "careless"

    def __init__(self, method):
        self.method = method

    def prepare(self, target):
        sampler = self.method.prepare(target)
        if isinstance(self.method, Exchange):
            return replace(sampler, careful=False)
        rule = sampler.rule._replace(careful=False)
        return replace(sampler, rule=rule, tracking=rule)


@pytest.mark.parametrize(
    ("method", "family", "gap", "power"),
    [
        (Exchange(), pair, 1e-13, 0.05),
        (HitAndRun(), pair, 1e-11, 0.05),
        (HitAndRun(), weighted_pair, 1e-11, 0.3),
        (HitAndRun(), mixed, 1e-11, 0.05),
    ],
)
def test_a_chain_that_takes_small_entries_as_zero_is_rejected(method, family, gap, power):
    settings = {"rng": 0, "thin": 8, "burn_in": 100}
    target = family(gap, power)
    assert fits(sample(target, 600, method=method, **settings).subsets, target)
    assert not fits(sample(target, 600, method=Careless(method), **settings).subsets, target)


def test_a_chain_that_picks_tiles_by_volume_is_rejected(monkeypatch):
    """Where ``line="metropolis"`` is refused, it would not be right."""
    monkeypatch.setattr("zonodpp.zonotope.method._LONGEST_WAIT", np.inf)
    for family in FAMILIES:
        target, subsets = drawn(family, 1e-9, 0.05, METHODS["metropolis"])
        assert not fits(subsets, target)


def test_the_error_names_a_power_that_is_large_enough():
    with pytest.raises(ValueError, match=r"or pass power=.* or more") as caught:
        sample(mixed(1e-15, 0.05), 1, method="exchange")
    power = float(re.search(r"power=([^ ]*) or more", str(caught.value))[1])
    for options in (METHODS["heat-bath"], METHODS["zonotope"]):
        target, subsets = drawn(mixed, 1e-15, power, options)
        assert fits(subsets, target)


def test_a_start_in_a_thin_tile_is_left_and_met_again():
    target = pair(1e-9, 0.05)
    for method in ("zonotope", "exchange"):
        found = sample(target, 600, method=method, rng=0, thin=8, init=[0, 1])
        assert fits(found.subsets[:, 20:], target)
