"""Masking of model names in replies, so that a tutor under a protocol that hides the model does not read its name.

Replies are masked where they leave for the tutor's page. The record keeps the original text and the masked passages.
Code in fences and between backticks is never masked, and programs are taken from the original text. Names are matched
within one line, so that a stream of chunks is masked exactly as the whole text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tutoring.models import Session
from tutoring.protocols import rules_of

MASK = "[name hidden]"

_DIGITS = r"-?\d(?:[\w.]*\w)?"
_SPACED_DIGITS = r"[ -]?\d(?:[\w.]*\w)?"

_NAMES = {
    **dict.fromkeys(("chatgpt", "chat-gpt", "codellama", "code-llama"), f"(?:{_SPACED_DIGITS})?"),
    **dict.fromkeys(
        ("openai", "open-ai", "deepmind", "deep-mind", "deepseek", "deep-seek", "x.ai", "xai"), ""
    ),
    **dict.fromkeys(
        ("claude", "anthropic", "gemini", "gemma", "mistral", "mixtral", "codestral", "qwq", "grok"), ""
    ),
    **dict.fromkeys(("cohere", "moonshot", "zhipu", "nemotron", "starcoder", "hunyuan", "doubao"), ""),
    **dict.fromkeys(("o1", "o2", "o3", "o4", "o5"), "-(?:mini|preview|pro)"),
    "gpt": rf"(?:{_SPACED_DIGITS}|-?oss)",
    "kimi": r"(?:[ -]k\d(?:[\w.]*\w)?)?",
    **dict.fromkeys(("meta", "google"), "[ -]ai"),
    "llama": _SPACED_DIGITS,
    "qwen": r"[\d.]*",
    "glm": _DIGITS,
    "chat-glm": _DIGITS,
    "chatglm": f"(?:{_DIGITS})?",
    "phi": _DIGITS,
    "minimax": r"-?(?:m\d|text)[\w.]*",
}
"""How names of models and vendors begin, and the pattern of what follows; masked wherever they occur in prose."""

_COMMON_NAMES = {
    **dict.fromkeys(
        ("o1", "o2", "o3", "o4", "o5", "llama", "meta", "google", "microsoft", "amazon", "alibaba"), ""
    ),
    **dict.fromkeys(
        ("nvidia", "phi", "falcon", "yi", "nova", "bard", "copilot", "gpt", "ernie", "minimax"), ""
    ),
    **dict.fromkeys(("baidu", "tencent", "bytedance", "opus", "sonnet", "haiku"), ""),
    "command": "[ -]r",
}
"""Names with other meanings. They are masked only where a phrase says that they name the model."""

_ROOTS = (*_NAMES, *_COMMON_NAMES)
_BEGINNINGS = frozenset(root[:length] for root in _ROOTS for length in range(1, len(root) + 1))
"""The end of an unfinished line that is the beginning of a root is not shown yet."""

_TWO_WORDS = tuple(
    root for table in (_NAMES, _COMMON_NAMES) for root, rest in table.items() if "[ -]" in rest
)
"""Roots of names that may consist of two words."""

_VARIANT = (
    r"(?:[ -](?:(?:\d[\w.]*|mini|nano|turbo|pro|flash|lite|large|medium|small|opus|sonnet|haiku|instruct|chat|coder|"
    r"reasoner|preview|thinking|max|plus|ultra|r\d|v\d[\w.]*)\b)){0,3}"
)
_SPEAKS_OF_ITSELF = (
    r"\b(?:i(?: a|['’])m|name is|called|named|(?:trained|developed|created|made|built|provided|released) by|"
    r"(?:model|assistant) (?:by|from)|training (?:at|by))(?: an?| the)?"
    r"(?: (?:ai|large|language|model|assistant|version of)){0,3} "
)

_HYPHENS = dict.fromkeys(map(ord, "\u2010\u2011\u2013"), "-")
"""Other characters that models write between the parts of a name."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")

_LONGEST_NAME = 60
"""Characters at the end of an unfinished line in which a name is expected to begin."""

_HELD_CODE = 400
"""Characters after an opening backtick that are held back until it is closed."""


_WORD_AT_END = re.compile(r"[\w-]+\Z")
_WORD = re.compile(r"(?<![\w-])(?=([\w.-]+))")
_CODE_MARK = re.compile(r"`+")

_LONGEST_PHRASE = 100
"""Characters before a name that can decide whether it is masked: more than `_SPEAKS_OF_ITSELF` matches."""


class Span(NamedTuple):
    """A masked passage, `text[start:end]`."""

    start: int
    end: int


