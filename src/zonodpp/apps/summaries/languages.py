"""Words, and the languages whose abbreviations and stemmers are known."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from zonodpp._imports import optional
from zonodpp._types import Floats

# Scripts that set no spaces between words: kana and ideographs.
UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Accents, vowel signs and joiners belong to the word, but count as no letters.
_COMBINING = (
    "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
    "\u0e31-\u0e3a\u0e47-\u0e4e\u200c\u200d"
)
WORD = re.compile(f"[{UNSPACED}]|[^\\W_{UNSPACED}](?:[^\\W_{UNSPACED}]|[{_COMBINING}])*")

# Language code and Snowball's name of its stemmer.
_STEMMERS = """
ar arabic, ca catalan, cs czech, da danish, de german, el greek, en english, eo esperanto,
es spanish, et estonian, eu basque, fa persian, fi finnish, fr french, ga irish, hi hindi,
hu hungarian, hy armenian, id indonesian, it italian, lt lithuanian, nb norwegian,
ne nepali, nl dutch, nn norwegian, no norwegian, pl polish, pt portuguese, ro romanian,
ru russian, sr serbian, st sesotho, sv swedish, ta tamil, tr turkish, yi yiddish
"""
STEMMERS: dict[str, str] = dict(re.findall(r"(\w+) (\w+)", _STEMMERS))
# Languages without a stemmer whose sentences and words are told apart all the same.
_UNSTEMMED = """
am as az be bg bn br bs cy fo fy ga gl gu he hr is ja ka kk km kn ko ky la lb lo lv mk ml mn mr ms
mt my or pa ps sa sd si sk sl so sq sw te tg th tk tl tt ug uk ur uz vi xh zh zu
"""
_KNOWN = sorted({*STEMMERS, *_UNSTEMMED.split()})
# The accents and other signs of a run beyond the first thirty, which are all that stream-safe text
# (Unicode UAX 15) has. The time in which Python sorts such a run is quadratic in its length.
_SURPLUS = re.compile(r"([^\w\x00-\x7f]{30})[^\w\x00-\x7f]+")


class Language(NamedTuple):
    """The language code for the splitter, and Snowball's name of the stemmer, None without one."""

    code: str
    stemmer: str | None


def read_language(language: str | None) -> Language:
    """Return splitter and stemmer of a language; None is English with the paper's Porter stemmer.

    Examples
    --------
    >>> from zonodpp.apps.summaries.languages import read_language
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
    if code not in _KNOWN:
        expected = "language must be a known code, such as 'de', or a name, such as 'german'"
        raise ValueError(f"{expected}; got {language!r}. Known are {', '.join(_KNOWN)}")
    available = optional("snowballstemmer", "text", "a summary").algorithms()  # in this version
    name = STEMMERS.get(code)
    return Language(code, name if name in available else None)


def words(sentence: str) -> list[str]:
    """Return the words in lower case; each ideograph or kana is a word of its own.

    For ASCII text these are the tokens of the package rouge-score.

    Examples
    --------
    >>> from zonodpp.apps.summaries.languages import words
    >>> words("The keeper's 2 lamps"), words("\u706f\u53f0 A")
    (['the', 'keeper', 's', '2', 'lamps'], ['\u706f', '\u53f0', 'a'])
    """
    return WORD.findall(unicodedata.normalize("NFC", _SURPLUS.sub(r"\1", sentence)).lower())


def count_words(tokens: Sequence[Sequence[str]]) -> sp.csr_array:
    """Return how often each word is in each list of words, (n, vocabulary) sparse.

    Examples
    --------
    >>> from zonodpp.apps.summaries.languages import count_words
    >>> count_words([["a", "b"], ["a", "a"]]).toarray()
    array([[1, 1],
           [2, 0]])
    """
    vocabulary = sorted(set(chain(*tokens))) or [""]
    text = optional("sklearn.feature_extraction.text", "text", "a summary")
    counter = text.CountVectorizer(analyzer=list, vocabulary=vocabulary)
    return sp.csr_array(counter.transform(tokens))


def rarity(counts: sp.csr_array) -> Floats:
    """Return log((1 + n) / (1 + lists that hold the word)) for counts of words in n lists."""
    return np.asarray(np.log((1 + counts.shape[0]) / (1 + (counts > 0).sum(axis=0))))


def is_content(word: str, code: str) -> bool:
    """Tell whether a word says what a text is about, unlike "the" or "was".

    In English, the words in scikit-learn's list of stop words do not. In other languages, words of
    at most three letters do not.

    Examples
    --------
    >>> from zonodpp.apps.summaries.languages import is_content
    >>> is_content("lamp", "en"), is_content("which", "en"), is_content("und", "de")
    (True, False, False)
    """
    if re.match(f"[{UNSPACED}]", word):
        return True
    if code != "en":
        return len(word) > 3
    text = optional("sklearn.feature_extraction.text", "text", "a summary")
    return len(word) > 1 and word not in text.ENGLISH_STOP_WORDS
