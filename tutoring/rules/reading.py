"""The reading of a message in its context: features, vectors and measures of its sentences, for the text model.

A feature is a short text. Words of one problem (names of the program, words of the story) are replaced by their role,
so that features of one problem also occur in messages on another:

* `w:` a word or two neighbouring words, `c:` a concept of vocabulary/concepts.toml, `c:one>two` neighbouring concepts;
* `a:` an algorithm, a structure or an idea, and whether the student or the official solution has it too;
* `p:` a reference to the program or code, `n:` a number, `s:` words of the solution and the statement;
* `r:` a finding of another detector; `q:` and `l:` the form of the sentence.

A vector stands for the meaning of the sentences (`sentence_vectors.py`). The measures are the numbers of MEASURES.
"""

from __future__ import annotations

import keyword
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tutoring.rules.detection import Detection, MessageContext
from tutoring.rules.sentence_vectors import TokenVectors, Vectors, encoded_sentences, paragraph_vectors
from tutoring.rules.texts import is_question, sentences
from tutoring.rules.vocabulary import (
    LANGUAGES,
    Language,
    Token,
    algorithm_kinds,
    algorithm_lexicon,
    concepts,
    disguised_algorithms,
    language_of,
    longest_of,
    tokens,
)

FENCE = re.compile(r"(?:```|~~~)[^\n]{0,40}\n(?:.{0,20000}?)(?:```|~~~|\Z)", re.DOTALL)
"""A fenced block of code. The search takes linear time in any text."""

_NAME = re.compile(r"[^\W\d]\w*")
_DIGITS = re.compile(r"\d+")
_SYMBOLS = re.compile(r"[=<>\[\]+*]|\(\)")
_LIBRARY_NAMES = frozenset(
    [
        "main",
        "include",
        "iostream",
        "vector",
        "string",
        "pair",
        "cout",
        "cin",
        "endl",
        "std",
        "using",
        "namespace",
        "const",
        "auto",
        "void",
        "long",
        "double",
        "bool",
        "char",
        "int",
        "begin",
        "end",
        "size",
        "first",
        "second",
        "push_back",
        "public",
        "static",
        "class",
        "input",
        "print",
        "range",
        "len",
        "map",
        "list",
        "split",
        "sum",
        "max",
        "min",
        "sorted",
        "sort",
        "append",
        "abs",
        "set",
        "dict",
        "str",
        "tuple",
        "enumerate",
        "zip",
        "all",
        "any",
        "bits",
        "self",
        "true",
        "false",
        "none",
        "import",
        "from",
        "as",
        "in",
        "is",
        "for",
        "while",
        "if",
        "else",
        "elif",
        "return",
        "def",
        "and",
        "or",
        "not",
        "break",
        "continue",
        "pass",
        "lambda",
        "global",
        "scanf",
        "printf",
        "include",
        "define",
    ]
) | frozenset(keyword.kwlist)
_HINTS_OF_CODE = (
    ("binary search", re.compile(r"\bbisect|lower_bound|upper_bound|\bmid\b|binary_search")),
    ("two pointers", re.compile(r"\bleft\b.{0,300}\bright\b|\blo\b.{0,80}\bhi\b", re.DOTALL)),
    ("sliding window", re.compile(r"\bleft\b.{0,300}\bright\b|\bwindow\b", re.DOTALL)),
    ("Dijkstra", re.compile(r"heappush|priority_queue")),
    ("heap", re.compile(r"heapq|heappush|priority_queue")),
    ("depth-first search", re.compile(r"\bdfs\b|\bvisit\b")),
    ("breadth-first search", re.compile(r"\bbfs\b|\bdeque\b|queue<")),
    ("union-find", re.compile(r"\bfind\(|\bunion\b|\bparent\b|\bdsu\b")),
    ("dynamic programming", re.compile(r"\bdp\b|\bmemo|lru_cache|@cache")),
    ("prefix sums", re.compile(r"\bpre(?:fix|f)?\b|\bpsum\b|accumulate|partial_sum|\bcum")),
    ("brute force", re.compile(r"permutations|combinations|product\(")),
    ("sorting", re.compile(r"\bsort")),
    ("hash map", re.compile(r"Counter|defaultdict|dict\(|map<|\{\}|set\(|set<")),
    ("sieve of Eratosthenes", re.compile(r"sieve|is_?prime")),
    ("Euclidean algorithm", re.compile(r"gcd")),
)
_DEFINED = re.compile(r"\b(?:def|class)\s+(\w+)|\b(?:int|void|bool|long|double|string)\s+(\w+)\s*\(")
_CODE_SYMBOLS = frozenset("<>=+*/%[]{}") | {"==", "<=", ">=", "!=", "+=", "-=", "++", "--", "//", "≤", "≥"}
_CODE = re.compile(
    r"(?<!\w)\w{1,40}\[[^\]\n]{1,40}\]|(?<!\w)\w{1,40}\([^()\n]{0,60}\)|(?:(?<!\w)\w{1,30}|"
    r"[\])]) ?(?:[<>=!]=|[-+*/%<>]|//) ?[\w(\-]\w{0,30}|\w(?:\+\+|--)|"
    r"\b\w+ (?:[-+*/]?=) \w"
    r"|`[^`\n]{1,200}`|\((?=[^()\n]{0,40}[A-Za-z_])-?\w{1,20}(?:, ?-?\w{1,20}){1,3}\)"
)
_SYMBOL_OF_CODE = re.compile(r"[\[(<>=!+*/%`-]")
"""A character of every match of _CODE, whose search takes longer."""
_LINE_NUMBER = re.compile(
    r"\b(?:lines?|ll?\.|zeilen?|lignes?|l[ií]neas?)\s{0,2}(?:number|no\.?|nr\.?|n[°º])?\s{0,2}#?\d{1,3}\b|"
    r"第\s?[\d一二三四五六七八九十]{1,3}\s?行",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W\d_]")
