"""Check the links of a built site: every local file and every anchor in it exists.

Usage: python tools/links.py docs/_build/html

Addresses of other sites are not fetched; they must be https and name a host.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, and the names that others can link to."""
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.add(value)
            elif value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)


def problem(link: str, path: Path, pages: dict[Path, Page]) -> str | None:
    """Return what is wrong with a link of a page, or None."""
    parts = urlsplit(link)
    if parts.scheme in ("data", "mailto"):
        return None
    if parts.scheme or parts.netloc:
        good = parts.scheme == "https" and "." in parts.netloc and " " not in link
        return None if good else "not an https address"
    found = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not found.is_file():
        return "no such file"
    if parts.fragment and found in pages and unquote(parts.fragment) not in pages[found].anchors:
        return "no such anchor"
    return None


def main() -> None:
    """Print the broken links, and fail if there are any."""
    root = Path(sys.argv[1]).resolve()
    paths = (path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts)
    pages = {path: Page(path) for path in paths}
    broken = [
        f"{path.relative_to(root)}: {link}: {reason}"
        for path, page in pages.items()
        for link in sorted(page.links)
        if (reason := problem(link, path, pages))
    ]
    print("\n".join(broken) or f"{len(pages)} pages, no broken link")
    sys.exit(bool(broken or not pages))


if __name__ == "__main__":
    main()
