"""Simulated reviews of a rehearsal: two simulated reviewers label the levels that the simulated tutors gave."""

from __future__ import annotations

import hashlib
from uuid import uuid4

from django.contrib.auth.models import User
from django.utils import timezone

from benchmark.providers.worlds import hint_level
from tutoring.models import Event, Review, Session, Study
from tutoring.models.payloads import MessageSent
from tutoring.review.actions import SubmitReview, new_review
from tutoring.review.content import Content, MessageLabels, labelled_messages
from tutoring.rules import current_rule_set
from tutoring.studies.actions import StudyRefusedError

_HELP, _NEUTRAL = "A2", "A6"
"""The clauses of a message with a hint and of one without."""

_BOTH_ABOVE, _ONE_ABOVE = 8, 6
"""Both reviewers label one in 8 hints a level higher, and each reviewer one in 6 independently."""


def review_rehearsal(study: Study, reviewers: tuple[User, User]) -> int:
    """Submit two reviews of each unreviewed session of people in a rehearsal; return the number of sessions.

    Some labels are a level higher than the hint, so that reviewers differ and some hints break a level cap. Raises
    StudyRefusedError for another study.
    """
    if not study.rehearsal:
        raise StudyRefusedError(f"{study} is not a rehearsal. Only rehearsals have simulated reviews.")
    sessions = Session.objects.filter(assignment__study=study, origin=Session.Origin.TUTORED)
    closed = list(sessions.filter(state=Session.State.CLOSED, code_generations__gt=0, reviews=None))
    for session in closed:
        for slot, reviewer in zip(Review.INDEPENDENT, reviewers, strict=True):
            review = new_review(
                session.pk, reviewer, slot, timezone.now(), content=Content(), assigned_by=None
            )
            review.save()
            labels = tuple(_labels(event, slot) for event in labelled_messages(session))
            content = Content(labels, "compliant", comment="A simulated review.")
            SubmitReview(person=reviewer, command=uuid4(), review_id=review.pk, content=content).execute()
    return len(closed)


def _labels(event: Event, slot: int) -> MessageLabels:
    level = hint_level(event.payload_as(MessageSent).text)
    if level:
        above = _is_one_of(_BOTH_ABOVE, event) or _is_one_of(_ONE_ABOVE, event, slot)
        level = min(level + above, current_rule_set().levels[-1].level)
    return MessageLabels(event.seq, (_HELP if level else _NEUTRAL,), level, "coding")


def _is_one_of(number: int, event: Event, slot: int = 0) -> bool:
    """Return whether the message is one in `number`, drawn by its session, number and slot."""
    return hashlib.sha256(f"{event.session_id} {event.seq} {slot}".encode()).digest()[0] % number == 0