_POSSESSIVE = re.compile(r"['’]s\Z")
_SUFFIX = re.compile(r"(?:'s|ies|es|s|ed|ing|en|er|e|n)\Z")


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the word without a common English, German, French or Spanish ending."""
    return _SUFFIX.sub("", word) if len(word) > 4 else word


_PLAIN_WORDS = frozenset().union(*(concepts(language).words for language in LANGUAGES))
"""Words of concepts, which are never words of a story or names."""

_PLAIN_STEMS = frozenset(map(stem, _PLAIN_WORDS))


@dataclass(frozen=True)
class Unit:
    """A whole message or one sentence of it, at characters `start` to `end`.

    `vector` is the normalized mean of the sentences' vectors. `tokens` has a row for each token.
    """

    start: int
    end: int
    features: frozenset[str]
    vector: Vectors
    measures: tuple[float, ...]
    tokens: TokenVectors


MEASURES = (
    "likeness to the statement",
    "mean likeness to the statement",
    "likeness to the official solution",
    "mean likeness to the official solution",
    "likeness to the official solution rather than to the statement",
    "likeness to the statement rather than to the official solution",
    "length",
    "sentences",
    "questions for each sentence",
    "a question at the end",
    "a quotation in backticks",
    "a number that neither the statement nor the program contains",
    "a number of the statement",
    "numbers",
    "digits of the longest number",
    "a name of the program",
    "words that are names in the program",
    "symbols of code",
)
"""The meaning of each number of `Unit.measures`. Likeness is the greatest cosine of a sentence with those of a text."""


@dataclass(frozen=True)
class Background:
    """The contents of the context: names of the program, words of the texts, and the algorithms that each side has."""

    names: frozenset[str]
    functions: frozenset[str]
    code: str
    statement: frozenset[str]
    analysis: frozenset[str]
    own_algorithms: frozenset[str]
    official_algorithms: frozenset[str]
    own_words: frozenset[str]
    program_words: frozenset[str]
    statement_numbers: frozenset[str]
    program_numbers: frozenset[str]


def background_of(context: MessageContext) -> Background:
    """Return the contents of the context. The result is cached, because a draft is checked at every pause in typing."""
    return _background(
        context.statement, context.analysis, context.references, context.replies, context.programs
    )


@lru_cache(maxsize=64)
def _background(
    statement: str,
    analysis: str,
    references: tuple[str, ...],
    replies: tuple[str, ...],
    programs: tuple[str, ...],
) -> Background:
    program = programs[-1] if programs else ""
    names = {name for one in programs for name in _NAME.findall(one)}
    said = [tokens(one) for one in (statement, *replies)]
    statement_words = frozenset(stem(token.text) for token in said[0])
    solution = tokens(analysis)
    return Background(
        names=frozenset(name for name in names if name.lower() not in _LIBRARY_NAMES),
        functions=frozenset(
            name for one in programs for defined in _DEFINED.findall(one) for name in defined if name
        ),
        code="".join("\n".join((*programs, *replies)).split()),
        statement=statement_words,
        analysis=frozenset(stem(token.text) for token in solution if len(token.text) > 3) - statement_words,
        own_algorithms=frozenset(
            label for words in said for match in algorithm_lexicon().longest(words) for label in match.labels
        )
        | {name for name, hint in _HINTS_OF_CODE if hint.search(program)},
        official_algorithms=frozenset(
            label for match in algorithm_lexicon().longest(solution) for label in match.labels
        )
        | {name for name, hint in _HINTS_OF_CODE for one in references if hint.search(one)},
        own_words=frozenset(stem(token.text) for words in said[1:] for token in words if len(token.text) > 3),
        program_words=frozenset(_NAME.findall(program)),
        statement_numbers=frozenset(_DIGITS.findall(statement)),
        program_numbers=frozenset(_DIGITS.findall(program)),
    )


def prepare(context: MessageContext) -> None:
    """Read the texts of the context, so that the next message is read faster. The first use loads the encoder."""
    background_of(context)
    for text in (context.statement, context.analysis):
        paragraph_vectors(text)


def read_units(text: str, context: MessageContext, found: Sequence[tuple[str, Detection]] = ()) -> list[Unit]:
    """Return the whole text, and if it has several sentences, each of them.

    In a text of more than _MOST_PASSAGES sentences, several sentences take the place of one. A text without a letter
    has no unit. `found` are detections, each with the name of its detector.
    """
    background = background_of(context)
    language = language_of(tokens(text))
    pieces = list(_pieces(text))
    if not _LETTER.search(text):
        return []
    marks = _marks_of_pieces(
        pieces,
        [
            *(
                (one.start, one.end, (f"r:{one.clause}:{detector}", f"r:{one.clause}"))
                for detector, one in found
            ),
            *((start, end, _disguised(name)) for start, end, name in disguised_algorithms(text)),
        ],
    )
    features = [
        own | _sentence_features(_Sentence(text[start:end], language, background))
        for (start, end), own in zip(pieces, marks, strict=True)
    ]
    encoded = encoded_sentences([text[start:end] for start, end in pieces])
    vectors = np.array([one.vector for one in encoded])
    every_token = np.concatenate([one.tokens for one in encoded])
    token_ends = np.cumsum([0, *(len(one.tokens) for one in encoded)])
    likeness = _likeness(vectors, context)
    count = len(pieces)
    step = -(-count // _MOST_PASSAGES)
    windows = [(0, count)]
    if count > 1:
        windows += [(first, min(first + step, count)) for first in range(0, count, step)]
    contents = [_content(text[start:end], background) for start, end in pieces]
    return [
        Unit(
            start := pieces[first][0],
            end := pieces[last - 1][1],
            frozenset[str]().union(*features[first:last]),
            mean,
            _measures(text[start:end], likeness[first:last], contents[first:last], background),
            every_token[token_ends[first] : token_ends[last]],
        )
        for (first, last), mean in zip(windows, _means(vectors, windows), strict=True)
    ]


def _means(vectors: Vectors, windows: Sequence[tuple[int, int]]) -> Vectors:
    """Return the mean of the vectors of each window, with the length 1."""
    totals = np.concatenate([np.zeros((1, vectors.shape[1])), vectors.cumsum(0, dtype=np.float64)])
    firsts, lasts = np.array(windows).T
    sums = totals[lasts] - totals[firsts]
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1), 1e-9)[:, None], np.float32)


_MOST_PASSAGES = 100


class _Content(NamedTuple):
    """The contents of a sentence: numbers, words that are names in the program, and symbols of code."""

    numbers: frozenset[str]
    known: frozenset[str]
    symbols: bool


@lru_cache(maxsize=2_000)
def _content(sentence: str, background: Background) -> _Content:
    return _Content(
        frozenset(_DIGITS.findall(sentence)),
        background.program_words.intersection(_NAME.findall(sentence)),
        _SYMBOLS.search(sentence) is not None,
    )


def _likeness(vectors: Vectors, context: MessageContext) -> list[tuple[float, float]]:
    """Return for each sentence the greatest cosine with a sentence of the statement, and of the official solution."""
    columns = [
        (vectors @ others.T).max(1).tolist() if len(others) else [0.0] * len(vectors)
        for others in map(paragraph_vectors, (context.statement, context.analysis))
    ]
    return list(zip(*columns, strict=True))


def _measures(
    text: str,
    likeness: Sequence[tuple[float, float]],
    contents: Sequence[_Content],
    background: Background,
) -> tuple[float, ...]:
    """Return the numbers of MEASURES for a passage, from the likeness and the content of its sentences."""
    count = len(likeness)
    numbers = frozenset[str]().union(*(one.numbers for one in contents))
    known = frozenset[str]().union(*(one.known for one in contents))
    return (
        max(statement for statement, _ in likeness),
        sum(statement for statement, _ in likeness) / count,
        max(solution for _, solution in likeness),
        sum(solution for _, solution in likeness) / count,
        max(solution - statement for statement, solution in likeness),
        max(statement - solution for statement, solution in likeness),
        math.log(len(text)),
        float(count),
        (text.count("?") + text.count("？")) / count,
        float(is_question(text)),
        float("`" in text),
        float(bool(numbers - background.statement_numbers - background.program_numbers)),
        float(not numbers.isdisjoint(background.statement_numbers)),
        float(len(numbers)),
        float(max(map(len, numbers), default=0)),
        float(any(len(name) == 1 or "_" in name or not name.islower() for name in known)),
        float(len(known)),
        float(any(one.symbols for one in contents)),
    )


def _disguised(name: str) -> tuple[str, ...]:
    kind = algorithm_kinds()[name]
    return f"a:disguised-{kind}", f"a:{kind}"


def _marks_of_pieces(
    pieces: Sequence[tuple[int, int]], marks: Sequence[tuple[int, int, tuple[str, ...]]]
) -> list[frozenset[str]]:
    """Return the features of the marks that overlap each piece. The pieces are in order."""
    features: list[set[str]] = [set() for _ in pieces]
    ends = [end for _, end in pieces]
    for start, end, names in marks:
        number = bisect_right(ends, start)
        while number < len(pieces) and pieces[number][0] < end:
            features[number].update(names)
            number += 1
    return [frozenset(own) for own in features]


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of fenced blocks and of the sentences between them."""
    begin = 0
    for fence in [*FENCE.finditer(text), None]:
        end = fence.start() if fence else len(text)
        for sentence in sentences(text[begin:end]):
            if sentence.text.strip():
                lead = len(sentence.text) - len(sentence.text.lstrip())
                yield begin + sentence.start + lead, begin + sentence.start + len(sentence.text.rstrip())
        if fence:
            yield fence.start(), fence.end()
            begin = fence.end()


