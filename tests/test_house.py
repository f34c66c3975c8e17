"""The source tree keeps to its plan: layers, no cycles, one meaning to a name, no maze."""

import ast
import importlib.util
import pathlib
import shutil
import subprocess
import sys

import pytest

import zonodpp

ROOT = pathlib.Path(__file__).parents[1]
MOST_PATHS = 20  # independent paths through a function


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


@pytest.fixture(scope="module")
def waiting(house, graph):
    trees = house.modules()
    return {name: graph[name] | house.waiting_imports(trees[name], set(trees)) for name in trees}


def test_imports_have_no_cycles(house, graph):
    assert house.cycles(graph) == []
    broken = {
        **graph,
        "zonodpp._arguments": {*graph["zonodpp._arguments"], "zonodpp.runs._sampling"},
    }
    assert house.cycles(broken)


def test_imports_that_wait_go_back_only_to_subclasses(house, waiting):
    """`ProjectionDPP.from_graph` and `from_features` make subclasses of it."""
    subclasses = ["zonodpp.targets._spanning_trees", "zonodpp.targets._streamed"]
    assert house.cycles(waiting) == [["zonodpp.targets._projection", *subclasses]]


def test_imports_point_to_lower_layers(house, waiting):
    rooms = house.rooms_of(waiting)
    assert set(rooms) == set(house.layers())
    assert house.against_layers(rooms) == []
    assert house.against_layers({**rooms, "targets": {"samplers"}}) == ["targets imports samplers"]


def test_names_of_the_package_itself_are_imports_of_their_modules(house, graph):
    text = "from zonodpp import apps, sample\ndef f():\n    import zonodpp.zonotope"
    found = house.imports("zonodpp.targets._twin", ast.parse(text), set(graph))
    assert found == {"zonodpp.apps", "zonodpp.runs._sampling", "zonodpp.zonotope"}
    assert "zonodpp.runs._sampling" in graph["zonodpp.cli._draws"]


def test_no_function_is_too_complex(house):
    assert [each for each in house.functions(house.modules()) if each[0] > MOST_PATHS] == []
    nested = ast.parse("def f(x):" + "".join(f"\n    if x == {k}: pass" for k in range(MOST_PATHS)))
    assert house.functions({"twin": nested})[0][0] > MOST_PATHS


def test_a_name_means_one_thing(house):
    trees = house.modules()
    assert not house.duplicate_names(trees)
    twin = {**trees, "zonodpp.twin": ast.parse("def sample(): pass")}
    assert house.duplicate_names(twin) == {"sample": ["zonodpp.runs._sampling", "zonodpp.twin"]}


def test_comments_docstrings_and_blank_lines_are_no_code(house, monkeypatch):
    source = (
        '"""Words,\n\ntwo lines."""\n\n# a comment\ndef f(x):\n    """One line."""\n    return (\n'
        "        x  # another\n    )\n"
    )
    monkeypatch.setattr(house, "source_of", lambda name: source)
    assert house.code_lines("twin", ast.parse(source)) == {6, 8, 9, 10}


def test_what_is_not_in_the_reference_has_an_underscore(house):
    trees = house.modules()
    found = {name.removeprefix("zonodpp.") for name in house.exposed(trees)}
    page = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    commands = {"cli.commands", "cli.main"}  # the shell calls them
    assert found <= {line.strip() for line in page.splitlines()} | commands
    twin = {"zonodpp.runs": ast.parse("def f(): pass\ndef _g(): pass")}
    assert house.exposed(twin) == {"zonodpp.runs.f"}


def test_what_is_newer_than_0_1_is_in_the_source(house):
    trees = house.modules()
    code = {name: house.code_lines(name, tree) for name, tree in trees.items()}
    later = house.later_features(trees, code)
    assert all(later.values())
    assert sum(later.values()) < sum(map(len, code.values()))
    whole, part = (house.lines_of_entry(e, trees, code) for e in ("_optional", "_optional.lazy"))
    assert part < whole
    names = set((house.SOURCE / "__init__.pyi").read_text(encoding="utf-8").splitlines())
    assert names <= set(house.source_of("zonodpp").splitlines())  # the lines of stubs count
    assert len(code["zonodpp"]) > len(zonodpp.__all__)
    table = house.lines_of_entry("runs._sampling._OTHER_NAMES", trees, code)
    assert {name for name, _ in table} == {"zonodpp.runs._sampling"}
    for entry in ("nothing", "_optional.nothing", "samples._draws.Draws.nothing"):
        with pytest.raises(ValueError, match=entry):
            house.lines_of_entry(entry, trees, code)


def test_no_line_is_listed_twice(house, monkeypatch, tmp_path):
    trees = house.modules()
    code = {name: house.code_lines(name, tree) for name, tree in trees.items()}
    monkeypatch.setattr(house, "SINCE", tmp_path / "list.txt")
    house.SINCE.write_text("# part, then whole\n_optional.lazy\n_optional\n", "utf-8")
    whole = house.later_features(trees, code)
    assert whole == {"part, then whole": len(code["zonodpp._optional"])}
    house.SINCE.write_text("# whole, then part\n_optional\n_optional.lazy\n", "utf-8")
    with pytest.raises(ValueError, match=r"other entries count all lines of '_optional\.lazy'"):
        house.later_features(trees, code)


def test_the_report_is_printed():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "house.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("lines of code")


def test_a_first_draw_imports_no_more_than_it_needs():
    """What it does not need would take as long to import as the draw takes otherwise."""
    script = """
import sys, numpy
from zonodpp import ProjectionDPP, sample
sample(ProjectionDPP(numpy.eye(2, 4) + 1), 1, method=sys.argv[1])
heavy = {"scipy.optimize", "scipy.special", "scipy.spatial", "tqdm", "networkx", "pandas"}
heavy |= {"arviz_stats", "arviz_base", "xarray", "matplotlib", "sklearn"}
sys.exit(", ".join(sorted(heavy & set(sys.modules))) or 0)
"""
    for method in ("exact", "zonotope", "exchange"):
        done = subprocess.run(
            [sys.executable, "-c", script, method], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_public_names_are_found_in_a_zip_archive(tmp_path):
    """Programs in one file and Spark import packages from archives, where a path opens nothing."""
    archive = shutil.make_archive(str(tmp_path / "package"), "zip", ROOT / "src", "zonodpp")
    script = """
import sys
sys.path.insert(0, sys.argv[1])
import zonodpp
assert zonodpp.__file__.startswith(sys.argv[1])
zonodpp.sample, zonodpp.plotting.tiling, zonodpp.apps.shortlist
"""
    subprocess.run([sys.executable, "-c", script, archive], check=True, capture_output=True)
