"""Code in the README and in docs/ does what it says: it runs as pasted."""

import importlib.util
import pathlib
import re
import runpy
import subprocess
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
TOO_LONG = {"long_runs.md", "reproduce.md"}  # minutes; their code is only compiled


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.M)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_of_a_page_runs_as_pasted(page, tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("page")  # where pickle finds the classes of the page
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for number, block in enumerate(blocks(page, "python")):
        code = compile(block, f"{page.name}, block {number}", "exec")
        if "import torch" in block and not importlib.util.find_spec("torch"):
            continue
        if page.name not in TOO_LONG:
            exec(code, vars(module))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_of_the_gallery_runs(script, monkeypatch):
    for package in ("sklearn", "matplotlib", "networkx"):
        pytest.importorskip(package)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    runpy.run_path(str(script))
    import matplotlib.pyplot as plt

    assert plt.get_fignums()
    plt.close("all")


@pytest.mark.parametrize("name", ["README.md", "docs/command_line.md"])
def test_first_commands_of_a_page_run_as_pasted(name, tmp_path):
    pytest.importorskip("sklearn")
    block = next(text for text in blocks(ROOT / name, "sh") if text.startswith("zonodpp"))
    script = block.replace("zonodpp ", f"{sys.executable} -m zonodpp ")
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail"],
        input=script,
        cwd=tmp_path,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "draws of 5 out of 32 items" in done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if not link.startswith(("http://", "https://", "gallery/")):  # the gallery is built
            assert (page.parent / link).exists(), link
