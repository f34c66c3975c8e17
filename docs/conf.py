"""How `make docs` builds the site."""

import re

from sphinx_gallery.sorting import ExplicitOrder

import zonodpp

project = "zonodpp"
author = "the zonodpp developers"
copyright = author
release = version = zonodpp.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]
default_role = "py:obj"  # names in docstrings link to their pages
suppress_warnings = ["config.cache"]  # the order of the gallery is an object, which is not stored

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

# Public by name, but not for users: by these, targets and methods answer to samplers, to `find_map`
# and to the storage of draws. Neither the reference nor the check of docstrings covers them.
NOT_FOR_USERS = {
    "chances",
    "columns",
    "coordinates",
    "has_quick_inclusion",
    "heaviest_tree",
    "known_maximum",
    "labels_of",
    "log_normaliser",
    "objective",
    "on_bases",
    "phi",
    "prepare",
    "propose",
    "restored",
    "size_to_maximise",
    "stored",
    "suits",
    "sure",
    "taking",
}


def setup(app):
    app.connect("autodoc-skip-member", skip_member)
    app.connect("html-page-context", drop_back_links)
    app.connect("missing-reference", find_from_the_root)


def skip_member(app, what, name, member, skip, options):
    """Leave out what users neither call nor write, and fields of tuples (see Attributes)."""
    of_tuple = type(member).__name__ == "_tuplegetter"
    of_protocol = getattr(member, "__qualname__", "").startswith(("Method.", "Sampler."))
    of_sklearn = name in ("get_metadata_routing", "set_output")  # which refer to its own pages
    return True if (name in NOT_FOR_USERS and not of_protocol) or of_tuple or of_sklearn else None


def drop_back_links(app, pagename, templatename, context, doctree):
    """Take links to the reference out of pages of source code.

    Sphinx gets them wrong for a file whose objects are imported from more than one module.
    """
    if pagename.startswith("_modules/"):
        context["body"] = re.sub(r'<a class="viewcode-back".*?</a>', "", context["body"])


def find_from_the_root(app, env, node, contnode):
    """Link names such as `sample` and `Target.items` in docstrings of modules that lack them."""
    if node.get("refdomain") != "py":
        return None
    page, kind, name = node["refdoc"], node["reftype"], node["reftarget"]
    for full in (f"zonodpp.{name}", f"zonodpp.targets.{name}"):
        python = env.get_domain("py")
        if found := python.resolve_xref(env, page, app.builder, kind, full, node, contnode):
            return found
    return None


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": ExplicitOrder(
        [
            f"plot_{name}.py"
            for name in (
                "points",
                "foods",
                "kernels",
                "zonotope",
                "k10",
                "trees",
                "volume",
                "reachable",
                "gini",
                "landmarks",
                "summary",
                "shortlist",
                "columns",
                "design",
                "minibatches",
                "gpu",
                "billion_rows",
            )
        ]
    ),
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "min_reported_time": 1e9,
}

html_theme = "pydata_sphinx_theme"
html_title = "zonodpp"
html_extra_path = ["live"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
