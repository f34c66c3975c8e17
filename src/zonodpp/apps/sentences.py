"""A text as its sentences: paragraphs, headings, lists and wrapped lines, then `sentencex`."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from zonodpp._optional import optional

# The longest sentence, in characters; longer ones are cut. Edited prose stays far below it, and
# the splitter, whose time can grow with the square of its input, never sees more than twice this.
LONGEST = 3000

# Scripts that set no spaces between words: kana and ideographs.
UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Accents, vowel signs and joiners belong to the word, but count as no letters.
MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
    "\u0e31-\u0e3a\u0e47-\u0e4e\u200c\u200d"
)
WORD = re.compile(f"[{UNSPACED}]|[^\\W_{UNSPACED}](?:[^\\W_{UNSPACED}]|[{MARKS}])*")

# Language code and Snowball's name of its stemmer.
_STEMMERS = """
ar arabic, ca catalan, cs czech, da danish, de german, el greek, en english, eo esperanto,
es spanish, et estonian, eu basque, fa persian, fi finnish, fr french, ga irish, hi hindi,
hu hungarian, hy armenian, id indonesian, it italian, lt lithuanian, nb norwegian,
ne nepali, nl dutch, nn norwegian, no norwegian, pl polish, pt portuguese, ro romanian,
ru russian, sr serbian, st sesotho, sv swedish, ta tamil, tr turkish, yi yiddish
"""
STEMMERS: dict[str, str] = dict(re.findall(r"(\w+) (\w+)", _STEMMERS))

_MONSIEUR = re.compile(r"(?:^|[\s(\u00ab])M\.$")
_INVISIBLE = re.compile("[\ufeff\u200b\u00ad]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_BREAK = re.compile("\r\n?|[\u0085\u2028]")
_BLANK = re.compile(r"\n\s*\n|[\f\u2029]")
_HEADING = re.compile(r"(?:#{1,6}|={1,6}(?=.*=$))\s+")
_RULE = re.compile(r"([-=~_*#])\1{2,}$")
_BULLET = re.compile(r"[-*+\u2022\u2023\u25aa\u25cf\u25e6\u2043\u30fb]\s+")
_NUMBER = re.compile(r"(?:\(?(?:\d{1,3}|[A-Za-z])[.)]|[\u2013\u2014])\s+")
_ENDS = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u0964\u061f][\"'\u2019\u201d\u300d\u00bb)\]]*$")
_GOES_ON = re.compile(r"[,;\-\u2013\u2014\u3001\uff0c(\[]$")
_UNSPACED = re.compile(f"[{UNSPACED}\u3000-\u303f\uff00-\uffef]")
# Accents and other signs beyond the thirty that Unicode's stream-safe text (UAX 15) has in a row.
# Python sorts a run of accents in a time that grows with the square of its length.
_SURPLUS = re.compile(r"([^\w\x00-\x7f]{30})[^\w\x00-\x7f]+")
# Cuts at white space where there is some, and drops nothing.
_LINES = textwrap.TextWrapper(
    LONGEST, drop_whitespace=False, break_on_hyphens=False, expand_tabs=False
)


class Language(NamedTuple):
    """The language code for the splitter, and Snowball's name of the stemmer, None without one."""

    code: str
    stemmer: str | None


def read_language(language: str | None) -> Language:
    """Return splitter and stemmer of a language; None is English with the paper's Porter stemmer.

    Examples
    --------
    >>> from zonodpp.apps.sentences import read_language
    >>> read_language("german"), read_language("pt-BR").stemmer, read_language("ja").stemmer
    (Language(code='de', stemmer='german'), 'portuguese', None)
    """
    if language is None:
        return Language("en", "porter")
    if not isinstance(language, str):
        raise TypeError(f"language must be a code such as 'de', got {language!r}")
    code = re.split("[-_]", language.strip().lower())[0]
    codes = {name: code for code, name in STEMMERS.items()} | {"norwegian": "no"}
    code = codes.get(code, code)
    if not re.fullmatch("[a-z]{2,3}", code):
        raise ValueError(
            f"language must be a code such as 'de' or one of {', '.join(sorted(codes))}; "
            f"got {language!r}"
        )
    name = STEMMERS.get(code)
    if name not in optional("snowballstemmer", "text", "a summary").algorithms():
        name = None  # this version of Snowball does not know the language
    return Language(code, name)


def words(sentence: str) -> list[str]:
    """Return the words in lower case; each ideograph is a word of its own.

    For ASCII text these are the tokens of the package rouge-score.

    Examples
    --------
    >>> from zonodpp.apps.sentences import words
    >>> words("The keeper's 2 lamps"), words("\u706f\u53f0 A")
    (['the', 'keeper', 's', '2', 'lamps'], ['\u706f', '\u53f0', 'a'])
    """
    return WORD.findall(unicodedata.normalize("NFC", _SURPLUS.sub(r"\1", sentence)).lower())


