"""What each message of a session is compared with: read from its problem and from the events before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from benchmark.models import Problem, TestCase, blobs
from benchmark.text.tags import in_words
from tutoring.models import Event, Session
from tutoring.models.payloads import MessageSent, ReplyFinished, SessionOpened
from tutoring.rules.detection import MessageContext, TutorMaySay
from tutoring.rules.detectors.hidden_data import hidden_tokens

_HIDDEN_BYTES = 2_000_000
"""Bytes of hidden tests that are read of one problem: more would slow a check down and tell no more."""


def draft_context(session: Session, events: Sequence[Event], tutor_may_say: TutorMaySay) -> MessageContext:
    """What the next message of an open session is compared with. Hidden tests are no part of it."""
    return _after(_problem_context(session.problem, tutor_may_say), events)


def message_contexts(
    session: Session, events: Sequence[Event], tutor_may_say: TutorMaySay
) -> Iterator[tuple[Event, MessageContext]]:
    """Each recorded message of the tutor with what it is compared with, hidden tests included.

    An imported dialogue has no opening event: its first message is the prompt with the statement.
    """
    context = _problem_context(session.problem, tutor_may_say)
    if session.problem is not None:
        hidden = _hidden_tokens(session.problem.pk, session.problem.content_hash)
        context = replace(context, hidden_tokens=hidden)
    opened = False
    for event in events:
        if event.kind == Event.Kind.MESSAGE and opened:
            yield event, context
        elif event.kind in (Event.Kind.OPENED, Event.Kind.MESSAGE, Event.Kind.REPLY):
            context = _after(context, [event])
            opened = True


def _after(context: MessageContext, events: Sequence[Event]) -> MessageContext:
    """The context with the prompt and the model's replies among the events. A first message is a prompt."""
    payloads = [event.payload for event in events]
    prompts = [
        one.prompt if isinstance(one, SessionOpened) else one.sent
        for one in payloads[:1]
        if isinstance(one, SessionOpened | MessageSent)
    ]
    replies = [one for one in payloads if isinstance(one, ReplyFinished)]
    return replace(
        context,
        statement="\n".join((context.statement, *prompts)),
        replies=(*context.replies, *(reply.text for reply in replies)),
        programs=(*context.programs, *(reply.code for reply in replies if reply.code)),
    )


def _problem_context(problem: Problem | None, tutor_may_say: TutorMaySay) -> MessageContext:
    if problem is None:
        return MessageContext(tutor_may_say=tutor_may_say)
    samples = [test for test in problem.tests.all() if test.origin == TestCase.Origin.SAMPLE]
    texts = [_text(digest) for test in samples for digest in (test.input_hash, test.answer_hash)]
    return MessageContext(
        statement="\n".join((problem.title, problem.statement, *texts)),
        analysis=problem.analysis,
        references=tuple(solution.source for solution in problem.references.all()),
        tags=tuple(in_words(str(tag)) for tag in problem.tags),
        tutor_may_say=tutor_may_say,
    )


# A command checks many sessions of one problem one after the other.
@lru_cache(maxsize=16)
def _hidden_tokens(problem: int, content_hash: str) -> frozenset[str] | None:
    """The tokens of the problem's hidden tests that nobody guesses; None when it has no hidden tests."""
    tests = TestCase.objects.filter(problem=problem, origin=TestCase.Origin.HIDDEN)
    tokens: set[str] = set()
    read = found = 0
    for test in tests:
        for digest in (test.input_hash, test.answer_hash):
            if read < _HIDDEN_BYTES:
                text = _text(digest)[: _HIDDEN_BYTES - read]
                read += len(text)
                tokens |= hidden_tokens(text)
        found += 1
    return frozenset(tokens) if found else None


def _text(digest: str) -> str:
    return blobs.read(digest).decode("utf-8", "replace")
