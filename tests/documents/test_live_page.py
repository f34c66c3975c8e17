"""The live page of the documentation: its geometry and its law, in a browser."""

import pathlib

import numpy as np
import pytest
from browser import look
from scipy.stats import chisquare

PAGE = (pathlib.Path(__file__).parents[2] / "docs/live/live.html").read_text("utf-8")

GEOMETRY = """() => {
  const random = generator(5), all = state.all;
  let once = 0;
  for (let k = 0; k < 1000; k++) {
    // A point of the zonotope lies in exactly one tile.
    const y = vectors.map(() => random());
    const x = [0, 1].map(k => vectors.reduce((sum, v, i) => sum + y[i] * v[k], 0));
    once += all.filter(t => coordinates(t, x).every(u => u >= 0 && u <= 1)).length === 1;
  }
  const before = [...exactLaw(vectors)];
  drag(0, [0.5, 2.0]);
  document.getElementById("step").click();
  return {
    once, tiles: all.length, before, after: [...exactLaw(vectors)], steps: state.steps,
    bars: document.querySelectorAll("#law rect").length,
    fetched: performance.getEntriesByType("resource").length,
    wider: document.documentElement.scrollWidth > innerWidth,
  };
}"""

LAW = """() => {
  const state = newState(vectors, 1), counts = {};
  for (let k = 0; k < 60000; k++) {
    step(state, "RULE", "TILING");
    const name = nameOf(state.all[state.index].items);
    if (k % 10 === 0) counts[name] = (counts[name] || 0) + 1;
  }
  return { counts, vectors };
}"""


@pytest.mark.parametrize("width", [1200, 400])
def test_tiles_cover_the_zonotope_once_and_vectors_can_be_dragged(tmp_path, width):
    found = look(PAGE, GEOMETRY, tmp_path, width)
    assert found["once"] == 1000
    assert found["tiles"] == 10
    assert found["before"] != found["after"]
    assert found["steps"] == 1
    assert found["bars"] == 20
    assert found["fetched"] == 0
    assert not found["wider"]


@pytest.mark.parametrize("tiling", ["fixed", "fresh"])
@pytest.mark.parametrize("rule", ["gibbs", "metropolis"])
def test_pairs_are_drawn_by_their_squared_areas(tmp_path, rule, tiling):
    script = LAW.replace("RULE", rule).replace("TILING", tiling)
    found = look(PAGE, script, tmp_path)
    A = np.array(found["vectors"]).T
    pairs = [tuple(int(i) - 1 for i in name.split(",")) for name in found["counts"]]
    areas = np.array([abs(np.linalg.det(A[:, pair])) for pair in pairs])
    counts = np.array(list(found["counts"].values()))
    assert len(pairs) == 10

    def p_value(power):
        weights = areas**power
        return chisquare(counts, counts.sum() * weights / weights.sum()).pvalue

    assert p_value(2) > 1e-4
    assert p_value(1) < 1e-12  # the law without the density is rejected