@dataclass(frozen=True)
class _Sentence:
    """A sentence of a message in this language, and what its context says."""

    text: str
    language: Language
    background: Background

    @property
    def form(self) -> str:
        """Return "?" for a question, else "."."""
        return "?" if is_question(self.text) else "."


@lru_cache(maxsize=2_000)
def _sentence_features(sentence: _Sentence) -> frozenset[str]:
    """Return the features. They are cached, because most sentences of a draft are the same at the next check."""
    return frozenset(_features(sentence))


def _features(sentence: _Sentence) -> Iterator[str]:
    background = sentence.background
    yield f"q:{sentence.form}"
    if sentence.text.startswith(("```", "~~~")):
        yield from _fence_features(sentence.text, background)
        return
    words = tokens(sentence.text)
    yield f"l:{min(len(words).bit_length(), 7)}"
    yield from _algorithm_features(sentence, words)
    names = _names(sentence.text, words, background)
    yield from _program_features(sentence, words, names)
    plain = _without_code(sentence.text, words, background)
    roles = _roles(plain, names, background)
    yield from _concept_features(sentence, plain, roles)
    shown = ["^", *(role or token.text for token, role in zip(plain, roles, strict=True))]
    for one, two in pairwise(shown):
        yield f"w:{two}"
        yield f"w:{one} {two}"
    yield from _overlap_features(plain, background)


