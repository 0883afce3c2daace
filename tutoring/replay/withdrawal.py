"""Erasure of what replays keep of a session, for the withdrawal of a person."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from tutoring.models import HintCard, Placement, ReplayDraw, ReplayRun, ReplayState


@transaction.atomic
def erase_replays(session: UUID) -> int:
    """Delete the cards of a session with all placements and draws that hold its words; return the number of cards.

    These are the states whose dialogue is the session's, the draws after its hints, and those after its hints as
    shams. Figures of the runs that lose rows are deleted; the next resumption computes them again.
    """
    cards = HintCard.objects.filter(event__session=session)
    keys = list(cards.values_list("pk", flat=True))
    placed = ReplayState.objects.filter(placements__card__in=keys)
    drawn = ReplayState.objects.filter(draws__card__in=keys)
    runs = set(placed.values_list("run", flat=True)) | set(drawn.values_list("run", flat=True))
    transplanted = placed.filter(run__mode=ReplayRun.Mode.TRANSPLANT)
    ReplayState.objects.filter(pk__in=list(transplanted.values_list("pk", flat=True))).delete()
    ReplayDraw.objects.filter(card__in=keys).delete()
    Placement.objects.filter(card__in=keys).delete()
    for state in ReplayState.objects.filter(run__in=runs):
        if set(state.shams) & set(keys):
            state.shams = [card for card in state.shams if card not in keys]
            state.save(update_fields=["shams"])
    ReplayRun.objects.filter(pk__in=runs).update(figures=None)
    cards.delete()
    return len(keys)
