"""What a tutor's pages say about the studies in which the tutor takes part. No arm, protocol or model is named."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from tutoring.models import Assignment, Study

SHOWN_AFTER_CLOSING = timedelta(days=14)
"""How long the pages of a tutor say that a study has ended."""

OfferState = Literal["open", "offered", "next", "done", "ended"]


@dataclass(frozen=True)
class Offer:
    """The tutor's position in the studies.

    `open`: a session is open, until `until`. `offered`: one is reserved, until `until`. `next`: another one can be
    started. `done`: all sessions of the tutor are held, and the study continues. `ended`: the study has ended.
    """

    state: OfferState
    left: int
    """Sessions that the tutor has not started."""
    until: datetime | None = None
    session: UUID | None = None

    @property
    def may_start(self) -> bool:
        """Return whether the button for the next session is shown."""
        return self.state in ("offered", "next")


def current_offer(person: User) -> Offer | None:
    """Return the tutor's position; None for a tutor outside any current study. One query."""
    now = timezone.now()
    current = Assignment.objects.filter(tutor=person).exclude(study__closed_at__lt=now - SHOWN_AFTER_CLOSING)
    rows = list(
        current.order_by("study", "order").values_list("state", "study__state", "expires_at", "session")
    )
    if not rows:
        return None
    states = Counter(state for state, study, _, _ in rows if study in Study.OFFERING)
    left = states[Assignment.State.PLANNED] + states[Assignment.State.OFFERED]
    for state, study, until, session in rows:
        if state == Assignment.State.OPEN and study in Study.UNFINISHED:
            return Offer("open", left, until, session)
    for state, study, until, _ in rows:
        if (
            state == Assignment.State.OFFERED
            and study in Study.OFFERING
            and until is not None
            and until > now
        ):
            return Offer("offered", left, until)
    if states[Assignment.State.PLANNED]:
        return Offer("next", left)
    return Offer("done" if states else "ended", 0)
