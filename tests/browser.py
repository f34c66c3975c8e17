"""A page opened in headless Chromium, and what a script found there."""

import html
import json
import re
import shutil
import subprocess

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
)


def look(page, script, folder, width=1200):
    """Return what the expression `script` gives in the loaded page, which may log no error."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("no Chromium on the PATH")
    found = (
        "<script>addEventListener('load', () => { document.body.dataset.found ="
        f" JSON.stringify(({script})()); }});</script></body>"
    )
    copy = folder / "index.html"
    copy.write_text(page.replace("</body>", found), encoding="utf-8")
    command = [browser, *QUIET, f"--window-size={width},900", f"--user-data-dir={folder / 'new'}"]
    done = subprocess.run(
        [*command, "--dump-dom", copy.as_uri()], capture_output=True, text=True, timeout=120
    )
    answer = re.search(r'data-found="([^"]*)"', done.stdout)
    assert answer, done.stderr
    assert "CONSOLE" not in done.stderr
    return json.loads(html.unescape(answer[1]))
