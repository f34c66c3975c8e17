"""The source tree keeps to its plan: layers, no cycles, no function too complex to read."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
MOST_PATHS = 20  # independent paths through a function, as ruff counts them


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("house", ROOT / "tools" / "house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def graph(house):
    trees = house.modules()
    return {name: house.imports(name, tree, set(trees)) for name, tree in trees.items()}


def test_imports_have_no_cycles(house, graph):
    assert house.cycles(graph) == []
    broken = {**graph, "zonodpp.arguments": {*graph["zonodpp.arguments"], "zonodpp.runs.sampling"}}
    assert house.cycles(broken)


def test_imports_point_to_lower_layers(house, graph):
    rooms = house.rooms_of(graph)
    assert set(rooms) == set(house.layers())
    assert house.against_layers(rooms) == []
    assert house.against_layers({**rooms, "targets": {"samplers"}}) == ["targets imports samplers"]


def test_no_function_is_too_complex():
    options = ["--select", "C901", "--config", f"lint.mccabe.max-complexity={MOST_PATHS}"]
    pytest.importorskip("ruff")
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", str(ROOT / "src"), *options],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_the_report_is_printed():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "house.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("lines of code")
