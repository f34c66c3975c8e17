"""The page of a report: complete in one file, and sound in a browser."""

import html.parser
import re
from dataclasses import replace

import pytest
from browser import look

from paper import Verdict, reproduce
from paper.page import POLICY, render

LOOK = """() => ({
  images: document.images.length,
  broken: [...document.images].filter(i => !(i.complete && i.naturalWidth > 0)).length,
  fetched: performance.getEntriesByType("resource").map(entry => entry.name)
    .filter(name => !name.startsWith("data:")).length,
  wider: document.documentElement.scrollWidth > innerWidth,
})"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    made = reproduce("geometry", quick=True, out=tmp_path_factory.mktemp("report"))
    section = made.sections[0]
    odd = (
        Verdict("a <b> & 'c'", "x < y", "one; two", None),
        Verdict("the claim", "says so", "says not", False),
    )
    texts = {"Drawn": ["A sentence.", "Another <one>."], "Uniform": ["A third."]}
    more = replace(section, name="more", verdicts=section.verdicts + odd, texts=texts)
    return replace(made, sections=(section, more))


class Reader(html.parser.HTMLParser):
    """Collects tags and checks that they are closed in order."""

    VOID = frozenset({"meta", "link", "img", "br"})

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.references = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.references += [value for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_refers_to_nothing_outside(report):
    page = Reader(render(report))
    assert page.open == []
    assert page.seen.count("img") == 6
    assert "script" not in page.seen
    assert all(reference.startswith(("data:", "#")) for reference in page.references)
    assert not re.search(r"url\(|@import", render(report))


def test_text_is_escaped(report):
    page = render(report)
    assert "A &lt;b&gt; &amp; &#x27;c&#x27;" in page
    assert "Another &lt;one&gt;." in page


def test_verdicts_settings_and_versions_are_on_the_page(report):
    page = render(report)
    assert page.count("✓</b> reproduced") == 8
    assert page.count("✗</b> not reproduced") == 1
    assert page.count("?</b> not judged") == 1
    for fact in ("The paper says", "2017", "numba", "processors", "Peak memory", "Settings"):
        assert fact in page


def test_a_quick_run_says_so(report):
    assert "This is a quick run" in render(report)
    assert "This is a quick run" not in render(replace(report, quick=False))


@pytest.mark.parametrize("width", [1200, 400])
def test_a_browser_shows_every_image_and_reports_no_error(report, tmp_path, width):
    # The page runs no script; its copy for this test may run the one that looks at it.
    page = render(report).replace(POLICY, f"{POLICY}; script-src 'unsafe-inline'")
    assert look(page, LOOK, tmp_path, width) == {
        "images": 6,
        "broken": 0,
        "fetched": 0,
        "wider": False,
    }
