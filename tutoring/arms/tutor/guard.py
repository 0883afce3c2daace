"""The guard: whether a draft of a tutor's model may be sent. It reads the draft and its context, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

from benchmark.text.program_lines import find_programs
from tutoring.arms.policy import TutorView
from tutoring.arms.tutor.answer import TutorAnswer
from tutoring.models.payloads import GuardRefusal
from tutoring.rules import MessageContext
from tutoring.rules.detectors import detect
from tutoring.sessions.dialogue import opening_prompt

LONGEST = 600
"""Characters of the longest message of a tutor's model."""

CAP, CODE, LENGTH, EXECUTE = "cap", "code", "length", "execute"
"""Clauses of the guard in addition to those of the codebook."""

_MOST_QUOTED = 200

_FENCE = re.compile(r"```|^[ \t]*~~~", re.MULTILINE)


def context_of(problem: MessageContext, view: TutorView) -> MessageContext:
    """Return the context of the next message, equal to that of a person's draft at the same place."""
    opening = opening_prompt(view.problem, view.language)
    return replace(
        problem,
        statement=f"{problem.statement}\n{opening}",
        replies=tuple(turn.content for turn in view.dialogue if turn.role == "assistant"),
        programs=tuple(code for code in view.programs if code),
    )


def refusals(
    answer: TutorAnswer, view: TutorView, context: MessageContext, cap: int | None
) -> list[GuardRefusal]:
    """Return why the draft may not be sent, each with its clause and the passage; empty: it may.

    Every warning of a detector refuses the draft, and so do a level above the cap, code, and too many characters.
    """
    if answer.act == "execute":
        if view.programs:
            return []
        return [GuardRefusal(clause=EXECUTE, quotation="", explanation="There is no program to execute yet.")]
    text, found = answer.message, []
    for one in detect(text, context):
        if one.severity == "warning":
            quotation = text[one.start : one.end][:_MOST_QUOTED]
            found.append(GuardRefusal(clause=one.clause, quotation=quotation, explanation=one.explanation))
    if cap is not None and answer.level > cap:
        explanation = f"The level of the message is {answer.level}; the highest allowed level is {cap}."
        found.append(GuardRefusal(clause=CAP, quotation="", explanation=explanation))
    if code := _code_in(text):
        found.append(GuardRefusal(clause=CODE, quotation=code, explanation="The message contains code."))
    if len(text) > LONGEST:
        explanation = f"The message has {len(text):,} characters; at most {LONGEST} are allowed."
        found.append(GuardRefusal(clause=LENGTH, quotation="", explanation=explanation))
    return found


def _code_in(text: str) -> str:
    """Return the beginning of the first program or fenced block in the text; blank without any."""
    if fence := _FENCE.search(text):
        return text[fence.start() : fence.start() + _MOST_QUOTED]
    lines = text.splitlines()
    first = next(find_programs(lines, [False] * len(lines)), None)
    return "" if first is None else "\n".join(lines[first.start : first.stop])[:_MOST_QUOTED]
