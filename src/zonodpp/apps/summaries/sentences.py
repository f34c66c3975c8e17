"""Text into sentences: HTML, paragraphs, headings, lists and wrapped lines, then `sentencex`."""

from __future__ import annotations

import bisect
import re
import textwrap
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeAlias

from zonodpp._imports import optional
from zonodpp.apps.summaries.languages import UNSPACED, WORD, read_language
from zonodpp.apps.summaries.pages import without_tags

# The longest sentence, in characters; longer ones are cut. Edited prose stays far below it, and
# the splitter, whose time can grow with the square of its input, never sees more than twice this.
LONGEST = 3000
# The longest sentence, in words. Longer ones are cut, at the end of a clause where there is one.
MOST_WORDS = 120
_LONG = 40  # words; a longer piece is also split inside quotations and brackets
_TITLE = 10  # words of the longest line without a full stop that counts as a heading

_MONSIEUR = re.compile(r"(?:^|[\s(\u00ab])M\.$")
_INVISIBLE = re.compile("[\ufeff\u200b\u00ad]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character, which UTF-8 cannot encode
_BREAK = re.compile("\r\n?|[\u0085\u2028]")
_BLANK = re.compile(r"\n\s*\n|[\f\u2029]")
_HEADING = re.compile(r"(?:#{1,6}|={1,6}(?=.*=$))\s+")
_RULE = re.compile(r"([-=~_*#])\1{2,}$")
_BULLET = re.compile(r"[-*+\u2022\u2023\u25aa\u25cf\u25e6\u2043\u30fb]\s+")
_NUMBER = re.compile(r"(?:\(?(?:\d{1,3}|[A-Za-z])[.)]|[\u2013\u2014])\s+")
_ENDS = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u0964\u061f][\"'\u2019\u201d\u300d\u00bb)\]]*$")
_GOES_ON = re.compile(r"[,;\-\u2013\u2014\u3001\uff0c(\[]$")
_CLAUSE = re.compile(r"[,;:\u2013\u2014\u3001\uff0c\uff1b]|--")
_COLONS = (":", "\uff1a", ':"', ":\u201d")
_TITLE_NUMBER = re.compile(r"\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[IVX]{1,5})[.)]\s+(?=\w)")
_SMALL_WORD = 3  # letters of words that titles write in small letters
_APOSTROPHES = "'\u2018\u2019"
_MARKS = (  # quotation marks and brackets
    "'\"()[]\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a\u300c\u300d\u300e\u300f"
)
_FINAL = ".!?\u2026\u3002\uff01\uff1f"
# A word at the end of a line, and the rest of it. Without limits the time would be quadratic.
_BROKEN = re.compile("(\\w{1,50})-\u00ad(\\w{1,50})")
_UNSPACED = re.compile(f"[{UNSPACED}\u3000-\u303f\uff00-\uffef]")
# Cuts at white space where there is some, and drops nothing.
_LINES = textwrap.TextWrapper(
    LONGEST, drop_whitespace=False, break_on_hyphens=False, expand_tabs=False
)

Segment: TypeAlias = Callable[[str, str], list[str]]


