"""Commands about model drafts: request one from the tutor model, and put it into the message field.

Neither sends anything to the student. `SendMessage` records what became of each draft.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from benchmark.model_calls.catalogue import CatalogueError
from benchmark.providers import ModelSpecError
from tutoring.actions.base import SessionAction
from tutoring.models import DraftRequest, Session
from tutoring.models.payloads import DraftInserted, DraftRequested
from tutoring.notifications import notify_streamers
from tutoring.sessions.context import RefusedError, SessionContext
from tutoring.sessions.model_drafts import draft_account, draft_refusal, offered_draft
from tutoring.sessions.recording import append_event


@dataclass(frozen=True, kw_only=True)
class RequestDraft(SessionAction):
    """An action that requests a draft of the next message from the protocol's tutor model. A streamer writes it."""

    def perform(self, session: Session) -> None:
        context = SessionContext.of(session)
        context.refuse_unless_allowed("request_draft")
        try:
            account = draft_account(session, context.rules)
        except (CatalogueError, ModelSpecError):
            # The reason names the model, which tutors must not learn.
            raise RefusedError(
                "No model is available for drafts now. Write the message yourself, and tell an admin."
            ) from None
        if refusal := draft_refusal(account):
            raise RefusedError(refusal)
        request = append_event(session, DraftRequested(), actor=self.person, command=self.command)
        DraftRequest.objects.create(session=session, request=request)
        transaction.on_commit(notify_streamers)


@dataclass(frozen=True, kw_only=True)
class InsertDraft(SessionAction):
    """An action that records that the tutor puts the model draft on offer into the message field."""

    def perform(self, session: Session) -> None:
        context = SessionContext.of(session)
        context.refuse_unless_allowed("insert_draft")
        offered = offered_draft(context.events)
        assert offered is not None
        append_event(session, DraftInserted(draft=offered.seq), actor=self.person, command=self.command)
