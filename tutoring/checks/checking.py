"""Checks of drafts, messages and recorded sessions by the detectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from tutoring.checks import model_checker
from tutoring.checks.contexts import draft_context, message_contexts
from tutoring.checks.draft_checker import PendingQuestion, findings_by_model
from tutoring.checks.findings import GENERATION_LIMIT, to_finding
from tutoring.checks.level_cap import cap_findings, cap_warnings, levels_above_cap
from tutoring.checks.recording import basis_of, record_check, repeat_check
from tutoring.models import DraftWarning, Event, Finding, RuleCheck, Session
from tutoring.models.payloads import DraftCheckRecord, MessageSent, ReplyFinished
from tutoring.protocols import PRESETS, Rules, recorded_rules, rules_of_session
from tutoring.rules import Detection, MessageContext, TutorMaySay, current_rule_set
from tutoring.rules.detectors import detect, detectors
from tutoring.sessions.context import RefusedError, SessionContext
from tutoring.sessions.dialogue import MAXIMUM_MESSAGE

_MOST_RECORDED_DRAFTS = 100
"""Drafts with findings that are recorded between two messages."""

GENERATION_COUNT, GENERATION_COUNT_VERSION = "generation-count", 1
"""Name and version of the check of the generation budget, stored as the detector of its finding."""


@dataclass(frozen=True)
class CheckDraft:
    """The check of a draft by detectors and, apart from them, by the checker model of the protocol.

    A draft with findings is stored and recorded with the next message.
    """

    session_id: UUID
    person: User
    text: str
    intended_level: int | None = None

    def execute(self) -> list[Detection]:
        """Return the detections in the draft; none if the protocol has no draft check or the session is not open.

        An empty draft has none, but its check makes the next one in this session fast.

        Raise Session.DoesNotExist for another tutor's session and RefusedError for a text that is too long.
        """
        session, rules = self._session()
        if rules.draft_check == "off" or session.state != Session.State.OPEN:
            return []
        events = list(session.events.all())
        context = draft_context(session, events, rules.tutor_may_say)
        if not self.text.strip():
            from tutoring.rules.reading import prepare  # deferred like the detectors

            prepare(context)
            return []
        detections = self._detections(context, rules)
        self._record(detections, _last_message(events))
        return detections

    def model_findings(self, question: PendingQuestion | None = None) -> list[Detection] | PendingQuestion:
        """Return the findings of the protocol's checker model in the draft, or the question while it is open.

        `question` is what an earlier call returned. Raise what `execute` raises.
        """
        session, rules = self._session()
        unchecked = rules.draft_check == "off" or not rules.checker_model
        if unchecked or session.state != Session.State.OPEN or not self.text.strip():
            return []
        if question is not None and question.is_open:
            return question
        events = list(session.events.all())
        context = draft_context(session, events, rules.tutor_may_say)
        found = findings_by_model(session, self.text, context, rules)
        if found and not isinstance(found, PendingQuestion):
            self._record(self._detections(context, rules) + found, _last_message(events))
        return found

    def _session(self) -> tuple[Session, Rules]:
        session = Session.objects.select_related("protocol", "problem").get(
            pk=self.session_id, tutor=self.person, protocol__isnull=False
        )
        if len(self.text) > MAXIMUM_MESSAGE:
            raise RefusedError(
                f"The draft has {len(self.text):,} characters; at most {MAXIMUM_MESSAGE:,} can be checked."
            )
        return session, rules_of_session(session)

    def _detections(self, context: MessageContext, rules: Rules) -> list[Detection]:
        detections = detect(self.text, context)
        return detections + cap_warnings(rules, self.text, detections, self.intended_level)

    def _record(self, detections: Sequence[Detection], last_message: Event | None) -> None:
        """Store the draft with these findings, unless those of the last stored draft are alike.

        `last_message` is the last message at the start of the check.
        """
        found = [detection.to_json() for detection in detections]
        # Most checks repeat the previous result and must not wait for the lock of the session.
        if self._differs_from_last(found):
            self._store(found, last_message)

    def _store(self, found: list[dict[str, Any]], last_message: Event | None) -> None:
        with transaction.atomic():
            Session.objects.lock(self.session_id)
            if Event.objects.filter(session=self.session_id, kind=Event.Kind.MESSAGE).last() != last_message:
                return  # a message was sent during the check and records its own one
            if last_message is not None and last_message.payload_as(MessageSent).text == self.text:
                return  # the page checked the draft while it sent it
            warnings = DraftWarning.objects.filter(session=self.session_id)
            if self._differs_from_last(found) and warnings.count() < _MOST_RECORDED_DRAFTS:
                DraftWarning.objects.create(session_id=self.session_id, text=self.text, detections=found)

    def _differs_from_last(self, found: list[dict[str, Any]]) -> bool:
        """Return whether the findings differ in clause or detector from those of the last stored draft.

        Findings of a model also differ if the text does: the message records those that were shown for its own text.
        """
        if not found:
            return False
        last = DraftWarning.objects.filter(session=self.session_id).last()
        pairs = _clauses_and_detectors(found)
        if last is None or pairs != _clauses_and_detectors(last.detections):
            return True
        return self.text != last.text and any(detector == model_checker.NAME for _, detector in pairs)


def _last_message(events: Sequence[Event]) -> Event | None:
    return next((event for event in reversed(events) if event.kind == Event.Kind.MESSAGE), None)


def _shown_by_model(warnings: Sequence[DraftWarning], text: str) -> list[dict[str, Any]]:
    """Return the findings of the checker model that the page showed for this text."""
    shown = [warning.detections for warning in warnings if warning.text == text]
    return [one for one in (shown[-1] if shown else []) if one["detector"] == model_checker.NAME]


def _clauses_and_detectors(detections: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(detection["clause"], detection["detector"]) for detection in detections]


def check_message(
    context: SessionContext, text: str, intended_level: int | None = None
) -> DraftCheckRecord | None:
    """Return the check that a message's event records; None if the protocol has no draft check, and in the debrief.

    Raise RefusedError if the protocol has a blocking check and the message contains blocked passages.
    """
    rules, session = context.rules, context.session
    if rules.draft_check == "off" or session.state == Session.State.CLOSED:
        return None
    detections = detect(text, draft_context(session, context.events, rules.tutor_may_say))
    detections += cap_warnings(rules, text, detections, intended_level)
    if rules.draft_check == "blocking" and (blocked := [one for one in detections if one.blocking]):
        passages = "; ".join(f"“{text[one.start : one.end][:80]}”: {one.explanation}" for one in blocked)
        raise RefusedError(f"The protocol blocks this message. {passages}")
    warnings = list(session.draft_warnings.all())
    return DraftCheckRecord.model_validate(
        {
            "rule_set": rules.rule_set,
            "rule_set_hash": rules.rule_set_hash,
            "mode": rules.draft_check,
            "detections": [one.to_json() for one in detections] + _shown_by_model(warnings, text),
            "drafts": [
                {"at": one.at.isoformat(), "text": one.text, "detections": one.detections} for one in warnings
            ],
        }
    )


def check_after_commit(session: Session) -> None:
    """Check the session after the commit of the transaction that closes it or decides its reviews.

    A fault in the check is only logged.
    """
    transaction.on_commit(lambda: check_session(session), robust=True)


def check_session(session: Session) -> RuleCheck:
    """Run the detectors on a recorded session and store their findings under the current rule set.

    The debrief is excluded, because no rule applies to it. If the rules, the detectors, the problem and the session are
    those of an earlier check, return that one as the latest; see `repeat_check`.
    """
    events = [event for event in session.events.all() if not event.out_of_protocol]
    recorded = recorded_rules(session)
    limit, tutor_may_say = _protocol_limits(recorded)
    cap = None if recorded is None else recorded.level_cap
    rules = current_rule_set()
    above_cap = levels_above_cap(session, recorded, rules.version)
    versions = {name: detector.version for name, detector in detectors().items()}
    problem = session.problem
    capped = [] if cap is None else [cap, sorted(above_cap.items())]
    basis = basis_of(
        rules.content_hash,
        versions,
        limit,
        tutor_may_say,
        problem and problem.content_hash,
        len(events),
        *capped,
    )
    if (existing := repeat_check(session, basis)) is not None:
        return existing
    findings = [
        to_finding(event, detection)
        for event, context in message_contexts(session, events, tutor_may_say)
        for detection in detect(event.payload_as(MessageSent).text, context)
    ]
    findings = _exceeded_budget(events, limit) + cap_findings(events, above_cap, cap) + findings
    return record_check(session, basis, rules, findings, detectors=versions)


def _protocol_limits(rules: Rules | None) -> tuple[int | None, TutorMaySay]:
    """Return the limit of generations and what the tutor may say.

    Without a known protocol the limit is None, and the tutor may say what `usaco-2024` allows.
    """
    if rules is None:
        return None, PRESETS["usaco-2024"].tutor_may_say
    return rules.code_generations, rules.tutor_may_say


def _exceeded_budget(events: list[Event], limit: int | None) -> list[Finding]:
    """Return an unsaved finding at the first generation beyond the limit (docs/spec.md 8.1), if there is one."""
    if limit is None:
        return []
    replies = [event for event in events if event.kind == Event.Kind.REPLY]
    generations = [event for event in replies if event.payload_as(ReplyFinished).generation is not None]
    if len(generations) <= limit:
        return []
    return [
        Finding(
            event=generations[limit],
            clause=GENERATION_LIMIT,
            detector=GENERATION_COUNT,
            version=GENERATION_COUNT_VERSION,
            start=0,
            end=0,
            explanation=f"{len(generations)} code generations, the protocol allows {limit}",
            weight=1.0,
            counts={"found": len(generations), "allowed": limit},
        )
    ]