def _fence_features(fence: str, background: Background) -> Iterator[str]:
    yield "p:fence"
    inside = "\n".join(fence.split("\n")[1:]).replace("```", "")
    lines = ["".join(line.split()) for line in inside.split("\n") if line.strip()]
    new = [line for line in lines if line not in background.code]
    yield "p:fence-own" if not new else "p:fence-new"
    if new and any(set(line) & set("=()") for line in new):
        yield "p:fence-code"


def _algorithm_features(sentence: _Sentence, words: Sequence[Token]) -> Iterator[str]:
    background, form = sentence.background, sentence.form
    names = [label for match in algorithm_lexicon().longest(words) for label in match.labels]
    for name in names:
        kind = algorithm_kinds()[name]
        if name in background.own_algorithms:
            owner = "own"
        else:
            owner = "official" if name in background.official_algorithms else "new"
        yield f"a:{kind}"
        yield f"a:{kind}{form}"
        yield f"a:{kind} {owner}"
        yield f"a:{kind} {owner}{form}"
        if kind == "algorithm" and owner != "own" and len(words) < 8:
            yield "a:short"


def _names(sentence: str, words: Sequence[Token], background: Background) -> frozenset[int]:
    """Return the starts of the tokens that are names of the program."""
    return frozenset(
        token.start
        for number, token in enumerate(words)
        if (written := _POSSESSIVE.sub("", sentence[token.start : token.end])) in background.names
        and _is_name(written, number, words)
    )


