"""Words of tutors' messages: tokens, their language, concepts in five languages, and names of algorithms.

Matching is word by word (Chinese: character by character) in a prefix tree, so it is linear in the length of a text.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import Literal, NamedTuple

Language = Literal["en", "de", "fr", "es", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "de", "fr", "es", "zh")

_FOLDER = Path(__file__).parent
_HAN = "\u3400-\u9fff"
_TOKEN = re.compile(
    rf"[{_HAN}]|\d+(?:[.,]\d{{3}})*(?:st|nd|rd|th)?(?![^\W{_HAN}])|[^\W{_HAN}]+(?:['’][^\W\d_{_HAN}]+)*"
    r"|[<>=!]=|\+\+|--|//|[+\-*/%]=|\S"
)
_ELISION = re.compile(r"(?:l|d|j|n|m|t|s|c|qu|jusqu|lorsqu|puisqu)'(?=[a-zà-ÿœ]{2})")
_OWN_LETTERS: dict[Language, str] = {"de": "äöüß", "fr": "çœèêàùî", "es": "ñ¿¡áíóú"}
_TECHNICAL = ("limit_exceeded", "crash", "comparison", "type", "complexity")
"""Concepts whose English wordings occur in messages of every language."""


class Token(NamedTuple):
    """A word, number, Chinese character or symbol in lower case, at characters `start` to `end` of the text."""

    text: str
    start: int
    end: int


class Match(NamedTuple):
    """Tokens `start` to `end` (excluded) that spell the labels."""

    start: int
    end: int
    labels: tuple[str, ...]


@lru_cache(maxsize=512)
def tokens(text: str) -> tuple[Token, ...]:
    """Return the tokens of the text. French elisions are separated (“l'énoncé” has two tokens)."""
    lead = len(text) - len(text.lstrip())
    if lead:  # detectors read a sentence with the space before it, and features without
        return tuple(Token(word, start + lead, end + lead) for word, start, end in tokens(text[lead:]))
    found = []
    for match in _TOKEN.finditer(text):
        word, start = match[0].lower(), match.start()
        if not word.isascii():
            word = unicodedata.normalize("NFKC", word).replace("’", "'")
        elision = _ELISION.match(word) if "'" in word else None
        if elision and len(word) == match.end() - start:
            found.append(Token(elision[0], start, start + elision.end()))
            word, start = word[elision.end() :], start + elision.end()
        found.append(Token(word, start, match.end()))
    return tuple(found)


def language_of(words: Sequence[Token]) -> Language:
    """Return the language with the most function words and letters of its own; English if there are none."""
    texts = Counter(token.text for token in words)
    special = {text: count for text, count in texts.items() if not text.isascii()}
    if sum(count for text, count in special.items() if _is_han(text)) * 4 > len(words):
        return "zh"
    votes = {
        language: sum(texts[word] for word in own & texts.keys())
        + 2 * sum(count for text, count in special.items() for letter in _own_letters(text, language))
        for language, own in _function_words().items()
    }
    return max(votes, key=lambda language: votes[language])


def _own_letters(text: str, language: Language) -> list[str]:
    """Return the letters of the word that only this language uses."""
    return [letter for letter in _OWN_LETTERS.get(language, "") if letter in text]


@cache
def _function_words() -> dict[Language, frozenset[str]]:
    data = tomllib.loads((_FOLDER / "function_words.toml").read_text(encoding="utf-8"))
    return {language: frozenset(data[language].split()) for language in LANGUAGES if language in data}


def _is_han(text: str) -> bool:
    return "\u3400" <= text[0] <= "\u9fff"


@dataclass(slots=True)
class _Node:
    """A node of the prefix tree: the nodes of the next words and beginnings, and the labels that end here."""

    words: dict[str, _Node] = field(default_factory=dict)
    beginnings: dict[str, _Node] = field(default_factory=dict)
    labels: tuple[str, ...] = ()

    def following(self, word: str) -> Iterator[_Node]:
        """Yield the nodes to which the word leads."""
        if node := self.words.get(word):
            yield node
        if word[0].isdigit() and (node := self.words.get("#")):
            yield node
        if self.beginnings:
            for length in range(2, min(len(word), 24) + 1):
                if node := self.beginnings.get(word[:length]):
                    yield node


class Lexicon:
    """Wordings with their labels. "*" ends the beginning of a word, "#" stands for a number."""

    def __init__(self, wordings: Iterable[tuple[str, str]]) -> None:
        self._root = _Node()
        self.words: set[str] = set()
        # Few words of a text begin a wording.
        self._after_root = lru_cache(maxsize=20_000)(lambda word: tuple(self._root.following(word)))
        self._matches = lru_cache(maxsize=1_000)(self._find)  # several detectors read each sentence
        for wording, label in wordings:
            self._add(wording, label)

    def _add(self, wording: str, label: str) -> None:
        node = self._root
        spelled = [token.text for token in tokens(wording.replace("*", "\ue000").replace("#", "0"))]
        words: list[str] = []
        for word in spelled:
            if word == "\ue000" and words:
                words[-1] += "*"
            else:
                words.append(word)
        for word in words:
            if word.endswith("*") and len(word) > 1:
                node = node.beginnings.setdefault(word[:-1], _Node())
            else:
                self.words.add(word)
                node = node.words.setdefault("#" if word.isdigit() and "#" in wording else word, _Node())
        if label not in node.labels:
            node.labels = (*node.labels, label)

    def longest(self, words: Sequence[Token]) -> list[Match]:
        """Return the longest wording at each token. Matches do not overlap."""
        return longest_of(self.all(words))

    def all(self, words: Sequence[Token]) -> Sequence[Match]:
        """Return every wording at every token."""
        return self._matches(tuple(word.text for word in words))

    def _find(self, words: Sequence[str]) -> Sequence[Match]:
        return [
            match
            for position, word in enumerate(words)
            if (nodes := self._after_root(word))
            for match in self._at(words, position, nodes)
        ]

    @staticmethod
    def _at(words: Sequence[str], position: int, nodes: Sequence[_Node]) -> Iterator[Match]:
        """Yield every wording at the token, whose word leads from the root to these nodes."""
        found = [(node, position + 1) for node in nodes]
        while found:
            node, at = found.pop()
            if node.labels:
                yield Match(position, at, node.labels)
            if at < len(words):
                found += [(following, at + 1) for following in node.following(words[at])]


def longest_of(matches: Sequence[Match]) -> list[Match]:
    """Return the longest of the matches at each token, without overlaps. The matches are in order of their starts."""
    longest: list[Match] = []
    taken = 0
    for _, group in groupby(matches, key=lambda match: match.start):
        best = max(group, key=lambda match: match.end)
        if best.start >= taken:
            longest.append(best)
            taken = best.end
    return longest


@cache
def concepts(language: Language) -> Lexicon:
    """Return the wordings of all concepts in the language, with the English ones of technical concepts."""
    data = tomllib.loads((_FOLDER / "concepts.toml").read_text(encoding="utf-8"))
    return Lexicon(
        (wording.strip(), concept)
        for concept, wordings in data.items()
        for source in {language, "en" if concept in _TECHNICAL else language}
        for wording in wordings.get(source, "").split("|")
        if wording.strip()
    )


class Algorithm(NamedTuple):
    """An entry of algorithms.txt. `kind` is algorithm, structure or idea."""

    name: str
    kind: str


@cache
def algorithm_lexicon() -> Lexicon:
    """Return the spellings of algorithms, structures and ideas. A label is a name."""
    return Lexicon((spelling, entry.name) for entry, spellings in _entries() for spelling in spellings)


@cache
def algorithm_kinds() -> dict[str, str]:
    """Return the kind of each name."""
    return {entry.name: entry.kind for entry, _ in _entries()}


@cache
def _entries() -> list[tuple[Algorithm, list[str]]]:
    entries = []
    kind = ""
    for line in (_FOLDER / "algorithms.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif line and not line.startswith("#"):
            spellings = [spelling.strip() for spelling in line.split("|") if spelling.strip()]
            entries.append((Algorithm(spellings[0], kind), spellings))
    return entries


_LETTERS_OF_DIGITS = str.maketrans(
    {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i"}
)
_SPACED = re.compile(
    r"(?<![^\W_])(?:[^\W_](?P<gap>[ ._*\-]{1,2})){3}(?:[^\W_][ ._*\-]{1,4}){0,60}[^\W_](?![^\W_])"
)
_MIXED = re.compile(r"(?<![^\W_])(?=[a-zA-Z]{0,20}[013457@$!][a-zA-Z])[a-zA-Z013457@$!]{4,30}")
_LETTERS = re.compile(r"[^\W\d_]+")


@cache
def _joined_spellings() -> dict[str, str]:
    """Return the names by spellings of at least six Latin letters without gaps."""
    return {
        "".join(_LETTERS.findall(spelling.lower())): entry.name
        for entry, spellings in _entries()
        if entry.kind != "idea"
        for spelling in spellings
        if spelling.isascii()
        and not any(letter.isdigit() for letter in spelling)
        and len("".join(_LETTERS.findall(spelling))) >= 6
    }


@cache
def _joined_in_both_directions() -> dict[str, str]:
    """Return the names by joined spellings, also by those written backwards."""
    names = _joined_spellings()
    return {spelling[::-1]: name for spelling, name in names.items()} | names


@lru_cache(maxsize=16)  # for a detector and for the features of the text model
def disguised_algorithms(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return start, end and name of algorithms spelt with digits, gaps or dots, or backwards."""
    return tuple(_disguised_algorithms(text))


def _disguised_algorithms(text: str) -> Iterator[tuple[int, int, str]]:
    names = _joined_spellings()
    for match in _SPACED.finditer(text):
        joined = "".join(_LETTERS.findall(match[0].lower()))
        for name in islice((name for spelling, name in names.items() if spelling in joined), 1):
            yield match.start(), match.end(), name
    names = _joined_in_both_directions()
    plain = _MIXED.sub(lambda match: match[0].translate(_LETTERS_OF_DIGITS), text)
    words = [match for match in _LETTERS.finditer(plain) if match[0].isascii()]
    lowered = [word[0].lower() for word in words]
    for number, word in enumerate(words):
        for last in range(number, min(number + 2, len(words))):
            found = names.get("".join(lowered[number : last + 1]))
            if found and not _is_plain(text[word.start() : words[last].end()]):
                yield word.start(), words[last].end(), found


def _is_plain(passage: str) -> bool:
    """Return whether the passage is an ordinary spelling, which the lexicon finds."""
    words = tokens(passage)
    return any(match.end - match.start == len(words) for match in algorithm_lexicon().all(words))
