"""The messages of the arm `sham`: reviewed compliant hints of other problems, drawn before the run starts."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from benchmark.methods import Chain, PlannedRun, SettingsError
from tutoring.arms.human_sessions import ErasedMessagesError
from tutoring.models import Event, Review, ReviewOutcome, Session
from tutoring.models.payloads import MessageSent
from tutoring.review.content import COMPLIANT, Content, settled_level

HINTS = "sham_hints"
"""The key of the drawn hints in the record of a run: for each problem, for each chain, primary keys of events."""

TEXTS = "hints of other problems"
"""The name under which the texts of the drawn hints are read."""


@dataclass(frozen=True)
class Hint:
    """A message of a person in a compliant session, with its settled level (1 to 4)."""

    event: int
    problem: int
    level: int
    text: str


async def hint_texts(chain: Chain, keys: Sequence[int]) -> list[str]:
    """Return the texts of the messages with these primary keys. Raises ErasedMessagesError."""
    drawn = chain.prepared[HINTS]
    wanted = {key for chains in drawn.values() for keys_of in chains for key in keys_of}

    def read() -> dict[int, str]:
        return {event.pk: event.payload_as(MessageSent).text for event in Event.objects.filter(pk__in=wanted)}

    texts = await chain.read_once(TEXTS, read)
    if not texts.keys() >= set(keys):
        raise ErasedMessagesError
    return [texts[key] for key in keys]


def draw_hints(planned: PlannedRun, chains: int, wanted: int) -> dict[str, list[list[int]]]:
    """Return for each problem and chain the hints to send, `wanted` of each, none twice in a chain.

    Each takes the place of a hint that people gave at the problem (without any: of one at another problem): it has the
    same level, or the nearest where that is used up, and the nearest length. Raises SettingsError for too few hints.
    """
    hints = reviewed_hints(planned.dataset.pk)
    drawn = {}
    for problem in planned.problems:
        others = [hint for hint in hints if hint.problem != problem.pk]
        if len(others) < wanted:
            raise SettingsError(
                f"session-sham needs {wanted} reviewed compliant hints of other problems for {problem.external_id}; "
                f"there are {len(others)}. Review more sessions, or choose a protocol with fewer generations."
            )
        own = [hint for hint in hints if hint.problem == problem.pk] or others
        drawn[problem.external_id] = [
            _draw(own, others, wanted, f"{problem.external_id} {chain}") for chain in range(chains)
        ]
    return drawn


def _draw(own: Sequence[Hint], others: Sequence[Hint], wanted: int, seed: str) -> list[int]:
    chance = random.Random(hashlib.sha256(seed.encode()).digest())  # noqa: S311  (a sample, not a secret)
    models = [own[number % len(own)] for number in range(max(wanted, len(own)))]
    chance.shuffle(models)
    left = list(others)
    chance.shuffle(left)
    drawn = []
    for model in models[:wanted]:
        best = min(
            left, key=lambda hint: (abs(hint.level - model.level), abs(len(hint.text) - len(model.text)))
        )
        left.remove(best)
        drawn.append(best.event)
    return drawn


def reviewed_hints(dataset: int) -> list[Hint]:
    """Return the messages of level 1 or more in the dataset's sessions of people that reviews found compliant."""
    outcomes = ReviewOutcome.objects.filter(
        verdict=COMPLIANT,
        session__origin=Session.Origin.TUTORED,
        session__invalidated=False,
        session__problem__dataset=dataset,
    )
    latest = {outcome.session_id: outcome for outcome in outcomes.order_by("rule_set")}
    reviews = Review.objects.filter(session__in=latest, state=Review.State.SUBMITTED, slot__isnull=False)
    by_session: dict[UUID, list[Review]] = {}
    for review in reviews.order_by("slot"):
        if review.rule_set == latest[review.session_id].rule_set:
            by_session.setdefault(review.session_id, []).append(review)
    hints = []
    messages = Event.objects.filter(session__in=by_session, kind=Event.Kind.MESSAGE).select_related("session")
    for event in messages.order_by("session__opened_at", "session", "seq"):
        level = _settled_level(by_session[event.session_id], event.seq)
        message = event.payload_as(MessageSent)
        if level and message.text.strip() and message.phase is None:
            hints.append(Hint(event.pk, event.session.problem_id or 0, level, message.text))
    return hints


def _settled_level(reviews: Sequence[Review], seq: int) -> int | None:
    """Return the level of a message by the adjudication, else by both reviews; None: unknown."""
    decisive = [review for review in reviews if review.slot == Review.ADJUDICATION] or reviews
    return settled_level(Content.from_json(review.content).labels(seq).level for review in decisive)
