"""Detector of named algorithms (F1): a notice only, because a passing mention is not a breach (docs/spec.md 8.1 d).

A name that the official solution has and neither the statement nor the model used before is certain: of the labelled
messages for training with such a name, 151 break F1, 6 another clause, and 5 none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tutoring.rules.caseless import CaselessPattern
from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.reading import background_of
from tutoring.rules.texts import is_question, sentences
from tutoring.rules.vocabulary import (
    Token,
    algorithm_kinds,
    algorithm_lexicon,
    disguised_algorithms,
    language_of,
    tokens,
)

_NEGATIONS = {
    "en": frozenset(
        [
            "not",
            "no",
            "without",
            "than",
            "avoid",
            "don't",
            "doesn't",
            "isn't",
            "won't",
            "can't",
            "never",
            "neither",
            "wrong",
            "instead",
        ]
    ),
    "de": frozenset(
        ["nicht", "kein", "keine", "keinen", "keiner", "ohne", "statt", "als", "weder", "falsch"]
    ),
    "fr": frozenset(["pas", "sans", "jamais", "ni", "aucun", "aucune", "faux"]),
    "es": frozenset(["no", "sin", "nunca", "ni", "tampoco", "falso"]),
    "zh": frozenset(["不", "别", "没", "非"]),
}
"""Words before a name that advise against it."""

_NEGATION_REACH = 4
"""Number of words before a name, in the same clause of the sentence, that are searched for a negation."""

_END_OF_CLAUSE = frozenset(",;:.!?，；：。！？、—–-")

_LEADING = CaselessPattern(
    r"\bwhy (?:not|don[’']t|do you not|do you still)\b|\b(?:how|what) about\b|n[’']t\b|\bwhat if\b|"
    r"\bhave you (?:thought|considered|tried)\b"
    r"|\bjust\b|\bright\b|\bwarum (?:nicht|nimmst|machst)\b|\bwie w[aä]r|\bwäre\b.{0,30}\bnicht\b|"
    r"\bkönntest du\b|\bpourquoi (?:ne )?pas\b"
    r"|\bet si\b|\bne .{1,30}\bpas\b|\bpor qué no\b|\by si\b|为什么不|何不|不能|不就|怎么样|是不是",
)
"""Words of questions that contain their own answer."""

_PRESCRIBED = CaselessPattern(
    r"(?:\b(?:use|try|do|apply|need|needs|run|it[’']s|should be|think of|do a|go for)(?: an?| the| some)?"
    r"|\b(?:benutze|verwende|nimm|probier|mach|brauchst)(?: eine?n?)?|\b(?:utilise|fais|essaie|par|"
    r"faire)(?: une?| la| le)?"
    r"|\b(?:usa|utiliza|haz|prueba|haces)(?: una?| la| el)?|[用做试])\s{0,2}\Z",
)
"""Words directly before a general idea that tell the model to use it."""


_REJECTED = CaselessPattern(
    r"[^.,;:!?\n]{0,30}\b(?:won[’']t|isn[’']t|doesn[’']t|don[’']t|can[’']t|cannot|wouldn[’']t|is\snot|"
    r"will\snot|would\sbe\s(?:too|far)|makes\sno|fails|is\stoo|"
    r"(?:is|are|sounds?|was|is\sall)\s(?:all\s)?(?:right|correct|sound|good|fine|ok)|ist\srichtig|nicht|"
    r"hilft\skaum|ne\s|n[’']|no\s(?:sirve|funciona|ayuda|es))|[^。，！？]{0,8}(?:不行|没用|不能|不对|太慢)",
)
"""Words after a name that advise against it, or that confirm what the model has said."""

_OWN = CaselessPattern(r"\b(?:your|correct|dein\w{0,2}|ton|ta|tu)\s\Z")
"""Words directly before a name which show that the model already uses the algorithm."""

_WINK = CaselessPattern(
    r"\b(?:not\s(?:supposed|allowed)\sto|mustn[’']t|must\snot|can[’']t|may\snot|won[’']t|"
    r"darf\s(?:dir\s)?nicht|dois\spas|peux\spas|puedo|debo)\s(?:\w{1,8}\s){0,3}?(?:say|tell|mention|name|"
    r"sagen|verraten|dire|decir\w{0,3})\b|不能说|不该说",
)
"""Words with which a tutor names something while claiming not to."""


def find_algorithm_names(text: str, context: MessageContext) -> list[Detection]:
    """Return the algorithms that neither the statement nor the model has named, and ideas that the tutor prescribes.

    An open question may contain a name that the official solution does not have.
    """
    background = background_of(context)
    found = []
    seen: set[str] = set()
    for start, end, name, in_open_question in _names(text):
        official = name in background.official_algorithms
        if name in seen or name in background.own_algorithms or (in_open_question and not official):
            continue
        seen.add(name)
        explanation = f"This names an algorithm ({name})" + (
            ", and the official solution names it too." if official else ". A general concept may be named."
        )
        weight = 0.45 if official else 0.25
        found.append(Detection("F1", start, end, explanation, weight, certain=official))
    return found


def _names(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Yield start, end and name of each algorithm that is not advised against, and whether an open question has it."""
    kinds = algorithm_kinds()
    language = language_of(tokens(text))
    for start, end, name in disguised_algorithms(text):
        if kinds[name] == "algorithm":
            yield start, end, name, False
    for sentence in sentences(text):
        words = tokens(sentence.text)
        open_question = is_question(sentence.text) and not _LEADING.search(sentence.text)
        for match in algorithm_lexicon().longest(words):
            name = match.labels[0]
            first, last = words[match.start], words[match.end - 1]
            before = sentence.text[max(0, first.start - 30) : first.start]
            after = sentence.text[last.end : last.end + 50]
            if _REJECTED.match(after) or _OWN.search(before):
                continue
            if _is_negated(words, match.start, _NEGATIONS[language]) and not _WINK.search(sentence.text):
                continue
            if kinds[name] == "algorithm" or (kinds[name] == "idea" and _PRESCRIBED.search(before)):
                yield sentence.start + first.start, sentence.start + last.end, name, open_question


def _is_negated(words: Sequence[Token], position: int, negations: frozenset[str]) -> bool:
    for token in reversed(words[max(0, position - _NEGATION_REACH) : position]):
        if token.text in _END_OF_CLAUSE:
            return False
        if token.text in negations:
            return True
    return False


DETECTOR = Detector(
    name="algorithm-naming",
    version=4,
    clauses=("F1",),
    finds="names of algorithms in five languages, also disguised (always a notice)",
    ignores="names that the statement or the model used first; advice against one; open questions, but not about an "
    "algorithm of the official solution",
    find=find_algorithm_names,
)
