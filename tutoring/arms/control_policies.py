"""The policies of the control arms, with the texts of their messages.

Each is what a tutor's session would be without guidance: with further attempts alone (`again`, `neutral`), with
verification (`verdict`), with attention (`sham`), and with the solution (`analysis`, `reference`).
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmark.methods import Chain
from tutoring.arms.policy import Act, AskCode, Decide, Execute, Policy, TutorView, stateless
from tutoring.arms.sham_hints import HINTS, hint_texts

TRY_AGAIN = "Please try again."
NOT_CORRECT = "This program is not correct. Please try again."
ANALYSIS = "This is the official analysis of the problem. Use it.\n\n{analysis}"
REFERENCE = (
    "This is the official analysis of the problem, and a program that solves it. Use both.\n\n"
    "{analysis}\n\n{program}"
)


def independent(_view: TutorView) -> Act:
    """Request a program; every message begins a new dialogue."""
    return AskCode()


def neutral(view: TutorView) -> Act:
    """Request a program, and after each one send the same neutral sentence."""
    return AskCode(TRY_AGAIN if view.messages_sent else "")


def verdict(view: TutorView) -> Act:
    """Say that the latest program is not correct, or execute it if it is correct."""
    if view.program_right:
        return Execute()
    return AskCode(NOT_CORRECT if view.programs else TRY_AGAIN if view.messages_sent else "")


def with_analysis(view: TutorView) -> Act:
    """Begin with the official analysis, and continue with the neutral sentence."""
    return AskCode(TRY_AGAIN if view.messages_sent else ANALYSIS.format(analysis=view.analysis))


def with_reference(view: TutorView) -> Act:
    """Begin with the official analysis and a reference program, and continue with the neutral sentence."""
    if view.messages_sent:
        return AskCode(TRY_AGAIN)
    assert view.references
    program = f"```{view.language}\n{view.references[0].strip()}\n```"
    return AskCode(REFERENCE.format(analysis=view.analysis, program=program))


async def begin_sham(chain: Chain) -> Decide:
    """Return a function that sends hints of other problems, each once, in the order of the run's record."""
    drawn: Mapping[str, list[list[int]]] = chain.prepared[HINTS]
    keys = drawn[chain.task.id][chain.number]
    texts = await hint_texts(chain, keys)

    def decide(view: TutorView) -> Act:
        # A reply without a program costs no generation and no hint.
        return AskCode(
            texts[len(view.programs) - 1] if view.programs else TRY_AGAIN if view.messages_sent else ""
        )

    return decide


AGAIN = Policy("again", frozenset(), stateless(independent), fresh_dialogues=True)
NEUTRAL = Policy("neutral", frozenset(), stateless(neutral), lambda: (TRY_AGAIN,))
VERDICT = Policy(
    "verdict", frozenset({"program_right"}), stateless(verdict), lambda: (NOT_CORRECT, TRY_AGAIN)
)
SHAM = Policy("sham", frozenset(), begin_sham, lambda: (TRY_AGAIN,))
WITH_ANALYSIS = Policy(
    "analysis", frozenset({"analysis"}), stateless(with_analysis), lambda: (ANALYSIS, TRY_AGAIN)
)
WITH_REFERENCE = Policy(
    "reference",
    frozenset({"analysis", "references"}),
    stateless(with_reference),
    lambda: (REFERENCE, TRY_AGAIN),
)
