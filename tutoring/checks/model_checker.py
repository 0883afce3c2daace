"""The model checker: the prompt that asks a model whether a message breaks the rules, and the parser of its answer.

The check is optional and off by default. Findings of recorded sessions are never shown to tutors; those of a draft are
shown if the protocol names a checker model. The prompt contains the statement, the last reply, the message and the
forbidden clauses. It contains neither the official solution nor hidden tests nor the name of the tutored model.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from tutoring.rules.detection import WARNING, Detection, MessageContext
from tutoring.rules.rule_set import RuleSet

NAME, VERSION = "model-checker", 1

MOST_FINDINGS = 10
"""The most findings of one draft that are kept. An answer with more is a loop."""

_LONGEST_REASON = 300


class UnreadableAnswerError(Exception):
    """The model's answer does not have the requested form. The message says why."""


@cache
def _template() -> str:
    return Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").strip()


def prompt_hash(rules: RuleSet) -> str:
    """Return the sha256 of the parts that all prompts share: the template and the text of the rules."""
    return hashlib.sha256(f"{_template()}\0{_rules_text(rules)}".encode()).hexdigest()


def prompt(text: str, context: MessageContext, rules: RuleSet) -> str:
    """Return the prompt about one message."""
    parts = {
        "rules": _rules_text(rules),
        "statement": context.statement.strip() or "(unknown)",
        "reply": context.replies[-1].strip() if context.replies else "(nothing yet)",
        "message": text,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _template())


def _rules_text(rules: RuleSet) -> str:
    return "\n\n".join(
        f"{clause.code}. {clause.title}. {clause.definition}\n"
        f"Breaks it: {clause.forbidden_example}\n"
        f"Does not: {clause.allowed_example}\n"
        f"On the line: {clause.borderline_example} {clause.borderline_decision}"
        for clause in rules.forbidden
    )


def read_answer(answer: str, text: str, rules: RuleSet) -> list[Detection]:
    """Return the passages of `text` that the answer names.

    If a quotation is not in the text, the detection covers the whole message. Raise UnreadableAnswerError unless the
    answer contains a JSON list of objects with known clauses.
    """
    detections = []
    for one in _objects(answer):
        if str(one.get("clause")) not in rules.forbidden_codes:
            raise UnreadableAnswerError(f"the answer names the unknown clause {one.get('clause')!r}")
        detections.append(_quoted(one, text) or _detection(one, 0, len(text)))
    return detections


def read_answer_about_draft(answer: str, text: str, rules: RuleSet) -> list[Detection]:
    """Return the passages of a draft that the answer quotes exactly, each once per clause and MOST_FINDINGS at most.

    Everything else is dropped: unknown clauses, quotations that are not in the draft, and answers of another form.
    """
    try:
        found = _objects(answer)
    except UnreadableAnswerError:
        return []
    passages: dict[tuple[str, int, int], Detection] = {}
    for one in found:
        if str(one.get("clause")) in rules.forbidden_codes and (detection := _quoted(one, text)):
            passages.setdefault((detection.clause, detection.start, detection.end), detection)
    return sorted(passages.values(), key=lambda one: (one.start, one.end, one.clause))[:MOST_FINDINGS]


def detection(clause: str, start: int, end: int, reason: str) -> Detection:
    """Return a detection of the model checker. Its weight makes it a warning that never blocks a message."""
    return Detection(clause, start, end, reason, WARNING, detector=NAME, version=VERSION)


def _objects(answer: str) -> list[dict[str, Any]]:
    """Return the JSON list of objects in an answer. Raises UnreadableAnswerError."""
    begin, end = answer.find("["), answer.rfind("]")
    try:
        found: Any = json.loads(answer[begin : end + 1] if begin >= 0 else answer)
    except (ValueError, RecursionError):
        raise UnreadableAnswerError(f"the answer is not JSON: {answer[:100]!r}") from None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise UnreadableAnswerError(f"the answer is not a list of objects: {answer[:100]!r}")
    return found


def _quoted(one: dict[str, Any], text: str) -> Detection | None:
    """Return the detection of the quoted passage; None if the text does not contain the quotation."""
    quote = str(one.get("quote") or "")
    start = text.find(quote)
    return _detection(one, start, start + len(quote)) if quote.strip() and start >= 0 else None


def _detection(one: dict[str, Any], start: int, end: int) -> Detection:
    reason = str(one.get("reason") or "no reason given")[:_LONGEST_REASON].replace("\0", "")
    reason = reason.encode("utf-8", "ignore").decode()  # no database stores half of a surrogate pair
    return detection(str(one["clause"]), start, end, reason)
