"""Detector of exact references to the model's program: line numbers, quoted code, names (F2; docs/spec.md 8.1 c)."""

from __future__ import annotations

import builtins
import keyword
import re

from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.texts import code_tokens, common_runs, words

_LINE_NUMBER = re.compile(
    r"\blines?\s{1,3}(?:number\s{1,3}|no\.?\s{0,3}|#)?\d{1,4}(?:\s{0,2}(?:-|–|to|and)\s{0,2}\d{1,4})?\b"
    r"(?!\s{1,3}(?:of|in)\s{1,3}(?:\w{1,20}\s{1,3}){0,2}(?:input|output|sample|statement|example|test))",
    re.IGNORECASE,
)
_COUNTED_LINE = re.compile(
    r"\b(?:first|second|third|fourth|fifth|sixth|last|\d{1,3}(?:st|nd|rd|th))\s{1,3}line\s{1,3}"
    r"(?:of|in|inside)\s{1,3}(?:your|the)\s{1,3}(?:\w{1,20}\s{1,3}){0,2}(?:code|program|loop|function|solution|block|method|class)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"`([^`\n]{1,80})`|\"([^\"\n]{1,80})\"|“([^”\n]{1,80})”|(?<!\w)[‘']([^’'\n]{1,80})[’'](?!\w)"
)
_NAME = re.compile(r"[^\W\d]\w*")
_DISTINCTIVE = re.compile(r"[^\W_]_+[^\W_]|[a-z][A-Z]|[^\W\d_]{2}\d")
_DEFINED = re.compile(r"\b(?:def|class)\s+(\w+)|\b(?:int|void|bool|long|double|string)\s+(\w+)\s*\(")
_OPERATOR = frozenset("+-*/%<>=[]()")

_QUOTED_TOKENS = 5
"""Consecutive tokens of the program that count as a quotation."""

_LIBRARY_NAMES = """
main include iostream vector string pair queue stack deque cout cin endl std using namespace const auto void long
double bool char push_back begin end size first second public static class new this null heapq collections defaultdict
append heappush heappop sys math readline split strip
"""
_COMMON_NAMES = (
    frozenset(keyword.kwlist) | frozenset(dir(builtins)) | frozenset(_NAME.findall(_LIBRARY_NAMES))
)


def find_code_references(text: str, context: MessageContext) -> list[Detection]:
    """Return line numbers, and quotations and names of the model's programs that the statement does not contain."""
    if not context.programs:
        return []
    return _line_references(text) + _quotations(text, context) + _program_names(text, context)


def _line_references(text: str) -> list[Detection]:
    explanation = "This points at an exact line of the model’s program."
    return [
        Detection("F2", found.start(), found.end(), explanation, 0.85)
        for pattern in (_LINE_NUMBER, _COUNTED_LINE)
        for found in pattern.finditer(text)
    ]


def _quotations(text: str, context: MessageContext) -> list[Detection]:
    message = code_tokens(text)
    programs = [[token.text for token in code_tokens(program)] for program in context.programs]
    statement: list[str] | None = None
    found = []
    for begin, end in common_runs(message, programs, _QUOTED_TOKENS, _QUOTED_TOKENS):
        run = message[begin:end]
        names = sum(token.text.isidentifier() for token in run)
        if names < 2 or _OPERATOR.isdisjoint(token.text for token in run):
            continue
        if statement is None:
            statement = [token.text for token in code_tokens(context.statement)]
        if next(common_runs(run, [statement], _QUOTED_TOKENS, _QUOTED_TOKENS), None):
            continue
        explanation = "This quotes the model’s program."
        found.append(Detection("F2", run[0].start, run[-1].end, explanation, 0.75))
    return found


def _program_names(text: str, context: MessageContext) -> list[Detection]:
    known = {word.text for word in words(context.statement)}
    names = {
        name
        for program in context.programs
        for name in _NAME.findall(program)
        if name not in _COMMON_NAMES and name.lower() not in known
    }
    functions = {
        name for program in context.programs for defined in _DEFINED.findall(program) for name in defined
    }
    quoted = {(found.start() + 1, found.end() - 1) for found in _QUOTED.finditer(text)}
    found = []
    seen = set()
    for match in _NAME.finditer(text):
        name = match[0]
        if name not in names or name in seen:
            continue
        in_quotes = match.span() in quoted
        if not in_quotes and not _DISTINCTIVE.search(name):
            continue
        seen.add(name)
        if name in functions:
            explanation, weight = (
                f"“{name}” is a function of the model’s program; a large part is no line.",
                0.45,
            )
        else:
            explanation, weight = f"“{name}” is a name in the model’s program.", 0.7 if in_quotes else 0.6
        found.append(Detection("F2", match.start(), match.end(), explanation, weight))
    return found


DETECTOR = Detector(
    name="code-pointing",
    version=1,
    clauses=("F2",),
    finds="line numbers, quotations, names of the model's programs",
    ignores="names that the statement uses; functions are a notice",
    find=find_code_references,
)