@lru_cache(maxsize=2_000)
def story_words(sentence: str, background: Background) -> int:
    """Return the number of different words of the sentence that are words of the problem's story.

    The statement is English: a sentence in another language counts as one with two.
    """
    words = tokens(sentence)
    if language_of(words) != "en":
        return 2
    stems = {stem(token.text) for token in words if len(token.text) > 2}
    return len(stems & background.statement - _PLAIN_STEMS)


def program_names(sentence: str, background: Background) -> list[tuple[int, int]]:
    """Return start and end of the names of the program, without those that the statement uses as words."""
    words = tokens(sentence)
    starts = _names(sentence, words, background)
    return [
        (token.start, token.end)
        for token in words
        if token.start in starts and (len(token.text) < 3 or stem(token.text) not in background.statement)
    ]


@lru_cache(maxsize=1_000)  # several detectors read each sentence
def code_passages(sentence: str, background: Background) -> tuple[tuple[int, int, str], ...]:
    """Return start, end and kind of code: a simple name, the student's own code, or new code."""
    return tuple(_code_passages(sentence, background)) if _SYMBOL_OF_CODE.search(sentence) else ()


def _code_passages(sentence: str, background: Background) -> Iterator[tuple[int, int, str]]:
    for match in _CODE.finditer(sentence):
        code = "".join(match[0].strip("`").split())
        if not _LETTER.search(code):
            continue  # a calculation
        simple = _NAME.fullmatch(code) is not None
        yield match.start(), match.end(), "simple" if simple else "own" if code in background.code else "new"


def _without_code(sentence: str, words: Sequence[Token], background: Background) -> list[Token]:
    """Return the tokens, with one token for each passage of code."""
    kept: list[Token] = []
    passages = [passage for passage in code_passages(sentence, background) if passage[2] != "simple"]
    ends = [end for _, end, _ in passages]
    for token in words:
        number = bisect_right(ends, token.start)
        if number == len(passages) or token.start < passages[number][0]:
            kept.append(token)
        elif not kept or kept[-1].start != passages[number][0]:
            start, end, kind = passages[number]
            kept.append(Token(f"‹{kind}›", start, end))
    return kept


def _roles(words: Sequence[Token], names: frozenset[int], background: Background) -> list[str]:
    """Return the role of each token that stands for something of this problem or program, else an empty text."""
    roles = []
    for token in words:
        if token.text[0].isdigit():
            roles.append("‹ordinal›" if token.text[-1].isalpha() else "‹number›")
        elif token.text[0] == "‹" and len(token.text) > 1:
            roles.append(token.text)
        elif token.start in names:
            roles.append("‹name›")
        elif token.text in _PLAIN_WORDS or len(token.text) < 3:
            roles.append("")
        elif stem(token.text) in background.statement:
            roles.append("‹story›")
        else:
            roles.append("")
    return roles


def _is_name(written: str, number: int, words: Sequence[Token]) -> bool:
    if written.lower() in ("a", "i", "y", "o", "e", "à", "s", "t", "d", "l", "c", "m", "n"):
        following = words[number + 1].text if number + 1 < len(words) else ""
        before = words[number - 1].text if number else ""
        return following in _CODE_SYMBOLS or following == "[" or before in _CODE_SYMBOLS or before == "`"
    if len(written) == 1 or "_" in written or any(c.isdigit() for c in written):
        return True
    quoted = number > 0 and words[number - 1].text in "`'\"“«"
    following = words[number + 1].text if number + 1 < len(words) else ""
    return quoted or following in ("(", "[", "=", "+=") or written not in _PLAIN_WORDS


