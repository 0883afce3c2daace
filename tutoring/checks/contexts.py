"""The context of each tutor's message: the texts of the problem and of the events before the message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from benchmark.models import Problem, TestCase, blobs
from benchmark.text.tags import in_words
from tutoring.models import Event, Session
from tutoring.models.payloads import MessageSent, ReplyFinished, SessionOpened
from tutoring.rules.detection import MessageContext, TutorMaySay
from tutoring.rules.detectors.hidden_data import hidden_tokens

_HIDDEN_BYTES = 2_000_000
"""Bytes of hidden tests that are read per problem. More would slow a check down without finding more."""


def draft_context(session: Session, events: Sequence[Event], tutor_may_say: TutorMaySay) -> MessageContext:
    """Return the context of the next message of an open session, without hidden tests."""
    return _after(problem_context(session.problem, tutor_may_say), events)


def message_contexts(
    session: Session, events: Sequence[Event], tutor_may_say: TutorMaySay
) -> Iterator[tuple[Event, MessageContext]]:
    """Yield each recorded message of the tutor with its context, hidden tests included.

    An imported dialogue has no opening event: its first message is the prompt with the statement, and is not yielded.
    """
    context = problem_context(session.problem, tutor_may_say)
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
    """Return the context extended by the prompt and the model's replies in the events. A first message is a prompt."""
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


def problem_context(problem: Problem | None, tutor_may_say: TutorMaySay = "right_or_wrong") -> MessageContext:
    """Return the texts of the problem as the context of a message, without hidden tests."""
    if problem is None:
        return MessageContext(tutor_may_say=tutor_may_say)
    return replace(_texts(problem.pk, problem.content_hash, problem.imported_at), tutor_may_say=tutor_may_say)


# Each pause in typing needs the same texts. A changed problem has another hash or time, and is a new cache entry.
@lru_cache(maxsize=64)
def _texts(key: int, _content_hash: str, _imported_at: datetime) -> MessageContext:
    problem = Problem.objects.get(pk=key)
    samples = problem.tests.filter(origin=TestCase.Origin.SAMPLE)
    texts = [_text(digest) for test in samples for digest in (test.input_hash, test.answer_hash)]
    return MessageContext(
        statement="\n".join((problem.title, problem.statement, *texts)),
        analysis=problem.analysis,
        references=tuple(solution.source for solution in problem.references.all()),
        tags=tuple(in_words(str(tag)) for tag in problem.tags),
    )


# `check_rules` checks all sessions of a problem in sequence. The hash makes a changed problem a new cache entry.
@lru_cache(maxsize=16)
def _hidden_tokens(problem: int, _content_hash: str) -> frozenset[str] | None:
    """Return the distinctive tokens of the problem's hidden tests; None if it has no hidden tests."""
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
