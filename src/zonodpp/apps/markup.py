"""The text of an HTML page."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_TAGS = re.compile(r"</(?:p|div|html|body|span|a|h[1-6]|li|td|i|b|em)\s*>|<br\s*/?>|<p>", re.I)
_SKIPPED = re.compile("head|script|style|template|noscript|svg|nav|footer|aside|form|button|select")
_INLINE = re.compile(
    "a|abbr|b|cite|code|em|font|i|kbd|mark|q|s|small|span|strong|su[bp]|time|tt|u|var|wbr"
)


class _Page(HTMLParser):
    """Collects the text; tags that are not part of a line begin a new paragraph."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.skipped = 0  # how many elements without text are open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self.skipped = 0  # the end of the head need not be written
        self.skipped += _SKIPPED.fullmatch(tag) is not None
        if not _INLINE.fullmatch(tag):
            self.parts.append("\n" if tag == "br" else "\n\n")
        if re.fullmatch("h[1-6]", tag):
            self.parts.append("# ")
        if tag == "li":
            self.parts.append("- ")

    def handle_endtag(self, tag: str) -> None:
        if _SKIPPED.fullmatch(tag):
            self.skipped = max(0, self.skipped - 1)
        if not _INLINE.fullmatch(tag):
            self.parts.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self.skipped:
            self.parts.append(re.sub(r"\s+", " ", data))


def without_tags(text: str) -> str:
    r"""Return the text of an HTML page, headings marked; a text without HTML tags stays as it is.

    Examples
    --------
    >>> from zonodpp.apps.markup import without_tags
    >>> without_tags("<h1>Tides</h1><p>They rise &amp; <b>fall</b>.").split("\n\n")
    ['# Tides', 'They rise & fall.']
    """
    if not _TAGS.search(text):
        return text
    page = _Page()
    page.feed(text)
    page.close()
    return re.sub(r"\s*\n\s*\n\s*", "\n\n", "".join(page.parts)).strip()
