"""The program of a reply, and which replies count as generations of code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from benchmark.extraction import Ended, counts_as_generation, extract_program
from tutoring.protocols import Rules

# A chain of a run counts its replies twice: when it continues, and when it is recorded.
_counts = lru_cache(maxsize=1024)(counts_as_generation)


@dataclass(frozen=True)
class ReplyProgram:
    """The program of a reply. `code` is None unless the reply counts as a generation; `rule` chose the program."""

    code: str | None
    rule: str
    counts: bool
    hidden: bool
    """Whether the protocol hides the program from the tutor."""


def program_of(
    text: str, ended: Ended, rules: Rules, *, code_requested: bool, in_protocol: bool
) -> ReplyProgram:
    """Return the program of a reply. No reply to a message outside the protocol counts."""
    found = extract_program(text, rules.language)
    counts, hidden = False, False
    if in_protocol:
        counts, hidden = count_reply(text, ended, rules, code_requested=code_requested)
    return ReplyProgram(found.code if counts else None, found.rule, counts, hidden)


def count_reply(text: str, ended: Ended, rules: Rules, *, code_requested: bool) -> tuple[bool, bool]:
    """Return whether the reply counts as a generation, and whether the protocol hides its program from the tutor.

    A program that was not requested does not count if the protocol hides it (docs/spec.md 8.1).
    """
    if not code_requested and rules.unsolicited_code != "count":
        return False, _counts(text, rules.language, Ended.COMPLETE)
    return _counts(text, rules.language, ended), False
