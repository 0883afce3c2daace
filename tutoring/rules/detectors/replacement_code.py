"""Detector of the tutor's own code, which replaces the model's (F2)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tutoring.rules.caseless import CaselessPattern
from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.reading import background_of, code_passages, program_names
from tutoring.rules.texts import code_spans, sentences, without_whitespace

_STATEMENT = re.compile(r"(?<![=<>!])=(?!=)|:$|;$|\breturn\b|\w\(", re.MULTILINE)
_EXAMPLE_VALUE = re.compile(
    r"[A-Za-z]\w{0,2}\s?(?:=|==|<=|<|>|>=)\s?-?[\d.,^*]+|\w{1,40}\([\d, ]{0,40}\)|[\d\s.,+*/^=-]+"
)
"""A value of the tutor's own example, such as N = 8, a call with numbers, or a calculation with numbers."""

_STRONG_CODE = re.compile(r"\[|\w\([^()]{0,60}\w[^()]{0,60}\)|[<>=!]=|[-+*/]=|\+\+|--|//|&&|\|\||%")
_QUESTIONED = CaselessPattern(
    r"\b(?:drop|remove|delete|sort|sorted|would|what\sif|shouldn[’']t|instead|rather\sthan|use|write|add|"
    r"make|put|set|should|must|replace|change|into|need|needs|becomes?|finish|end|return|give|key|argument|"
    r"muss|müssen|schreib|setze?|statt|prüfe|doit|écris|ajoute|mets|remplace|pon|usa|debe|escribe|multiply|"
    r"subtract|start|initialise)\b|改成|换成|写成|应该|加上|减去",
)


def find_replacement_code(text: str, context: MessageContext) -> list[Detection]:
    """Return code that neither the statement nor a reply of the model contains."""
    spans = code_spans(text)
    known = without_whitespace(" ".join((context.statement, *context.replies)))
    found = []
    for span in spans:
        own = without_whitespace(span.text).rstrip(";:.") in known
        if own or _EXAMPLE_VALUE.fullmatch(span.text.strip()):
            continue
        complete = _STATEMENT.search(span.text)
        explanation = (
            "This is code that the model has not written: it would replace the model’s own."
            if complete
            else "This expression is neither in the statement nor in the model’s program."
        )
        found.append(Detection("F2", span.start, span.end, explanation, 0.85 if complete else 0.5))
    taken = [(one.start, one.end) for one in found]
    found += [
        one
        for one in _expressions(text, context)
        if all(one.end <= start or end <= one.start for start, end in taken)
    ]
    return found


def _expressions(text: str, context: MessageContext) -> Iterator[Detection]:
    """Yield new expressions with names of the model's program, in sentences that suggest a change."""
    if not context.programs:
        return
    background = background_of(context)
    for sentence in sentences(text):
        if not _QUESTIONED.search(sentence.text):
            continue
        names = program_names(sentence.text, background)
        for start, end, kind in code_passages(sentence.text, background):
            code = sentence.text[start:end].strip("`")
            named = any(start <= first < end for first, _ in names) or _STRONG_CODE.search(code)
            if kind == "new" and named and code != "C++" and not _EXAMPLE_VALUE.fullmatch(code):
                explanation = "This expression is neither in the statement nor in the model’s program."
                yield Detection("F2", sentence.start + start, sentence.start + end, explanation, 0.5)


DETECTOR = Detector(
    name="replacement-code",
    version=2,
    clauses=("F2",),
    finds="code in the message; expressions with the program's names that are to be written",
    ignores="code of the statement or the model; data; values of an example",
    find=find_replacement_code,
)
