"""The prompts of a tutor's model. They hold what `TutorView` holds: no hidden tests and no results that quote them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from benchmark.prompts import Prompt
from benchmark.providers import Message
from tutoring.arms.policy import TutorView
from tutoring.arms.tutor.guard import LONGEST
from tutoring.models.payloads import GuardRefusal
from tutoring.protocols import Rules
from tutoring.rules import Clause, RuleSet, current_rule_set, rule_set
from tutoring.sessions.dialogue import opening_prompt

MOST_TALKS = 3
"""Messages in a row that request no program; the next one requests a program, whatever the model answers."""

_PROMPTS = Path(__file__).parent / "prompts"


def texts() -> tuple[str, ...]:
    """Return the templates of all prompts."""
    return tuple(path.read_text(encoding="utf-8") for path in sorted(_PROMPTS.glob("*.txt")))


@cache
def _template(name: str) -> str:
    return (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8")


def _fill(name: str, values: Mapping[str, str]) -> str:
    """Return the template with its {{names}} replaced in one pass: a statement may contain braces itself."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match.group(1)], _template(name)).strip()


def first_prompt(view: TutorView, rules: Rules, cap: int | None, template_hash: str) -> Prompt:
    """Return the prompt for the first draft of a turn."""
    return Prompt((Message("user", f"{_role(rules, cap)}\n\n{_turn(view)}"),), template_hash)


def next_prompt(before: Prompt, draft: str, objection: str) -> Prompt:
    """Return the prompt for another draft after an objection to this one."""
    # Providers refuse empty messages.
    answered = Message("assistant", draft.strip() or "(no answer)")
    return Prompt((*before.messages, answered, Message("user", objection)), before.template_hash)


def unparsable_text(fault: str) -> str:
    """Return the objection to a reply that is not an answer."""
    return _fill("unparsable", {"fault": fault})


def refused_text(refusals: Sequence[GuardRefusal]) -> str:
    """Return the objection to a draft that the guard refused, with each clause and quotation."""
    lines = [
        f"- {one.clause}: {one.explanation}"
        + (f" Passage: {json.dumps(one.quotation)}" if one.quotation else "")
        for one in refusals
    ]
    return _fill("refused", {"refusals": "\n".join(lines)})


def _role(rules: Rules, cap: int | None) -> str:
    codebook = rule_set(rules.rule_set) if rules.rule_set else current_rule_set()
    return _fill(
        "role",
        {
            "rules": "\n".join(_clause(clause) for clause in codebook.clauses),
            "levels": _levels(codebook),
            "cap": "" if cap is None else f"\nNo message may have a level above {cap}.\n",
            "verdicts": rules.verdict_policy,
            "longest": str(LONGEST),
            "talks": str(MOST_TALKS),
        },
    )


def _clause(clause: Clause) -> str:
    kind = "Forbidden" if clause.kind == "forbidden" else "Allowed"
    return (
        f"{clause.code} ({kind}). {clause.title}. {clause.definition}\n"
        f"  Allowed: {clause.allowed_example}\n"
        f"  Forbidden: {clause.forbidden_example}\n"
        f"  Borderline: {clause.borderline_example} ({clause.borderline_decision})"
    )


def _levels(codebook: RuleSet) -> str:
    return "\n".join(
        f"{one.level}: {one.title}. {one.definition} Example: {one.example}" for one in codebook.levels
    )


def _turn(view: TutorView) -> str:
    facts = ""
    if view.analysis is not None:
        facts += (
            f"\nOnly you see the official analysis.\n\n<analysis>\n{view.analysis.strip()}\n</analysis>\n"
        )
    if view.references is not None:
        programs = "\n\n".join(program.strip() for program in view.references)
        facts += f"\nOnly you see programs that solve the problem.\n\n<programs>\n{programs}\n</programs>\n"
    return _fill(
        "turn",
        {
            "problem": opening_prompt(view.problem, view.language),
            "facts": facts,
            "dialogue": "\n".join(_dialogue(view)),
            "generations": str(view.budget.code_generations),
            "executions": str(view.budget.executions),
        },
    )


def _dialogue(view: TutorView) -> list[str]:
    """Return the dialogue without the opening prompt, as lines of JSON, which no text in them can break out of."""
    lines, number = [], 0
    for turn in view.dialogue[1:]:
        line: dict[str, str | int] = {"from": "student" if turn.role == "assistant" else "tutor"}
        if number < len(view.programs) and turn.role == "assistant" and view.programs[number] in turn.content:
            number += 1
            line["program"] = number
        lines.append(_line(line | {"text": turn.content}))
    return lines


def _line(values: Mapping[str, str | int]) -> str:
    """Return the values as one line of JSON. Unprintable characters are escaped.

    Some of them, such as U+2028, end a line for some readers, and others change the direction of the text.
    """
    text = json.dumps(values, ensure_ascii=False)
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)
