"""Assignment of many sessions at once: the filter of the sessions, an even plan, and the action."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Literal, get_args
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import BooleanField, ExpressionWrapper, Q

from accounts.pseudonyms import pseudonym
from accounts.roles import Role, has_role
from tutoring.models import Assignment, AuditEntry, Review, Session
from tutoring.models.sessions import SessionQuerySet
from tutoring.review.actions import ReviewAction, new_review, role_for
from tutoring.review.content import Content, agreed_labels
from tutoring.review.slots import (
    Origins,
    needing_adjudication,
    needing_review,
    occupying_reviews,
    occupying_slot,
    of_origins,
)
from tutoring.rules import current_rule_set
from tutoring.sessions.context import RefusedError

LARGEST_BATCH = 2_000
"""Sessions that one command assigns at most, because its transaction blocks other writers."""

Needs = Literal["reviews", "first", "second", "adjudication"]
"""What the sessions need: one or two reviews, both reviews, the second review, or an adjudication."""

NEEDS: tuple[Needs, ...] = get_args(Needs)


@dataclass(frozen=True)
class SessionFilter:
    """Conditions on sessions that need a review. None and empty text select all sessions."""

    needs: Needs = "reviews"
    origins: Origins = "people"
    study: int | None = None
    protocol: int | None = None
    problem: str = ""
    """Text in the title or the id of the problem."""
    since: date | None = None
    """First UTC day of the recording."""
    until: date | None = None
    """Last UTC day of the recording."""

    @property
    def adjudicates(self) -> bool:
        """Whether the sessions need an adjudication."""
        return self.needs == "adjudication"

    def sessions(self, version: int, now: datetime) -> SessionQuerySet:
        """Return the matching sessions, oldest first. The order of the queue would count the reviews of all of them."""
        queue = needing_adjudication if self.adjudicates else needing_review
        found = of_origins(queue(version, now), self.origins)
        occupied = occupying_reviews(version, now).values("session")
        if self.needs == "first":
            found = found.exclude(pk__in=occupied)
        if self.needs == "second":
            found = found.filter(pk__in=occupied)
        return found.filter(self._conditions()).order_by("recorded_at", "pk")

    def first_keys(self, limit: int, version: int, now: datetime) -> tuple[list[UUID], int]:
        """Return the keys of the first `limit` matching sessions, and the number of all that match.

        Runs two queries if more match, else one.
        """
        found = self.sessions(version, now)
        keys = list(found.values_list("pk", flat=True)[: limit + 1])
        return keys[:limit], len(keys) if len(keys) <= limit else found.count()

    def _conditions(self) -> Q:
        conditions = Q()
        if self.study is not None:
            assigned = Assignment.objects.filter(study=self.study)
            conditions &= Q(pk__in=assigned.filter(session__isnull=False).values("session")) | Q(
                work_item__in=assigned.filter(work_item__isnull=False).values("work_item")
            )
        if self.protocol is not None:
            conditions &= Q(protocol=self.protocol)
        if self.problem:
            conditions &= Q(problem__title__icontains=self.problem) | Q(
                problem__external_id__icontains=self.problem
            )
        if self.since is not None:
            conditions &= Q(recorded_at__gte=datetime.combine(self.since, time(), UTC))
        if self.until is not None:
            conditions &= Q(recorded_at__lte=datetime.combine(self.until, time.max, UTC))
        return conditions


@dataclass(frozen=True)
class OpenSession:
    """A session with its free slots, and the people who may not review it."""

    session: UUID
    slots: tuple[int, ...]
    excluded: frozenset[int]


@dataclass(frozen=True)
class Plan:
    """New reviews as session, slot and person, and the number of sessions that get fewer than requested."""

    reviews: tuple[tuple[UUID, int, int], ...]
    incomplete: int

    @property
    def sessions(self) -> int:
        """The number of sessions that get a review."""
        return len({session for session, _, _ in self.reviews})

    @property
    def by_person(self) -> Counter[int]:
        """The number of new reviews of each person."""
        return Counter(person for _, _, person in self.reviews)


def spread(sessions: Sequence[OpenSession], people: Sequence[int], most: int) -> Plan:
    """Give each session up to `most` reviews by different people, as evenly as the exclusions allow.

    The sessions with the fewest possible reviewers come first, because the others can balance them.
    """
    loads = dict.fromkeys(people, 0)
    able = {one.session: [person for person in people if person not in one.excluded] for one in sessions}
    reviews: list[tuple[UUID, int, int]] = []
    incomplete = 0
    for one in sorted(sessions, key=lambda one: len(able[one.session])):
        slots = one.slots[:most]
        chosen = sorted(able[one.session], key=loads.__getitem__)[: len(slots)]
        incomplete += len(chosen) < len(slots)
        for slot, person in zip(slots, chosen, strict=False):
            loads[person] += 1
            reviews.append((one.session, slot, person))
    return Plan(tuple(reviews), incomplete)


def open_sessions(
    sessions: Sequence[UUID], reviewers: Sequence[User], version: int, now: datetime, *, adjudicates: bool
) -> list[OpenSession]:
    """Return these sessions, in their order, with their free slots. Runs two queries."""
    people = {pseudonym(person): person.pk for person in reviewers}
    tutors = Session.objects.filter(pk__in=sessions).order_by()
    excluded: defaultdict[UUID, set[int]] = defaultdict(set)
    for session, tutor, recorded_tutor in tutors.values_list("pk", "tutor", "source__head__tutor"):
        excluded[session] |= {pk for pk in (tutor, people.get(recorded_tutor)) if pk is not None}
    taken: defaultdict[UUID, set[int]] = defaultdict(set)
    reviews = Review.objects.filter(session__in=sessions, rule_set=version).order_by()
    occupies = ExpressionWrapper(occupying_slot(now), BooleanField())
    for session, reviewer, by, slot, occupying in reviews.annotate(occupies=occupies).values_list(
        "session", "reviewer", "by", "slot", "occupies"
    ):
        excluded[session] |= {pk for pk in (reviewer, people.get(by)) if pk is not None}
        if slot is not None and occupying:
            taken[session].add(slot)
    slots = (Review.ADJUDICATION,) if adjudicates else Review.INDEPENDENT
    return [
        OpenSession(
            session,
            tuple(slot for slot in slots if slot not in taken[session]),
            frozenset(excluded[session]),
        )
        for session in sessions
    ]


def plan_assignments(
    sessions: Sequence[UUID],
    reviewers: Sequence[User],
    most: int,
    version: int,
    now: datetime,
    *,
    adjudicates: bool,
) -> Plan:
    """Return the plan that `AssignMatching` carries out on these sessions, which match a filter."""
    found = open_sessions(sessions, reviewers, version, now, adjudicates=adjudicates)
    return spread(found, [person.pk for person in reviewers], most)


@dataclass(frozen=True, kw_only=True)
class AssignMatching(ReviewAction):
    """An action that assigns all sessions that match a filter, spread evenly over reviewers.

    `most` is the number of new reviews of a session. `expected` is the number of reviews that the admin confirmed; the
    action is refused if the sessions or their reviews have changed since.
    """

    selection: SessionFilter
    reviewers: tuple[User, ...]
    most: int
    expected: int

    def perform(self, now: datetime) -> None:
        self.require(Role.ADMIN)
        role = role_for(self.selection.adjudicates)
        if not self.reviewers:
            raise RefusedError("Choose at least one reviewer.")
        for person in self.reviewers:
            if not has_role(person, role):
                raise RefusedError(f"{person.get_username()} does not have the role {role}.")
        version = current_rule_set().version
        keys, count = self.selection.first_keys(LARGEST_BATCH, version, now)
        if count > LARGEST_BATCH:
            raise RefusedError(
                f"{count:,} sessions match, and one command assigns at most {LARGEST_BATCH:,}. Narrow the filters."
            )
        list(Session.objects.select_for_update().filter(pk__in=keys).order_by("pk").values_list("pk"))
        keys, _ = self.selection.first_keys(LARGEST_BATCH, version, now)  # a locked one may no longer match
        adjudicates = self.selection.adjudicates
        plan = plan_assignments(keys, self.reviewers, self.most, version, now, adjudicates=adjudicates)
        if len(plan.reviews) != self.expected:
            raise RefusedError(
                f"The sessions have changed: {len(plan.reviews):,} reviews would be assigned now, not "
                f"{self.expected:,}. Check the plan and confirm it again."
            )
        if not plan.reviews:
            raise RefusedError("None of the chosen people may review a session that matches.")
        self._store(plan, version, now)

    def _store(self, plan: Plan, version: int, now: datetime) -> None:
        people = {person.pk: person for person in self.reviewers}
        slots = (Review.ADJUDICATION,) if self.selection.adjudicates else Review.INDEPENDENT
        sessions = {session for session, _, _ in plan.reviews}
        held = Review.objects.filter(session__in=sessions, rule_set=version)
        held.filter(slot__in=slots).exclude(occupying_slot(now)).update(slot=None)
        contents: defaultdict[UUID, list[Content]] = defaultdict(list)
        if self.selection.adjudicates:
            independent = held.filter(slot__in=Review.INDEPENDENT).order_by("slot")
            for session, content in independent.values_list("session", "content"):
                contents[session].append(Content.from_json(content))
        reviews = [
            new_review(
                session,
                people[person],
                slot,
                now,
                content=agreed_labels(*contents[session]) if self.selection.adjudicates else Content(),
                assigned_by=self.person,
            )
            for session, slot, person in plan.reviews
        ]
        Review.objects.bulk_create(reviews, batch_size=500)
        names = {pk: person.get_username() for pk, person in people.items()}
        self.record(
            None,
            filters={
                name: str(value) for name, value in vars(self.selection).items() if value not in (None, "")
            },
            sessions=plan.sessions,
            reviews=len(plan.reviews),
            reviewers={names[pk]: count for pk, count in plan.by_person.items()},
        )
        AuditEntry.objects.bulk_create(
            (
                AuditEntry(
                    command=self.command,
                    action=type(self).__name__,
                    person=self.person,
                    session_id=review.session_id,
                    data={
                        "review": str(review.pk),
                        "slot": review.slot,
                        "reviewer": names[review.reviewer_id],
                    },
                )
                for review in reviews
                if review.reviewer_id is not None
            ),
            batch_size=500,
        )
