"""Text of HTML pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser

# The tags that tell HTML from plain text; the elements whose text is not part of the page; and what
# replaces an opening tag: nothing within a line, by default a new paragraph.
_TAGS = re.compile(r"</(?:p|div|html|body|span|a|h[1-6]|li|td|i|b|em)\s*>|<br\s*/?>|<p>", re.I)
_SKIPPED = re.compile("head|script|style|template|noscript|svg|nav|footer|aside|form|button|select")
_INLINE = "a abbr b cite code em font i kbd mark q s small span strong sub sup time tt u var wbr"
_OPENING = {"br": "\n", "li": "\n\n- ", **dict.fromkeys(_INLINE.split(), "")}
_OPENING |= {f"h{level}": "\n\n# " for level in range(1, 7)}


def without_tags(text: str) -> str:
    r"""Return the text of an HTML page, headings marked; a text without HTML tags stays as it is.

    Examples
    --------
    >>> from zonodpp.apps.summaries.pages import without_tags
    >>> without_tags("<h1>Tides</h1><p>They rise &amp; <b>fall</b>.").split("\n\n")
    ['# Tides', 'They rise & fall.']
    """
    if not _TAGS.search(text):
        return text
    page = _Page()
    page.feed(text)
    page.close()
    return re.sub(r"\s*\n\s*\n\s*", "\n\n", "".join(page.parts)).strip()


class _Page(HTMLParser):
    """Collects the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.skipped = 0  # how many elements without text are open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # HTML allows the closing tag of the head to be left out.
        self.skipped = 0 if tag == "body" else self.skipped + bool(_SKIPPED.fullmatch(tag))
        self.parts.append(_OPENING.get(tag, "\n\n"))

    def handle_endtag(self, tag: str) -> None:
        self.skipped = max(0, self.skipped - bool(_SKIPPED.fullmatch(tag)))
        self.parts.append("\n\n" if _OPENING.get(tag, "\n\n") else "")

    def handle_data(self, data: str) -> None:
        if not self.skipped:
            self.parts.append(re.sub(r"\s+", " ", data))
