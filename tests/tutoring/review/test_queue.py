"""The review queue: who gets which session, and the outcome of the reviews."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.utils import timezone

from accounts.pseudonyms import pseudonym
from accounts.roles import Role
from tests.tutoring.dialogues import RIGHT, SessionUnderTest
from tests.tutoring.review.conftest import SessionFactory
from tests.tutoring.review.readings import claim, reading, review, submit, with_reasons
from tutoring.actions import Invalidate
from tutoring.models import AuditEntry, Event, Flag, Review, ReviewOutcome, Session
from tutoring.review import actions
from tutoring.review.actions import (
    Adjudicate,
    AnswerFlag,
    Assign,
    ClaimNext,
    RaiseFlag,
    SaveReview,
    Skip,
    Withdraw,
)
from tutoring.review.content import ClauseReason, Content, MalformedContentError, MessageLabels
from tutoring.review.slots import count_by_origin, count_for_review, reviewable, waiting_for_review
from tutoring.rules import RuleSet, current_rule_set
from tutoring.sessions.context import RefusedError


def end_lease(held: Review) -> None:
    """Let the lease of this review expire."""
    Review.objects.filter(pk=held.pk).update(lease_until=held.opened_at - timedelta(seconds=1))


def random_rows(drawn: random.Random, people: list[User]) -> None:
    """Store sessions of any kind in all states of their reviews, under two rule sets."""
    now = timezone.now()
    for _ in range(80):
        session = Session.objects.create(
            origin=drawn.choice(Session.Origin.values),
            tutor=drawn.choice([None, *people]),
            state=drawn.choice(["closed", "closed", "closed", "open"]),
            invalidated=drawn.random() < 0.2,
            code_generations=drawn.choice([0, 1, 5]),
        )
        for rule_set in (1, 2):
            held: list[Review] = []
            for reviewer in drawn.sample(people, drawn.randint(0, 3)):
                slot = len(held) + 1 if len(held) < 2 and drawn.random() < 0.8 else None
                state = drawn.choice(["open", "submitted"] if slot else ["open", "skipped", "withdrawn"])
                made = Review(session=session, rule_set=rule_set, slot=slot, reviewer=reviewer, state=state)
                made.opened_at = now
                made.lease_until = now + drawn.choice([-1, 1]) * timedelta(hours=1)
                made.save()
                held += [made] if slot else []
            if sum(one.state == "submitted" for one in held) == 2:
                verdict = drawn.choice(["", "minor"])
                ReviewOutcome.objects.create(session=session, rule_set=rule_set, verdict=verdict, at=now)


@pytest.mark.parametrize("seed", range(6))
def test_the_queue_counts_the_sessions_that_it_gives(rita: User, rolf: User, judy: User, seed: int):
    drawn = random.Random(seed)
    random_rows(drawn, [rita, rolf, judy])
    blind = drawn.sample(list(Session.objects.order_by("recorded_at").values_list("pk", flat=True)), 9)
    now, numbers = timezone.now(), []
    for of_blind_study in (Q(pk__in=()), Q(pk__in=blind)):
        for person in (rita, rolf, judy):
            found = count_for_review(person, 1, now, of_blind_study)
            assert found.sessions == reviewable().count()
            assert found.waiting == count_by_origin(waiting_for_review(person, 1, now), of_blind_study)
            numbers.append(found.waiting)
    assert len(set(numbers)) > 1
    assert any(one.automatic for one in numbers)


def assign(admin: User, session: Session, reviewer: User) -> None:
    Assign(person=admin, command=uuid4(), session_id=session.pk, reviewer=reviewer).execute()


def test_two_reviewers_and_no_third_get_a_session(
    recorded: SessionFactory, rita: User, rolf: User, judy: User
):
    recorded()
    first, second = claim(rita), claim(rolf)
    assert {first.slot, second.slot} == {1, 2}
    assert first.session == second.session
    with pytest.raises(RefusedError, match="No session needs your review"):
        claim(judy)


def test_claiming_twice_gives_the_same_session(recorded: SessionFactory, rita: User):
    recorded(), recorded()
    assert claim(rita) == claim(rita)
    assert Review.objects.count() == 1


def test_a_session_that_has_one_review_comes_before_others(recorded: SessionFactory, rita: User, rolf: User):
    recorded()
    later = recorded()
    earlier = claim(rita)
    Skip(person=rita, command=uuid4(), review_id=earlier.pk, reason="Later.").execute()
    assert review(rita).session == later
    assert claim(rolf).session == later


@pytest.mark.usefixtures("sandbox")
def test_a_tutor_cannot_review_an_own_session(session: SessionUnderTest, alice: User, person):
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    alice.groups.add(*person("helper", Role.REVIEWER).groups.all())
    with pytest.raises(RefusedError, match="No session needs your review"):
        claim(alice)
    with pytest.raises(RefusedError, match="was the tutor of this session and cannot review it"):
        assign(person("ada", Role.ADMIN), session.row, alice)
    assert claim(person("rita", Role.REVIEWER)).session == session.row


def test_nobody_reviews_an_own_session_that_was_imported_again(recorded: SessionFactory, rita: User):
    recorded(tutor=pseudonym(rita))
    with pytest.raises(RefusedError, match="No session needs your review"):
        claim(rita)


def test_a_slot_with_an_expired_lease_goes_to_another_reviewer_and_the_draft_stays(
    recorded: SessionFactory, rita: User, rolf: User, judy: User
):
    session = recorded()
    late = claim(rita)
    draft = Content((MessageLabels(1, ("A1",)),))
    SaveReview(person=rita, command=uuid4(), review_id=late.pk, content=draft).execute()
    end_lease(late)
    review(rolf), review(judy)
    assert ReviewOutcome.objects.get().verdict == "compliant"
    late.refresh_from_db()
    assert late.slot is None
    assert Content.from_json(late.content) == draft
    with pytest.raises(RefusedError, match="no further review is needed"):
        submit(late, reading(session))
    assert Review.objects.filter(state="submitted").count() == 2


def test_a_late_reviewer_continues_if_the_slot_is_still_free(recorded: SessionFactory, rita: User):
    recorded()
    late = claim(rita)
    end_lease(late)
    assert claim(rita) == late
    assert submit(late, reading(late.session)).state == "submitted"


def test_skipping_frees_the_slot_and_does_not_come_again(recorded: SessionFactory, rita: User, rolf: User):
    recorded()
    skipped = claim(rita)
    with pytest.raises(RefusedError, match="Give a reason for skipping"):
        Skip(person=rita, command=uuid4(), review_id=skipped.pk, reason=" ").execute()
    Skip(person=rita, command=uuid4(), review_id=skipped.pk, reason="I know the tutor.").execute()
    with pytest.raises(RefusedError, match="No session needs your review"):
        claim(rita)
    assert claim(rolf).slot == 1
    assert AuditEntry.objects.get(action="Skip").data["reason"] == "I know the tutor."


def test_flags_are_answered_and_not_removed(recorded: SessionFactory, rita: User, ada: User):
    recorded()
    held = claim(rita)
    RaiseFlag(person=rita, command=uuid4(), review_id=held.pk, reason="Two people speak.").execute()
    flag = Flag.objects.get()
    with pytest.raises(PermissionDenied):
        AnswerFlag(person=rita, command=uuid4(), flag_id=flag.pk, answer="So what.").execute()
    AnswerFlag(person=ada, command=uuid4(), flag_id=flag.pk, answer="Both are tutors.").execute()
    with pytest.raises(RefusedError, match="already answered"):
        AnswerFlag(person=ada, command=uuid4(), flag_id=flag.pk, answer="Again.").execute()
    flag.refresh_from_db()
    assert (flag.reason, flag.answer) == ("Two people speak.", "Both are tutors.")
    assert submit(held, reading(held.session)).state == "submitted"


def test_assignment_is_by_admins_to_reviewers(
    recorded: SessionFactory, rita: User, rolf: User, ada: User, alice: User
):
    session = recorded()
    with pytest.raises(PermissionDenied):
        assign(rita, session, rolf)
    with pytest.raises(RefusedError, match="does not have the role reviewer"):
        assign(ada, session, alice)


def test_assignment_reserves_a_slot(recorded: SessionFactory, rita: User, rolf: User, judy: User, ada: User):
    session = recorded()
    assign(ada, session, rita)
    assign(ada, session, rolf)
    with pytest.raises(RefusedError, match="already has or had a review"):
        assign(ada, session, rita)
    with pytest.raises(RefusedError, match="All review slots"):
        assign(ada, session, judy)


def test_a_withdrawn_assignment_frees_its_slot_and_keeps_the_draft(
    recorded: SessionFactory, rita: User, rolf: User, judy: User, ada: User
):
    session = recorded()
    assign(ada, session, rita)
    assign(ada, session, rolf)
    held = Review.objects.get(reviewer=rita)
    draft = Content((MessageLabels(1, ("A1",)),))
    SaveReview(person=rita, command=uuid4(), review_id=held.pk, content=draft).execute()

    def withdraw(person: User, review_id: UUID, reason: str) -> None:
        Withdraw(person=person, command=uuid4(), review_id=review_id, reason=reason).execute()

    with pytest.raises(PermissionDenied):
        withdraw(rolf, held.pk, "I want it.")
    with pytest.raises(RefusedError, match="Give a reason"):
        withdraw(ada, held.pk, " ")
    withdraw(ada, held.pk, "She knows the tutor.")
    assert AuditEntry.objects.get(action="Withdraw").data["reason"] == "She knows the tutor."
    with pytest.raises(RefusedError, match="This review is withdrawn"):
        submit(held, reading(session))
    with pytest.raises(RefusedError, match="No session needs your review"):
        claim(rita)
    held.refresh_from_db()
    assert Content.from_json(held.content) == draft
    claimed = claim(judy)
    assert claimed.slot == 1
    with pytest.raises(RefusedError, match="was not assigned"):
        withdraw(ada, claimed.pk, "Nobody assigned it.")
    with pytest.raises(RefusedError, match="This review is withdrawn"):
        withdraw(ada, held.pk, "Again.")


def test_agreeing_reviews_decide_the_session(recorded: SessionFactory, rita: User, rolf: User, judy: User):
    recorded()
    review(rita, "F1", level=4)
    assert not ReviewOutcome.objects.exists()
    review(rolf, "F1", level=3)
    outcome = ReviewOutcome.objects.get()
    assert (outcome.verdict, outcome.review) == ("minor", None)
    with pytest.raises(RefusedError, match="No session needs your review"):
        claim(judy, adjudicates=True)


@pytest.mark.parametrize("other", [("A1",), ("F1", "F2")])
def test_a_third_person_decides_where_reviews_disagree(
    recorded: SessionFactory, rita: User, rolf: User, judy: User, other: tuple[str, ...]
):
    session = recorded()
    review(rita, "F1", "A4")
    review(rolf, *other)
    assert ReviewOutcome.objects.get().verdict == ""
    with pytest.raises(PermissionDenied):
        claim(rita, adjudicates=True)
    decision = claim(judy, adjudicates=True)
    assert decision.slot == Review.ADJUDICATION
    with pytest.raises(RefusedError, match="needs a reason"):
        submit(decision, reading(session, "F1"))
    submit(decision, reading(session, "F1", verdict="major", comment="It names the heap."))
    outcome = ReviewOutcome.objects.get()
    assert (outcome.verdict, outcome.review) == ("major", decision)


def test_an_adjudication_gives_a_reason_for_each_clause_on_which_the_reviews_differ(
    recorded: SessionFactory, rita: User, rolf: User, judy: User
):
    session = recorded("a", "b")
    review(rita, "F1", "A4")
    review(rolf, "A1", "A4")
    decision = claim(judy, adjudicates=True)
    content = reading(session, "F1", "A4", comment="It names the heap.")

    def adjudicate(content: Content) -> None:
        Adjudicate(person=judy, command=uuid4(), review_id=decision.pk, content=content).execute()

    for reasons, missing in (((), "A1"), ((ClauseReason("A1", "It says more."),), "F1")):
        first, second = content.messages
        with pytest.raises(RefusedError, match=f"Message 1 needs a reason for {missing}: the reviews differ"):
            adjudicate(replace(content, messages=(replace(first, reasons=reasons), second)))
    adjudicate(with_reasons(content, decision, "It gives the algorithm."))
    stored = Content.from_json(Review.objects.get(pk=decision.pk).content)
    assert {(one.clause, one.text) for one in stored.labels(1).reasons} == {
        ("F1", "It gives the algorithm."), ("A1", "It gives the algorithm."),
    }  # fmt: skip
    assert stored.labels(3).reasons == (), "both reviews have A4, so no reason is necessary"


def test_an_independent_review_has_no_reasons(recorded: SessionFactory, rita: User):
    session = recorded("a")
    held = claim(rita)
    content = reading(session, "A1")
    [labels] = content.messages
    with_reason = replace(labels, reasons=(ClauseReason("A1", "So."),))
    with pytest.raises(MalformedContentError, match="Only an adjudication"):
        submit(held, replace(content, messages=(with_reason,)))


def test_a_reviewer_of_a_session_does_not_adjudicate_it(
    recorded: SessionFactory, rita: User, judy: User, ada: User
):
    session = recorded()
    review(judy, "F1")
    review(rita)
    with pytest.raises(RefusedError, match="No session needs your review"):
        claim(judy, adjudicates=True)
    with pytest.raises(RefusedError, match="already has or had a review"):
        assign(ada, session, judy)
    assign(ada, session, ada)
    assert Review.objects.get(reviewer=ada).adjudicates


def test_an_adjudication_starts_with_the_labels_of_both_reviews(
    recorded: SessionFactory, rita: User, rolf: User, judy: User
):
    session = recorded("a", "b")
    review(rita, "F1", "A4", level=2)
    review(rolf, "A1", "A4", level=2)
    begun = Content.from_json(claim(judy, adjudicates=True).content)
    assert begun.labels(1) == MessageLabels(1, (), 2, "planning")
    assert begun.labels(3) == MessageLabels(3, ("A4",), 2, "planning")
    assert (begun.verdict, begun.comment) == ("", "")
    assert session.events.count() == 4


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (Content(), "Message 1 has no clause"),
        (Content((MessageLabels(1, ("A6",)),), "compliant"), "Message 1 has no level"),
        (Content((MessageLabels(1, ("A6",), 0),)), "verdict on the session is missing"),
        (Content((MessageLabels(1, ("F1",), 0),), "compliant"), "but one is chosen in 1"),
        (Content((MessageLabels(1, ("F1",), 0),), "minor"), "Choose the worst message"),
        (Content((MessageLabels(1, ("A1",), 0),), "major"), "describe the breach in the comment"),
    ],
)
def test_an_incomplete_review_is_not_submitted(
    recorded: SessionFactory, rita: User, content: Content, sentence: str
):
    recorded("Go on.")
    held = claim(rita)
    with pytest.raises(RefusedError, match=sentence):
        submit(held, content)
    held.refresh_from_db()
    assert held.state == "open"


def test_a_submitted_review_is_final(recorded: SessionFactory, rita: User):
    recorded("Go on.")
    done = review(rita, "A1")
    with pytest.raises(RefusedError, match="is submitted"):
        SaveReview(person=rita, command=uuid4(), review_id=done.pk, content=Content()).execute()
    with pytest.raises(RefusedError, match="is submitted"):
        submit(done, reading(done.session))
    with pytest.raises(TypeError, match="never deleted"):
        done.delete()


def test_a_repeated_command_is_executed_once(recorded: SessionFactory, rita: User):
    recorded()
    held, command = claim(rita), uuid4()
    submit(held, reading(held.session), command)
    submit(held, reading(held.session), command)
    assert AuditEntry.objects.filter(command=command).count() == 1


def test_others_reviews_do_not_exist(recorded: SessionFactory, rita: User, rolf: User):
    recorded()
    held = claim(rita)
    with pytest.raises(Review.DoesNotExist):
        SaveReview(person=rolf, command=uuid4(), review_id=held.pk, content=Content()).execute()


def test_invalidated_sessions_are_not_reviewed(recorded: SessionFactory, rita: User, ada: User):
    session = recorded()
    held = claim(rita)
    command = uuid4()
    Invalidate(session_id=session.pk, person=ada, command=command, reason="The tutor pasted code.").execute()
    with pytest.raises(RefusedError, match="invalidated"):
        submit(held, reading(session))
    with pytest.raises(RefusedError, match="No session needs your review"):
        claim(rita)
    assert session.events.filter(kind=Event.Kind.INVALIDATED).count() == 1
    entry = AuditEntry.objects.get(command=command)
    assert (entry.action, entry.person, entry.data["reason"]) == ("Invalidate", ada, "The tutor pasted code.")


def test_a_new_rule_set_needs_new_reviews(
    recorded: SessionFactory, rita: User, rolf: User, monkeypatch: pytest.MonkeyPatch
):
    recorded()
    review(rita), review(rolf)
    with pytest.raises(RefusedError, match="No session needs your review"):
        claim(rita)
    old = current_rule_set()
    new = RuleSet(**{**vars(old), "version": old.version + 1, "content_hash": "1" * 64})
    monkeypatch.setattr(actions, "current_rule_set", lambda: new)
    again = claim(rita)
    assert again.rule_set == new.version
    assert Content.from_json(again.content) == Content(), "a new review must not start from an earlier one"
    assert ReviewOutcome.objects.get().rule_set == old.version


def test_active_time_caps_long_pauses(recorded: SessionFactory, rita: User):
    recorded()
    held = claim(rita)
    for pause in (30, 3600):
        earlier = timezone.now() - timedelta(seconds=pause)
        Review.objects.filter(pk=held.pk).update(saved_at=earlier)
        SaveReview(person=rita, command=uuid4(), review_id=held.pk, content=Content()).execute()
    held.refresh_from_db()
    assert 150 <= held.active_seconds <= 160


@pytest.mark.slow
def test_a_random_half_of_the_reviews_shows_findings_first(recorded: SessionFactory, rita: User, settings):
    for _ in range(20):
        recorded()
    settings.REVIEW_FINDINGS_FIRST = True
    shown = [review(rita).findings_first for _ in range(20)]
    assert set(shown) == {True, False}
    settings.REVIEW_FINDINGS_FIRST = False
    recorded()
    assert review(rita).findings_first is False


def test_the_audit_log_is_append_only(recorded: SessionFactory, rita: User):
    recorded()
    ClaimNext(person=rita, command=uuid4()).execute()
    entry = AuditEntry.objects.get()
    with pytest.raises(TypeError, match="never changed"):
        entry.save()
    with pytest.raises(TypeError, match="never deleted"):
        entry.delete()
