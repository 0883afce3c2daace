"""Erasure of what replays keep of sessions, for the withdrawal of a person."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q

from tutoring.models import HintCard, Placement, ReplayDraw, ReplayRun, ReplayState


def erase_replays(sessions: Sequence[UUID]) -> tuple[int, set[int]]:
    """Erase the cards of sessions with all placements and draws that hold their words. Call it in a transaction.

    These are the states whose dialogue is a session's, the draws after its hints, and those after its hints as shams.
    Figures of the runs that lose rows are deleted; the next resumption computes them again. Return the number of
    cards, and the judgements that the erased rows named, which nothing else may use.
    """
    cards = HintCard.objects.filter(event__session__in=sessions)
    keys = list(cards.values_list("pk", flat=True))
    states = ReplayState.objects.filter(placements__card__in=keys)
    transplanted = set(states.filter(run__mode=ReplayRun.Mode.TRANSPLANT).values_list("pk", flat=True))
    draws = ReplayDraw.objects.filter(Q(state__in=transplanted) | Q(card__in=keys))
    judgements = {
        key
        for rows in (cards, draws, ReplayState.objects.filter(pk__in=transplanted))
        for key in rows.values_list("judgement", flat=True)
        if key is not None
    }
    runs = {*states.values_list("run", flat=True), *draws.values_list("state__run", flat=True)}
    draws.delete()
    Placement.objects.filter(card__in=keys).delete()
    ReplayState.objects.filter(pk__in=transplanted).delete()
    for state in ReplayState.objects.filter(run__in=runs):
        if not set(state.shams).isdisjoint(keys):
            state.shams = [card for card in state.shams if card not in keys]
            state.save(update_fields=["shams"])
    ReplayRun.objects.filter(pk__in=runs).update(figures=None)
    cards.delete()
    return len(keys), judgements
