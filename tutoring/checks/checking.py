"""Comparing drafts, messages and whole sessions with the rules, and recording what was found."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from tutoring.checks.contexts import draft_context, message_contexts
from tutoring.checks.findings import GENERATION_LIMIT, to_finding
from tutoring.models import Draft, Event, Finding, Reply, RuleCheck, Session
from tutoring.models.payloads import DraftCheckRecord, MessageSent, ReplyFinished
from tutoring.protocols import PRESETS, recorded_rules, rules_of
from tutoring.rules import Detection, TutorMaySay, current_rule_set
from tutoring.rules.detectors import DETECTORS, detect
from tutoring.sessions.context import RefusedError, SessionContext
from tutoring.sessions.recording import lock_session

MAXIMUM_CHECKED = 20_000
"""Characters of a draft that are checked; a longer one cannot be sent."""

_KEPT_DRAFTS = 100
"""Texts that were warned of and are kept until the next message: enough to see what was tried."""


@dataclass(frozen=True)
class CheckDraft:
    """Say what in a draft may break the rules. What was warned of is kept, and recorded with the next message."""

    session_id: UUID
    person: User
    text: str

    def execute(self) -> list[Detection]:
        """Raises Session.DoesNotExist when it is not the tutor's session, RefusedError when the text is too long."""
        session = Session.objects.select_related("protocol", "problem").get(
            pk=self.session_id, tutor=self.person, protocol__isnull=False
        )
        assert session.protocol is not None
        rules = rules_of(session.protocol)
        if len(self.text) > MAXIMUM_CHECKED:
            raise RefusedError("The draft is too long to be checked.")
        if rules.draft_check == "off" or session.state != Session.State.OPEN:
            return []
        detections = detect(
            self.text, draft_context(session, list(session.events.all()), rules.tutor_may_say)
        )
        found = [detection.to_json() for detection in detections]
        # Most checks find what the one before found: they need not wait for the session's lock.
        if _is_news(Draft.objects.filter(session=session).first(), found):
            self._keep(found)
        return detections

    def _keep(self, found: list[dict[str, Any]]) -> None:
        with transaction.atomic():
            session = lock_session(self.session_id)
            if session.replies.filter(state__in=Reply.UNFINISHED).exists():
                return  # the answer was overtaken by the message: what was sent is recorded with it
            draft, _ = Draft.objects.get_or_create(session=session)
            if _is_news(draft, found):
                draft.checks.append(
                    {"at": timezone.now().isoformat(), "text": self.text, "detections": found}
                )
                draft.save(update_fields=["checks"])


def _is_news(draft: Draft | None, found: list[dict[str, Any]]) -> bool:
    """Whether a text is warned of in another way than the one that was kept last."""
    kept = draft.checks if draft else []
    before = kept[-1]["detections"] if kept else []
    return bool(found) and len(kept) < _KEPT_DRAFTS and _kinds(found) != _kinds(before)


def _kinds(detections: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(detection["clause"], detection["detector"]) for detection in detections]


def check_message(context: SessionContext, text: str) -> DraftCheckRecord | None:
    """What a message's event records of its check; None where the protocol has none, and in the debrief.

    Raises RefusedError when the protocol blocks what the message holds.
    """
    rules, session = context.rules, context.session
    if rules.draft_check == "off" or session.state == Session.State.CLOSED:
        return None
    detections = detect(text, draft_context(session, context.events, rules.tutor_may_say))
    if rules.draft_check == "blocking" and (stopped := [one for one in detections if one.blocking]):
        places = "; ".join(f"“{text[one.start : one.end][:80]}”: {one.explanation}" for one in stopped)
        raise RefusedError(f"The protocol does not let this be sent. {places}")
    draft = Draft.objects.filter(session=session).first()
    return DraftCheckRecord.model_validate(
        {
            "rule_set": rules.rule_set,
            "rule_set_hash": rules.rule_set_hash,
            "mode": rules.draft_check,
            "detections": [detection.to_json() for detection in detections],
            "drafts": draft.checks if draft else [],
        }
    )


def check_once_closed(session: Session) -> None:
    """Check the session after the transaction that closes it. A fault there is logged and undoes nothing."""
    transaction.on_commit(lambda: check_session(session), robust=True)


def check_session(session: Session) -> RuleCheck:
    """Run the detectors over a recorded session and store what they find under the current rule set.

    The debrief is not looked at: the rules do not hold there.

    Nothing is written when this was done before and nothing that it hangs on has changed.
    """
    events = [event for event in session.events.all() if not event.out_of_protocol]
    limit, tutor_may_say = _terms(session)
    rules = current_rule_set()
    detectors = {detector.name: detector.version for detector in DETECTORS}
    problem = session.problem
    basis = [
        rules.content_hash,
        detectors,
        limit,
        tutor_may_say,
        problem and problem.content_hash,
        len(events),
    ]
    digest = hashlib.sha256(json.dumps(basis, sort_keys=True).encode()).hexdigest()
    existing = session.rule_checks.filter(basis=digest).first()
    if existing is not None:
        return existing
    found = [
        (event, detection)
        for event, context in message_contexts(session, events, tutor_may_say)
        for detection in detect(event.payload_as(MessageSent).text, context)
    ]
    with transaction.atomic():
        check, created = RuleCheck.objects.get_or_create(
            session=session,
            basis=digest,
            defaults={
                "rule_set": rules.version,
                "rule_set_hash": rules.content_hash,
                "detectors": detectors,
            },
        )
        if created:
            findings = [to_finding(check, event, detection) for event, detection in found]
            Finding.objects.bulk_create(_exceeded(check, events, limit) + findings)
    return check


def _terms(session: Session) -> tuple[int | None, TutorMaySay]:
    """Return the session's limit of generations and what its tutor may say.

    Without a known protocol the limit is None, and messages are compared with what `usaco-2024` allows.
    """
    rules = recorded_rules(session)
    if rules is None:
        return None, PRESETS["usaco-2024"].tutor_may_say
    return rules.code_generations, rules.tutor_may_say


def _exceeded(check: RuleCheck, events: list[Event], limit: int | None) -> list[Finding]:
    """Return a finding at the first reply beyond the limit of generations (docs/spec.md 8.1); none without a limit."""
    if limit is None:
        return []
    replies = [event for event in events if event.kind == Event.Kind.REPLY]
    generations = [event for event in replies if event.payload_as(ReplyFinished).generation is not None]
    if len(generations) <= limit:
        return []
    return [
        Finding(
            rule_check=check,
            event=generations[limit],
            clause=GENERATION_LIMIT,
            detector="generation-count",
            version=1,
            start=0,
            end=0,
            explanation=f"{len(generations)} code generations, the protocol allows {limit}",
            weight=1.0,
            counts={"found": len(generations), "allowed": limit},
        )
    ]
