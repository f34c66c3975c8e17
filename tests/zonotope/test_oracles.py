"""HiGHS and GLPK against each other and against the definitions of their programs."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import hard_matrices, matrices, targets
from oracles import HighsOracle

from paper.algorithm5 import GlpkOracle, hit_and_run
from zonodpp import ProjectionDPP, VolumeSampling

ORACLES = [HighsOracle, GlpkOracle]


def generators():
    """Name -> A: random, degenerate, badly scaled, graphs."""
    found = {name: A for name, (A, _) in (matrices() | hard_matrices()).items()}
    found |= {name: target.A for name, target in targets().items() if name.startswith("graph")}
    return found | {"gaussian 10 x 60": np.random.default_rng(0).normal(size=(10, 60))}


def heights(A):
    largest = abs(A).max(axis=1)
    return largest.toarray().ravel() if sp.issparse(A) else largest


@pytest.mark.parametrize("name", generators())
def test_oracles_agree_with_each_other_and_with_the_definition(name):
    A = generators()[name]
    r, n = A.shape
    rng = np.random.default_rng(1)
    c = rng.normal(size=n)
    oracles = [oracle(A, c) for oracle in (HighsOracle, GlpkOracle)]
    for _ in range(5):
        x, d = A @ rng.random(n), A @ rng.normal(size=n)
        vertices = [oracle.solve(x) for oracle in oracles]
        for y in vertices:
            assert np.abs((A @ y - x) / heights(A)).max() < 1e-8 * n
            assert ((y >= 0) & (y <= 1)).all()
            assert np.sum((y > 1e-9) & (y < 1 - 1e-9)) <= r
        assert c @ vertices[0] == pytest.approx(c @ vertices[1], abs=1e-7)
        low, high = oracles[0].chord(x, d)
        assert low <= 0 <= high
        assert oracles[1].chord(x, d) == pytest.approx((low, high), abs=1e-7 * (high - low))


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("name", ["gaussian", "duplicates", "graph wheel", "gaussian 10 x 60"])
def test_the_ends_of_a_chord_are_on_the_boundary(oracle, name):
    A = generators()[name]
    rng = np.random.default_rng(2)
    solver = oracle(A, rng.normal(size=A.shape[1]))
    x, d = A @ rng.random(A.shape[1]), A @ rng.normal(size=A.shape[1])
    for end in solver.chord(x, d):
        assert solver.solve(x + 0.999999 * end * d) is not None
        assert solver.solve(x + 1.000001 * end * d) is None


@pytest.mark.parametrize("oracle", ORACLES)
def test_points_outside_are_told(oracle):
    solver = oracle([[1.0, 2, 0, -1], [0, 1, 2, 1]], [0.3, -0.2, 0.5, 0.1])
    assert solver.solve(np.array([9.0, 9.0])) is None
    assert solver.solve(np.array([1.0, 2.0])) is not None  # the infeasible program leaves no trace
    with pytest.raises(ValueError, match="outside"):
        solver.chord([9.0, 9.0], [1.0, 0.0])  # a line that misses the zonotope
    with pytest.raises(ValueError, match=r"\[9.0, 2.0\] is outside"):
        solver.chord([9.0, 2.0], [1.0, 0.0])  # one that meets it elsewhere
    assert solver.chord([1.0, 2.0], [1.0, 0.0]) == pytest.approx((-2.0, 2.0), abs=1e-12)


@pytest.mark.parametrize("oracle", ORACLES)
def test_length_of_d_divides_the_chord(oracle):
    A = np.random.default_rng(3).normal(size=(3, 8))
    solver = oracle(A, np.arange(8.0))
    x, d = A @ np.full(8, 0.4), A[:, 2]
    ends = np.array(solver.chord(x, d))
    assert np.array(solver.chord(x, -1e6 * d)) == pytest.approx(-ends[::-1] / 1e6, rel=1e-9)


def test_algorithm_5_on_highs_keeps_the_law():
    A = np.array([[1.0, 0.0, 1.0, -0.5], [0.0, 1.0, 1.0, 1.0]])
    rng = np.random.default_rng(0)
    oracle = HighsOracle(A, rng.standard_normal(4))
    bases = hit_and_run(A, oracle, 700, rng)
    seen = np.bincount(4 * bases[:, 0] + bases[:, 1], minlength=16) / len(bases)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    off = {}
    for name, target in {"law": ProjectionDPP(A), "twin": VolumeSampling(A, power=4)}.items():
        logs = np.array([target.log_prob(pair) for pair in pairs])
        law = np.exp(logs - logs.max())
        law /= law.sum()
        off[name] = max(abs(law[k] - seen[4 * i + j]) for k, (i, j) in enumerate(pairs))
    assert off["law"] < 0.07 < off["twin"]