def split_sentences(text: str, language: str | None = None, *, headings: bool = True) -> list[str]:
    r"""Split a text into sentences.

    Blank lines end a sentence. Headings and list entries stand by themselves. Lines that were
    wrapped are joined again, and words that were broken at the end of a line are mended. Of HTML
    only the text counts. A piece without any letter or digit is left out. A sentence of more than
    40 words is split inside quotations and brackets too, and one that is still longer than 120
    words or 3,000 characters is cut. The time is proportional to the length of the text, whatever
    the text is.

    Parameters
    ----------
    text : str
        Plain text, light markup or HTML.
    language : str, optional
        A code such as "de"; it decides which abbreviations end no sentence. English by default.
    headings : bool, default True
        Whether to keep headings: those that are marked, and short lines without a full stop. They
        are kept in any case if most words of the text are in them.

    Examples
    --------
    >>> from zonodpp.apps.summaries.sentences import split_sentences
    >>> split_sentences("# Tides\nDr. Low saw them\nrise. They fell!\n- at noon\n- at night")
    ['Tides', 'Dr. Low saw them rise.', 'They fell!', 'at noon', 'at night']
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, got {type(text).__name__}; decode bytes first")
    code = read_language(language).code
    segment = optional("sentencex", "text", "a summary").segment
    text = _SURROGATE.sub("\ufffd", _BREAK.sub("\n", text))
    text = without_tags(_CONTROL.sub(" ", _INVISIBLE.sub("", text)))
    known = set(re.findall(r"\w+(?:-\w+)*", text.lower()))
    units = [unit for block in _BLANK.split(text) for unit in _units(block)]
    sentences = []
    for unit in units if headings else _without_headings(units):
        mended = _BROKEN.sub(lambda broken: _mended(broken[1], broken[2], known), unit.text)
        pieces = [p.strip() for p in _pieces(mended, code, segment) if WORD.search(p)]
        if pieces:
            sentences += [unit.marker + pieces[0], *pieces[1:]]
    return sentences


def _mended(start: str, rest: str, known: set[str]) -> str:
    """Join a broken word, with its hyphen only if the text has the word with a hyphen elsewhere."""
    whole, compound = start + rest, f"{start}-{rest}"
    return compound if compound.lower() in known and whole.lower() not in known else whole


class _Unit(NamedTuple):
    """What stands by itself: an entry of a list, a heading, or the text of a paragraph."""

    kind: str
    marker: str
    lines: list[str]

    @property
    def text(self) -> str:
        """The lines, joined; a soft hyphen marks a word that was broken at the end of a line."""
        return join_sentences(self.lines, hyphen="\u00ad")

    @property
    def heading(self) -> bool:
        """Whether it is marked as a heading, or a short line that neither ends nor goes on."""
        first = self.lines[0]
        ends = _ENDS.search(first) or _GOES_ON.search(first)
        title = not ends and len(WORD.findall(first)) <= _TITLE
        return self.kind == "heading" or (self.kind == "text" and self.lines == [first] and title)


def _without_headings(units: list[_Unit]) -> list[_Unit]:
    """Leave out headings, unless most words of the text are in them."""
    sizes = [len(WORD.findall(unit.text)) for unit in units]
    titles = sum(size for unit, size in zip(units, sizes, strict=True) if unit.heading)
    return units if 2 * titles > sum(sizes) else [unit for unit in units if not unit.heading]


def _units(block: str) -> list[_Unit]:
    """Cut a block without blank lines into entries, headings and paragraphs."""
    lines = [line.strip() for line in block.split("\n") if line.strip()]
    longest = max(map(len, lines), default=0)
    units: list[_Unit] = []
    in_list = True  # numbers open an entry at the top of a block, in a list, and after a colon
    before = None  # the line above, if the next line may continue it
    for line in lines:
        bullet = _BULLET.match(line)
        numbers = in_list or units[-1].lines[-1].endswith(":")
        if _RULE.match(line):
            before = None
        elif heading := _HEADING.match(line):
            units.append(_Unit("heading", "", [line[heading.end() :].strip("#= ")]))
            before = None
        elif entry := bullet or (_NUMBER.match(line) if numbers else None):
            marker = "" if bullet else f"{entry[0].rstrip()} "
            units.append(_Unit("entry", marker, [line[entry.end() :]]))
            in_list, before = True, line
        elif before is not None and not _is_deliberate(before, line, longest):
            units[-1].lines.append(line)
            before = line
        else:
            units.append(_Unit("text", "", [line]))
            in_list, before = False, line
    return units


def _is_deliberate(line: str, following: str, longest: int) -> bool:
    """Tell a line break that means something from a wrapped line.

    Wrapping breaks a line where the next word has no room. A word that had room in the longest
    line of the block, and does not go on in lower case, begins something new.
    """
    if _ENDS.search(line) or _GOES_ON.search(line) or following[0].islower():
        return False  # after a full stop the splitter decides
    word = following[:2] if _UNSPACED.match(following) else following.split(maxsplit=1)[0]
    return len(line) + 1 + len(word) <= longest


def join_sentences(lines: list[str], hyphen: str = "") -> str:
    """Join sentences or lines by spaces, where the script has spaces.

    ``hyphen`` goes between a hyphen at the end of a line and a word that goes on in lower case.

    Examples
    --------
    >>> from zonodpp.apps.summaries.sentences import join_sentences
    >>> join_sentences(["Low tide.", "High tide."])
    'Low tide. High tide.'
    """
    parts = lines[:1]
    for line, following in pairwise(lines):
        hyphenated = line.endswith("-") and following[:1].islower()
        parts.append(hyphen if hyphenated else "" if _UNSPACED.match(line[-1:]) else " ")
        parts.append(following)
    return "".join(parts)


def is_stub(sentence: str) -> bool:
    """Tell whether a sentence says nothing without the text after it: a colon, or a numbered title.

    In a numbered title all words of more than three letters begin with a capital letter.

    Examples
    --------
    >>> from zonodpp.apps.summaries.sentences import is_stub
    >>> list(map(is_stub, ["1. Source Code.", "We need:", "2. Wash the whole sieve."]))
    [True, True, False]
    """
    if sentence.endswith(_COLONS):
        return True
    number = _TITLE_NUMBER.match(sentence)
    words = WORD.findall(sentence[number.end() :]) if number else []
    long = [word for word in words if len(word) > _SMALL_WORD] or words
    return bool(long) and len(words) <= _TITLE and all(word[0].isupper() for word in long)


def _pieces(unit: str, code: str, segment: Segment) -> Iterator[str]:
    """Split a unit into pieces of at most LONGEST characters, one window of text after another.

    The last piece of a window may be incomplete, so the next window begins with it.
    """
    rest = ""
    for start in range(0, len(unit), LONGEST):
        window = rest + unit[start : start + LONGEST]
        whole = _segments(window, code, segment, _APOSTROPHES)
        pieces = [part for piece in whole for part in _LINES.wrap(piece)]
        rest = pieces.pop()
        for piece in pieces:
            yield from _short_enough(piece, code, segment)
    yield from _short_enough(rest, code, segment)


def _segments(text: str, code: str, segment: Segment, marks: str) -> list[str]:
    """Return the sentences of a text, with some marks hidden from the splitter.

    The splitter never splits between two quotation marks, and it takes an apostrophe for one.
    """
    mark = f"[{re.escape(marks)}]"
    spaced = re.sub(f"(?<![{_FINAL}]){mark}", " ", text)
    hidden = re.sub(mark, "\u201d", spaced)  # a mark after a full stop closes a quotation
    pieces: list[str] = []
    for start, end in pairwise(accumulate(map(len, segment(code, hidden)), initial=0)):
        piece = text[start:end]
        last = pieces[-1].rstrip() if pieces else ""
        kept = last.rstrip(_MARKS)
        if kept != last and (not kept or kept[-1].isspace()):  # marks that open the next sentence
            pieces[-1], piece = kept, last[len(kept) :] + piece
            last = kept.rstrip()
        goes_on = (
            re.fullmatch(r"[^\W\d_]\.", last)  # an initial
            or (code == "fr" and _MONSIEUR.search(last[-3:]))
            or (piece[:1].islower() and last.endswith(tuple(_MARKS)))  # "Yes!" said the keeper.
        )
        if goes_on:
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces


def _short_enough(piece: str, code: str, segment: Segment) -> Iterator[str]:
    """Split a long piece on: inside quotations and brackets, then at clauses, then anywhere."""
    if len(WORD.findall(piece)) <= _LONG:
        yield piece
        return
    for sentence in _segments(piece, code, segment, _MARKS):
        ends = [word.end() for word in WORD.finditer(sentence)]
        start = first = 0  # the place of what is left, and the number of its first word
        while len(ends) - first > MOST_WORDS:
            stop = ends[first + MOST_WORDS - 1]
            clauses = _CLAUSE.finditer(sentence, ends[first + MOST_WORDS // 2], stop)
            stop = max((clause.end() for clause in clauses), default=stop)
            yield sentence[start:stop]
            start, first = stop, bisect.bisect_right(ends, stop)
        yield sentence[start:]