def split_sentences(text: str, language: str | None = None) -> list[str]:
    r"""Split a text into sentences.

    Blank lines end a sentence. Headings and list entries stand by themselves. Lines that were
    wrapped are joined again. What holds no letter and no digit is left out. A sentence of more
    than 3,000 characters is cut, at white space where there is some. The time is proportional to
    the length of the text, whatever the text is.

    Parameters
    ----------
    text : str
        Plain text or light markup.
    language : str, optional
        A code such as "de"; it decides which abbreviations end no sentence. English by default.

    Examples
    --------
    >>> from zonodpp.apps.sentences import split_sentences
    >>> split_sentences("# Tides\nDr. Low saw them\nrise. They fell!\n- at noon\n- at night")
    ['Tides', 'Dr. Low saw them rise.', 'They fell!', 'at noon', 'at night']
    """
    if not isinstance(text, str):
        raise TypeError(
            f"text must be a str, got {type(text).__name__}; decode bytes and read files first"
        )
    code = read_language(language).code
    segment = optional("sentencex", "text", "a summary").segment
    text = _CONTROL.sub(" ", _INVISIBLE.sub("", _BREAK.sub("\n", text)))
    sentences = []
    for block in _BLANK.split(text):
        for marker, unit in _units(block):
            pieces = [p.strip() for p in _pieces(unit, code, segment) if WORD.search(p)]
            if pieces:
                sentences += [marker + pieces[0], *pieces[1:]]
    return sentences


def _units(block: str) -> list[tuple[str, str]]:
    """Cut a block without blank lines into (marker, text): entries, headings, paragraphs."""
    lines = [line.strip() for line in block.split("\n") if line.strip()]
    longest = max(map(len, lines), default=0)
    units: list[tuple[str, list[str]]] = []  # marker and lines of each
    in_list = True  # numbers open an entry at the top of a block, in a list, and after a colon
    before = None  # the line above, if this one may go on with it
    for line in lines:
        if _RULE.match(line):
            before = None
            continue
        if heading := _HEADING.match(line):
            units.append(("", [line[heading.end() :].strip("#= ")]))
            before = None
        elif bullet := _BULLET.match(line):
            units.append(("", [line[bullet.end() :]]))
            in_list, before = True, line
        elif (in_list or units[-1][1][-1].endswith(":")) and (number := _NUMBER.match(line)):
            units.append((f"{number[0].rstrip()} ", [line[number.end() :]]))
            in_list, before = True, line
        elif before is not None and not _is_deliberate(before, line, longest):
            units[-1][1].append(line)
            before = line
        else:
            units.append(("", [line]))
            in_list, before = False, line
    return [(marker, join_sentences(parts)) for marker, parts in units]


def _is_deliberate(line: str, following: str, longest: int) -> bool:
    """Tell a line break that means something from a wrapped line.

    Wrapping breaks a line where the next word has no room. A word that had room in the longest
    line of the block, and does not go on in lower case, begins something new.
    """
    if _ENDS.search(line) or _GOES_ON.search(line) or following[0].islower():
        return False  # after a full stop the splitter decides
    word = following[:2] if _UNSPACED.match(following) else following.split(maxsplit=1)[0]
    return len(line) + 1 + len(word) <= longest


def join_sentences(lines: list[str]) -> str:
    """Join sentences or lines by spaces, where the script has spaces, and mend hyphenated words.

    Examples
    --------
    >>> from zonodpp.apps.sentences import join_sentences
    >>> join_sentences(["Low tide.", "High tide."])
    'Low tide. High tide.'
    """
    parts = lines[:1]
    for line, following in pairwise(lines):
        hyphenated = line.endswith("-") and following[:1].islower()
        parts.append("" if _UNSPACED.match(line[-1:]) or hyphenated else " ")
        parts.append(following)
    return "".join(parts)


def _pieces(unit: str, code: str, segment: Callable[[str, str], list[str]]) -> Iterator[str]:
    """Split a unit into pieces of at most LONGEST characters, one window of text after another.

    The last piece of a window may go on: it begins the next window.
    """
    rest = ""
    for start in range(0, len(unit), LONGEST):
        window = rest + unit[start : start + LONGEST]
        whole = _mended(segment(code, window), code)
        pieces = [part for piece in whole for part in _LINES.wrap(piece)]
        rest = pieces.pop()
        yield from pieces
    yield rest


def _mended(pieces: list[str], code: str) -> list[str]:
    """Put together what was cut after an initial, or after the French M. (Monsieur)."""
    mended: list[str] = []
    for piece in pieces:
        last = mended[-1].strip() if mended else ""
        if re.fullmatch(r"[^\W\d_]\.", last) or (code == "fr" and _MONSIEUR.search(last[-3:])):
            mended[-1] += piece
        else:
            mended.append(piece)
    return mended
