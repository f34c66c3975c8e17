"""What a first draw imports, and imports from an archive."""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]


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