def _program_features(sentence: _Sentence, words: Sequence[Token], starts: frozenset[int]) -> Iterator[str]:
    background, form = sentence.background, sentence.form
    names = {token.text for token in words if token.start in starts}
    if names:
        yield "p:name"
        yield f"p:name{form}"
        yield f"p:names {min(len(names), 3)}"
        if any(stem(name) not in background.statement for name in names):
            yield f"p:name-of-program{form}"
    if _LINE_NUMBER.search(sentence.text):
        yield "p:line-number"
    if "`" in sentence.text:
        yield "p:backtick"
    for _, _, kind in code_passages(sentence.text, background):
        yield f"p:code-{kind}"
        yield f"p:code-{kind}{form}"
    symbols = sum(token.text in _CODE_SYMBOLS for token in words)
    if symbols:
        yield f"p:symbols {min(symbols, 4)}"


def _concept_features(sentence: _Sentence, words: Sequence[Token], roles: Sequence[str]) -> Iterator[str]:
    lexicon, form = concepts(sentence.language), sentence.form
    matches = list(lexicon.all(words))
    labels = {label for match in matches for label in match.labels}
    longest = longest_of(matches)
    imperatives = sum(
        not _IMPERATIVES.isdisjoint(match.labels)
        and (match.start == 0 or words[match.start - 1].text in _BOUNDARIES)
        for match in longest
    )
    yield from _form_features(roles, frozenset(labels), imperatives, form)
    yield f"f:imperatives {min(imperatives, 3)}"
    for label in labels:
        yield f"c:{label}"
        yield f"c:{label}{form}"
    items: list[tuple[int, tuple[str, ...]]] = [(match.start, match.labels) for match in longest]
    items += [
        (match.start, (f"‹{algorithm_kinds()[match.labels[0]]}›",))
        for match in algorithm_lexicon().longest(words)
        if algorithm_kinds()[match.labels[0]] != "structure"
    ]
    items += [(number, (role,)) for number, role in enumerate(roles) if role]
    items += [(number, ("‹,›",)) for number, token in enumerate(words) if token.text in _BOUNDARIES]
    items.sort(key=lambda item: item[0])
    previous: tuple[str, ...] = ("^",)
    for _, own in items:
        for one in previous[:3]:
            for two in own[:3]:
                yield f"c:{one}>{two}"
        previous = own
    count = sum("step" in match.labels for match in longest)
    if count > 1:
        yield f"c:steps {min(count, 5)}"


def _form_features(
    roles: Sequence[str], labels: frozenset[str], imperatives: int, form: str
) -> Iterator[str]:
    """Yield the combinations of parts that the sentence has, which a sum of weights cannot express."""
    parts = {
        "story": roles.count("‹story›") > 1,
        "name": "‹name›" in roles or "‹own›" in roles or "‹new›" in roles,
        "number": "‹number›" in roles,
        "rule": "rule" in labels,
        "you": "you" in labels,
        "not": "negation" in labels,
        "step": "step" in labels,
        "imperative": imperatives > 0,
        "imperatives": imperatives > 1,
        "order": not labels.isdisjoint({"order", "complexity"}),
        "sequence": "sequence" in labels,
        "quantity": "quantity" in labels,
        "suggest": "suggest" in labels,
        "leading": "leading" in labels,
        "change": not labels.isdisjoint({"change", "code_place", "position"}),
        "request": not labels.isdisjoint({"request_words", "own_words", "open_question"}),
    }
    for group in _FORMS:
        yield "f:" + "+".join(part for part in group if parts[part]) + "/" + "+".join(group) + form


_FORMS = (
    ("story", "rule", "you", "name"),
    ("story", "not", "request"),
    ("story", "step", "name"),
    ("story", "rule", "request"),
    ("step", "you", "request"),
    ("name", "request", "not"),
    ("imperatives", "order", "request"),
    ("imperative", "sequence", "quantity"),
    ("imperative", "story", "name"),
    ("suggest", "step", "order"),
    ("leading", "story", "step"),
    ("leading", "change", "story"),
    ("order", "sequence", "quantity"),
    ("change", "name", "request"),
)
_IMPERATIVES = frozenset({"step", "use"})
_BOUNDARIES = frozenset(",;:，；：—–-(") | {"and", "und", "et", "y", "or", "then", "so", "but"}


def _overlap_features(words: Sequence[Token], background: Background) -> Iterator[str]:
    stems = {stem(token.text) for token in words if len(token.text) > 3}
    official = len(stems & background.analysis - background.own_words)
    if official:
        yield f"s:solution {min(official, 4)}"
    story = len(stems & background.statement - _PLAIN_STEMS)
    yield f"s:story {min(story, 5)}"
