"""Replays of a session's hints in exported trajectories, under the key `replays`, for researchers only."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.db.models import Q, prefetch_related_objects

from tutoring.models import HintCard, Placement, ReplayDraw, Session


def to_records(session: Session) -> list[dict[str, Any]]:
    """Return the cards of the session as plain JSON values: `event` is the message's number.

    A card holds its placements, and a placement its draws of all arms. Draws without the hint are those of the state,
    which several cards may share. The text of a sham is named by session and message, not repeated.
    """
    prefetch_related_objects([session], "events__hint_cards")
    cards = [card for event in session.events.all() for card in event.hint_cards.all()]
    return [
        {
            "card": card.pk,
            "event": card.event.seq,
            "position": card.position,
            "requested_code": card.requested_code,
            "text": card.text,
            "rule_set": card.rule_set,
            "level": card.level,
            "stage": card.stage,
            "clauses": card.clauses,
            "placements": _placements(card),
        }
        for card in cards
    ]


def _placements(card: HintCard) -> list[dict[str, Any]]:
    placements = list(
        card.placements.select_related("state__run__model", "state__problem__dataset")
        .prefetch_related("labels")
        .order_by("pk")
    )
    draws = _draws(card, placements)
    return [
        {
            "replay": str(one.state.run_id),
            "model": one.state.run.model_spec,
            "parameters": one.state.run.parameters,
            "mode": one.state.run.mode,
            "selection": one.state.run.selection,
            "fixed_at": one.state.run.fixed_at.isoformat(),
            "state": one.state.key,
            "program": one.state.program,
            "fit": one.fit or None,
            "overlap": one.overlap,
            "agreement": one.agreement,
            "labels": [
                {"by": label.by, "value": label.value, "at": label.labelled_at.isoformat()}
                for label in (one.labels.all() if one.state.run.labels_fixed else ())
            ],
            "draws": draws[one.state_id],
        }
        for one in placements
    ]


def _draws(card: HintCard, placements: list[Placement]) -> dict[int, list[dict[str, Any]]]:
    rows = ReplayDraw.objects.filter(
        ~Q(arm="hint") | Q(card=card), state__in=[one.state_id for one in placements]
    ).select_related("card__event")
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for draw in rows.order_by("pk"):
        sham = draw.card if draw.arm == ReplayDraw.Arm.SHAM else None
        found[draw.state_id].append(
            {
                "arm": draw.arm,
                "draw": draw.number,
                "sham": {"session": str(sham.event.session_id), "event": sham.event.seq} if sham else None,
                "prompt_hash": draw.prompt_hash,
                "reply": draw.reply,
                "reasoning": draw.reasoning,
                "program": draw.program,
                "right": draw.right,
                "uptake": draw.uptake,
                "model_returned": draw.model_returned,
                "input_tokens": draw.input_tokens,
                "output_tokens": draw.output_tokens,
                "cached_input_tokens": draw.cached_input_tokens,
                "reasoning_tokens": draw.reasoning_tokens,
                "latency": draw.latency,
                "finish_reason": draw.finish_reason or None,
                "request_id": draw.request_id or None,
                "at": draw.created_at.isoformat(),
            }
        )
    return found
