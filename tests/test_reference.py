"""Every public name is in the reference, with a docstring that numpydoc finds complete."""

import ast
import inspect
import pathlib
import re
from functools import cached_property
from importlib import import_module

import pytest

import zonodpp

validate = pytest.importorskip("numpydoc.validate")
for package in ("sklearn", "matplotlib"):
    pytest.importorskip(package)

DOCS = pathlib.Path(__file__).parents[1] / "docs"
SUMMARY = {"GL08", "SS01", "SS02", "SS03", "SS04", "SS05", "SS06"}
METHOD = SUMMARY | {"PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03", "EX01"}
TOP_LEVEL = METHOD | {"SA01"}
PROTOCOL = METHOD - {"EX01"}  # nobody calls it; docs/writing_a_method.md is the example

# What users do not import, but receive from calls or write themselves.
RECEIVED = [
    "datasets.Table",
    "best.Maximum",
    "runs.PreparedSampler",
    "targets.SpanningTrees",
    "targets.StreamedDPP",
    "zonotope.Containment",
    "zonotope.Facets",
    "zonotope.ReducedZonotope",
    "zonotope.Tile",
    "zonotope.VolumeEstimate",
    "zonotope.VolumeRatio",
    "zonotope.Walk",
    "chains.Block",
    "chains.Method",
    "chains.Sampler",
    "chains.TrackedSets",
    "targets.Target",
]


def not_for_users():
    """Return the names that docs/conf.py leaves out of the reference; it says why."""
    for node in ast.parse((DOCS / "conf.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "NOT_FOR_USERS":
            return ast.literal_eval(node.value)
    raise LookupError("docs/conf.py has no NOT_FOR_USERS")


def public_objects():
    """Return the public functions and classes, by the names of the reference."""
    modules = ("apps", "features", "diagnostics", "plotting")
    names = [name for name in zonodpp.__all__ if name not in ("__version__", *modules)]
    for module in modules:
        names += [f"{module}.{name}" for name in getattr(zonodpp, module).__all__]
    names += [f"datasets.{name}" for name in ("foods", "article", "mnist_ones")]
    names += [f"apps.rouge.{name}" for name in ("rouge_1f", "mean_rouge", "minimum_bayes_risk")]
    names += RECEIVED
    return {name: _find(f"zonodpp.{name}") for name in names}


def _find(path):
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def codes_by_path():
    """Return the codes to check for each public object and each public member of a class."""
    codes, left_out = {}, not_for_users()
    for found in public_objects().values():
        codes[f"{found.__module__}.{found.__qualname__}"] = TOP_LEVEL
        owners = inspect.getmro(found) if inspect.isclass(found) else ()
        for owner in (owner for owner in owners if owner.__module__.startswith("zonodpp")):
            protocol = getattr(owner, "_is_protocol", False)
            for name in vars(owner).keys() - (set() if protocol else left_out):
                member = vars(owner)[name]
                path = f"{owner.__module__}.{owner.__qualname__}.{name}"
                if name.startswith("_"):
                    continue
                if inspect.isfunction(getattr(member, "__func__", member)):
                    codes[path] = PROTOCOL if protocol else METHOD
                elif isinstance(member, property | cached_property):
                    codes[path] = SUMMARY
    return dict(sorted(codes.items()))  # the same order for all workers of pytest-xdist


CODES = codes_by_path()


@pytest.mark.parametrize("path", CODES)
def test_a_docstring_is_complete(path):
    problems = {code: text for code, text in complaints(path) if code in CODES[path]}
    assert not problems


def complaints(path):
    """Return what numpydoc complains about; attributes of a class count as its parameters."""
    checked = validate.validate(path)
    found = validate.Validator._load_obj(path)
    if not inspect.isclass(found):
        return checked["errors"]
    doc = validate.get_doc_object(found)
    documented = {
        name
        for section in ("Parameters", "Attributes")
        for parameter in doc[section]
        for name in parameter.name.split(", ")
    }
    signature = () if getattr(found, "_is_protocol", False) else inspect.signature(found).parameters
    taken = [name for name in signature if not name.startswith("_")]
    missing = [name for name in taken if name not in documented]
    errors = [(code, text) for code, text in checked["errors"] if code != "PR01"]
    return [*errors, *(("PR01", name) for name in missing)]


def undocumented(first, second=1):
    """Return a number."""
    return first + second


def test_an_incomplete_docstring_is_found():
    found = {code for code, _ in complaints(f"{__name__}.undocumented")}
    assert {"PR01", "RT01", "EX01", "SA01"} <= found


def test_the_reference_lists_every_public_name_and_no_other():
    text = (DOCS / "reference" / "index.md").read_text("utf-8")
    listed = re.findall(r"^   ([\w.]+)$", text, re.M)
    assert sorted(listed) == sorted(public_objects())