class _Match(NamedTuple):
    """A masked name and the beginning of the phrase that decides about it, which is the name's without a phrase."""

    name: Span
    start: int


@dataclass(frozen=True)
class Names:
    """The names that are masked in one session: names of the problem statement are not."""

    statement: str
    model: str
    """The model's own name. It is masked if it contains a digit, since others may be ordinary words."""

    @property
    def own(self) -> str:
        """The model's name without the folder of its maker."""
        return self.model.rsplit("/", 1)[-1]

    def spans(self, text: str) -> list[Span]:
        """Return the passages of a whole reply that are masked, in order."""
        found: list[Span] = []
        position, fence = 0, ""
        for line in text.split("\n"):
            if not fence and not _FENCE.match(line):
                found += [Span(position + start, position + end) for start, end in self.in_line(line)]
            fence = _fence_after(line, fence)
            position += len(line) + 1
        return found

    def in_line(self, line: str) -> list[Span]:
        """Return the masked passages of one line outside fences."""
        return [match.name for match in self.matches(line, _inline_code(line).closed)]

    def matches(self, line: str, code: list[Span]) -> list[_Match]:
        """Return the matches in one line, in order and without those that touch its passages of code."""
        return [
            match
            for match in self._matches(line)
            if not any(start < match.name.end and match.name.start < end for start, end in code)
        ]

    def unfinished(self, line: str) -> int:
        """Return the position in an unfinished line from which a name may be arriving, else the line's length."""
        own, roots = _own_and_roots(self.own)
        line = line.translate(_HYPHENS)
        # A name has at most two words.
        last_word = line.rfind(" ") + 1
        word_before = line.rfind(" ", 0, max(0, last_word - 1)) + 1
        for word in _WORD.finditer(line, max(word_before, len(line) - _LONGEST_NAME)):
            first, end = word[1].lower(), word.end(1)
            is_name = first in _BEGINNINGS or own.startswith(first) or first.startswith(roots)
            if is_name and (end == len(line) or (first in _TWO_WORDS and end == last_word - 1)):
                return word.start()
        return len(line)

    def _matches(self, line: str) -> Iterator[_Match]:
        plain = line.translate(_HYPHENS)
        lowered = plain.lower()
        # Most lines contain no name. Outside ASCII, the patterns ignore more differences of case than `lower` does.
        if plain.isascii() and not any(root in lowered for root in _own_and_roots(self.own)[1]):
            return
        found = sorted(
            _Match(Span(*match.span("name")), match.start())
            for pattern in _patterns(self.own, self.statement)
            for match in pattern.finditer(plain)
        )
        end = 0
        for match in found:
            if match.name.start >= end:
                yield match
                end = match.name.end


@lru_cache(maxsize=256)
def _own_and_roots(own: str) -> tuple[str, tuple[str, ...]]:
    """Return the model's name and the roots of all names, in lower case."""
    own = own.lower()
    return own, (*_ROOTS, own) if own else _ROOTS


