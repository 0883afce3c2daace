"""Model drafts of a session: the tutor model of its protocol, the draft that is on offer, and what became of drafts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from benchmark.model_calls import caps, catalogue
from benchmark.model_calls.ledger import Account
from benchmark.models import LanguageModel
from benchmark.models.spending import Purpose
from tutoring.models import DraftRequest, Event, Session
from tutoring.models.payloads import DraftInserted, DraftUse, ModelDraft
from tutoring.protocols import Rules
from tutoring.sessions.spending import study_key_of


def tutor_model_of(session: Session, rules: Rules) -> LanguageModel:
    """Return the row of the protocol's tutor model, or an unsaved one for a `provider:model`.

    Raises ModelSpecError and CatalogueError.
    """
    if not rules.draft_model:
        return session.model or LanguageModel(spec=session.model_spec)
    return catalogue.named_unsaved(rules.draft_model)


def draft_account(session: Session, rules: Rules) -> Account:
    """Return the account of the session's next draft. Raises ModelSpecError and CatalogueError."""
    model = tutor_model_of(session, rules)
    return Account.of_model(model, Purpose.MODEL_DRAFT, study_key_of(session))


def draft_refusal(account: Account) -> str:
    """Return why no draft can be requested now because of a spending cap, or blank. The tutor reads it."""
    if not caps.exist() or not caps.refusal(account):
        return ""
    return (
        "The spending limit of this site allows no draft now. Write the message yourself, and tell an admin."
    )


def since_last_message(events: Sequence[Event]) -> list[Event]:
    """Return the events after the latest message, oldest first."""
    return list(takewhile(lambda event: event.kind != Event.Kind.MESSAGE, reversed(events)))[::-1]


def unfinished_request(events: Sequence[Event]) -> DraftRequest | None:
    """Return the request of the next message's draft that has no answer yet, or None."""
    requests = [event.pk for event in since_last_message(events) if event.kind == Event.Kind.DRAFT_REQUESTED]
    if not requests:
        return None
    return DraftRequest.objects.filter(request__in=requests, state__in=DraftRequest.UNFINISHED).first()


def offered_draft(events: Sequence[Event]) -> Event | None:
    """Return the latest draft since the last message that has a text, or None."""
    drafts = [one for one in since_last_message(events) if one.kind == Event.Kind.MODEL_DRAFT]
    return next((one for one in reversed(drafts) if one.payload_as(ModelDraft).text), None)


def uses_of(events: Sequence[Event], text: str) -> list[DraftUse]:
    """Return what becomes of each draft that was offered since the last message when this text is sent."""
    recent = since_last_message(events)
    inserted = {
        one.payload_as(DraftInserted).draft for one in recent if one.kind == Event.Kind.DRAFT_INSERTED
    }
    uses = []
    for event in recent:
        if event.kind != Event.Kind.MODEL_DRAFT or not (draft := event.payload_as(ModelDraft).text):
            continue
        if event.seq not in inserted:
            uses.append(DraftUse(draft=event.seq, use="discarded"))
        else:
            unchanged = text.strip() == draft.strip()
            uses.append(DraftUse(draft=event.seq, use="unchanged" if unchanged else "edited"))
    return uses