@lru_cache(maxsize=256)
def _patterns(own: str, statement: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of names that are masked anywhere, and of those where the model speaks of itself."""
    names = [re.escape(root) + rest for root, rest in _NAMES.items()]
    names += [re.escape(own)] if re.search(r"\d", own) else []
    anywhere = [
        name for name in names if not re.search(rf"(?<![\w-]){name}(?![\w-])", statement, re.IGNORECASE)
    ]
    every = "|".join((*names, *(re.escape(root) + rest for root, rest in _COMMON_NAMES.items())))
    flags = re.IGNORECASE
    return (
        re.compile(rf"(?<![\w-])(?P<name>(?:{'|'.join(anywhere)}){_VARIANT})(?![\w])", flags),
        re.compile(rf"{_SPEAKS_OF_ITSELF}(?P<name>(?:{every}){_VARIANT})(?![\w])", flags),
        re.compile(rf"(?-i:\bAs) (?P<name>(?:{every}){_VARIANT})(?=,)", flags),
        re.compile(
            rf"(?<![\w-])(?:{every}){_VARIANT},? (?:by|from) (?P<name>(?:{every}){_VARIANT})(?![\w])", flags
        ),
    )


def names_of(session: Session) -> Names | None:
    """Return what is masked in the session's replies, None if its protocol does not hide the model."""
    if session.protocol is None or not rules_of(session.protocol).hide_model:
        return None
    statement = session.problem.statement if session.problem else ""
    return Names(statement, session.model_spec.partition(":")[2])


def masked_spans(session: Session, text: str) -> list[Span]:
    """Return the passages of a whole reply that the session's protocol hides."""
    names = names_of(session)
    return names.spans(text) if names else []


def mask(text: str, spans: list[Span]) -> str:
    """Return the text with the passages replaced by `MASK`."""
    shown, position = [], 0
    for start, end in spans:
        shown += [text[position:start], MASK]
        position = end
    return "".join((*shown, text[position:]))


@dataclass
class StreamMask:
    """A mask for a reply that arrives in chunks. What it shows is always a beginning of the whole text's masked form.

    The time for a chunk does not grow with the length of its line, except in one very long word.
    """

    names: Names
    fence: str = ""
    line: str = ""
    """The part of the current line that has arrived, without what was shown and decides nothing more."""
    is_continued: bool = False
    """Whether `line` lacks the beginning of its line."""
    shown: int = 0
    """Characters of the masked form of `line` that were shown."""

    def feed(self, chunk: str) -> str:
        """Return the text that can be shown after this chunk has arrived; it may be empty."""
        ready = []
        *whole, self.line = (self.line + chunk).split("\n")
        for line in whole:
            ready.append(self._masked(line)[self.shown :] + "\n")
            self.fence = self.fence if self.is_continued else _fence_after(line, self.fence)
            self.is_continued, self.shown = False, 0
        ready.append(self._next())
        return "".join(ready)

    def _masked(self, line: str) -> str:
        if self.fence or (not self.is_continued and _FENCE.match(line)):
            return line
        return mask(line, self.names.in_line(line))

    def _next(self) -> str:
        """Return what can be shown next of an unfinished line: the masked form that later text cannot change."""
        line = self.line
        if self.fence:
            ready = line[self.shown :]
            self.shown = len(line)
            return ready
        if not self.is_continued and line.lstrip(" ")[:1] in ("`", "~"):
            return ""  # it may open a fence
        code = _inline_code(line)
        matches = self.names.matches(line, code.closed)
        cut = min(code.open, self.names.unfinished(line))
        for (start, end), _ in matches:
            # A name may continue with the word that is arriving.
            continues = re.fullmatch(r"[ -]?[\w.-]*", line[end:].translate(_HYPHENS)) is not None
            if start < cut < end or continues:
                cut = min(cut, start)
        beginning = mask(line[:cut], [span for span, _ in matches if span.end <= cut])
        ready = beginning[self.shown :]
        self.shown = max(self.shown, len(beginning))
        passages = [*code.closed, *(Span(match.start, match.name.end) for match in matches)]
        settled = _settled(line.translate(_HYPHENS), cut, passages)
        if settled:
            self.shown -= len(mask(line[:settled], [span for span, _ in matches if span.end <= settled]))
            self.line, self.is_continued = line[settled:], True
        return ready


def _settled(line: str, cut: int, passages: list[Span]) -> int:
    """Return the length of the beginning of a line that decides nothing after `cut` and cuts no passage."""
    settled = max(0, cut - _LONGEST_PHRASE)
    while settled:
        if word := _WORD_AT_END.search(line, max(0, settled - _LONGEST_PHRASE), settled):
            settled = word.start() if settled - word.start() < _LONGEST_PHRASE else 0
        elif divided := [start for start, end in passages if start < settled < end]:
            settled = min(divided)
        else:
            break
    return settled


class _InlineCode(NamedTuple):
    """The passages of code in a line, and where code begins that later text may close."""

    closed: list[Span]
    open: int


def _inline_code(line: str) -> _InlineCode:
    """Return the code between runs of backticks of equal length, from left to right.

    A run without another of its length in the next `_HELD_CODE` characters is prose.
    """
    closed: list[Span] = []
    end, open_ = 0, len(line)
    runs = list(_CODE_MARK.finditer(line))
    for number, run in enumerate(runs):
        if run.start() < end:
            continue
        following = (other for other in runs[number + 1 :] if other.start() - run.end() <= _HELD_CODE)
        close = next((other for other in following if len(other[0]) == len(run[0])), None)
        # A run at the end of an unfinished line may become longer.
        if (close is None or close.end() == len(line)) and len(line) - run.end() <= _HELD_CODE + len(run[0]):
            open_ = min(open_, run.start())
        if close is not None:
            end = close.end()
            closed.append(Span(run.start(), end))
    return _InlineCode(closed, open_)


def _fence_after(line: str, fence: str) -> str:
    """Return the fence that is open after the line; `fence` is the one before it, empty outside code."""
    found = _FENCE.match(line)
    if not found:
        return fence
    if not fence:
        return found[1]
    closes = found[1][0] == fence[0] and len(found[1]) >= len(fence) and not line[found.end() :].strip()
    return "" if closes else fence
